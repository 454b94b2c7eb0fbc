"""One fact is one finding: about a tool with all its arguments, or about the server with all its tools."""

from __future__ import annotations

from typing import Any

import pytest

from .running import mcproof, small_server, tool, tried

pytestmark = pytest.mark.usefixtures("here", "hurried")


def closed(name: str, **properties: Any) -> dict[str, Any]:
    made = tool(name, **properties)
    made["inputSchema"] |= {"additionalProperties": False, "required": list(properties)}
    return made


def of_rule(document: Any, rule: str) -> list[dict[str, Any]]:
    return [each for each in document["findings"] if each["rule"] == rule]


SHELVES = [closed(f"list_{name}") for name in ("books", "shelves", "loans", "readers")]


@pytest.mark.parametrize("command", [("prove",), ("fuzz", "--cases", "5")], ids=lambda words: str(words[0]))
def test_closed_schemas_that_nothing_enforces_are_one_finding(command: tuple[str, ...]) -> None:
    document = tried(*command, *small_server(SHELVES))
    [finding] = of_rule(document, "WIR-014")
    assert finding["tool"] is None
    assert finding["subject"].startswith("server")
    assert "in all 4 tools that were tested" in finding["message"]
    assert finding["evidence"]["tools"] == ["list_books", "list_shelves", "list_loans", "list_readers"]
    assert [each["tool"] for each in finding["evidence"]["examples"]][:2] == ["list_books", "list_shelves"]
    assert document["summary"]["by_rule"]["WIR-014"] == 1


def test_such_a_finding_fails_the_run_in_every_format() -> None:
    for name in ("junit", "sarif", "github", "gitlab", "tap", "markdown", "concise", "text"):
        done = mcproof("prove", "--format", name, *small_server(SHELVES))
        assert done.code == 1, name
        assert "in all 4 tools that were tested" in done.output, name
        if name == "junit":
            assert '<testcase classname="' in done.output
            assert 'name="WIR-014">' in done.output


def test_two_tools_have_a_finding_each() -> None:
    document = tried("prove", *small_server(SHELVES[:2]))
    assert [each["tool"] for each in of_rule(document, "WIR-014")] == ["list_books", "list_shelves"]


def test_what_a_server_converts_is_reported_only_if_it_must_not() -> None:
    tools = [tool("find_books", year={"type": "integer"}, lent={"type": "boolean"})]
    words = ("--cases", "100", *small_server(tools, "refuses-nested"))
    usual, strict = of_rule(tried("fuzz", *words), "WIR-013"), of_rule(tried("fuzz", "--strict", *words), "WIR-013")
    assert sum(len(each["evidence"].get("examples", [each])) for each in usual) < len(strict[0]["evidence"]["examples"])
    assert '"year": true' not in str(usual)
    assert [each["tool"] for each in strict] == ["find_books"]


def test_the_arguments_of_one_tool_are_one_finding() -> None:
    tools = [closed("find_books", title={"type": "string"}, author={"type": "string"}, year={"type": "integer"})]
    document = tried("fuzz", "--strict", "--cases", "100", *small_server(tools))
    [finding] = of_rule(document, "WIR-013")
    assert finding["tool"] == "find_books"
    assert finding["pointer"].endswith("/inputSchema")
    for name in ("title", "author", "year"):
        assert f"`{name}`" in finding["message"]
    assert len(finding["evidence"]["promises"]) == 3
