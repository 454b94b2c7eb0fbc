"""Snippets for servers in code: filled for the server at hand, and the finding is gone once they are applied.

The servers of `SIGNATURES` and `LITERALS` are built with the installed SDK, before and after.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mcproof.checks.engine import check
from mcproof.checks.findings import Finding, Problem
from mcproof.checks.fixes.snippet_tables import FRAMEWORKS, TEMPLATES, frameworks_of, python_type
from mcproof.checks.fixes.snippets import CodeHelp, code_help, example_help
from mcproof.checks.rule import find_rule
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import Catalog


class Case(NamedTuple):
    """A server with a finding; what the snippet replaces is between `<<` and `>>`."""

    rule: str
    source: str

    @property
    def bad(self) -> str:
        return self.source.replace("<<", "").replace(">>", "")

    def fixed(self, snippet: str) -> str:
        lines = snippet.splitlines()
        imports = "\n".join(line for line in lines if line.startswith("from "))
        code = "\n".join(line for line in lines if not line.startswith("from "))
        before, _, rest = self.source.partition("<<")
        return f"{imports}\n{before}{code}{rest.partition('>>')[2]}"


CLOSED = """from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
ArgModelBase.model_config["extra"] = "forbid"
"""
TOOL = "@mcp.tool()\ndef lend(book: str) -> str:\n    return book\n\n"
"""By which the framework is recognised."""
SIGNATURES = [
    Case("prop-no-description", "@mcp.tool()\ndef search(<<query: str>>) -> str:\n    return query"),
    Case("prop-no-description", "@mcp.tool()\ndef search(<<limit: int = 10>>) -> str:\n    return ''"),
    Case("prop-no-description", "@mcp.tool()\ndef search(<<tags: list[str] | None = None>>) -> str:\n    return ''"),
    Case(
        "prop-no-description", "@mcp.tool()\ndef search(<<order: Literal['up', 'down'] = 'up'>>) -> str:\n    return ''"
    ),
    Case(
        "prop-no-description",
        "class Filters(BaseModel):\n    year: int\n\n@mcp.tool()\ndef search(<<by: Filters>>):\n    return",
    ),
    Case("MP002", "@mcp.tool()\ndef search(<<query: str>>) -> str:\n    return query"),
    Case(
        "MP022",
        "@mcp.tool()\ndef search(<<date: Annotated[str, Field(description='The date.')]>>) -> str:\n    return ''",
    ),
    Case("SCH-003", "@mcp.tool()\ndef search(<<query: Any>>) -> str:\n    return query"),
    Case("prop-no-type", "@mcp.tool()\ndef search(<<query: Any>>) -> str:\n    return query"),
    Case("SCH-004", "@mcp.tool()\ndef search(<<query: str>>) -> str:\n    return query"),
    Case("SCH-004", "@mcp.tool()\ndef search(<<query: str = 'roses'>>) -> str:\n    return query"),
    Case("SCH-004", "@mcp.tool()\ndef search(<<tags: list[str] | None = None>>) -> str:\n    return ''"),
    Case("SCH-004", "@mcp.tool()\ndef search(<<words: str | list[str]>>) -> str:\n    return ''"),
    Case(
        "SCH-004", "class Filters(BaseModel):\n    <<author: str>>\n\n@mcp.tool()\ndef search(by: Filters):\n    return"
    ),
    Case("SCH-001", "@mcp.tool()\ndef search(<<query: str = ''>>) -> str:\n    return query"),
    Case("tool-no-required", "@mcp.tool()\ndef search(<<query: str | None = None>>) -> str:\n    return ''"),
    Case("SCH-002", "<<>>\n@mcp.tool()\ndef search(query: str) -> str:\n    return query"),
    Case(
        "SCH-002",
        f"{CLOSED}\n<<class Filters(BaseModel):>>\n    year: int\n\n@mcp.tool()\ndef search(by: Filters):\n    return",
    ),
    Case("tool-no-description", "@mcp.tool()\ndef search(query: str) -> str:\n    <<>>\n    return query"),
    Case("MP001", "@mcp.tool()\ndef search(query: str) -> str:\n    <<>>\n    return query"),
    Case("prompt-no-description", f"{TOOL}@mcp.prompt()\ndef summary(topic: str) -> str:\n    <<>>\n    return topic"),
    Case("prompt-arg-no-description", f"{TOOL}@mcp.prompt()\ndef summary(<<topic: str>>) -> str:\n    return topic"),
    Case(
        "prompt-arg-no-description", f"{TOOL}@mcp.prompt()\ndef summary(<<topic: str = ''>>) -> str:\n    return topic"
    ),
    Case(
        "resource-no-description", f"{TOOL}@mcp.resource('library://hours', <<>>)\ndef hours() -> str:\n    return '9'"
    ),
    Case("MP003", "@mcp.tool()\ndef create_card(name: str) <<>>:\n    'Create a library card.'\n    return {}"),
    Case("server-no-version", f"mcp = <<MCPServer('library')>>\n{TOOL}"),
]
LITERALS = [
    Case("prop-no-description", "TOOL(schema={'type': 'object', 'properties': {<<'query': {'type': 'string'}>>}})"),
    Case(
        "MP022",
        "TOOL(schema={'type': 'object', 'properties': {<<'date': {'type': 'string', 'description': 'A date.'}>>}})",
    ),
    Case("SCH-003", "TOOL(schema={'type': 'object', 'properties': {<<'query': {}>>}})"),
    Case("SCH-004", "TOOL(schema={'type': 'object', 'properties': {<<'query': {'type': 'string'}>>}})"),
    Case("SCH-004", "TOOL(schema={'type': 'object', 'properties': {<<'tags': {'type': 'array'}>>}})"),
    Case("SCH-001", "TOOL(schema={'type': 'object', 'properties': {'query': {'type': 'string'}}, <<>>})"),
    Case("tool-no-required", "TOOL(schema={'type': 'object', 'properties': {'query': {'type': 'string'}}, <<>>})"),
    Case("MP004", "TOOL(schema={'type': 'object', 'properties': {'query': {'type': 'string'}}, <<>>})"),
    Case("SCH-002", "TOOL(schema={'type': 'object', 'properties': {'query': {'type': 'string'}}, <<>>})"),
    Case("tool-no-description", "TOOL(schema={'type': 'object'}, <<>>)"),
]

PRELUDE = """
from typing import Annotated, Any, Literal
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field
mcp = MCPServer('library')
"""


@pytest.fixture(autouse=True)
def _argument_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo the change of a snippet to the class of all arguments."""
    from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase

    monkeypatch.setattr(ArgModelBase, "model_config", dict(ArgModelBase.model_config))


