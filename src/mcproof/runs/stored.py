"""Run reports: a result stored as JSON, from which any format can be rendered later.

`run_document` writes a report and `read_run` reads one. What the documents of `--format json` share is in `records`.
Why one result serves all formats: docs/decisions/0013-one-result-many-formats.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.profiles import effect_level
from mcproof.checks.clients.verdicts import BrokenConstraint, ClientGain, ClientOutcome, Improvement
from mcproof.checks.findings import IS_BREAKING, FixFacts, ReportedFinding, RuleFacts, Snippet, TextEdit
from mcproof.checks.fixes.snippets import CodeHelp
from mcproof.checks.ignores import Suppression
from mcproof.checks.scores.grade import Deduction, Gain, Grade
from mcproof.checks.scores.tokens import TokenCost
from mcproof.checks.scores.trust import Action, RuleOutcome, Trust
from mcproof.checks.texts.tool_graph import ToolEdge, ToolGraph
from mcproof.core.console import safe
from mcproof.core.errors import InputError, Notice, Untested
from mcproof.probing.outcomes import Cell, Failure, Fuzzing, ProbeResult
from mcproof.runs.records import (
    Record,
    cell_record,
    client_record,
    encode,
    finding_line,
    fuzzing_record,
    improvement_record,
    listed,
    notice_record,
    printable,
    probe_record,
    summary_record,
    test_record,
)
from mcproof.runs.results import (
    AppliedConfiguration,
    CompatPayload,
    Descriptions,
    DiffPayload,
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
    Weakness,
    empty_payload,
)
from mcproof.testing.outcomes import TestFailure, TestResult

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    yield from listed("rules", (encode(rule._asdict()) for rule in run.rules))
    yield ",\n"
    yield from listed("notices", (encode(notice_record(each)) for each in run.notices))
    if run.configurations:
        yield ",\n"
        yield from listed("configurations", (encode(each._asdict()) for each in run.configurations))
    yield ',\n"targets": ['
    for number, result in enumerate(run.targets):
        yield ",\n" if number else "\n"
        yield from _target(result)
    seconds = {result.target: round(result.seconds, 4) for result in run.targets}
    timings: Record = {"started": run.started, "seconds": round(run.seconds, 4), "targets": seconds}
    if run.kind == "suite":
        timings["tests"] = {each.target: [round(test.seconds, 4) for test in each.tests] for each in run.targets}
    yield f'\n],\n"timings": {printable(encode(timings))}}}\n'


def _target(result: TargetResult) -> Iterator[str]:
    error = {} if result.trouble is None else {"error": result.trouble._asdict()}
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
        "gates": [gate._asdict() for gate in result.gates],
        "scores": {
            **({} if scores.grade is None else {"grade": _grade_record(scores.grade)}),
            **({} if scores.polish is None else {"polish": {"score": scores.polish}}),
        },
        "tokens": None if scores.tokens is None else scores.tokens._asdict(),
        "descriptions": None if scores.descriptions is None else _descriptions(scores.descriptions),
        "not_tested": [each._asdict() for each in result.untested],
        "summary": {**summary_record(result), "suppressed": len(result.suppressed)},
    }
    yield "{" + _lines(head)
    yield from listed("findings", map(_finding_line, result.findings))
    yield ",\n"
    yield from listed("suppressed", map(_finding_line, result.suppressed))
    yield ",\n"
    yield from listed("probes", (encode(probe_record(each)) for each in result.probes))
    yield ",\n"
    yield from listed("matrix", (encode(cell_record(each)) for each in result.matrix))
    fuzzing = fuzzing_record(payload.fuzzing) if payload.kind == "fuzz" else None
    yield f',\n"fuzzing": {printable(encode(fuzzing))},\n'
    yield from listed("tests", (encode(test_record(each)) for each in result.tests))
    if payload.kind == "compat":
        yield ',\n"clients": '
        yield from clients_text(payload)
    if payload.kind == "scan" and payload.trust is not None:
        yield f',\n"trust": {printable(encode(trust_record(payload.trust)))}'
        if payload.graph is not None:
            yield f',\n"tool_graph": {printable(encode(graph_record(payload.graph)))}'
    if result.code_help:
        yield ",\n"
        yield from listed("code_help", (encode(each._asdict()) for each in result.code_help))
    yield "}"


def _descriptions(descriptions: Descriptions) -> Record:
    return {"tools": descriptions.tools, "weakest": [each._asdict() for each in descriptions.weakest]}


def _lines(members: Record) -> str:
    return "".join(f"{encode(key)}: {printable(encode(value))},\n" for key, value in members.items())


def _grade_record(grade: Grade) -> Record:
    return {
        "score": grade.score,
        "grade": grade.letter,
        "word": grade.word,
        "unclamped": grade.unclamped,
        "bonus": grade.bonus,
        "short_descriptions": grade.short_descriptions,
        "is_empty": grade.is_empty,
        "deductions": [each._asdict() for each in grade.deductions],
        "gains": [
            {
                "rule": gain.rule,
                "remedy": gain.remedy,
                "points": gain.points,
                "cost": gain.cost,
                "grade": gain.letter,
            }
            for gain in grade.gains
        ],
    }


def _finding_line(each: ReportedFinding) -> str:
    """Return a finding as in every other document, followed by what only renderers need."""
    more = {
        "item": each.item,
        "item_pointer": each.item_pointer,
        "fingerprint": each.fingerprint,
        "end_column": each.end_column,
        "edit": each.fix.edit._asdict() if each.fix is not None and each.fix.edit is not None else None,
        "snippet": each.snippet._asdict() if each.snippet is not None else None,
        "suppression": each.suppression._asdict() if each.suppression is not None else None,
        **({"twins": each.twins} if each.twins else {}),
        **({"same_as": each.rule.same_as} if each.rule.same_as else {}),
    }
    return f"{finding_line(each)[:-1]}, {encode(more)[1:]}"


def read_run(data: bytes, name: str) -> RunResult:
    """Read a run report. Raise InputError if it is not one, or invalid."""
    try:
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
    if damage := _damage(document) or _contradiction(document):
        raise InputError(f"invalid run report: {damage}", file=name)
    return _run(document)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _damage(document: Any) -> str | None:
    """Return where a report violates its schema, if it does; the readers below rely on the schema."""
    from importlib.resources import files

    import jsonschema_rs

    schema = json.loads((files("mcproof.runs") / "schemas" / "run.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema_rs.Draft202012Validator(schema)
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
    targets = [each for each in document["targets"] if "findings" in each]
    for each in targets:
        for finding in (*each["findings"], *each["suppressed"]):
            if finding["rule"] not in rules:
                return f"unknown rule `{finding['rule'][:100]}`"
            if document["command"] == "diff" and finding["severity"] not in IS_BREAKING:
                return f"invalid severity of a change: `{finding['severity']}`"
    if document["single_target"] and len(document["targets"]) > 1:
        return "`single_target` with several targets"
    if document["command"] == "grade" and not all("grade" in each["scores"] and each["tokens"] for each in targets):
        return "no grade"
    if document["command"] == "diff" and any(each["compared_with"] is None for each in targets):
        return "no `compared_with`"
    if document["command"] == "compat" and any("clients" not in each for each in targets):
        return "no `clients`"
    if document["command"] == "scan" and any("trust" not in each for each in targets):
        return "no `trust`"
    if document["command"] == "fuzz" and any(each.get("fuzzing") is None for each in targets):
        return "no `fuzzing`"
    return None


def _run(document: Record) -> RunResult:
    rules = {record["id"]: RuleFacts(**_harmless(record)) for record in document["rules"]}
    timings = document["timings"]
    return RunResult(
        command=document["command"],
        version=document["mcproof"],
        targets=[_read_target(each, rules, timings, document["command"]) for each in document["targets"]],
        rules=list(rules.values()),
        notices=[Notice(each["kind"], each["message"], each["file"], each["line"]) for each in document["notices"]],
        configurations=[AppliedConfiguration(**each) for each in document.get("configurations", [])],
        exit_code=document["exit_code"],
        is_single=document["single_target"],
        started=timings["started"],
        seconds=timings["seconds"],
    )


def _read_descriptions(record: Record) -> Descriptions:
    return Descriptions(record["tools"], [Weakness(**each) for each in record["weakest"]])


def _harmless(record: Record) -> Record:
    """Escape the texts of a record that renderers print as they are, because mcproof wrote them."""
    return {key: safe(value) if isinstance(value, str) else value for key, value in record.items()}


def _read_target(record: Record, rules: dict[str, RuleFacts], timings: Record, command: str) -> TargetResult:
    target = record["target"]
    trouble = Trouble(**record["error"]) if "error" in record else None
    if "findings" not in record:
        return TargetResult(target, trouble, payload=empty_payload(command))
    return TargetResult(
        target=target,
        trouble=trouble,
        server=record["server"],
        protocol=record["protocol"],
        connection=record["connection"],
        counts=record["counts"],
        findings=[_read_finding(each, rules) for each in record["findings"]],
        suppressed=[_read_finding(each, rules) for each in record["suppressed"]],
        scores=_read_scores(record),
        gates=[Gate(**each) for each in record["gates"]],
        fail_on=record["fail_on"],
        untested=[Untested(each["what"], each["why"], tuple(each["rules"])) for each in record["not_tested"]],
        seconds=timings["targets"].get(target, 0.0),
        payload=_read_payload(record, timings, command),
        code_help=[CodeHelp(**each) for each in record.get("code_help", ())],
    )


def _read_scores(record: Record) -> Scores:
    scores, tokens, descriptions = record["scores"], record["tokens"], record.get("descriptions")
    return Scores(
        grade=_read_grade(scores["grade"]) if "grade" in scores else None,
        tokens=TokenCost(**tokens) if tokens is not None else None,
        # Absent in reports of versions that did not score descriptions.
        descriptions=_read_descriptions(descriptions) if descriptions is not None else None,
        polish=scores["polish"]["score"] if "polish" in scores else None,
    )


def _read_payload(record: Record, timings: Record, command: str) -> Payload:
    """Read what a kind of run adds; older reports lack the lists."""
    match empty_payload(command):
        case DiffPayload():
            return DiffPayload(record["compared_with"])
        case ProbePayload():
            return ProbePayload([_read_probe(each) for each in record.get("probes", ())])
        case ProvePayload():
            return ProvePayload(
                [_read_probe(each) for each in record.get("probes", ())],
                [_read_cell(each) for each in record.get("matrix", ())],
            )
        case CompatPayload():
            return read_clients(record["clients"])
        case ScanPayload():
            graph = record.get("tool_graph")
            return ScanPayload(read_trust(record["trust"]), None if graph is None else read_graph(graph))
        case FuzzPayload():
            return FuzzPayload(_read_fuzzing(record["fuzzing"]))
        case SuitePayload():
            seconds = timings.get("tests", {}).get(record["target"], [])
            return SuitePayload(_read_tests(record.get("tests", []), seconds))
        case payload:
            return payload


def _read_tests(records: list[Record], seconds: list[float]) -> list[TestResult]:
    taken = [*seconds[: len(records)], *[0.0] * (len(records) - len(seconds))]
    return [
        TestResult(
            failures=tuple(TestFailure(**each) for each in record["failures"]),
            seconds=spent,
            **_without(record, "failures"),
        )
        for record, spent in zip(records, taken, strict=True)
    ]


def _read_probe(record: Record) -> ProbeResult:
    rest = _without(record, "exploratory", "lenient")
    return ProbeResult(is_exploratory=record["exploratory"], is_lenient=record["lenient"], **rest)


def _read_cell(record: Record) -> Cell:
    rest = _without(record, "arguments", "predicted_by")
    return Cell(arguments=tuple(record["arguments"]), predicted_by=tuple(record["predicted_by"]), **rest)


def _read_fuzzing(record: Record) -> Fuzzing:
    failures = [Failure(**each) for each in record["failures"]]
    return Fuzzing(failures=failures, **_without(record, "failures"))


def _without(record: Record, *keys: str) -> Record:
    return {key: value for key, value in record.items() if key not in keys}


def _read_grade(record: Record) -> Grade:
    return Grade(
        letter=safe(record["grade"]),
        deductions=[Deduction(**_harmless(each)) for each in record["deductions"]],
        gains=[Gain(letter=safe(each["grade"]), **_harmless(_without(each, "grade"))) for each in record["gains"]],
        **_harmless(_without(record, "grade", "deductions", "gains")),
    )


def _read_finding(record: Record, rules: dict[str, RuleFacts]) -> ReportedFinding:
    rule = rules[record["rule"]]
    if rule.severity != record["severity"]:
        rule = rule._replace(severity=record["severity"], level=record["level"])
    if (same_as := record.get("same_as", rule.same_as)) != rule.same_as:
        rule = rule._replace(same_as=same_as)
    fix, edit = record["fix"], record["edit"]
    snippet, suppression = record["snippet"], record["suppression"]
    return ReportedFinding(
        rule=rule,
        fix=None if fix is None else FixFacts(fix["set"], fix["to"], None if edit is None else TextEdit(**edit)),
        snippet=None if snippet is None else _snippet(snippet),
        suppression=None if suppression is None else Suppression(**suppression),
        twins=record.get("twins", 0),
        **{key: record[key] for key in _PLAIN_MEMBERS},
    )


def _snippet(record: dict[str, Any]) -> Snippet:
    """Return a snippet; its positions may be written as `1.0`, which is an integer in JSON Schema."""
    return Snippet(**{**record, "start": int(record["start"]), "end": int(record["end"])})


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


def clients_text(payload: CompatPayload) -> Iterator[str]:
    """Write a payload as a JSON object, one client a line."""
    yield f'{{"named": {printable(encode(payload.named))}, "fixable": {encode(payload.is_fixable)},\n'
    yield from listed("outcomes", (encode(_client_outcome_record(each)) for each in payload.outcomes))
    yield ",\n"
    yield from listed("improvements", (encode(improvement_record(each)) for each in payload.improvements))
    yield "}"


def _client_outcome_record(each: ClientOutcome) -> Record:
    facts = {"client": each.client, "kind": each.kind, "checked": each.checked, "sends_to": each.sends_to}
    return {**facts, **client_record(each)}


def read_clients(record: Record) -> CompatPayload:
    """Read a payload; the schema of run reports holds."""
    return CompatPayload(
        outcomes=[_read_outcome(each) for each in record["outcomes"]],
        improvements=[_read_improvement(each) for each in record["improvements"]],
        named=tuple(record["named"]),
        is_fixable=record.get("fixable", False),
    )


def _read_outcome(record: Record) -> ClientOutcome:
    return ClientOutcome(
        client=record["client"],
        name=record["name"],
        kind=record["kind"],
        checked=record["checked"],
        verdict=record["verdict"],
        hits=[
            BrokenConstraint(
                level=effect_level(hit["effect"], hit["status"], conditional=hit["conditional"]),
                **hit,
            )
            for hit in record["hits"]
        ],
        through=tuple(record["through"]),
        sends_to=tuple(record["sends_to"]),
    )


def _read_improvement(record: Record) -> Improvement:
    return Improvement(
        rule=record["rule"],
        places=record["places"],
        tools=record["tools"],
        gains=tuple(ClientGain(**gain) for gain in record["gains"]),
        remedy=record["remedy"],
    )


def trust_record(trust: Trust) -> Record:
    return {
        "score": trust.score,
        "verdict": trust.verdict,
        "coverage": trust.coverage,
        "hard_fails": trust.hard_fails,
        "reasons": trust.reasons,
        "actions": [each._asdict() for each in trust.actions],
        "rules": [_rule_outcome_record(each) for each in trust.outcomes],
    }


def _rule_outcome_record(each: RuleOutcome) -> Record:
    return {
        "rule": each.rule,
        "outcome": each.outcome,
        "weight": each.weight,
        "why": each.why,
        "hard_fail": each.is_hard_fail,
        "caps_verdict": each.caps_verdict,
    }


def read_trust(record: Record) -> Trust:
    """Read it from a run report; the schema of run reports holds."""
    return Trust(
        score=record["score"],
        verdict=record["verdict"],
        coverage=record["coverage"],
        hard_fails=record["hard_fails"],
        reasons=record["reasons"],
        actions=[Action(**each) for each in record["actions"]],
        outcomes=[
            RuleOutcome(
                rule=each["rule"],
                outcome=each["outcome"],
                weight=each["weight"],
                why=each["why"],
                is_hard_fail=each["hard_fail"],
                caps_verdict=each["caps_verdict"],
            )
            for each in record["rules"]
        ],
    )


def graph_record(graph: ToolGraph) -> Record:
    return {
        "tools": list(graph.tools),
        "edges": [each._asdict() for each in graph.edges],
        "left_out": graph.left_out,
    }


def read_graph(record: Record) -> ToolGraph:
    """Read a graph from a run report."""
    edges = tuple(ToolEdge(**each) for each in record["edges"])
    return ToolGraph(tuple(record["tools"]), edges, record["left_out"])
