"""What a visitor asks for, and the process that does it: nothing but this job, with limits of its own.

A process that is killed frees whatever a hostile catalog or server has made it use, and forgets the visitor's
headers.
Why visits are processes: docs/decisions/0055-visits-in-processes.md.
"""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from ipaddress import ip_network
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from mcproof.client.endpoints import AccessOptions
from mcproof.client.errors import UNAUTHORIZED, ConnectError, HttpStatusError, UnauthorizedError, UnreachableError
from mcproof.client.http.policy import NetworkGuard, NetworkPolicy, RefusedAddressError, parse_strict_url
from mcproof.client.redaction import hiding, secrets_of_url
from mcproof.core.console import Style
from mcproof.core.errors import InputError, McproofError, UsageError, from_exception
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.core.text.json_document import unified_diff
from mcproof.report.formats import render
from mcproof.report.html.page import PageView, page_environment
from mcproof.runs import execute
from mcproof.runs.events import FixPlanned, TargetFailed, TargetFinished, TargetStarted
from mcproof.runs.requests import (
    CatalogDocument,
    CompatRequest,
    Detail,
    DiffRequest,
    FixRequest,
    GradeRequest,
    LintRequest,
    Policy,
    ScanRequest,
    SchemaLintRequest,
    SettingsSource,
    TargetSelection,
)
from mcproof.runs.stored import run_document
from mcproof.targets.arguments import LiveOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.checks.fixes.source import FixedFile
    from mcproof.runs.events import Event, FixedTarget
    from mcproof.runs.requests import RunRequest

_REQUESTS: dict[str, Callable[..., RunRequest]] = {
    "lint": LintRequest,
    "grade": GradeRequest,
    "compat": CompatRequest,
    "scan": ScanRequest,
}
COMMANDS = (*_REQUESTS, "diff")
LARGEST_CATALOG = 5 * 1024 * 1024
"""The most bytes of a catalog in a request."""
RESPONSE, START = 15.0, 20.0
"""Seconds for a response of a server, and for its first one."""
LARGEST_RESULT = 32 * 1024 * 1024
"""The most bytes of each part of an outcome."""
MOST_LINES, LONGEST_LINE = 400, 2_000
"""The longest diff that is shown."""
_UNCONFIGURED = Policy(SettingsSource(is_disabled=True))
_BRIEF, _WHOLE = Detail(scores=True), Detail(lines=True, identities=True, scores=True)


