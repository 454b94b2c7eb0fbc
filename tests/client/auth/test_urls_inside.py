"""A public server names endpoints inside the network of the user: none of them gets a request."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpcore2
import pytest

from client.perimeter.observing import web
from mcproof.client.auth.authorizer import OAuthAuthorizer, log_out_of
from mcproof.client.auth.registration import AuthorizationServer, OAuthClient, register
from mcproof.client.auth.tokens import AccessToken, load_token, save_token
from mcproof.client.endpoints import AccessOptions
from mcproof.client.errors import AuthorizationError, UnauthorizedError
from mcproof.client.http.policy import NetworkGuard, NetworkPolicy, like_target
from servers.certificates import Authority
from servers.guarded import SECRET, Guarded
from servers.web import Web

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PUBLIC = "93.184.216.34"
NAMES = {"mcp.test": [PUBLIC], "localhost": ["127.0.0.1"], "inside.test": ["10.0.0.7"]}
CREDENTIALS = AccessOptions(client_id="mine", secret_variable="CLIENT_SECRET")  # noqa: S106 (the name of a variable)


class Public(Guarded, fault="guarded-public"):
    """A server at a public name, whose metadata can differ."""

    methods = ("client_secret_basic",)
    issuers: tuple[str, ...] = ()
    endpoints: dict[str, str] = {}  # noqa: RUF012

    @property
    def origin(self) -> str:
        return f"https://mcp.test:{self.port}"

    def resource(self) -> dict[str, Any]:
        issuers = list(self.issuers) or [self.issuer]
        return {"resource": f"{self.origin}/mcp", "authorization_servers": issuers}

    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), **self.endpoints}


async def _addresses(name: str) -> list[str]:
    return NAMES.get(name, [name])


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Public]:
    """A server that connections to the public address reach; all others lead where they should."""
    authority = Authority(tmp_path)
    usual = httpcore2.AnyIOBackend.connect_tcp

    async def connect(self: Any, host: str, *arguments: Any, **options: Any) -> Any:
        return await usual(self, "127.0.0.1" if host == PUBLIC else host, *arguments, **options)

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    monkeypatch.setenv("CLIENT_SECRET", SECRET)
    with _names(), web(Public, tls=authority.server_tls("mcp.test")) as server:
        yield server


@pytest.fixture
def inside() -> Iterator[Web]:
    with Web() as server:
        yield server


@contextmanager
def _names() -> Iterator[None]:
    """The names of this test, for a run that may go anywhere."""
    policy = NetworkPolicy(resolver=_addresses)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcproof.client.http.policy._ANYWHERE.policy", policy)
        yield


def _token(server: Public, issuer: str | None = None) -> AccessToken:
    options = CREDENTIALS._replace(issuer=server.origin if issuer is None else issuer)

    async def ask() -> AccessToken:
        return await OAuthAuthorizer(f"{server.origin}/mcp", options).request_token()

    return asyncio.run(ask())


def _stored(server: Public, endpoint: str) -> AccessToken:
    url, client = f"{server.origin}/mcp", OAuthClient("mine")
    token = AccessToken("old", server.origin, endpoint, client, url, "", "", refresh_token="refresh")  # noqa: S106
    save_token(url, token)
    return token


def test_a_public_server_that_names_itself_gets_a_request(public: Public) -> None:
    assert _token(public).token_endpoint == f"{public.origin}/token"


def test_no_secret_is_posted_to_this_machine(public: Public, inside: Web) -> None:
    public.endpoints = {"token_endpoint": f"http://127.0.0.1:{inside.port}/any/path"}
    with pytest.raises(AuthorizationError) as refused:
        _token(public)
    assert refused.value.message == (
        f"the token endpoint (http://127.0.0.1:{inside.port}/any/path) is refused: "
        "`127.0.0.1` is a loopback address; not fetched"
    )
    assert inside.requests == []


@pytest.mark.parametrize("host", ["localhost", "inside.test", "192.168.1.1", "169.254.169.254", "[fd00::1]"])
def test_no_address_inside_gets_a_request(public: Public, host: str) -> None:
    public.endpoints = {"token_endpoint": f"https://{host}/token"}
    with pytest.raises(AuthorizationError, match="not fetched"):
        _token(public)


def test_the_metadata_of_an_issuer_inside_is_not_fetched(public: Public, inside: Web) -> None:
    public.issuers = (f"http://127.0.0.1:{inside.port}",)
    with pytest.raises(AuthorizationError, match=r"`127\.0\.0\.1` is a loopback address; not fetched"):
        _token(public, "")
    assert inside.requests == []


def test_an_issuer_inside_that_the_user_names_is_asked(public: Public) -> None:
    with Guarded() as issuer:
        issuer.methods = public.methods
        public.issuers = (issuer.origin,)
        issuer.resource = public.resource  # type: ignore[method-assign]
        token = _token(public, issuer.origin)
    assert token.token_endpoint == f"{issuer.origin}/token"


def test_no_client_is_registered_inside(public: Public, inside: Web) -> None:
    server = AuthorizationServer(public.origin, f"{public.origin}/token", registration_endpoint=inside.url)

    async def ask() -> None:
        with (await like_target(public.origin)).applied():
            await register(server, "http://127.0.0.1:1/callback", 1)

    with pytest.raises(AuthorizationError, match=r"^the registration endpoint .* is refused: `127\.0\.0\.1` is a loop"):
        asyncio.run(ask())
    assert inside.requests == []


def test_no_refresh_token_is_posted_inside(public: Public, inside: Web) -> None:
    """The name may lead elsewhere than at the time of the login."""
    token = _stored(public, f"{inside.url}/token")

    async def ask() -> None:
        refusal = UnauthorizedError(401, "refused", "HTTP 401", "Bearer", f"Bearer {token.value}")
        await OAuthAuthorizer(f"{public.origin}/mcp", AccessOptions()).satisfy(refusal)

    with pytest.raises(AuthorizationError, match=r"the stored token cannot be refreshed: .*; not fetched"):
        asyncio.run(ask())
    assert inside.requests == []


def test_no_token_is_revoked_inside(public: Public, inside: Web) -> None:
    public.endpoints = {"revocation_endpoint": f"{inside.url}/revoke"}
    _stored(public, f"{public.origin}/token")
    ended = log_out_of(f"{public.origin}/mcp")
    assert ended is not None
    assert not ended.is_revoked
    assert ended.why.endswith("; not fetched")
    assert load_token(f"{public.origin}/mcp") is None
    assert inside.requests == []


def test_the_guard_of_visitors_stays(public: Public) -> None:
    guard = NetworkGuard(NetworkPolicy("public"))

    async def ask() -> NetworkGuard:
        return await like_target("http://127.0.0.1/")

    with guard.applied():
        assert asyncio.run(ask()) is guard
