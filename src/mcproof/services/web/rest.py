"""The REST API: servers, runs, findings and rules; checks of catalogs, and runs that clients record."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints
from uuid import uuid4

from fastapi import APIRouter, HTTPException, Query, Request, Response, Security
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, create_model
from starlette.concurrency import run_in_threadpool

from mcproof.checks.rule import all_rules, find_rule
from mcproof.checks.rulebook import rule_record
from mcproof.client.http.policy import RefusedAddressError
from mcproof.core.errors import UsageError
from mcproof.runs.codec import decode
from mcproof.services.store.database import BUSY_SECONDS
from mcproof.services.store.queries import PastRun, StoredFinding, has_run, list_findings, list_runs, run_report
from mcproof.services.store.recording import record_known
from mcproof.services.store.run_record import LONGEST, RunRecord
from mcproof.services.store.servers import (
    MOST,
    PAGE,
    SORTS,
    ListedServer,
    ServerFilter,
    find_server,
    list_servers,
)
from mcproof.services.web.access import problem_responses, token_of
from mcproof.services.web.health import store_status
from mcproof.services.web.protection import whole_body
from mcproof.services.web.reading import pieces
from mcproof.services.web.visit_jobs import COMMANDS, LARGEST_CATALOG
from mcproof.services.web.visitor_pages import api_job, start_visit, url_guard

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.services.store.database import Database
    from mcproof.services.web.reading import StoreReader


recording_router = APIRouter(prefix="/api/v1", responses=problem_responses(400, 401, 403, 413, 422, 429, 503))
MOST_BYTES = 20 * 1024 * 1024
"""The most bytes of a run report with its catalog."""
_TOKEN = Security(HTTPBearer(auto_error=False, scheme_name="token", description="From `mcproof serve token create`."))
"""Describes the token in the OpenAPI document; `TokenCheck` has checked it."""
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}


class RecordedModel(BaseModel):
    """A run that is in the store."""

    uid: str
    server: str


@recording_router.post(
    "/servers/{name:path}/runs",
    status_code=201,
    response_model=RecordedModel,
    openapi_extra=_BODY,
    dependencies=[_TOKEN],
)
async def record(request: Request, name: str) -> JSONResponse:
    """Record a run of a server: a run report, as `--report` writes it, or `{"report": …, "catalog": …}`.

    It needs a token with the scope `record`, which decides which servers it may name.
    """
    token = token_of(request)
    if not token.permits_server(name):
        raise HTTPException(403, f"the token `{token.name}` is not for this server")
    # Names are in addresses and on pages, where what cannot be seen passes for another name.
    if not name.strip() or len(name) > LONGEST or not name.isprintable():
        raise HTTPException(422, f"the name of a server has 1 to {LONGEST} printable characters")
    reader: StoreReader = request.app.state.reader
    async with whole_body(request, MOST_BYTES, "a run report") as body:
        outcome = await reader.read_once("record", body)
    if outcome.problem:
        raise HTTPException(outcome.status, outcome.problem)

    def recorded() -> str:
        run = decode(RunRecord, json.loads(outcome.text))
        uid = str(uuid4())
        with request.app.state.database.writing() as connection:
            record_known(connection, run, name, uid)
        return uid

    uid = await _in_turn(request, recorded)
    # Whoever records a run expects to see it on the next page that is loaded.
    request.app.state.pages.clear()
    return JSONResponse({"uid": uid, "server": name}, 201, headers={"location": f"/api/v1/runs/{uid}"})


async def _in_turn(request: Request, write: Callable[[], str]) -> str:
    """Write to the store in a thread, one request after another: those that wait must not take threads from pages."""
    turn: asyncio.Semaphore = request.app.state.writers
    try:
        async with asyncio.timeout(BUSY_SECONDS):
            await turn.acquire()
    except TimeoutError:
        raise HTTPException(503, "the store is busy with other runs; try again later") from None
    try:
        return await run_in_threadpool(write)
    finally:
        turn.release()


router = APIRouter(prefix="/api/v1", responses=problem_responses(400, 422, 429, 503))
_Size = Annotated[int, Query(ge=1, le=MOST)]
_Text = Annotated[str, Query(max_length=500)]
_CREATED = "The server at the URL was checked; `Location` is a page with the report, for a limited time"
_FAILURES = {
    "refused": 422,
    "unauthorized": 502,
    "unreachable": 502,
    "protocol": 502,
    "large": 413,
    "slow": 504,
    "crashed": 500,
}
"""The status of each kind of failure; 400 for others."""
_AT_URL = {
    "type": "object",
    "title": "A server",
    "required": ["url"],
    "properties": {
        "url": {"type": "string", "format": "uri", "maxLength": 2000, "description": "http or https"},
        "headers": {
            "type": "object",
            "maxProperties": 20,
            "additionalProperties": {"type": "string"},
            "description": "sent to the server, and stored nowhere",
        },
    },
    "additionalProperties": False,
}
_CATALOG = {"title": "A catalog", "description": "the result of `tools/list`, or a snapshot", "type": "object"}
_CATALOGS = {
    "title": "Two catalogs, for `diff`",
    "type": "object",
    "required": ["old", "new"],
    "properties": {"old": {"type": "object"}, "new": {"type": "object"}},
}
_CHECK = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"anyOf": [_AT_URL, _CATALOGS, _CATALOG]}}},
    }
}


def _model_of(record: type, name: str) -> type[BaseModel]:
    """Return the model of a record of the store, with the same fields."""
    fields: dict[str, Any] = {field: (hint, ...) for field, hint in get_type_hints(record).items()}
    return create_model(name, __doc__=record.__doc__, **fields)


def _page_of(item: type[BaseModel], key: str, cursor: Any, name: str) -> type[BaseModel]:
    """Return the model of a page of a list: the items, and the cursor of the next page."""
    fields: dict[str, Any] = {key: (GenericAlias(list, (item,)), ...), "next": (cursor, ...)}
    return create_model(name, __doc__=f"A page of {key}; `next` is the cursor of the next one.", **fields)


ServerModel = _model_of(ListedServer, "ServerModel")
ServersModel = _page_of(ServerModel, "servers", str | None, "ServersModel")
RunsModel = _page_of(_model_of(PastRun, "RunModel"), "runs", str | None, "RunsModel")
FindingsModel = _page_of(_model_of(StoredFinding, "FindingModel"), "findings", int | None, "FindingsModel")


class HealthModel(BaseModel):
    """The service works."""

    status: str
    version: str


def _database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


def tagged(request: Request, document: Any, *, seconds: int = 0) -> Response:
    """Return a JSON document with an ETag, or 304 if the client has it already."""
    response = JSONResponse(document)
    # Of the body, so that the tag changes exactly with what the client would get.
    tag = f'"{sha256(response.body).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": f"public, max-age={seconds}" if seconds else "no-cache"}
    if tag in (part.strip() for part in request.headers.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response


@router.get("/health", response_model=HealthModel)
def health(request: Request) -> Any:
    """Whether the service can read its store: 200, or 503 with the reason."""
    return store_status(_database(request))


@router.get("/servers", response_model=ServersModel)
def servers(
    request: Request,
    q: _Text = "",
    grade: _Text = "",
    verdict: _Text = "",
    client: _Text = "",
    rule: _Text = "",
    sort: Annotated[str, Query(json_schema_extra={"enum": list(SORTS)})] = "-score",
    cursor: _Text = "",
    limit: _Size = PAGE,
) -> Response:
    """List servers: searched, filtered, sorted, a page at a time."""
    wanted = ServerFilter(q, grade.upper(), verdict, client, rule, sort, cursor, limit)
    page = list_servers(_database(request), wanted)
    return tagged(request, {"servers": [summary._asdict() for summary in page.servers], "next": page.next or None})


@router.get("/servers/{name:path}/runs", response_model=RunsModel, responses=problem_responses(404))
def runs(request: Request, name: str, cursor: _Text = "", limit: _Size = PAGE) -> Response:
    """List the runs of a server, the newest first."""
    page = list_runs(_database(request), name, cursor=cursor, size=limit)
    if page is None:
        raise HTTPException(404, "there is no such server")
    return tagged(request, {"runs": [summary._asdict() for summary in page.runs], "next": page.next or None})


@router.get("/servers/{name:path}", response_model=ServerModel, responses=problem_responses(404))
def server(request: Request, name: str) -> Response:
    """Show one server."""
    record = find_server(_database(request), name)
    if record is None:
        raise HTTPException(404, "there is no such server")
    return tagged(request, record._asdict())


@router.get("/runs/{uid}", responses=problem_responses(404))
def run(request: Request, uid: str) -> Response:
    """Return the run report of a run, as `--report` writes it."""
    if not has_run(_database(request), uid):
        raise HTTPException(404, "there is no such run")
    return StreamingResponse(pieces(run_report(_database(request), uid)), media_type="application/json")


@router.get("/runs/{uid}/findings", response_model=FindingsModel, responses=problem_responses(404))
def findings(
    request: Request, uid: str, after: Annotated[int, Query(ge=-1, le=2**31 - 1)] = -1, limit: _Size = MOST
) -> Response:
    """List the findings of a run."""
    rows = list_findings(_database(request), uid, after=after, size=limit)
    if rows is None:
        raise HTTPException(404, "there is no such run")
    # A full page may be the last one: then the next is empty, and nothing had to be counted.
    following = rows[-1].number if len(rows) == limit else None
    return tagged(request, {"findings": [row._asdict() for row in rows], "next": following})


@router.get("/rules")
def rules(request: Request) -> Response:
    """List all rules."""
    return tagged(request, {"rules": [rule_record(rule) for rule in all_rules()]}, seconds=3600)


@router.get("/rules/{id}", responses=problem_responses(404))
def one_rule(request: Request, id: str) -> Response:
    """Show one rule."""
    try:
        return tagged(request, rule_record(find_rule(id)), seconds=3600)
    except UsageError as error:
        raise HTTPException(404, error.message) from None


@router.post(
    "/{command}",
    responses={**problem_responses(403, 404, 413, 502, 504), 201: {"description": _CREATED}},
    openapi_extra=_CHECK,
)
async def check(request: Request, command: str) -> Response:
    """Check a catalog, or the server at a URL: `lint`, `grade`, `compat` or `scan`; `diff` compares two catalogs.

    The response is the JSON document of the command. A URL must lead to a public address; headers are sent to the
    server and stored nowhere.
    """
    if command not in COMMANDS:
        raise HTTPException(404, f"there is no such command; there are {', '.join(COMMANDS)}")
    try:
        async with whole_body(request, LARGEST_CATALOG, "a catalog") as body:
            job = api_job(command, body, url_guard(request))
    except RefusedAddressError as error:
        raise HTTPException(422, error.message) from None
    # Who sends a catalog has it already; a report on a server gets a link to pass on.
    visit = start_visit(request, job, is_kept=bool(job.url))
    outcome = await visit.finished()
    if outcome.failure:
        raise HTTPException(_FAILURES.get(outcome.failure, 400), outcome.message)
    headers = {"location": f"/lint/{visit.token}"} if job.url else {}
    return Response(visit.part("document"), 201 if headers else 200, headers, "application/json")