def served(source: str) -> Catalog:
    """Build a server with the SDK, and return the catalog that it serves."""
    scope: dict[str, Any] = {"__name__": "served"}
    exec(compile(PRELUDE + source, "served.py", "exec", dont_inherit=True), scope)  # noqa: S102 (written here)
    mcp = scope["mcp"]

    async def listed() -> dict[str, Any]:
        lists = {"tools": mcp.list_tools, "prompts": mcp.list_prompts, "resources": mcp.list_resources}
        return {
            kind: [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in await list_()]
            for kind, list_ in lists.items()
        }

    info = {"name": mcp.name, "version": mcp.version}
    return live({**asyncio.run(listed()), "initialize": {"protocolVersion": "2025-06-18", "serverInfo": info}})


def live(document: dict[str, Any], command: tuple[str, ...] = ("python", "server.py")) -> Catalog:
    return read_snapshot(json.dumps({"server": {"command": command}, **document}).encode(), "server")


def help_for(catalog: Catalog, rule: str) -> list[CodeHelp]:
    return code_help(catalog, check(catalog, [find_rule(rule)]))


def snippet(catalog: Catalog, rule: str, framework: str) -> str:
    (found,) = (each for each in help_for(catalog, rule) if framework in each.framework)
    return found.code


@pytest.mark.parametrize("case", SIGNATURES, ids=lambda case: f"{case.rule} {case.source}")
def test_the_snippet_for_a_signature_ends_the_finding(case: Case) -> None:
    code = snippet(served(case.bad), case.rule, "MCPServer of mcp 2")
    assert not check(served(case.fixed(code)), [find_rule(case.rule)])


