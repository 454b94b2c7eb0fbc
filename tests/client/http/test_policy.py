"""Attempts to reach other than public addresses: by the form of the URL, by name, by redirect, by rebinding."""

from __future__ import annotations

import asyncio
import ssl
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

import httpcore2
import httpx2
import pytest

from client.http.attempts import NAMES, REFUSED
from client.perimeter.observing import web
from client.running import PATIENT, captured, outcome, tool_names
from mcproof.client.connect import ConnectOptions, authorizer_of
from mcproof.client.endpoints import AccessOptions, UrlEndpoint
from mcproof.client.errors import ConnectError
from mcproof.client.http.fetch import get_json, new_client
from mcproof.client.http.policy import (
    NetworkGuard,
    NetworkPolicy,
    PinnedBackend,
    RefusedAddressError,
    is_own_address,
    parse_strict_url,
    resolve,
)
from mcproof.client.perimeter.observe import observe_server
from servers.certificates import Authority
from servers.web import FAULTS, Request, Web

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.client.auth.authorizer import OAuthAuthorizer

LOOPBACK = (ip_network("127.0.0.1/32"),)


class Names:
    """A resolver with names of its own, which counts what it is asked."""

    def __init__(self, **names: list[str]) -> None:
        self._names = {**NAMES, **{name.replace("_", "."): found for name, found in names.items()}}
        self.asked: list[str] = []

    async def __call__(self, name: str) -> list[str]:
        self.asked.append(name)
        if name not in self._names:
            raise OSError("Name or service not known")
        return self._names[name]


