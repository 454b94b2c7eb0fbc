"""What a value must be: one matcher, its negation, and what to say where the value is something else."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.suite.value_paths import Missing, kind_of, spelt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.suite.value_paths import Step

NAMES = ("exact", "contains", "icontains", "contains-all", "regex", "schema", "snapshot")
NOT = "not"
LONGEST_PATTERN = 2_000
MOST_DIFFERENCES = 5
SHOWN = 300
"""How much of a value is shown."""
_AROUND = 40
"""How much of two texts is shown before they differ."""


class Mismatch(NamedTuple):
    """Why a value does not match."""

    message: str
    expected: str = ""
    got: str = ""


class Matcher(NamedTuple):
    """A matcher as a suite has it. A snapshot is judged by who has the stored one."""

    name: str
    expected: Any
    is_negated: bool = False
    validator: Any = None
    """What judges by a pattern or a schema, compiled once."""


class MatcherError(ValueError):
    """A matcher that can match nothing; the text says why."""


def matcher_of(name: str, expected: Any, *, is_negated: bool = False) -> Matcher:
    """A matcher of a known name. Raises MatcherError where it makes no sense."""
    prepare = _PREPARED.get(name)
    return Matcher(name, expected, is_negated, None if prepare is None else prepare(expected))


def _needs_text(name: str) -> Callable[[Any], None]:
    def check(expected: Any) -> None:
        if not isinstance(expected, str):
            raise MatcherError(f"`{name}` takes a text, and this is {kind_of(expected)}")
        if not expected:
            raise MatcherError(f"`{name}` takes a text that is not empty; everything contains an empty one")

    return check


def _several(expected: Any) -> None:
    if not isinstance(expected, list) or not expected:
        raise MatcherError("`contains-all` takes a list with at least one item")
    for each in expected:
        _something(each, "contains-all")


def _something(expected: Any, name: str = "contains") -> None:
    if expected == "":
        raise MatcherError(f"`{name}` takes a text that is not empty; everything contains an empty one")


def _pattern(expected: Any) -> Any:
    """A validator for a regular expression that takes linear time, whatever the expression."""
    if not isinstance(expected, str):
        raise MatcherError(f"`regex` takes a text, and this is {kind_of(expected)}")
    if not expected:
        raise MatcherError("`regex` takes a pattern that is not empty; everything matches an empty one")
    if len(expected) > LONGEST_PATTERN:
        raise MatcherError(f"`regex` is longer than {LONGEST_PATTERN:,} characters")
    import jsonschema_rs

    schema = {"type": "string", "pattern": expected}
    try:
        return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in the library is no reason to end
        pattern = f"`{cropped(expected, 60)}`"
        if _SLOW.search(expected):
            raise MatcherError(f"{pattern} has look-around or a back-reference; write it without") from None
        raise MatcherError(f"{pattern} is no regular expression{_or_too_large(expected)}") from None


def _or_too_large(pattern: str) -> str:
    """The library does not tell the two apart."""
    return ", or repeats too much" if re.search(r"\{[0-9]", pattern) else ""


_SLOW = re.compile(r"\(\?<?[=!]|\(\?P=|\\[1-9k]")


def _schema(expected: Any) -> Any:
    from mcproof.generation.oracle import Oracle

    if expected is True or expected == {}:
        raise MatcherError("this schema allows everything, so it expects nothing")
    if isinstance(expected, dict):
        _refuse_unknown_keywords(expected)
    oracle = Oracle(expected)
    if oracle.problem is not None:
        raise MatcherError(f"`schema` cannot be used: {cropped(oracle.problem, 200)}")
    return oracle


def _refuse_unknown_keywords(schema: dict[str, Any]) -> None:
    """A validator lets an unknown keyword pass, and with it everything that it was meant to forbid."""
    from mcproof.errors import nearest
    from mcproof.schema.tree import SchemaTree

    for node in SchemaTree(schema).nodes:
        for word in node.schema if isinstance(node.schema, dict) else ():
            if word not in _KEYWORDS and not word.startswith(("x-", "$")):
                raise MatcherError(f"unknown keyword `{cropped(word, 60)}` in `schema`{nearest(word, list(_KEYWORDS))}")


NUMERIC = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const", "enum"))
"""The keywords that say something of a number."""
_KEYWORDS = (
    "id", "definitions", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas",
    "dependentRequired", "dependencies", "properties", "patternProperties", "additionalProperties", "propertyNames",
    "unevaluatedProperties", "unevaluatedItems", "items", "prefixItems", "additionalItems", "contains", "minContains",
    "maxContains", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxProperties",
    "minProperties", "required", "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples",
    "format", "contentEncoding", "contentMediaType", "contentSchema", "nullable",
)  # fmt: skip
"""Those of every dialect; the others begin with a `$`."""
_PREPARED: dict[str, Callable[[Any], Any]] = {
    "contains": _something,
    "icontains": _needs_text("icontains"),
    "contains-all": _several,
    "regex": _pattern,
    "schema": _schema,
}


def judge(matcher: Matcher, value: Any) -> Mismatch | None:
    """Why a value does not match; None where it does. What is not there matches nothing, but is as good as null."""
    if isinstance(value, Missing):
        if matcher.name == "exact" and matcher.expected is None and not matcher.is_negated:
            return None
        where = f"`{value.reached}` {value.why}" if value.reached else f"the answer {value.why}"
        return Mismatch(f"there is nothing there: {where}", wanted(matcher), "nothing")
    mismatch = _JUDGES[matcher.name](matcher, value)
    if not matcher.is_negated:
        return mismatch
    return Mismatch("it matches, and must not", wanted(matcher), shown(value)) if mismatch is None else None


def wanted(matcher: Matcher) -> str:
    """What a matcher asks for, in words."""
    words = "" if matcher.name == "exact" else f"{matcher.name} "
    return f"{'not ' if matcher.is_negated else ''}{words}{shown(matcher.expected)}"


def cropped(text: str, length: int = SHOWN) -> str:
    """As much of a text as is shown."""
    return text if len(text) <= length else f"{text[:length]}… ({len(text):,} characters)"


def shown(value: Any, length: int = SHOWN) -> str:
    """A value as JSON, cropped."""
    try:
        return cropped(json.dumps(value, ensure_ascii=False), length)
    except (RecursionError, ValueError):
        return "a value that is nested too deeply to be shown"


def _exact(matcher: Matcher, value: Any) -> Mismatch | None:
    found = list(differences(matcher.expected, value))
    if not found:
        return None
    told = "; ".join(found[:MOST_DIFFERENCES])
    more = "; and more" if len(found) > MOST_DIFFERENCES else ""
    return Mismatch(f"{told}{more}", wanted(matcher), shown(value))


def differences(expected: Any, got: Any) -> Iterator[str]:
    """Where two JSON values differ, one sentence each, a few more than are told; depth costs no recursion."""
    waiting: list[tuple[tuple[Step, ...], Any, Any]] = [((), expected, got)]
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
            yield f"{_at(path)}{_told(one, other)}"


def _members(path: tuple[Step, ...], one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    lacking = [key for key in one if key not in other]
    surplus = [key for key in other if key not in one]
    if lacking:
        yield f"{_at(path)}lacks {_keys(lacking)}"
    if surplus:
        yield f"{_at(path)}has {_keys(surplus)} as well"


def _keys(keys: list[str]) -> str:
    more = f" and {len(keys) - 5:,} more" if len(keys) > 5 else ""
    return ", ".join(f"`{cropped(key, 60)}`" for key in keys[:5]) + more


def _at(path: tuple[Step, ...]) -> str:
    return f"at {cropped(spelt(path), 100)}: " if path else ""


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (dict, list)) or isinstance(other, (dict, list)):
        return False
    return bool(one == other)


def _told(one: Any, other: Any) -> str:
    """How two values differ; of long texts, the place where they begin to."""
    if isinstance(one, str) and isinstance(other, str) and max(len(one), len(other)) > _AROUND:
        at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
        at = min(len(one), len(other)) if at is None else at
        start = max(0, at - _AROUND // 2)
        pair = [f"{'…' if start else ''}{text[start : at + _AROUND]}" for text in (one, other)]
        return f"from character {at + 1:,} on, expected {shown(pair[0])}, got {shown(pair[1])}"
    return f"expected {shown(one, 100)}, got {shown(other, 100)}"


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; 1 is 1.0, and true is no number."""
    return next(differences(one, other), None) is None


