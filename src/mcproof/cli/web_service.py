"""Run the web service of `mcproof serve`: its socket, its log, its watcher, and a clean stop."""

from __future__ import annotations

import gc
import logging
import signal
from functools import partial
from ipaddress import ip_network
from typing import TYPE_CHECKING

import uvicorn

from mcproof.cli.watch_plans import watch_plan
from mcproof.client.egress.network_guard import NetworkPolicy
from mcproof.errors import InputError
from mcproof.web.health import Metrics
from mcproof.web.service import ServiceBackground, WebSettings, create_service
from mcproof.web.service_log import LogHandler, ServiceLog
from mcproof.web.watch.watcher import Watcher
from mcproof.web.watch.webhook_posts import post_guarded

if TYPE_CHECKING:
    import argparse
    from socket import socket

    from mcproof.store.database import Database

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def serve(database: Database, options: argparse.Namespace) -> None:
    """Serve a store until a signal arrives."""
    if options.demo:
        from mcproof.web.demo_runs import fill

        fill(database)
    own = () if options.host in ("0.0.0.0", "::") else (options.host,)  # noqa: S104 (compared, not bound)
    settings = WebSettings(
        hosts=(*LOOPBACK, *own, *options.allow_host),
        required_scopes=tuple(options.require_token),
        networks=tuple(options.allow_network),
    )
    background = _background(database, options)
    config = uvicorn.Config(
        create_service(database, settings, background),
        host=options.host,
        port=options.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=30,
    )
    try:
        sock = config.bind_socket()
    except SystemExit:
        raise InputError(f"cannot listen at {options.host}:{options.port}; --port names another one") from None
    what, port = "the example" if options.demo else database.label, sock.getsockname()[1]
    server = _Server(config, background.log, f"serving {what} at http://{options.host}:{port}")
    gc.enable()  # off for short commands; this process lives long
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, server.handle_exit)  # also for uvicorn, which raises a signal again at its end
    server.run(sockets=[sock])
    background.log.write("service.stopped", "stopped")


class _Server(uvicorn.Server):
    """A server that logs when it is ready."""

    def __init__(self, config: uvicorn.Config, log: ServiceLog, greeting: str) -> None:
        super().__init__(config)
        self._log = log
        self._greeting = greeting

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        self._log.write("service.started", self._greeting)


def _background(database: Database, options: argparse.Namespace) -> ServiceBackground:
    """Return the log and the watcher of a service, with the options of `serve`."""
    log, metrics = ServiceLog(options.log_format), Metrics()
    logging.getLogger().addHandler(LogHandler(log))
    policy = NetworkPolicy(tuple(map(ip_network, options.allow_network)))
    plan = watch_plan(options.config, policy, allows_commands=options.allow_commands)
    if not plan.entries and plan.retention is None:
        return ServiceBackground(metrics, log)
    watcher = Watcher(database, plan, post=partial(post_guarded, policy), metrics=metrics, log=log)
    return ServiceBackground(metrics, log, watcher)
