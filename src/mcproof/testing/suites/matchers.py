"""Matchers: compare a value with an expectation and explain the mismatch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_document import kind_of
from mcproof.testing.suites.paths import MissingValue, PathStep, path_text

NAMES = ("exact", "contains", "icontains", "contains-all", "regex", "schema", "snapshot")
NOT = "not"
LONGEST_PATTERN = 2_000
MOST_DIFFERENCES = 5
SHOWN = 300
"""Maximum length of a value in a message."""
_CONTEXT = 40
"""Maximum length of the text shown around a difference."""


class Mismatch(NamedTuple):
    """Why a value does not match."""

    message: str
    expected: str = ""
    got: str = ""


class Matcher(NamedTuple):
    """A matcher with its expected value. Snapshots are compared by the snapshot store."""

    name: str
    expected: Any
    is_negated: bool = False
    validator: Any = None
    """The compiled pattern or schema, if any."""


class MatcherError(ValueError):
    """An invalid matcher; the message is the reason."""


def matcher_of(name: str, expected: Any, *, is_negated: bool = False) -> Matcher:
    """Return the matcher with this name. Raises MatcherError if the expected value does not fit it."""
    compile_expected = _COMPILERS.get(name)
    return Matcher(name, expected, is_negated, None if compile_expected is None else compile_expected(expected))


def _check_text(expected: Any) -> None:
    if not isinstance(expected, str):
        raise MatcherError(f"`icontains` must be a string, not {kind_of(expected)}")
    _refuse_empty(expected, "icontains")


def _check_items(expected: Any) -> None:
    if not isinstance(expected, list) or not expected:
        raise MatcherError("`contains-all` must be a list with at least one item")
    for item in expected:
        _refuse_empty(item, "contains-all")


def _refuse_empty(expected: Any, name: str = "contains") -> None:
    if expected == "":
        raise MatcherError(f"`{name}` must not be empty; every string contains the empty string")


def _compile_pattern(expected: Any) -> Any:
    """Compile a regular expression for an engine that always takes linear time."""
    if not isinstance(expected, str):
        raise MatcherError(f"`regex` must be a string, not {kind_of(expected)}")
    if not expected:
        raise MatcherError("`regex` must not be empty; every string matches the empty pattern")
    if len(expected) > LONGEST_PATTERN:
        raise MatcherError(f"`regex` is longer than {LONGEST_PATTERN:,} characters")
    import jsonschema_rs

    schema = {"type": "string", "pattern": expected}
    try:
        return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in the Rust library is a BaseException
        pattern = f"`{cropped(expected, 60)}`"
        if _SLOW.search(expected):
            raise MatcherError(f"{pattern} uses look-around or a back-reference, which is not supported") from None
        # The library reports both errors alike; only counted repetition makes a pattern large.
        hint = ", or too large" if re.search(r"\{[0-9]", expected) else ""
        raise MatcherError(f"{pattern} is not a valid regular expression{hint}") from None


_SLOW = re.compile(r"\(\?<?[=!]|\(\?P=|\\[1-9k]")


def _compile_schema(expected: Any) -> Any:
    from mcproof.core.schema.validation import Oracle

    if expected is True or expected == {}:
        raise MatcherError("this schema accepts every value")
    if isinstance(expected, dict):
        _refuse_unknown_keywords(expected)
    oracle = Oracle(expected)
    if oracle.problem is not None:
        raise MatcherError(f"`schema` is invalid: {cropped(oracle.problem, 200)}")
    return oracle


def _refuse_unknown_keywords(schema: dict[str, Any]) -> None:
    """Refuse unknown keywords: validators ignore them, so a test with a typo would pass."""
    from mcproof.core.errors import nearest
    from mcproof.core.schema.tree import SchemaTree

    for node in SchemaTree(schema).nodes:
        for word in node.schema if isinstance(node.schema, dict) else ():
            if word not in _KEYWORDS and not word.startswith(("x-", "$")):
                raise MatcherError(f"unknown keyword `{cropped(word, 60)}` in `schema`{nearest(word, list(_KEYWORDS))}")


NUMERIC = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const", "enum"))
"""Keywords that constrain numbers."""
_KEYWORDS = (
    "id", "definitions", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas",
    "dependentRequired", "dependencies", "properties", "patternProperties", "additionalProperties", "propertyNames",
    "unevaluatedProperties", "unevaluatedItems", "items", "prefixItems", "additionalItems", "contains", "minContains",
    "maxContains", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxProperties",
    "minProperties", "required", "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples",
    "format", "contentEncoding", "contentMediaType", "contentSchema", "nullable",
)  # fmt: skip
"""Keywords of all dialects, except those that start with `$`."""
_COMPILERS: dict[str, Callable[[Any], Any]] = {
    "contains": _refuse_empty,
    "icontains": _check_text,
    "contains-all": _check_items,
    "regex": _compile_pattern,
    "schema": _compile_schema,
}


def compare(matcher: Matcher, value: Any) -> Mismatch | None:
    """Return why a value does not match; None if it does. A missing value matches only `exact: null`."""
    if isinstance(value, MissingValue):
        if matcher.name == "exact" and matcher.expected is None and not matcher.is_negated:
            return None
        return Mismatch(missing_message(value), wanted(matcher), "nothing")
    mismatch = _COMPARISONS[matcher.name](matcher, value)
    if not matcher.is_negated:
        return mismatch
    return Mismatch("matches, but must not", wanted(matcher), shown(value)) if mismatch is None else None


def missing_message(value: MissingValue) -> str:
    """Return the message for a path without a value."""
    return f"no value: `{value.reached}` {value.why}" if value.reached else f"no value: the response {value.why}"


def wanted(matcher: Matcher) -> str:
    """Return the expectation of a matcher, for messages."""
    words = "" if matcher.name == "exact" else f"{matcher.name} "
    return f"{'not ' if matcher.is_negated else ''}{words}{shown(matcher.expected)}"


def cropped(text: str, length: int = SHOWN) -> str:
    """Crop a text for a message."""
    return text if len(text) <= length else f"{text[:length]}… ({len(text):,} characters)"


def shown(value: Any, length: int = SHOWN) -> str:
    """Return a value as JSON, cropped."""
    try:
        return cropped(json.dumps(value, ensure_ascii=False), length)
    except (RecursionError, ValueError):
        return "a value nested too deeply to show"


def _exact(matcher: Matcher, value: Any) -> Mismatch | None:
    reasons = list(differences(matcher.expected, value))
    if not reasons:
        return None
    listed = "; ".join(reasons[:MOST_DIFFERENCES])
    more = "; and more" if len(reasons) > MOST_DIFFERENCES else ""
    return Mismatch(f"{listed}{more}", wanted(matcher), shown(value))


def differences(expected: Any, got: Any) -> Iterator[str]:
    """Yield the differences between two JSON values, at most a few more than are shown. Not recursive."""
    waiting: list[tuple[tuple[PathStep, ...], Any, Any]] = [((), expected, got)]
    count = 0
    while waiting and count <= MOST_DIFFERENCES:
        path, one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            for sentence in _members(path, one, other):
                count += 1
                yield sentence
            shared = [key for key in one if key in other]
            waiting += [((*path, key), one[key], other[key]) for key in reversed(shared)]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                count += 1
                yield f"{_at(path)}expected {len(one):,} items, got {len(other):,}"
            both = list(zip(one, other, strict=False))
            waiting += [((*path, number), *pair) for number, pair in reversed(list(enumerate(both)))]
        elif not _same(one, other):
            count += 1
            yield f"{_at(path)}{_difference(one, other)}"


def _members(path: tuple[PathStep, ...], one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    if lacking := [key for key in one if key not in other]:
        yield f"{_at(path)}missing {_keys(lacking)}"
    if surplus := [key for key in other if key not in one]:
        yield f"{_at(path)}unexpected {_keys(surplus)}"


def _keys(keys: list[str]) -> str:
    more = f" and {len(keys) - 5:,} more" if len(keys) > 5 else ""
    return ", ".join(f"`{cropped(key, 60)}`" for key in keys[:5]) + more


def _at(path: tuple[PathStep, ...]) -> str:
    return f"at {cropped(path_text(path), 100)}: " if path else ""


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (dict, list)) or isinstance(other, (dict, list)):
        return False
    return bool(one == other)


def _difference(one: Any, other: Any) -> str:
    """Describe how two values differ; for long texts, only the part around the first difference."""
    if isinstance(one, str) and isinstance(other, str) and max(len(one), len(other)) > _CONTEXT:
        index = next((index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
        index = min(len(one), len(other)) if index is None else index
        start = max(0, index - _CONTEXT // 2)
        pair = [f"{'…' if start else ''}{text[start : index + _CONTEXT]}" for text in (one, other)]
        return f"from character {index + 1:,}: expected {shown(pair[0])}, got {shown(pair[1])}"
    return f"expected {shown(one, 100)}, got {shown(other, 100)}"


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; 1 equals 1.0, but not true."""
    return next(differences(one, other), None) is None