class Rebinding(Names):
    """A resolver that answers with one more address of a list each time."""

    def __init__(self, *addresses: str) -> None:
        super().__init__()
        self._addresses = iter(addresses)

    async def __call__(self, name: str) -> list[str]:
        self.asked.append(name)
        return [next(self._addresses)]


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Where connections would have gone; none is opened."""
    seen: list[tuple[str, int]] = []

    async def connect(_: Any, host: str, port: int, *__: Any, **___: Any) -> None:
        seen.append((host, port))
        raise httpcore2.ConnectError("not in a test")

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect)
    return seen


def guard(*, names: Names | None = None, allowed: tuple[Any, ...] = ()) -> NetworkGuard:
    return NetworkGuard(NetworkPolicy("public", allowed=allowed, resolver=names or Names()))


def get(guard: NetworkGuard, url: str, *, follow: bool = False, checks: bool = True) -> int:
    async def send() -> int:
        if checks:
            guard.check_url(url)
        async with new_client({}, 30, guard=guard) as client:
            return (await client.get(url, follow_redirects=follow)).status_code

    return asyncio.run(send())


@pytest.mark.parametrize("url", REFUSED)
def test_an_attempt_is_refused_before_a_connection_is_opened(url: str, connected: list[tuple[str, int]]) -> None:
    with pytest.raises(RefusedAddressError):
        get(guard(), url)
    assert connected == []


@pytest.mark.parametrize("url", REFUSED)
def test_a_client_refuses_a_url_that_was_not_checked_before(url: str, connected: list[tuple[str, int]]) -> None:
    with pytest.raises((RefusedAddressError, httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError)):
        get(guard(), url, checks=False)
    assert connected == []


def test_there_are_enough_attempts() -> None:
    assert len(set(REFUSED)) == len(REFUSED) >= 60


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("http://93.184.216.34/", [("93.184.216.34", 80)]),
        ("https://[2606:2800:220:1::1]:8443/mcp?x=%2f#part", [("2606:2800:220:1::1", 8443)]),
        ("HTTPS://Public.Test/mcp", [("93.184.216.34", 443), ("2606:2800:220:1::1", 443)]),
        ("http://public.test:8000/a/b", [("93.184.216.34", 8000), ("2606:2800:220:1::1", 8000)]),
        ("http://xn--mnchen-3ya.test/", [("93.184.216.35", 80)]),
        ("http://under_score.public.test/", [("93.184.216.36", 80)]),
        ("http://public.test:65535/", [("93.184.216.34", 65535), ("2606:2800:220:1::1", 65535)]),
    ],
)
def test_a_public_address_is_reached(
    url: str, addresses: list[tuple[str, int]], connected: list[tuple[str, int]]
) -> None:
    names = Names(xn__mnchen=[])
    names._names |= {"xn--mnchen-3ya.test": ["93.184.216.35"], "under_score.public.test": ["93.184.216.36"]}
    with pytest.raises(Exception, match="not in a test"):
        get(guard(names=names), url)
    assert connected == addresses


def test_an_internal_name_cannot_be_told_from_one_that_does_not_exist() -> None:
    messages = []
    for name in ("private.test", "unknown.test"):
        with pytest.raises(RefusedAddressError) as refused:
            get(guard(), f"http://{name}/")
        messages.append(refused.value.message.replace(name, "NAME"))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_address_of_this_machine_is_known(address: str) -> None:
    assert is_own_address(ip_address(address))


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "255.255.255.255"])
def test_other_addresses_are_not_of_this_machine(address: str) -> None:
    assert not is_own_address(ip_address(address))


def test_a_public_address_of_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcproof.client.http.policy.is_own_address", lambda _: True)
    with pytest.raises(RefusedAddressError, match="of this machine"):
        guard().check_url("http://93.184.216.34/")
    guard(allowed=(ip_network("93.184.216.0/24"),)).check_url("http://93.184.216.34/")


# --- allowed networks, over real connections ----------------------------------------------------------------------


class Redirects(Web, fault="redirects-anywhere"):
    """Redirects every request to a URL."""

    location = ""

    async def handle(self, request: Request) -> None:
        if request.path == "/end":
            await self.respond(200, b"{}", "application/json")
        else:
            await self.respond(302, Location=self.location)


@pytest.fixture(scope="module")
def server() -> Iterator[Web]:
    with Web() as running:
        yield running


def test_an_allowed_network_is_reached_by_address_and_by_name(server: Web) -> None:
    allowed = guard(allowed=LOOPBACK)
    assert get(allowed, server.url) == 405
    assert get(allowed, f"http://loopback.test:{server.port}/mcp") == 405
    assert server.requests[-1].headers["host"] == f"loopback.test:{server.port}"
    for url in ("http://127.0.0.2/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://private.test/"):
        with pytest.raises(RefusedAddressError):
            get(allowed, url)


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2/",
        "http://169.254.169.254/latest/meta-data/",
        "http://private.test/",
        "http://[::ffff:127.0.0.1]/",
        "http://0x7f.2/",
        "http://user@127.0.0.1/",
        "http://2130706434/",
        "http://\uff11\uff12\uff17.0.0.2/".encode().decode("latin-1"),
        "//127.0.0.2/",
        "ftp://127.0.0.1/",
        "http://127.0.0.1:25/",
    ],
)
def test_a_redirect_is_checked_even_if_a_client_follows_it(target: str) -> None:
    with web(Redirects, location=target) as first, pytest.raises(Exception) as refused:  # noqa: PT011 (of two kinds)
        get(guard(allowed=LOOPBACK), first.url, follow=True)
    assert type(refused.value).__name__ in ("RefusedAddressError", "UnsupportedProtocol", "RemoteProtocolError")
    assert len(first.requests) == 1


def test_a_chain_of_redirects_is_checked_at_each_hop() -> None:
    with web(Redirects, location="http://private.test/") as last, web(Redirects, location=last.url) as first:
        with pytest.raises(RefusedAddressError):
            get(guard(allowed=LOOPBACK), first.url, follow=True)
        assert (len(first.requests), len(last.requests)) == (1, 1)


def test_redirects_are_not_followed_by_default() -> None:
    with web(Redirects, location="/end") as first:
        assert get(guard(allowed=LOOPBACK), first.url) == 302
        assert get(guard(allowed=LOOPBACK), first.url, follow=True) == 200


def test_a_host_is_resolved_once_and_stays_where_it_was(server: Web) -> None:
    names = Rebinding("127.0.0.1", "10.0.0.1", "169.254.169.254")
    allowed = guard(names=names, allowed=LOOPBACK)
    for _ in range(3):  # each with a connection of its own
        assert get(allowed, f"http://rebinding.test:{server.port}/") == 405
    assert names.asked == ["rebinding.test"]


def test_a_name_that_moves_to_a_private_address_is_refused_by_the_next_guard(connected: list[tuple[str, int]]) -> None:
    names = Rebinding("10.0.0.1", "93.184.216.34")
    with pytest.raises(RefusedAddressError):
        get(guard(names=names), "http://rebinding.test/")
    assert connected == []


def test_what_is_connected_to_is_what_was_checked(connected: list[tuple[str, int]]) -> None:
    names = Rebinding("93.184.216.34", "127.0.0.1")
    with pytest.raises(Exception, match="not in a test"):
        get(guard(names=names), "http://rebinding.test/")
    assert connected == [("93.184.216.34", 80)]


def test_an_address_that_does_not_answer_leaves_time_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []

    async def connect(_: Any, host: str, port: int, timeout: float | None, *__: Any) -> None:
        limits.append(timeout)
        raise httpcore2.ConnectTimeout

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect)
    with pytest.raises(httpx2.ConnectTimeout):
        get(guard(), "http://public.test/")
    assert limits == [15, 15]


def test_tls_and_host_have_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    allowed = guard(names=Names(mcp_test=["127.0.0.1"], other_test=["127.0.0.1"]), allowed=LOOPBACK)
    with web(Web, tls=authority.server_tls("mcp.test")) as secure:
        assert get(allowed, f"https://mcp.test:{secure.port}/") == 405
        with pytest.raises(Exception, match="certificate"):
            get(allowed, f"https://other.test:{secure.port}/")
    assert [each.headers["host"] for each in secure.requests] == [f"mcp.test:{secure.port}"]


def test_the_proxy_of_the_environment_is_not_used(server: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert get(guard(allowed=LOOPBACK), server.url) == 405


def test_no_unix_socket_is_opened() -> None:
    with pytest.raises(RefusedAddressError):
        asyncio.run(PinnedBackend(guard()).connect_unix_socket("/run/docker.sock"))


def test_the_system_resolves_names() -> None:
    assert "127.0.0.1" in asyncio.run(resolve("localhost"))


# --- the client of mcproof inside a guard -------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The addresses to which the event loop opens connections."""
    seen: list[Any] = []
    usual = asyncio.base_events.BaseEventLoop.create_connection

    async def create(self: Any, factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        seen.append((host, port))
        return await usual(self, factory, host, port, **options)

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "create_connection", create)
    return seen