def literal(source: str) -> Catalog:
    """Build a low-level server with the SDK, and return the catalog that it serves."""
    from mcp.server.lowlevel import Server
    from mcp.types import ListToolsResult, Tool

    def tool(schema: dict[str, Any], description: str | None = None) -> Tool:
        return Tool(name="search", input_schema=schema, description=description)

    made: Tool = eval(source, {"TOOL": tool})  # noqa: S307 (written here)

    async def list_tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=[made])

    server = Server("library", on_list_tools=list_tools)
    entry: Any = server.get_request_handler("tools/list")
    listed: ListToolsResult = asyncio.run(entry.handler(None, None))
    return live({"tools": [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in listed.tools]})


@pytest.mark.parametrize("case", LITERALS, ids=lambda case: f"{case.rule} {case.source}")
def test_the_snippet_for_a_literal_schema_ends_the_finding(case: Case) -> None:
    code = snippet(literal(case.bad), case.rule, "low-level Server of mcp")
    assert not check(literal(case.fixed(code)), [find_rule(case.rule)])


def test_every_snippet_for_python_is_applied_to_a_server() -> None:
    """Those of mcp 1 and fastmcp are the same, but for the two that name a module or a version."""
    applied = {("mcp", case.rule) for case in SIGNATURES} | {("lowlevel", case.rule) for case in LITERALS}
    of_other_rules = ("MP001", "MP002", "prop-no-type", "WIR-010")
    plain_arguments = (
        "prompt-no-description",
        "prompt-arg-no-description",
        "resource-no-description",
        "server-no-version",
    )
    others = {("lowlevel", rule) for rule in (*of_other_rules, *plain_arguments)} | {("mcp", "WIR-010")}
    listed = {(framework, rule) for each in TEMPLATES for framework in each.frameworks for rule in each.rules}
    assert {each for each in listed if each[0] in ("mcp", "lowlevel")} == applied | others


OPEN = {"type": "object", "properties": {"query": {"type": "string"}}}
BY_HAND = {"type": "object", "properties": {"pages": {"type": "array", "items": {"type": ["integer", "null"]}}}}


def tools(*schemas: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"tools": [{"name": f"search{at}", "inputSchema": each, **fields} for at, each in enumerate(schemas)]}


