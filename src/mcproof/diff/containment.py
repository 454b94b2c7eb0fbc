"""Whether one schema accepts all that another does, asked of a schema library.

The library compares two schemas as wholes. It is asked about copies without annotations in which every reference
is replaced by what it leads to, so a definition may be renamed or inlined. The copies are small: what
is too large, too deep or goes round in a circle is not asked about, and the answer is "nobody knows".

Callers send what a schema declares or requires. A property that the old schema neither names nor welcomes (by an
`additionalProperties` of its own, by a pattern, or by being an object that declares nothing) is left out of the
question: otherwise every new optional parameter of an open object would refuse what was accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from mcproof.diff.equality import key_of
from mcproof.diff.keywords import ASSERTIONS, DYNAMIC, SCHEMA_LISTS, SCHEMA_MAPS, SINGLE_SCHEMAS, unknown
from mcproof.diff.property_names import asks_for_more, declared, demanded, required

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcproof.diff.schema_side import Side

_MOST_LEVELS = 40
_MOST_SCHEMAS = 600
_MOST_CASES = 64
"""How many combinations of branches a schema may have to be asked about; the library takes seconds for thousands."""
_MOST_VALUES = 500
"""How long an `enum` may be to be asked about: the library's time grows with the square."""
_LONGEST_PATTERN = 200
_MOST_REPEATS = 1_000
"""How much a pattern may count, all counts multiplied: a few characters can stand for a machine of any size."""
_MOST_EFFORT = 100_000
"""How much is asked in one comparison of two catalogs, in schemas times combinations: a few seconds at worst."""

_COMBINING = frozenset(
    {"anyOf", "oneOf", "allOf", "if", "then", "else", "not", "dependentSchemas", "dependencies", "$ref"}
)
_WELCOMING = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_UNIONS = ("anyOf", "oneOf")


class Effort:
    """How much may still be asked of the library; beyond that the answer to everything is "nobody knows"."""

    def __init__(self, most: int = _MOST_EFFORT) -> None:
        self._left = most

    def spend(self, amount: int) -> bool:
        """Whether a question of this size may be asked."""
        self._left -= amount
        return self._left >= 0


class _NotAskedError(Exception):
    """A schema that the library is not asked about: too large, too deep, or not known in full."""


