"""Values that the environment may replace, and computing with their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.discovery.interp.values import PLAIN, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable


class Assumed:
    """A value that the environment may replace: `os.environ.get("PREFIX", "")`.

    Names and texts take its default, which is plain data. A condition on it stays open.
    """

    __slots__ = ("default",)

    def __init__(self, default: Any) -> None:
        self.default = default


def assumed(value: Any) -> Any:
    """Plain data as the default of something in the environment; UNKNOWN for any other value."""
    value = default_of(value)
    return Assumed(value) if isinstance(value, PLAIN) else UNKNOWN


def default_of(value: Any) -> Any:
    """The default of an assumed value; any other value unchanged."""
    return value.default if type(value) is Assumed else value


def with_defaults(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function of values; if one of them is assumed, so is the result."""
    if not any(type(each) is Assumed for each in values):
        return function(*values)
    return assumed(function(*map(default_of, values)))
