"""What the formats of strings, and the checks of a schema of zod 4 together, come to in a JSON Schema.

The patterns are in `formats.json`: those that zod-to-json-schema 3.25 writes for zod 3, and those of zod 4 with the
version that each is in use from, as the packages write them.
"""

from __future__ import annotations

import functools
import json
import pathlib
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.javascript.values import UNDEFINED, JsObject, JsRegExp, Unknown, Value

if TYPE_CHECKING:
    from mcproof.source.javascript.zod.schema import Check, ZodSchema

Version = tuple[int, ...]

DATE = (
    r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-"
    r"(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))"
)
MINUTES = r"(?:[01]\d|2[0-3]):[0-5]\d"


class Format(NamedTuple):
    """What a check of a string's format adds."""

    format: str | None
    pattern: Value
    """The source of a regular expression; None if there is no pattern."""
    encoding: str | None = None
    is_wider: bool = False
    """Whether more texts have it than the format of JSON Schema allows, so that no format is written."""


@functools.cache
def tables() -> dict[str, dict[str, Any]]:
    """The patterns of both versions."""
    text = pathlib.Path(__file__).with_name("formats.json").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = json.loads(text)
    return tables


def option(arguments: tuple[Value, ...], name: str) -> Value:
    """An option of a check; undefined if it is not given."""
    options = arguments[0] if arguments else UNDEFINED
    if isinstance(options, JsObject):
        return options.members.get(name, Unknown("options are computed") if options.is_open else UNDEFINED)
    return options if isinstance(options, Unknown) else UNDEFINED


def zod4_format(check: Check, version: Version, *, is_own: bool) -> Format | None:
    """The format of zod 4 that a check stands for; `is_own` if the schema is one of this format, as `z.email()`."""
    name, arguments = check
    if name == "regex":
        return Format(None, pattern_of(arguments[0] if arguments else UNDEFINED))
    if name in ("startsWith", "endsWith", "includes"):
        word = {"startsWith": "starts_with", "endsWith": "ends_with", "includes": "includes"}[name]
        return Format(word if version >= (4, 6) else "", _text_pattern(name, arguments, version))
    if name in ("datetime", "time"):
        return _moment(name, arguments, version)
    row = tables()["zod4"].get("uuid" + str(option(arguments, "version")) if name == "uuid" else name)
    row = row or tables()["zod4"].get(name)
    if row is None:
        return None
    pattern = next((pattern for since, pattern in reversed(row["patterns"]) if version >= tuple(since)), None)
    given = option(arguments, "pattern")
    # From 4.1.13 to 4.5 only a schema of this format has the encoding, not one with a check.
    has_encoding = name in ("base64", "base64url") and (is_own or not (4, 1, 13) <= version < (4, 6))
    return Format(row["format"], pattern if given is UNDEFINED else pattern_of(given), name if has_encoding else None)


def _moment(name: str, arguments: tuple[Value, ...], version: Version) -> Format:
    precision, local, offset = (option(arguments, word) for word in ("precision", "local", "offset"))
    if any(isinstance(value, Unknown) for value in (precision, local, offset)):
        return Format(None, Unknown("the options of this format are not known"))
    if name == "time":
        # A format "time" of JSON Schema would ask for an offset, which these never have.
        return Format("time" if version < (4, 3) else None, f"^{_time(precision, seconds=False)}$")
    strict = version >= (4, 5)
    zones = ["Z"]
    if local is True and not strict:
        zones.append("")
    if offset is True:
        zones.append(r"([+-](?:[01]\d|2[0-3]):[0-5]\d)" if version >= (4, 0, 11) else r"([+-]\d{2}:\d{2})")
    text = f"{_time(precision, seconds=strict)}(?:{'|'.join(zones)})"
    if local is True and strict:
        text += f"|{_time(precision, seconds=False)}"
    is_wider = strict and (local is True or precision == -1)
    return Format("date-time", f"^{DATE}T(?:{text})$", is_wider=is_wider)


def _time(precision: Value, *, seconds: bool) -> str:
    if isinstance(precision, int):
        if precision == -1:
            return MINUTES
        return rf"{MINUTES}:[0-5]\d" + (rf"\.\d{{{precision}}}" if precision else "")
    return rf"{MINUTES}:[0-5]\d(?:\.\d+)?" if seconds else rf"{MINUTES}(?::[0-5]\d(?:\.\d+)?)?"


def _text_pattern(name: str, arguments: tuple[Value, ...], version: Version) -> Value:
    text = arguments[0] if arguments else UNDEFINED
    if not isinstance(text, str):
        return Unknown("this text is not known")
    escaped = "".join(f"\\{character}" if character in r".*+?^${}()|[]\\" else character for character in text)
    position = option(arguments[1:], "position")
    if name == "includes" and isinstance(position, int):
        escaped = f"^.{{{position}{',' if version >= (4, 5) else ''}}}{escaped}"
    return regexp_source({"startsWith": f"^{escaped}.*", "endsWith": f".*{escaped}$"}.get(name, escaped))


def zod3_text_pattern(name: str, text: Value, converter: Version) -> Value:
    """The pattern that zod-to-json-schema writes for `startsWith`, `endsWith` and `includes`."""
    if not isinstance(text, str):
        return Unknown("this text is not known")
    # From 3.24 on, w and W are taken for special characters.
    ordinary = "" if converter >= (3, 24) else "wW"
    escaped = "".join(
        character
        if character.isascii() and character.isalnum() and (character not in "wW" or ordinary)
        else f"\\{character}"
        for character in text
    )
    return regexp_source({"startsWith": f"^{escaped}", "endsWith": f"{escaped}$"}.get(name, escaped))


