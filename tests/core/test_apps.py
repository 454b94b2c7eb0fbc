"""What is known of the pages of MCP Apps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.core.observations.apps import Apps, apps_of
from mcproof.targets.snapshots import read_snapshot

URI = "ui://ads/banner.html"
CONNECT = {"ui": {"csp": {"connectDomains": ["https://ads.example.com"]}}}


def apps(document: dict[str, Any]) -> Apps:
    return apps_of(read_snapshot(json.dumps({"tools": [], **document}).encode(), "case.json"))


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        (CONNECT, [("connect", "https://ads.example.com")]),
        (
            {"openai/widgetCSP": {"connect_domains": ["https://a.example"], "resource_domains": ["https://b.example"]}},
            [("connect", "https://a.example"), ("resource", "https://b.example")],
        ),
        (
            {"ui": {"csp": {"frameDomains": ["https://c.example"], "connectDomains": []}}},
            [("frame", "https://c.example")],
        ),
        ({"ui": {"csp": {"resourceDomains": ["data:", "'self'", 5]}}}, []),
        ({"ui": {"csp": {"connectDomains": "https://a.example"}}}, []),
        ({"ui": []}, []),
        ("ui", []),
        (None, []),
    ],
)
def test_the_domains_of_a_page_are_read_in_every_spelling(meta: Any, expected: list[tuple[str, str]]) -> None:
    found = apps({"resources": [{"uri": URI, "name": "banner", "_meta": meta}]})
    assert [(domain.use, domain.domain) for domain in found.domains] == expected
    assert found.uris == (URI,)


@pytest.mark.parametrize(
    "meta", [{"ui": {"resourceUri": URI}}, {"ui/resourceUri": URI}, {"openai/outputTemplate": URI}]
)
def test_a_page_is_known_from_the_tool_that_points_at_it(meta: dict[str, Any]) -> None:
    found = apps({"tools": [{"name": "show", "_meta": meta}]})
    assert (found.uris, found.domains) == ((URI,), ())
    assert found.not_applicable == {}


def test_what_a_page_declares_when_it_is_read_counts_more_than_its_list() -> None:
    listed = apps({"resources": [{"uri": URI, "name": "banner", "_meta": CONNECT}]})
    policy = {"ui": {"csp": {"resourceDomains": ["https://cdn.example.com"]}}}
    read = listed.with_contents(URI, {"contents": [{"uri": URI, "text": "<p>", "_meta": policy}]})
    assert [domain.domain for domain in read.domains] == ["https://cdn.example.com"]
    silence: list[Any] = [{"contents": [{"uri": URI, "text": "<p>"}]}, {"contents": 1}, None, {"contents": [[]]}]
    for silent in silence:
        assert listed.with_contents(URI, silent) == listed


def test_a_server_without_apps_is_not_concerned() -> None:
    assert "TRU-121" in apps({"resources": [{"uri": "notes://a", "name": "a"}]}).not_applicable
