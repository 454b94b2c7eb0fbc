"""What a server and its authorization server publish about access, and the client that mcproof registers there.

In the order of use: the challenge in `WWW-Authenticate`, resource metadata (RFC 9728), authorization-server
metadata (RFC 8414), registration (RFC 7591), and signed assertions (RFC 7523). All of it is hostile input.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.client.errors import AuthorizationError
from mcproof.client.http.fetch import first_document, get_json, post_json
from mcproof.client.http.policy import checked_url, is_same_issuer, is_within, origin_of
from mcproof.client.redaction import learn_secret, redacted_url
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    from mcproof.client.endpoints import AccessOptions


LONGEST_CHALLENGE = 16_384
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
# Possessive: the header comes from the server, and must be read in linear time.
_PARAMETER = re.compile(rf'({_WORD})\s*=\s*(?:"((?:[^"\\]|\\.)*+)"|([^\s,"]+))')
_SCHEME = re.compile(rf"({_WORD})(?=\s|,|$)")
_SEPARATORS = re.compile(r"[\s,]*")


class Challenge(NamedTuple):
    """The parameters of a `Bearer` challenge; empty where it has none."""

    resource_metadata: str = ""
    scope: str = ""
    error: str = ""


def bearer_challenge(header: str) -> Challenge:
    """The `Bearer` challenge in a header: the first one with parameters."""
    candidates = [parameters for scheme, parameters in _challenges(header) if scheme == "bearer"]
    best = next(filter(None, candidates), {})
    scope = " ".join(filter(is_scope, best.get("scope", "").split()))
    return Challenge(best.get("resource_metadata", ""), scope, best.get("error", ""))


def _challenges(header: str) -> list[tuple[str, dict[str, str]]]:
    challenges: list[tuple[str, dict[str, str]]] = []
    text, at = header[:LONGEST_CHALLENGE], 0
    while True:
        separators = _SEPARATORS.match(text, at)
        at = separators.end() if separators is not None else at
        if at >= len(text):
            return challenges
        if (parameter := _PARAMETER.match(text, at)) is not None:
            if challenges:
                name, quoted, unquoted = parameter.groups()
                value = unquoted if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
                challenges[-1][1].setdefault(name.lower(), value)
            at = parameter.end()
        elif (scheme := _SCHEME.match(text, at)) is not None:
            challenges.append((scheme[1].lower(), {}))
            at = scheme.end()
        else:
            at += 1


def joined_scopes(*scopes: str) -> str:
    """The scopes of all texts, each once, in order."""
    return " ".join(dict.fromkeys(scope for text in scopes for scope in text.split()))


def is_scope(text: str) -> bool:
    """Whether a text is one scope: visible ASCII characters other than quotes and backslashes."""
    return bool(text) and all("!" <= character <= "~" and character not in '"\\' for character in text)


WELL_KNOWN = "/.well-known/oauth-protected-resource"
MOST_SERVERS = 5
"""How many authorization servers of a resource are tried."""
_RESOURCE_METADATA = "the resource metadata"


class ProtectedResource(NamedTuple):
    """What a server publishes about its authorization."""

    identifier: str
    """The value of `resource` in every request, exactly as published."""
    issuers: tuple[str, ...]
    scope: str = ""
    """All scopes that it supports, separated by spaces."""
    is_published: bool = True
    """Whether there is metadata. Servers of revision 2025-03-26 have none and are their own authorization server."""


async def find_resource(url: str, challenge: Challenge) -> ProtectedResource:
    """The metadata of the server at a URL, at the place that the challenge names or the well-known ones."""
    if challenge.resource_metadata:
        place = checked_url(challenge.resource_metadata, "`resource_metadata` of the challenge")
        if origin_of(place) != origin_of(url):
            # A server publishes its metadata itself; other hosts get no request because it names them.
            raise AuthorizationError(
                f"`resource_metadata` of the challenge is at another origin, {redacted_url(place)}; not fetched"
            )
        reply = await get_json(place, _RESOURCE_METADATA)
        if reply.status != 200:
            raise AuthorizationError(
                f"{_RESOURCE_METADATA} ({redacted_url(place)}) cannot be read: HTTP {reply.status}"
            )
        return _parsed_resource(reply.value, url)
    document = await first_document(well_known_places(url), _RESOURCE_METADATA)
    if document is not None:
        return _parsed_resource(document, url)
    return ProtectedResource(url, (str(origin_of(url)),), is_published=False)


def well_known_places(url: str) -> list[str]:
    """Where the metadata of a URL may be: for its path, then for its origin."""
    from urllib.parse import urlsplit

    root = f"{origin_of(url)}{WELL_KNOWN}"
    path = urlsplit(url).path.rstrip("/")
    return [f"{root}{path}", root] if path else [root]


def _parsed_resource(document: Any, url: str) -> ProtectedResource:
    members = document if isinstance(document, dict) else {}
    identifier, issuers = members.get("resource"), members.get("authorization_servers")
    if not isinstance(identifier, str) or not is_within(url, identifier):
        shown = cropped(redacted_url(identifier)) if isinstance(identifier, str) else "nothing"
        raise AuthorizationError(f"{_RESOURCE_METADATA} is for another resource: {shown}")
    if not isinstance(issuers, list) or not issuers:
        raise AuthorizationError(f"{_RESOURCE_METADATA} names no authorization server")
    checked = [
        checked_url(issuer, f"an authorization server in {_RESOURCE_METADATA}") for issuer in issuers[:MOST_SERVERS]
    ]
    return ProtectedResource(identifier, tuple(checked), scopes_of(members.get("scopes_supported")))


def scopes_of(value: Any) -> str:
    """A list of scopes from metadata as one text, without values that are not scopes."""
    if not isinstance(value, list):
        return ""
    return " ".join(scope for scope in value if isinstance(scope, str) and is_scope(scope))


_OAUTH = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"
_ISSUER_METADATA = "the metadata of the authorization server"


class AuthorizationServer(NamedTuple):
    """The endpoints and the abilities of an authorization server."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str = ""
    registration_endpoint: str = ""
    """Empty if clients cannot register themselves."""
    revocation_endpoint: str = ""
    """Where tokens are revoked (RFC 7009), not checked yet; empty if they cannot be."""
    authentication_methods: tuple[str, ...] = ("client_secret_basic",)
    """How clients authenticate at the token endpoint."""
    signing_algorithms: tuple[str, ...] = ()
    """The algorithms of signed assertions; empty if unknown."""
    scope: str = ""
    """All scopes that it supports, separated by spaces."""
    reads_client_documents: bool = False
    """Whether the URL of a client metadata document is a client id."""
    sends_issuer: bool = False
    """Whether every authorization response has `iss` (RFC 9207)."""
    supports_s256: bool = True
    """Whether it supports PKCE with S256."""


