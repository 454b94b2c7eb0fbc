"""Probes of what a schema does not promise."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.core.catalog.model import Tool
from mcproof.probing.probes.cases import ProbeCase
from mcproof.probing.probes.promises import PROVE_CHECKS, probes_of_promises


def large_values(properties: dict[str, Any], *required: str) -> dict[str, bool]:
    """The arguments that are given a large value, and whether only their size differs from the valid call."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    tool = Tool({"name": "convert", "inputSchema": schema}, "/tools/0")
    probes = probes_of_promises(tool, list(PROVE_CHECKS), given=None, size=5_000, is_strict=False, max_calls=100)
    large = [case for case in probes.cases if isinstance(case, ProbeCase) and case.probe == "oversized"]
    return {case.argument: case.changes_only_size for case in large}


@pytest.mark.parametrize(
    ("schema", "required", "expected"),
    [
        ({"type": "string"}, True, True),
        ({"type": "string"}, False, False),  # the valid call does without it
        ({"type": "string", "default": "float64"}, True, False),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, True, True),
        ({"type": "array", "items": {"type": "integer"}}, True, True),  # the valid call has a list with one item
        ({"type": "array", "items": {"type": "object"}}, True, False),  # the valid call has an empty list
        ({"anyOf": [{"type": "null"}, {"type": "string"}], "default": None}, True, False),
    ],
)
def test_a_large_value_is_compared_with_the_valid_one(schema: dict[str, Any], required: bool, expected: bool) -> None:
    assert large_values({"unit": schema}, *(["unit"] if required else [])) == {"unit": expected}
