"""Helpers for JSON values: type checks, size, copies, canonical text."""

from __future__ import annotations

import json
from typing import Any

MAX_SIZE = 60_000
"""Size at which `json_size` stops counting."""


def as_object(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if type(value) is dict else {}


def as_strings(value: Any) -> list[str]:
    """Return the strings of a keyword whose value is a string or a list."""
    return [each for each in (value if type(value) is list else [value]) if type(each) is str]


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; false for booleans."""
    return type(value) is int or (type(value) is float and abs(value) < float("inf"))  # false for NaN as well


def is_huge(number: Any) -> bool:
    """Whether a number is too large for arithmetic with floats."""
    return type(number) is int and number.bit_length() > 1_000


def canonical_json(value: Any) -> str:
    """A value as JSON text; equal values have equal texts."""
    if type(value) is float and value.is_integer():
        value = int(value)
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except ValueError:  # an integer beyond Python's limit of digits
        return "a number too long to print"


def shortened(text: str) -> str:
    """Return a text from a schema, truncated for messages."""
    return text if len(text) <= 60 else text[:59] + "…"


def json_size(value: Any) -> int:
    """Estimate the length of a value as JSON."""
    total = 0
    waiting = [value]
    while waiting and total <= MAX_SIZE:
        current = waiting.pop()
        kind = type(current)
        if kind is str:
            total += len(current) + 2
        elif kind is dict:
            total += 2 + sum(len(name) + 4 for name in current)
            waiting += current.values()
        elif kind is list:
            total += 2 + len(current)
            waiting += current
        else:
            total += 5 if kind is not int else 1 + current.bit_length() // 3
    return total


def deep_copy(value: Any) -> Any:
    """Copy a value that is known to be shallow enough for recursion."""
    if type(value) is dict:
        return {name: deep_copy(each) for name, each in value.items()}
    return [deep_copy(each) for each in value] if type(value) is list else value
