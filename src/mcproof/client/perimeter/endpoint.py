"""Observe the URL of a server, its TLS and its HTTP; works for a server that does not speak MCP."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from mcproof.client.connect import authorizer_of
from mcproof.client.failures import UNAUTHORIZED, ConnectError
from mcproof.client.introduction import CLIENT, meta_of
from mcproof.client.perimeter.authorization_probe import Refusal, observe_authorization
from mcproof.client.perimeter.probe_http import LIMITS, AddressGuard, ProbeClient, UnobservedError
from mcproof.client.perimeter.tls_probe import observe_tls
from mcproof.client.protocol_headers import stateless_headers
from mcproof.client.secrets import hide_inside, hiding, redacted_url
from mcproof.client.transports.http_exchange import new_client
from mcproof.core.addresses import internal_kind
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.perimeter import (
    CorsProbe,
    EndpointResponse,
    HeaderProbe,
    OpeningResponse,
    PerimeterFacts,
    RedirectHop,
    UrlCredential,
)
from mcproof.core.protocol import HANDSHAKE, STATELESS

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from urllib.parse import SplitResult

    from mcproof.client.endpoints import UrlEndpoint
    from mcproof.client.perimeter.probe_http import ProbeLimits, ProbeResponse
    from mcproof.core.observations.perimeter import AuthorizationFacts

T = TypeVar("T")

FOREIGN_ORIGIN = "https://mcproof-origin-probe.invalid"
FOREIGN_HOST = "mcproof-host-probe.invalid"
"""Names that no DNS resolves (RFC 2606)."""
CREDENTIAL_KEYS = frozenset(
    {"token", "api_key", "apikey", "access_token", "refresh_token", "password", "secret", "client_secret"}
)
EVENTS = "text/event-stream"
_PORTS = {"https": 443, "http": 80}
_PARTS = ("tls", "response", "opening", "origin", "host", "cors")
_PLAIN = {"Accept": "*/*", "Accept-Encoding": "identity"}


class OpeningRequest(NamedTuple):
    """The first MCP request of an era, or of the older transport."""

    method: str
    """The MCP method; `GET` for the older transport, HTTP with SSE, which begins with a stream."""
    headers: dict[str, str]
    content: bytes | None = None

    @property
    def verb(self) -> str:
        return "GET" if self.content is None else "POST"


class _Sender(NamedTuple):
    """A client, and the URL that it sends to."""

    client: ProbeClient
    url: str


class PerimeterObservation(NamedTuple):
    """What was observed around a server."""

    perimeter: PerimeterFacts
    authorization: AuthorizationFacts | None = None
    """None unless the server refuses access without credentials."""


async def observe_perimeter(server: UrlEndpoint, limits: ProbeLimits = LIMITS) -> PerimeterObservation:
    """Observe the URL, TLS, HTTP and authorization of a server.

    Every request has a time limit and sends no credentials, except for the two with a foreign header, which are sent as
    the user's own would be. No part that fails hides another.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(server.url)
        port = parts.port or _PORTS.get(parts.scheme, 443)
    except ValueError:
        failures = dict.fromkeys(_PARTS, "not a valid URL")
        return PerimeterObservation(PerimeterFacts(url=server.label, scheme="", failures=failures))
    observed = await _PerimeterRun(server, parts, port, limits).observe()
    return PerimeterObservation._make(hide_inside(observed, hiding(server.secrets)))


