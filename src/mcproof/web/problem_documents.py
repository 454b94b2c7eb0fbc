"""Errors: RFC 9457 problem documents for programs, pages for people."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException

from mcproof.checks.rulebook import sentence
from mcproof.core.errors import McproofError, UsageError
from mcproof.web.rendering import render

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

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

    async def crashed(request: Request, _: Exception) -> Response:
        return problem(request, 500, "this is a defect of mcproof; the log has more")

    app.add_exception_handler(Exception, crashed)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(McproofError, failed)
