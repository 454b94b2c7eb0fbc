"""The run report as JSON: written after a run, and read back to render any other format from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.console import safe
from mcproof.errors import InputError
from mcproof.linting.suppression.ignores import Suppression
from mcproof.results.findings import IS_BREAKING, FixFacts, ReportedFinding, RuleFacts, Snippet, TextEdit
from mcproof.results.payloads import (
    DiffPayload,
    FuzzPayload,
    ProbePayload,
    ProvePayload,
    SuitePayload,
    empty_payload,
)
from mcproof.results.proof import Cell, Failure, Fuzzing, ProbeResult
from mcproof.results.records import (
    SCHEMA_VERSION,
    Record,
    cell_record,
    encode,
    finding_line,
    fuzzing_record,
    listed,
    notice_record,
    printable,
    probe_record,
    summary_record,
    test_record,
)
from mcproof.results.run import Gate, Notice, RunResult, TargetResult, Trouble, Untested
from mcproof.results.scores import Descriptions, Scores, Weakness
from mcproof.results.suite_tests import TestFailure, TestResult
from mcproof.scores.grade import Deduction, Gain, Grade
from mcproof.scores.tokens import TokenCost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.results.payloads import Payload

KIND = "run"
"""What tells a run report from the other documents that mcproof writes."""


def run_document(run: RunResult) -> Iterator[str]:
    """Everything that a run saw. What differs from run to run, the timings, stands on the last line."""
    head = {
        "schema_version": SCHEMA_VERSION,
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
    yield ',\n"targets": ['
    for number, report in enumerate(run.targets):
        yield ",\n" if number else "\n"
        yield from _target(report)
    seconds = {report.target: round(report.seconds, 4) for report in run.targets}
    timings: Record = {"started": run.started, "seconds": round(run.seconds, 4), "targets": seconds}
    if run.kind == "suite":
        timings["tests"] = {each.target: [round(test.seconds, 4) for test in each.tests] for each in run.targets}
    yield f'\n],\n"timings": {printable(encode(timings))}}}\n'


def _target(report: TargetResult) -> Iterator[str]:
    if report.trouble is not None:
        yield printable(encode({"target": report.target, "error": report.trouble._asdict()}))
        return
    payload, scores = report.payload, report.scores
    head = {
        "target": report.target,
        "compared_with": payload.compared_with if payload.kind == "diff" else None,
        "server": report.server,
        "protocol": report.protocol,
        "connection": report.connection,
        "counts": report.counts,
        "passed": report.passed,
        "fail_on": report.fail_on,
        "gates": [gate._asdict() for gate in report.gates],
        "scores": {
            **({} if scores.grade is None else {"grade": _grade_record(scores.grade)}),
            **({} if scores.polish is None else {"polish": {"score": scores.polish}}),
        },
        "tokens": None if scores.tokens is None else scores.tokens._asdict(),
        "descriptions": None if scores.descriptions is None else _descriptions(scores.descriptions),
        "not_tested": [each._asdict() for each in report.untested],
        "summary": {**summary_record(report), "suppressed": len(report.suppressed)},
    }
    yield "{" + _lines(head)
    yield from listed("findings", map(_finding_line, report.findings))
    yield ",\n"
    yield from listed("suppressed", map(_finding_line, report.suppressed))
    yield ",\n"
    yield from listed("probes", (encode(probe_record(each)) for each in report.probes))
    yield ",\n"
    yield from listed("matrix", (encode(cell_record(each)) for each in report.matrix))
    fuzzing = fuzzing_record(payload.fuzzing) if payload.kind == "fuzz" else None
    yield f',\n"fuzzing": {printable(encode(fuzzing))},\n'
    yield from listed("tests", (encode(test_record(each)) for each in report.tests))
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
    """A finding as in every other document, and after that what only renderers need."""
    more = {
        "item": each.item,
        "item_pointer": each.item_pointer,
        "fingerprint": each.fingerprint,
        "end_column": each.end_column,
        "edit": each.fix.edit._asdict() if each.fix is not None and each.fix.edit is not None else None,
        "snippet": each.snippet._asdict() if each.snippet is not None else None,
        "suppression": each.suppression._asdict() if each.suppression is not None else None,
    }
    return f"{finding_line(each)[:-1]}, {encode(more)[1:]}"


def read_run(data: bytes, name: str) -> RunResult:
    """A stored run report. Raises an InputError that says why this is none, or none that can be read."""
    try:
        document = json.loads(data, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        message = f"no run report: not JSON: {error.msg.lower()}"
        raise InputError(message, file=name, line=error.lineno, column=error.colno) from None
    except ValueError:
        raise InputError("no run report: not JSON in UTF-8", file=name) from None
    except RecursionError:
        raise InputError("no run report: nested too deeply", file=name) from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise InputError("no run report; `--report FILE` of a checking command writes one", file=name)
    version = document.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise InputError(f"a run report of a newer mcproof than this, which reads version {SCHEMA_VERSION}", file=name)
    if damage := _damage(document) or _contradiction(document):
        raise InputError(f"a damaged run report: {damage}", file=name)
    return _run(document)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _damage(document: Any) -> str | None:
    """Where a report is not as its schema says; everything behind this may rely on it."""
    from importlib.resources import files

    import jsonschema_rs

    schema = json.loads((files("mcproof.report") / "schemas" / "run.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema_rs.Draft202012Validator(schema)
    try:
        error = next(validator.iter_errors(document), None)
    except UnicodeEncodeError:  # half a character, which JSON can name and the validator cannot take
        error = next(validator.iter_errors(_in_whole_characters(document)), None)
    if error is None:
        return None
    where = "".join(f"/{step}" for step in error.instance_path)
    return f"at `{where[:200]}`, it is not as mcproof writes it"


def _in_whole_characters(document: Any) -> Any:
    return json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))


def _contradiction(document: Record) -> str | None:
    """What no schema can say: whether the parts of a report fit together."""
    rules = {record["id"] for record in document["rules"]}
    targets = [each for each in document["targets"] if "error" not in each]
    for each in targets:
        for finding in (*each["findings"], *each["suppressed"]):
            if finding["rule"] not in rules:
                return f"the rule `{finding['rule'][:100]}` is not among its rules"
            if document["command"] == "diff" and finding["severity"] not in IS_BREAKING:
                return f"no change is of severity `{finding['severity']}`"
    if document["single_target"] and len(document["targets"]) > 1:
        return "it has more targets than one, and says that there is one"
    if document["command"] == "grade" and not all("grade" in each["scores"] and each["tokens"] for each in targets):
        return "it is of a grade, and has none"
    if document["command"] == "diff" and any(each["compared_with"] is None for each in targets):
        return "it is of a comparison, and does not say with what"
    if document["command"] == "fuzz" and any(each.get("fuzzing") is None for each in targets):
        return "it is of fuzzing, and does not say what that came to"
    return None


def _run(document: Record) -> RunResult:
    rules = {record["id"]: RuleFacts(**_harmless(record)) for record in document["rules"]}
    timings = document["timings"]
    return RunResult(
        document["command"],
        document["mcproof"],
        [_read_target(each, rules, timings, document["command"]) for each in document["targets"]],
        list(rules.values()),
        [Notice(each["kind"], each["message"], each["file"], each["line"]) for each in document["notices"]],
        document["exit_code"],
        document["single_target"],
        timings["started"],
        timings["seconds"],
    )


def _read_descriptions(record: Record) -> Descriptions:
    return Descriptions(record["tools"], [Weakness(**each) for each in record["weakest"]])


def _harmless(record: Record) -> Record:
    """A record whose texts are mcproof's own, which renderers print as they are: nobody else may put more into them."""
    return {key: safe(value) if isinstance(value, str) else value for key, value in record.items()}


def _read_target(record: Record, rules: dict[str, RuleFacts], timings: Record, command: str) -> TargetResult:
    target = record["target"]
    if "error" in record:
        return TargetResult(target, Trouble(**record["error"]), payload=empty_payload(command))
    return TargetResult(
        target=target,
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
    return ProbeResult(is_exploratory=record["exploratory"], **_without(record, "exploratory"))


def _read_cell(record: Record) -> Cell:
    rest = _without(record, "doubtful", "predicted_by")
    return Cell(is_doubtful=record["doubtful"], predicted_by=tuple(record["predicted_by"]), **rest)


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
    fix, edit = record["fix"], record["edit"]
    snippet, suppression = record["snippet"], record["suppression"]
    return ReportedFinding(
        rule,
        record["item"],
        record["item_pointer"],
        record["subject"],
        record["pointer"],
        record["message"],
        record["evidence"],
        record["file"],
        record["line"],
        record["column"],
        None if fix is None else FixFacts(fix["set"], fix["to"], None if edit is None else TextEdit(**edit)),
        record["fingerprint"],
        record["end_column"],
        None if snippet is None else Snippet(**snippet),
        None if suppression is None else Suppression(**suppression),
    )
