"""Pages for visitors: what they send, the progress of a check, and its report under a link that is not listed."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from ipaddress import ip_network
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from mcproof.client.http.policy import NetworkGuard, NetworkPolicy, RefusedAddressError
from mcproof.core.errors import UsageError
from mcproof.services.web.access import RETRY_SECONDS, BusyError
from mcproof.services.web.clients import client_of
from mcproof.services.web.protection import form_fields, whole_body
from mcproof.services.web.rendering import render
from mcproof.services.web.visit_jobs import LARGEST_CATALOG, GuestJob

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from mcproof.services.web.clients import Shares
    from mcproof.services.web.visits import GuestCheck, Visits


MOST_HEADERS = 20
LONGEST_HEADERS = 8_192
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset(
    ("host", "connection", "content-length", "content-type", "accept", "transfer-encoding", "te", "trailer", "upgrade",
     "expect", "proxy-authorization", "proxy-connection", "keep-alive", "mcp-session-id", "mcp-protocol-version")
)  # fmt: skip
"""Headers that belong to the connection or the protocol."""
_LONGEST_REQUEST = 32_768
"""The most bytes of a body with a URL and headers, every character escaped."""
_URL_KEYS = frozenset(("url", "headers"))


def form_job(fields: dict[str, bytes], guard: NetworkGuard) -> GuestJob:
    """Return what a form asks for. Raises UsageError and RefusedAddressError, both with a message for its page."""
    url = text_field(fields, "url").strip()
    catalog = fields.get("file", b"").strip() or fields.get("catalog", b"").strip()
    if url and catalog:
        raise UsageError("there are both a URL and a catalog; leave out one of them")
    if catalog:
        return GuestJob("lint", catalog=catalog, is_whole=True)
    if not url:
        raise UsageError("there is nothing to check; enter a URL, or a catalog")
    return url_job("lint", url, header_lines(text_field(fields, "headers")), guard)


def text_field(fields: dict[str, bytes], name: str) -> str:
    """Return a field of a form as text."""
    return fields.get(name, b"").decode(errors="replace")


def url_job(command: str, url: str, headers: Iterable[tuple[str, str]], guard: NetworkGuard) -> GuestJob:
    """Return the check of the server at a URL; its name is not resolved yet. Raises UsageError, RefusedAddressError."""
    return GuestJob(command, url=guard.check_url(url), headers=_checked(list(headers)), is_whole=True)


def header_lines(text: str) -> list[tuple[str, str]]:
    """Return the headers in lines such as `Authorization: Bearer …`. Raises UsageError, which quotes no value."""
    headers = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise UsageError(f"line {number} of the headers is not `Name: value`")
        headers.append((name.strip(), value.strip()))
    return headers


def _checked(headers: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > LONGEST_HEADERS:
        raise UsageError(f"there are more than {MOST_HEADERS} headers or {LONGEST_HEADERS:,} characters of them")
    for name, value in headers:
        if not _NAME.fullmatch(name) or not value.isascii() or not (value.isprintable() or not value):
            raise UsageError("a header has characters that HTTP does not allow")
        if name.lower() in _OWN_HEADERS:
            raise UsageError(f"the header `{name}` cannot be set")
    return tuple(headers)


def api_job(command: str, body: bytes, guard: NetworkGuard) -> GuestJob:
    """Return what the body of an API request asks for: a URL, a catalog, or two catalogs.

    Raises UsageError and RefusedAddressError.
    """
    members = None if command == "diff" else _url_members(body)
    if members is None:
        return GuestJob(command, catalog=body)
    url, headers = members["url"], members.get("headers", {})
    if not isinstance(url, str):
        raise UsageError("`url` is not a string")
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise UsageError("`headers` is not an object of strings")
    return url_job(command, url, headers.items(), guard)


def _url_members(body: bytes) -> dict[str, Any] | None:
    """Return the object of a body that names a URL; None for a catalog, or for what is not JSON."""
    if len(body) > _LONGEST_REQUEST or b'"url"' not in body:
        return None
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):  # then it is taken for a catalog, whose reader says what is wrong
        return None
    return members if isinstance(members, dict) and "url" in members and members.keys() <= _URL_KEYS else None


PRIVATE = {"cache-control": "private, no-store", "x-robots-tag": "noindex, nofollow"}
"""The headers of everything about a visit."""
STEPS = {
    "waiting": "Waiting for a free place",
    "connecting": "Connecting, and listing what the server offers",
    "checking": "Checking every tool, resource and prompt",
    "fixing": "Writing the report and the fixes",
}
_MOST_BYTES = LARGEST_CATALOG + 64 * 1024
"""The largest form: a catalog, and the other fields."""
_POLL, _STREAM = 0.2, 10.0
"""Seconds between two checks of a visit, and of one stream of events: a browser opens another one by itself, and a
service that stops does not wait for long."""
_MOST_SHOWN = 200_000
"""The longest catalog that a form shows again."""
_DOWNLOADS = {
    "catalog.json": "catalog",
    "tightened.json": "tightened",
    "report.json": "report",
}


def visitor_router() -> APIRouter:
    """Return the routes of the pages for visitors."""
    router = APIRouter(default_response_class=HTMLResponse)
    router.add_api_route("/lint", form_page)
    router.add_api_route("/lint", submit, methods=["POST"])
    router.add_api_route("/lint/{token}", visit_page)
    router.add_api_route("/lint/{token}/events", events)
    router.add_api_route("/lint/{token}/report.html", html_report)
    router.add_api_route("/lint/{token}/{name}", download)
    return router


def url_guard(request: Request) -> NetworkGuard:
    """Return the guard for the URL of a client, before the process of the visit makes one of its own."""
    return NetworkGuard(NetworkPolicy("public", allowed=tuple(map(ip_network, request.app.state.networks))))


def start_visit(request: Request, job: GuestJob, *, is_kept: bool = True) -> GuestCheck:
    """Start what a client asks for. Raises BusyError."""
    visits: Visits = request.app.state.visits
    limited = job._replace(networks=request.app.state.networks)
    return visits.start(limited, client_of(request.scope), is_kept=is_kept)


def form_page(request: Request, url: str = "") -> Response:
    """Show the form; `?url=` fills it in, and starts nothing."""
    return _form(request, 200, url=url[:2000])


def _form(request: Request, status: int, headers: dict[str, str] | None = None, **values: Any) -> Response:
    shown = {"url": "", "catalog": "", "problem": "", "is_busy": False, "is_client": False, **values}
    limits = request.app.state.visits.limits
    page = render("lint.html", request, limits=limits, largest=LARGEST_CATALOG, **shown)
    return HTMLResponse(page, status, headers={"cache-control": "no-store", **(headers or {})})


async def submit(request: Request) -> Response:
    """Start a check, and redirect to its page. After a mistake the form is shown again, but without the headers."""
    async with whole_body(request, _MOST_BYTES, "a form") as body:
        fields = await run_in_threadpool(form_fields, request.headers.get("content-type", ""), body)
    catalog = text_field(fields, "catalog")
    entered: dict[str, Any] = {
        "url": text_field(fields, "url")[:2000],
        "catalog": catalog if len(catalog) <= _MOST_SHOWN else "",
    }
    try:
        visit = start_visit(request, form_job(fields, url_guard(request)))
    except (UsageError, RefusedAddressError) as error:
        return _form(request, 400, problem=error.message, **entered)
    except BusyError as error:
        retry = {"retry-after": str(RETRY_SECONDS)}
        return _form(request, error.status, retry, is_busy=True, is_client=error.is_client, **entered)
    return RedirectResponse(f"/lint/{visit.token}", 303, headers=PRIVATE)


def _visit_of(request: Request, token: str) -> GuestCheck:
    """Return a visit. Raises an HTTPException if there is none, or if it has expired."""
    visits: Visits = request.app.state.visits
    visit = visits.find(token)
    if visit is not None:
        return visit
    if visits.has_expired(token):
        raise HTTPException(410, f"this report was deleted: links work for {visits.limits.hours:g} hours", PRIVATE)
    raise HTTPException(404, "there is no such report; links work for a limited time", PRIVATE)


def visit_page(request: Request, token: str) -> Response:
    """Show how far a check is, why it failed, or its report."""
    try:
        visit = _visit_of(request, token)
    except HTTPException as error:
        page = render("visit_missing.html", request, is_expired=error.status_code == 410, detail=error.detail)
        return HTMLResponse(page, error.status_code, headers=PRIVATE)
    outcome = visit.outcome
    if outcome is None:
        return _shown(request, "visit_progress.html", visit, steps=STEPS, before=request.app.state.visits.before(visit))
    if outcome.failure:
        return _shown(request, "visit_failed.html", visit, outcome=outcome)
    return StreamingResponse(_report_page(request, visit), media_type="text/html; charset=utf-8", headers=PRIVATE)


def _report_page(request: Request, visit: GuestCheck) -> Iterator[bytes]:
    """Return the page of a report in pieces: the template is rendered around marks for the large parts of it."""
    placeholders = {name: f"<!--{token_hex()}-->" for name in ("page", "rules")}
    page = render(
        "visit_report.html",
        request,
        visit=visit,
        outcome=visit.outcome,
        report=Markup(placeholders["page"]),  # noqa: S704 (a template has made what replaces it, with escaping)
        rules=Markup(placeholders["rules"]),  # noqa: S704
        diff=visit.part("diff").decode(),
        link=f"{str(request.base_url).rstrip('/')}/lint/{visit.token}",
    )
    for name, placeholder in placeholders.items():
        before, _, page = page.partition(placeholder)
        yield before.encode()
        yield from visit.pieces(name)
    yield page.encode()


def _shown(request: Request, template: str, visit: GuestCheck, **values: Any) -> Response:
    return HTMLResponse(render(template, request, visit=visit, **values), headers=PRIVATE)


async def events(request: Request, token: str) -> Response:
    """Send the steps of a check as server-sent events, the last one when it is done; a stream ends after a while."""
    visit, visits = _visit_of(request, token), request.app.state.visits
    streams: Shares = request.app.state.streams
    client = client_of(request.scope)
    streams.take(client, 1)  # raises BusyError while there can be a response about it
    streams.release(client, 1)

    async def stream() -> AsyncIterator[str]:
        # Here, since a stream whose client is gone may never begin.
        with suppress(BusyError), streams.share(client) as share:
            share.add(1)
            sent, end = "", monotonic() + _STREAM
            yield "retry: 500\n\n"
            while monotonic() < end and not visits.is_closed:
                is_done = visit.is_done
                data = json.dumps({"step": visit.step, "before": visits.before(visit)})
                if data != sent:
                    sent = data
                    yield f"event: {'done' if is_done else 'step'}\ndata: {data}\n\n"
                if is_done:
                    return
                await asyncio.sleep(_POLL)

    return StreamingResponse(stream(), media_type="text/event-stream", headers=PRIVATE)


def _finished(request: Request, token: str) -> GuestCheck:
    visit = _visit_of(request, token)
    if visit.outcome is None or visit.outcome.failure:
        raise HTTPException(404, "there is no report", PRIVATE)
    return visit


def html_report(request: Request, token: str) -> Response:
    """Return the report as one file, as `--format html` writes it."""
    visit = _finished(request, token)
    headers = {**PRIVATE, "content-disposition": 'attachment; filename="mcproof-report.html"'}
    return StreamingResponse(visit.pieces("html"), media_type="text/html; charset=utf-8", headers=headers)


def download(request: Request, token: str, name: str) -> Response:
    """Return the catalog, the tightened catalog or the run report as a file."""
    visit = _finished(request, token)
    part = _DOWNLOADS.get(name)
    if part is None or not getattr(visit.outcome, part):
        raise HTTPException(404, "there is no such file", PRIVATE)
    headers = {**PRIVATE, "content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(visit.pieces(part), media_type="application/json", headers=headers)
