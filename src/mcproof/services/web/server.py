"""The web service: its settings, its routes, its socket, and a clean stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import ip_network
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware

from mcproof import __version__
from mcproof.client.http.policy import NetworkPolicy
from mcproof.core.errors import InputError
from mcproof.core.named_tuple import NamedTuple
from mcproof.services.sweep.engines import descriptors_left
from mcproof.services.web.access import TokenCheck, add_problem_handlers
from mcproof.services.web.clients import RateLimit, Shares, TrustedProxies
from mcproof.services.web.health import LogHandler, Metrics, NoLog, RequestLog, ServiceLog
from mcproof.services.web.health import router as health
from mcproof.services.web.page_cache import SECONDS, PageCache, PageStore
from mcproof.services.web.pages import pages_router
from mcproof.services.web.protection import (
    HeadRequests,
    OriginCheck,
    ResponseHeaders,
    TimedConnection,
)
from mcproof.services.web.reading import StoreReader
from mcproof.services.web.rendering import router as badges
from mcproof.services.web.rest import recording_router as recorded_runs
from mcproof.services.web.rest import router as rest_api
from mcproof.services.web.visitor_pages import visitor_router
from mcproof.services.web.visits import GuestLimits, Visits
from mcproof.services.web.watch_events import post_guarded
from mcproof.services.web.watcher import Watcher, watch_plan

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator
    from ipaddress import IPv4Network, IPv6Network

    from mcproof.services.store.database import Database


MEBIBYTE = 1024 * 1024
BODIES_OF_CLIENT, BODIES = 32 * MEBIBYTE, 128 * MEBIBYTE
"""How much of bodies is kept until they are read and understood, of one client and of all."""
CONNECTIONS_OF_CLIENT, CONNECTIONS = 128, 2000
READS_OF_CLIENT, READS = 4, 32
"""How many reports and catalogs wait to be read, of one client and of all."""
STREAMS_OF_CLIENT, STREAMS = 10, 200
"""How many pages follow the progress of a check, of one client and of all."""
RESERVED = 200
"""Files that the service opens besides connections: the store, processes of checks, their pipes."""
DESCRIPTION = "The results of mcproof: servers, runs, findings and rules, as the command line has them."


class WebSettings(NamedTuple):
    """How a web application is run."""

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """The values of the `Host` header that are served, without a port."""
    requests_a_minute: int = 600
    """How many requests a client may send."""
    networks: tuple[str, ...] = ()
    """Networks that URLs of visitors may lead to, besides public addresses."""
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks of proxies that name the client in `Forwarded` or `X-Forwarded-For`."""
    visit_limits: GuestLimits = GuestLimits()
    """The bounds of the checks that visitors ask for."""
    page_seconds: float = 0.0
    """How old a page may be that many ask for."""
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

    pages = PageStore(settings.page_seconds)
    reader = StoreReader(Shares(READS_OF_CLIENT, READS))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if watcher is not None:
            watcher.start()
        yield
        if watcher is not None:
            await watcher.stop()
        await run_in_threadpool(visits.close)
        await run_in_threadpool(reader.close)

    app = FastAPI(
        title="mcproof",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        middleware=[
            Middleware(TrustedProxies, networks=settings.proxies),
            Middleware(RequestLog, log=log),
            Middleware(ResponseHeaders, metrics=metrics),
            Middleware(OriginCheck, hosts=settings.hosts),
            Middleware(RateLimit, a_minute=settings.requests_a_minute),
            Middleware(TokenCheck, database=database, required=settings.required_scopes),
            Middleware(HeadRequests),
            Middleware(PageCache, store=pages),
        ],
    )
    app.state.database = database
    app.state.writers = asyncio.Semaphore(1)
    app.state.unread_bodies = Shares(BODIES_OF_CLIENT, BODIES)
    app.state.streams = Shares(STREAMS_OF_CLIENT, STREAMS)
    app.state.metrics = metrics
    app.state.visits = visits
    app.state.reader = reader
    app.state.pages = pages
    app.state.networks = settings.networks
    for router in (visitor_router(), pages_router(), badges, health):
        app.include_router(router, include_in_schema=False)
    app.include_router(recorded_runs)
    app.include_router(rest_api)
    add_problem_handlers(app)
    return app


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def serve(database: Database, options: argparse.Namespace) -> None:
    """Serve a store until a signal arrives."""
    if options.demo:
        from mcproof.services.web.demo import fill

        fill(database)
    own = () if options.host in ("0.0.0.0", "::") else (options.host,)  # noqa: S104 (compared, not bound)
    settings = WebSettings(
        hosts=(*LOOPBACK, *own, *options.allow_host),
        page_seconds=SECONDS,
        required_scopes=tuple(options.require_token),
        networks=tuple(options.allow_network),
        proxies=tuple(map(ip_network, options.trusted_proxy)),
    )
    places = min(CONNECTIONS, descriptors_left(RESERVED))
    protocol = type(
        "Connection",
        (TimedConnection,),
        {
            "places": Shares(min(CONNECTIONS_OF_CLIENT, max(1, places // 2)), places),
            "proxies": settings.proxies,
        },
    )
    background = _background(database, options)
    config = uvicorn.Config(
        create_service(database, settings, background),
        host=options.host,
        port=options.port,
        http=protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=30,
    )
    sock = listen_at(options.host, options.port)
    what, port = "the example" if options.demo else database.label, sock.getsockname()[1]
    server = _Server(config, background.log, f"serving {what} at http://{options.host}:{port}")
    logging.getLogger().addHandler(LogHandler(background.log))
    gc.enable()  # off for short commands; this process lives long
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, server.handle_exit)  # also for uvicorn, which raises a signal again at its end
    with sock:
        server.run(sockets=[sock])
    background.log.write("service.stopped", "stopped")


def listen_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises an InputError with the reason if that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "unknown host"
        message = f"cannot listen at {host}:{port}: {reason.lower()}; --host and --port name another place"
        raise InputError(message) from None
    # asyncio sets this only on sockets that it opens itself. Without it, a client that keeps its connection
    # waits 40 ms for the body of each response: it is held back until the client acknowledges the head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class _Server(uvicorn.Server):
    """A server that logs when it is ready."""

    def __init__(self, config: uvicorn.Config, log: ServiceLog, greeting: str) -> None:
        super().__init__(config)
        self._log = log
        self._greeting = greeting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._log.write("service.started", self._greeting)


def _background(database: Database, options: argparse.Namespace) -> ServiceBackground:
    """Return the log and the watcher of a service, with the options of `serve`."""
    log, metrics = ServiceLog(options.log_format), Metrics()
    policy = NetworkPolicy("public", allowed=tuple(map(ip_network, options.allow_network)))
    plan = watch_plan(options.config, policy, allows_commands=options.allow_commands)
    if not plan.entries and plan.retention is None:
        return ServiceBackground(metrics, log)
    watcher = Watcher(database, plan, post=partial(post_guarded, policy), metrics=metrics, log=log)
    return ServiceBackground(metrics, log, watcher)
