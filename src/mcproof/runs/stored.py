"""Run reports: a result stored as JSON, from which any format can be rendered later.

`run_document` writes a report and `read_run` reads one. What the documents of `--format json` share is in `records`.
Why one result serves all formats: docs/decisions/0013-one-result-many-formats.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from mcproof.checks.clients.verdicts import ClientOutcome, Improvement
from mcproof.checks.findings import IS_BREAKING, FixSummary, ReportedFinding, RuleSummary, Snippet, TextEdit
from mcproof.checks.fixes.snippets import CodeHelp
from mcproof.checks.ignores import Suppression
from mcproof.checks.scores.grade import Grade, NotJudged
from mcproof.checks.scores.tokens import TokenCost
from mcproof.checks.scores.trust import Trust
from mcproof.checks.texts.tool_graph import ToolGraph
from mcproof.core.console import safe
from mcproof.core.errors import InputError, Notice, Untested
from mcproof.probing.outcomes import Cell, Fuzzing, ProbeResult
from mcproof.runs import codec
from mcproof.runs.codec import DecodeError, decode
from mcproof.runs.records import (
    Record,
    encode,
    encoded,
    finding_line,
    fuzzing_record,
    listed,
    printable,
    schema_text,
    summary_record,
)
from mcproof.runs.results import (
    AppliedConfiguration,
    CheckPayload,
    CompatPayload,
    Descriptions,
    DiffPayload,
    Edit,
    FuzzPayload,
    Gate,
    Payload,
    ProbePayload,
    ProvePayload,
    RunResult,
    ScanPayload,
    Scores,
    SuitePayload,
    TargetResult,
    Trouble,
    empty_payload,
)
from mcproof.testing.outcomes import TestResult

if TYPE_CHECKING:
    from collections.abc import Iterator


T = TypeVar("T")

RUN_VERSION = 2
"""The version of run reports; one of version 1 is read unless it has probes."""
KIND = "run"
"""Distinguishes a run report from other documents of mcproof."""


def run_document(run: RunResult) -> Iterator[str]:
    """Write a result. The timings, which differ from run to run, are on the last line."""
    head = {
        "schema_version": RUN_VERSION,
        "kind": KIND,
        "mcproof": run.version,
        "command": run.command,
        "single_target": run.is_single,
        "exit_code": run.exit_code,
    }
    yield "{" + _lines(head)
    yield from listed("rules", map(encoded, run.rules))
    yield ",\n"
    yield from listed("notices", map(encoded, run.notices))
    if run.configurations:
        yield ",\n"
        yield from listed("configurations", map(encoded, run.configurations))
    yield ',\n"targets": ['
    for number, result in enumerate(run.targets):
        yield ",\n" if number else "\n"
        yield from _target(result)
    # Last, on a line of its own, so that two reports of the same state differ in that line alone.
    seconds = {result.target: round(result.seconds, 4) for result in run.targets}
    timings: Record = {"started": run.started, "seconds": round(run.seconds, 4), "targets": seconds}
    if run.kind == "suite":
        timings["tests"] = {result.target: [round(test.seconds, 4) for test in result.tests] for result in run.targets}
    yield f'\n],\n"timings": {printable(encode(timings))}}}\n'


def _target(result: TargetResult) -> Iterator[str]:
    error = {} if result.trouble is None else {"error": codec.encode(result.trouble)}
    if not result.is_judged:
        yield printable(encode({"target": result.target, **error}))
        return
    payload, scores = result.payload, result.scores
    head = {
        "target": result.target,
        **error,
        "compared_with": payload.compared_with if payload.kind == "diff" else None,
        "server": result.server,
        "protocol": result.protocol,
        "connection": result.connection,
        "counts": result.counts,
        "passed": result.passed,
        "fail_on": result.fail_on,
        "gates": codec.encode(result.gates),
        "scores": {
            **({} if scores.grade is None else {"grade": codec.encode(scores.grade)}),
            **({} if scores.polish is None else {"polish": {"score": scores.polish}}),
        },
        "tokens": codec.encode(scores.tokens),
        "descriptions": codec.encode(scores.descriptions),
        "not_tested": codec.encode(result.untested),
        "summary": {**summary_record(result), "suppressed": len(result.suppressed)},
    }
    yield "{" + _lines(head)
    lists = {
        "findings": map(_finding_line, result.findings),
        "suppressed": map(_finding_line, result.suppressed),
        "probes": map(encoded, result.probes),
        "matrix": map(encoded, result.matrix),
    }
    for key, lines in lists.items():
        yield from listed(key, lines)
        yield ",\n"
    fuzzing = fuzzing_record(payload.fuzzing) if payload.kind == "fuzz" else None
    yield f'"fuzzing": {printable(encode(fuzzing))},\n'
    yield from listed("tests", map(encoded, result.tests))
    if (clients := result.clients) is not None:
        yield ',\n"clients": '
        yield from _clients_text(clients)
    scan = result.scan if result.trust is not None else None
    more = {
        "trust": result.trust,
        "tool_graph": None if scan is None else scan.graph,
        "source": None if scan is None else scan.source or None,
        "check": _check_record(payload) if payload.kind == "check" else None,
        "not_judged": result.not_judged,
    }
    for key, value in more.items():
        if value is not None:
            yield f',\n"{key}": {printable(encoded(value))}'
    if result.code_help:
        yield ",\n"
        yield from listed("code_help", map(encoded, result.code_help))
    yield "}"


def _check_record(payload: CheckPayload) -> Record:
    """Return what `check` adds to the parts of other commands."""
    return {
        "next": codec.encode(payload.edits),
        "framework": payload.framework,
        "calls_tools": payload.proof is not None,
    }


def _lines(members: Record) -> str:
    return "".join(f"{encode(key)}: {printable(encode(value))},\n" for key, value in members.items())


def _finding_line(finding: ReportedFinding) -> str:
    """Return a finding as in every other document, followed by what only renderers need."""
    more = {
        "item": finding.item,
        "item_pointer": finding.item_pointer,
        "fingerprint": finding.fingerprint,
        "end_column": finding.end_column,
        "edit": codec.encode(finding.fix.edit) if finding.fix is not None else None,
        "snippet": codec.encode(finding.snippet),
        "suppression": codec.encode(finding.suppression),
        **({"twins": finding.twins} if finding.twins else {}),
        **({"same_as": finding.rule.same_as} if finding.rule.same_as else {}),
    }
    return f"{finding_line(finding)[:-1]}, {encode(more)[1:]}"


def read_run(data: bytes, name: str) -> RunResult:
    """Read a run report. Raise InputError if it is not one, or invalid."""
    try:
        # `NaN` is no JSON, and compares as neither above nor below any limit.
        document = json.loads(data, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        message = f"not a run report: not JSON: {error.msg.lower()}"
        raise InputError(message, file=name, line=error.lineno, column=error.colno) from None
    except ValueError:
        raise InputError("not a run report: not JSON in UTF-8", file=name) from None
    except RecursionError:
        raise InputError("not a run report: nested too deeply", file=name) from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise InputError("not a run report; `--report FILE` of a command writes one", file=name)
    version = document.get("schema_version")
    if isinstance(version, int) and version > RUN_VERSION:
        raise InputError(f"run report of a newer mcproof; this one reads schema version {RUN_VERSION}", file=name)
    # A report may come from anybody: renderers rely on what is checked here.
    if damage := _damage(document) or _contradiction(document):
        raise InputError(f"invalid run report: {damage}", file=name)
    try:
        return _run(document)
    except DecodeError as error:
        raise InputError(f"invalid run report: {error}", file=name) from None


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _damage(document: Any) -> str | None:
    """Return where a report violates its schema, if it does; the readers below rely on the schema."""
    import jsonschema_rs

    validator = jsonschema_rs.Draft202012Validator(json.loads(schema_text("run")))
    try:
        error = next(validator.iter_errors(document), None)
    except UnicodeEncodeError:  # a lone surrogate, valid in JSON but not for the validator
        error = next(validator.iter_errors(_without_surrogates(document)), None)
    if error is None:
        return None
    where = "".join(f"/{step}" for step in error.instance_path)
    return f"violates its schema at `{where[:200] or '/'}`"


def _without_surrogates(document: Any) -> Any:
    return json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))


def _contradiction(document: Record) -> str | None:
    """Return a contradiction between parts of a report, which a schema cannot express."""
    rules = {record["id"] for record in document["rules"]}
    command, targets = document["command"], [target for target in document["targets"] if "findings" in target]
    for target in targets:
        for finding in (*target["findings"], *target["suppressed"]):
            if finding["rule"] not in rules:
                return f"unknown rule `{finding['rule'][:100]}`"
            if command == "diff" and finding["severity"] not in IS_BREAKING:
                return f"invalid severity of a change: `{finding['severity']}`"
    if document["single_target"] and len(document["targets"]) > 1:
        return "`single_target` with several targets"
    if command == "grade" and not all(
        target["tokens"] and ("grade" in target["scores"] or target.get("not_judged")) for target in targets
    ):
        return "no grade"
    for needed in _NEEDED.get(command, ()):
        if any(target.get(needed) is None for target in targets):
            return f"no `{needed}`"
    return None


_NEEDED = {
    "diff": ("compared_with",),
    "compat": ("clients",),
    "scan": ("trust",),
    "check": ("clients", "trust", "check"),
    "fuzz": ("fuzzing",),
}
"""The members that the targets of a command have."""


def _run(document: Record) -> RunResult:
    facts = decode(list[RuleSummary], _escaped(document["rules"]), "/rules")
    rules = {record["id"]: rule for record, rule in zip(document["rules"], facts, strict=True)}
    timings = document["timings"]
    return RunResult(
        command=document["command"],
        version=document["mcproof"],
        targets=[
            _read_target(record, rules, timings, document["command"], f"/targets/{number}")
            for number, record in enumerate(document["targets"])
        ],
        rules=list(rules.values()),
        notices=decode(list[Notice], document["notices"], "/notices"),
        configurations=decode(list[AppliedConfiguration], document.get("configurations", []), "/configurations"),
        exit_code=document["exit_code"],
        is_single=document["single_target"],
        started=timings["started"],
        seconds=timings["seconds"],
    )


def _escaped(raw: Any) -> Any:
    """Escape the texts of JSON that renderers print as they are, because mcproof wrote them."""
    if isinstance(raw, list):
        return [_escaped(part) for part in raw]
    if isinstance(raw, dict):
        return {key: _escaped(part) for key, part in raw.items()}
    # Only of rules: texts of servers are escaped by every format in its own way.
    return safe(raw) if isinstance(raw, str) else raw


def _member(kind: type[T], record: Record, key: str, at: str) -> T:
    """Read a member of a target; an array that older reports lack is empty."""
    return decode(kind, record.get(key, ()), f"{at}/{key}")


def _optional(kind: type[T], record: Record, key: str, at: str) -> T | None:
    """Read an optional member of a target; None if it is absent or null."""
    raw = record.get(key)
    return None if raw is None else decode(kind, raw, f"{at}/{key}")


def _read_target(record: Record, rules: dict[str, RuleSummary], timings: Record, command: str, at: str) -> TargetResult:
    target = record["target"]
    trouble = _optional(Trouble, record, "error", at)
    if "findings" not in record:
        return TargetResult(target, trouble, payload=empty_payload(command))
    return TargetResult(
        target=target,
        trouble=trouble,
        server=record["server"],
        protocol=record["protocol"],
        connection=record["connection"],
        counts=record["counts"],
        findings=_read_findings(record, "findings", rules, at),
        suppressed=_read_findings(record, "suppressed", rules, at),
        scores=_read_scores(record, at),
        gates=_member(list[Gate], record, "gates", at),
        fail_on=record["fail_on"],
        untested=_member(list[Untested], record, "not_tested", at),
        seconds=timings["targets"].get(target, 0.0),
        payload=_read_payload(record, timings, command, at),
        code_help=_member(list[CodeHelp], record, "code_help", at),
        not_judged=_optional(NotJudged, record, "not_judged", at),
    )


def _read_scores(record: Record, at: str) -> Scores:
    scores = record["scores"]
    return Scores(
        grade=_optional(Grade, _escaped(scores), "grade", f"{at}/scores"),
        tokens=_optional(TokenCost, record, "tokens", at),
        # Absent in reports of versions that did not score descriptions.
        descriptions=_optional(Descriptions, record, "descriptions", at),
        polish=scores["polish"]["score"] if "polish" in scores else None,
    )


def _read_payload(record: Record, timings: Record, command: str, at: str) -> Payload:
    """Read what a kind of run adds; older reports lack the lists."""
    match empty_payload(command):
        case DiffPayload():
            return DiffPayload(record["compared_with"])
        case ProbePayload():
            return ProbePayload(_member(list[ProbeResult], record, "probes", at))
        case ProvePayload():
            probes = _member(list[ProbeResult], record, "probes", at)
            return ProvePayload(probes, _member(list[Cell], record, "matrix", at))
        case CompatPayload():
            return _read_clients(record["clients"], f"{at}/clients")
        case ScanPayload():
            return _read_scan(record, at)
        case CheckPayload():
            return _read_check(record, at)
        case FuzzPayload():
            return FuzzPayload(_member(Fuzzing, record, "fuzzing", at))
        case SuitePayload():
            tests = _member(list[TestResult], record, "tests", at)
            seconds = timings.get("tests", {}).get(record["target"], [])
            taken = [*seconds[: len(tests)], *[0.0] * (len(tests) - len(seconds))]
            return SuitePayload([test._replace(seconds=spent) for test, spent in zip(tests, taken, strict=True)])
        case payload:
            return payload


def _read_scan(record: Record, at: str) -> ScanPayload:
    graph = _optional(ToolGraph, record, "tool_graph", at)
    return ScanPayload(_member(Trust, record, "trust", at), graph, record.get("source", ""))


def _read_check(record: Record, at: str) -> CheckPayload:
    probes, matrix = _member(list[ProbeResult], record, "probes", at), _member(list[Cell], record, "matrix", at)
    added = record["check"]
    return CheckPayload(
        clients=_read_clients(record["clients"], f"{at}/clients"),
        trust=_read_scan(record, at),
        proof=ProvePayload(probes, matrix) if added["calls_tools"] else None,
        edits=decode(list[Edit], added["next"], f"{at}/check/next"),
        framework=added["framework"],
    )


def _read_findings(target: Record, key: str, rules: dict[str, RuleSummary], at: str) -> list[ReportedFinding]:
    return [_read_finding(record, rules, f"{at}/{key}/{number}") for number, record in enumerate(target[key])]


def _read_finding(record: Record, rules: dict[str, RuleSummary], at: str) -> ReportedFinding:
    rule = rules[record["rule"]]
    # A configuration may have changed it for one target of the run only.
    if rule.severity != record["severity"]:
        rule = rule._replace(severity=record["severity"], level=record["level"])
    if (same_as := record.get("same_as", rule.same_as)) != rule.same_as:
        rule = rule._replace(same_as=same_as)
    fix = record["fix"]
    return ReportedFinding(
        rule=rule,
        fix=None if fix is None else FixSummary(fix["set"], fix["to"], _optional(TextEdit, record, "edit", at)),
        snippet=_optional(Snippet, record, "snippet", at),
        suppression=_optional(Suppression, record, "suppression", at),
        twins=record.get("twins", 0),
        **{key: record[key] for key in _PLAIN_MEMBERS},
    )


_PLAIN_MEMBERS = (
    "item",
    "item_pointer",
    "subject",
    "pointer",
    "message",
    "evidence",
    "file",
    "line",
    "column",
    "fingerprint",
    "end_column",
)
"""The members of a finding that are stored as they are."""


def _clients_text(payload: CompatPayload) -> Iterator[str]:
    """Write a payload as a JSON object, one client a line."""
    yield f'{{"named": {printable(encode(payload.named))}, "fixable": {encode(payload.is_fixable)},\n'
    yield from listed("outcomes", map(encoded, payload.outcomes))
    yield ",\n"
    yield from listed("improvements", map(encoded, payload.improvements))
    yield "}"


def _read_clients(record: Record, at: str) -> CompatPayload:
    return CompatPayload(
        outcomes=decode(list[ClientOutcome], record["outcomes"], f"{at}/outcomes"),
        improvements=decode(list[Improvement], record["improvements"], f"{at}/improvements"),
        named=tuple(record["named"]),
        is_fixable=record.get("fixable", False),
    )