@pytest.mark.parametrize(
    ("document", "command", "frameworks"),
    [
        (tools({**OPEN, "title": "search0Arguments"}), ["python3", "server.py"], ("mcp", "mcp1")),
        (tools({**OPEN, "title": "searchArguments"}), ["/usr/bin/something"], ("mcp", "mcp1")),
        (tools(OPEN, _meta={"_fastmcp": {"tags": []}}), ["uvx", "library"], ("fastmcp",)),
        (tools(OPEN, _meta={"fastmcp": {"tags": []}}), [], ("fastmcp",)),
        (tools({**OPEN, "$schema": "http://json-schema.org/draft-07/schema#"}), ["npx", "-y", "library"], ("zod",)),
        (tools({**OPEN, "$schema": "https://json-schema.org/draft/2020-12/schema"}), ["./library"], ("zod",)),
        # A hand-written schema beside one of zod.
        (
            tools(OPEN, {**OPEN, "$schema": "http://json-schema.org/draft-07/schema#"}),
            ["node", "x"],
            ("zod", "literal"),
        ),
        # schemars of Rust writes a title, too.
        (
            tools({**OPEN, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Query"}),
            ["./library"],
            ("mcp", "zod"),
        ),
        (tools(OPEN), ["python3.12", "-m", "library"], ("fastmcp", "lowlevel")),
        (tools(OPEN), ["node", "dist/index.js"], ("zod", "literal")),
        (tools(OPEN), ["./library"], ("mcp", "zod")),
        (tools(OPEN), [], ("mcp", "zod")),
        # No class or signature of Python is written with a list of types.
        (tools(OPEN, BY_HAND), ["python3", "server.py"], ("lowlevel",)),
        (tools(OPEN, BY_HAND), ["./library"], ("lowlevel", "literal")),
        (tools(OPEN, BY_HAND), ["node", "dist/index.js"], ("zod", "literal")),
    ],
)
def test_a_framework_is_recognised_only_if_it_is_certain(
    document: dict[str, Any], command: list[str], frameworks: tuple[str, ...]
) -> None:
    catalog = live(document, tuple(command))
    assert frameworks_of(catalog, catalog.tools[0]) == frameworks
    assert set(frameworks) <= set(FRAMEWORKS)


@pytest.mark.parametrize(
    ("first", "frameworks"),
    [
        ("#!/opt/venv/bin/python3\n", ("fastmcp", "lowlevel")),
        ("#!/bin/sh\n'''exec' /a/very/long/path/bin/python3.12 \"$0\" \"$@\"\n", ("fastmcp", "lowlevel")),
        ("#!/usr/bin/env node\n", ("zod", "literal")),
        ("#!/usr/bin/perl\n", ("mcp", "zod")),
        ("\x7fELF python", ("mcp", "zod")),
    ],
)
def test_a_console_script_shows_its_language(tmp_path: Path, first: str, frameworks: tuple[str, ...]) -> None:
    script = tmp_path / "library-server"
    script.write_text(first, encoding="utf-8")
    script.chmod(0o755)
    catalog = live(tools(OPEN), (str(script), "stdio"))
    assert frameworks_of(catalog, catalog.tools[0]) == frameworks


def test_a_finding_that_a_framework_causes_says_so_where_the_framework_is_certain() -> None:
    logging = Problem("declares the capability `logging`, which revision 2026-07-28 deprecates")

    def helped(meta: dict[str, Any], *problems: Problem) -> list[CodeHelp]:
        catalog = live(tools(OPEN, _meta=meta), ())
        return code_help(catalog, [Finding(find_rule("SPEC-203"), catalog.server, problem) for problem in problems])

    (known,) = helped({"fastmcp": {"tags": []}}, logging)
    assert (known.framework, known.place) == ("fastmcp", "nothing to change in your code")
    assert helped({}, logging) == []
    # What the server declares itself keeps its advice.
    assert helped({"fastmcp": {}}, logging, Problem("declares the capability `other`")) == []


ZOD = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}


@pytest.mark.parametrize(
    ("rule", "properties", "code"),
    [
        ("prop-no-description", {"query": {"type": "string"}}, 'query: z.string().optional().describe("…")'),
        ("prop-no-description", {"day-of": {"type": "integer"}}, '"day-of": z.number().int().optional().describe("…")'),
        ("SCH-003", {"query": {}}, "query: z.string().optional()"),
        ("SCH-004", {"query": {"type": ["string", "null"]}}, "query: z.string().max(200).nullable().optional()"),
        ("SCH-004", {"tags": {"type": "array"}}, "tags: z.array(z.any()).max(50).optional()"),
        ("tool-no-required", {"query": {"type": "string"}}, "query: z.string()"),
        ("SCH-002", {"query": {"type": "string"}}, "inputSchema: z.object({ … }).strict()"),
    ],
)  # fmt: skip
def test_the_snippet_for_zod_has_the_type_of_the_parameter(rule: str, properties: dict[str, Any], code: str) -> None:
    """Applied to a server once, with the result recorded in docs/decisions/0036-snippets-are-tried.md."""
    (found,) = help_for(live(tools({**ZOD, "properties": properties}), ("node", "index.js")), rule)
    assert (found.framework, found.code) == ("TypeScript SDK with zod", code)


def test_a_rule_has_one_snippet_for_the_arguments_and_one_for_nested_objects() -> None:
    model = "class Filters(BaseModel):\n    year: int\n\n"
    source = f"{model}@mcp.tool()\ndef search(by: Filters, also: Filters):\n    return"
    found = [each for each in help_for(served(source), "SCH-002") if "mcp 2" in each.framework]
    assert [each.place for each in found] == ["before the first tool", "in the model"]
    assert found[1].code.splitlines()[-2:] == [
        "class Filters(BaseModel):",
        '    model_config = ConfigDict(extra="forbid")',
    ]


def test_a_finding_whose_type_is_unknown_is_not_the_example() -> None:
    dates = {"since": {"type": "string", "format": "date"}, "query": {"type": "string"}}
    schema = {**OPEN, "title": "searchArguments", "properties": dates}
    assert [each.code.splitlines()[-1] for each in help_for(live(tools(schema)), "SCH-004")] == [
        "query: Annotated[str, Field(max_length=200)]"
    ]
    del dates["query"]
    assert not help_for(live(tools(schema)), "SCH-004")


@pytest.mark.parametrize("name", ["x: str):\n    import os", "a`b", "größe", "x" * 100, "\x1b[2J", "$name", ""])
def test_a_name_that_is_not_plain_is_never_part_of_code(name: str) -> None:
    for extra in ({"title": "searchArguments"}, {"$schema": ZOD["$schema"]}, {}):
        catalog = live(tools({**OPEN, **extra, "properties": {name: {"type": "string"}}}))
        for rule in ("prop-no-description", "SCH-004", "SCH-001"):
            assert not any(name in each.code for each in help_for(catalog, rule) if name)


def test_documentation_has_examples_of_every_snippet_without_variables() -> None:
    for rule in {rule for each in TEMPLATES for rule in each.rules}:
        found = example_help(rule)
        assert found
        assert not any(re.search(r"\$\w", each.code + each.place) for each in found)


def test_an_inlined_object_is_nested_too() -> None:
    """fastmcp has no definitions."""
    filters = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}
    closed = {**OPEN, "properties": {"by": filters}, "additionalProperties": False}
    (found,) = help_for(live(tools(closed, _meta={"fastmcp": {"tags": []}})), "SCH-002")
    assert found.code.endswith('class Model(BaseModel):\n    model_config = ConfigDict(extra="forbid")')


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        ({"enum": ["a", "b"]}, 'Literal["a", "b"]'),
        ({"type": "string", "enum": [f"value {number}" for number in range(50)]}, "Literal[...]"),
        ({"const": "a" * 1000}, "Literal[...]"),
        ({"anyOf": [{"type": "string"}] * 50}, "Any"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "dict[str, float]"),
        ({"$ref": "#/$defs/Filters"}, "Filters"),
        ({"$ref": "#/$defs/Fil ters"}, "Any"),
        (True, "Any"),
    ],
)
def test_a_type_is_short_and_plain(schema: Any, annotation: str) -> None:
    assert python_type(schema) == annotation


