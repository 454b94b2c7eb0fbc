"""Entries of the MCP registry: what becomes a URL, what becomes a command, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.services.sweep.registry import OFFICIAL, entries_of, is_current, registry_server

REMOTE = {"type": "streamable-http", "url": "https://mcp.example.com/mcp"}


def entry(**members: Any) -> dict[str, Any]:
    return {"server": {"name": "com.example/one", "description": "x", "version": "1.0.0", **members}}


def package(kind: str = "npm", **members: Any) -> dict[str, Any]:
    given = {"registryType": kind, "identifier": "some-server", "version": "1.2.3", "transport": {"type": "stdio"}}
    return entry(packages=[{**given, **members}])


def command(value: dict[str, Any], *allowed: str) -> list[str]:
    server = registry_server(value, allowed, runs_packages=True)
    assert server.hindrance is None, server.hindrance
    return [server.entry["command"], *server.entry["args"]]


def why_not(value: dict[str, Any], *, runs_packages: bool = True) -> str:
    server = registry_server(value, (), runs_packages=runs_packages)
    assert server.hindrance is not None
    assert server.hindrance.outcome == "left-out"
    return server.hindrance.message


def test_a_remote_becomes_a_url_and_streamable_http_comes_first() -> None:
    both = entry(remotes=[{"type": "sse", "url": "https://mcp.example.com/sse"}, REMOTE])
    server = registry_server(both, (), runs_packages=False)
    assert server.entry == {"url": REMOTE["url"], "headers": {}}
    assert server.name == "com.example/one"


def test_an_older_entry_is_read_too() -> None:
    old = {"name": "a/b", "remotes": [{"transport_type": "sse", "url": "https://host/sse"}]}
    assert registry_server(old, (), runs_packages=False).entry["url"] == "https://host/sse"
    packaged = {"name": "a/b", "packages": [{"registry_type": "npm", "identifier": "x", "version": "1"}]}
    assert command(packaged) == ["npx", "-y", "x@1"]


def test_values_of_a_document_and_allowed_variables_are_filled_in() -> None:
    remote = {
        "type": "sse",
        "url": "https://{region}.example.com/{tenant}",
        "variables": {"region": {"default": "eu"}, "tenant": {"isRequired": True}},
        "headers": [
            {"name": "X-Key", "value": "Bearer {key}", "variables": {"key": {"isRequired": True, "isSecret": True}}},
            {"name": "X-Mode", "default": "fast"},
        ],
    }
    assert "`tenant`" in why_not(entry(remotes=[remote]))
    filled = registry_server(entry(remotes=[remote]), ("tenant", "key"), runs_packages=False).entry
    assert filled["url"] == "https://eu.example.com/${tenant}"
    assert filled["headers"] == {"X-Key": "Bearer ${key}", "X-Mode": "fast"}
    without_key = registry_server(entry(remotes=[remote]), ("tenant",), runs_packages=False).entry
    assert without_key["headers"] == {"X-Mode": "fast"}


def test_a_url_with_an_undeclared_variable_is_left_out() -> None:
    assert "`x`" in why_not(entry(remotes=[{"type": "sse", "url": "https://{x}.example.com"}]))


def test_packages_are_run_only_if_the_user_says_so() -> None:
    assert "--run-packages" in why_not(package(), runs_packages=False)
    assert command(package()) == ["npx", "-y", "some-server@1.2.3"]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("pypi", ["uvx", "some-server@1.2.3"]),
        ("oci", ["docker", "run", "-i", "--rm", "some-server:1.2.3"]),
        ("nuget", ["dnx", "some-server@1.2.3", "--yes"]),
    ],
)
def test_each_kind_of_package_has_its_command(kind: str, line: list[str]) -> None:
    assert command(package(kind)) == line


def test_arguments_and_variables_of_a_package() -> None:
    value = package(
        runtimeArguments=[{"type": "named", "name": "--node-options", "value": "--no-warnings"}],
        packageArguments=[
            {"type": "positional", "value": "start"},
            {"type": "named", "name": "--port", "default": "8080"},
            {"type": "named", "name": "--optional"},
        ],
        environmentVariables=[{"name": "MODE", "default": "test"}, {"name": "UNSET"}],
    )
    line = ["npx", "-y", "--node-options", "--no-warnings", "some-server@1.2.3", "start", "--port", "8080"]
    assert command(value) == line
    assert registry_server(value, (), runs_packages=True).entry["env"] == {"MODE": "test"}


def test_a_required_variable_is_needed_and_comes_from_the_environment() -> None:
    value = package(environmentVariables=[{"name": "API_KEY", "isRequired": True, "isSecret": True}])
    assert "--allow-env API_KEY" in why_not(value)
    assert registry_server(value, ("API_KEY",), runs_packages=True).entry["env"] == {"API_KEY": "${API_KEY}"}


def test_a_container_gets_its_variables() -> None:
    value = package("oci", environmentVariables=[{"name": "MODE", "value": "x"}])
    assert command(value) == ["docker", "run", "-i", "--rm", "-e", "MODE", "some-server:1.2.3"]


@pytest.mark.parametrize(
    "members",
    [
        {"runtimeHint": "bash"},
        {"identifier": "--call=evil"},
        {"registryBaseUrl": "https://packages.evil.example"},
        {"registryType": "mcpb"},
        {"transport": {"type": "streamable-http", "url": "http://localhost:{port}"}},
        {"packageArguments": [{"type": "positional", "valueHint": "path", "isRequired": True}]},
    ],
)
def test_a_package_that_cannot_be_run_as_documented_is_left_out(members: dict[str, Any]) -> None:
    why_not(package(**members))


def test_another_package_of_the_entry_is_taken_instead() -> None:
    first, second = package("mcpb")["server"]["packages"][0], package("pypi")["server"]["packages"][0]
    assert command(entry(packages=[first, second]))[0] == "uvx"


def test_only_the_latest_version_counts() -> None:
    def official(**members: Any) -> dict[str, Any]:
        return {**entry(remotes=[REMOTE]), "_meta": {OFFICIAL: members}}

    assert is_current(entry(remotes=[REMOTE]))
    assert is_current(official(isLatest=True, status="active"))
    assert not is_current(official(isLatest=False))
    assert not is_current(official(isLatest=True, status="deleted"))


def test_what_is_a_registry_document() -> None:
    assert entries_of({"servers": [entry()], "metadata": {}}) == [entry()]
    alone = entry(remotes=[REMOTE])["server"]
    assert entries_of(alone) == [alone]
    assert entries_of([alone]) == [alone]
    assert entries_of({"tools": []}) is None
    assert entries_of([{"name": "a tool"}]) is None


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, {"server": 3}, {"server": {"name": 3, "remotes": [3]}}])
def test_nonsense_is_left_out(value: Any) -> None:
    why_not(value)