def _contains(matcher: Matcher, value: Any) -> Mismatch | None:
    parts = matcher.expected if matcher.name == "contains-all" else [matcher.expected]
    if isinstance(value, list):
        missing = [part for part in parts if not any(equal(part, item) for item in value)]
    elif isinstance(value, str | dict):
        missing = [part for part in parts if not (isinstance(part, str) and part in value)]
    else:
        return Mismatch(f"is {kind_of(value)}, not a string, list or object", wanted(matcher), shown(value))
    if not missing:
        return None
    listed = ", ".join(shown(part, 100) for part in missing[:MOST_DIFFERENCES])
    return Mismatch(f"does not contain {listed}", wanted(matcher), shown(value))


def _icontains(matcher: Matcher, value: Any) -> Mismatch | None:
    if not isinstance(value, str):
        return Mismatch(f"is {kind_of(value)}, not a string", wanted(matcher), shown(value))
    if matcher.expected.casefold() in value.casefold():
        return None
    return Mismatch(f"does not contain {shown(matcher.expected, 100)} (ignoring case)", wanted(matcher), shown(value))


def _regex(matcher: Matcher, value: Any) -> Mismatch | None:
    if not isinstance(value, str):
        return Mismatch(f"is {kind_of(value)}, not a string", wanted(matcher), shown(value))
    # JSON allows lone surrogates, the validator does not.
    if matcher.validator.is_valid(value.encode("utf-8", "replace").decode()):
        return None
    message = f"does not match the regular expression {shown(matcher.expected, 100)}"
    return Mismatch(message, wanted(matcher), shown(value))


def _matches_schema(matcher: Matcher, value: Any) -> Mismatch | None:
    oracle = matcher.validator
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Bounds say nothing of other types, so a text would pass.
    if isinstance(matcher.expected, dict) and matcher.expected.keys() <= _BOUNDS and not is_number:
        return Mismatch(f"is {kind_of(value)}, not a number", wanted(matcher), shown(value))
    if oracle.accepts(value):
        return None
    message, pointer = oracle.rejection(value) or ("", "")
    if not message:
        keyword, pointer = oracle.first_error(value) or ("schema", "")
        message = f"violates `{keyword}`"
    where = f" at {cropped(pointer, 100)}" if pointer else ""
    return Mismatch(f"{cropped(message, 200)}{where}", wanted(matcher), shown(value))


_BOUNDS = NUMERIC - {"const", "enum"}


_COMPARISONS: dict[str, Callable[[Matcher, Any], Mismatch | None]] = {
    "exact": _exact,
    "contains": _contains,
    "icontains": _icontains,
    "contains-all": _contains,
    "regex": _regex,
    "schema": _matches_schema,
}
