"""Runs that clients with a token record, such as those of a CI job."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from fastapi import APIRouter, HTTPException, Request, Security
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from mcproof.core.errors import InputError
from mcproof.runs.stored import read_run
from mcproof.store.recording import record_known
from mcproof.store.server_rows import LONGEST
from mcproof.targets.snapshots import read_snapshot
from mcproof.web.access import token_of
from mcproof.web.problem_documents import problem_responses
from mcproof.web.request_bodies import read_body

if TYPE_CHECKING:
    from mcproof.runs.results import RunResult

recording_router = APIRouter(prefix="/api/v1", responses=problem_responses(400, 401, 403, 413, 422, 429, 503))
MOST_BYTES = 20 * 1024 * 1024
"""The most bytes of a run report with its catalog."""
_NOT_RECORDED = ("diff", "run")
"""Commands whose results are not about one server."""
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_CLOCK_SKEW = timedelta(minutes=5)
_LARGEST = 2**31 - 1
"""The largest number that every kind of store has room for."""
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
    if not name.strip() or len(name) > LONGEST:
        raise HTTPException(422, f"the name of a server has 1 to {LONGEST} characters")
    body = await read_body(request, MOST_BYTES, "a run report")

    def recorded() -> str:
        report, catalog = _parts(body)
        run = _checked(report)
        uid = str(uuid4())
        with request.app.state.database.writing() as connection:
            record_known(connection, run, name, uid, catalog if run.targets[0].trouble is None else None)
        return uid

    uid = await run_in_threadpool(recorded)
    return JSONResponse({"uid": uid, "server": name}, 201, headers={"location": f"/api/v1/runs/{uid}"})


def _parts(body: bytes) -> tuple[bytes, str | None]:
    """Return the run report of a body, and the text of the catalog if there is one."""
    try:
        document = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise HTTPException(400, "not JSON") from None
    if not isinstance(document, dict) or "report" not in document:
        return body, None
    catalog = document.get("catalog")
    if catalog is None:
        return json.dumps(document["report"]).encode(), None
    text = json.dumps(catalog, indent=2) + "\n"
    try:
        read_snapshot(text.encode(), "catalog")
    except InputError as error:
        raise HTTPException(422, str(error)) from None
    return json.dumps(document["report"]).encode(), text


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


def _checked(report: bytes) -> RunResult:
    """Return a run that may be recorded.

    Raises an HTTPException if it is not about one server, is from the future, or has numbers that cannot be stored.
    """
    try:
        run = read_run(report, "report")
    except InputError as error:
        raise HTTPException(422, error.message) from None
    if run.command in _NOT_RECORDED or len(run.targets) != 1:
        raise HTTPException(422, "a run of one server is needed: one target of a command that has --record")
    try:
        started = datetime.strptime(run.started, _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise HTTPException(422, "`timings.started` is not a time such as 2026-01-31T12:00:00Z") from None
    if started > datetime.now(UTC) + _CLOCK_SKEW:
        raise HTTPException(422, "`timings.started` is in the future")
    (result,) = run.targets
    tokens = result.scores.tokens
    if any(number > _LARGEST for number in (*result.counts.values(), tokens.total if tokens is not None else 0)):
        raise HTTPException(422, f"the number of items or tokens is larger than {_LARGEST:,}")
    return run
