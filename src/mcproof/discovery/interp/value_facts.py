"""What is known about a value: its truth, its size, whether it may be None."""

from __future__ import annotations

from typing import Any

from mcproof.discovery.interp.assumptions import Assumed
from mcproof.discovery.interp.containers import EXACT, SourceDict, SourceList, has_doubt
from mcproof.discovery.interp.values import (
    UNKNOWN,
    Class,
    EnumMember,
    External,
    ExternalCall,
    Function,
    Generic,
    Instance,
    Method,
)

MOST_VALUES_KNOWN = 20_000
"""The maximum number of values in data that is considered known; shared values count each time."""


def or_none(value: Any) -> Any:
    """A value that may be None: it can be used, but a test for None has no known result."""
    if isinstance(value, External):
        value = External(value.name)
    if isinstance(value, (External, Function, Class, Instance)):
        value.may_be_none = True
    return value


def may_be_none(value: Any) -> bool:
    """Whether a value may be None."""
    return isinstance(value, (External, Function, Class, Instance)) and value.may_be_none


def size_of(value: Any) -> int:
    """The number of values in data, up to a maximum; shared values count each time."""
    waiting = [value]
    seen = 0
    while waiting and seen + len(waiting) < MOST_VALUES_KNOWN:
        each = waiting.pop()
        seen += 1
        if isinstance(each, (list, tuple, dict)) and len(each) < MOST_VALUES_KNOWN:
            waiting += each.values() if isinstance(each, dict) else each
    return seen + len(waiting)


def is_known(value: Any) -> bool:
    """Whether a value is plain data at every level, and not too large."""
    waiting = [(value, 0)]
    seen = 0
    while waiting:
        each, depth = waiting.pop()
        seen += 1
        if isinstance(each, EnumMember):
            each = each.value
        if each is None or isinstance(each, (str, int, float, bool)):
            continue
        if not isinstance(each, (list, tuple, set, frozenset, dict)) or has_doubt(each) or depth > 60:
            return False
        if isinstance(each, dict):
            if not all(isinstance(key, str) for key in each):
                return False
            each = each.values()
        if seen + len(waiting) + len(each) > MOST_VALUES_KNOWN:
            return False
        waiting += [(item, depth + 1) for item in each]
    return True


def truth(value: Any) -> bool | None:
    """Whether a value is true in a condition; None if unknown."""
    if value is None or isinstance(value, (str, int)):
        return bool(value)
    if value is UNKNOWN or isinstance(value, (Assumed, ExternalCall, Method, Generic)):
        return None  # a value that looks like `list[int]` may be an item of an external object
    if isinstance(value, (SourceDict, SourceList)):
        if len(value.doubtful) >= len(value) and (value or value.extent is not EXACT):
            return None  # every item may be missing
        return bool(value)
    if may_be_none(value):
        return None
    if isinstance(value, EnumMember):
        return truth(value.value) if value.cls.external_bases() else True
    try:
        return bool(value)
    except Exception:
        return None