class Copy:
    """A schema for the library: without annotations and references."""

    def __init__(self, side: Side, schema: Any, *, is_root: bool, closed: bool) -> None:
        self._side = side
        self._is_closing = closed
        self.count = 0
        """How many schemas it is made of."""
        self._open: set[int] = set()
        self.names: Counter[str] = Counter()
        """The declared names, with how often each is declared."""
        self.welcomes = False
        """Whether some object takes properties which it does not declare, by its words or by saying nothing."""
        self.unknown: Counter[Hashable] = Counter()
        """The members that nobody knows the meaning of; the library is not asked about them."""
        self.is_open = False
        """Whether undeclared properties are part of the question at some object."""
        self.schema = self._copy(schema, 0, alone=True, is_root=is_root)

    def _copy(self, schema: Any, level: int, *, alone: bool, is_root: bool = False) -> Any:
        """A copy of one schema; `alone` says whether no other schema judges the same value."""
        if isinstance(schema, bool):
            self.welcomes |= schema
            return schema
        self.count += 1
        if (
            not isinstance(schema, dict)
            or level > _MOST_LEVELS
            or self.count > _MOST_SCHEMAS
            or id(schema) in self._open
            or not DYNAMIC.isdisjoint(schema)
        ):
            raise _NotAskedError
        self._open.add(id(schema))
        if not ("$ref" in schema and self._side.ignores_siblings):
            self.unknown.update((keyword, key_of(value)) for keyword, value in unknown(schema).items())
        copy = self._members(schema, level + 1, alone=alone, is_root=is_root)
        self._open.discard(id(schema))
        return copy

    def _members(self, schema: dict[str, Any], level: int, *, alone: bool, is_root: bool) -> Any:
        keywords = [keyword for keyword in schema if keyword in ASSERTIONS and keyword != "format"]
        if "$ref" in schema:
            reference = self._side.reference(schema)
            if reference is None:
                raise _NotAskedError
            others = [keyword for keyword in keywords if keyword != "$ref"]
            if not others or self._side.ignores_siblings:
                return self._copy(reference.target, level, alone=alone, is_root=is_root)
            beside = {keyword: schema[keyword] for keyword in others}
            return {
                "allOf": [
                    self._copy(reference.target, level, alone=False),
                    self._members(beside, level, alone=False, is_root=is_root),
                ]
            }
        copy: dict[str, Any] = {}
        is_simple = _COMBINING.isdisjoint(keywords)
        if len(keywords) == 1 and keywords[0] in _UNIONS:
            return {keywords[0]: self._union(schema[keywords[0]], level, alone=alone)}
        for keyword in keywords:
            copy[keyword] = self._value(keyword, schema[keyword], level, schema, alone=alone and is_simple)
        if "object" in _types_of(schema) or isinstance(schema.get("properties"), dict):
            self._close(copy, alone=alone and is_simple, is_root=is_root)
        self.welcomes |= _takes_anything(schema)
        return copy

    def _union(self, branches: Any, level: int, *, alone: bool) -> list[Any]:
        """Branches of which only one can be an object stand alone; several may judge one object together."""
        if not isinstance(branches, list):
            raise _NotAskedError
        scalar = [_types_of(branch) and "object" not in _types_of(branch) for branch in branches]
        alone = alone and sum(not each for each in scalar) <= 1
        return [self._copy(branch, level, alone=alone) for branch in branches]

    def _value(self, keyword: str, value: Any, level: int, schema: dict[str, Any], *, alone: bool) -> Any:
        if keyword == "properties" and isinstance(value, dict):
            self.names.update(value.keys())
            alone = alone and "patternProperties" not in schema
        elif keyword == "patternProperties" and isinstance(value, dict):
            alone = alone and len(value) == 1 and not schema.get("properties")
        elif keyword in {"contains", "items", "prefixItems"}:
            alone = alone and "contains" not in schema
        if keyword in SCHEMA_MAPS and isinstance(value, dict):
            return {
                name: each if isinstance(each, list) else self._copy(each, level, alone=alone)
                for name, each in value.items()
            }
        if keyword in SCHEMA_LISTS and isinstance(value, list):
            return [self._copy(each, level, alone=alone) for each in value]
        if keyword in SINGLE_SCHEMAS:
            return self._copy(value, level, alone=alone)
        return value

    def _close(self, copy: dict[str, Any], *, alone: bool, is_root: bool) -> None:
        """Leave what an object neither declares nor welcomes out of the question, where that is sound.

        It is not where that could leave out every object: a schema that accepts nothing is within all others.
        """
        is_described = bool(copy.get("properties")) or is_root
        if not is_described or any(copy.get(keyword, False) is not False for keyword in _WELCOMING):
            self.welcomes = True
        if not is_described or any(keyword in copy for keyword in _WELCOMING):
            return
        asks = asks_for_more(copy)
        self.welcomes |= asks
        if asks or not alone or not self._is_closing or copy.get("minProperties", 0) > len(required(copy)):
            self.is_open = True
            return
        if not isinstance(copy.get("properties", {}), dict):
            raise _NotAskedError
        undeclared = [name for name in demanded(copy) if name not in declared(copy)]
        self.names.update(undeclared)
        copy["properties"] = declared(copy) | dict.fromkeys(undeclared, True)
        copy["additionalProperties"] = False


