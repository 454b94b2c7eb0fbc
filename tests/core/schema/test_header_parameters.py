"""Annotations of parameters that clients repeat in HTTP headers."""

from __future__ import annotations

from mcproof.core.schema.keywords import header_parameters
from mcproof.core.schema.tree import SchemaTree


def test_a_property_that_is_not_an_object_is_left_out() -> None:
    tree = SchemaTree({"type": "object", "properties": {"a": True, "b": {"type": "string", "x-mcp-header": "B"}}})
    assert [each.header for each in header_parameters(tree).valid] == ["B"]
