"""Changes between two catalogs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.diff.changes import CHANGE_KINDS
from mcproof.checks.diff.items import compare_catalogs
from mcproof.core.text.json_positions import resolve
from mcproof.targets.snapshots import read_snapshot
from modules import existing

if TYPE_CHECKING:
    from mcproof.checks.diff.changes import CatalogChange
    from mcproof.core.catalog.model import Catalog


def catalog_of(document: Any) -> Catalog:
    return read_snapshot(json.dumps(document).encode(), "catalog.json")


def changes(old: Any, new: Any) -> list[CatalogChange]:
    return compare_catalogs(catalog_of(old), catalog_of(new))


def summary(found: list[CatalogChange]) -> list[tuple[str, bool | None, str]]:
    return [(change.kind.id, change.breaking, change.message) for change in found]


def verdicts(found: list[CatalogChange]) -> list[tuple[str, bool | None]]:
    return [(change.kind.id, change.breaking) for change in found]


def schema(required: str = "", /, **parameters: Any) -> dict[str, Any]:
    """An input schema; a parameter is given by its schema or its type."""
    properties = {name: {"type": each} if isinstance(each, str) else each for name, each in parameters.items()}
    return {"type": "object", "properties": properties, "required": required.split()}


def search(input_schema: Any, **fields: Any) -> dict[str, Any]:
    """A catalog with one tool."""
    return {"tools": [{"name": "search", "inputSchema": input_schema, **fields}]}


STATUS = {"enum": ["open", "closed"]}
MODEL = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}

PAIRS = [
    pytest.param(
        search(schema("q", q="string")),
        search(schema("q", q="string", limit={"type": "integer", "default": 20})),
        [("parameter-added", False, "`limit` was added")],
        id="an optional parameter is added",
    ),
    pytest.param(
        search(schema("q", q="string")),
        search(schema("q project", q="string", project="string")),
        [("parameter-added-required", True, "`project` was added, and is required")],
        id="a required parameter is added",
    ),
    pytest.param(
        search(schema("q", q="string", limit="integer")),
        search(schema("q limit", q="string", limit="integer")),
        [("parameter-required", True, "`limit` became required")],
        id="a parameter becomes required",
    ),
    pytest.param(
        search(schema("q limit", q="string", limit="integer")),
        search(schema("q", q="string", limit="integer")),
        [("parameter-optional", False, "`limit` became optional")],
        id="a parameter becomes optional",
    ),
    pytest.param(
        search(schema("q", q="string", limit="integer")),
        search(schema("q", q="string", max_results="integer")),
        [
            ("parameter-added", False, "`max_results` was added"),
            (
                "parameter-removed",
                True,
                "`limit` was removed; calls that send it may still be accepted, but without its effect",
            ),
        ],
        id="a parameter of an open object is renamed",
    ),
    pytest.param(
        search({**schema("q", q="string", limit="integer"), "additionalProperties": False}),
        search({**schema("q", q="string"), "additionalProperties": False}),
        [("parameter-removed", True, "`limit` was removed")],
        id="a parameter of a closed object is removed",
    ),
    pytest.param(
        search(schema(q={"type": ["string", "null"]})),
        search(schema(q="string")),
        [("type-narrowed", True, "type of `q` was narrowed from string|null to string")],
        id="a parameter no longer takes null",
    ),
    pytest.param(
        search(schema(q={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None})),
        search(schema(q={"type": ["string", "null"], "default": None})),
        [],
        id="a union is written as a list of types",
    ),
    pytest.param(
        search(schema(status=STATUS)),
        search(schema(status={"enum": ["open", "done"]})),
        [
            ("values-removed", True, '`status` can no longer be "closed"'),
            ("values-added", False, '`status` can also be "done" now'),
        ],
        id="a value is replaced",
    ),
    pytest.param(
        search(schema(limit={"type": "integer", "maximum": 100})),
        search(schema(limit={"type": "integer", "maximum": 50})),
        [("bound-narrowed", True, "`maximum` of `limit` was lowered from 100 to 50")],
        id="a bound is tightened",
    ),
    pytest.param(
        search({**schema(), "properties": {"user": {"$ref": "#/$defs/User"}}, "$defs": {"User": MODEL}}),
        search({**schema(), "properties": {"user": {"$ref": "#/$defs/Account"}}, "$defs": {"Account": MODEL}}),
        [],
        id="a definition is renamed",
    ),
    pytest.param(
        search(schema(filter={"type": "object", "properties": {"status": STATUS}})),
        search(schema(filter={"type": "object", "properties": {"status": {"type": "string"}}})),
        [
            ("values-added", False, '`filter.status` is no longer limited to "open" or "closed"'),
        ],
        id="a nested parameter takes any text",
    ),
    pytest.param(
        search(schema(limit={"type": "integer", "default": 20})),
        search(schema(limit={"type": "integer", "default": 50})),
        [("default-changed", None, "default of `limit` changed from 20 to 50")],
        id="a default changes",
    ),
    pytest.param(
        search(schema(), outputSchema=schema("total", total="integer", hits="array")),
        search(schema(), outputSchema=schema("", total={"type": ["integer", "null"]}, page="integer")),
        [
            ("field-optional", True, "`total` became optional"),
            ("type-widened", True, "type of `total` was widened from integer to integer|null"),
            ("field-added", False, "`page` was added"),
            ("field-removed", True, "`hits` was removed"),
        ],
        id="a result promises less",
    ),
    pytest.param(
        search(schema(), description="Find tickets.", annotations={"readOnlyHint": True}),
        search(schema(), description="Find and tag tickets.", annotations={"readOnlyHint": False}),
        [
            ("description-changed", False, 'description changed from "Find tickets." to "Find and tag tickets."'),
            ("read-only-lost", True, "`readOnlyHint` changed from true to false"),
        ],
        id="a tool starts to write",
    ),
    pytest.param(
        {"tools": [{"name": "search"}, {"name": "answer"}]},
        {"tools": [{"name": "find"}, {"name": "answer"}]},
        [("tool-added", False, "was added"), ("tool-removed", True, "was removed")],
        id="a tool is renamed",
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), PAIRS)
def test_known_pairs(old: Any, new: Any, expected: list[tuple[str, bool | None, str]]) -> None:
    assert summary(changes(old, new)) == expected


@pytest.mark.parametrize("document", [param.values[at] for param in PAIRS for at in (0, 1)])
def test_a_catalog_against_itself_has_no_change(document: Any) -> None:
    assert changes(document, document) == []


@pytest.mark.parametrize(("old", "new", "expected"), PAIRS)
def test_every_change_has_a_location(old: Any, new: Any, expected: Any) -> None:
    before, after = catalog_of(old), catalog_of(new)
    for change in compare_catalogs(before, after):
        document = before.document.value if change.is_old else after.document.value
        assert change.item in (before.tools if change.is_old else after.tools)
        resolve(document, change.item.pointer + change.pointer)


def test_a_change_has_an_item_a_pointer_and_a_parameter() -> None:
    removed, kept = schema(q="string", limit="integer"), schema(q="integer")
    old, new = catalog_of(search(removed)), catalog_of(search(kept))

    changed, gone = compare_catalogs(old, new)

    assert (changed.item, changed.is_old) == (new.tools[0], False)
    assert (changed.pointer, changed.parameter) == ("/inputSchema/properties/q/type", "q")
    assert (gone.item, gone.is_old) == (old.tools[0], True)
    assert (gone.pointer, gone.parameter) == ("/inputSchema/properties/limit", "limit")


# Tools


def test_changes_are_in_the_order_of_the_new_catalog_with_removals_last() -> None:
    old = [{"name": "gone"}, {"name": "b"}, {"name": "a"}]
    new = [{"name": "a", "title": "A"}, {"name": "fresh"}, {"name": "b", "title": "B"}]

    found = changes(old, new)

    assert [change.item.name for change in found] == ["a", "fresh", "b", "gone"]


def test_tools_with_the_same_name_are_matched_by_content_then_in_order() -> None:
    one, two = {"name": "x", "description": "One."}, {"name": "x", "description": "Two."}

    assert changes([one, two], [two, one]) == []
    assert verdicts(changes([one, two], [two])) == [("tool-removed", True)]
    assert verdicts(changes([two], [one, two])) == [("tool-added", False)]
    (change,) = changes([one, two], [two, {"name": "x", "description": "Three."}])
    assert change.message == 'description changed from "One." to "Three."'


def test_unnamed_and_malformed_tools_are_matched() -> None:
    nameless, other = {"description": "One."}, {"inputSchema": schema(q="string")}
    named = {"name": "x"}

    assert changes([named, nameless, 7, None, other], [other, None, 7, named, nameless]) == []
    assert verdicts(changes([named, nameless], [named])) == [("tool-removed", None)]
    assert verdicts(changes([named, 7], [named, "seven"])) == [("constraint-changed", None)]


def test_a_tool_missing_from_an_incomplete_list_may_not_be_removed() -> None:
    old = {"tools": [{"name": "a"}, {"name": "b"}]}

    assert verdicts(changes(old, {"tools": [{"name": "a"}]})) == [("tool-removed", True)]
    assert verdicts(changes(old, {"tools": [{"name": "a"}], "nextCursor": "2"})) == [("tool-removed", None)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"readOnlyHint": True}, {}, [("read-only-lost", True)]),
        ({}, {"readOnlyHint": True}, [("annotation-changed", False)]),
        ({"destructiveHint": False}, {"destructiveHint": True}, [("destructive-now", True)]),
        ({"destructiveHint": False}, {}, [("destructive-now", True)]),
        (
            {"destructiveHint": False},
            {"readOnlyHint": True},
            [("annotation-changed", False), ("destructive-now", False)],
        ),
        ({"destructiveHint": True}, {"destructiveHint": False}, [("annotation-changed", False)]),
        ({"idempotentHint": True}, {"idempotentHint": False}, [("annotation-changed", None)]),
        ({"idempotentHint": False}, {"idempotentHint": True}, [("annotation-changed", False)]),
        ({"openWorldHint": False}, {"openWorldHint": True}, [("annotation-changed", None)]),
        ({"openWorldHint": True}, {"openWorldHint": False}, [("annotation-changed", False)]),
        ({}, {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}, []),
        ({"readOnlyHint": "yes"}, {"readOnlyHint": 1}, []),
        ({"title": "Search"}, {"title": "Find"}, [("title-changed", False)]),
        ({"costHint": 1}, {"costHint": 2}, [("annotation-changed", None)]),
    ],
)
def test_losing_a_harmless_hint_is_breaking(
    old: dict[str, Any], new: dict[str, Any], expected: list[tuple[str, bool | None]]
) -> None:
    before, after = ({"tools": [{"name": "x", "annotations": hints}]} for hints in (old, new))

    assert verdicts(changes(before, after)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"taskSupport": "required"}, [("execution-changed", True)]),
        ({"taskSupport": "optional"}, {"taskSupport": "required"}, [("execution-changed", True)]),
        ({"taskSupport": "required"}, {"taskSupport": "optional"}, [("execution-changed", None)]),
        ({"taskSupport": "optional"}, {}, [("execution-changed", None)]),
        ({"taskSupport": "required"}, {"taskSupport": "required", "other": 1}, [("execution-changed", None)]),
        ({}, 7, [("execution-changed", None)]),
        ({}, {"taskSupport": "forbidden"}, []),
    ],
)
def test_requiring_tasks_is_breaking(old: Any, new: Any, expected: Any) -> None:
    assert verdicts(changes([{"name": "x", "execution": old}], [{"name": "x", "execution": new}])) == expected


def test_task_support_defaults_to_forbidden() -> None:
    assert changes([{"name": "x"}], [{"name": "x", "execution": {"taskSupport": "forbidden"}}]) == []


@pytest.mark.parametrize("word", ["tools", "resources", "prompts"])
def test_other_members_are_reported(word: str) -> None:
    old = {word: [{"name": "x", "uri": "file:///x", "_meta": {"a": 1}, "icons": []}]}
    new = {word: [{"name": "x", "uri": "file:///x", "_meta": {"a": 2}}]}
    odd = {word: [{"name": "x", "uri": "file:///x", "icons": [], "_meta": {"a": 1}, "color": "red"}]}

    assert summary(changes(old, new)) == [("metadata-changed", False, "`_meta`, `icons` changed")]
    assert summary(changes(old, odd)) == [("metadata-changed", None, "`color` changed")]
    assert changes(odd, odd) == []


def test_many_unknown_members_are_one_change() -> None:
    odd = {"name": "x", **{f"member{at}": at for at in range(1000)}}

    (change,) = changes([{"name": "x"}], [odd])

    assert change.message.endswith("`member19` and 980 more changed")


def test_changed_texts_are_compatible() -> None:
    long = "Find tickets by their text, their status and whoever they are assigned to."

    assert summary(changes([{"name": "x"}], [{"name": "x", "description": long, "title": "X"}])) == [
        ("title-changed", False, "title was added"),
        ("description-changed", False, "description was added"),
    ]
    assert summary(changes([{"name": "x", "description": long}], [{"name": "x", "description": "Find."}])) == [
        ("description-changed", False, "description changed")
    ]


def test_removing_the_output_schema_is_breaking() -> None:
    plain, described = [{"name": "x"}], [{"name": "x", "outputSchema": schema(total="integer")}]

    assert verdicts(changes(described, plain)) == [("output-schema-removed", True)]
    assert verdicts(changes(plain, described)) == [("output-schema-added", False)]


def test_no_input_schema_means_no_parameters() -> None:
    assert changes([{"name": "x"}], [{"name": "x", "inputSchema": schema()}]) == []
    assert verdicts(changes([{"name": "x"}], [{"name": "x", "inputSchema": schema("q", q="string")}])) == [
        ("parameter-added-required", True)
    ]
    (gone,) = changes([{"name": "x", "inputSchema": schema(q="string")}], [{"name": "x"}])
    assert (gone.kind.id, gone.pointer) == ("parameter-removed", "/inputSchema/properties/q")


@pytest.mark.parametrize("broken", [7, "object", [], False])
def test_a_malformed_input_schema_has_an_unknown_effect(broken: Any) -> None:
    fine = [{"name": "x", "inputSchema": schema(q="string")}]
    bad = [{"name": "x", "inputSchema": broken}]

    assert verdicts(changes(fine, bad)) == [("constraint-changed", None)]
    assert verdicts(changes(bad, fine)) == [("constraint-changed", None)]
    assert changes(bad, bad) == []


# Resources, templates, prompts


def test_resources_are_matched_by_uri() -> None:
    one, two = {"uri": "file:///a", "name": "A"}, {"uri": "file:///b", "name": "A"}

    assert verdicts(changes({"resources": [one]}, {"resources": [two]})) == [
        ("resource-added", False),
        ("resource-removed", True),
    ]


def test_templates_are_matched_by_uri_template() -> None:
    one, two = {"uriTemplate": "file:///{a}"}, {"uriTemplate": "file:///{a}/{b}"}
    old, new = ({"resources": [], "resourceTemplates": [each]} for each in (one, two))

    assert verdicts(changes(old, new)) == [("template-added", False), ("template-removed", True)]


@pytest.mark.parametrize(
    ("old", "new", "breaking"),
    [("text/plain", "text/html", True), ("text/plain", None, None), (None, "text/plain", False)],
)
def test_another_mime_type_is_breaking(old: Any, new: Any, breaking: bool | None) -> None:
    before, after = ({"resources": [{"uri": "file:///a", "mimeType": each}]} for each in (old, new))

    assert verdicts(changes(before, after)) == [("mime-type-changed", breaking)]


def prompt(**arguments: bool) -> dict[str, Any]:
    """A catalog with one prompt; an argument is given by whether it is required."""
    listed = [{"name": name, "required": is_required} for name, is_required in arguments.items()]
    return {"prompts": [{"name": "review", "arguments": listed}]}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (prompt(), prompt(code=False), ("prompt-argument-added", False)),
        (prompt(), prompt(code=True), ("prompt-argument-required", True)),
        (prompt(code=False), prompt(code=True), ("prompt-argument-required", True)),
        (prompt(code=True), prompt(code=False), ("prompt-argument-optional", False)),
        (prompt(code=True), prompt(), ("prompt-argument-removed", True)),
        (prompt(), {"prompts": []}, ("prompt-removed", True)),
        ({"prompts": []}, prompt(), ("prompt-added", False)),
        (prompt(), {"resources": []}, ("prompt-removed", None)),
    ],
)
def test_changes_of_prompts(old: Any, new: Any, expected: tuple[str, bool | None]) -> None:
    assert verdicts(changes(old, new)) == [expected]


def test_other_members_of_a_prompt_argument_are_reported() -> None:
    old, new = ({"prompts": [{"name": "p", "arguments": [{"name": "code", "description": each}]}]} for each in "ab")

    assert summary(changes(old, new)) == [("description-changed", False, "`description` of `code` changed")]


def test_malformed_prompt_arguments_are_ignored() -> None:
    odd = {"prompts": [{"name": "review", "arguments": [7, {"name": 3}, {"required": True}]}, None, "x"]}

    assert changes(prompt(), odd | {"prompts": odd["prompts"][:1]}) == []
    assert verdicts(changes(odd, odd | {"prompts": []})) == [("prompt-removed", True)] * 3


def test_only_tools_of_a_bare_list_are_compared() -> None:
    whole = {"tools": [{"name": "x"}], "prompts": [{"name": "p"}], "resources": [{"uri": "file:///a"}]}

    assert changes(whole, [{"name": "x"}]) == []
    assert changes([{"name": "x"}], whole) == []


# The server


def introduced(**members: Any) -> dict[str, Any]:
    """A server with further members in its `initialize` result."""
    return {"initialize": {**server()["initialize"], **members}, "tools": []}


def server(name: str = "tickets", version: str = "1.0", **capabilities: Any) -> dict[str, Any]:
    handshake = {"serverInfo": {"name": name, "version": version}, "capabilities": capabilities}
    return {"initialize": handshake, "tools": []}


@pytest.mark.parametrize(
    ("old", "new", "expected", "pointer"),
    [
        (server(), server(version="2.0"), ("server-version-changed", False), "/initialize/serverInfo/version"),
        (server(), server("issues"), ("server-name-changed", False), "/initialize/serverInfo/name"),
        (server(), server(prompts={}), ("capability-added", False), "/initialize/capabilities/prompts"),
        (server(prompts={}), server(), ("capability-removed", None), "/initialize/capabilities/prompts"),
        (
            server(resources={"subscribe": True}),
            server(resources={"subscribe": False}),
            ("capability-removed", None),
            "/initialize/capabilities/resources/subscribe",
        ),
        (
            introduced(instructions="Search first."),
            introduced(instructions="Ask first."),
            ("instructions-changed", False),
            "/initialize/instructions",
        ),
        (server(), introduced(instructions="Ask."), ("instructions-changed", False), "/initialize/instructions"),
        (introduced(instructions="Ask."), server(), ("instructions-changed", False), ""),
        (
            introduced(protocolVersion="2025-06-18"),
            introduced(protocolVersion="2025-11-25"),
            ("protocol-changed", None),
            "/initialize/protocolVersion",
        ),
    ],
)
def test_changes_of_the_server(old: Any, new: Any, expected: tuple[str, bool | None], pointer: str) -> None:
    (change,) = changes(old, new)

    assert (change.kind.id, change.breaking) == expected
    assert change.pointer == pointer
    assert change.item.kind == "server"


def test_a_bare_list_of_tools_does_not_rename_the_server() -> None:
    assert changes({**server(), "tools": [{"name": "x"}]}, [{"name": "x"}]) == []


# The kinds


def test_every_kind_is_documented() -> None:
    for name, kind in CHANGE_KINDS.items():
        assert kind.id == name
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
        assert kind.summary.endswith(".")
        assert kind.why
        assert kind.advice


def test_the_schema_library_is_loaded_on_demand() -> None:
    program = f"import sys, mcproof.checks.diff.items; sys.exit({existing('jsonschema_rs')[0]!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
