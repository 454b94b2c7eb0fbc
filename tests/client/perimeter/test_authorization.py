"""What a server that refuses access publishes, and what is fetched because of it."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.errors import ConnectError
from mcproof.client.http.policy import NetworkGuard, NetworkPolicy, like_target
from mcproof.client.perimeter.endpoint import Prober, Refusal, observe_authorization
from servers.perimeters import DeepMetadata, EndlessMetadata, Protected, RedirectTo, Walled
from servers.web import Good

from .observing import LIMITS, findings, perimeter, web

if TYPE_CHECKING:
    from mcproof.core.observations.perimeter import Authorization
    from servers.web import Web

AUTH_RULES = {
    "auth_supports_pkce_s256",
    "auth_no_insecure_grant_types",
    "auth_issuer_uses_https",
    "auth_discovery_advertised_when_required",
    "auth_advertises_protected_resource_metadata",
    "auth_authorization_server_metadata_present",
    "auth_advertises_token_endpoint",
    "auth_advertises_jwks_uri",
    "TRU-504",
}


def seen_of(server: Web) -> Authorization:
    facts = perimeter(server.url).authorization
    assert facts is not None
    return facts


def found_in(authorization: Authorization) -> dict[str, Any]:
    return {rule: each.evidence for rule, each in findings(authorization).items()}


def test_a_good_server_has_no_findings_and_nothing_unobserved() -> None:
    with web(Protected) as server:
        facts = seen_of(server)
        paths = [each.path for each in server.requests if ".well-known" in each.path]
    assert found_in(facts) == {}
    assert facts.unobserved == {}
    assert facts.resource_metadata_hint == f"{server.origin}{server.resource_path}"
    assert paths == [server.resource_path, server.issuer_path]


def test_an_open_server_is_not_asked_for_metadata() -> None:
    with web(Good) as server:
        assert perimeter(server.url).authorization is None
        assert not [each for each in server.requests if ".well-known" in each.path]


def test_a_server_that_publishes_nothing_fails_what_can_be_observed() -> None:
    with web(Walled) as server:
        facts = seen_of(server)
    assert set(found_in(facts)) == {
        "auth_discovery_advertised_when_required",
        "auth_advertises_protected_resource_metadata",
        "auth_authorization_server_metadata_present",
    }
    assert AUTH_RULES - set(found_in(facts)) == set(facts.unobserved)


def test_metadata_without_a_challenge_is_found_at_the_place_for_the_path() -> None:
    with web(Protected, challenges=False) as server:
        facts = seen_of(server)
    assert facts.challenge == ""
    assert found_in(facts) == {}


def test_metadata_is_found_at_the_place_for_the_origin() -> None:
    with web(Protected, challenges=False, resource_path="/.well-known/oauth-protected-resource") as server:
        facts = seen_of(server)
    assert [each.status for each in facts.fetches] == [404, 200, 200]
    assert found_in(facts) == {}


def test_the_metadata_of_openid_connect_is_found() -> None:
    with web(Protected, issuer_path="/.well-known/openid-configuration") as server:
        assert found_in(seen_of(server)) == {}


@pytest.mark.parametrize(
    ("members", "rule", "evidence"),
    [
        ({"code_challenge_methods_supported": ["plain"]}, "auth_supports_pkce_s256", None),
        ({"code_challenge_methods_supported": "S256"}, "auth_supports_pkce_s256", None),
        (
            {"grant_types_supported": ["authorization_code", "password", "implicit"]},
            "auth_no_insecure_grant_types",
            {"insecureGrantTypes": ["password", "implicit"]},
        ),
        ({"token_endpoint": None}, "auth_advertises_token_endpoint", {"tokenEndpoints": []}),
        ({"jwks_uri": 7}, "auth_advertises_jwks_uri", {"jwksUris": []}),
    ],
)
def test_a_fault_in_the_metadata_of_the_issuer_is_found(
    members: dict[str, Any], rule: str, evidence: dict[str, Any] | None
) -> None:
    with web(Protected, issuer=members) as server:
        found = found_in(seen_of(server))
    assert set(found) == {rule}
    if evidence is not None:
        assert found[rule] == evidence


def test_a_document_for_another_issuer_does_not_count() -> None:
    with web(Protected, issuer={"issuer": "https://as.weather.test"}) as server:
        facts = seen_of(server)
    assert set(found_in(facts)) == {"auth_authorization_server_metadata_present"}
    assert "the document is for another issuer" in [each.error for each in facts.fetches]


@pytest.mark.parametrize("resource", ["https://api.weather.test/mcp", "http://127.0.0.1:1/mcp", None])
def test_a_resource_that_is_another_server_is_found(resource: str | None) -> None:
    with web(Protected, resource={"resource": resource}) as server:
        assert found_in(seen_of(server)) == {"TRU-504": {"resource": resource}}


def test_the_origin_of_the_server_is_its_resource_too() -> None:
    with web(Protected) as server:
        server.resource = {"resource": f"{server.origin}/"}  # type: ignore[misc]
        assert found_in(seen_of(server)) == {}


@pytest.mark.parametrize(
    ("issuer", "shown"),
    [
        ("http://as.weather.invalid", "http://as.weather.invalid"),
        ("https://me:hunter2@as.weather.invalid/", "https://as.weather.invalid/"),
        ("https://as.weather.invalid/?key=hunter2", "https://as.weather.invalid/?key=***"),
        ("https://as.weather.invalid/#hunter2", "https://as.weather.invalid/"),
        ("ftp://as.weather.invalid", "ftp://as.weather.invalid"),
        ("https://[::bad", "***"),
    ],
)
def test_an_issuer_that_is_not_a_plain_https_url_is_found(issuer: str, shown: str) -> None:
    with web(Protected, resource={"authorization_servers": [issuer]}) as server:
        facts = seen_of(server)
    assert found_in(facts)["auth_issuer_uses_https"] == {"invalidIssuers": [shown]}
    assert "hunter2" not in repr(facts)


def test_at_most_five_issuers_are_asked() -> None:
    issuers = [f"https://as-{number}.weather.invalid" for number in range(50)]
    with web(Protected, resource={"authorization_servers": issuers}) as server:
        facts = seen_of(server)
    assert [each.url for each in facts.issuers] == issuers[:5]


@pytest.mark.parametrize("value", [[], {}, "x", [1, None, []], None])
def test_resource_metadata_without_issuers_leads_to_the_server_itself(value: Any) -> None:
    with web(Protected, resource={"authorization_servers": value}) as server:
        facts = seen_of(server)
    assert not facts.are_issuers_named
    assert [each.issuer for each in facts.servers] == [server.origin]
    assert "auth_issuer_uses_https" in facts.unobserved


@pytest.mark.parametrize(("kind", "error"), [(EndlessMetadata, "too large"), (DeepMetadata, "not JSON")])
def test_hostile_metadata_is_bounded_and_reported(kind: type[Web], error: str) -> None:
    with web(kind) as server:
        facts = seen_of(server)
    assert {each.error for each in facts.fetches} == {error}
    assert facts.resource is None


def test_no_credentials_are_sent_for_metadata() -> None:
    with web(Good) as other, web(Protected, resource={}) as server:
        server.resource = {"authorization_servers": [other.url]}  # type: ignore[misc]
        perimeter(server.url, Authorization="Bearer hunter2-4711", Cookie="hunter2-4712")
        assert other.requests
        well_known = [each for each in server.requests if ".well-known" in each.path]
        assert "hunter2" not in repr([*other.requests, *well_known])


def test_a_challenge_with_a_token_is_stored_without_it() -> None:
    challenge = 'Bearer realm="x", token="sk-abcdefghijklmnopqrstuvwxyz0123456789"'
    with web(Walled, headers={"WWW-Authenticate": challenge}) as server:
        facts = seen_of(server)
    assert facts.challenge.startswith("Bearer ")
    assert "sk-abc" not in repr(facts)


# A public server must not lead mcproof to private places.


def _observed(url: str, policy: NetworkPolicy, challenge: str) -> Authorization:
    prober = Prober(url, NetworkGuard(policy), LIMITS)
    return asyncio.run(observe_authorization(prober, Refusal(401, challenge), is_loopback=False))


def _like(address: str) -> NetworkPolicy:
    return NetworkPolicy("like-target", (ip_address(address),))


PUBLIC, PRIVATE, LOCAL = map(_like, ("93.184.216.34", "10.0.0.7", "127.0.0.1"))


def test_a_public_server_does_not_lead_to_this_machine() -> None:
    with web(Good) as inside:
        facts = _observed("https://mcp.example.com/mcp", PUBLIC, f'Bearer resource_metadata="{inside.url}"')
        assert inside.requests == []
    assert facts.fetches[0].error == "`127.0.0.1` is a loopback address; not fetched"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104
        "[fd00::1]",
        "[fe80::1]",
        "rebinding.test",
    ],
)
def test_no_private_address_in_any_form_is_fetched_for_a_public_server(host: str) -> None:
    facts = _observed("https://mcp.example.com/mcp", PUBLIC, f'Bearer resource_metadata="http://{host}:9/x"')
    assert facts.fetches[0].error.endswith("not fetched")


def test_a_private_server_may_lead_to_its_own_network_but_not_to_this_machine() -> None:
    async def allowed(policy: NetworkPolicy, host: str) -> bool:
        try:
            return bool(await NetworkGuard(policy).addresses(host))
        except ConnectError:
            return False

    hosts = ["93.184.216.34", "10.0.0.9", "127.0.0.1", "169.254.169.254", "169.254.1.1"]
    for policy, expected in [
        (PUBLIC, [True, False, False, False, False]),
        (PRIVATE, [True, True, False, False, False]),
        (LOCAL, [True, True, True, False, False]),
        (_like("169.254.1.1"), [True, True, True, False, True]),
    ]:
        assert [asyncio.run(allowed(policy, host)) for host in hosts] == expected


@pytest.mark.parametrize(
    ("hosts", "target"),
    [
        (["93.184.216.34"], ["93.184.216.34"]),
        (["10.0.0.7"], ["10.0.0.7"]),
        (["mcp.weather.test"], ["127.0.0.1"]),
        (["no-such-host.invalid"], []),
        (["93.184.216.34", "10.0.0.7", "no-such-host.invalid"], ["10.0.0.7"]),
    ],
)
def test_the_guard_knows_where_the_target_is(hosts: list[str], target: list[str]) -> None:
    guard = asyncio.run(like_target(*(f"https://{host}/mcp" for host in hosts)))
    assert list(map(str, guard.policy.target)) == target


def test_a_host_with_addresses_inside_and_outside_is_reached_outside() -> None:
    async def both(_: str) -> list[str]:
        return ["10.0.0.9", "93.184.216.35"]

    guard = NetworkGuard(PUBLIC._replace(resolver=both))
    assert asyncio.run(guard.addresses("mixed.test")) == ["93.184.216.35"]


def test_a_redirect_of_metadata_is_guarded_too() -> None:
    with web(Good) as inside, web(RedirectTo, location=inside.url) as server:
        facts = _observed(server.url, LOCAL, "Bearer")
        assert inside.requests  # from a server on this machine
        inside.requests.clear()
        server.location = "http://169.254.169.254/latest/meta-data"
        facts = _observed(server.url, LOCAL, "Bearer")
        assert inside.requests == []
    assert facts.fetches[0].error == "`169.254.169.254` is a cloud metadata address; not fetched"