def _contains(matcher: Matcher, value: Any) -> Mismatch | None:
    return _containing(matcher, value, [matcher.expected])


def _contains_all(matcher: Matcher, value: Any) -> Mismatch | None:
    return _containing(matcher, value, matcher.expected)


def _containing(matcher: Matcher, value: Any, parts: list[Any]) -> Mismatch | None:
    if isinstance(value, list):
        missing = [part for part in parts if not any(equal(part, item) for item in value)]
    elif isinstance(value, str | dict):
        missing = [part for part in parts if not (isinstance(part, str) and part in value)]
    else:
        return Mismatch(f"{kind_of(value)} contains nothing", wanted(matcher), shown(value))
    if not missing:
        return None
    listed = ", ".join(shown(part, 100) for part in missing[:MOST_DIFFERENCES])
    return Mismatch(f"does not contain {listed}", wanted(matcher), shown(value))


def _icontains(matcher: Matcher, value: Any) -> Mismatch | None:
    if not isinstance(value, str):
        return Mismatch(f"is {kind_of(value)}, not a text", wanted(matcher), shown(value))
    if matcher.expected.casefold() in value.casefold():
        return None
    return Mismatch(f"does not contain {shown(matcher.expected, 100)}, in any case", wanted(matcher), shown(value))


def _regex(matcher: Matcher, value: Any) -> Mismatch | None:
    if not isinstance(value, str):
        return Mismatch(f"is {kind_of(value)}, not a text", wanted(matcher), shown(value))
    if matcher.validator.is_valid(_whole(value)):
        return None
    return Mismatch(
        f"does not match the regular expression {shown(matcher.expected, 100)}", wanted(matcher), shown(value)
    )


def _whole(text: str) -> str:
    """A text without half characters, which JSON can name and the validator cannot take."""
    return text.encode("utf-8", "replace").decode()


def _fits(matcher: Matcher, value: Any) -> Mismatch | None:
    oracle = matcher.validator
    if isinstance(matcher.expected, dict) and matcher.expected.keys() <= _BOUNDS and not _is_number(value):
        return Mismatch(f"is {kind_of(value)}, not a number", wanted(matcher), shown(value))
    if oracle.accepts(value):
        return None
    said = oracle.rejection(value)
    if said is not None:
        message, pointer = said
        where = f" at {cropped(pointer, 100)}" if pointer else ""
        return Mismatch(f"{cropped(message, 200)}{where}", wanted(matcher), shown(value))
    keyword, pointer = oracle.first_error(value) or ("schema", "")
    where = f" at {cropped(pointer, 100)}" if pointer else ""
    return Mismatch(f"breaks `{keyword}`{where}", wanted(matcher), shown(value))


_BOUNDS = NUMERIC - {"const", "enum"}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_JUDGES: dict[str, Callable[[Matcher, Any], Mismatch | None]] = {
    "exact": _exact,
    "contains": _contains,
    "icontains": _icontains,
    "contains-all": _contains_all,
    "regex": _regex,
    "schema": _fits,
}
