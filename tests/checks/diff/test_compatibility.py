"""Changes between two schemas, and whether they break callers that send or read values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.checks.diff.comparison import SchemaChange
from mcproof.checks.diff.containment import ContainmentBudget
from mcproof.checks.diff.schemas import MAX_LEVELS, compare_schemas

STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
NULL: dict[str, Any] = {"type": "null"}


def obj(properties: dict[str, Any] | None = None, **keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties or {}, **keywords}


def sent(old: Any, new: Any) -> list[SchemaChange]:
    return compare_schemas(old, new, "input")


def read(old: Any, new: Any) -> list[SchemaChange]:
    return compare_schemas(old, new, "output")


def verdicts(changes: list[SchemaChange]) -> list[tuple[str, bool | None]]:
    return [(change.kind, change.breaking) for change in changes]


# (narrower schema, wider schema, kind if narrowed, kind if widened)
NARROWER_AND_WIDER = [
    pytest.param(STRING, {"type": ["string", "null"]}, "type-narrowed", "type-widened", id="types"),
    pytest.param(INTEGER, {"type": "number"}, "type-narrowed", "type-widened", id="integer and number"),
    pytest.param(STRING, {}, "type-narrowed", "type-widened", id="a type and any"),
    pytest.param(STRING, {"anyOf": [STRING, NULL]}, "type-narrowed", "type-widened", id="a type and a union"),
    pytest.param(False, STRING, "type-narrowed", "type-widened", id="nothing and something"),
    pytest.param({"enum": ["a"]}, {"enum": ["a", "b"]}, "values-removed", "values-added", id="enum"),
    pytest.param({**STRING, "enum": ["a"]}, STRING, "values-removed", "values-added", id="enum and none"),
    pytest.param({"const": "a"}, {"enum": ["a", "b"]}, "values-removed", "values-added", id="const and enum"),
    pytest.param({**INTEGER, "minimum": 2}, {**INTEGER, "minimum": 1}, "bound-narrowed", "bound-widened", id="minimum"),
    pytest.param({**INTEGER, "maximum": 2}, INTEGER, "bound-narrowed", "bound-widened", id="maximum"),
    pytest.param(
        {**INTEGER, "exclusiveMinimum": 5},
        {**INTEGER, "exclusiveMinimum": 0},
        "bound-narrowed",
        "bound-widened",
        id="exclusiveMinimum",
    ),
    pytest.param(
        {"type": "number", "exclusiveMaximum": 1},
        {"type": "number", "exclusiveMaximum": 2},
        "bound-narrowed",
        "bound-widened",
        id="exclusiveMaximum",
    ),
    pytest.param({**STRING, "minLength": 1}, STRING, "bound-narrowed", "bound-widened", id="minLength"),
    pytest.param({**STRING, "maxLength": 9}, STRING, "bound-narrowed", "bound-widened", id="maxLength"),
    pytest.param(
        {"type": "array", "minItems": 2},
        {"type": "array", "minItems": 1},
        "bound-narrowed",
        "bound-widened",
        id="minItems",
    ),
    pytest.param({"type": "array", "maxItems": 2}, {"type": "array"}, "bound-narrowed", "bound-widened", id="maxItems"),
    pytest.param(
        {"type": "array", "uniqueItems": True}, {"type": "array"}, "bound-narrowed", "bound-widened", id="uniqueItems"
    ),
    pytest.param(
        {"type": "object", "minProperties": 1},
        {"type": "object"},
        "bound-narrowed",
        "bound-widened",
        id="minProperties",
    ),
    pytest.param(
        {"type": "object", "maxProperties": 1},
        {"type": "object"},
        "bound-narrowed",
        "bound-widened",
        id="maxProperties",
    ),
    pytest.param(
        {**INTEGER, "multipleOf": 4}, {**INTEGER, "multipleOf": 2}, "bound-narrowed", "bound-widened", id="multipleOf"
    ),
    pytest.param({**STRING, "pattern": "^a"}, STRING, "pattern-changed", "pattern-changed", id="pattern"),
    pytest.param(
        {"type": "array", "items": STRING},
        {"type": "array", "items": {"type": ["string", "null"]}},
        "type-narrowed",
        "type-widened",
        id="items",
    ),
    pytest.param(
        {"type": "array", "prefixItems": [STRING]}, {"type": "array"}, "type-narrowed", "type-widened", id="prefixItems"
    ),
    pytest.param(
        {"anyOf": [{**STRING, "maxLength": 2}, NULL]},
        {"anyOf": [{**STRING, "maxLength": 3}, NULL]},
        "bound-narrowed",
        "bound-widened",
        id="a branch",
    ),
    pytest.param(
        {"anyOf": [obj({"a": STRING}, required=["a"])]},
        {"anyOf": [obj({"a": STRING}, required=["a"]), obj({"b": INTEGER}, required=["b"])]},
        "union-narrowed",
        "union-widened",
        id="alternatives",
    ),
    pytest.param(
        {"oneOf": [obj({"kind": {"const": "a"}}, required=["kind"])]},
        {"oneOf": [obj({"kind": {"const": kind}}, required=["kind"]) for kind in "ab"]},
        "union-narrowed",
        "union-widened",
        id="tagged alternatives",
    ),
    pytest.param(
        {"allOf": [STRING, {"maxLength": 2}]},
        {"allOf": [STRING, {"maxLength": 3}]},
        "bound-narrowed",
        "bound-widened",
        id="allOf",
    ),
    pytest.param(
        {"not": {"type": ["string", "null"]}},
        {"not": {"type": "null"}},
        "constraint-changed",
        "constraint-changed",
        id="not",
    ),
    pytest.param(
        {"type": "object", "additionalProperties": STRING},
        {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        "type-narrowed",
        "type-widened",
        id="values of a map",
    ),
    pytest.param(
        {"type": "object", "patternProperties": {"^x-": STRING}},
        {"type": "object", "patternProperties": {"^x-": {}}},
        "type-narrowed",
        "type-widened",
        id="values by pattern",
    ),
]


@pytest.mark.parametrize(("narrower", "wider", "narrowed", "widened"), NARROWER_AND_WIDER)
def test_a_narrower_input_breaks_callers_and_a_wider_one_does_not(
    narrower: Any, wider: Any, narrowed: str, widened: str
) -> None:
    assert verdicts(sent(obj({"q": wider}), obj({"q": narrower}))) == [(narrowed, True)]
    assert verdicts(sent(obj({"q": narrower}), obj({"q": wider}))) == [(widened, False)]


@pytest.mark.parametrize(("narrower", "wider", "narrowed", "widened"), NARROWER_AND_WIDER)
def test_a_wider_output_breaks_callers_and_a_narrower_one_does_not(
    narrower: Any, wider: Any, narrowed: str, widened: str
) -> None:
    assert verdicts(read(obj({"q": narrower}), obj({"q": wider}))) == [(widened, True)]
    assert verdicts(read(obj({"q": wider}), obj({"q": narrower}))) == [(narrowed, False)]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (STRING, INTEGER, "type-changed"),
        ({"const": "a"}, {"const": "b"}, "const-changed"),
        ({**INTEGER, "multipleOf": 2}, {**INTEGER, "multipleOf": 3}, "bound-changed"),
        ({**STRING, "pattern": "^a$"}, {**STRING, "pattern": "^b$"}, "pattern-changed"),
        (
            {"oneOf": [obj({"a": STRING}, required=["a"]), STRING]},
            {"oneOf": [obj({"a": INTEGER}, required=["a"]), obj({"b": STRING}, required=["b"])]},
            "union-changed",
        ),
    ],
)
def test_a_schema_that_is_neither_narrower_nor_wider_is_breaking_in_both_directions(
    old: Any, new: Any, kind: str
) -> None:
    assert verdicts(sent(obj({"q": old}), obj({"q": new}))) == [(kind, True)]
    assert verdicts(read(obj({"q": old}), obj({"q": new}))) == [(kind, True)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({"type": ["string", "null"]}, {"anyOf": [NULL, STRING]}, id="types as branches"),
        pytest.param({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, id="the order of values"),
        pytest.param({**INTEGER, "minimum": 1}, {**INTEGER, "minimum": 1.0}, id="notation of a number"),
        pytest.param({}, True, id="absent and true"),
        pytest.param({**STRING, "minLength": 0}, STRING, id="a redundant bound"),
        pytest.param({"type": "string"}, {"type": ["string"]}, id="one type in a list"),
        pytest.param(STRING, {**STRING, "$comment": "x", "readOnly": True, "x-order": 1}, id="annotations"),
        pytest.param({"enum": ["a"]}, {**STRING, "enum": ["a"]}, id="the type of all values"),
        pytest.param({**INTEGER, "const": 1}, {"const": 1}, id="the type of the value"),
        pytest.param(
            {"allOf": [STRING, {"maxLength": 2}]}, {"allOf": [{"maxLength": 2}, STRING]}, id="the order of allOf"
        ),
        pytest.param(STRING, {"allOf": [STRING]}, id="allOf of one"),
    ],
)
def test_equivalent_schemas_have_no_changes(old: Any, new: Any) -> None:
    for compare in (sent, read):
        assert compare(obj({"q": old}), obj({"q": new})) == []
        assert compare(obj({"q": new}), obj({"q": old})) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({**INTEGER, "minimum": 1}, {**INTEGER, "exclusiveMinimum": 0}, id="another bound, same values"),
        pytest.param(
            {"type": ["string", "null"], "enum": ["a"]}, {**STRING, "enum": ["a"]}, id="a type without values"
        ),
    ],
)
def test_a_redundant_keyword_is_compatible(old: Any, new: Any) -> None:
    for found in (sent(obj({"q": old}), obj({"q": new})), read(obj({"q": new}), obj({"q": old}))):
        assert found
        assert {change.breaking for change in found} == {False}


def test_malformed_or_ambiguous_enums_are_decided_by_the_library() -> None:
    twice = {"enum": ["a", "b"], "const": "a"}

    assert verdicts(sent(obj({"q": {"enum": ["a"]}}), obj({"q": twice}))) == [("values-changed", False)]
    assert verdicts(sent(obj({"q": {"enum": ["b"]}}), obj({"q": twice}))) == [("values-changed", True)]
    assert verdicts(sent(obj({"q": {"enum": ["b"]}}), obj({"q": {"enum": "b"}}))) == [("values-changed", None)]


# Properties


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(obj(), obj({"a": STRING}), ("parameter-added", False), id="added"),
        pytest.param(
            obj(additionalProperties=False),
            obj({"a": STRING}, additionalProperties=False),
            ("parameter-added", False),
            id="added to a closed object",
        ),
        pytest.param(
            obj(additionalProperties=True),
            obj({"a": STRING}, additionalProperties=True),
            ("parameter-added", None),
            id="added where any name was allowed",
        ),
        pytest.param(
            obj(additionalProperties=STRING),
            obj({"a": STRING}, additionalProperties=STRING),
            ("parameter-added", False),
            id="added where such values were allowed",
        ),
        pytest.param(
            obj(), obj({"a": STRING}, required=["a"]), ("parameter-added-required", True), id="added required"
        ),
        pytest.param(
            obj({"a": STRING}), obj({"a": STRING}, required=["a"]), ("parameter-required", True), id="required"
        ),
        pytest.param(
            obj({"a": STRING}, required=["a"]), obj({"a": STRING}), ("parameter-optional", False), id="optional"
        ),
        pytest.param(obj({"a": STRING}), obj(), ("parameter-removed", True), id="removed from an open object"),
        pytest.param(
            obj({"a": STRING}, additionalProperties=False),
            obj(additionalProperties=False),
            ("parameter-removed", True),
            id="removed from a closed object",
        ),
        pytest.param(
            obj({"a": STRING}, additionalProperties=INTEGER),
            obj(additionalProperties=INTEGER),
            ("parameter-removed", True),
            id="removed where only other values are allowed",
        ),
        pytest.param(
            obj({"a": STRING}), obj({"a": STRING}, additionalProperties=False), ("object-closed", None), id="closed"
        ),
        pytest.param(
            obj({"a": STRING}, additionalProperties=True),
            obj({"a": STRING}, additionalProperties=False),
            ("object-closed", True),
            id="closed although any name was allowed",
        ),
        pytest.param(
            obj({"a": STRING}, additionalProperties=False), obj({"a": STRING}), ("object-opened", False), id="opened"
        ),
        pytest.param({}, {"required": ["a"]}, ("parameter-required", True), id="required without being declared"),
    ],
)
def test_changes_of_parameters(old: Any, new: Any, expected: tuple[str, bool | None]) -> None:
    assert verdicts(sent(old, new)) == [expected]


@pytest.mark.parametrize(
    ("old", "new", "breaking"),
    [
        pytest.param(
            obj({"a": STRING}, additionalProperties=True),
            obj({"b": STRING}, additionalProperties=True),
            True,
            id="removed where any name is allowed",
        ),
        pytest.param(
            obj({"p": obj({"a": STRING, "b": STRING})}),
            obj({"p": obj({"b": STRING})}),
            True,
            id="removed from a nested open object",
        ),
        pytest.param(
            obj({"a": STRING}),
            obj(patternProperties={"^a": STRING}),
            None,
            id="removed, but matched by a pattern",
        ),
        pytest.param(
            obj({"a": STRING}),
            obj(additionalProperties=STRING),
            None,
            id="removed, but allowed by a map",
        ),
        pytest.param(
            obj({"a": STRING}),
            obj(allOf=[{"properties": {"a": STRING}}]),
            None,
            id="moved to a subschema",
        ),
        pytest.param(
            obj({"p": obj({"a": STRING})}),
            obj({"p": obj()}),
            None,
            id="removed from a nested object that became free-form",
        ),
    ],
)
def test_a_removed_parameter_is_breaking_unless_another_part_may_describe_it(
    old: Any, new: Any, breaking: bool | None
) -> None:
    assert ("parameter-removed", breaking) in verdicts(sent(old, new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(obj(), obj({"a": STRING}), ("field-added", False), id="added"),
        pytest.param(
            obj(additionalProperties=False),
            obj({"a": STRING}, additionalProperties=False),
            ("field-added", None),
            id="added where other fields were excluded",
        ),
        pytest.param(
            obj(additionalProperties=INTEGER),
            obj({"a": STRING}, additionalProperties=INTEGER),
            ("field-added", True),
            id="added where other values were promised",
        ),
        pytest.param(obj({"a": STRING}), obj(), ("field-removed", True), id="removed"),
        pytest.param(obj({"a": STRING}, required=["a"]), obj({"a": STRING}), ("field-optional", True), id="optional"),
        pytest.param(obj({"a": STRING}), obj({"a": STRING}, required=["a"]), ("field-required", False), id="required"),
        pytest.param(
            obj({"a": STRING}), obj({"a": STRING}, additionalProperties=False), ("object-closed", False), id="closed"
        ),
        pytest.param(
            obj({"a": STRING}, additionalProperties=False), obj({"a": STRING}), ("object-opened", None), id="opened"
        ),
    ],
)
def test_changes_of_fields(old: Any, new: Any, expected: tuple[str, bool | None]) -> None:
    assert verdicts(read(old, new)) == [expected]


def test_a_property_added_to_a_nested_object_without_properties_may_be_in_use() -> None:
    assert verdicts(sent(obj({"q": {"type": "object"}}), obj({"q": obj({"a": STRING})}))) == [("parameter-added", None)]


def test_a_property_moved_to_another_branch_of_all_of_is_not_compatible() -> None:
    old = obj({"q": {"allOf": [obj({"a": STRING}), obj({"b": STRING})]}})
    new = obj({"q": {"allOf": [obj({"a": STRING}), obj({"b": STRING, "a": INTEGER})]}})

    assert any(change.breaking is not False for change in sent(old, new))


def test_a_changed_format_has_an_unknown_effect() -> None:
    plain, mail, uri = STRING, {**STRING, "format": "email"}, {**STRING, "format": "uri"}

    assert verdicts(sent(obj({"q": plain}), obj({"q": mail}))) == [("format-changed", None)]
    assert verdicts(sent(obj({"q": mail}), obj({"q": plain}))) == [("format-changed", False)]
    assert verdicts(sent(obj({"q": mail}), obj({"q": uri}))) == [("format-changed", None)]
    assert verdicts(read(obj({"q": mail}), obj({"q": plain}))) == [("format-changed", None)]
    assert verdicts(read(obj({"q": plain}), obj({"q": mail}))) == [("format-changed", False)]


def test_a_changed_default_affects_inputs_only() -> None:
    none, one, two = INTEGER, {**INTEGER, "default": 1}, {**INTEGER, "default": 2}

    assert verdicts(sent(obj({"q": one}), obj({"q": two}))) == [("default-changed", None)]
    assert verdicts(sent(obj({"q": one}), obj({"q": none}))) == [("default-changed", None)]
    assert verdicts(sent(obj({"q": none}), obj({"q": one}))) == [("default-changed", False)]
    assert verdicts(read(obj({"q": one}), obj({"q": two}))) == [("default-changed", False)]


def test_a_changed_description_of_a_parameter_is_compatible() -> None:
    (change,) = sent(obj({"q": {**STRING, "description": "Text."}}), obj({"q": {**STRING, "description": "Words."}}))

    assert change == SchemaChange(
        "description-changed",
        False,
        'description of `q` changed from "Text." to "Words."',
        "/inputSchema/properties/q/description",
        parameter="q",
    )


def test_a_property_named_description_is_not_a_description() -> None:
    assert verdicts(sent(obj({"description": STRING}), obj({"description": INTEGER}))) == [("type-changed", True)]


def test_the_implied_type_of_the_root_has_no_pointer() -> None:
    (change,) = sent({"type": ["object", "null"]}, {"x-note": 1})

    assert (change.kind, change.pointer) == ("type-narrowed", "/inputSchema")


# References

USER = obj({"name": STRING}, required=["name"])


def test_renaming_or_inlining_a_definition_is_not_a_change() -> None:
    named = obj({"u": {"$ref": "#/$defs/User"}}, **{"$defs": {"User": USER}})
    renamed = obj({"u": {"$ref": "#/definitions/Person"}}, definitions={"Person": USER})
    inlined = obj({"u": USER})

    for old in (named, renamed, inlined):
        for new in (named, renamed, inlined):
            assert sent(old, new) == []
            assert read(old, new) == []


def users(name: dict[str, Any], *parameters: str) -> dict[str, Any]:
    """Parameters that share a definition."""
    properties = {each: {"$ref": "#/$defs/User"} for each in parameters}
    return obj(properties, **{"$defs": {"User": obj({"name": name})}})


def test_a_changed_definition_is_reported_for_every_parameter_at_its_own_location() -> None:
    found = sent(users(STRING, "u", "v"), users(INTEGER, "u", "v"))

    assert {change.pointer for change in found} == {"/inputSchema/$defs/User/properties/name/type"}
    assert [(change.parameter, change.message) for change in found] == [
        ("u", "type of `u.name` changed from string to integer"),
        ("v", "type of `v.name` changed from string to integer"),
    ]


def test_further_uses_of_a_frequent_definition_are_counted() -> None:
    names = [f"p{at}" for at in range(25)]

    found = sent(users(STRING, *names), users(INTEGER, *names))

    assert [change.parameter for change in found[:20]] == names[:20]
    (rest,) = found[20:]
    assert rest.breaking is True
    assert rest.message == "the definition of `p0` is used in 5 more places, with the same changes"
    assert [change.breaking for change in sent(users(INTEGER, *names), users({"type": "number"}, *names))] == [
        False
    ] * 21


def test_nested_definitions_do_not_exhaust_the_limit() -> None:
    def tangled(name: Any) -> Any:
        names = [f"d{at}" for at in range(60)]
        refs = {each: {"$ref": f"#/$defs/{each}"} for each in names}
        definitions = {each: obj({"name": dict(name), **refs}) for each in names}
        return obj({**refs, "last": name}, **{"$defs": json.loads(json.dumps(definitions))})

    found = sent(tangled(STRING), tangled(INTEGER))

    assert "not-compared" not in {change.kind for change in found}
    assert "type of `last` changed from string to integer" in {change.message for change in found}
    assert len(found) < 1500


def test_a_recursive_definition_is_reported_once_for_every_parameter() -> None:
    def trees(name: Any) -> Any:
        node = obj({"name": name, "left": {"$ref": "#/$defs/Node"}, "right": {"$ref": "#/$defs/Node"}})
        return obj({"a": {"$ref": "#/$defs/Node"}, "b": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": node}})

    assert [change.message for change in sent(trees(STRING), trees(INTEGER))] == [
        "type of `a.name` changed from string to integer",
        "type of `b.name` changed from string to integer",
    ]


def test_annotations_of_a_definition_are_reported_once_and_those_beside_references_individually() -> None:
    def using(text: str, *own: str) -> Any:
        properties = {f"p{at}": {"$ref": "#/$defs/d", "description": note} for at, note in enumerate(own)}
        return obj(
            {**properties, "x": {"$ref": "#/$defs/d"}, "y": {"$ref": "#/$defs/d"}},
            **{"$defs": {"d": {"description": text}}},
        )

    assert [change.pointer for change in sent(using("Old."), using("New."))] == ["/inputSchema/$defs/d/description"]
    assert [change.parameter for change in sent(using("Same.", "a", "b"), using("Same.", "c", "d"))] == ["p0", "p1"]


def test_a_changed_target_of_the_same_reference_is_found_in_whole_schemas() -> None:
    def using(part: dict[str, Any]) -> Any:
        return obj({"u": {"not": {"$ref": "#/$defs/part"}}}, **{"$defs": {"part": part}})

    assert verdicts(sent(using(STRING), using(INTEGER))) == [("constraint-changed", True)]


def test_a_recursive_schema_is_compared() -> None:
    def tree(value: dict[str, Any]) -> Any:
        node = obj({"value": value, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}})
        return obj({"root": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": node}})

    assert sent(tree(STRING), tree(STRING)) == []
    assert verdicts(sent(tree(STRING), tree(INTEGER))) == [("type-changed", True)]


def test_a_root_without_type_implies_an_object_only_at_the_root() -> None:
    old = {"properties": {"child": {"$ref": "#"}}}

    assert verdicts(sent(old, {**old, "type": "object"})) == [("type-narrowed", True)]


def test_a_reference_beside_other_keywords_is_compared_with_them() -> None:
    def using(limit: int, least: int) -> Any:
        return obj(
            {"q": {"$ref": "#/$defs/text", "minLength": least}}, **{"$defs": {"text": {**STRING, "maxLength": limit}}}
        )

    assert sorted(verdicts(sent(using(9, 1), using(8, 0)))) == [("bound-narrowed", True), ("bound-widened", False)]


@pytest.mark.parametrize("reference", ["https://example.com/schema.json", "#/$defs/missing"])
def test_an_external_reference_has_an_unknown_effect(reference: str) -> None:
    outside = {"$ref": reference}

    assert sent(obj({"q": outside, "r": {}}), obj({"q": outside, "r": STRING}))[0].parameter == "r"
    assert {change.breaking for change in sent(obj({"q": STRING}), obj({"q": outside}))} >= {None}
    assert {change.breaking for change in sent(obj({"q": outside}), obj({"q": {"$ref": f"{reference}2"}}))} == {None}


# Dialects


def test_another_dialect_is_compatible_if_all_keywords_are_shared() -> None:
    draft_07 = "http://json-schema.org/draft-07/schema#"
    properties = {"id": STRING, "dependencies": {"$ref": "#/definitions/n"}, "n": {**INTEGER, "exclusiveMinimum": 0}}
    plain = obj(properties, definitions={"n": INTEGER})

    assert verdicts(sent(plain, {**plain, "$schema": draft_07})) == [("dialect-changed", False)]
    assert sent(plain, {**plain, "$schema": "https://json-schema.org/draft/2020-12/schema"}) == []


def test_another_dialect_has_an_unknown_effect_if_keywords_differ() -> None:
    draft_07 = "http://json-schema.org/draft-07/schema#"
    listed = {"q": {"type": "array", "prefixItems": [STRING]}}

    assert ("dialect-changed", None) in verdicts(sent(obj(listed), obj(listed, **{"$schema": draft_07})))
    assert ("dialect-changed", None) in verdicts(sent(obj(), obj({}, **{"$schema": "https://example.com/mine"})))


# The safety net


def test_a_change_missed_by_the_traversal_is_found_by_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcproof.checks.diff.schemas.value_effects", lambda *_, **__: iter(()))

    assert verdicts(sent(obj({"q": STRING}), obj({"q": INTEGER}))) == [("constraint-changed", True)]
    assert verdicts(read(obj({"q": STRING}), obj({"q": INTEGER}))) == [("constraint-changed", True)]
    assert verdicts(sent(obj({"q": STRING}), obj({"q": STRING, "r": INTEGER}))) == [("parameter-added", False)]


# Hostile schemas


def nested(levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = obj({"a": leaf})
    return leaf


def test_deeply_nested_schemas_are_reported_as_not_compared() -> None:
    assert verdicts(sent(nested(MAX_LEVELS, STRING), nested(MAX_LEVELS, INTEGER))) == [("type-changed", True)]
    assert verdicts(sent(nested(400, STRING), nested(400, INTEGER))) == [("not-compared", None)]
    assert sent(nested(400, STRING), {**nested(400, STRING), "x-note": 1}) == []


def chain(length: int, leaf: Any) -> Any:
    links = {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(length)}
    return obj({"q": {"$ref": "#/$defs/d0"}}, **{"$defs": {**links, f"d{length}": leaf}})


@pytest.mark.slow
def test_a_chain_of_references_is_followed_up_to_a_limit() -> None:
    assert verdicts(sent(chain(50, STRING), chain(50, INTEGER))) == [("type-changed", True)]
    assert verdicts(sent(chain(30_000, STRING), chain(30_000, INTEGER))) == [("not-compared", None)]


@pytest.mark.parametrize("keyword", ["properties", "anyOf", "oneOf", "allOf"])
def test_exponentially_expanding_references_are_compared_quickly(keyword: str) -> None:
    def unfolding(leaf: Any) -> Any:
        parts: dict[str, Any] = {"d40": leaf}
        for at in range(40):
            below = {"$ref": f"#/$defs/d{at + 1}"}
            other = {"properties": {f"b{at}": below}}  # no type, so that texts pass all of `allOf`
            parts[f"d{at}"] = {keyword: {"a": below, "b": below} if keyword == "properties" else [below, other]}
        return obj({"q": {"$ref": "#/$defs/d0"}}, **{"$defs": parts})

    assert any(change.breaking is not False for change in sent(unfolding(STRING), unfolding(INTEGER)))


def test_long_enums_are_compared_without_the_library() -> None:
    old, new = (obj({"q": {"enum": list(range(first, first + 20_000))}}) for first in (0, 1))

    assert verdicts(sent(old, new)) == [("values-removed", True), ("values-added", False)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"pattern": "((a{99}){98}){9}"}, {"pattern": "((a{99}){99}){9}"}),
        ({"pattern": "|".join("abc" * 100)}, {"pattern": "|".join("abd" * 100)}),
        ({"enum": list(range(501))}, {"enum": list(range(1, 501))}),
        ({"not": {"pattern": "a{9999}"}}, {"not": {"pattern": "b"}}),
        (
            {"not": {"allOf": [{"anyOf": [{"const": at}, {"minimum": at}, {}]} for at in range(9)]}},
            {"not": {"allOf": [{"anyOf": [{"const": at}, {"maximum": at}, {}]} for at in range(9)]}},
        ),
    ],
)
def test_expensive_schemas_are_not_passed_to_the_library(old: Any, new: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("jsonschema_rs.canonicalize", lambda schema, **_: asked.append(schema))

    assert any(change.breaking is not False for change in sent(obj({"q": old}), obj({"q": new})))
    assert asked == []


def test_the_cost_of_containment_checks_is_limited_for_a_catalog() -> None:
    budget = ContainmentBudget(limit=10)
    old, new = obj({"q": {"not": STRING}}), obj({"q": {"not": INTEGER}})

    assert verdicts(compare_schemas(old, new, "input", budget)) == [("constraint-changed", True)]
    assert verdicts(compare_schemas(old, new, "input", budget)) == [("constraint-changed", None)]


MALFORMED: list[Any] = [
    {"type": 5, "properties": [], "required": "x", "enum": 3, "items": 7, "anyOf": {}, "minimum": "a"},
    {"type": [], "properties": 4, "required": {}, "enum": {}, "items": [1, 2], "anyOf": 3, "minimum": True},
    {"allOf": [3, None], "$ref": 7, "not": [], "if": "x", "prefixItems": {}, "patternProperties": [1]},
    {"oneOf": [], "$dynamicRef": "#x", "pattern": "(", "multipleOf": 0, "const": {}, "$schema": 7, "$id": []},
    {"additionalProperties": 3, "dependencies": {"a": ["b"], "c": {}}, "unevaluatedProperties": False},
    7,
    None,
    ["object"],
]


@pytest.mark.parametrize("direction", ["input", "output"])
def test_malformed_schemas_are_never_compatible_and_never_crash(direction: Any) -> None:
    for old in MALFORMED:
        for new in MALFORMED:
            found = compare_schemas(obj({"q": old}), obj({"q": new}), direction)
            is_same = json.dumps(old) == json.dumps(new)
            assert is_same == (found == [])
            assert is_same or any(change.breaking is not False for change in found)
            compare_schemas(old if isinstance(old, dict) else {}, new if isinstance(new, dict) else {}, direction)


# Names that a schema mentions without declaring them

CONSTRAINTS = [
    {"anyOf": [{"required": ["zip"]}]},
    {"not": {"required": ["city"]}},
    {"allOf": [{"properties": {"city": {"maxLength": 3}}}]},
    {"dependentRequired": {"city": ["zip"]}},
    {"if": {}, "then": {"required": ["zip"]}},
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda each: next(iter(each)))
@pytest.mark.parametrize(
    "demand",
    [
        {"required": ["city", "day"]},
        {"required": ["city"], "dependentRequired": {"city": ["day"]}},
        {"required": ["city"], "minProperties": 3},
    ],
    ids=lambda each: list(each)[-1],
)
def test_a_schema_that_mentions_undeclared_names_can_be_narrowed(demand: Any, constraint: Any) -> None:
    old = obj({"city": STRING, "zip": STRING}, **demand)

    for before, after in ((old, {**old, **constraint}), (obj({"q": old}), obj({"q": {**old, **constraint}}))):
        assert any(change.breaking is not False for change in sent(before, after))


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda each: next(iter(each)))
def test_narrowing_an_undeclared_required_name_is_breaking(constraint: Any) -> None:
    old = obj({"city": STRING, "zip": STRING}, required=["city", "day"])

    assert [change.breaking for change in sent(old, {**old, **constraint})] == [True]
    assert [change.breaking for change in sent({**old, **constraint}, old)] == [False]


def test_objects_in_an_enum_count_even_with_undeclared_properties() -> None:
    old = obj({"q": obj({"a": {}}, enum=[{"a": 1}, {"b": 1}])})
    new = obj({"q": obj({"a": {}}, enum=[{"a": 1}, {"b": 1}], **{"not": {"required": ["b"]}})})

    assert verdicts(sent(old, new)) == [("constraint-changed", True)]


def test_a_property_and_a_matching_pattern_apply_together() -> None:
    old = obj({"a": obj({"x": {}})}, patternProperties={"^a": obj({"y": {}})})
    new = {**old, "not": {"properties": {"a": {"required": ["x", "y"]}}, "required": ["a"]}}

    assert verdicts(sent(old, new)) == [("constraint-changed", None)]


@pytest.mark.parametrize(
    "old",
    [
        obj({"a": STRING}, dependentRequired={"a": ["b"]}),
        obj({"a": STRING}, minProperties=2),
        obj({"a": STRING}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
        obj({"a": STRING}, propertyNames={"maxLength": 9}),
    ],
    ids=["dependentRequired", "minProperties", "required in a branch", "propertyNames"],
)
def test_a_new_parameter_that_was_mentioned_before_may_be_in_use(old: Any) -> None:
    new = {**old, "properties": {**old["properties"], "b": STRING}}

    assert ("parameter-added", None) in verdicts(sent(old, new))


def test_a_new_parameter_is_compatible_if_the_declared_ones_suffice() -> None:
    old, new = (
        obj({"a": STRING, "b": STRING}, minProperties=1),
        obj({"a": STRING, "b": STRING, "c": STRING}, minProperties=1),
    )

    assert verdicts(sent(old, new)) == [("parameter-added", False)]


# Combined schemas, compared as a whole


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({"allOf": [STRING, {"maxLength": 2}]}, {**STRING, "maxLength": 2}, id="allOf merged"),
        pytest.param({"allOf": [STRING, {"maxLength": 2}], "minLength": 1}, {**STRING, "maxLength": 3}, id="and wider"),
        pytest.param(
            {"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
            {"allOf": [{"enum": ["b"]}, {"enum": ["b", "c"]}]},
            id="a branch narrowed by others",
        ),
        pytest.param({"$ref": "#/$defs/text", "maxLength": 2}, {**STRING, "maxLength": 2}, id="inlined reference"),
    ],
)
def test_narrower_parts_are_compatible_if_the_whole_is(old: Any, new: Any) -> None:
    definitions = {"$defs": {"text": STRING}}

    for changes in (
        sent(obj({"q": old}, **definitions), obj({"q": new}, **definitions)),
        read(obj({"q": new}, **definitions), obj({"q": old}, **definitions)),
    ):
        assert {change.breaking for change in changes} <= {False}


def test_a_combined_schema_that_is_narrower_as_a_whole_is_breaking() -> None:
    old, new = {"allOf": [STRING, {"maxLength": 3}]}, {**STRING, "maxLength": 2}

    assert True in {change.breaking for change in sent(obj({"q": old}), obj({"q": new}))}


def test_a_removed_field_is_breaking_whatever_the_whole_accepts() -> None:
    old, new = {"allOf": [obj({"a": STRING, "b": STRING})]}, {"allOf": [obj({"a": STRING}), {}]}

    assert True in {change.breaking for change in read(obj({"q": old}), obj({"q": new}))}


@pytest.mark.parametrize(("dialect", "breaking"), [("draft-07", False), ("draft-04", False), ("draft/2020-12", True)])
def test_keywords_beside_a_reference_count_depending_on_the_draft(dialect: str, breaking: bool) -> None:
    def using(**beside: Any) -> Any:
        schema = obj({"q": {"$ref": "#/definitions/text", **beside}}, definitions={"text": STRING})
        return {"$schema": f"http://json-schema.org/{dialect}/schema#", **schema}

    for before, after in ((using(), using(maxLength=3)), (using(maxLength=5), using(maxLength=3, minLength=1))):
        found = sent(before, after)
        assert bool(found) == breaking
        assert any(change.breaking for change in found) == breaking


def test_an_undescribed_value_may_have_any_property() -> None:
    tagged = [obj({"tag": {"const": tag}}, required=["tag"]) for tag in "ab"]
    old, new = {"not": {"const": 1}}, {"not": {"oneOf": [{"const": 1}, *tagged]}}

    assert [change.breaking for change in sent(obj({"q": old}), obj({"q": new}))] == [True]


# Unknown keywords and annotations


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("contentEncoding", "base64"), ("contentMediaType", "image/png"), ("nullable", True), ("divisibleBy", 2)],
)
@pytest.mark.parametrize(
    "around",
    [
        lambda schema: {"properties": {"q": schema}},
        lambda schema: {"properties": {"q": {"anyOf": [schema, NULL]}}},
        lambda schema: {"properties": {"q": {"not": schema}}},
        lambda schema: {"properties": {"q": {"$ref": "#/$defs/d"}}, "$defs": {"d": schema}},
    ],
    ids=["property", "branch", "not", "definition"],
)
def test_a_changed_unknown_keyword_has_an_unknown_effect(around: Any, keyword: str, value: Any) -> None:
    old, new = ({"type": "object", **around(schema)} for schema in (STRING, {**STRING, keyword: value}))

    for before, after in ((old, new), (new, old)):
        assert verdicts(sent(before, after)) == [("constraint-changed", None)]
        assert verdicts(read(before, after)) == [("constraint-changed", None)]


def test_an_unknown_keyword_is_reported_with_its_values_and_pointer() -> None:
    (change,) = sent(obj({"q": {**STRING, "nullable": True}}), obj({"q": {**STRING, "nullable": False}}))
    assert change.message == "`nullable` of `q` changed from true to false"
    assert change.pointer == "/inputSchema/properties/q/nullable"

    (change,) = sent(
        obj({"q": {"$ref": "#/$defs/d"}}, **{"$defs": {"d": STRING}}),
        obj({"q": {"$ref": "#/$defs/d", "nullable": True}}, **{"$defs": {"d": STRING}}),
    )
    assert (change.breaking, change.message) == (None, "`nullable` of `q` was added: true")
    assert change.pointer == "/inputSchema/properties/q/nullable"


def test_many_unknown_keywords_are_one_change() -> None:
    many = {f"keyword{'!' * 200}{at}": at for at in range(1000)}

    (change,) = sent(obj({"q": STRING}), obj({"q": {**STRING, **many}}))

    assert change.breaking is None
    assert len(change.message) < 3000


@pytest.mark.parametrize(
    ("keyword", "value", "kind", "message"),
    [
        ("title", "Words", "title-changed", "title of `q` was added"),
        ("examples", ["a b"], "description-changed", "list of examples of `q` was added"),
        ("deprecated", True, "description-changed", "deprecation of `q` was added"),
    ],
)
def test_changed_annotations_of_a_parameter_are_compatible(keyword: str, value: Any, kind: str, message: str) -> None:
    (change,) = sent(obj({"q": STRING}), obj({"q": {**STRING, keyword: value}}))

    assert (change.kind, change.breaking, change.message) == (kind, False, message)
    assert change.pointer == f"/inputSchema/properties/q/{keyword}"
