"""Run the web service of `mcproof serve`: its socket, its log, its watcher, and a clean stop."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
from functools import partial
from ipaddress import ip_network
from typing import TYPE_CHECKING

import uvicorn

from mcproof.cli.watch_plans import watch_plan
from mcproof.client.http.policy import NetworkPolicy
from mcproof.core.errors import InputError
from mcproof.web.health import Metrics
from mcproof.web.service import ServiceBackground, WebSettings, create_service
from mcproof.web.service_log import LogHandler, ServiceLog
from mcproof.web.slow_clients import TimedConnection
from mcproof.web.watch.watcher import Watcher
from mcproof.web.watch.webhook_posts import post_guarded

if TYPE_CHECKING:
    import argparse

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
        http=TimedConnection,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=30,
    )
    sock = _listen(options.host, options.port)
    what, port = "the example" if options.demo else database.label, sock.getsockname()[1]
    server = _Server(config, background.log, f"serving {what} at http://{options.host}:{port}")
    logging.getLogger().addHandler(LogHandler(background.log))
    gc.enable()  # off for short commands; this process lives long
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, server.handle_exit)  # also for uvicorn, which raises a signal again at its end
    with sock:
        server.run(sockets=[sock])
    background.log.write("service.stopped", "stopped")


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises an InputError with the reason if that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "unknown host"
        message = f"cannot listen at {host}:{port}: {reason.lower()}; --host and --port name another place"
        raise InputError(message) from None


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
    policy = NetworkPolicy(tuple(map(ip_network, options.allow_network)))
    plan = watch_plan(options.config, policy, allows_commands=options.allow_commands)
    if not plan.entries and plan.retention is None:
        return ServiceBackground(metrics, log)
    watcher = Watcher(database, plan, post=partial(post_guarded, policy), metrics=metrics, log=log)
    return ServiceBackground(metrics, log, watcher)
