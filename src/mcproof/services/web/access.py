"""Who may do what: the scopes that requests need, the tokens that have them, and errors as documents or pages.

There are no accounts and no cookies, so a page elsewhere cannot make a browser act with somebody's rights. The REST
API takes a token only as `Authorization: Bearer`, which no browser adds by itself. Errors follow RFC 9457.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request

from mcproof.checks.rulebook import sentence
from mcproof.core.errors import McproofError, UsageError
from mcproof.services.store.queries import StoredToken, find_token
from mcproof.services.web.rendering import render

if TYPE_CHECKING:
    from collections.abc import Collection

    from fastapi import FastAPI
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mcproof.services.store.database import Database


PROBLEM = "application/problem+json"
PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["type", "title", "status"],
}


RETRY_SECONDS = 20
"""When a client that is refused may try again."""


class BusyError(Exception):
    """Too much is asked for at once."""

    def __init__(self, *, is_client: bool) -> None:
        super().__init__()
        self.is_client = is_client
        """Whether this client asks for too much, and not all clients together."""

    @property
    def status(self) -> int:
        return 429 if self.is_client else 503


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of a route in the OpenAPI document."""
    content = {PROBLEM: {"schema": PROBLEM_SCHEMA}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def problem(request: Request, status: int, detail: str = "", headers: dict[str, str] | None = None) -> Response:
    """Return an error in the form that the client reads."""
    title = HTTPStatus(status).phrase
    if request.url.path.startswith("/api/"):
        document = {"type": "about:blank", "title": title, "status": status, **({"detail": detail} if detail else {})}
        return JSONResponse(document, status, headers=headers, media_type=PROBLEM)
    page = render("problem.html", request, title=title, detail=sentence(detail) if detail else "", status=status)
    return HTMLResponse(page, status, headers=headers)


def add_problem_handlers(app: FastAPI) -> None:
    """Turn every error into a problem document or a page."""

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 (registered for it)
        detail = "" if error.detail == HTTPStatus(error.status_code).phrase else str(error.detail)
        return problem(request, error.status_code, detail, dict(error.headers or {}))

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        return problem(request, 422, f"{place}: {first['msg']}")

    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, McproofError)  # noqa: S101
        return problem(request, 400 if isinstance(error, UsageError) else 503, error.message)

    async def busy(request: Request, error: Exception) -> Response:
        assert isinstance(error, BusyError)  # noqa: S101
        headers = {"retry-after": str(RETRY_SECONDS)}
        return problem(request, error.status, "too much is asked for at once; try again later", headers)

    async def crashed(request: Request, _: Exception) -> Response:
        return problem(request, 500, "this is a defect of mcproof; the log has more")

    app.add_exception_handler(Exception, crashed)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(McproofError, failed)
    app.add_exception_handler(BusyError, busy)


_RECORDED = "/api/v1/servers/"
"""What is posted below this path is recorded."""
_OPEN = ("/healthz", "/assets/")
"""Paths that need no token: what a monitor asks for, and the style of the page that refuses."""


class TokenCheck:
    """Lets requests pass that have a token with the scope they need."""

    def __init__(self, app: ASGIApp, database: Database, required: Collection[str]) -> None:
        self._app = app
        self._database = database
        self._required = frozenset(required)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        needed = self._needed(scope) if scope["type"] == "http" else None
        if needed is not None:
            request = Request(scope)
            text = token_text(request)
            try:
                token = await run_in_threadpool(find_token, self._database, text or "")
            except McproofError as error:  # outside the handlers of errors
                await problem(request, 503, error.message)(scope, receive, send)
                return
            if token is None:
                await _refused(request, needed, is_wrong=text is not None)(scope, receive, send)
                return
            if not token.permits(needed):
                detail = f"the token `{token.name}` does not have the scope `{needed}`"
                await problem(request, 403, detail)(scope, receive, send)
                return
            scope.setdefault("state", {})["token"] = token
        await self._app(scope, receive, _uncached(send) if needed is not None else send)

    def _needed(self, scope: Scope) -> str | None:
        """Return the scope that a request needs; None if everybody may send it."""
        path, is_post = scope["path"], scope["method"] == "POST"
        if is_post and path.startswith(_RECORDED):
            return "record"
        if is_post and "lint" in self._required:
            return "lint"
        return "read" if "read" in self._required and not path.startswith(_OPEN) else None


def _uncached(send: Send) -> Send:
    """Keep responses that need a token out of caches that several clients share."""

    async def send_private(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["cache-control"] = headers.get("cache-control", "no-cache").replace("public", "private")
        await send(message)

    return send_private


def token_text(request: Request) -> str | None:
    """Return the token that a request has; None if it has none in a form that its path takes."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic" and not request.url.path.startswith("/api/"):
        try:
            return b64decode(value, validate=True).decode().partition(":")[2]
        except (Base64Error, UnicodeDecodeError, ValueError):  # not Basic authentication: refused like a wrong password
            return ""
    return None


def token_of(request: Request) -> StoredToken:
    """Return the token of a request that needs one."""
    token: StoredToken = request.scope["state"]["token"]
    return token


def _refused(request: Request, needed: str, *, is_wrong: bool) -> Response:
    if request.url.path.startswith("/api/"):
        challenge = 'Bearer realm="mcproof", error="invalid_token"' if is_wrong else 'Bearer realm="mcproof"'
    else:
        challenge = 'Basic realm="mcproof", charset="UTF-8"'
    reason = "the token is unknown, revoked or expired" if is_wrong else f"a token with the scope `{needed}` is needed"
    return problem(request, 401, reason, {"www-authenticate": challenge})
