"""Regular expressions of a configuration, matched in linear time: they may come from a stranger.

Patterns of the profiles that ship with mcproof are short and simple, and use `re`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

LONGEST_PATTERN = 500
_SLOW = re.compile(r"\(\?<?[=!]|\(\?P=|\\[1-9k]")


class LinearPattern(str):
    """A pattern that is matched in linear time."""

    __slots__ = ()


def matches_whole(pattern: str, text: str) -> bool:
    """Whether a pattern matches all of a text."""
    if isinstance(pattern, LinearPattern):
        return _is_valid(_validator(f"^(?:{pattern})$"), text)
    return re.fullmatch(pattern, text) is not None


def occurs_in(pattern: str, text: str) -> bool:
    """Whether a pattern matches a part of a text."""
    if isinstance(pattern, LinearPattern):
        return _is_valid(_validator(str(pattern)), text)
    return re.search(pattern, text) is not None


def problem_of(pattern: str) -> str:
    """Return why a pattern of a configuration cannot be used; empty if it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    try:
        _validator(f"^(?:{pattern})$")
        _validator(pattern)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in the Rust library is a BaseException
        if _SLOW.search(pattern):
            return "uses look-around or a back-reference, which is not supported"
        return "is not a valid regular expression, or too large"
    return ""


@cache
def _validator(pattern: str) -> Any:
    import jsonschema_rs

    schema = {"pattern": pattern}
    return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True)


def _is_valid(validator: Any, text: str) -> bool:
    try:
        return bool(validator.is_valid(text))
    except UnicodeEncodeError:  # a lone surrogate
        return bool(validator.is_valid(text.encode("utf-8", "replace").decode()))
