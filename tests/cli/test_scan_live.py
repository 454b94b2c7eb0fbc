"""`mcproof scan` of servers at a URL: what it sends, and what it reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from servers.certificates import Authority
from servers.perimeters import Careful, Counting, Drip, EchoCors, Protected, Readable, Walled
from servers.web import Good, Website

from .running import document_of, run

if TYPE_CHECKING:
    from pathlib import Path

    from servers.web import Web

READER = {
    "name": "find_station",
    "description": "Find a weather station by the words of its name.",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "required": ["name"]},
    "annotations": {"readOnlyHint": True},
}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def scanned(url: str, *options: str) -> dict[str, Any]:
    document: dict[str, Any] = document_of(run("scan", url, "--format", "json", *options), "scan")
    return document


def evidence(document: dict[str, Any]) -> dict[str, Any]:
    """The evidence of each failed rule."""
    return {each["rule"]: each["evidence"] for each in document["findings"]}


def outcomes(document: dict[str, Any]) -> dict[str, str]:
    return {each["rule"]: each["outcome"] for each in document["trust"]["rules"]}


def test_a_server_that_trusts_every_website_is_reported() -> None:
    with EchoCors() as server:
        found = evidence(scanned(server.url))
    assert found["transport_validates_origin"]["status"] == 200
    assert found["TRU-501"]["status"] == 200
    assert found["TRU-502"]["allowCredentials"] is True


def test_a_careful_server_passes() -> None:
    with Careful() as server:
        document = scanned(server.url)
    assert set(evidence(document)) & {"transport_validates_origin", "TRU-205", "TRU-501", "TRU-502", "TRU-503"} == set()
    seen = outcomes(document)
    assert {seen[rule] for rule in ("transport_validates_origin", "TRU-205", "TRU-501", "TRU-503")} == {"passed"}
    local = ("transport_uses_https", "tls_handshake_succeeded", "transport_advertises_hsts", "TRU-502")
    assert {seen[rule] for rule in local} == {"not applicable"}


def test_weak_session_ids_are_reported_without_the_ids() -> None:
    with Counting() as server:
        result = run("scan", server.url, "--format", "json")
    found = evidence(document_of(result, "scan"))
    assert found["TRU-503"]["defects"] == ["counts_up", "too_short"]
    assert "session-" not in result.stdout


@pytest.mark.parametrize(("kind", "passes"), [(Protected, True), (Walled, False)])
def test_a_server_that_refuses_access_is_judged_by_what_it_publishes(kind: type[Web], passes: bool) -> None:
    with kind() as server:
        document = scanned(server.url)
    seen = outcomes(document)
    assert seen["auth_advertises_protected_resource_metadata"] == ("passed" if passes else "failed")
    assert document["trust"]["verdict"] != "allow"


def test_a_website_is_judged_by_its_perimeter() -> None:
    with Website() as server:
        found = evidence(scanned(server.url))
    assert found["transport_content_type_acceptable"]["contentType"] == "text/html"


def test_an_expired_certificate_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    server = Careful()
    server.tls = authority.server_tls("localhost", days=-2.5)
    with server:
        found = evidence(scanned(f"https://localhost:{server.port}/mcp"))
        assert server.requests == []
    assert found["tls_handshake_succeeded"]["authorizationError"] == "certificate has expired"
    assert found["tls_certificate_not_expiring_soon"] == {"daysUntilExpiry": -3}


def test_tools_are_called_only_with_deep() -> None:
    server = Readable()
    server.tools = [READER]  # type: ignore[misc]
    with server:
        plain = outcomes(scanned(server.url))
        assert "tools/call" not in [each.method for each in server.requests]
        deep = outcomes(scanned(server.url, "--deep"))
        assert [each.method for each in server.requests].count("tools/call") == 1
    rule = "active_probe_read_tools_honor_their_schema"
    assert (plain[rule], deep[rule]) == ("not applicable", "passed")


def test_no_secret_of_the_run_is_in_the_report() -> None:
    with Protected() as server:
        url = f"{server.url}?token=hunter2-4711"
        result = run("scan", url, "--header", "X-Key: hunter2-4712", "--format", "json")
    assert "hunter2" not in result.stdout + result.stderr
    json.loads(result.stdout)


@pytest.mark.slow
def test_a_server_that_never_finishes_a_response_is_judged_by_its_headers() -> None:
    with Drip() as server:
        document = scanned(server.url, "--start-timeout", "0.5")
    why = {each["rule"]: each["why"] for each in document["trust"]["rules"]}
    assert why["transport_response_within_size_bound"] == "no response within 10 seconds"
    assert outcomes(document)["transport_content_type_acceptable"] == "passed"


def test_two_scans_of_one_server_are_equal() -> None:
    with Good() as server:
        first, second = (run("scan", server.url).stdout for _ in range(2))
    assert first == second
