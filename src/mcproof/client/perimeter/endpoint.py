"""Observe the URL of a server, its HTTP and its authorization; works for a server that does not speak MCP.

The requests and headers of the probes are here: the first MCP request of each era, and the foreign `Origin` and
`Host`. Except for these two, they are sent without credentials.
Why URLs of a server lead no further inside: docs/decisions/0047-server-supplied-urls.md.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from mcproof.client.auth.registration import (
    LONGEST_CHALLENGE,
    MOST_SERVERS,
    bearer_challenge,
    metadata_places,
    well_known_places,
)
from mcproof.client.connect import authorizer_of
from mcproof.client.connection import CLIENT, meta_of
from mcproof.client.errors import UNAUTHORIZED, ConnectError, LostError
from mcproof.client.http.fetch import ANONYMOUS, LIMITS, Exchange, FetchedResponse, FetchLimits, Identity, fetch
from mcproof.client.http.headers import stateless_headers
from mcproof.client.http.policy import (
    PORTS,
    NetworkGuard,
    RefusedAddressError,
    canonical_url,
    is_same_issuer,
    is_within,
    like_target,
    origin_of,
)
from mcproof.client.perimeter.tls import UnobservedError, observe_tls
from mcproof.client.redaction import hide_inside, hiding, redacted_text, redacted_url
from mcproof.core.addresses import internal_kind, is_this_machine
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.perimeter import (
    Authorization,
    CorsProbe,
    EndpointResponse,
    HeaderProbe,
    MetadataFetch,
    NamedIssuer,
    OpeningResponse,
    Perimeter,
    PublishedIssuer,
    PublishedResource,
    RedirectHop,
    UrlCredential,
)
from mcproof.core.protocol import HANDSHAKE, STATELESS

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from mcproof.client.endpoints import UrlEndpoint


MOST_WORDS = 50
"""How many values of a list in a metadata document are kept."""
_JSON = {"Accept": "application/json", "Accept-Encoding": "identity"}


class Refusal(NamedTuple):
    """A response with HTTP 401 or 403 to a request without credentials."""

    status: int
    challenge: str
    """The value of `WWW-Authenticate`; empty without the header."""


class _Document(NamedTuple):
    """A metadata document, and the requests that it took to find it."""

    members: dict[str, Any] | None
    fetches: list[MetadataFetch]


class Prober(NamedTuple):
    """Sends bounded requests to a server."""

    url: str
    guard: NetworkGuard
    """Decides about URLs that the server names."""
    limits: FetchLimits = LIMITS
    identity: Identity = ANONYMOUS

    async def send(self, method: str, headers: dict[str, str], content: bytes | None = None) -> FetchedResponse:
        """The response to one request to the server, without its body. Raises UnobservedError."""
        request = fetch(
            self.url,
            method=method,
            headers=headers,
            body=content,
            identity=self.identity,
            limits=self.limits._replace(size=0, redirects=0),
            guard=self.guard,
            typed_by_user=True,
        )
        return (await self._observed(request)).last

    async def follow(self, url: str, headers: dict[str, str]) -> Exchange:
        """The response to a GET, after a few redirects, all without credentials. Raises UnobservedError.

        A URL other than that of the server comes from it.
        """
        is_own = url == self.url
        return await self._observed(
            fetch(url, headers=headers, limits=self.limits, guard=self.guard, typed_by_user=is_own)
        )

    async def _observed(self, request: Awaitable[Exchange]) -> Exchange:
        try:
            return await request
        except TimeoutError:
            raise UnobservedError(f"no response within {self.limits.seconds:g} seconds") from None
        except (ConnectError, LostError) as error:
            raise UnobservedError(error.message) from None


async def observe_authorization(prober: Prober, refusal: Refusal, *, is_loopback: bool) -> Authorization:
    """The metadata of a protected server and of its authorization servers."""
    bare = canonical_url(prober.url).partition("?")[0]
    hint = bearer_challenge(refusal.challenge).resource_metadata
    document = await _first_document(prober, [*([hint] if hint else []), *_resource_places(bare)])
    resource = None if document.members is None else _resource(document.members, bare)
    named = _named_issuers(document.members)
    issuers = named or _own_origin(bare)
    documents = await asyncio.gather(*(_issuer_document(prober, issuer) for issuer in issuers))
    return Authorization(
        status=refusal.status,
        challenge=cropped(redacted_text(refusal.challenge[:LONGEST_CHALLENGE])),
        resource_metadata_hint=cropped(redacted_url(hint)),
        is_loopback=is_loopback,
        resource=resource,
        issuers=tuple(map(_named_issuer, issuers)),
        are_issuers_named=bool(named),
        servers=tuple(_issuer(answer.members) for answer in documents if answer.members is not None),
        fetches=(*document.fetches, *(fetch for answer in documents for fetch in answer.fetches)),
    )


def _resource_places(url: str) -> list[str]:
    try:
        return well_known_places(url)
    except RefusedAddressError:  # a URL that is refused names no place to ask
        return []


def _own_origin(url: str) -> list[str]:
    """The origin of a server, which is its own authorization server if it names none (revision 2025-03-26)."""
    try:
        return [str(origin_of(url))]
    except RefusedAddressError:
        return []


async def _issuer_document(prober: Prober, issuer: str) -> _Document:
    """The metadata of an issuer; a document for another issuer does not count."""
    try:
        places = metadata_places(issuer)
    except RefusedAddressError:
        return _Document(None, [MetadataFetch(cropped(redacted_url(issuer)), error="not a URL of an issuer")])
    return await _first_document(prober, places, issuer)


async def _first_document(prober: Prober, places: list[str], issuer: str | None = None) -> _Document:
    """The first JSON object at some places."""
    fetches: list[MetadataFetch] = []
    for place in places:
        members, fetch = await _fetched(prober, place)
        if members is not None and issuer is not None:
            named = members.get("issuer")
            if not isinstance(named, str) or not is_same_issuer(named, issuer):
                members, fetch = None, fetch._replace(error="the document is for another issuer")
        fetches.append(fetch)
        if members is not None:
            return _Document(members, fetches)
    return _Document(None, fetches)


async def _fetched(prober: Prober, place: str) -> tuple[dict[str, Any] | None, MetadataFetch]:
    shown = cropped(redacted_url(place))
    try:
        followed = await prober.follow(place, _JSON)
    except UnobservedError as failure:
        return None, MetadataFetch(shown, error=cropped(str(failure)))
    response = followed.last
    fetch = MetadataFetch(shown, response.status, cropped(response.kind))
    if followed.refused or followed.has_too_many:
        return None, fetch._replace(error=followed.refused or "too many redirects")
    if response.status != 200:
        return None, fetch._replace(error=f"HTTP {response.status}")
    if response.is_too_large:
        return None, fetch._replace(error="too large")
    try:
        members = json.loads(response.body)
    except (ValueError, RecursionError):
        return None, fetch._replace(error="not JSON")
    return (members, fetch) if isinstance(members, dict) else (None, fetch._replace(error="not a JSON object"))


def _resource(members: dict[str, Any], url: str) -> PublishedResource:
    identifier = members.get("resource")
    if not isinstance(identifier, str):
        return PublishedResource(is_matching=False)
    return PublishedResource(cropped(redacted_url(identifier)), is_within(url, identifier))


def _named_issuers(members: dict[str, Any] | None) -> list[str]:
    """The authorization servers that resource metadata names."""
    listed = (members or {}).get("authorization_servers")
    return [issuer for issuer in listed if isinstance(issuer, str)][:MOST_SERVERS] if isinstance(listed, list) else []


def _named_issuer(issuer: str) -> NamedIssuer:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(issuer)
        host = parts.hostname or ""
    except ValueError:
        return NamedIssuer(cropped(redacted_text(issuer)), scheme="")
    odd = {"userinfo": parts.username is not None, "query": parts.query, "fragment": parts.fragment}
    return NamedIssuer(
        url=cropped(redacted_url(issuer)),
        scheme=parts.scheme,
        is_loopback=is_this_machine(host),
        odd_parts=tuple(part for part, is_there in odd.items() if is_there),
    )


def _issuer(members: dict[str, Any]) -> PublishedIssuer:
    def place(key: str) -> str:
        value = members.get(key)
        return cropped(redacted_url(value)) if isinstance(value, str) else ""

    return PublishedIssuer(
        issuer=place("issuer"),
        token_endpoint=place("token_endpoint"),
        jwks_uri=place("jwks_uri"),
        code_challenge_methods=_words(members.get("code_challenge_methods_supported")),
        grant_types=_words(members.get("grant_types_supported")),
    )


def _words(value: Any) -> tuple[str, ...]:
    """The strings of a list."""
    listed = value if isinstance(value, list) else []
    return tuple(cropped(word) for word in listed[:MOST_WORDS] if isinstance(word, str))


T = TypeVar("T")

FOREIGN_ORIGIN = "https://mcproof-origin-probe.invalid"
FOREIGN_HOST = "mcproof-host-probe.invalid"
"""Names that no DNS resolves (RFC 2606)."""
CREDENTIAL_KEYS = frozenset(
    {"token", "api_key", "apikey", "access_token", "refresh_token", "password", "secret", "client_secret"}
)
EVENTS = "text/event-stream"
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


class PerimeterObservation(NamedTuple):
    """What was observed around a server."""

    perimeter: Perimeter
    authorization: Authorization | None = None
    """None unless the server refuses access without credentials."""


async def observe_perimeter(server: UrlEndpoint, limits: FetchLimits = LIMITS) -> PerimeterObservation:
    """Observe the URL, TLS, HTTP and authorization of a server.

    Every request has a time limit and sends no credentials, except for the two with a foreign header, which are sent as
    the user's own would be. No part that fails hides another.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(server.url)
        port = parts.port or PORTS.get(parts.scheme, 443)
    except ValueError:
        failures = dict.fromkeys(_PARTS, "not a valid URL")
        return PerimeterObservation(Perimeter(url=server.label, scheme="", failures=failures))
    observed = await _PerimeterRun(server, parts, port, limits).observe()
    return PerimeterObservation._make(hide_inside(observed, hiding(server.secrets)))