def pattern_of(value: Value) -> Value:
    """The source of a regular expression."""
    if isinstance(value, JsRegExp):
        return regexp_source(value.source)
    return value if isinstance(value, Unknown) else Unknown("this regular expression is not known")


def regexp_source(text: str) -> str:
    """The member `source` of a regular expression of this text: slashes outside of classes are escaped."""
    parts: list[str] = []
    is_escaped = in_class = False
    for character in text:
        if not is_escaped and character in "[]":
            in_class = character == "["
        if character == "/" and not is_escaped and not in_class:
            parts.append("\\")
        is_escaped = character == "\\" and not is_escaped
        parts.append("\\n" if character == "\n" else character)
    return "".join(parts) or "(?:)"


# Beyond it, a number of JavaScript is not exact; zod 4 writes it as the bound of every integer.
SAFE_INTEGER = 2**53 - 1
NUMBER_FORMATS: dict[str, tuple[float, float]] = {
    "int": (-SAFE_INTEGER, SAFE_INTEGER),
    "safe": (-SAFE_INTEGER, SAFE_INTEGER),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "float32": (-3.4028234663852886e38, 3.4028234663852886e38),
    "float64": (-1.7976931348623157e308, 1.7976931348623157e308),
}
WITH_OWN_PATTERN = {"regex", "startsWith", "endsWith", "includes", "datetime", "time", "emoji", "mac"}
WITH_OWN_PATTERN |= {"uuid", "uuidv4", "uuidv6", "uuidv7"}
"""Checks whose pattern is a new regular expression each time; other formats share one."""
BOUNDS = {
    **dict.fromkeys(("min", "gte", "nonnegative", "nonempty", "minLength", "minSize", "minimum"), "minimum"),
    **dict.fromkeys(("max", "lte", "nonpositive", "maxLength", "maxSize", "maximum"), "maximum"),
    **dict.fromkeys(("gt", "positive"), "exclusiveMinimum"),
    **dict.fromkeys(("lt", "negative"), "exclusiveMaximum"),
}
ZEROS = {"nonnegative": 0, "nonpositive": 0, "positive": 0, "negative": 0, "nonempty": 1}


def aggregated(schema: ZodSchema, version: Version) -> dict[str, Any]:
    """What all checks of a schema come to."""
    facts: dict[str, Any] = {}
    for index, check in enumerate(schema.checks):
        name, value = check.name, check.arguments[0] if check.arguments else UNDEFINED
        if name in NUMBER_FORMATS:
            _bound(version, facts, *NUMBER_FORMATS[name])
            if "int" in name or name == "safe":
                facts["is_int"] = True
            elif version < (4, 6):
                facts["is_int"] = False
        elif name in ("length", "size"):
            _bound(version, facts, value, value)
        elif name in BOUNDS:
            _narrow(facts, BOUNDS[name], ZEROS.get(name, value))
        elif name in ("multipleOf", "step"):
            divisors = facts.setdefault("divisors", [])
            divisor = abs(value) if isinstance(value, int | float) and version >= (4, 5) else value
            if divisor not in divisors and (not divisors or version >= (4, 6)):
                divisors.append(divisor)
        elif schema.kind == "string":
            _add_format(version, facts, check, is_own=index == 0 and bool(schema.facts.get("is_format")))
    return facts


def _bound(version: Version, facts: dict[str, Any], least: Value, most: Value) -> None:
    for word, value in (("minimum", least), ("maximum", most)):
        # Up to 4.5 an exact bound replaces earlier ones, later it only narrows them.
        if version < (4, 6):
            facts.pop(word, None)
        _narrow(facts, word, value)


def _add_format(version: Version, facts: dict[str, Any], check: Check, *, is_own: bool) -> None:
    added = zod4_format(check, version, is_own=is_own)
    if added is None:
        return
    facts["is_wider"] = facts.get("is_wider") or added.is_wider
    # From 4.1.13 to 4.5 the format of an address, as of `z.ipv4()`, stays whatever follows.
    is_fixed = facts.get("is_fixed") and (4, 1, 13) <= version < (4, 6)
    if added.format != "" and not is_fixed:  # else the check says nothing about a format
        facts["format"] = added.format
        facts["is_fixed"] = is_own and check.name in ("ipv4", "ipv6", "mac")
    if added.encoding:
        facts["encoding"] = added.encoding
    if added.pattern is not None:
        patterns = facts.setdefault("patterns", [])
        # A set of regular expressions is kept, which are compared by identity.
        if check.name in WITH_OWN_PATTERN or added.pattern not in patterns:
            patterns.append(added.pattern)


def are_numbers(*values: Value) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _narrow(facts: dict[str, Any], word: str, value: Value) -> None:
    """Keep the stricter of two bounds."""
    earlier = facts.get(word)
    if not are_numbers(value):
        facts[word] = Unknown("this bound is not a known number")
    elif earlier is None or not are_numbers(earlier):
        facts[word] = value if earlier is None else earlier
    else:
        facts[word] = max(earlier, value) if "inimum" in word else min(earlier, value)