class _PerimeterRun:
    """The probes of one server."""

    def __init__(self, server: UrlEndpoint, parts: SplitResult, port: int, limits: ProbeLimits) -> None:
        self._server = server
        self._limits = limits
        self._parts = parts
        self._port = port
        self._hostname = parts.hostname or ""
        authorizer = authorizer_of(server)
        self._sign = None if authorizer is None or authorizer.token is None else authorizer.sign
        self._has_credentials = bool(server.headers or self._sign or parts.username)
        self._failures: dict[str, str] = {}

    async def observe(self) -> PerimeterObservation:
        kind = internal_kind(self._hostname)
        facts = PerimeterFacts(
            url=_shown(self._server.url),
            scheme=self._parts.scheme,
            hostname=self._hostname,
            is_loopback=kind == "loopback",
            internal_kind=kind,
            url_credentials=tuple(url_credentials(self._parts)),
        )
        if facts.scheme == "https":
            tls = await self._part("tls", observe_tls(self._hostname, self._port, self._limits.seconds))
            facts = facts._replace(tls=tls)
            if tls is None or tls.error:
                why = self._failures["tls"] if tls is None else f"the TLS handshake fails: {tls.error}"
                return self._unreachable(facts, why)
        guard = await AddressGuard.of(self._hostname, self._port)
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(new_client({}, self._limits.seconds, None))
                plain = own = _Sender(ProbeClient(client, guard, self._limits), _without_login(self._parts))
                if self._has_credentials:
                    headers = dict(self._server.headers)
                    client = await stack.enter_async_context(new_client(headers, self._limits.seconds, self._sign))
                    own = _Sender(ProbeClient(client, guard, self._limits), self._parts._replace(fragment="").geturl())
                return await self._over_http(facts, plain, own)
        except ConnectError as error:  # a header that cannot be sent
            return self._unreachable(facts, error.message)

    def _unreachable(self, facts: PerimeterFacts, why: str) -> PerimeterObservation:
        """The facts of a server to which nothing can be sent."""
        return PerimeterObservation(facts._replace(failures={**dict.fromkeys(_PARTS, why), **self._failures}))

    async def _over_http(self, facts: PerimeterFacts, plain: _Sender, own: _Sender) -> PerimeterObservation:
        facts = facts._replace(response=await self._part("response", self._get(plain)))
        opened = await self._part("opening", _open(plain))
        if opened is None:
            self._failures.update(dict.fromkeys(("origin", "host", "cors"), self._failures["opening"]))
            return PerimeterObservation(facts._replace(failures=self._failures))
        request, response = opened
        facts = facts._replace(
            opening=OpeningResponse(request.method, response.status, cropped(response.kind)),
            cors=await self._part("cors", _preflight(plain)),
        )
        facts = await self._with_foreign_headers(facts, own, request)
        authorization = None
        if response.status in UNAUTHORIZED:
            refusal = Refusal(response.status, ", ".join(response.headers.get_list("www-authenticate")))
            authorization = await observe_authorization(plain.client, plain.url, refusal, is_loopback=facts.is_loopback)
        return PerimeterObservation(facts._replace(failures=self._failures), authorization)

    async def _with_foreign_headers(
        self, facts: PerimeterFacts, own: _Sender, request: OpeningRequest
    ) -> PerimeterFacts:
        """The facts with the responses to a foreign `Origin` and, on this machine only, to a foreign `Host`."""
        usual = None if facts.opening is None else facts.opening.status
        if self._has_credentials:
            sent = await self._part("origin", _opened(own, request))
            usual = None if sent is None else sent.status
        if usual is None:
            return facts

        async def probe(header: str, value: str) -> HeaderProbe:
            response = await _opened(own, request, {header: value})
            return HeaderProbe(value, response.status, usual)

        facts = facts._replace(origin=await self._part("origin", probe("Origin", FOREIGN_ORIGIN)))
        if facts.is_loopback:
            port = f":{self._parts.port}" if self._parts.port else ""
            facts = facts._replace(host=await self._part("host", probe("Host", f"{FOREIGN_HOST}{port}")))
        return facts

    async def _part(self, name: str, probe: Awaitable[T]) -> T | None:
        """The outcome of a probe; None if it fails, with the reason noted."""
        try:
            return await probe
        except UnobservedError as failure:
            self._failures[name] = cropped(str(failure))
            return None

    async def _get(self, plain: _Sender) -> EndpointResponse:
        """The response to a GET of the URL."""
        followed = await plain.client.follow(plain.url, _PLAIN, is_target=True)
        last = followed.last
        return EndpointResponse(
            status=last.status,
            content_type=cropped(last.kind),
            final_url=_shown(last.url),
            redirects=tuple(
                RedirectHop(each.status, _shown(each.location))
                for each in followed.responses
                if each.location is not None
            ),
            strict_transport_security=next(filter(None, map(self._transport_security, followed.responses)), None),
            is_too_large=last.is_too_large,
            has_too_many_redirects=followed.has_too_many,
            refused_redirect=followed.refused,
        )

    def _transport_security(self, response: ProbeResponse) -> str | None:
        """The `Strict-Transport-Security` of a response of the target itself."""
        from urllib.parse import urlsplit

        parts = urlsplit(response.url)
        if parts.scheme != "https" or parts.hostname != self._parts.hostname:
            return None
        value = response.headers.get("strict-transport-security")
        return None if value is None else cropped(value)


