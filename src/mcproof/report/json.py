"""The documents of `--format json`, one for each kind of run, and of a single request.

Their schemas are in `runs/schemas`; the records that they share with run reports are in `runs.records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import IS_BREAKING, ReportedFinding
from mcproof.checks.scores.grade import POINTS
from mcproof.probing.outcomes import negative_path, promises
from mcproof.report.phrases import grade_withheld
from mcproof.report.verdicts import conclusion_of
from mcproof.runs import codec
from mcproof.runs.records import (
    PROVE_VERSION,
    SCHEMA_VERSION,
    Record,
    client_record,
    encode,
    encoded,
    finding_line,
    fuzzing_record,
    listed,
    printable,
    summary_record,
)
from mcproof.testing.outcomes import count_outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.runs.results import Kind, RunResult, TargetResult


def document(run: RunResult) -> Iterator[str]:
    """Write the document of one target, or one that holds those of several."""
    write = _DOCUMENTS[run.kind]
    notices = {"notices": codec.encode(run.notices)} if run.notices else {}
    if run.is_single and run.targets:
        (result,) = run.targets
        # One target has the notices of the run in its own document; of several, the outer one has them.
        yield from write(result, notices) if result.is_judged else [_trouble_document(result)]
        yield "\n"
        return
    yield f'{{"schema_version": {_version(run.kind)},\n"targets": [\n'
    for number, result in enumerate(run.targets):
        yield ",\n" if number else ""
        yield from write(result, {}) if result.is_judged else [_trouble_document(result, {"target": result.target})]
    yield "\n]" + _members(notices) + "}\n"


def _version(kind: Kind) -> int:
    return PROVE_VERSION if kind == "prove" else SCHEMA_VERSION


def _trouble_document(result: TargetResult, target: Record | None = None) -> str:
    return printable(encode({"schema_version": SCHEMA_VERSION, **(target or {}), **_error(result)}))


def _error(result: TargetResult) -> Record:
    return {} if result.trouble is None else {"error": codec.encode(result.trouble)}


def _lint_document(result: TargetResult, notices: Record) -> Iterator[str]:
    polish = {} if result.scores.polish is None else {"polish": result.scores.polish}
    return _findings_document({}, result, {"summary": {**summary_record(result), **polish}, **notices})


def _grade_document(result: TargetResult, notices: Record) -> Iterator[str]:
    """Only findings of the `grade` ruleset count; the others are listed too."""
    grade, tokens, descriptions, _ = result.scores
    if tokens is None or (grade is None and result.not_judged is None):
        raise ValueError("not a graded result")
    deductions = [] if grade is None else sorted(grade.deductions)
    head = {
        "scheme": "grade",
        "score": None if grade is None else grade.score,
        "grade": None if grade is None else grade.letter,
        "counts": {
            f"{severity}s": sum(cost.times for cost in deductions if cost.severity == severity) for severity in POINTS
        },
        "rules": {deduction.rule: deduction.times for deduction in deductions},
        "tokens": {"total": tokens.total, "tools": tokens.tools},
        **({} if descriptions is None else {"descriptions": descriptions.tools}),
        "gates": codec.encode(result.gates),
    }
    return _findings_document(head, result, notices)


def _compat_document(result: TargetResult, notices: Record) -> Iterator[str]:
    if result.payload.kind != "compat":
        raise ValueError("not a result about clients")
    clients = {outcome.client: client_record(outcome) for outcome in result.payload.outcomes}
    head = {
        "clients": clients,
        "improvements": codec.encode(result.payload.improvements),
        "gates": codec.encode(result.gates),
    }
    return _findings_document(head, result, {"summary": summary_record(result), **notices})


def _scan_document(result: TargetResult, notices: Record) -> Iterator[str]:
    if result.payload.kind != "scan" or result.payload.trust is None:
        raise ValueError("not a result of a scan")
    graph = result.payload.graph
    head = {
        **_error(result),
        "trust": codec.encode(result.payload.trust),
        **({} if graph is None else {"tool_graph": codec.encode(graph)}),
        **({"source": result.payload.source} if result.payload.source else {}),
        "gates": codec.encode(result.gates),
    }
    return _findings_document(head, result, {"summary": summary_record(result), **notices})


def _check_document(result: TargetResult, notices: Record) -> Iterator[str]:
    payload = result.payload
    if payload.kind != "check":
        raise ValueError("not a result of a check")
    grade, tokens, trust = result.scores.grade, result.scores.tokens, payload.trust.trust
    clients = [outcome for outcome in payload.clients.outcomes if outcome.kind == "client"]
    counts = None if payload.proof is None else promises(payload.proof.matrix)
    head = {
        "server": {
            "name": result.server.get("name"),
            "version": result.server.get("version"),
            "framework": payload.framework or None,
            "source": payload.trust.source or None,
        },
        "grade": codec.encode(grade),
        **({} if grade is not None else {"grade_withheld": grade_withheld(result)}),
        "clients": {
            "works": sum(outcome.verdict == "works" for outcome in clients),
            "breaks": [outcome.client for outcome in clients if outcome.verdict == "breaks"],
        },
        "trust": None
        if trust is None
        else {"verdict": trust.verdict, "score": trust.score, "coverage": trust.coverage, "reasons": trust.reasons},
        "promises": None
        if counts is None
        else {"kept": counts.kept, "broken": counts.broken, "not_judged": counts.not_shown + counts.not_tested},
        "tokens": 0 if tokens is None else tokens.total,
        "next": codec.encode(payload.edits),
        "gates": codec.encode(result.gates),
    }
    return _findings_document(head, result, {"summary": summary_record(result), **notices})


def _diff_document(result: TargetResult, _: Record) -> Iterator[str]:
    levels = result.levels()
    summary = {"breaking": levels["error"], "compatible": levels["note"], "unknown": levels["warning"]}
    yield f'{{"schema_version": {SCHEMA_VERSION},\n'
    yield from listed("changes", map(_change_line, result.findings))
    yield _members({"summary": summary, **_conclusion(result)}) + "}"


def _change_line(finding: ReportedFinding) -> str:
    head: Record = {"tool": finding.tool, "pointer": finding.pointer, "kind": finding.rule.id}
    head["breaking"] = IS_BREAKING[finding.rule.severity]
    return encode(head | {key: getattr(finding, key) for key in ("message", "subject", "file", "line", "column")})


def _probe_document(result: TargetResult, notices: Record) -> Iterator[str]:
    """Serves `prove` too, which adds its matrix."""
    lists = {"probes": codec.encode(result.probes)}
    members: Record = {"negative_path": codec.encode(negative_path(result.probes))}
    if result.payload.kind == "prove":
        lists["matrix"] = codec.encode(result.matrix)
        members["promises"] = codec.encode(promises(result.matrix))
    return _calls_document(result, lists, members, notices)


def _fuzz_document(result: TargetResult, notices: Record) -> Iterator[str]:
    if result.payload.kind != "fuzz":
        raise ValueError("not a result of fuzzing")
    members = fuzzing_record(result.payload.fuzzing)
    return _calls_document(result, {"failures": members.pop("failures")}, members, notices)


def _calls_document(
    result: TargetResult, lists: dict[str, list[Record]], members: Record, notices: Record
) -> Iterator[str]:
    """Write a document of a server that was called: the lists, then the numbers."""
    lists = {**lists, "not_tested": [{"what": part.what, "why": part.why} for part in result.untested]}
    lines: dict[str, Iterable[str]] = {key: map(encode, records) for key, records in lists.items()}
    return _findings_document({}, result, {"summary": summary_record(result), **members, **notices}, lines)


def _suite_document(result: TargetResult, notices: Record) -> Iterator[str]:
    yield f'{{"schema_version": {SCHEMA_VERSION},\n"target": {printable(encode(result.target))},\n'
    yield from listed("tests", map(encoded, result.tests))
    summary = {"tests": len(result.tests), **count_outcomes(result.tests)}
    yield f',\n"summary": {encode(summary)}{_members(notices | _conclusion(result))}}}'


_DOCUMENTS: dict[Kind, Callable[[TargetResult, Record], Iterator[str]]] = {
    "lint": _lint_document,
    "grade": _grade_document,
    "compat": _compat_document,
    "scan": _scan_document,
    "check": _check_document,
    "diff": _diff_document,
    "probe": _probe_document,
    "prove": _probe_document,
    "fuzz": _fuzz_document,
    "suite": _suite_document,
}


def _findings_document(
    head: Record, result: TargetResult, tail: Record, lists: dict[str, Iterable[str]] | None = None
) -> Iterator[str]:
    """Write a document of one target in pieces, so that a long one is never in memory twice.

    Further `lists`, one entry a line, follow the findings.
    """
    members = {"schema_version": _version(result.payload.kind), "target": result.target, **head}
    if result.not_judged is not None:
        tail = {"not_judged": codec.encode(result.not_judged), **tail}
    yield "{" + "".join(f"{encode(key)}: {printable(encode(value))},\n" for key, value in members.items())
    yield from listed("findings", map(finding_line, result.findings))
    for key, lines in (lists or {}).items():
        yield ",\n"
        yield from listed(key, lines)
    yield _members(tail | _conclusion(result)) + "}"


def _conclusion(result: TargetResult) -> Record:
    """Return what the run concludes; nothing for a target that could not be checked."""
    return {} if result.trouble is not None else {"conclusion": codec.encode(conclusion_of(result))}


def _members(members: Record) -> str:
    """Return members that follow others, each on a line."""
    return "".join(f",\n{encode(key)}: {printable(encode(value))}" for key, value in members.items())
