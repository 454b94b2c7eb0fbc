"""Values at a bound, empty, large and unusual ones: mutations that keep the arguments valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.probing.generation.constraints import (
    TYPES,
    ArrayConstraints,
    NumberConstraints,
    StringConstraints,
    canonical_json,
    shortened,
)
from mcproof.probing.generation.mutations import (
    MAX_ARRAY_LENGTH,
    MAX_STRING_LENGTH,
    Mutation,
    MutationPoint,
    number_text,
    offset,
    replacement,
    resized_array,
    resized_string,
)
from mcproof.probing.generation.scalars import matching_string

if TYPE_CHECKING:
    from collections.abc import Iterator


_MAX_VALUES = 12
_STRINGS = (
    ("empty", ""),
    ("in other scripts", "Grüße, 世界 🌍"),
    ("with quotes, a backslash and a line break", '"it\'s" \\ a\nb'),
    ("with a null character", "a\x00b"),
    ("of 2,000 characters", "a" * 2_000),
)
_NUMBERS = (0, -1, 2**31, 2**53 + 1, 2**63, -(2**63))


def boundaries(point: MutationPoint) -> Iterator[Mutation]:
    """Yield mutations after which the arguments should still be valid."""
    constraints, value, label = point.constraints, point.value, point.label
    if constraints.values is not None:
        for allowed in filter(constraints.allows_type_of, constraints.values[:_MAX_VALUES]):
            yield replacement(f"{label} is {_quoted(allowed)}", "enum", allowed)
        return
    if "null" in constraints.types and value is not None and len(constraints.types) < len(TYPES):
        yield replacement(f"{label} is null", "type", None)
    if type(value) is str:
        yield from _strings(constraints.string, label, value)
    elif type(value) is bool:
        yield replacement(f"{label} is {_quoted(not value)}", "type", not value)
    elif type(value) is int or type(value) is float:
        yield from _numbers(constraints.number, label)
        if "number" in constraints.types:
            yield replacement(f"{label} is 0.5", "type", 0.5)
    elif type(value) is list:
        yield from _arrays(constraints.array, label, value)
    elif type(value) is dict and point.path:
        yield replacement(f"{label} empty", "properties", {})


def _strings(constraints: StringConstraints, label: str, value: str) -> Iterator[Mutation]:
    for keyword, length in (("minLength", constraints.min_length), ("maxLength", constraints.max_length)):
        if length is not None and 0 < length <= MAX_STRING_LENGTH:
            resized: str | None = resized_string(value, length)
            if constraints.patterns:
                resized = matching_string(constraints.patterns[0], length, length)
            if resized is not None:
                yield replacement(f"{label} as long as {keyword} {length}", keyword, resized)
    for description, text in _STRINGS:
        yield replacement(f"{label} {description}", "type", text)


def _numbers(constraints: NumberConstraints, label: str) -> Iterator[Mutation]:
    for bound, is_exclusive, name, inward in (
        (constraints.minimum, constraints.is_minimum_exclusive, "minimum", 1),
        (constraints.maximum, constraints.is_maximum_exclusive, "maximum", -1),
    ):
        if bound is not None and not is_exclusive:
            yield replacement(f"{label} at its {name} {number_text(bound)}", name, bound)
        elif bound is not None:
            keyword = f"exclusive{name.capitalize()}"
            yield replacement(f"{label} next to its {keyword} {number_text(bound)}", keyword, offset(bound, inward))
    for number in _NUMBERS:
        yield replacement(f"{label} is {number}", "type", number)


def _arrays(constraints: ArrayConstraints, label: str, value: list[Any]) -> Iterator[Mutation]:
    yield replacement(f"{label} empty", "type", [])
    for keyword, length in (("minItems", constraints.min_items), ("maxItems", constraints.max_items)):
        if length is not None and 0 < length <= MAX_ARRAY_LENGTH:
            resized = resized_array(value, length, distinct=constraints.is_unique)
            if resized is not None:
                yield replacement(f"{label} as long as {keyword} {length}", keyword, resized)
    if value:
        yield replacement(f"{label} with a duplicate item", "type", [*value, value[0]])


def _quoted(value: Any) -> str:
    return f"`{shortened(canonical_json(value))}`"


INTERESTING_STRINGS: tuple[str, ...] = (
    "",
    "a",
    "mcproof",
    "Hello, world",
    " ",
    "  padded  ",
    "line\nbreak",
    "tab\there",
    "\r\n",
    "\x00",
    "\x1b[31mred\x1b[0m",
    "\"quoted\" and 'quoted'",
    "back\\slash",
    "`whoami`",
    "$(id)",
    "; echo mcproof #",
    "| cat",
    "&& true",
    "../../../../etc/passwd",
    "/etc/hosts",
    "C:\\Windows\\system32",
    "file:///etc/hosts",
    "http://localhost:1/",
    "https://example.com/?q=a&b=%00#c",
    "' OR '1'='1",
    "1; DROP TABLE users; --",
    '") OR 1=1 --',
    "%s%s%n%x",
    "{0.__class__}",
    "${jndi:x}",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "<!-- -->",
    "]]>",
    "null",
    "undefined",
    "NaN",
    "true",
    "0",
    "-1",
    "1e309",
    "9007199254740993",
    "[]",
    "{}",
    '{"a": 1}',
    "Grüße",
    "世界",
    "🌍👩‍👩‍👧‍👦",
    "e\u0301",
    "\u202eright to left",
    "\ufeffmarked",
    "\u200b",
    "İstanbul",
    "ß",
    "Ω≈ç√∫",
    "مرحبا",
    "*.*",
    "^(a+)+$",
    "--help",
    "-",
    "#",
    "?",
    "%",
    "%00",
    "2024-01-01",
    "123e4567-e89b-42d3-a456-426614174000",
    "user@example.com",
    "a" * 255,
    "a" * 256,
    "x" * 2_000,
    "é" * 1_000,
)
"""Strings that programs mishandle: other scripts, control characters, shell, SQL and template syntax."""

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:/\\'\"\n\t<>&%$#@!äöüß世界🌍"
"""The characters of random strings."""

INTERESTING_INTEGERS: tuple[int, ...] = (
    *(0, 1, -1, 2, 7, 10, 42, 100, 255, 256, 1000, 65535, 10**18),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64),
)
INTERESTING_FLOATS: tuple[float, ...] = (
    0.5,
    -0.5,
    0.1,
    1.5,
    1e-9,
    5e-324,
    3.141592653589793,
    1e21,
    -1e21,
    1e308,
    123456.789,
)
ANY_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 0.5, 2**53, "", "a", "世界"),
    *([], [1], [[]], {}, {"a": 1}, {"a": {"b": [None]}}),
)
"""Values for a schema without constraints."""