def _shown(url: str) -> str:
    return cropped(redacted_url(url))


async def _open(plain: _Sender) -> tuple[OpeningRequest, ProbeResponse]:
    """The first request that the server understands or refuses for lack of credentials, else `initialize`."""
    first: tuple[OpeningRequest, ProbeResponse] | None = None
    for request in OPENINGS:
        response = await _opened(plain, request)
        if response.status in UNAUTHORIZED or _is_understood(request, response):
            return request, response
        first = first or (request, response)
    assert first is not None  # noqa: S101
    return first


def _is_understood(request: OpeningRequest, response: ProbeResponse) -> bool:
    """Whether a response is a success; a stream if that is what was requested."""
    is_expected = request.verb == "POST" or response.kind == EVENTS
    return response.status in range(200, 300) and is_expected


async def _opened(sender: _Sender, request: OpeningRequest, headers: dict[str, str] | None = None) -> ProbeResponse:
    """The response to a first request; a session that it starts is ended."""
    foreign = headers or {}
    response = await sender.client.send(request.verb, sender.url, {**request.headers, **foreign}, request.content)
    session = response.headers.get("mcp-session-id")
    if session is not None and session.isascii() and session.isprintable():
        with suppress(UnobservedError):
            await sender.client.send("DELETE", sender.url, {"Mcp-Session-Id": session})
    return response


async def _preflight(plain: _Sender) -> CorsProbe:
    """The response to the request that a browser sends before it lets a foreign website call the server."""
    headers = {
        "Origin": FOREIGN_ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    response = await plain.client.send("OPTIONS", plain.url, headers)
    return CorsProbe(
        sent_origin=FOREIGN_ORIGIN,
        status=response.status,
        allowed_origin=cropped(response.headers.get("access-control-allow-origin", "").strip()),
        allows_credentials=response.headers.get("access-control-allow-credentials", "").strip() == "true",
    )


def _request(method: str, params: dict[str, Any], headers: dict[str, str]) -> OpeningRequest:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    usual = {"Content-Type": "application/json", "Accept": f"application/json, {EVENTS}", **headers}
    return OpeningRequest(method, usual, json.dumps(message).encode())


OPENINGS = (
    _request("initialize", {"protocolVersion": HANDSHAKE[0], "capabilities": {}, "clientInfo": CLIENT}, {}),
    _request(
        "server/discover",
        {"_meta": meta_of(STATELESS[0])},
        stateless_headers(STATELESS[0], {"method": "server/discover"}),
    ),
    OpeningRequest("GET", {"Accept": EVENTS}),
)
"""The first requests of the two eras and of the older transport."""


def url_credentials(parts: SplitResult) -> list[UrlCredential]:
    """The credentials in a URL: its login, and keys of its query that name one."""
    from urllib.parse import parse_qsl

    found = [UrlCredential("userinfo", "userinfo")] if parts.username is not None else []
    keys = dict.fromkeys(key for key, _ in parse_qsl(parts.query, keep_blank_values=True))
    return [*found, *(UrlCredential("query", key) for key in keys if key.lower().replace("-", "_") in CREDENTIAL_KEYS)]


def _without_login(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
