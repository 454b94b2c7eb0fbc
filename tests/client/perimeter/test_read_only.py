"""Reading resources, and calling tools that declare themselves read-only."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from client.running import PATIENT, command
from mcproof.client.connect import ConnectOptions
from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.perimeter.observe import may_call, observe_server
from mcproof.runs.scan import usual_arguments
from servers.perimeters import Readable

from .observing import LIMITS, catalog_of, fact, facts_of, findings, web

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "pattern": "^[A-Z]{3}$"}, "days": {"enum": [1, 2]}},
    "required": ["city", "days"],
}


def tool(name: str, **hints: Any) -> dict[str, Any]:
    return {"name": name, "description": "x", "inputSchema": SCHEMA, "annotations": hints}


def calls_of(server: Readable) -> list[dict[str, Any]]:
    return [each.message["params"] for each in server.requests if each.method == "tools/call"]


def test_the_first_https_resources_are_read_and_cut_off() -> None:
    with web(Readable) as server:
        facts = facts_of(UrlEndpoint(server.url, {}))
        read = [each.message["params"]["uri"] for each in server.requests if each.method == "resources/read"]
    assert read == ["https://weather.test/a", "HTTPS://weather.test/b", "https://weather.test/broken"]
    bodies = fact(facts, "ResourceBodies").bodies
    assert [uri for uri, _ in bodies] == read[:2]
    for uri, text in bodies:
        assert text.startswith(f"body of {uri} ä")
        assert 8_190 <= len(text.encode()) <= 8_192


@pytest.mark.parametrize("is_deep", [False, True])
def test_no_tool_is_called_unless_the_user_wants_it(is_deep: bool) -> None:
    with web(Readable, tools=[tool("forecast", readOnlyHint=True)]) as server:
        facts = facts_of(UrlEndpoint(server.url, {}), is_deep=is_deep)
        assert len(calls_of(server)) == is_deep
    assert any(type(each).__name__ == "ReadCalls" for each in facts) is is_deep


def test_only_tools_that_declare_it_are_called_and_only_three() -> None:
    tools = [
        tool("silent"),
        tool("writer", readOnlyHint=False),
        tool("both", readOnlyHint=True, destructiveHint=True),
        tool("text", readOnlyHint="true"),
        {"name": "schemaless", "annotations": {"readOnlyHint": True}},
        *(tool(f"reader_{number}", readOnlyHint=True) for number in range(5)),
    ]
    with web(Readable, tools=tools) as server:
        facts = facts_of(UrlEndpoint(server.url, {}), is_deep=True)
        calls = calls_of(server)
    assert [each["name"] for each in calls] == ["reader_0", "reader_1", "reader_2"]
    assert all(len(each["arguments"]["city"]) == 3 and each["arguments"]["days"] in (1, 2) for each in calls)
    assert "active_probe_read_tools_honor_their_schema" not in findings(*facts)


def test_a_rejected_valid_call_is_found() -> None:
    tools = [tool(name, readOnlyHint=True) for name in ("strict", "failing", "forecast")]
    with web(Readable, tools=tools) as server:
        facts = facts_of(UrlEndpoint(server.url, {"X-Key": "hunter2-4711"}), is_deep=True)
    assert [each.outcome for each in fact(facts, "ReadCalls").calls] == ["rejected", "tool_error", "accepted"]
    evidence = findings(*facts)["active_probe_read_tools_honor_their_schema"].evidence
    hit = {"toolName": "strict", "outcome": "rejected_compliant_input", "detail": "error -32602: *** is not accepted"}
    assert evidence == {"hits": [hit]}


def test_tools_on_other_machines_are_not_called() -> None:
    with web(Readable, tools=[tool("forecast", readOnlyHint=True)]) as server:
        endpoint = UrlEndpoint(f"http://mcp.weather.test:{server.port}/mcp", {})
        facts = facts_of(endpoint, is_deep=True)
        assert calls_of(server) == []
    reason = {"active_probe_read_tools_honor_their_schema": "tools are called only on this machine"}
    assert fact(facts, "ReadCalls").not_applicable == reason


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000/mcp", True),
        ("http://localhost/mcp", True),
        ("http://[::1]:8000/mcp", True),
        ("http://10.0.0.7/mcp", False),
        ("https://mcp.example.com/mcp", False),
        ("https://localhost.example.com/mcp", False),
    ],
)
def test_calls_are_for_this_machine(url: str, expected: bool) -> None:
    assert may_call(UrlEndpoint(url, {})) is expected
    assert may_call(command("good"))


def test_a_server_without_read_only_tools_is_not_judged() -> None:
    with web(Readable, tools=[tool("writer")]) as server:
        facts = facts_of(UrlEndpoint(server.url, {}), is_deep=True)
    assert fact(facts, "ReadCalls").not_applicable
    assert findings(*facts).keys().isdisjoint({"active_probe_read_tools_honor_their_schema"})


def test_a_server_that_dies_after_its_capture_leaves_parts_out() -> None:
    with web(Readable) as server:
        endpoint = UrlEndpoint(server.url, {})
        catalog = catalog_of(endpoint)
    facts = asyncio.run(
        observe_server(endpoint, ConnectOptions(PATIENT), catalog, arguments_for=usual_arguments, limits=LIMITS)
    )
    unobserved = {rule for each in facts for rule in getattr(each, "unobserved", {})}
    assert unobserved >= {
        "TRU-205",
        "TRU-503",
        "transport_validates_origin",
        "resource_contents_no_injection",
        "active_probe_read_tools_honor_their_schema",
    }
    assert set(findings(*facts)) <= {"endpoint_uses_public_host"}


# The name of the server.


def test_the_name_of_the_server_is_compared_with_its_host() -> None:
    with web(Readable) as server:  # its name is `library`
        foreign = facts_of(UrlEndpoint(f"http://mcp.weather.test:{server.port}/mcp", {}))
        own = facts_of(UrlEndpoint(f"http://library.test:{server.port}/mcp", {}))
        local = facts_of(UrlEndpoint(server.url, {}))
    evidence = findings(*foreign)["server_identity_consistency"].evidence
    assert evidence == {"tokens": ["library"], "hostname": "mcp.weather.test", "certCommonName": None}
    assert "server_identity_consistency" not in findings(*own)
    assert "server_identity_consistency" in fact(local, "ServerIdentity").not_applicable
