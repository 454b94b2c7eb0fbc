"""Results of runs that call the tools of a server: probes, the contract matrix and fuzzing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.probing.outcomes import predictions, promises
from mcproof.probing.permission import HOW_TO_ALLOW, MAY_CHANGE
from mcproof.report.blocks import (
    HTML,
    MARKDOWN,
    TEXT,
    Bullets,
    Cases,
    Document,
    Evidence,
    Failures,
    Findings,
    Matrix,
    Names,
    Only,
    Predicted,
    Probes,
    Reason,
    Reasons,
    Section,
    Sentence,
    Share,
)
from mcproof.report.frames import readable_response
from mcproof.report.grids import (
    TITLES,
    covered_by_failures,
    matrix_grid,
    probe_grid,
    probes_with_findings,
    server_probes,
)
from mcproof.report.sections.outcomes import fuzz_sentence, probe_sentence, promise_sentence, server_sentence
from mcproof.runs.results import IN_PART

if TYPE_CHECKING:
    from collections.abc import Set

    from mcproof.report.blocks import Block
    from mcproof.report.grids import Grid
    from mcproof.runs.results import TargetResult, UntestedReason


_TOOL = "tool "
_MOST_REFUSED = 4
"""How many refused valid calls are shown, each with the words of the server."""
_MOST_CHANGING = 20
"""How many tools that may change something are named, with the evidence."""


def prove_document(result: TargetResult) -> Document:
    """Return the contract matrix, what is wrong and what was not tested."""
    server = server_sentence(result.probes, probes_with_findings(result.findings))
    totals: list[Block] = [Sentence(total) for total in (promise_sentence(result.matrix), server) if total]
    title = f"{TITLES['prove']}: what the schemas promise and the server keeps"
    counts = promises(result.matrix)
    shares = [
        Share("good", "✓", counts.kept, "kept"),
        Share("bad", "✗", counts.broken, "broken"),
        Share("fair", "?", counts.not_shown, "not shown"),
        Share("none", "·", counts.not_tested, "not tested"),
    ]
    return _document(result, title, matrix_grid(result.matrix), totals, server)._replace(shares=shares)


def probe_document(result: TargetResult) -> Document:
    """Return the probes of each tool, what is wrong and what was not tested."""
    title = f"{TITLES['probe']}: bad requests, and whether the server rejects them"
    judged = [probe.passed for probe in result.probes]
    shares = [
        Share("good", "✓", judged.count(True), "passed"),
        Share("bad", "✗", judged.count(False), "failed"),
        Share("none", "·", sum(probe.outcome == "not_tested" for probe in result.probes), "not tested"),
    ]
    totals: list[Block] = [Sentence(probe_sentence(result.probes))]
    return _document(result, title, probe_grid(result.probes), totals)._replace(shares=shares)


def _document(result: TargetResult, title: str, grid: Grid, totals: list[Block], server: str = "") -> Document:
    predicted = predictions(result.matrix)
    warnings = [Predicted(prediction) for prediction in predicted]
    body: list[Block] = [Only((MARKDOWN,), [Sentence(server)])] if server else []
    if grid.rows:
        name = TITLES[result.payload.kind]
        # On a page beside the matrix that they explain; in a comment below everything that is certain.
        drawing = [Matrix(grid, result.probes), Only((HTML,), warnings)]
        body += [
            Only((TEXT,), [Sentence(title, has_gap=True)]),
            Section(name, drawing, long="", lead=f"### {name}"),
        ]
    if probes := server_probes(result.probes):
        name = "The server as a whole"
        body.append(
            Section(
                name, [Probes(probes, probes_with_findings(result.findings))], server, long=name, lead=f"### {name}"
            )
        )
    if any(probe.tool is not None for probe in result.probes):
        body.append(Only((HTML,), [Section("Requests and responses", [Evidence(result.probes)])]))
    body.append(Only((MARKDOWN,), warnings))
    names = [
        Names(
            f"{column}: {', '.join(rules)} warned about {plural(len(tools), 'tool')}: ",
            tools,
        )
        for rules, column, tools in predicted
    ]
    after: list[Block] = [Only((TEXT,), [Section("Not enforced, as predicted", names)])] if names else []
    after += _refused(result)
    return Document(body, [_findings(result)], [*after, *_untested(result), Only((TEXT,), totals)])


def _refused(result: TargetResult) -> list[Block]:
    """Return the valid calls that the server refused, in its words, and how to give better ones."""
    refused = [probe for probe in result.probes if probe.probe == "baseline" and probe.outcome == "rejected"]
    if not refused:
        return []
    lines = [
        f"{probe.tool} refuses {probe.request}: {readable_response(probe.answer)}" for probe in refused[:_MOST_REFUSED]
    ]
    lines += [f"and {len(refused) - _MOST_REFUSED:,} more"] if len(refused) > _MOST_REFUSED else []
    how = "--write-args args.json writes arguments to edit; --args @args.json passes them"
    return [Section("Valid calls that are refused", [Bullets([*lines, how])], lead="### Valid calls that are refused")]


def fuzz_document(result: TargetResult) -> Document:
    """Return the outcomes, the failed cases, and what was not tested."""
    if result.payload.kind != "fuzz":
        raise ValueError("not a result of fuzzing")
    fuzzing = result.payload.fuzzing
    about = f"{plural(fuzzing.cases, 'case')} for {plural(len(fuzzing.tools), 'tool')}, seed {fuzzing.seed}"
    body: list[Block] = [
        Only((TEXT,), [Sentence(f"Fuzzing: {about}", has_gap=True)]),
        Only((MARKDOWN,), [Sentence(about)]),
        Section("Outcomes", [Cases(fuzzing)], about, long="", lead=""),
    ]
    if fuzzing.failures:
        failures = Failures(fuzzing.failures)
        section = Section("Failed cases", [failures], lead="### Failed cases")
        body += [Only((TEXT,), [failures]), Only((MARKDOWN, HTML), [section])]
    totals = [Sentence(fuzz_sentence(fuzzing)), Sentence(f"seed {fuzzing.seed}", is_strong=False)]
    findings = _findings(result, covered_by_failures(fuzzing.failures))
    clean, accepted, unreached = (fuzzing.outcomes.get(name, 0) for name in ("clean", "accepted", "not_reached"))
    shares = [
        Share("good", "✓", clean, "clean"),
        Share("fair", "!", accepted, "lenient"),
        Share("bad", "✗", max(0, fuzzing.cases - clean - accepted - unreached), "failed"),
        *([Share("none", "·", unreached, "not reached")] if unreached else []),
    ]
    return Document(body, [findings], [*_untested(result), Only((TEXT,), totals)], shares)


def _findings(result: TargetResult, covered: Set[tuple[str | None, str]] = frozenset()) -> Findings:
    """The strict rules say of a schema what probes say of the server; people see only the latter."""
    shown = [finding for finding in result.findings if finding.rule.ruleset != "strict"]
    return Findings(result, shown, covered, has_summary=False)


def _untested(result: TargetResult) -> list[Block]:
    """Return what was not tested, by reason."""
    groups = result.untested_reasons()
    if not groups:
        return []
    title = "Not tested"
    reasons = Reasons([Reason(group.whats, group.why) for group in groups])
    section = Section(title, [reasons], lead=f"### {title}", anchor="untested")
    return [Only((TEXT,), [Section(title, _short(groups))]), Only((MARKDOWN, HTML), [section])]


def _short(groups: list[UntestedReason]) -> list[Block]:
    """Return what was not tested in few lines: tools that may change something in one sentence, with the evidence."""
    reasons: list[Reason] = []
    changing: list[str] = []
    for why, whats in groups:
        reason = why.removesuffix(HOW_TO_ALLOW)
        if reason.startswith(MAY_CHANGE) and reason != why:
            changing += (f"{claim.removeprefix(_TOOL)} ({reason.removeprefix(MAY_CHANGE)})" for claim in whats)
            continue
        # `in part` and the noun are said once if they are true of all.
        suffix = IN_PART if all(claim.endswith(IN_PART) for claim in whats) else ""
        names = [claim.removesuffix(suffix) for claim in whats]
        if all(name.startswith(_TOOL) for name in names):
            names = [name.removeprefix(_TOOL) for name in names]
        reasons.append(Reason(names, reason, suffix))
    lines: list[Block] = [Reasons(reasons)]
    if changing:
        lines.append(Names("may change something: ", changing, _MOST_CHANGING, 120))
    if any(why.endswith(HOW_TO_ALLOW) for why, _ in groups):
        lines.append(Names("--allow TOOL allows a tool, --allow-writes all of them", ()))
    return lines