async def find_server(issuer: str) -> AuthorizationServer | None:
    """The metadata of an authorization server; None if there is none. Raises AuthorizationError if it is invalid."""
    document = await first_document(metadata_places(issuer), _ISSUER_METADATA)
    return None if document is None else _parsed_issuer(document, issuer)


def server_without_metadata(origin: str) -> AuthorizationServer:
    """The authorization server of an MCP server of revision 2025-03-26 that publishes no metadata."""
    return AuthorizationServer(
        issuer=origin,
        token_endpoint=f"{origin}/token",
        authorization_endpoint=f"{origin}/authorize",
        registration_endpoint=f"{origin}/register",
        authentication_methods=("none", "client_secret_basic", "client_secret_post"),
    )


def metadata_places(issuer: str) -> list[str]:
    """Where the metadata of an issuer may be, in the order of the MCP specification."""
    from urllib.parse import urlsplit

    origin, path = str(origin_of(issuer)), urlsplit(issuer).path.rstrip("/")
    if not path:
        return [f"{origin}{_OAUTH}", f"{origin}{_OPENID}"]
    return [f"{origin}{_OAUTH}{path}", f"{origin}{_OPENID}{path}", f"{origin}{path}{_OPENID}"]


def _parsed_issuer(document: dict[str, Any], issuer: str) -> AuthorizationServer:
    named = document.get("issuer")
    if not isinstance(named, str) or not is_same_issuer(named, issuer):
        shown = cropped(redacted_url(named)) if isinstance(named, str) else "nothing"
        raise AuthorizationError(f"{_ISSUER_METADATA} is for another issuer: {shown}, not {redacted_url(issuer)}")

    def endpoint(key: str, *, is_required: bool = False) -> str:
        return (
            checked_url(document.get(key), f"`{key}` in {_ISSUER_METADATA}") if is_required or key in document else ""
        )

    return AuthorizationServer(
        issuer=named,
        token_endpoint=endpoint("token_endpoint", is_required=True),
        authorization_endpoint=endpoint("authorization_endpoint"),
        registration_endpoint=endpoint("registration_endpoint"),
        revocation_endpoint=_text(document.get("revocation_endpoint")),
        authentication_methods=_words(document.get("token_endpoint_auth_methods_supported"))
        or AuthorizationServer._field_defaults["authentication_methods"],
        signing_algorithms=_words(document.get("token_endpoint_auth_signing_alg_values_supported")),
        scope=scopes_of(document.get("scopes_supported")),
        reads_client_documents=document.get("client_id_metadata_document_supported") is True,
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        supports_s256="S256" in _words(document.get("code_challenge_methods_supported")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _words(value: Any) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()


LONGEST_ID = 2_000
_REGISTRATION_ENDPOINT = "the registration endpoint"
_SIGNED = "private_key_jwt"


class OAuthClient(NamedTuple):
    """A client, and how it authenticates at the token endpoint."""

    id: str
    method: str = "none"
    """The value of `token_endpoint_auth_method`."""
    secret: str = ""
    """The secret of a dynamic registration; that of a registered client stays in the environment."""
    variable: str = ""
    """The environment variable with the secret or the private key of a registered client."""
    port: int = 0
    """The port of the redirect URI that a dynamic registration is for; 0 for any."""

    @property
    def credential(self) -> str:
        """The secret or the private key. Raises AuthorizationError if its variable is not set."""
        return environment_value(self.variable) if self.variable else self.secret


def environment_value(name: str) -> str:
    """The value of a variable with a secret, which is hidden from now on."""
    value = os.environ.get(name, "")
    if not value:
        raise AuthorizationError(f"the environment variable {name} is not set")
    learn_secret(value)
    return value


def configured_client(server: AuthorizationServer, options: AccessOptions) -> OAuthClient | None:
    """The client that the user names, if the authorization server can know it."""
    if not options.client_id:
        return None
    if _is_document(options.client_id):
        return OAuthClient(options.client_id) if server.reads_client_documents else None
    if options.key_variable:
        environment_value(options.key_variable)
        return OAuthClient(options.client_id, _SIGNED, variable=options.key_variable)
    if options.secret_variable:
        environment_value(options.secret_variable)
        return OAuthClient(options.client_id, _secret_method(server), variable=options.secret_variable)
    return OAuthClient(options.client_id)


def _is_document(client_id: str) -> bool:
    return client_id.startswith("https://")


def _secret_method(server: AuthorizationServer) -> str:
    """How a client with a secret authenticates."""
    methods = server.authentication_methods
    takes_post_only = "client_secret_post" in methods and "client_secret_basic" not in methods
    return "client_secret_post" if takes_post_only else "client_secret_basic"


async def register(server: AuthorizationServer, redirect_uri: str, port: int) -> OAuthClient:
    """Register a client dynamically (RFC 7591)."""
    if not server.registration_endpoint:
        raise AuthorizationError(
            f"the authorization server {redacted_url(server.issuer)} registers no clients: register mcproof there, "
            "and use `--client-id ID`, with `--client-secret-env NAME` if it has a secret"
        )
    preferred = ("none", "client_secret_basic", "client_secret_post")
    method = next((candidate for candidate in preferred if candidate in server.authentication_methods), "none")
    reply = await post_json(
        server.registration_endpoint,
        _REGISTRATION_ENDPOINT,
        {
            "client_name": "mcproof",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native",
        },
    )
    if reply.status not in (200, 201):
        raise AuthorizationError(
            f"{_REGISTRATION_ENDPOINT} refuses mcproof: {oauth_error(reply.status, reply.members)}"
        )
    return _registered(reply.members, server, method, port)


def _registered(members: dict[str, Any], server: AuthorizationServer, method: str, port: int) -> OAuthClient:
    client_id, secret = members.get("client_id"), members.get("client_secret")
    if not isinstance(client_id, str) or not _is_sendable(client_id):
        raise AuthorizationError(f"{_REGISTRATION_ENDPOINT} returns no usable `client_id`")
    granted = members.get("token_endpoint_auth_method")
    if isinstance(granted, str):
        method = granted
    if not isinstance(secret, str) or not secret:
        if method != "none":
            raise AuthorizationError(f"{_REGISTRATION_ENDPOINT} returns no secret for the method {cropped(method)}")
        return OAuthClient(client_id, port=port)
    if not _is_sendable(secret):
        raise AuthorizationError(f"{_REGISTRATION_ENDPOINT} returns no usable `client_secret`")
    learn_secret(secret)
    if method not in ("client_secret_basic", "client_secret_post"):
        method = "none" if "none" in server.authentication_methods else _secret_method(server)
    return OAuthClient(client_id, method, secret, port=port)


def _is_sendable(text: str) -> bool:
    """Whether an id or a secret has the characters that RFC 6749 allows, appendix A.1 and A.2."""
    return 0 < len(text) <= LONGEST_ID and all(" " <= character <= "~" for character in text)


def oauth_error(status: int, members: dict[str, Any]) -> str:
    """The error of an OAuth response as text: its code and description, or the HTTP status."""
    code, description = members.get("error"), members.get("error_description")
    if not isinstance(code, str):
        return f"HTTP {status}"
    return cropped(f"{code} ({description})" if isinstance(description, str) and description else code)


LIFETIME = 300
"""How long an assertion is valid, in seconds."""
_ALGORITHMS = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",)}
_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


def signed_assertion(client_id: str, audience: str, key: str, variable: str, accepted: tuple[str, ...]) -> str:
    """A JWT with which a client authenticates at the authorization server `audience`.

    `key` is a private key in PEM from the environment variable `variable`; `accepted` are the algorithms that the
    authorization server accepts, empty if unknown.
    """
    try:
        import jwt
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise AuthorizationError("signed assertions need PyJWT: `pip install 'mcproof[auth]'`") from None
    try:
        # Variables that cannot have several lines have `\n` written out.
        private = load_pem_private_key(key.replace("\\n", "\n").encode(), password=None)
    except (ValueError, TypeError):
        raise AuthorizationError(f"the variable {variable} is not an unencrypted private key in PEM") from None
    usable = _algorithms(private)
    algorithm = next((candidate for candidate in usable if not accepted or candidate in accepted), None)
    if algorithm is None:
        accepts = f"; the authorization server accepts {', '.join(accepted)}" if usable else ""
        raise AuthorizationError(f"the key in {variable} cannot sign an assertion{accepts}")
    claims = _claims(client_id, audience)
    return jwt.encode(claims, private, algorithm=algorithm)  # type: ignore[arg-type]


def _claims(client_id: str, audience: str) -> dict[str, Any]:
    from secrets import token_urlsafe
    from time import time

    now = int(time())
    return {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "jti": token_urlsafe(16),
        "iat": now,
        "exp": now + LIFETIME,
    }


def _algorithms(key: Any) -> tuple[str, ...]:
    """The algorithms that a private key can sign with, the most common first."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if isinstance(key, EllipticCurvePrivateKey):
        return _ALGORITHMS.get(_CURVES.get(key.curve.name, ""), ())
    if isinstance(key, Ed25519PrivateKey):
        return ("EdDSA",)
    return ("RS256", "PS256", "RS384", "PS384", "RS512", "PS512") if isinstance(key, RSAPrivateKey) else ()
