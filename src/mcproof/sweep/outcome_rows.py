"""The row of a target in the results of a sweep: one JSON object a line, versioned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.errors import ConnectError
from mcproof.runs.records import encode, printable
from mcproof.targets.snapshots import NoCatalogError

if TYPE_CHECKING:
    from mcproof.core.errors import McproofError
    from mcproof.runs.results import TargetResult
    from mcproof.sweep.sweep_target import SweepTarget

ROW_VERSION = 1
KIND = "sweep-outcome"
CHECKED = "checked"
OUTCOMES = (CHECKED, "unreachable", "unreadable", "timed-out", "crashed", "left-out")
"""What can become of a target: checked; a live server that cannot be listed; a file that cannot be read; over the time
limit; its work ended the worker process twice; not started, because the user does not allow it."""
_RETRIED_STATUSES = (429, *range(500, 600))
_REASONS = (
    (r"internal error", "internal error"),
    (r"not the whole catalog(?!.*no response within)", "not the whole catalog"),
    (r"cannot start", "command not found or not executable"),
    (r"connecting timed out|no response within|not done within", "no response in time"),
    (r"certificate|ssl|tls", "TLS"),
    (r"name or service not known|nodename nor servname|getaddrinfo|name resolution|no address", "unknown host"),
    (r"connection refused|all connection attempts failed", "connection refused"),
    (r"cannot be reached", "network"),
    (r"the connection broke", "connection lost"),
    (r"authoriz", "authorization required"),
    (r"exited with code|was killed by signal|closed its output", "the process ended"),
    (r"redirects", "redirect"),
    (r"HTTP \d+", "HTTP error"),
)
_MATCHERS = tuple((re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in _REASONS)


class Failing(NamedTuple):
    """Why a target could not be checked."""

    outcome: str
    reason: str
    """A few words that many targets share."""
    message: str


class Timing(NamedTuple):
    """What differs from run to run."""

    started: str
    seconds: float
    attempts: int = 1


def failing(error: McproofError, *, is_live: bool) -> Failing:
    """Classify the error of a target."""
    if not is_live:
        return Failing("unreadable", _file_reason(error), str(error))
    status = error.status if isinstance(error, ConnectError) else None
    if status is not None:
        reason = "authorization required" if status in (401, 403) else f"HTTP {status}"
    else:
        reason = next((reason for matcher, reason in _MATCHERS if matcher.search(error.message)), "not an MCP server")
    outcome = "timed-out" if reason == "no response in time" else "unreachable"
    return Failing(outcome, reason, error.message)


def _file_reason(error: McproofError) -> str:
    if isinstance(error, NoCatalogError):
        return "not a catalog"
    if error.line is not None or "nested too deeply" in error.message:
        return "not JSON"
    return "no tools" if "nothing to check" in error.message else "cannot be read"


def retry_wait(error: McproofError) -> float | None:
    """Seconds that a server asks to wait before another try; 0 if it names none, None if no try would help."""
    if not isinstance(error, ConnectError):
        return None
    if error.status in _RETRIED_STATUSES:
        return error.retry_after or 0.0
    return 0.0 if error.is_transient else None


def failed_row(target: SweepTarget, why: Failing, timing: Timing) -> str:
    """Return the line of a target that could not be checked."""
    return _row_line({**_head(target, why.outcome), "reason": why.reason, "message": why.message}, timing)


def checked_row(target: SweepTarget, result: TargetResult, more: dict[str, Any], timing: Timing) -> str:
    """Return the line of a target that was checked; `more` has the members of `--scan` and `--prove`."""
    levels, scores = result.levels(), result.scores
    row = {
        **_head(target, CHECKED),
        "server": result.server,
        "protocol": result.protocol,
        "transport": None if result.connection is None else result.connection["transport"],
        "counts": result.counts,
        "grade": None if scores.grade is None else {"letter": scores.grade.letter, "score": scores.grade.score},
        "tokens": None if scores.tokens is None else scores.tokens.total,
        "descriptions": None if scores.descriptions is None else round(scores.descriptions.mean, 4),
        "summary": {
            "errors": levels["error"],
            "warnings": levels["warning"],
            "notes": levels["note"],
            "by_rule": result.by_rule(),
        },
        **more,
    }
    return _row_line(row, timing)


def trust_members(result: TargetResult) -> dict[str, Any]:
    """Return what `--scan` adds to a row."""
    if result.trouble is not None or result.payload.kind != "scan" or result.payload.trust is None:
        return {"trust": None, "scan_error": None if result.trouble is None else result.trouble.message}
    trust = result.payload.trust
    return {
        "trust": {
            "score": trust.score,
            "verdict": trust.verdict,
            "coverage": trust.coverage,
            "hard_fails": list(trust.hard_fails),
        }
    }


def proof_members(result: TargetResult) -> dict[str, Any]:
    """Return what `--prove` adds to a row."""
    if result.trouble is not None:
        return {"proof": None, "prove_error": result.trouble.message}
    verdicts: dict[str, int] = {}
    for cell in result.matrix:
        verdicts[cell.verdict] = verdicts.get(cell.verdict, 0) + 1
    judged = [each.passed for each in result.probes if each.passed is not None]
    proof = {
        "passed": result.passed,
        "probes": len(judged),
        "failed": judged.count(False),
        "verdicts": dict(sorted(verdicts.items())),
    }
    return {"proof": proof}


def _head(target: SweepTarget, outcome: str) -> dict[str, Any]:
    return {
        "schema_version": ROW_VERSION,
        "kind": KIND,
        "id": f"{target.key:016x}",
        "target": target.label,
        "name": target.name or None,
        "outcome": outcome,
    }


def _row_line(row: dict[str, Any], timing: Timing) -> str:
    row["attempts"] = timing.attempts
    row["timings"] = {"started": timing.started, "seconds": round(timing.seconds, 4)}
    return printable(encode(row)) + "\n"
