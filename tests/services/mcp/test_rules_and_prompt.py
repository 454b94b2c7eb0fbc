"""Rules as resources, completion of their ids, and the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types
import pytest

from mcproof.checks.rule import all_rules, find_rule
from mcproof.checks.rulebook import rule_page

from .served import HANDSHAKE, STATELESS, Agent, agent

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=[HANDSHAKE, STATELESS])
def server(request: pytest.FixtureRequest) -> Iterator[Agent]:
    with agent(mode=request.param) as served:
        yield served


def test_every_rule_is_listed_once_over_several_pages(server: Agent) -> None:
    seen: list[str] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        page = server.ask("list_resources", cursor=cursor)
        seen += [str(each.uri) for each in page.resources]
        cursor, pages = page.next_cursor, pages + 1
    assert seen == [f"mcproof://rules/{rule.id}" for rule in all_rules()]
    assert pages > 1
    with pytest.raises(Exception, match="not a cursor of this server"):
        server.ask("list_resources", cursor="99999")


@pytest.mark.parametrize("name", ["SCH-001", "sch-001"])
def test_a_rule_is_read(server: Agent, name: str) -> None:
    (content,) = server.ask("read_resource", f"mcproof://rules/{name}").contents
    assert content.text == rule_page(find_rule("SCH-001"))
    assert content.mime_type == "text/markdown"


@pytest.mark.parametrize("uri", ["mcproof://rules/SCH-999", "mcproof://rules/", "file:///etc/passwd", "mcproof://x"])
def test_other_resources_are_not_found(server: Agent, uri: str) -> None:
    with pytest.raises(Exception, match="resource not found"):
        server.ask("read_resource", uri)


def test_ids_are_completed(server: Agent) -> None:
    (template,) = server.ask("list_resource_templates").resource_templates
    reference = types.ResourceTemplateReference(uri=template.uri_template)
    found = server.ask("complete", reference, {"name": "id", "value": "sch-"}).completion
    assert found.values == ["SCH-001", "SCH-002", "SCH-003", "SCH-004"]
    assert (found.total, found.has_more) == (4, False)
    every = server.ask("complete", reference, {"name": "id", "value": ""}).completion
    assert (len(every.values), every.total, every.has_more) == (100, len(all_rules()), True)
    prompt = types.PromptReference(name="improve_server")
    assert server.ask("complete", prompt, {"name": "target", "value": "s"}).completion.values == []


def test_the_prompt_names_every_tool_it_needs(server: Agent) -> None:
    (prompt,) = server.ask("list_prompts").prompts
    assert [each.required for each in prompt.arguments] == [True]
    (message,) = server.ask("get_prompt", prompt.name, {"target": "src/{target}/server.py"}).messages
    assert "<target>\nsrc/{target}/server.py\n</target>" in message.content.text
    tools = {each.name for each in server.ask("list_tools").tools}
    assert {name for name in tools if name in message.content.text} == tools - {"scan_catalog"}


@pytest.mark.parametrize("arguments", [None, {"target": ""}, {"target": "x" * 5_000}])
def test_the_prompt_needs_a_target(server: Agent, arguments: dict[str, str] | None) -> None:
    with pytest.raises(Exception, match="`target` is missing or longer than 4,096 characters"):
        server.ask("get_prompt", "improve_server", arguments)


def test_an_unknown_prompt_is_refused(server: Agent) -> None:
    with pytest.raises(Exception, match="unknown prompt `improve`; there is improve_server"):
        server.ask("get_prompt", "improve", {})
