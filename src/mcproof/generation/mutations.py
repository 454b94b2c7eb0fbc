"""Changes to a value inside valid arguments, and helpers to construct them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.json_values import shortened

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_STRING_LENGTH = 20_000
MAX_ARRAY_LENGTH = 2_000


class Mutation(NamedTuple):
    """A change to the value at a mutation point."""

    description: str
    keyword: str
    """The keyword that the change violates, or tests at its boundary."""
    apply: Callable[[Any], Any]
    member: str | int | None = None
    """The property or index the change concerns; None for the value itself."""
    is_lenient: bool = False
    """Whether servers commonly convert the new value to a valid one."""


def replacement(description: str, keyword: str, value: Any, *, is_lenient: bool = False) -> Mutation:
    """A mutation that replaces the value."""
    return Mutation(description, keyword, lambda _: value, is_lenient=is_lenient)


def resized_string(text: str, length: int) -> str:
    """Cut a string to a length, or repeat its last character."""
    return text[:length] + (text[-1:] or "a") * (length - len(text))


def resized_array(array: list[Any], length: int, *, distinct: bool) -> list[Any] | None:
    """Cut an array to a length, or append items like its first; None if that is not possible."""
    if len(array) >= length:
        return array[:length]
    if not array:
        return None
    first = array[0]
    if not distinct:
        return array + [first] * (length - len(array))
    if type(first) is int:
        highest = max(each for each in array if type(each) is int)
        return array + [highest + number for number in range(1, length - len(array) + 1)]
    if type(first) is str:
        return array + [f"{first}{number}" for number in range(1, length - len(array) + 1)]
    return None


def offset(bound: Any, distance: int) -> Any:
    """A number at a distance from a bound; integral floats become integers."""
    return int(bound) + distance if type(bound) is float and bound.is_integer() else bound + distance


def number_text(number: Any) -> str:
    """A number from a schema, truncated for messages."""
    try:
        return shortened(repr(number))
    except ValueError:  # beyond Python's limit of digits
        return "with too many digits to print"