def test_hostile_schemas_are_survived() -> None:
    nested: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        nested = {"anyOf": [nested, {"type": "null"}], "default": {"a": {}}}
    deep = {"type": "object", "properties": {"x": nested, "y": {"type": [{}, "string"], "enum": [{}]}}}
    for extra in ({"title": "searchArguments"}, {"$schema": ZOD["$schema"]}, {}):
        for command in (("python", "x"), ("node", "x")):
            catalog = live(tools({**deep, **extra}), command)
            for rule in ("prop-no-description", "SCH-004", "SCH-001", "SCH-003", "tool-no-required"):
                help_for(catalog, rule)


def test_a_closed_signature_is_enforced_too() -> None:
    """A schema that promises more than the server keeps would only move the finding to `prove`."""
    from mcp.server.mcpserver.exceptions import ToolError

    scope: dict[str, Any] = {"__name__": "served"}
    exec(compile(f"{PRELUDE}{CLOSED}{TOOL}", "served.py", "exec", dont_inherit=True), scope)  # noqa: S102 (written here)
    with pytest.raises(ToolError, match="Extra inputs are not permitted"):
        asyncio.run(scope["mcp"].call_tool("lend", {"book": "x", "unexpected": 1}))


def untyped(**schema: Any) -> Catalog:
    """A server of mcp 2 whose tool has one parameter without a type."""
    arguments = {"type": "object", "title": "findArguments", "properties": {"query": schema}, "required": ["query"]}
    return live({"tools": [{"name": "find", "inputSchema": arguments}]})


@pytest.mark.parametrize(
    ("schema", "code"),
    [({}, "query: Annotated[str, "), ({"default": 3}, "query: Annotated[int, "), ({"default": True}, "[bool, ")],
)
def test_a_parameter_without_a_type_has_one_snippet_with_the_likely_type(schema: dict[str, Any], code: str) -> None:
    catalog = untyped(**schema)
    found = code_help(catalog, check(catalog, [find_rule("prop-no-description"), find_rule("prop-no-type")]))
    assert {each.rule for each in found} == {"prop-no-description"}
    assert code in found[0].code
    assert "Any" not in found[0].code


def test_a_snippet_imports_every_name_of_typing_that_it_uses() -> None:
    (found, *_) = help_for(untyped(enum=["a", "b"]), "prop-no-description")
    assert found.code.startswith("from typing import Annotated, Literal\nfrom pydantic import Field\n")
