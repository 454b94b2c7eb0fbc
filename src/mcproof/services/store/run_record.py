"""What the store keeps of a run of one server: plain values, made where the run is.

A report may come from a stranger, and reading it takes many times its size. So whoever has run a check, or reads a
report in a worker process, makes the record; the process that writes to the store reads no report.
"""

from __future__ import annotations

import json
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.runs.stored import run_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.runs.results import RunResult, TargetResult


LONGEST = 500
"""The most characters of a name or a subject in a column; the run report has them in full."""
LARGEST_REPORT = 32 << 20
"""The most bytes of a report that a service stores for others."""
_TOGETHER = 500
"""How many findings are written at once."""


@record()
class RunRecord(NamedTuple):
    """A run of one server."""

    command: str
    target: str
    started: str
    seconds: float
    version: str
    exit_code: int
    title: str
    """What the server calls itself, or the target."""
    error: str | None
    """Why the target could not be checked."""
    errors: int
    warnings: int
    notes: int
    tools: int | None
    tokens: int | None
    grade: str | None
    score: int | None
    polish: int | None
    verdict: str | None
    trust: int | None
    rules: tuple[str, ...]
    """The rules that ran."""
    firing: dict[str, int]
    """How many findings each rule has."""
    breaking: tuple[str, ...] | None
    """The clients in which the server breaks; None if that was not checked."""
    findings: tuple[bytes, ...]
    """The rows of the findings, some hundreds together, as compressed JSON."""
    report: bytes
    """The run report, compressed."""
    catalog: bytes | None = None
    """The text of the catalog, compressed."""
    digest: str | None = None
    """The hash of that text."""

    def rows(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of the findings, so few at a time that they need little memory."""
        for part in self.findings:
            yield json.loads(zlib.decompress(part))


def record_of(run: RunResult, result: TargetResult, catalog: str | None, most: int | None = None) -> RunRecord:
    """Return what is kept of a target of a run. Raises an InputError if its report has more than `most` bytes."""
    levels, scores, payload = result.levels(), result.scores, result.payload
    trust, clients = result.trust, payload.clients if payload.kind == "check" else payload
    report = "".join(run_document(run._replace(targets=[result], is_single=True))).encode("utf-8", "surrogatepass")
    if most is not None and len(report) > most:
        raise InputError(f"the run report has {len(report):,} bytes, more than the {most:,} that are stored")
    data = None if catalog is None else catalog.encode("utf-8", "surrogatepass")
    breaking = None
    if clients.kind == "compat":
        breaking = tuple(outcome.client for outcome in clients.outcomes if outcome.verdict == "breaks")
    return RunRecord(
        command=run.command,
        target=result.target[:2000],
        started=run.started,
        seconds=run.seconds,
        version=run.version,
        exit_code=run.exit_code,
        title=result.title[:LONGEST],
        error=None if result.trouble is None else str(result.trouble),
        errors=levels["error"],
        warnings=levels["warning"],
        notes=levels["note"],
        tools=result.counts.get("tools"),
        tokens=None if scores.tokens is None else scores.tokens.total,
        grade=None if scores.grade is None else scores.grade.letter,
        score=None if scores.grade is None else scores.grade.score,
        polish=scores.polish,
        verdict=None if trust is None else trust.verdict,
        trust=None if trust is None else trust.score,
        rules=tuple(rule.id for rule in run.rules),
        firing=result.by_rule(),
        breaking=breaking,
        findings=tuple(_findings(result)),
        report=zlib.compress(report, 6),
        catalog=None if data is None else zlib.compress(data, 6),
        digest=None if data is None else sha256(data).hexdigest(),
    )


def _findings(result: TargetResult) -> Iterator[bytes]:
    for start in range(0, len(result.findings), _TOGETHER):
        rows = [
            {
                "number": number,
                "rule": finding.rule.id,
                "level": finding.rule.level,
                "severity": finding.rule.severity,
                "subject": finding.subject[:LONGEST],
                "pointer": finding.pointer,
                "message": finding.message,
                "fingerprint": finding.fingerprint[:64],
            }
            for number, finding in enumerate(result.findings[start : start + _TOGETHER], start)
        ]
        # Only on their way to the database: what is kept of findings are rows.
        yield zlib.compress(json.dumps(rows).encode(), 1)
