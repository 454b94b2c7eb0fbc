"""Servers that require authorization, each with its authorization server at the same origin; most have one fault."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote_plus, urlencode, urlsplit

from servers.raw import NOT_FOUND, RefusalError
from servers.web import EVENTS, JSON, Web, event

if TYPE_CHECKING:
    from servers.web import Request

ACCESS = "access-8c1f2b6d"
"""The beginning of every access token."""
REFRESH = "refresh-57ce90aa"
CODE = "code-b5a1c3f7"
SECRET = "secret-0e4d9a61"  # noqa: S105
ECHO: dict[str, Any] = {
    "name": "echo_headers",
    "description": "Show what the server got in the headers of this request.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    "annotations": {"readOnlyHint": True},
}


class Guarded(Web, fault="guarded"):
    """A good server: everything needs a token."""

    path = "/mcp"
    scope_required = ""
    """The scope in the challenge."""
    names_metadata = True
    """Whether the challenge has `resource_metadata`."""
    lifetime: int | None = 3600
    refreshes = True
    methods: tuple[str, ...] = ("none",)
    sends_issuer = True

    def __init__(self) -> None:
        super().__init__()
        self.tokens: dict[str, str] = {}
        """The valid tokens, with their scopes."""
        self.granted: list[dict[str, str]] = []
        """The authorization requests."""
        self.token_requests: list[dict[str, str]] = []
        self.registered: list[dict[str, Any]] = []
        self.revoked: list[dict[str, str]] = []
        """The requests to revoke a token."""
        self.challenges: dict[str, dict[str, str]] = {}
        """The authorization requests by their codes."""

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def issuer(self) -> str:
        return self.origin

    def parsed(self, body: bytes) -> dict[str, Any]:
        return super().parsed(body) if body[:1] in (b"", b"{") else dict(parse_qsl(body.decode()))

    async def handle(self, request: Request) -> None:
        parts = urlsplit(request.path)
        route = self.routes().get(parts.path)
        if route is not None:
            await route(request)
        elif parts.path == self.path:
            await self.guard(request)
        else:
            await self.respond(404)

    def routes(self) -> dict[str, Any]:
        return {
            "/.well-known/oauth-protected-resource/mcp": self.send_resource,
            "/.well-known/oauth-authorization-server": self.send_issuer,
            "/authorize": self.authorize,
            "/token": self.token,
            "/register": self.register,
            "/revoke": self.revoke,
        }

    async def json(self, value: Any, status: int = 200) -> None:
        await self.respond(status, json.dumps(value).encode(), JSON)

    # The MCP server.

    async def guard(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            await self.challenge(401)
        elif not set(self.needed(request).split()) <= set(self.tokens[token].split()):
            await self.challenge(403, f'error="insufficient_scope", scope="{self.needed(request)}"')
        else:
            await super().handle(request)

    def needed(self, request: Request) -> str:
        """The scope that a request needs."""
        return self.scope_required

    async def challenge(self, status: int, *parameters: str) -> None:
        listed = [*parameters]
        if self.names_metadata:
            listed.append(f'resource_metadata="{self.metadata_url}"')
        if status == 401 and self.scope_required:
            listed.append(f'scope="{self.scope_required}"')
        header = f"Bearer {', '.join(listed)}" if listed else "Bearer"
        await self.respond(status, b"{}", JSON, WWW_Authenticate=header)

    @property
    def metadata_url(self) -> str:
        return f"{self.origin}/.well-known/oauth-protected-resource/mcp"

    def result(self, request: Request) -> Any:
        if request.method == "tools/list":
            return {"tools": [ECHO]}
        if request.method == "tools/call":
            sent = request.headers["authorization"]
            text = f"{sent} {base64.b64encode(sent.encode()).decode()} {quote(sent)} {sent.encode().hex()}"
            return {"content": [{"type": "text", "text": text}]}
        if request.method == "ping":
            return {}
        return super().result(request)

    # Its metadata.

    async def send_resource(self, _: Request) -> None:
        await self.json(self.resource())

    def resource(self) -> dict[str, Any]:
        return {"resource": self.url, "authorization_servers": [self.issuer]}

    async def send_issuer(self, _: Request) -> None:
        await self.json(self.metadata())

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": list(self.methods),
            "authorization_response_iss_parameter_supported": self.sends_issuer,
        }

    # The authorization server.

    async def register(self, request: Request) -> None:
        self.registered.append(request.message)
        number = len(self.registered)
        secret = {} if self.methods == ("none",) else {"client_secret": SECRET}
        await self.json({"client_id": f"client-{number}", **secret}, 201)

    async def authorize(self, request: Request) -> None:
        asked = dict(parse_qsl(urlsplit(request.path).query))
        self.granted.append(asked)
        code = f"{CODE}-{len(self.granted)}"
        self.challenges[code] = asked
        await self.redirect(asked["redirect_uri"], self.response(asked, code))

    def response(self, asked: dict[str, str], code: str) -> dict[str, str]:
        """The parameters of the authorization response."""
        issuer = {"iss": self.issuer} if self.sends_issuer else {}
        return {"code": code, "state": asked["state"], **issuer}

    async def redirect(self, place: str, parameters: dict[str, str]) -> None:
        await self.respond(302, b"", "text/plain", Location=f"{place}?{urlencode(parameters)}")

    async def token(self, request: Request) -> None:
        form = request.message
        self.token_requests.append({**form, "authorization": request.headers.get("authorization", "")})
        problem = self.problem(form, request.headers.get("authorization", ""))
        if problem is not None:
            await self.json({"error": problem, "error_description": "the test server says no"}, 400)
            return
        await self.json(self.issued(form))

    async def revoke(self, request: Request) -> None:
        self.revoked.append(request.message)
        await self.respond(200)

    def problem(self, form: dict[str, str], authorization: str) -> str | None:
        """The error of a token request."""
        if self.used_method(form, authorization) not in self.methods:
            return "invalid_client"
        kind = form.get("grant_type")
        if form.get("resource") != self.resource().get("resource"):
            return "invalid_target"
        if kind == "authorization_code":
            asked = self.challenges.pop(form["code"], None)
            return None if asked is not None and self.is_proven(asked, form) else "invalid_grant"
        if kind == "refresh_token":
            return None if form["refresh_token"].startswith(REFRESH) else "invalid_grant"
        return None if kind == "client_credentials" else "unsupported_grant_type"

    def is_proven(self, asked: dict[str, str], form: dict[str, str]) -> bool:
        hashed = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(hashed).decode().rstrip("=")
        return asked["code_challenge"] == challenge and asked["redirect_uri"] == form["redirect_uri"]

    def used_method(self, form: dict[str, str], authorization: str) -> str:
        """How a client authenticates; empty if it gives a wrong secret."""
        if "client_assertion" in form:
            return "private_key_jwt"
        if authorization.startswith("Basic "):
            pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
            return "client_secret_basic" if unquote_plus(pair.partition(":")[2]) == SECRET else ""
        if "client_secret" in form:
            return "client_secret_post" if form["client_secret"] == SECRET else ""
        return "none"

    def issued(self, form: dict[str, str]) -> dict[str, Any]:
        token = f"{ACCESS}-{len(self.token_requests)}-{self.origin.rpartition(':')[2]}"
        scope = form.get("scope") or (self.granted[-1].get("scope", "") if self.granted else "")
        self.tokens[token] = scope
        return {
            "access_token": token,
            "token_type": "Bearer",
            "scope": scope,
            **({"expires_in": self.lifetime} if self.lifetime is not None else {}),
            **({"refresh_token": f"{REFRESH}-{len(self.token_requests)}"} if self.refreshes else {}),
        }


class OpenDoor(Guarded, fault="guarded-after-connecting"):
    """Lets everybody connect; lists and calls need a token, and calls another scope."""

    scope_required = "read"

    async def guard(self, request: Request) -> None:
        if request.method == "initialize" or request.method.startswith(("notifications/", "server/")):
            await Web.handle(self, request)
        else:
            await super().guard(request)

    def needed(self, request: Request) -> str:
        return "write" if request.method == "tools/call" else self.scope_required


class NeverEnough(Guarded, fault="guarded-never-enough"):
    """Requires the scope that the token has."""

    scope_required = "admin"

    async def guard(self, request: Request) -> None:
        if "authorization" in request.headers:
            await self.challenge(403, 'error="insufficient_scope", scope="admin"')
        else:
            await self.challenge(401)


class NeverGood(Guarded, fault="guarded-refuses-tokens"):
    """Refuses every token."""

    async def guard(self, request: Request) -> None:
        await self.challenge(401)


class OneRequest(Guarded, fault="guarded-one-request"):
    """Takes every token once."""

    methods = ("client_secret_basic",)

    async def guard(self, request: Request) -> None:
        await super().guard(request)
        self.tokens.clear()


class Lenient(Guarded, fault="guarded-accepts-anything"):
    """Has a tool that breaks the promises of its schema."""

    def result(self, request: Request) -> Any:
        if request.method == "tools/list":
            schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
            return {"tools": [{**ECHO, "inputSchema": {**schema, "additionalProperties": False}}]}
        return super().result(request)


class Scoped(Guarded, fault="guarded-scopes"):
    def resource(self) -> dict[str, Any]:
        return {**super().resource(), "scopes_supported": ["read", "write", 'no"scope', 7]}

    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "scopes_supported": ["read", "write", "offline_access"]}


class Revoking(Guarded, fault="guarded-revoking"):
    methods = ("client_secret_post",)

    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "revocation_endpoint": f"{self.origin}/revoke"}


class RefusesRevocation(Revoking, fault="guarded-refuses-revocation"):
    """Repeats the token and the secret in its error."""

    async def revoke(self, request: Request) -> None:
        sent = f"{request.message['token']} of {request.message['client_secret']}"
        await self.json({"error": "invalid_client", "error_description": sent}, 401)


class OddRevocation(Guarded, fault="guarded-odd-revocation"):
    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "revocation_endpoint": "http://auth.example/revoke"}


class Basic(Guarded, fault="guarded-basic"):
    methods = ("client_secret_basic",)


class Post(Guarded, fault="guarded-post"):
    methods = ("client_secret_post",)


class Signed(Guarded, fault="guarded-signed"):
    methods = ("private_key_jwt",)

    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "token_endpoint_auth_signing_alg_values_supported": ["ES256"]}


class Unregistered(Basic, fault="guarded-no-registration"):
    """Knows only clients that were registered before."""

    def metadata(self) -> dict[str, Any]:
        return {key: value for key, value in super().metadata().items() if key != "registration_endpoint"}


class Documented(Unregistered, fault="guarded-documents"):
    methods = ("none",)

    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "client_id_metadata_document_supported": True}


class Tenant(Guarded, fault="guarded-tenant"):
    """Metadata at the root of the resource, and an issuer with a path that only OpenID Connect describes."""

    names_metadata = False

    @property
    def issuer(self) -> str:
        return f"{self.origin}/tenant"

    def routes(self) -> dict[str, Any]:
        return {
            **super().routes(),
            "/.well-known/oauth-protected-resource": self.send_resource,
            "/.well-known/oauth-protected-resource/mcp": self.missing,
            "/.well-known/oauth-authorization-server": self.missing,
            "/tenant/.well-known/openid-configuration": self.send_issuer,
        }

    async def missing(self, _: Request) -> None:
        await self.respond(404)

    def resource(self) -> dict[str, Any]:
        return {**super().resource(), "resource": self.origin}


class Legacy(Guarded, fault="guarded-legacy"):
    """A server of revision 2025-03-26: no metadata at all."""

    names_metadata = False
    sends_issuer = False

    def routes(self) -> dict[str, Any]:
        return {path: route for path, route in super().routes().items() if "well-known" not in path}


class GuardedSse(Guarded, fault="guarded-sse"):
    """The older HTTP with SSE: the stream and the messages need a token."""

    def __init__(self) -> None:
        super().__init__()
        self.outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def routes(self) -> dict[str, Any]:
        return {**super().routes(), "/messages": self.guard}

    async def guard(self, request: Request) -> None:
        is_known = request.headers.get("authorization", "").removeprefix("Bearer ") in self.tokens
        if request.verb == "POST" and request.path == "/mcp":
            await self.respond(405)
        elif not is_known:
            await self.challenge(401)
        elif request.verb == "POST":
            if "id" in request.message:
                self.outgoing.put_nowait(self.envelope(request))
            await self.respond(202)
        else:
            await self.head(200, EVENTS)
            await self.write(b"event: endpoint\ndata: /messages\n\n")
            while True:
                await self.write(event(await self.outgoing.get()))


class SlashedIssuer(Guarded, fault="guarded-slashed-issuer"):
    """Names its issuer with a slash at the end in one place only, as some SDKs do."""

    def resource(self) -> dict[str, Any]:
        return {**super().resource(), "authorization_servers": [f"{self.issuer}/"]}


# Faults. What they serve must end in an error, without a token for anybody.


class WrongResource(Guarded, fault="guarded-wrong-resource"):
    def resource(self) -> dict[str, Any]:
        return {**super().resource(), "resource": "https://evil.example/mcp"}


class OtherPath(Guarded, fault="guarded-other-path"):
    def resource(self) -> dict[str, Any]:
        return {**super().resource(), "resource": f"{self.origin}/mcp2"}


class MetadataElsewhere(Guarded, fault="guarded-metadata-elsewhere"):
    @property
    def metadata_url(self) -> str:
        return "https://evil.example/metadata?key=1"


class MetadataRedirects(Guarded, fault="guarded-metadata-redirects-away"):
    async def send_resource(self, _: Request) -> None:
        await self.respond(302, b"", "text/plain", Location="http://169.254.169.254/latest/meta-data")


class EndlessRedirects(Guarded, fault="guarded-endless-redirects"):
    async def send_issuer(self, request: Request) -> None:
        await self.respond(302, b"", "text/plain", Location=f"{urlsplit(request.path).path}?{len(self.requests)}")


class HugeMetadata(Guarded, fault="guarded-huge-metadata"):
    async def send_issuer(self, _: Request) -> None:
        await self.json({**self.metadata(), "padding": "x" * 10_000_000})


class NotJson(Guarded, fault="guarded-not-json"):
    async def send_issuer(self, _: Request) -> None:
        await self.respond(200, b"<html>", "text/html")


class WrongIssuer(Guarded, fault="guarded-wrong-issuer"):
    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "issuer": "https://evil.example"}


class NoServers(Guarded, fault="guarded-no-servers"):
    def resource(self) -> dict[str, Any]:
        return {"resource": self.url, "authorization_servers": []}


class PlainServer(Guarded, fault="guarded-plain-http-server"):
    def resource(self) -> dict[str, Any]:
        return {**super().resource(), "authorization_servers": ["http://auth.example"]}


class Script(Guarded, fault="guarded-javascript"):
    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "authorization_endpoint": "javascript:alert(1)"}


class PlainToken(Guarded, fault="guarded-plain-token-endpoint"):
    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "token_endpoint": "http://auth.example/token"}


class NoPkce(Guarded, fault="guarded-no-pkce"):
    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "code_challenge_methods_supported": ["plain"]}


class TokenHangs(Guarded, fault="guarded-token-hangs"):
    async def token(self, request: Request) -> None:
        await asyncio.Event().wait()


class TokenDrips(Guarded, fault="guarded-token-drips"):
    async def token(self, request: Request) -> None:
        await self.head(200, JSON, content_length="1000000")
        while True:
            await self.write(b" ")
            await asyncio.sleep(0.01)


class TokenRedirects(Guarded, fault="guarded-token-redirects"):
    async def token(self, request: Request) -> None:
        await self.respond(307, b"", "text/plain", Location="https://evil.example/token")


class TokenOfOtherType(Guarded, fault="guarded-other-token-type"):
    def issued(self, form: dict[str, str]) -> dict[str, Any]:
        return {**super().issued(form), "token_type": "DPoP"}


class TokenInjects(Guarded, fault="guarded-token-with-line-break"):
    def issued(self, form: dict[str, str]) -> dict[str, Any]:
        return {**super().issued(form), "access_token": "a\r\nX-Evil: 1"}


class TokenError(Guarded, fault="guarded-token-error"):
    """Repeats the code, the PKCE verifier and the state in its error."""

    async def token(self, request: Request) -> None:
        sent = f"{request.message['code']} with {request.message['code_verifier']} of {self.granted[-1]['state']}"
        await self.json({"error": "invalid_grant", "error_description": sent}, 400)


class NoIssuer(Guarded, fault="guarded-no-iss"):
    def response(self, asked: dict[str, str], code: str) -> dict[str, str]:
        return {"code": code, "state": asked["state"]}


class OtherIssuer(Guarded, fault="guarded-other-iss"):
    def response(self, asked: dict[str, str], code: str) -> dict[str, str]:
        return {**super().response(asked, code), "iss": "https://evil.example"}


class SlashedResponse(Guarded, fault="guarded-slashed-iss"):
    def response(self, asked: dict[str, str], code: str) -> dict[str, str]:
        return {**super().response(asked, code), "iss": f"{self.issuer}/"}


class OldState(Guarded, fault="guarded-state-replayed"):
    """Replays a response of an earlier login."""

    def response(self, asked: dict[str, str], code: str) -> dict[str, str]:
        return {**super().response(asked, code), "state": "state-of-an-earlier-login"}


class OpenRedirect(Guarded, fault="guarded-open-redirect"):
    """Sends the browser, with the code, to another page."""

    async def authorize(self, request: Request) -> None:
        self.granted.append(dict(parse_qsl(urlsplit(request.path).query)))
        await self.redirect(f"{self.origin}/elsewhere", {"code": f"{CODE}-0"})


class Denied(Guarded, fault="guarded-denied"):
    def response(self, asked: dict[str, str], code: str) -> dict[str, str]:
        why = f"not you: {code} of {asked['state']}"
        return {**super().response(asked, code), "error": "access_denied", "error_description": why}


class RegistrationFails(Guarded, fault="guarded-registration-fails"):
    async def register(self, request: Request) -> None:
        await self.json({"error": "invalid_redirect_uri", "error_description": "no loopback"}, 400)


class SurrogateId(Guarded, fault="guarded-surrogate-id"):
    async def register(self, request: Request) -> None:
        await self.json({"client_id": "client-\ud800"}, 201)


class SurrogateSecret(Guarded, fault="guarded-surrogate-secret"):
    methods = ("client_secret_post",)

    async def register(self, request: Request) -> None:
        await self.json({"client_id": "client-1", "client_secret": "secret-\udfff"}, 201)


class Repeating(Guarded, fault="guarded-repeats-token"):
    """Repeats the token wherever a server can: name, descriptions, errors."""

    def result(self, request: Request) -> Any:
        sent = request.headers["authorization"]
        if request.method == "initialize":
            return {**super().result(request), "serverInfo": {"name": sent, "version": sent}, "instructions": sent}
        if request.method == "tools/list":
            return {"tools": [ECHO, {**ECHO, "name": "leak", "description": f"{sent} {quote(sent)}"}]}
        if request.method == "ping":
            raise RefusalError(NOT_FOUND, sent)
        return super().result(request)
