"""Which values common validators convert to another type instead of rejecting them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

_BOOLEAN_WORDS = frozenset({"", "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0"})
_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_NUMBERS = frozenset({"integer", "number"})


def is_coerced(value: Any, types: Collection[str]) -> bool:
    """Whether a lenient server may convert a value to one of these types.

    Null stands for an absent value; a scalar becomes text, a number, a boolean or a list of one; a text is parsed; a
    fraction is cut off. What remains (a list of lists, an object, an arbitrary word for a number) no server converts.
    """
    allowed = frozenset(types)
    if value is None:
        return True
    if type(value) is str:
        return "array" in allowed or _parses(value, allowed)
    if type(value) is bool:
        return bool(allowed & {"string", "array", *_NUMBERS})
    if type(value) is int or type(value) is float:
        return bool(allowed & {"string", "boolean", "array", *_NUMBERS}) or (value == 0 and "null" in allowed)
    if type(value) is list:
        is_unwrapped = len(value) == 1 and type(value[0]) not in (list, dict)
        return bool(allowed & _SCALARS) if is_unwrapped else not value and bool(allowed - {"array"})
    return False


def _parses(text: str, types: frozenset[str]) -> bool:
    """Whether a text is the written form of a value of one of these types."""
    if "boolean" in types and text.lower() in _BOOLEAN_WORDS:
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return not text and bool(types & {"null", *_NUMBERS})
    names = {dict: {"object"}, list: {"array"}, bool: {"boolean"}, type(None): {"null"}}
    return bool(types & names.get(type(value), _NUMBERS))
