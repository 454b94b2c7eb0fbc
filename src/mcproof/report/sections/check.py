"""A server as a whole: what to fix first, the facts, the edits that help most, and the details on a page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mcproof.checks.findings import LEVELS
from mcproof.core.console import cut, few, plural
from mcproof.probing.outcomes import promises
from mcproof.probing.permission import HOW_TO_ALLOW
from mcproof.report.blocks import HTML, MARKDOWN, TEXT, Document, Edits, Fact, Facts, Findings, Only, Section, Sentence
from mcproof.report.frames import readable_response
from mcproof.report.grids import client_counts, shown_outcomes
from mcproof.report.phrases import GRADE_TONES, TONES, grade_withheld, target_words, trust_sentence
from mcproof.report.verdicts import called_sentence
from mcproof.runs.results import LEFT_TO_SCAN, CheckPayload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.report.blocks import Block
    from mcproof.runs.results import TargetResult

_REASONS, _CLIENTS, _BROKEN = 2, 4, 2
"""How many reasons of a verdict, clients and broken promises text names."""
_MOST_DEDUCTIONS, _FACT, _PATH = 3, 86, 76
"""How many rules hold a grade back by name, and the columns of a fact and of a path in it."""
_LONGEST_TARGET = 24
"""The longest target in the line of further commands, which has no room for more."""


def check_document(result: TargetResult) -> Document:
    """Return one screen of text; a page also has the details of every part."""
    payload = _payload(result)
    facts = Facts(_title(result, payload), list(_facts(result, payload)))
    edits = Edits(payload.edits)
    first = Only((TEXT,), [Sentence(first_sentence(payload))])
    body: list[Block] = [first, facts]
    if payload.edits:
        body.append(Section("Edits that help most", [edits], lead="### Edits that help most"))
    body.append(Only((TEXT,), [Sentence(f"More: {_commands(result)}", is_strong=False)]))
    body.append(Only((HTML,), list(_details(result, payload))))
    return Document(body, [Only((MARKDOWN, HTML), [Findings(result, result.findings)])])


def _payload(result: TargetResult) -> CheckPayload:
    if not isinstance(result.payload, CheckPayload):
        raise ValueError("not a result of a check")
    return result.payload


def first_sentence(payload: CheckPayload) -> str:
    """Return the edit that helps most, and what it gains."""
    if not payload.edits:
        # What only `fuzz` finds, such as an injection, is in none of these.
        return "Nothing to fix in what was judged; injections and crashes were not looked for"
    edit = payload.edits[0]
    return f"Fix first: {edit.what}{f': {edit.why}' if edit.why else ''}"


def _title(result: TargetResult, payload: CheckPayload) -> str:
    tokens = result.scores.tokens
    parts = [result.title, plural(result.counts.get("tools", 0), "tool")]
    parts += [] if tokens is None else [plural(tokens.total, "token")]
    return ", ".join([*parts, *([payload.framework] if payload.framework else [])])


def _facts(result: TargetResult, payload: CheckPayload) -> Iterator[Fact]:
    """Yield the judgement on each part, with what is behind it."""
    grade, trust = result.scores.grade, payload.trust.trust
    if grade is not None:
        costs = [f"{cost.rule} −{cost.points:,}" for cost in grade.deductions[:_MOST_DEDUCTIONS]]
        costs += [f"good descriptions +{grade.bonus}"] if costs and grade.bonus else []
        text = _named(f"{grade.score} of 100", costs, len(costs))
        yield Fact("grade", grade.letter, text, GRADE_TONES.get(grade.letter, "bad"))
    else:
        yield Fact("grade", "?", grade_withheld(result).removeprefix("grade "), "fair")
    yield _client_fact(result, payload)
    if trust is not None:
        # The verdict itself says who decides.
        reasons = [reason.removesuffix(": a person must review it") for reason in trust.reasons[:_REASONS]]
        if left := len(trust.reasons) - len(reasons):
            reasons[-1] += f" (and {left:,} more)"
        verdict, _, rest = trust_sentence(trust).partition(": ")
        if any(outcome.why == LEFT_TO_SCAN for outcome in trust.outcomes):
            rest += "; more in `scan`, which reconnects"
        yield Fact("trust", verdict, rest, TONES[trust.verdict], reasons)
    yield _promise_fact(result, payload)
    errors = Counter(finding.rule.id for finding in result.findings if finding.level == "error")
    if errors:
        yield Fact("errors", "✗", _named(f"{errors.total():,}", list(errors), len(errors)), "bad")
    if payload.trust.source:
        read = payload.trust.source
        yield Fact("source", "", f"read too: {read if len(read) <= _PATH else f'…{read[-_PATH:]}'}")


def _client_fact(result: TargetResult, payload: CheckPayload) -> Fact:
    clients = [outcome for outcome in shown_outcomes(payload.clients) if outcome.kind == "client"]
    broken = [outcome.name for outcome in clients if outcome.verdict == "breaks"]
    degraded = [outcome.name for outcome in clients if outcome.verdict == "degraded"]
    count = client_counts(payload.clients)[0] if clients else "no clients"
    symbol, tone = ("✗", "bad") if broken else ("!", "fair") if degraded else ("✓", "good")
    if result.not_judged is not None and result.not_judged.tools and symbol == "✓":
        unknown = plural(result.not_judged.tools, "tool")
        return Fact("clients", "?", f"nothing breaks in what is known; {unknown} are not known in full", "fair")
    return Fact("clients", symbol, _named(count, broken or degraded, _CLIENTS), tone)


def _named(text: str, names: list[str], most: int) -> str:
    """A text with as many of the names as fit into a line."""
    texts = [f"{text}: {few(names, count)}" for count in range(most, 0, -1)] if names else []
    return next((long for long in texts if len(long) <= _FACT), text)


def _promise_fact(result: TargetResult, payload: CheckPayload) -> Fact:
    if payload.proof is None:
        return Fact("promises", "·", "not judged: no tool was called", "none")
    counts = promises(payload.proof.matrix)
    if not counts.declared:
        return Fact("promises", "·", "the schemas make no promises", "none")
    unjudged = counts.not_shown + counts.not_tested
    called = called_sentence(len(result.called_tools), result.counts.get("tools", 0))
    text = f"{counts.kept:,} kept, {counts.broken:,} broken, {unjudged:,} not judged; {called}"
    cells = [cell for cell in payload.proof.matrix if cell.verdict == "broken promise"]
    broken = [f"{cell.tool}: {few(cell.reason.split('; '), 1)}" for cell in cells]
    left_open = [cell for cell in payload.proof.matrix if cell.verdict in ("not tested", "not shown")]
    why = Counter(cell.reason for cell in left_open if cell.verdict == "not tested" and cell.reason)
    # One reason behind most of what is unknown, such as a time that is used up, is worth a line.
    much = "most are" if 2 * unjudged > counts.declared else f"{unjudged:,} {'is' if unjudged == 1 else 'are'}"
    unknown = [
        f"{much} not judged{' (--allow TOOL)' * reason.endswith(HOW_TO_ALLOW)}: {reason.removesuffix(HOW_TO_ALLOW)}"
        for reason, count in why.most_common(1)
        if 2 * count > len(left_open)
    ]
    # A refused valid call leaves every promise of its tool open, however much time there was.
    refused = [probe for probe in payload.proof.probes if probe.probe == "baseline" and probe.outcome == "rejected"]
    if 2 * len(refused) > len(result.called_tools):
        calls = plural(len(refused), "valid call")
        unknown.insert(0, f"{calls} refused, see `prove`: {readable_response(refused[0].answer)}")
    untried = {
        probe.probe: probe.reason
        for probe in payload.proof.probes
        if probe.tool is None and probe.outcome == "not_tested"
    }
    left = [f"not tried ({reason}): {', '.join(untried)}" for reason in [*untried.values()][:1]]
    details = [cut(detail, _FACT) for detail in [*broken[:_BROKEN], *unknown, *left]]
    symbol, tone = ("✗", "bad") if counts.broken else ("?", "fair") if 2 * unjudged > counts.declared else ("✓", "good")
    return Fact("promises", symbol, text, tone, details)


def _commands(result: TargetResult) -> str:
    words = target_words(result)
    # The findings of a check come from several commands; that of the worst is first.
    shown_by = {"trust": "scan", **({} if result.proof is None else {"wire": "prove"})}
    ranked = sorted(
        (LEVELS.index(finding.level), shown_by.get(finding.rule.ruleset, "lint")) for finding in result.findings
    )
    shown = list(dict.fromkeys(command for _, command in ranked)) or ["lint"]
    parts = [
        "lint",
        "grade",
        "compat",
        "scan",
        *(["prove", "fuzz --security"] if result.connection is not None else []),
    ]
    if len(words) > _LONGEST_TARGET:
        words = "…"
    commands = _enumerated([f"`mcproof {shown[0]} {words}`", *shown[1:]], "and")
    others = _enumerated([part for part in parts if part not in shown], "or")
    return f"{commands} for all findings; {others} in its place; `--output report.html`"


def _enumerated(words: list[str], conjunction: str) -> str:
    return f" {conjunction} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _details(result: TargetResult, payload: CheckPayload) -> Iterator[Block]:
    """Yield what the commands for each part show."""
    from mcproof.report.sections import document_of

    parts = {"Clients": payload.clients, "Trust": payload.trust, "Promises": payload.proof}
    for title, part in parts.items():
        if part is not None and (part.kind != "scan" or part.trust is not None):
            # Drawn as the command for that part would: no section of a page has a second writer.
            yield Section(title, document_of(result._replace(payload=part)).body)