def test_a_server_is_captured_inside_a_guard_that_allows_it(server: Web) -> None:
    with guard(allowed=LOOPBACK).applied():
        assert tool_names(captured(UrlEndpoint(server.url, {}))) == ["find_book", "lend_book"]


def test_the_older_transport_goes_through_the_guard() -> None:
    names = Rebinding("127.0.0.1", "10.0.0.1")
    with FAULTS["legacy"]() as legacy, guard(names=names, allowed=LOOPBACK).applied():
        url = legacy.url.replace("127.0.0.1", "rebinding.test")
        assert tool_names(captured(UrlEndpoint(url, {}))) == ["find_book", "lend_book"]
    assert names.asked == ["rebinding.test"]


def test_a_server_is_not_captured_inside_a_guard_that_refuses_it(server: Web, opened: list[Any]) -> None:
    with guard().applied():
        error = outcome(UrlEndpoint(server.url, {}))
    assert isinstance(error, ConnectError)
    assert isinstance(error.__cause__, RefusedAddressError)
    assert "`127.0.0.1` is a loopback address" in error.message
    assert opened == []
    assert tool_names(captured(UrlEndpoint(server.url, {}))), "the guard ends with its context"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_scan_opens_no_connection_that_the_guard_refuses(scheme: str, opened: list[Any]) -> None:
    endpoint = UrlEndpoint(f"{scheme}://127.0.0.1:8443/mcp", {})
    with guard().applied():
        facts = asyncio.run(observe_server(endpoint, ConnectOptions(PATIENT), None))
    assert "loopback" in str(facts[0].failures)
    assert opened == []


class Hints(Web, fault="metadata-elsewhere"):
    """Requires authorization, and names metadata at a URL."""

    metadata = ""

    async def handle(self, request: Request) -> None:
        await self.respond(401, WWW_Authenticate=f'Bearer resource_metadata="{self.metadata}"')


@pytest.mark.parametrize("host", ["127.0.0.2", "private.test", "[::1]", "169.254.169.254"])
def test_a_scan_does_not_follow_what_a_server_names_elsewhere(host: str, opened: list[Any]) -> None:
    with web(Hints, metadata=f"http://{host}:8000/secret") as hints, guard(allowed=LOOPBACK).applied():
        asyncio.run(observe_server(UrlEndpoint(hints.url, {}), ConnectOptions(PATIENT), None))
    assert {address for address, _ in opened} == {"127.0.0.1"}


def test_authorization_metadata_is_fetched_through_the_guard(server: Web, opened: list[Any]) -> None:
    with guard().applied(), pytest.raises(RefusedAddressError):
        asyncio.run(get_json(server.url, "the metadata"))
    assert opened == []


def test_no_stored_token_is_used_for_an_anonymous_request() -> None:
    async def authorizer(access: AccessOptions) -> OAuthAuthorizer | None:
        return authorizer_of(UrlEndpoint("https://public.test/", {}, access=access))

    assert asyncio.run(authorizer(AccessOptions())) is not None
    assert asyncio.run(authorizer(AccessOptions(is_anonymous=True))) is None


def test_a_url_keeps_its_path_and_query() -> None:
    strict = parse_strict_url("HTTPS://Host.example:8443/a%20b?c=d%26e")
    assert strict == ("https://Host.example:8443/a%20b?c=d%26e", ("https", "host.example", 8443), "/a%20b")
    assert ssl.HAS_SNI
