"""The web application: its settings, its routes, and what every response has."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware

from mcproof import __version__
from mcproof.web.access import TokenCheck
from mcproof.web.badges import router as badges
from mcproof.web.head_requests import HeadRequests
from mcproof.web.health import Metrics
from mcproof.web.health import router as health
from mcproof.web.pages import pages_router
from mcproof.web.problem_documents import add_problem_handlers
from mcproof.web.protection import HostCheck, RateLimit, ResponseHeaders, SameOrigin
from mcproof.web.recorded_runs import recording_router as recorded_runs
from mcproof.web.rest_api import router as rest_api
from mcproof.web.service_log import NoLog, RequestLog, ServiceLog
from mcproof.web.visitor_pages import visitor_router
from mcproof.web.visits import VisitLimits, Visits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcproof.store.database import Database
    from mcproof.web.watch.watcher import Watcher

DESCRIPTION = "The results of mcproof: servers, runs, findings and rules, as the command line has them."


class WebSettings(NamedTuple):
    """How a web application is run."""

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """The values of the `Host` header that are served, without a port."""
    requests_a_minute: int = 600
    """How many requests a client may send."""
    networks: tuple[str, ...] = ()
    """Networks that URLs of visitors may lead to, besides public addresses."""
    visit_limits: VisitLimits = VisitLimits()
    """The bounds of the checks that visitors ask for."""
    required_scopes: tuple[str, ...] = ()
    """The scopes, of `read` and `lint`, that requests need a token for."""


class ServiceBackground(NamedTuple):
    """What a service does and writes besides responding."""

    metrics: Metrics
    log: ServiceLog
    watcher: Watcher | None = None


def create_service(
    database: Database, settings: WebSettings | None = None, background: ServiceBackground | None = None
) -> FastAPI:
    """Return the application over a store."""
    settings = settings or WebSettings()
    metrics, log, watcher = background or ServiceBackground(Metrics(), NoLog())
    visits = Visits(
        settings.visit_limits,
        lambda outcome: metrics.increase("mcproof_visits_total", outcome=outcome.failure or "checked"),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if watcher is not None:
            watcher.start()
        yield
        if watcher is not None:
            await watcher.stop()
        await run_in_threadpool(visits.close)

    app = FastAPI(
        title="mcproof",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        middleware=[
            Middleware(RequestLog, log=log),
            Middleware(ResponseHeaders, metrics=metrics),
            Middleware(HostCheck, hosts=settings.hosts),
            Middleware(SameOrigin),
            Middleware(RateLimit, a_minute=settings.requests_a_minute),
            Middleware(TokenCheck, database=database, required=settings.required_scopes),
            Middleware(HeadRequests),
        ],
    )
    app.state.database = database
    app.state.metrics = metrics
    app.state.visits = visits
    app.state.networks = settings.networks
    for router in (visitor_router(), pages_router(), badges, health):
        app.include_router(router, include_in_schema=False)
    app.include_router(recorded_runs)
    app.include_router(rest_api)
    add_problem_handlers(app)
    return app
