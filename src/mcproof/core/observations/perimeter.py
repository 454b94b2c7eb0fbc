"""What the URL of a server, its TLS, its HTTP and its authorization show without MCP, and who can reach it.

The caps on size and redirects are here, because the probes that measure and the rules that judge share them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from mcproof.core.named_tuple import NamedTuple


class MetadataFetch(NamedTuple):
    """One request for a metadata document."""

    url: str
    """Without secrets."""
    status: int | None = None
    """None without a response."""
    content_type: str = ""
    error: str = ""
    """Why there is no document; empty if there is one."""


class PublishedResource(NamedTuple):
    """The parts of protected-resource metadata (RFC 9728) that rules judge."""

    resource: str = ""
    """The resource identifier; empty if it has none."""
    is_matching: bool = True
    """Whether the identifier is that of the server, or of a path above it."""


class NamedIssuer(NamedTuple):
    """The URL of an authorization server, as a server names it."""

    url: str
    """Without secrets."""
    scheme: str = "https"
    is_loopback: bool = False
    odd_parts: tuple[str, ...] = ()
    """Parts that no issuer may have: `userinfo`, `query`, `fragment`."""


class PublishedIssuer(NamedTuple):
    """The parts of authorization-server metadata (RFC 8414, OpenID Connect Discovery) that rules judge."""

    issuer: str
    token_endpoint: str = ""
    jwks_uri: str = ""
    code_challenge_methods: tuple[str, ...] = ()
    grant_types: tuple[str, ...] = ()


class Authorization(NamedTuple):
    """What a server that responded with HTTP 401 or 403 publishes about authorization."""

    status: int = 401
    challenge: str = ""
    """The value of `WWW-Authenticate`, without secrets; empty without the header."""
    resource_metadata_hint: str = ""
    """The URL of the metadata that the challenge names."""
    is_loopback: bool = False
    """Whether the server is on this machine, where http is allowed."""
    resource: PublishedResource | None = None
    issuers: tuple[NamedIssuer, ...] = ()
    """The authorization servers whose metadata was requested."""
    are_issuers_named: bool = True
    """Whether the resource metadata names them; else the server itself is asked, as in revision 2025-03-26."""
    servers: tuple[PublishedIssuer, ...] = ()
    """The metadata documents that were found and belong to their issuer."""
    fetches: tuple[MetadataFetch, ...] = ()

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be judged, with the reason."""
        reasons = {}
        if not self.servers:
            for rule in DOCUMENT_RULES:
                reasons[rule] = "no metadata of an authorization server was found"
        if not (self.issuers and self.are_issuers_named):
            reasons["auth_issuer_uses_https"] = "no authorization server is named"
        if self.resource is None:
            reasons["TRU-504"] = "no resource metadata was found"
        return reasons


DOCUMENT_RULES = (
    "auth_supports_pkce_s256",
    "auth_no_insecure_grant_types",
    "auth_advertises_token_endpoint",
    "auth_advertises_jwks_uri",
)
"""Rules about the metadata documents of authorization servers."""


class Exposure(NamedTuple):
    """Who can reach a server, as far as it is known."""

    is_http: bool = False
    """Whether it is served over HTTP rather than started by its user."""
    needs_credentials: bool = False
    """Whether it was reached with credentials, or refused access without them."""

    listens_openly: bool = False
    """Whether its source serves it on all interfaces without authentication."""

    @property
    def is_open(self) -> bool:
        """Whether it is served over HTTP to anyone."""
        return self.is_http and not self.needs_credentials


SIZE_CAP = 1_048_576
"""How many bytes of a response are read."""
REDIRECT_CAP = 3
"""How many redirects are followed."""
NETWORK_RULES = (
    "transport_uses_https",
    "transport_advertises_hsts",
    "endpoint_no_credentials_in_url",
    "endpoint_uses_public_host",
)
"""Rules about the way through a network, which concern no server on this machine."""
HTTPS_RULES = (
    "tls_handshake_succeeded",
    "tls_uses_modern_version",
    "tls_certificate_not_expiring_soon",
    "transport_advertises_hsts",
)
"""Rules about https; a URL without it fails `transport_uses_https`."""


class UrlCredential(NamedTuple):
    """A credential in a URL, without its value."""

    location: str
    """`userinfo` or `query`."""
    key: str


class PeerCertificate(NamedTuple):
    """The certificate of a server, whether it is trusted or not."""

    common_name: str = ""
    alternative_names: tuple[str, ...] = ()
    """DNS names and IP addresses."""
    issuer: str = ""
    not_after: str = ""
    """The time at which it expires: ISO 8601, UTC."""
    days_until_expiry: int = 0
    """Negative if it has expired."""


class TlsHandshake(NamedTuple):
    """A TLS handshake with a server."""

    is_completed: bool = True
    """Whether a client that checks nothing completes it."""
    is_authorized: bool = True
    """Whether a client with the default settings and certificate authorities accepts it."""
    error: str = ""
    """Why it is not completed or not authorized."""
    version: str = ""
    """The negotiated version, such as `TLSv1.3`; empty if there is none."""
    certificate: PeerCertificate | None = None


