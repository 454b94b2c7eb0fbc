"""What protects every route: the check of the host, limits a client, and security headers."""

from __future__ import annotations

import time
from collections import OrderedDict
from ipaddress import IPv6Network
from typing import TYPE_CHECKING

from starlette.requests import Request

from mcproof.web.problem_documents import problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mcproof.web.health import Metrics

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
PUBLIC = ("/badge/",)
"""Paths that pages elsewhere may embed."""
_MINUTE = 60.0
_MOST_CLIENTS = 10_000
"""How many clients are remembered; the one seen longest ago is forgotten first."""


class ResponseHeaders:
    """Adds security headers to every response, and counts it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()

        async def add_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                for name, value in HEADERS.items():
                    is_left_out = name == "cross-origin-resource-policy" and scope["path"].startswith(PUBLIC)
                    if name.encode() not in present and not is_left_out:
                        message["headers"].append((name.encode(), value.encode()))
                self._metrics.count(message["status"], time.perf_counter() - started)
            await send(message)

        await self._app(scope, receive, add_headers)


class HostCheck:
    """Serves only requests for a known host, so that no foreign name can be pointed at a local server."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            if "*" not in self._hosts and _host_name(request.headers.get("host", "")) not in self._hosts:
                await problem(request, 421, "this host is not served")(scope, receive, send)
                return
        await self._app(scope, receive, send)


class SameOrigin:
    """Refuses requests that change or start something if a page of another site sends them.

    Browsers declare where such a request comes from; other clients declare nothing, and act for nobody else.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            request = Request(scope)
            if not _is_same_origin(request):
                await problem(request, 403, "the request comes from a page of another site")(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_same_origin(request: Request) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == request.headers.get("host", "").lower()


def _host_name(header: str) -> str:
    """Return the host of a `Host` header, without its port."""
    if header.startswith("["):
        return header.partition("]")[0].lower() + "]"
    return header.partition(":")[0].lower()


def client_of(scope: Scope) -> str:
    """Return what limits count a client by: its address, or of IPv6 the network of 64 bits that one client has."""
    address = scope["client"][0] if scope.get("client") else ""
    if ":" not in address:
        return str(address)
    try:
        return str(IPv6Network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return str(address)


class RateLimit:
    """Lets every client send a number of requests a minute, and says in headers how many are left."""

    def __init__(self, app: ASGIApp, a_minute: int) -> None:
        self._app = app
        self._limit = a_minute
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """For each client the requests it may send, and when that was known."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        left = self._take(client_of(scope), time.monotonic())
        headers = {"ratelimit-limit": str(self._limit), "ratelimit-remaining": str(max(0, int(left)))}
        if left < 0:
            wait = max(1, round(_MINUTE / self._limit * -left))
            refused = problem(Request(scope), 429, "too many requests", {**headers, "retry-after": str(wait)})
            await refused(scope, receive, send)
            return

        async def add_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in headers.items()]
            await send(message)

        await self._app(scope, receive, add_headers)

    def _take(self, client: str, now: float) -> float:
        """Take one request from what a client has left; negative if it has none."""
        left, known = self._left.pop(client, (float(self._limit), now))
        left = min(self._limit, left + (now - known) * self._limit / _MINUTE)
        taken = left - 1
        self._left[client] = (max(taken, 0.0) if taken >= 0 else left, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return taken
