"""Results as JSON and back, and their JSON Schema, by their types."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import pytest

from mcproof.core.stored_form import Count, Text, member, record
from mcproof.runs.codec import DecodeError, decode, encode
from script_modules import script

definition_of = script("write_docs").definition_of


@record()
class Part(NamedTuple):
    """A part, or None of it."""

    name: Text
    """Its name."""
    is_new: Annotated[bool, member("new")] = False
    note: Annotated[Text, member(presence="unless empty")] = ""
    weight: Annotated[float, member(presence="newer", minimum=0)] = 1.0


@record("kind", "size", "parts", "by_name", "first", "anything", "limit")
class Whole(NamedTuple):
    anything: Any
    parts: tuple[Part, ...]
    by_name: dict[str, Part]
    kind: Literal["a", "b"] | None = None
    first: Part | None = None
    limit: str | int = 0
    hidden: int = 0

    @property
    def size(self) -> Count:
        """How many parts."""
        return len(self.parts)


A, B = Part("a"), Part("b", is_new=True, note="seen", weight=2)
WHOLE = Whole({"any": [1]}, (A, B), {"b": B}, "a", A, "all")
WRITTEN = {
    "kind": "a",
    "size": 2,
    "parts": [{"name": "a", "new": False, "weight": 1.0}, {"name": "b", "new": True, "note": "seen", "weight": 2}],
    "by_name": {"b": {"name": "b", "new": True, "note": "seen", "weight": 2}},
    "first": {"name": "a", "new": False, "weight": 1.0},
    "anything": {"any": [1]},
    "limit": "all",
}


def test_a_result_is_written_in_the_declared_order_and_read_back() -> None:
    assert encode(WHOLE) == WRITTEN
    assert list(encode(WHOLE)) == list(WRITTEN)
    assert decode(Whole, WRITTEN) == WHOLE


def test_members_that_are_missing_have_their_defaults_and_others_are_ignored() -> None:
    assert decode(list[Part], [{"name": "a", "later": 1}]) == [A]


def test_an_integer_may_be_written_as_a_number_with_a_fraction_of_zero() -> None:
    limit = decode(Whole, {**WRITTEN, "limit": 3.0}).limit
    assert (limit, type(limit)) == (3, int)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "c"}, "`/x/kind` is not one of a, b"),
        ({"parts": {}}, "`/x/parts` is not an array"),
        ({"parts": [{"name": "a"}, {"new": True}]}, "`/x/parts/1` is not an object with `name`"),
        ({"by_name": {"a/b": {"name": 1}}}, "`/x/by_name/a~1b/name` is not a string"),
        ({"first": {"name": "a", "weight": True}}, "`/x/first/weight` is not a number"),
        ({"first": []}, "`/x/first` is not an object"),
        ({"limit": True}, "`/x/limit` is not a string"),
    ],
)
def test_a_value_of_another_type_is_named_by_its_pointer(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as error:
        decode(Whole, {**WRITTEN, **change}, "/x")
    assert str(error.value) == message


def test_the_schema_has_the_descriptions_and_limits_of_the_type() -> None:
    assert definition_of(Part, {}) == {
        "description": "A part, or null of it.",
        "type": "object",
        "properties": {
            "name": {"description": "Its name.", "type": "string", "minLength": 1},
            "new": {"type": "boolean"},
            "note": {"type": "string", "minLength": 1},
            "weight": {"type": "number", "minimum": 0},
        },
        "required": ["name", "new"],
        "additionalProperties": False,
    }


def test_named_types_are_references() -> None:
    schema = definition_of(Whole, {Part: "part"})
    part = {"$ref": "#/$defs/part"}
    assert schema["properties"] == {
        "kind": {"enum": ["a", "b", None]},
        "size": {"description": "How many parts.", "type": "integer", "minimum": 0},
        "parts": {"type": "array", "items": part},
        "by_name": {"type": "object", "additionalProperties": part},
        "first": {"anyOf": [part, {"type": "null"}]},
        "anything": {},
        "limit": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    }