def contains(
    wider: tuple[Side, Any],
    narrower: tuple[Side, Any],
    effort: Effort,
    *,
    is_root: bool = False,
    declared_only: bool = False,
) -> bool | None:
    """Whether the first schema accepts all that the second does; None where that is not known.

    With `declared_only` the second is taken to be about what it declares, as the module says.
    """
    draft = wider[0].draft
    if draft is None or draft != narrower[0].draft:
        return None
    try:
        inner = Copy(*narrower, is_root=is_root, closed=declared_only)
        outer = Copy(*wider, is_root=is_root, closed=False)
    except _NotAskedError:
        return None
    is_mixed_up = False
    if declared_only:
        if not inner.welcomes:
            _allow_any(outer.schema, outer.names.keys() - inner.names.keys())
            for name in outer.names.keys() - inner.names.keys():
                del outer.names[name]
        is_mixed_up = inner.is_open and bool(outer.names - inner.names)
    answer = ask(outer.schema, inner.schema, draft, effort, outer.count + inner.count)
    if (answer is False and is_mixed_up) or (answer and inner.unknown != outer.unknown):
        return None
    return answer


def ask(wider: Any, narrower: Any, draft: int, effort: Effort, size: int = 2) -> bool | None:
    """Whether the first of two schemas without references accepts all that the second does; None if not known."""
    import jsonschema_rs

    cases = max(_cases(wider), _cases(narrower))
    if cases > _MOST_CASES or not effort.spend(cases * size):
        return None
    try:
        outer, inner = (
            jsonschema_rs.canonicalize(schema, draft=draft, validate_formats=False, offline=True)
            for schema in (wider, narrower)
        )
        answer = outer.covers(inner)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # whatever is wrong with a stranger's schema, even a panic in the library, is no answer
        return None
    if answer == jsonschema_rs.canonical.Containment.YES:
        return True
    return False if answer == jsonschema_rs.canonical.Containment.NO else None


def _takes_anything(schema: dict[str, Any]) -> bool:
    """Whether there may be objects in what a schema accepts that it does not describe."""
    types = _types_of(schema)
    if not types and "properties" not in schema:
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if values is None:
            return "allOf" not in schema
        return not isinstance(values, list) or any(isinstance(each, (dict, list)) for each in values)
    return "array" in types and "items" not in schema


def _types_of(schema: Any) -> list[Any]:
    """The types that a schema names."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, list) else [kind] if isinstance(kind, str) else []


def _allow_any(copy: Any, names: set[str]) -> None:
    """Let these properties have any value, wherever a copy declares them."""
    waiting = [copy]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, list):
            waiting += schema
        elif isinstance(schema, dict):
            for keyword, value in schema.items():
                if keyword in SCHEMA_MAPS and isinstance(value, dict):
                    if keyword == "properties":
                        value.update(dict.fromkeys(names & value.keys(), True))
                    waiting += value.values()
                elif keyword in SCHEMA_LISTS or keyword in SINGLE_SCHEMAS:
                    waiting.append(value)


def _cases(copy: Any) -> int:
    """About how many combinations of branches a copy has for one value; copies are shallow, so this may recurse."""
    if not isinstance(copy, dict):
        return 1
    count = 1
    for keyword, value in copy.items():
        if keyword == "enum" and isinstance(value, list) and len(value) > _MOST_VALUES:
            return 10 * _MOST_CASES
        if keyword == "pattern" and isinstance(value, str) and _is_large(value):
            return 10 * _MOST_CASES
        if keyword in _UNIONS and isinstance(value, list):
            count *= max(1, sum(map(_cases, value)))
        elif keyword == "allOf" and isinstance(value, list):
            for each in value:
                count *= _cases(each)
        elif keyword in {"if", "not"}:
            count *= 1 + _cases(value)
        elif keyword in {"then", "else", "items", "additionalProperties", "contains"}:
            count *= _cases(value)
        elif keyword in SCHEMA_MAPS and isinstance(value, dict):
            if keyword == "patternProperties" and any(map(_is_large, value)):
                return 10 * _MOST_CASES
            for each in value.values():
                count = max(count, _cases(each)) if keyword == "properties" else count * (1 + _cases(each))
    return min(count, 10 * _MOST_CASES)


def _is_large(pattern: str) -> bool:
    """Whether an expression would take long to be made ready, by its looks."""
    if len(pattern) > _LONGEST_PATTERN:
        return True
    repeats = 1
    for counts in re.findall(r"\{([0-9,]{1,20})\}", pattern):
        repeats *= max([int(count) for count in counts.split(",") if count], default=1) or 1
    return repeats > _MOST_REPEATS
