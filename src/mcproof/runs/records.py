"""The JSON records that the stored form and the `--format json` documents share, one entry a line."""

from __future__ import annotations

import json
import os
from functools import cache
from itertools import islice
from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import SharedEvidence
from mcproof.runs import codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.checks.clients.verdicts import ClientOutcome
    from mcproof.checks.findings import ReportedFinding, RuleSummary
    from mcproof.probing.outcomes import Fuzzing
    from mcproof.runs.results import TargetResult

SCHEMA_VERSION = 1
"""The version of the formats that have not changed incompatibly."""
PROVE_VERSION = 2
"""The version of the document of `prove`: since 2, its matrix has a column for values, and counts.

The error document has a schema of its own, and so a version of its own, whichever command failed.
"""

_BATCH = 256
"""How many lines of a list are joined at once."""

Record = dict[str, Any]

encode = json.JSONEncoder(check_circular=False).encode


def schema_text(name: str) -> str:
    """The text of a published JSON Schema of documents, run reports or configurations."""
    file = os.path.join(os.path.dirname(__file__), "schemas", f"{name}.schema.json")
    with open(file, encoding="utf-8") as opened:
        return opened.read()


def printable(text: str) -> str:
    """Escape in JSON text the control character that JSON allows, and workflow commands of CI runners."""
    # JSON allows DEL, but a terminal acts on it.
    if "\x7f" in text:
        text = text.replace("\x7f", "\\u007f")
    # Again and again: of `###` one replacement leaves another pair.
    while "##" in text:
        text = text.replace("##", "\\u0023#")
    return text


def small_document(**members: Any) -> list[str]:
    """A document on one line, as commands print it that have no result of a run."""
    return [printable(encode({"schema_version": SCHEMA_VERSION, **members})) + "\n"]


def listed(key: str, lines: Iterable[str]) -> Iterator[str]:
    """Write a member whose value is a list, one entry a line, in pieces of many lines."""
    yield f'"{key}": ['
    rest, separator = iter(lines), ""
    # In pieces: a report may have a hundred thousand findings, and is written as it is made.
    while batch := ",\n".join(islice(rest, _BATCH)):
        yield f"{separator}\n{printable(batch)}"
        separator = ","
    yield "\n]" if separator else "]"


def finding_line(finding: ReportedFinding) -> str:
    """Return a finding as JSON on one line, as the published schemas have it.

    Written by hand, because a long report is little else: the encoder takes half as long again.
    """
    fix, evidence, tool, line, column = finding.fix, finding.evidence, finding.tool, finding.line, finding.column
    return (
        f"{{{_rule_members(finding.rule)}, "
        f'"subject": {_quoted(finding.subject)}, "tool": {"null" if tool is None else _quoted(tool)}, '
        f'"pointer": {_quoted(finding.pointer)}, '
        f'"message": {_quoted(finding.message)}, "evidence": {"null" if evidence is None else _encoded(evidence)}, '
        f'"file": {_quoted(finding.file)}, "line": {"null" if line is None else line}, '
        f'"column": {"null" if column is None else column}, '
        f'"fix": {"null" if fix is None else encode({"set": fix.key, "to": fix.value})}}}'
    )


def _encoded(evidence: dict[str, Any]) -> str:
    """Return evidence as JSON; shared evidence is encoded once."""
    if type(evidence) is not SharedEvidence:
        return encode(evidence)
    try:
        return evidence.encoded
    except AttributeError:  # on first use: several formats may write the same evidence
        evidence.encoded = encode(evidence)
        return evidence.encoded


@cache
def _rule_members(rule: RuleSummary) -> str:
    """Return the members that all findings of a rule share."""
    members = {
        "rule": rule.id,
        "ruleset": rule.ruleset,
        "severity": rule.severity,
        "level": rule.level,
        "fault": rule.fault,
    }
    return encode(members)[1:-1]


def summary_record(result: TargetResult) -> Record:
    """Return the numbers of findings, by level and by rule."""
    levels = result.levels()
    summary: Record = {
        "errors": levels["error"],
        "warnings": levels["warning"],
        "notes": levels["note"],
        "by_rule": result.by_rule(),
    }
    if result.suppressed:
        summary["suppressed"] = len(result.suppressed)
    return summary


def encoded(result: Any) -> str:
    """Return a result as JSON on one line."""
    return encode(codec.encode(result))


def fuzzing_record(fuzzing: Fuzzing) -> Record:
    """Return the result of fuzzing, with every outcome."""
    record: Record = codec.encode(fuzzing._replace(outcomes=fuzzing.counts))
    return record


def client_record(outcome: ClientOutcome) -> Record:
    """Return what a client makes of a server, without what is known about the client."""
    record = codec.encode(outcome)
    return {key: record[key] for key in ("name", "verdict", "through", "hits")}