@record()
class GuestJob(NamedTuple):
    """A check of the server at a URL, or of a catalog."""

    command: str
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent to the server, and nowhere else."""
    catalog: bytes = b""
    """The catalog, if there is no URL; for `diff` an object with an `old` and a `new` one."""
    networks: tuple[str, ...] = ()
    """Networks that may be reached besides public addresses."""
    is_whole: bool = False
    """Whether to return a run report and the fixed catalog, besides the JSON document of the command."""


@record()
class GuestOutcome(NamedTuple):
    """The result of a job. Its documents are compressed by the process, so that they are small in the service."""

    failure: str = ""
    """Why there is no result; empty if there is one.

    `refused`, `unauthorized`, `unreachable`, `protocol`, `invalid`, `large`, `slow` or `crashed`.
    """
    message: str = ""
    """The failure in one line."""
    document: bytes = b""
    """The JSON document of the command."""
    report: bytes = b""
    """The run report."""
    title: str = ""
    page: bytes = b""
    """The report as a part of a page: made here, so that the service itself never reads what a stranger has sent."""
    rules: bytes = b""
    """The rules with findings, as another part."""
    html: bytes = b""
    """The report as a page of its own."""
    catalog: bytes = b""
    tightened: bytes = b""
    """The catalog after the fixes of `schema-lint`."""
    fixes: int = 0
    """How many findings they fix."""
    diff: bytes = b""
    """The fixes as a diff; empty if it is too long to be read."""


PARTS = ("document", "report", "page", "rules", "html", "catalog", "tightened", "diff")
"""The fields of an outcome that are documents."""


def work(job: GuestJob, send_step: Callable[[str], None]) -> GuestOutcome:
    """Do a job in a process of its own: send the steps `connecting`, `checking` and `fixing`, return the outcome."""
    if hasattr(os, "nice"):
        os.nice(5)  # pages of the service come first
    try:
        outcome = outcome_of(job, send_step)
        parts: dict[str, Any] = {name: zlib.compress(data, 6) for name in PARTS if (data := getattr(outcome, name))}
        return outcome._replace(**parts)
    except Exception as error:
        outcome = failed(error)
        # The place where every failure leaves the process, whatever part of an error it quotes.
        hide = hiding((*(value for _, value in job.headers), *secrets_of_url(job.url)))
        return outcome._replace(message=hide(outcome.message))


def outcome_of(job: GuestJob, report_step: Callable[[str], None]) -> GuestOutcome:
    """Do a job. Raises McproofError if there is no result."""
    catalog = b""
    failure: McproofError | None = None

    def listen(event: Event) -> None:
        nonlocal catalog, failure
        if isinstance(event, TargetStarted):
            report_step("checking")
        elif isinstance(event, TargetFailed):
            failure = event.error
        elif isinstance(event, TargetFinished) and event.catalog is not None:
            catalog = event.catalog.document.text.encode("utf-8", "surrogatepass")

    if job.url:
        report_step("connecting")
    guard = NetworkGuard(NetworkPolicy("public", allowed=tuple(map(ip_network, job.networks))))
    with guard.applied():
        if job.url:
            guard.check_url(job.url)
            # Before all else: a scan has a result without a connection, too, and a refused name must have none.
            asyncio.run(guard.addresses(parse_strict_url(job.url).origin.host))
        run = execute(run_request(job), listen)
    if failure is not None:
        raise failure
    written = _bounded(render(run, "json", Style()))
    if not job.is_whole:
        return GuestOutcome(document=written)
    report_step("fixing")
    page = PageView(run)
    parts = page_environment().get_template("parts_of_page.html").make_module({"page": page})
    whole = GuestOutcome(
        document=written,
        report=_bounded(run_document(run)),
        title=page.title,
        page=_bounded([str(parts.report)]),  # type: ignore[attr-defined]
        rules=_bounded([str(parts.rules)]),  # type: ignore[attr-defined]
        html=_bounded(render(run, "html", Style())),
        catalog=catalog,
    )
    return _tightened(whole) if catalog else whole


def _bounded(parts: Iterable[str]) -> bytes:
    data = bytearray()
    for part in parts:
        data += part.encode("utf-8", "backslashreplace")
        if len(data) > LARGEST_RESULT:
            raise InputError(f"the result has more than {LARGEST_RESULT:,} bytes")
    return bytes(data)


def run_request(job: GuestJob) -> RunRequest:
    """Return the request of a job: without configuration, stored tokens and files."""
    detail = _WHOLE if job.is_whole else _BRIEF
    if job.command == "diff":
        return DiffRequest(*_both(job.catalog), settings=_UNCONFIGURED.settings)
    targets = _server(job) if job.url else _document("catalog", job.catalog)
    return _REQUESTS[job.command](targets, policy=_UNCONFIGURED, detail=detail)


def _both(data: bytes) -> tuple[TargetSelection, TargetSelection]:
    """Return the catalogs `old` and `new`. Raises UsageError."""
    try:
        members = json.loads(data)
        old, new = (_document(name, json.dumps(members[name]).encode()) for name in ("old", "new"))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UsageError("`diff` needs an object with the catalogs `old` and `new`") from None
    return old, new


def _document(name: str, data: bytes) -> TargetSelection:
    return TargetSelection(documents=(CatalogDocument(name, data),))


def _server(job: GuestJob) -> TargetSelection:
    live = LiveOptions(headers=dict(job.headers), access=AccessOptions(is_anonymous=True))
    return TargetSelection((job.url,), live, timeout=RESPONSE, start_timeout=START)


def _tightened(outcome: GuestOutcome) -> GuestOutcome:
    """Add the fixes of a catalog; parameters with a default stay optional, as callers may rely on it."""
    planned: list[FixedTarget] = []

    def listen(event: Event) -> None:
        if isinstance(event, FixPlanned):
            planned.append(event.fixed)

    check = SchemaLintRequest(_document("catalog.json", outcome.catalog), policy=_UNCONFIGURED)
    execute(FixRequest(check, keep_optional=True, is_dry_run=True), listen)
    if not planned or not planned[0].applied:
        return outcome
    (file,) = planned[0].files
    return outcome._replace(tightened=file.after, fixes=planned[0].applied, diff=_short_diff(file))


def _short_diff(file: FixedFile) -> bytes:
    """Return the diff of a file; empty if it has too many lines, or one that is too long."""
    lines: list[str] = []
    for line in unified_diff(file.text, file.edits, file.file):
        lines.append(line if line.endswith("\n") else f"{line}\n")
        if len(lines) > MOST_LINES or len(line) > LONGEST_LINE:
            return b""
    return "".join(lines).encode("utf-8", "backslashreplace")


def failed(error: Exception) -> GuestOutcome:
    """Return the outcome of a job without a result, with what kind of failure it is."""
    if isinstance(error, MemoryError | SystemError):  # CPython raises a SystemError where it has no memory for another
        return GuestOutcome("large", "the check needed more memory than it may use")
    if isinstance(error, RecursionError):
        return GuestOutcome("invalid", from_exception(error).message)
    if not isinstance(error, McproofError):  # its text may quote what a visitor has sent
        place = extract_tb(error.__traceback__)[-1]
        return GuestOutcome("crashed", f"a defect of mcproof: {type(error).__name__} in {place.name}, {place.lineno}")
    cause = error.__cause__ or error
    if isinstance(cause, RefusedAddressError):
        return GuestOutcome("refused", error.message)
    if isinstance(cause, HttpStatusError) and cause.status in UNAUTHORIZED:
        shown = cause.evidence if isinstance(cause, UnauthorizedError) else f"HTTP {cause.status}"
        return GuestOutcome("unauthorized", f"the server requires authorization ({shown})")
    if isinstance(cause, UnreachableError):
        return GuestOutcome("unreachable", error.message.removesuffix(" (--start-timeout)"))
    return GuestOutcome("protocol" if isinstance(error, ConnectError) else "invalid", error.message)
