"""What the emitters write for schemas, against a table of what the packages write."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import yaml

from mcproof.source.javascript.values import UNDEFINED, JsArray, JsObject, Unknown
from mcproof.source.javascript.zod.emitters import (
    Emitter,
    input_schema,
    output_schema,
    to_json_schema,
    zod_to_json_schema,
)
from mcproof.source.javascript.zod.functions import zod_call
from mcproof.source.javascript.zod.methods import zod_member, zod_method
from mcproof.source.javascript.zod.parts import RenderedSchema
from mcproof.source.javascript.zod.schema import raw_shape

from .expressions import Evaluation, Function, Getter, Later, Regex, z

NAMES = {"z": z, "Regex": Regex, "Function": Function, "__builtins__": {}}
TABLE: list[dict[str, Any]] = yaml.safe_load(pathlib.Path(__file__).with_name("table.yml").read_text(encoding="utf-8"))
VERSIONS = {"zod3": (3, 25, 76), "zod4": (4, 6, 7), "zod4.3": (4, 3, 6), "zod4.0": (4, 0, 17)}
CASES = [(row["schema"], word, row[word]) for row in TABLE for word in VERSIONS if word in row]


def written(expression: Any, zod: tuple[int, ...], **changes: Any) -> Any:
    """What a server lists for a member with this schema, without what is around it."""
    schema = raw_shape(JsObject({"a": Evaluation().value(expression)}))
    listed = input_schema(schema, Emitter(zod=zod, **changes))
    return listed if isinstance(listed, Unknown) else listed.json["properties"]["a"]


def listed(expression: Any, zod: tuple[int, ...] = (4, 3, 6), **changes: Any) -> RenderedSchema:
    """What a server lists for an object."""
    rendered = input_schema(Evaluation().value(expression), Emitter(zod=zod, **changes))
    assert isinstance(rendered, RenderedSchema)
    return rendered


@pytest.mark.parametrize(("text", "version", "expected"), CASES, ids=[f"{word} {text}" for text, word, _ in CASES])
def test_a_schema_is_written_as_its_package_writes_it(text: str, version: str, expected: Any) -> None:
    schema = Evaluation().value(eval(text, NAMES))  # noqa: S307 the table is ours
    zod = VERSIONS[version]
    if zod < (4,):
        options = JsObject({"strictUnions": True, "pipeStrategy": "input"})
        value = zod_to_json_schema(schema, options, zod, (3, 25, 2))
    else:
        value = to_json_schema(schema, JsObject({"target": "draft-7", "io": "input"}), zod)
    if isinstance(expected, str) and expected.startswith("error: "):
        assert value == Unknown(expected.removeprefix("error: "))
        return
    written = plain(value)
    del written["$schema"]
    expected = json.loads(expected) if isinstance(expected, str) else expected
    assert json.dumps(written) == json.dumps(expected)  # the order of members, too


def plain(value: Any) -> Any:
    if isinstance(value, JsObject):
        return {name: plain(member) for name, member in value.members.items()}
    return [plain(item) for item in value.items] if isinstance(value, JsArray) else value


# Frameworks


def test_the_first_sdk_lists_a_shape_by_the_package_of_its_version_of_zod() -> None:
    shape = {"a": z.string(), "b": z.string().optional()}
    old = listed(shape, (3, 24, 0), version=(1, 12, 1)).json
    new = listed(shape, (4, 3, 6), version=(1, 29, 0)).json
    properties = {"a": {"type": "string"}, "b": {"type": "string"}}
    draft = "http://json-schema.org/draft-07/schema#"
    assert old == {
        "type": "object",
        "properties": properties,
        "required": ["a"],
        "additionalProperties": False,
        "$schema": draft,
    }
    assert new == {"$schema": draft, "type": "object", "properties": properties, "required": ["a"]}


def test_the_second_sdk_lists_the_newer_draft_and_says_that_a_union_is_of_objects() -> None:
    union = z.discriminatedUnion("t", [z.object({"t": z.literal("a")}), z.object({"t": z.literal("b")})])
    schema = listed(union, (4, 4, 3), version=(2, 3, 0)).json
    assert list(schema) == ["type", "$schema", "oneOf"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_first_sdk_lists_an_empty_schema_for_a_union() -> None:
    assert listed(z.union([z.object({}), z.object({})])).json == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("emitter", "expected"),
    [
        (Emitter(version=(1, 8, 0)), {"type": "object"}),
        (Emitter(version=(1, 29, 0)), {"type": "object", "properties": {}}),
        (Emitter("fastmcp", (4, 0, 0)), {"additionalProperties": False, "properties": {}, "type": "object"}),
    ],
)
def test_a_tool_without_a_schema_has_the_one_of_its_framework(emitter: Emitter, expected: Any) -> None:
    rendered = input_schema(UNDEFINED, emitter)
    assert isinstance(rendered, RenderedSchema)
    assert rendered.json == expected


def test_a_tool_without_an_output_schema_lists_none() -> None:
    assert output_schema(UNDEFINED, Emitter()) is None


def test_fastmcp_closes_objects_and_those_of_their_properties() -> None:
    schema = listed(z.object({"a": z.object({"b": z.string()})}), framework="fastmcp", version=(4, 4, 0)).json
    assert schema["additionalProperties"] is False
    assert schema["properties"]["a"]["additionalProperties"] is False


def test_mastra_writes_dates() -> None:
    schema = listed(z.object({"a": z.date()}), framework="mastra", version=(2, 0, 0)).json
    assert schema["properties"]["a"] == {"type": "string", "format": "date-time", "x-date": True}
    assert schema["additionalProperties"] is False


def test_an_output_schema_describes_what_comes_out() -> None:
    schema = Evaluation().value(z.object({"a": z.string().default("x")}))
    rendered = output_schema(schema, Emitter(zod=(4, 3, 6)))
    assert isinstance(rendered, RenderedSchema)
    assert rendered.json["required"] == ["a"]
    assert rendered.json["additionalProperties"] is False


# Identity


def node() -> Any:
    tree = z.object({"value": z.string(), "children": z.array(z.lazy(Later(lambda: tree)))})
    return tree


def test_a_schema_within_itself_is_a_reference() -> None:
    assert listed(node(), (4, 3, 6)).json["properties"]["children"]["items"] == {"allOf": [{"$ref": "#"}]}
    assert listed(node(), (3, 25, 0)).json["properties"]["children"]["items"] == {"$ref": "#"}
    tree = listed(z.object({"tree": node()}), (4, 3, 6)).json
    assert tree["properties"]["tree"] == {"$ref": "#/definitions/__schema0"}
    assert set(tree["definitions"]) == {"__schema0"}


def test_a_member_that_is_computed_may_be_of_the_schema_itself() -> None:
    tree = z.object({"value": z.string(), "next": Getter(lambda: tree)})
    assert listed(tree).json["properties"]["next"] == {"$ref": "#"}


def test_only_zod_3_writes_a_schema_that_is_used_again_as_a_reference() -> None:
    person = z.object({"name": z.string()}).describe("Somebody.")
    schema = z.object({"from": person, "to": person, "others": z.array(person)})
    old = listed(schema, (3, 25, 0)).json["properties"]
    new = listed(schema, (4, 3, 6)).json["properties"]
    assert old["to"] == {"$ref": "#/properties/from"}
    assert new["to"] == new["from"]


def test_an_identifier_in_the_metadata_makes_a_definition() -> None:
    name = z.string().meta({"id": "Name"})
    schema = listed(z.object({"a": name, "b": name}), (4, 5, 0)).json
    assert schema["properties"] == {"a": {"$ref": "#/definitions/Name"}, "b": {"$ref": "#/definitions/Name"}}
    assert schema["definitions"] == {"Name": {"type": "string"}}


def test_metadata_stands_beside_the_type() -> None:
    expected = {"type": "string", "title": "T", "examples": ["a"], "description": "D"}
    assert written(z.string().meta({"title": "T", "examples": ["a"]}).describe("D"), (4, 3, 6)) == expected


# Which library


def test_the_module_decides_between_the_two_versions_in_one_package() -> None:
    for module, draft in (("zod", False), ("zod/v4", True)):
        value = Evaluation(module).value(z.object({"a": z.any()}))
        rendered = input_schema(value, Emitter(zod=(3, 25, 76)))
        assert isinstance(rendered, RenderedSchema)
        assert ("required" in rendered.json) == draft  # in zod 3, a member that may be anything may be absent


def test_the_functions_of_zod_mini_are_checks_and_wrappers() -> None:
    checked = z.string().check(z.minLength(2), z.describe("d"))
    assert written(z.optional(checked), (4, 3, 6)) == {"type": "string", "minLength": 2, "description": "d"}


# What is not known


def test_an_unknown_member_keeps_the_others() -> None:
    shape = JsObject({"a": Unknown("it is computed"), "b": zod_call(("z", "string"), [], lambda *_: None)})
    for zod in ((3, 25, 0), (4, 3, 6)):
        rendered = input_schema(shape, Emitter(zod=zod))
        assert isinstance(rendered, RenderedSchema)
        assert rendered.json["properties"] == {"a": {}, "b": {"type": "string"}}
        assert rendered.unknown == {
            "/required": "it is not known which properties are required",
            "/properties/a": "it is computed",
        }


def test_an_unknown_argument_is_left_out() -> None:
    for zod in ((3, 25, 0), (4, 3, 6)):
        schema = zod_call(("z", "string"), [], lambda *_: None)
        schema = zod_method(schema, "max", [Unknown("it is configured")], lambda *_: None)
        schema = zod_method(schema, "describe", [Unknown("it is configured")], lambda *_: None)
        rendered = input_schema(JsObject({"a": schema}), Emitter(zod=zod))
        assert isinstance(rendered, RenderedSchema)
        assert rendered.json["properties"] == {"a": {"type": "string"}}
        assert set(rendered.unknown) == {"/properties/a/maxLength", "/properties/a/description"}


def test_a_shape_with_more_members_is_marked() -> None:
    shape = JsObject({"a": zod_call(("z", "string"), [], lambda *_: None)}, is_open=True)
    for zod in ((3, 25, 0), (4, 3, 6)):
        rendered = input_schema(shape, Emitter(zod=zod))
        assert isinstance(rendered, RenderedSchema)
        assert "" in rendered.unknown


def test_unknown_functions_and_methods_are_unknown() -> None:
    assert isinstance(zod_call(("z", "newest"), [], lambda *_: None), Unknown)
    schema = zod_call(("z", "string"), [], lambda *_: None)
    assert isinstance(zod_method(schema, "parse", ["a"], lambda *_: None), Unknown)


def test_a_schema_that_never_ends_is_unknown_and_not_endless() -> None:
    def deeper(*_: Any) -> Any:
        element = zod_call(("z", "lazy"), [deeper], lambda function, arguments: function(*arguments))
        return zod_call(("z", "array"), [element], lambda *_: None)

    for zod in ((3, 25, 0), (4, 3, 6)):
        rendered = input_schema(JsObject({"a": deeper()}), Emitter(zod=zod))
        assert isinstance(rendered, Unknown) or any("too many parts" in reason for reason in rendered.unknown.values())


def test_a_schema_that_doubles_at_every_level_is_too_large() -> None:
    schema = zod_call(("z", "string"), [], lambda *_: None)
    for _ in range(40):
        schema = zod_call(("z", "tuple"), [JsArray([schema, schema])], lambda *_: None)
    assert input_schema(JsObject({"a": schema}), Emitter(zod=(4, 3, 6))) == Unknown("this schema is too large")


# Members


def test_members_of_schemas_are_read() -> None:
    evaluate = Evaluation().value
    letters = evaluate(z.enum(["a", "b"]))
    assert zod_member(letters, "options").items == ["a", "b"]
    assert zod_member(letters, "enum").members == {"a": "a", "b": "b"}
    person = evaluate(z.object({"name": z.string().describe("Who.")}))
    name = zod_member(person, "shape").members["name"]
    assert zod_member(name, "description") == "Who."
    assert zod_member(evaluate(z.array(z.string())), "element").kind == "string"
    assert zod_member(evaluate(z.literal("a")), "value") == "a"


def test_parts_remember_where_they_are_written() -> None:
    schema = Evaluation().value(z.object({"a": z.string()}))
    schema.shape["a"].node = "here"
    rendered = input_schema(schema, Emitter(zod=(4, 3, 6)))
    assert isinstance(rendered, RenderedSchema)
    assert rendered.places == {"/properties/a": "here"}
