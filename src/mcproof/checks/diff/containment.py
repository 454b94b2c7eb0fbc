"""Whether one schema accepts every value that another accepts, decided by a schema library.

The library compares whole schemas. It is given copies without annotations, in which every reference is replaced by
its target, so definitions may be renamed or inlined. Copies are small: for schemas that are too large, too deep or
recursive the result is unknown.

Callers send what a schema declares or requires. A property that the old schema neither names nor explicitly allows
(by `additionalProperties`, by a pattern, or as an object without declared properties) is left out of the
comparison: otherwise every new optional parameter of an open object would count as a rejection of values accepted
before.
Why undecided is a result: docs/decisions/0004-diff-three-values.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from typing import Any

from mcproof.checks.diff.documents import (
    Subschema,
    constrains_unnamed,
    declared_properties,
    json_key,
    mentioned_names,
    required_names,
)
from mcproof.core.schema.keywords import (
    ALTERNATIVES,
    ASSERTIONS,
    DYNAMIC,
    IN_PLACE_APPLICATORS,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SINGLE_SCHEMAS,
    unknown_keywords,
)

_MAX_DEPTH = 40
_MAX_SCHEMAS = 600
_MAX_COMBINATIONS = 64
"""The limit on combinations of branches in a schema; the library takes seconds for thousands."""
_TOO_MANY_COMBINATIONS = 10 * _MAX_COMBINATIONS
_MAX_ENUM_VALUES = 500
"""The limit on the length of an `enum`: the library takes quadratic time."""
_MAX_PATTERN_LENGTH = 200
_MAX_PATTERN_REPETITIONS = 1_000
"""The limit on the product of all counts in a pattern: a short pattern can compile to a huge automaton."""
_MAX_COST = 100_000
"""The limit on the cost of comparing two catalogs, in schemas times combinations: a few seconds at worst."""

_OPENING_KEYWORDS = ("additionalProperties", "patternProperties", "unevaluatedProperties")


class ContainmentBudget:
    """The remaining cost of containment checks; once it is spent, every result is unknown."""

    def __init__(self, limit: int = _MAX_COST) -> None:
        self._remaining = limit

    def spend(self, cost: int) -> bool:
        """Subtract a cost; false if the budget is exceeded."""
        self._remaining -= cost
        return self._remaining >= 0


class _UndecidableError(Exception):
    """A schema is too large, too deep, recursive or not fully known."""


class InlinedSchema:
    """A copy of a schema for the library: without annotations and references."""

    def __init__(self, subschema: Subschema, *, is_root: bool, closed: bool) -> None:
        self._document = subschema.document
        self._is_closed = closed
        self._in_progress: set[int] = set()
        self.count = 0
        """How many schemas the copy consists of."""
        self.names: Counter[str] = Counter()
        """How often each property name is declared."""
        self.allows_undeclared = False
        """Whether some object allows undeclared properties, explicitly or because it declares none."""
        self.unknown: Counter[Hashable] = Counter()
        """The unknown keywords, which the library does not see."""
        self.has_open_object = False
        """Whether undeclared properties of some object are part of the comparison."""
        self.schema = self._copy(subschema.schema, 0, alone=True, is_root=is_root)

    def _copy(self, schema: Any, depth: int, *, alone: bool, is_root: bool = False) -> Any:
        """Copy one schema; `alone` means that no other schema applies to the same value."""
        if isinstance(schema, bool):
            self.allows_undeclared |= schema
            return schema
        self.count += 1
        if (
            not isinstance(schema, dict)
            or depth > _MAX_DEPTH
            or self.count > _MAX_SCHEMAS
            or id(schema) in self._in_progress
            or not DYNAMIC.isdisjoint(schema)
        ):
            raise _UndecidableError
        self._in_progress.add(id(schema))
        if not ("$ref" in schema and self._document.ignores_ref_siblings):
            self.unknown.update((keyword, json_key(value)) for keyword, value in unknown_keywords(schema).items())
        copy = self._copy_keywords(schema, depth + 1, alone=alone, is_root=is_root)
        self._in_progress.discard(id(schema))
        return copy

    def _copy_keywords(self, schema: dict[str, Any], depth: int, *, alone: bool, is_root: bool) -> Any:
        # Whether `format` is asserted is up to the validator: docs/decisions/0024-two-validators.md.
        keywords = [keyword for keyword in schema if keyword in ASSERTIONS and keyword != "format"]
        if "$ref" in schema:
            reference = self._document.reference(schema)
            if reference is None:
                raise _UndecidableError
            siblings = {keyword: schema[keyword] for keyword in keywords if keyword != "$ref"}
            if not siblings or self._document.ignores_ref_siblings:
                return self._copy(reference.target, depth, alone=alone, is_root=is_root)
            return {
                "allOf": [
                    self._copy(reference.target, depth, alone=False),
                    self._copy_keywords(siblings, depth, alone=False, is_root=is_root),
                ]
            }
        if len(keywords) == 1 and keywords[0] in ALTERNATIVES:
            return {keywords[0]: self._copy_branches(schema[keywords[0]], depth, alone=alone)}
        alone = alone and IN_PLACE_APPLICATORS.isdisjoint(keywords)
        copy = {keyword: self._copy_value(keyword, schema, depth, alone=alone) for keyword in keywords}
        if "object" in _declared_types(schema) or isinstance(schema.get("properties"), dict):
            self._close(copy, alone=alone, is_root=is_root)
        self.allows_undeclared |= _allows_undescribed_objects(schema)
        return copy

    def _copy_branches(self, branches: Any, depth: int, *, alone: bool) -> list[Any]:
        """Copy the branches of a union; they are alone if at most one of them accepts objects."""
        if not isinstance(branches, list):
            raise _UndecidableError
        types = [_declared_types(branch) for branch in branches]
        alone = alone and sum(not declared or "object" in declared for declared in types) <= 1
        return [self._copy(branch, depth, alone=alone) for branch in branches]

    def _copy_value(self, keyword: str, schema: dict[str, Any], depth: int, *, alone: bool) -> Any:
        value = schema[keyword]
        if keyword == "properties" and isinstance(value, dict):
            self.names.update(value.keys())
            alone = alone and "patternProperties" not in schema
        elif keyword == "patternProperties" and isinstance(value, dict):
            alone = alone and len(value) == 1 and not schema.get("properties")
        elif keyword in {"contains", "items", "prefixItems"}:
            alone = alone and "contains" not in schema
        if keyword in SCHEMA_MAPS and isinstance(value, dict):
            return {
                name: subschema if isinstance(subschema, list) else self._copy(subschema, depth, alone=alone)
                for name, subschema in value.items()
            }
        if keyword in SCHEMA_LISTS and isinstance(value, list):
            return [self._copy(subschema, depth, alone=alone) for subschema in value]
        if keyword in SINGLE_SCHEMAS:
            return self._copy(value, depth, alone=alone)
        return value

    def _close(self, copy: dict[str, Any], *, alone: bool, is_root: bool) -> None:
        """Reject properties that an object neither declares nor allows, if that is sound.

        It is not sound if it could reject every object: an unsatisfiable schema is contained in all others.
        """
        is_described = bool(copy.get("properties")) or is_root
        if not is_described or any(copy.get(keyword, False) is not False for keyword in _OPENING_KEYWORDS):
            self.allows_undeclared = True
        if not is_described or any(keyword in copy for keyword in _OPENING_KEYWORDS):
            return
        is_constrained = constrains_unnamed(copy)
        self.allows_undeclared |= is_constrained
        if (
            is_constrained
            or not alone
            or not self._is_closed
            or copy.get("minProperties", 0) > len(required_names(copy))
        ):
            self.has_open_object = True
            return
        if not isinstance(copy.get("properties", {}), dict):
            raise _UndecidableError
        declared = declared_properties(copy)
        undeclared = [name for name in mentioned_names(copy) if name not in declared]
        self.names.update(undeclared)
        copy["properties"] = declared | dict.fromkeys(undeclared, True)
        copy["additionalProperties"] = False


def contains(
    wider: Subschema,
    narrower: Subschema,
    budget: ContainmentBudget,
    *,
    is_root: bool = False,
    declared_only: bool = False,
) -> bool | None:
    """Whether `wider` accepts every value that `narrower` accepts; None if unknown.

    With `declared_only`, undeclared properties of `narrower` are left out, as described in the module.
    """
    draft = wider.document.draft
    if draft is None or draft != narrower.document.draft:
        return None
    try:
        inner = InlinedSchema(narrower, is_root=is_root, closed=declared_only)
        outer = InlinedSchema(wider, is_root=is_root, closed=False)
    except _UndecidableError:
        return None
    is_uncertain = False
    if declared_only:
        if not inner.allows_undeclared:
            # Callers do not send the names that only the wider schema has, so no value of theirs can be rejected.
            added = outer.names.keys() - inner.names.keys()
            _allow_any_value(outer.schema, added)
            for name in added:
                del outer.names[name]
        is_uncertain = inner.has_open_object and bool(outer.names - inner.names)
    result = contains_inlined(outer.schema, inner.schema, draft, budget, outer.count + inner.count)
    # Unknown keywords may reject values, and the library does not see them.
    if (result is False and is_uncertain) or (result and inner.unknown != outer.unknown):
        return None
    return result


def contains_inlined(wider: Any, narrower: Any, draft: int, budget: ContainmentBudget, size: int = 2) -> bool | None:
    """Like `contains`, for two schemas without references."""
    import jsonschema_rs

    combinations = max(_combinations(wider), _combinations(narrower))
    if combinations > _MAX_COMBINATIONS or not budget.spend(combinations * size):
        return None
    try:
        outer, inner = (
            jsonschema_rs.canonicalize(schema, draft=draft, validate_formats=False, offline=True)
            for schema in (wider, narrower)
        )
        result = outer.covers(inner)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # includes panics in the library
        return None
    if result == jsonschema_rs.canonical.Containment.YES:
        return True
    return False if result == jsonschema_rs.canonical.Containment.NO else None


def _allows_undescribed_objects(schema: dict[str, Any]) -> bool:
    """Whether a schema may accept objects that it does not describe."""
    types = _declared_types(schema)
    if not types and "properties" not in schema:
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if values is None:
            return "allOf" not in schema
        return not isinstance(values, list) or any(isinstance(value, (dict, list)) for value in values)
    return "array" in types and "items" not in schema


def _declared_types(schema: Any) -> list[Any]:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, list) else [kind] if isinstance(kind, str) else []


def _allow_any_value(copy: Any, names: set[str]) -> None:
    """Accept any value for these properties, wherever a copy declares them."""
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


def _combinations(copy: Any) -> int:
    """Estimate the combinations of branches that apply to one value; the depth of copies bounds the recursion."""
    if not isinstance(copy, dict):
        return 1
    count = 1
    for keyword, value in copy.items():
        if keyword == "enum" and isinstance(value, list) and len(value) > _MAX_ENUM_VALUES:
            return _TOO_MANY_COMBINATIONS
        if keyword == "pattern" and isinstance(value, str) and _is_expensive(value):
            return _TOO_MANY_COMBINATIONS
        if keyword in ALTERNATIVES and isinstance(value, list):
            count *= max(1, sum(map(_combinations, value)))
        elif keyword == "allOf" and isinstance(value, list):
            for subschema in value:
                count *= _combinations(subschema)
        elif keyword in {"if", "not"}:
            count *= 1 + _combinations(value)
        elif keyword in {"then", "else", "items", "additionalProperties", "contains"}:
            count *= _combinations(value)
        elif keyword in SCHEMA_MAPS and isinstance(value, dict):
            if keyword == "patternProperties" and any(map(_is_expensive, value)):
                return _TOO_MANY_COMBINATIONS
            # Each property is a value of its own, so the largest count decides; several patterns may apply to one
            # value.
            for subschema in value.values():
                count = (
                    max(count, _combinations(subschema))
                    if keyword == "properties"
                    else count * (1 + _combinations(subschema))
                )
    return min(count, _TOO_MANY_COMBINATIONS)


def _is_expensive(pattern: str) -> bool:
    """Whether compiling a pattern may take long, judged by its length and counts."""
    if len(pattern) > _MAX_PATTERN_LENGTH:
        return True
    repetitions = 1
    for counts in re.findall(r"\{([0-9,]{1,20})\}", pattern):
        repetitions *= max([int(count) for count in counts.split(",") if count], default=1) or 1
    return repetitions > _MAX_PATTERN_REPETITIONS
