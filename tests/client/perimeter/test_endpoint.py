"""The URL and the HTTP of a server: redirects, sizes, content types, foreign headers, credentials."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.connect import ConnectOptions
from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.http.fetch import FetchLimits
from mcproof.client.perimeter.endpoint import FOREIGN_HOST, FOREIGN_ORIGIN, observe_perimeter
from mcproof.client.perimeter.observe import observe_server
from servers.perimeters import (
    Careful,
    Cors,
    Drip,
    EchoCors,
    Endless,
    HeaderFlood,
    OpenEvents,
    OwnCors,
    Protected,
    RedirectOnce,
    RedirectTo,
    StatusOfGet,
    WebPage,
)
from servers.web import Broken, Good, Legacy, Modern, NotAllowed, Page, RedirectHere, Stream, Web, Website

from .observing import BRIEF, LIMITS, findings, perimeter, web

if TYPE_CHECKING:
    from servers.certificates import Authority

HTTP_RULES = {
    "transport_response_within_size_bound",
    "transport_redirects_within_bound",
    "transport_content_type_acceptable",
}


def found_of(kind: type[Web], **attributes: Any) -> set[str]:
    with web(kind, **attributes) as server:
        observed = perimeter(server.url)
    return set(findings(*observed))


# The URL.


def test_the_url_decides_three_rules_without_a_connection() -> None:
    facts = perimeter("http://no-such-host.invalid/mcp?API-Key=hunter2&page=3").perimeter
    found = findings(facts)
    assert set(found) == {"transport_uses_https", "endpoint_no_credentials_in_url"}
    assert found["transport_uses_https"].evidence == {"protocol": "http:"}
    assert found["endpoint_no_credentials_in_url"].evidence == {"hits": [{"location": "query", "key": "API-Key"}]}
    assert "hunter2" not in repr(facts)


def test_a_login_in_the_url_is_a_credential() -> None:
    facts = perimeter("https://me:hunter2@no-such-host.invalid/mcp").perimeter
    hits = {"hits": [{"location": "userinfo", "key": "userinfo"}]}
    assert findings(facts)["endpoint_no_credentials_in_url"].evidence == hits
    assert "hunter2" not in repr(facts)
    assert "me:" not in facts.url


@pytest.mark.parametrize("key", ["token", "api_key", "apikey", "access_token", "refresh_token", "password", "secret"])
def test_a_query_key_that_names_a_credential_is_one(key: str) -> None:
    facts = perimeter(f"https://no-such-host.invalid/mcp?{key}=x").perimeter
    assert "endpoint_no_credentials_in_url" in findings(facts)


def test_other_query_keys_are_not_credentials() -> None:
    facts = perimeter("https://no-such-host.invalid/mcp?tokens=3&page_token=x&keys=y").perimeter
    assert findings(facts) == {}


@pytest.mark.parametrize("url", ["https://host:99999/mcp", "http://[::1/mcp", "https:///mcp"])
def test_a_url_that_is_not_one_is_no_crash(url: str) -> None:
    facts = perimeter(url).perimeter
    assert facts.response is None
    assert "transport_validates_origin" in facts.unobserved


# GET.


def test_a_good_server_has_only_the_finding_of_its_host(trusted: Authority) -> None:
    with web(Careful, tls=trusted.server_tls("mcp.weather.test")) as server:
        observed = perimeter(f"https://mcp.weather.test:{server.port}/mcp")
    assert findings(*observed) == {}
    facts = observed.perimeter
    assert set(facts.not_applicable) == {"TRU-501", "TRU-502"}
    assert facts.unobserved == {}
    assert facts.response is not None
    assert facts.response.strict_transport_security == "max-age=31536000"


@pytest.mark.parametrize(
    ("header", "evidence"),
    [
        ({}, {"present": False, "maxAgeSeconds": None}),
        ({"Strict-Transport-Security": "max-age=0"}, {"present": True, "maxAgeSeconds": 0}),
        ({"Strict-Transport-Security": "preload"}, {"present": True, "maxAgeSeconds": None}),
    ],
)
def test_missing_hsts_is_found(trusted: Authority, header: dict[str, str], evidence: dict[str, Any]) -> None:
    with web(Careful, tls=trusted.server_tls("mcp.weather.test"), headers=header) as server:
        observed = perimeter(f"https://mcp.weather.test:{server.port}/mcp")
    assert findings(*observed)["transport_advertises_hsts"].evidence == evidence


def test_plain_http_is_found_on_a_public_name_and_not_on_this_machine() -> None:
    with web(Careful) as server:
        public = perimeter(f"http://mcp.weather.test:{server.port}/mcp").perimeter
        local = perimeter(server.url).perimeter
    assert set(findings(public)) == {"transport_uses_https"}
    assert set(findings(local)) == set()


def test_a_redirect_is_followed_and_recorded() -> None:
    with web(RedirectOnce) as server:
        facts = perimeter(server.url).perimeter
        paths = [each.path for each in server.requests if each.verb == "GET"]
    assert paths == ["/mcp", "/elsewhere"]
    assert facts.response is not None
    assert [tuple(each) for each in facts.response.redirects] == [(302, "/elsewhere")]
    assert facts.response.final_url == server.url.replace("/mcp", "/elsewhere")
    assert not HTTP_RULES & set(findings(facts))


def test_a_redirect_loop_ends_after_three_redirects() -> None:
    with web(RedirectHere) as server:
        facts = perimeter(server.url).perimeter
        followed = [each for each in server.requests if each.verb == "GET" and each.headers["accept"] == "*/*"]
    assert len(followed) == 4
    found = findings(facts)["transport_redirects_within_bound"].evidence
    assert found is not None
    assert found["redirectCap"] == 3
    assert "hunter2" not in repr(facts)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1:70/"])
def test_a_redirect_to_something_other_than_http_is_not_followed(location: str) -> None:
    with web(RedirectTo, location=location) as server:
        facts = perimeter(server.url).perimeter
    assert facts.response is not None
    assert facts.response.status == 302
    assert facts.response.refused_redirect


@pytest.mark.parametrize("location", ["http://[::bad", "javascript:x", "http://127.0.0.1:99999/"])
def test_a_redirect_that_is_not_a_url_is_no_crash(location: str) -> None:
    with web(RedirectTo, location=location) as server:
        facts = perimeter(server.url).perimeter
    assert not HTTP_RULES & set(findings(facts))


def test_a_redirect_to_another_server_gets_no_credentials() -> None:
    with web(Good) as other, web(RedirectTo, location=f"{other.url}?next") as server:
        perimeter(server.url.replace("//", "//me:hunter2@"), Authorization="Bearer hunter2", Cookie="hunter2")
        assert [each.verb for each in other.requests] == ["GET"]
        assert "hunter2" not in repr(other.requests)


def test_an_endless_body_is_cut_off() -> None:
    with web(Endless) as server:
        facts = perimeter(server.url).perimeter
    evidence = findings(facts)["transport_response_within_size_bound"].evidence
    assert evidence is not None
    assert evidence["sizeCapBytes"] == 1_048_576


def test_an_open_stream_is_not_read() -> None:
    with web(OpenEvents) as server:
        facts = perimeter(server.url).perimeter
    assert facts.response is not None
    assert facts.response.content_type == "text/event-stream"
    assert not HTTP_RULES & set(findings(facts))


@pytest.mark.parametrize("kind", [Drip, HeaderFlood])
def test_a_hostile_response_is_not_waited_for(kind: type[Web]) -> None:
    with web(kind) as server:
        facts = perimeter(server.url, BRIEF).perimeter
    assert facts.response is None
    assert "transport_response_within_size_bound" in facts.unobserved


def test_a_closed_port_is_reported_as_the_reason() -> None:
    facts = perimeter("http://127.0.0.1:1/mcp").perimeter
    assert facts.unobserved["transport_validates_origin"].startswith("the server cannot be reached: ")
    assert set(findings(facts)) == set()


# Content types.


@pytest.mark.parametrize("kind", [Website, WebPage])
def test_a_web_page_is_not_an_endpoint(kind: type[Web]) -> None:
    with web(kind) as server:
        found = findings(*perimeter(server.url))["transport_content_type_acceptable"].evidence
    assert found is not None
    assert found["contentType"] == "text/html"
    assert found["acceptedTransports"] == ["application/json", "text/event-stream"]


@pytest.mark.parametrize("kind", [Good, Stream, Legacy, Modern, Broken, NotAllowed, Page, StatusOfGet])
def test_other_responses_have_acceptable_content_types(kind: type[Web]) -> None:
    assert "transport_content_type_acceptable" not in found_of(kind)


# Foreign headers.


def test_a_server_that_accepts_everything_is_found() -> None:
    with web(Good) as server:
        found = findings(*perimeter(server.url))
    assert found["transport_validates_origin"].evidence == {"sentOrigin": FOREIGN_ORIGIN, "status": 200}
    assert found["TRU-501"].evidence == {"sentHost": f"{FOREIGN_HOST}:{server.port}", "status": 200}


def test_a_stateless_server_is_asked_in_its_own_era() -> None:
    with web(Modern) as server:
        facts = perimeter(server.url).perimeter
        [probe] = [each for each in server.requests if each.headers.get("origin") and each.verb == "POST"]
    assert facts.opening is not None
    assert facts.opening.method == probe.method == "server/discover"
    assert "transport_validates_origin" in findings(facts)


def test_a_server_of_the_older_transport_is_asked_for_its_stream() -> None:
    with web(Legacy) as server:
        facts = perimeter(server.url).perimeter
    assert facts.opening is not None
    assert (facts.opening.method, facts.opening.content_type) == ("GET", "text/event-stream")
    assert {"transport_validates_origin", "TRU-501"} <= set(findings(facts))


def test_a_server_that_refuses_foreign_headers_passes() -> None:
    with web(Careful) as server:
        facts = perimeter(server.url).perimeter
    assert not {"transport_validates_origin", "TRU-501"} & {*findings(facts), *facts.unobserved}


def test_a_server_that_refuses_everything_with_403_shows_nothing_about_origins() -> None:
    with web(Protected, status=403) as server:
        facts = perimeter(server.url).perimeter
    assert "transport_validates_origin" in facts.unobserved
    assert "transport_validates_origin" not in findings(facts)


def test_with_credentials_the_origin_check_of_a_protected_server_is_seen() -> None:
    with web(Protected) as server:
        facts = perimeter(server.url, Authorization="Bearer good-token-4711").perimeter
    assert "transport_validates_origin" in findings(facts)


def test_the_foreign_host_is_sent_to_this_machine_only() -> None:
    with web(Careful) as server:
        facts = perimeter(f"http://mcp.weather.test:{server.port}/mcp").perimeter
        assert not [each for each in server.requests if "invalid" in each.headers["host"]]
    assert facts.not_applicable["TRU-501"] == "sent only to servers on this machine"


def test_sessions_that_probes_start_are_ended() -> None:
    with web(Careful) as server:
        perimeter(server.url)
        started = sum(each.method == "initialize" and "origin" not in each.headers for each in server.requests)
        ended = [each.headers["mcp-session-id"] for each in server.requests if each.verb == "DELETE"]
    assert started == 2  # the second has a foreign host and gets no session
    assert len(ended) == len(set(ended)) == 1


# CORS.


@pytest.mark.parametrize(
    ("kind", "host", "severity"),
    [
        (Cors, "127.0.0.1", "high"),
        (Cors, "mcp.weather.test", "low"),
        (EchoCors, "127.0.0.1", "high"),
        (EchoCors, "mcp.weather.test", "high"),
    ],
)
def test_cors_for_all_is_found(kind: type[Cors], host: str, severity: str) -> None:
    with web(kind) as server:
        finding = findings(*perimeter(f"http://{host}:{server.port}/mcp"))["TRU-502"]
    assert finding.rule.severity == severity
    assert finding.evidence is not None
    assert finding.evidence["allowCredentials"] == bool(kind.credentials)


@pytest.mark.parametrize("kind", [OwnCors, Good])
def test_cors_for_nobody_or_its_own_pages_is_not(kind: type[Web]) -> None:
    assert "TRU-502" not in found_of(kind)


# Everything together.


def test_values_of_variables_in_the_url_are_not_stored() -> None:
    with web(Protected, challenges=False) as server:
        url = server.url.replace("/mcp", "/team-hunter2/mcp")
        server.path = "/team-hunter2/mcp"
        observed = asyncio.run(observe_perimeter(UrlEndpoint(url, {}, ("team-hunter2",)), LIMITS))
    assert observed.authorization is not None
    assert len(observed.authorization.fetches) > 2
    assert "hunter2" not in repr(observed)


def test_only_what_the_documentation_lists_is_sent() -> None:
    with web(Good) as server:
        perimeter(server.url)
        sent = [(each.verb, each.method) for each in server.requests]
    assert sent == [("GET", ""), ("POST", "initialize"), ("OPTIONS", ""), *[("POST", "initialize")] * 2]


def test_credentials_go_with_foreign_headers_only() -> None:
    with web(Protected) as server:
        perimeter(server.url, Authorization="Bearer good-token-4711")
        with_token = [each for each in server.requests if "authorization" in each.headers]
    assert [each.method for each in with_token] == ["initialize"] * 3
    assert not any(each.headers["host"].endswith(".test") for each in with_token)


def test_a_server_that_does_not_speak_mcp_is_observed() -> None:
    with web(Website) as server:
        endpoint = UrlEndpoint(server.url, {})
        facts = asyncio.run(observe_server(endpoint, ConnectOptions(), None, limits=LIMITS))
    assert [type(each).__name__ for each in facts] == ["Perimeter"]


def test_the_time_limit_is_for_a_probe_with_its_redirects() -> None:
    with web(RedirectHere) as server:
        facts = perimeter(server.url, FetchLimits(seconds=0)).perimeter
    assert facts.unobserved["transport_redirects_within_bound"] == "no response within 0 seconds"