class RedirectHop(NamedTuple):
    """A redirect that a server sent."""

    status: int
    url: str
    """Where it leads, without secrets."""


class EndpointResponse(NamedTuple):
    """The response to a GET of the URL, after redirects."""

    status: int = 0
    content_type: str = ""
    final_url: str = ""
    redirects: tuple[RedirectHop, ...] = ()
    strict_transport_security: str | None = None
    """The header of the host that the user named; None if it has none."""
    is_too_large: bool = False
    has_too_many_redirects: bool = False
    refused_redirect: str = ""
    """Why the last redirect was not followed."""


class OpeningResponse(NamedTuple):
    """The response to the first MCP request, sent without credentials and without an `Origin`."""

    method: str = "initialize"
    status: int = 0
    content_type: str = ""


class HeaderProbe(NamedTuple):
    """The response to the first MCP request with one foreign header."""

    sent: str
    """The value of the header."""
    status: int
    usual_status: int = 200
    """The status of the same request without the header."""


class CorsProbe(NamedTuple):
    """The response to a preflight request of a foreign website."""

    sent_origin: str
    status: int
    allowed_origin: str
    """The value of `Access-Control-Allow-Origin`; empty without the header."""
    allows_credentials: bool = False


class Perimeter(NamedTuple):
    """What the URL, TLS and HTTP of a server show."""

    url: str = ""
    """Without secrets."""
    scheme: str = "https"
    hostname: str = ""
    is_loopback: bool = False
    internal_kind: str | None = None
    """Why the host is not on the public internet; None if it may be."""
    url_credentials: tuple[UrlCredential, ...] = ()
    tls: TlsHandshake | None = None
    response: EndpointResponse | None = None
    opening: OpeningResponse | None = None
    origin: HeaderProbe | None = None
    host: HeaderProbe | None = None
    """Sent only to loopback addresses."""
    cors: CorsProbe | None = None
    failures: dict[str, str] | None = None
    """Why a part could not be observed: `tls`, `response`, `opening`, `origin`, `host`, `cors`."""

    @property
    def not_applicable(self) -> dict[str, str]:
        """The rules that do not concern the server, with the reason."""
        reasons: dict[str, str] = {}
        if self.is_loopback:
            reasons |= dict.fromkeys(NETWORK_RULES, "the server is on this machine")
        else:
            reasons["TRU-501"] = "sent only to servers on this machine"
        if self.scheme != "https":
            # A reason from above outranks this one.
            reasons = dict.fromkeys(HTTPS_RULES, "the URL is not https") | reasons
        if self.cors is not None and not self.cors.allowed_origin:
            reasons["TRU-502"] = "the server sends no CORS headers"
        return reasons

    @property
    def unobserved(self) -> dict[str, str]:
        """The other rules that could not be judged, with the reason."""
        tls, no_response = self.tls, self._missing("response", self.response)
        no_tls = self._missing("tls", tls)
        no_version = "" if tls is not None and tls.version else "no TLS version was negotiated"
        no_certificate = "" if tls is not None and tls.certificate else "no certificate was received"
        reasons = {
            "tls_handshake_succeeded": no_tls,
            "tls_uses_modern_version": no_tls or no_version,
            "tls_certificate_not_expiring_soon": no_tls or no_certificate,
            "transport_advertises_hsts": no_response,
            "transport_response_within_size_bound": no_response,
            "transport_redirects_within_bound": no_response,
            "transport_content_type_acceptable": self._no_content_type(),
            "transport_validates_origin": self._missing("origin", self.origin) or _undecided(self.origin),
            "TRU-501": self._missing("host", self.host) or _undecided(self.host, range(400, 500)),
            "TRU-502": self._missing("cors", self.cors),
        }
        others = self.not_applicable
        return {rule: why for rule, why in reasons.items() if why and rule not in others}

    def _missing(self, part: str, value: object) -> str:
        return "" if value is not None else (self.failures or {}).get(part, "not observed")

    def _no_content_type(self) -> str:
        if self.judged_content_type is not None:
            return ""
        if self.opening is None:
            return self._missing("opening", None)
        return f"the server responds with HTTP {self.opening.status}"

    @property
    def judged_content_type(self) -> str | None:
        """The content type of the first MCP response, or of the GET if the URL accepts no POST; None without one.

        An HTTP error may have any content type, so only successes count.
        """
        opening, response = self.opening, self.response
        if opening is not None and opening.status in range(200, 300):
            return opening.content_type
        refuses_post = opening is not None and opening.status in (404, 405, 501)
        if refuses_post and response is not None and response.status in range(200, 300):
            return response.content_type
        return None


def _undecided(probe: HeaderProbe | None, refusals: Container[int] = (403,)) -> str:
    """Why the response to a foreign header shows nothing; empty if it does, or without a response."""
    if probe is None or probe.status in range(200, 300):
        return ""
    if probe.status == probe.usual_status:
        return f"the server responds with HTTP {probe.status} with and without the header"
    return "" if probe.status in refusals else f"the server responds with HTTP {probe.status}"
