"""The headers that repeat annotated arguments, and the annotations that they come from."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.client.http.headers import LONGEST_VALUE, ParameterHeaders
from mcproof.core.schema.keywords import header_parameters
from mcproof.core.schema.tree import SchemaTree


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def headers(value: Any) -> dict[str, str]:
    """The headers of a call with this argument."""
    known = ParameterHeaders()
    known.learn({"tools": [{"name": "t", "inputSchema": schema(a={"type": "string", "x-mcp-header": "A"})}]})
    return known.of({"method": "tools/call", "params": {"name": "t", "arguments": {"a": value}}})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("us-west1", "us-west1"),
        ("us west 1", "us west 1"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("\tx", "=?base64?CXg=?="),
        (42, "42"),
        (-7, "-7"),
        (42.0, "42"),
        (0.5, "0.5"),
        (True, "true"),
        (False, "false"),
        (2**60, "1152921504606846976"),
    ],
)
def test_an_argument_is_written_as_the_protocol_demands(value: Any, text: str) -> None:
    assert headers(value) == {"Mcp-Param-A": text}


@pytest.mark.parametrize("value", [None, {"b": 1}, [1], "x" * (LONGEST_VALUE + 1), 10**4000])
def test_an_argument_without_a_text_has_no_header(value: Any) -> None:
    assert headers(value) == {}


@pytest.mark.parametrize(
    "result",
    [None, [], {}, {"tools": 5}, {"tools": [None, {}, {"name": 1}, {"name": "t"}, {"name": "t", "inputSchema": 1}]}],
)
def test_no_list_is_too_odd_to_learn_from(result: Any) -> None:
    known = ParameterHeaders()
    known.learn(result)
    assert known.of({"method": "tools/call", "params": {"name": "t", "arguments": {"a": "x"}}}) == {}


@pytest.mark.parametrize("params", [None, [], {}, {"name": []}, {"name": "t", "arguments": []}, {"name": "u"}])
def test_no_call_is_too_odd_for_headers(params: Any) -> None:
    known = ParameterHeaders()
    known.learn({"tools": [{"name": "t", "inputSchema": schema(a={"type": "string", "x-mcp-header": "A"})}]})
    assert known.of({"method": "tools/call", "params": params}) == {}


def test_a_later_list_replaces_the_headers_of_a_tool() -> None:
    known = ParameterHeaders()
    for annotation in ({"x-mcp-header": "A"}, {"x-mcp-header": "B"}, {}):
        known.learn({"tools": [{"name": "t", "inputSchema": schema(a={"type": "string", **annotation})}]})
        found = known.of({"method": "tools/call", "params": {"name": "t", "arguments": {"a": "x"}}})
        assert list(found) == [f"Mcp-Param-{name}" for name in annotation.values()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (schema(a={"type": "string", "x-mcp-header": ""}), "the header of `a` is empty"),
        (schema(a={"type": "string", "x-mcp-header": 5}), "the header of `a` is a number, not a string"),
        (
            schema(a={"type": "string", "x-mcp-header": "A B"}),
            "the header of `a`, `A B`, has characters that a header name cannot have",
        ),
        (
            schema(a={"type": "string", "x-mcp-header": "Région"}),
            "the header of `a`, `Région`, has characters that a header name cannot have",
        ),
        (
            schema(a={"type": "number", "x-mcp-header": "A"}),
            "`a` has a header, so its `type` must be string, integer or boolean, not number",
        ),
        (
            schema(a={"x-mcp-header": "A"}),
            "`a` has a header, so its `type` must be string, integer or boolean, not absent",
        ),
        (
            schema(a={"type": ["string", "null"], "x-mcp-header": "A"}),
            "`a` has a header, so its `type` must be string, integer or boolean, not a list",
        ),
        (
            schema(a={"type": "string", "x-mcp-header": "A"}, b={"type": "string", "x-mcp-header": "a"}),
            "`a` of `b` is also the header of `a`",
        ),
        (
            schema(a={"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}),
            "only a parameter can have a header, and this one is inside `items`",
        ),
        (
            schema(a={"anyOf": [{"type": "string", "x-mcp-header": "A"}]}),
            "only a parameter can have a header, and this one is inside `anyOf`",
        ),
        ({"type": "object", "x-mcp-header": "A"}, "only a parameter can have a header, and this one is at the root"),
    ],
)
def test_an_invalid_annotation_is_explained(given: dict[str, Any], message: str) -> None:
    assert [each.message for each in header_parameters(SchemaTree(given)).problems] == [message]


def test_names_that_look_the_same_are_two_parameters() -> None:
    nested = schema(b={"type": "string", "x-mcp-header": "A"})
    given = {"type": "object", "properties": {"a.b": {"type": "string", "x-mcp-header": "A"}, "a": nested}}
    found = header_parameters(SchemaTree(given))
    assert len(found.valid) == 1
    assert len(found.problems) == 1