class _PerimeterRun:
    """The probes of one server."""

    def __init__(self, server: UrlEndpoint, parts: SplitResult, port: int, limits: FetchLimits) -> None:
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
        facts = Perimeter(
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
        anonymous = own = Prober(_without_login(self._parts), await like_target(self._server.url), self._limits)
        if self._has_credentials:
            identity = Identity(self._server.headers, self._sign)
            own = anonymous._replace(url=self._parts._replace(fragment="").geturl(), identity=identity)
        return await self._over_http(facts, anonymous, own)

    def _unreachable(self, perimeter: Perimeter, why: str) -> PerimeterObservation:
        """The facts of a server to which nothing can be sent."""
        return PerimeterObservation(perimeter._replace(failures={**dict.fromkeys(_PARTS, why), **self._failures}))

    async def _over_http(self, perimeter: Perimeter, anonymous: Prober, own: Prober) -> PerimeterObservation:
        perimeter = perimeter._replace(response=await self._part("response", self._get(anonymous)))
        opened = await self._part("opening", _open(anonymous))
        if opened is None:
            self._failures.update(dict.fromkeys(("origin", "host", "cors"), self._failures["opening"]))
            return PerimeterObservation(perimeter._replace(failures=self._failures))
        request, response = opened
        perimeter = perimeter._replace(
            opening=OpeningResponse(request.method, response.status, cropped(response.kind)),
            cors=await self._part("cors", _preflight(anonymous)),
        )
        perimeter = await self._with_foreign_headers(perimeter, own, request)
        authorization = None
        if response.status in UNAUTHORIZED:
            refusal = Refusal(response.status, ", ".join(response.headers.get_list("www-authenticate")))
            authorization = await observe_authorization(anonymous, refusal, is_loopback=perimeter.is_loopback)
        return PerimeterObservation(perimeter._replace(failures=self._failures), authorization)

    async def _with_foreign_headers(self, perimeter: Perimeter, own: Prober, request: OpeningRequest) -> Perimeter:
        """The facts with the responses to a foreign `Origin` and, on this machine only, to a foreign `Host`."""
        usual = None if perimeter.opening is None else perimeter.opening.status
        if self._has_credentials:
            sent = await self._part("origin", _opened(own, request))
            usual = None if sent is None else sent.status
        if usual is None:
            return perimeter

        async def probe(header: str, value: str) -> HeaderProbe:
            response = await _opened(own, request, {header: value})
            return HeaderProbe(value, response.status, usual)

        perimeter = perimeter._replace(origin=await self._part("origin", probe("Origin", FOREIGN_ORIGIN)))
        if perimeter.is_loopback:
            port = f":{self._parts.port}" if self._parts.port else ""
            perimeter = perimeter._replace(host=await self._part("host", probe("Host", f"{FOREIGN_HOST}{port}")))
        return perimeter

    async def _part(self, name: str, probe: Awaitable[T]) -> T | None:
        """The outcome of a probe; None if it fails, with the reason noted."""
        try:
            return await probe
        except UnobservedError as failure:  # a part that fails leaves the others to be observed
            self._failures[name] = cropped(str(failure))
            return None

    async def _get(self, anonymous: Prober) -> EndpointResponse:
        """The response to a GET of the URL."""
        followed = await anonymous.follow(anonymous.url, _PLAIN)
        last = followed.last
        return EndpointResponse(
            status=last.status,
            content_type=cropped(last.kind),
            final_url=_shown(last.url),
            redirects=tuple(
                RedirectHop(response.status, _shown(response.location))
                for response in followed.responses
                if response.location is not None
            ),
            strict_transport_security=next(filter(None, map(self._transport_security, followed.responses)), None),
            is_too_large=last.is_too_large,
            has_too_many_redirects=followed.has_too_many,
            refused_redirect=followed.refused,
        )

    def _transport_security(self, response: FetchedResponse) -> str | None:
        """The `Strict-Transport-Security` of a response of the target itself."""
        from urllib.parse import urlsplit

        parts = urlsplit(response.url)
        if parts.scheme != "https" or parts.hostname != self._parts.hostname:
            return None
        value = response.headers.get("strict-transport-security")
        return None if value is None else cropped(value)


def _shown(url: str) -> str:
    return cropped(redacted_url(url))


async def _open(anonymous: Prober) -> tuple[OpeningRequest, FetchedResponse]:
    """The first request that the server understands or refuses for lack of credentials, else `initialize`."""
    first: tuple[OpeningRequest, FetchedResponse] | None = None
    for request in OPENINGS:
        response = await _opened(anonymous, request)
        if response.status in UNAUTHORIZED or _is_understood(request, response):
            return request, response
        first = first or (request, response)
    assert first is not None  # noqa: S101
    return first


def _is_understood(request: OpeningRequest, response: FetchedResponse) -> bool:
    """Whether a response is a success; a stream if that is what was requested."""
    is_expected = request.verb == "POST" or response.kind == EVENTS
    return response.status in range(200, 300) and is_expected


async def _opened(prober: Prober, request: OpeningRequest, headers: dict[str, str] | None = None) -> FetchedResponse:
    """The response to a first request; a session that it starts is ended."""
    foreign = headers or {}
    response = await prober.send(request.verb, {**request.headers, **foreign}, request.content)
    session = response.headers.get("mcp-session-id")
    if session is not None and session.isascii() and session.isprintable():
        with suppress(UnobservedError):
            await prober.send("DELETE", {"Mcp-Session-Id": session})
    return response


async def _preflight(anonymous: Prober) -> CorsProbe:
    """The response to the request that a browser sends before it lets a foreign website call the server."""
    headers = {
        "Origin": FOREIGN_ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    response = await anonymous.send("OPTIONS", headers)
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

    credentials = [UrlCredential("userinfo", "userinfo")] if parts.username is not None else []
    keys = dict.fromkeys(key for key, _ in parse_qsl(parts.query, keep_blank_values=True))
    return [
        *credentials,
        *(UrlCredential("query", key) for key in keys if key.lower().replace("-", "_") in CREDENTIAL_KEYS),
    ]


def _without_login(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
