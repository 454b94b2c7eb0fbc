"""Rules about what a server shows without MCP: its URL, TLS and HTTP, and its authorization.

Rules about authorization judge servers that refuse access without credentials (HTTP 401 or 403).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import trust_rule
from mcproof.core.observations.connection import ServerIdentity
from mcproof.core.observations.perimeter import REDIRECT_CAP, SIZE_CAP, Authorization, Perimeter

MODERN_VERSIONS = ("TLSv1.2", "TLSv1.3")
LEAST_MAX_AGE = 86_400
"""Seconds for which a browser must remember to use https."""
LEAST_DAYS = 14
"""Days until a certificate expires."""
TRANSPORTS = ("application/json", "text/event-stream")
_MAX_AGE = re.compile(r'(?:^|;)\s*max-age\s*=\s*"?(\d{1,18})"?\s*(?:;|$)', re.IGNORECASE)


_perimeter_rule = partial(
    trust_rule, Perimeter, category="transport", dimension="Transport security", phase="perimeter"
)
_endpoint_rule = partial(trust_rule, Perimeter, category="endpoint", dimension="Endpoint hygiene", phase="perimeter")


@_perimeter_rule("transport_uses_https", "plain-http", "high", weight=10)
def transport_uses_https(perimeter: Perimeter) -> Iterator[Problem]:
    """The URL of the server is not https.

    Why: everyone on the network can read and change the calls, the results and the tokens.
    Fix: serve the endpoint over https, and give clients the https URL.

    Not applicable to servers on this machine.
    """
    if perimeter.scheme != "https" and "transport_uses_https" not in perimeter.not_applicable:
        yield Problem(f"the URL is `{perimeter.scheme}`, not https", evidence={"protocol": f"{perimeter.scheme}:"})


@_perimeter_rule("tls_handshake_succeeded", "untrusted-certificate", "high", weight=8)
def tls_handshake_succeeded(perimeter: Perimeter) -> Iterator[Problem]:
    """The TLS handshake fails, or the certificate is not trusted, expired, or for another host.

    Why: clients refuse the connection; those that do not can be read by anyone in between.
    Fix: install a certificate of a public authority for this host name, with its intermediate certificates.

    The certificate is checked against the certificate authorities of the system, or those in `SSL_CERT_FILE`.
    """
    tls = perimeter.tls
    if tls is None or (tls.is_completed and tls.is_authorized):
        return
    if not tls.is_completed:
        yield Problem(f"the TLS handshake fails: {tls.error}", evidence={"ok": False, "error": tls.error})
        return
    evidence: dict[str, Any] = {"authorized": False, "authorizationError": tls.error}
    if tls.certificate is not None:
        evidence["certificate"] = tls.certificate._asdict()
    yield Problem(f"clients do not accept the certificate: {tls.error}", evidence=evidence)


@_perimeter_rule("transport_validates_origin", "foreign-origin-accepted", "high", weight=8)
def transport_validates_origin(perimeter: Perimeter) -> Iterator[Problem]:
    """The server accepts a request from a foreign website.

    Why: any page that the user opens can talk to the server, on this machine too (DNS rebinding).
    Fix: compare the `Origin` header with a list of allowed origins, and respond with HTTP 403 to others.

    MCP requires the check (2025-11-25, Transports, Security Warning). The first MCP request is sent with an `Origin`
    that does not exist; HTTP 403 passes, success fails, and any other status shows nothing.
    """
    probe = perimeter.origin
    if probe is not None and probe.status in range(200, 300):
        message = f"responds with HTTP {probe.status} to a request from the website {probe.sent}"
        yield Problem(message, evidence={"sentOrigin": probe.sent, "status": probe.status})


@_perimeter_rule("tls_uses_modern_version", "old-tls", "medium", weight=5)
def tls_uses_modern_version(perimeter: Perimeter) -> Iterator[Problem]:
    """The server negotiates a TLS version before 1.2.

    Why: older versions have known weaknesses (RFC 8996), and clients refuse them.
    Fix: enable TLS 1.2 and 1.3, and disable everything older.
    """
    if perimeter.tls is not None and perimeter.tls.version and perimeter.tls.version not in MODERN_VERSIONS:
        yield Problem(f"negotiates {perimeter.tls.version}", evidence={"protocol": perimeter.tls.version})


@_perimeter_rule("transport_advertises_hsts", "no-hsts", "low", weight=3)
def transport_advertises_hsts(perimeter: Perimeter) -> Iterator[Problem]:
    """The server does not tell browsers to use https only.

    Why: without HSTS (RFC 6797), a browser can be led to the http version of the host.
    Fix: send `Strict-Transport-Security: max-age=31536000` with every response.

    A `max-age` of less than a day counts as absent.
    """
    if perimeter.response is None or "transport_advertises_hsts" in perimeter.not_applicable:
        return
    header = perimeter.response.strict_transport_security
    match = _MAX_AGE.search(header) if header is not None else None
    seconds = None if match is None else int(match[1])
    if seconds is None or seconds < LEAST_MAX_AGE:
        what = "no `Strict-Transport-Security` header"
        if header is not None:
            what = "HSTS without a `max-age`" if seconds is None else f"HSTS with a `max-age` of {seconds:,} seconds"
        yield Problem(f"sends {what}", evidence={"present": header is not None, "maxAgeSeconds": seconds})


@_perimeter_rule("tls_certificate_not_expiring_soon", "certificate-expires-soon", "low", weight=2)
def tls_certificate_not_expiring_soon(perimeter: Perimeter) -> Iterator[Problem]:
    """The certificate expires within 14 days, or has expired.

    Why: once it has expired, clients refuse the connection.
    Fix: renew it, automatically if possible.
    """
    certificate = None if perimeter.tls is None else perimeter.tls.certificate
    if certificate is not None and certificate.days_until_expiry < LEAST_DAYS:
        days = certificate.days_until_expiry
        when = f"expires in {days} {'day' if days == 1 else 'days'}, on" if days >= 0 else "expired on"
        yield Problem(f"the certificate {when} {certificate.not_after}", evidence={"daysUntilExpiry": days})


@_perimeter_rule("transport_response_within_size_bound", "oversized-response", "info", weight=1)
def transport_response_within_size_bound(perimeter: Perimeter) -> Iterator[Problem]:
    """The response to a GET of the URL is larger than 1 MB.

    Why: an endpoint that sends this much to anyone wastes the memory of its clients.
    Fix: respond to GET with an event stream, or with HTTP 405.
    """
    if perimeter.response is not None and perimeter.response.is_too_large:
        evidence = {"sizeCapBytes": SIZE_CAP, "error": "RESPONSE_TOO_LARGE"}
        yield Problem(f"the response to a GET has more than {SIZE_CAP:,} bytes", evidence=evidence)


@_perimeter_rule("transport_redirects_within_bound", "too-many-redirects", "info", weight=1)
def transport_redirects_within_bound(perimeter: Perimeter) -> Iterator[Problem]:
    """The URL redirects more than three times.

    Why: clients give up, and every hop can lead them somewhere else.
    Fix: give clients the final URL.
    """
    if perimeter.response is not None and perimeter.response.has_too_many_redirects:
        evidence = {"redirectCap": REDIRECT_CAP, "error": "REDIRECT_LIMIT_EXCEEDED"}
        redirects = [redirect.url for redirect in perimeter.response.redirects]
        yield Problem(f"redirects more than {REDIRECT_CAP} times", evidence={**evidence, "redirects": redirects})


@_perimeter_rule("transport_content_type_acceptable", "unacceptable-content-type", "info", weight=1)
def transport_content_type_acceptable(perimeter: Perimeter) -> Iterator[Problem]:
    """The response to the first MCP request is neither JSON nor an event stream.

    Why: it is not an MCP endpoint, or one that clients cannot read.
    Fix: respond with `application/json` or `text/event-stream`; check the path of the URL.

    Only successful responses count. If the URL accepts no POST, the response to a GET is judged.
    """
    kind = perimeter.judged_content_type
    if kind is not None and kind not in TRANSPORTS:
        message = f"responds with {f'`{kind}`' if kind else 'no content type'}, neither JSON nor an event stream"
        evidence = {"acceptedTransports": list(TRANSPORTS), "contentType": kind, "error": "UPSTREAM_PROTOCOL_ERROR"}
        yield Problem(message, evidence=evidence)


@_endpoint_rule("endpoint_no_credentials_in_url", "credentials-in-url", "high", weight=6)
def endpoint_no_credentials_in_url(perimeter: Perimeter) -> Iterator[Problem]:
    """The URL contains a credential.

    Why: URLs are written to logs, histories and configurations of others.
    Fix: send credentials in the `Authorization` header.

    A login before the host, or a query key such as `token`, `api_key`, `password` or `client_secret`. Not applicable to
    servers on this machine.
    """
    if perimeter.url_credentials and "endpoint_no_credentials_in_url" not in perimeter.not_applicable:
        keys = ", ".join(dict.fromkeys(f"`{credential.key}`" for credential in perimeter.url_credentials))
        hits = [{"location": credential.location, "key": credential.key} for credential in perimeter.url_credentials]
        yield Problem(f"the URL contains a credential: {keys}", evidence={"hits": hits})


@_endpoint_rule("endpoint_uses_public_host", "internal-host", "medium", weight=4)
def endpoint_uses_public_host(perimeter: Perimeter) -> Iterator[Problem]:
    """The host of the URL is in a private network or a private domain.

    Not applicable to servers on this machine.

    Why: the same URL leads to another server elsewhere, and to internal services where an agent runs remotely.
    Fix: publish the server under a public host name.
    """
    if perimeter.internal_kind is not None and "endpoint_uses_public_host" not in perimeter.not_applicable:
        evidence = {"hostname": perimeter.hostname, "reason": perimeter.internal_kind}
        yield Problem(f"`{perimeter.hostname}` is {HOST_KINDS[perimeter.internal_kind]}", evidence=evidence)


HOST_KINDS = {
    "loopback": "this machine",
    "cloud-metadata": "the metadata service of a cloud",
    "link-local": "a link-local address",
    "private-address": "a private address",
    "reserved-address": "a reserved address",
    "private-suffix": "a name of a private network",
    "single-label": "a name without a domain",
}


@_perimeter_rule("TRU-501", "foreign-host-accepted", "medium", chosen=("severity", "weight"))
def foreign_host_accepted(perimeter: Perimeter) -> Iterator[Problem]:
    """A server on this machine accepts a request for a foreign host name.

    Why: a website whose name resolves to 127.0.0.1 reaches the server with its own name as `Host` (DNS rebinding).
    Fix: respond with HTTP 403 or 421 to requests whose `Host` is not `localhost` or the address of the server.

    Sent only to loopback addresses. The `Origin` check that MCP requires (`transport_validates_origin`) stops the same
    attack for requests of browsers; this is the second line of defence. An id and severity of mcproof's own.
    """
    # DNS rebinding leads the name of a website to this machine, so that only servers here are judged.
    probe = perimeter.host
    if perimeter.is_loopback and probe is not None and probe.status in range(200, 300):
        message = f"responds with HTTP {probe.status} to a request for the host {probe.sent}"
        yield Problem(message, evidence={"sentHost": probe.sent, "status": probe.status})


@_perimeter_rule("TRU-502", "cors-open-to-all", "medium", chosen=("severity", "weight"))
def cors_open_to_all(perimeter: Perimeter) -> Iterator[Problem]:
    """Any website may read the responses of the server.

    Why: with `Access-Control-Allow-Origin`, browsers let a foreign page read tools and results, with the cookies of the
    user if credentials are allowed.
    Fix: allow only the origins of your own pages, and do not allow credentials.

    A preflight request of a website that does not exist is sent. `*` or the same origin in the response fails: high
    with credentials and on this machine, low elsewhere. An id and severity of mcproof's own.
    """
    probe = perimeter.cors
    if probe is None or probe.status not in range(200, 300) or probe.allowed_origin not in ("*", probe.sent_origin):
        return
    # Browsers send credentials only where the response names the origin, never to `*`.
    with_credentials = probe.allows_credentials and probe.allowed_origin != "*"
    what = f"`{probe.allowed_origin}`" if probe.allowed_origin == "*" else "any origin that asks"
    message = f"CORS allows {what}{' with credentials' if with_credentials else ''}"
    origins = {"sentOrigin": probe.sent_origin, "allowOrigin": probe.allowed_origin}
    severity = "high" if with_credentials or perimeter.is_loopback else "low"
    yield Problem(message, evidence={**origins, "allowCredentials": probe.allows_credentials}, severity=severity)


@trust_rule(
    ServerIdentity,
    "server_identity_consistency",
    "unrelated-server-name",
    "medium",
    category="metadata",
    weight=4,
    dimension="Metadata transparency",
    phase="post-handshake",
)
def server_identity_consistency(identity: ServerIdentity) -> Iterator[Problem]:
    """The name that the server reports has no word in common with its host and its certificate.

    Why: a server that calls itself by the name of another may want to be taken for it.
    Fix: report a name that has a part of the host name, or serve it under a host of its owner.

    Words of fewer than three characters, `mcp`, `server`, `service`, `api`, `the` and `official` do not count. Servers
    behind the host name of a hosting provider or a CDN are reported too: judge them by hand.
    """
    words = identity.words
    if identity.not_applicable:
        return
    names = [identity.hostname, identity.common_name, *identity.alternative_names]
    if not any(word in name.lower() for word in words for name in names):
        message = f"calls itself `{identity.name}`, which is unrelated to `{identity.hostname}`"
        shown = {"hostname": identity.hostname, "certCommonName": identity.common_name or None}
        yield Problem(message, evidence={"tokens": list(words), **shown})


INSECURE_GRANTS = ("password", "implicit")
_authorization_rule = partial(
    trust_rule, Authorization, category="authorization", dimension="Auth discovery posture", phase="auth-required"
)


@_authorization_rule("auth_supports_pkce_s256", "no-pkce", "high", weight=6)
def auth_supports_pkce_s256(authorization: Authorization) -> Iterator[Problem]:
    """The metadata of an authorization server does not list PKCE with S256.

    Why: MCP clients must refuse to log in without it; a stolen code could be exchanged for a token (RFC 7636).
    Fix: add `S256` to `code_challenge_methods_supported`.
    """
    missing = [server.issuer for server in authorization.servers if "S256" not in server.code_challenge_methods]
    if missing:
        advertised = {server.issuer: list(server.code_challenge_methods) for server in authorization.servers}
        evidence = {"missing": missing, "advertised": advertised}
        yield Problem(f"PKCE with S256 is not advertised by {_listed(missing)}", evidence=evidence)


@_authorization_rule("auth_no_insecure_grant_types", "insecure-grant-type", "high", weight=6)
def auth_no_insecure_grant_types(authorization: Authorization) -> Iterator[Problem]:
    """An authorization server offers the grant type `password` or `implicit`.

    Why: both hand tokens or passwords to places where others can read them; OAuth 2.1 has removed them.
    Fix: offer `authorization_code` with PKCE and `refresh_token` only.

    Metadata without `grant_types_supported` passes, although RFC 8414 then assumes `implicit`.
    """
    offered = dict.fromkeys(grant for server in authorization.servers for grant in server.grant_types)
    grants = [grant for grant in offered if grant in INSECURE_GRANTS]
    if grants:
        yield Problem(f"offers the grant type {_listed(grants)}", evidence={"insecureGrantTypes": grants})


@_authorization_rule("auth_issuer_uses_https", "insecure-issuer", "high", weight=6)
def auth_issuer_uses_https(authorization: Authorization) -> Iterator[Problem]:
    """An authorization server is not an https URL, or has a login, a query or a fragment.

    Why: whoever can change the metadata on the way gets the tokens; RFC 8414 allows only a plain https URL.
    Fix: name the issuer as an https URL without a login, a query and a fragment.

    On this machine, http is allowed for an issuer on this machine.
    """
    if not authorization.are_issuers_named:
        return
    invalid = []
    for issuer in authorization.issuers:
        is_local = issuer.scheme == "http" and issuer.is_loopback and authorization.is_loopback
        if issuer.odd_parts or not (issuer.scheme == "https" or is_local):
            invalid.append(issuer.url)
    if invalid:
        yield Problem(f"the issuer is not a plain https URL: {_listed(invalid)}", evidence={"invalidIssuers": invalid})


@_authorization_rule("auth_discovery_advertised_when_required", "no-auth-discovery", "medium", weight=5)
def auth_discovery_advertised_when_required(authorization: Authorization) -> Iterator[Problem]:
    """The server refuses access, but does not tell clients how to get it.

    Why: a client that finds neither `WWW-Authenticate` nor resource metadata cannot log in.
    Fix: respond with HTTP 401 and `WWW-Authenticate: Bearer resource_metadata="…"` (RFC 9728).
    """
    if not authorization.challenge and authorization.resource is None:
        message = f"responds with HTTP {authorization.status}, without `WWW-Authenticate` and without resource metadata"
        yield Problem(message, evidence={"authRequired": True, "wwwAuthenticate": None, "prmDiscovered": False})


@_authorization_rule(
    "auth_advertises_protected_resource_metadata",
    "no-resource-metadata",
    "medium",
    weight=4,
    chosen=("severity", "weight"),
)
def auth_advertises_protected_resource_metadata(authorization: Authorization) -> Iterator[Problem]:
    """The server publishes no protected-resource metadata.

    Why: MCP requires it since 2025-06-18; without it, clients guess the authorization server.
    Fix: serve `/.well-known/oauth-protected-resource` (RFC 9728), and name its URL in `WWW-Authenticate`.
    """
    if not authorization.resource_metadata_hint and authorization.resource is None:
        message = "no `resource_metadata` in the challenge, and no document at the well-known places"
        yield Problem(message, evidence={"authRequired": True, "resourceMetadataHint": None, "prmDiscovered": False})


@_authorization_rule("auth_authorization_server_metadata_present", "no-authorization-server-metadata", "low", weight=3)
def auth_authorization_server_metadata_present(authorization: Authorization) -> Iterator[Problem]:
    """No authorization server of the server publishes metadata.

    Why: clients do not find its endpoints, and cannot log in.
    Fix: serve `/.well-known/oauth-authorization-server` (RFC 8414) or `/.well-known/openid-configuration`.

    A document that names another issuer does not count (RFC 8414, section 3.3). A server that names no authorization
    server is asked itself, as in revision 2025-03-26.
    """
    if not authorization.servers:
        issuers = [issuer.url for issuer in authorization.issuers]
        reasons = {fetch.url: fetch.error for fetch in authorization.fetches if fetch.error}
        evidence: dict[str, Any] = {"issuers": issuers, "parsedAny": False, "errors": reasons}
        yield Problem(f"no metadata of {_listed(issuers) or 'an authorization server'}", evidence=evidence)


@_authorization_rule("auth_advertises_token_endpoint", "no-token-endpoint", "low", weight=2)
def auth_advertises_token_endpoint(authorization: Authorization) -> Iterator[Problem]:
    """No authorization server names its token endpoint.

    Why: clients cannot get a token.
    Fix: add `token_endpoint` to the metadata of the authorization server.
    """
    if authorization.servers and not any(server.token_endpoint for server in authorization.servers):
        yield Problem("no authorization server names a `token_endpoint`", evidence={"tokenEndpoints": []})


@_authorization_rule("auth_advertises_jwks_uri", "no-jwks-uri", "low", weight=2)
def auth_advertises_jwks_uri(authorization: Authorization) -> Iterator[Problem]:
    """No authorization server names its keys.

    Why: without its keys, every check of a token is a request to it.
    Fix: add `jwks_uri` to the metadata of the authorization server.
    """
    if authorization.servers and not any(server.jwks_uri for server in authorization.servers):
        yield Problem("no authorization server names a `jwks_uri`", evidence={"jwksUris": []})


@_authorization_rule("TRU-504", "foreign-resource", "high", chosen=("severity", "weight"))
def foreign_resource(authorization: Authorization) -> Iterator[Problem]:
    """The resource metadata of the server is for another resource.

    Why: a client that uses it requests tokens for another server and sends them to this one; RFC 9728 forbids it.
    Fix: set `resource` to the URL of the MCP endpoint, exactly as clients use it.

    The origin of the server, or a path above the endpoint, is accepted. An id and severity of mcproof's own.
    """
    if authorization.resource is not None and not authorization.resource.is_matching:
        named = f"`{authorization.resource.resource}`" if authorization.resource.resource else "nothing"
        yield Problem(
            f"`resource` in the metadata is {named}", evidence={"resource": authorization.resource.resource or None}
        )


def _listed(values: list[str]) -> str:
    """The first few values."""
    more = f" and {len(values) - 3} more" if len(values) > 3 else ""
    return ", ".join(f"`{value}`" for value in values[:3]) + more
