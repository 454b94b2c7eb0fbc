"""Resolve the schemas that apply to one value into constraints, one set for every choice of branches.

`not` becomes schemas that state what it allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any

from mcproof.core.schema.tree import SchemaTree
from mcproof.core.schema.validation import Oracle
from mcproof.probing.generation.constraints import ValueConstraints, as_object, as_strings, is_number

_MAX_BRANCHES = 20
_SIMPLEST_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_NEGATED = frozenset({"type", "const", "enum", "required", "properties", "not", "anyOf", "oneOf", "allOf", "$ref"})
_CONDITION = frozenset({"if", "then", "else"})
_BOUNDS = frozenset({"maxLength", "minLength", "minimum", "maximum"})
_ANNOTATIONS = frozenset({"description", "title", "default", "examples", "$comment", "$defs", "definitions", "$schema"})


def excluded_values(schema: Any) -> list[Any] | None:
    """The values that `not` excludes; None unless the schema inside is a single `const` or `enum`."""
    if type(schema) is not dict or len(schema) != 1:
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if type(values) is list else None


def negations(schema: dict[str, Any], target: Any) -> list[Any]:
    """Return schemas of which at least one holds for every value that `schema` rejects.

    `target` is the schema that its `$ref` refers to, if any. If a keyword cannot be negated, the last schema is `true`.
    """
    branches: list[Any] = []
    if "type" in schema:
        named = as_strings(schema["type"])
        branches.append({"type": [name for name in _SIMPLEST_TYPES if name not in _with_integer(named)]})
    branches += [{"not": {keyword: schema[keyword]}} for keyword in ("const", "enum") if keyword in schema]
    required = schema.get("required")
    if type(required) is list:
        branches += [{"properties": {name: False}} for name in required[:_MAX_BRANCHES] if type(name) is str]
    for name, subschema in islice(as_object(schema.get("properties")).items(), _MAX_BRANCHES):
        branches.append({"required": [name], "properties": {name: {"not": subschema}}})
    if "not" in schema:
        branches.append({"allOf": [schema["not"]]})
    branches += _negated_unions(schema)
    branches += _negated_bounds(schema)
    if "if" in schema:
        branches.append({"allOf": [schema["if"], {"not": schema.get("then", True)}]})
        branches.append({"allOf": [{"not": schema["if"]}, {"not": schema.get("else", True)}]})
    if target is not None:
        branches.append({"not": target})
    if not schema.keys() <= _NEGATED | _CONDITION | _BOUNDS | _ANNOTATIONS:
        branches.append(True)
    return branches


def _with_integer(types: list[str]) -> list[str]:
    return [*types, "integer"] if "number" in types else types


def _negated_unions(schema: dict[str, Any]) -> list[Any]:
    branches: list[Any] = []
    for keyword in ("anyOf", "oneOf"):
        if type(schema.get(keyword)) is list:
            branches.append({"allOf": [{"not": branch} for branch in schema[keyword]]})
    if type(schema.get("oneOf")) is list:
        branches += [{"allOf": list(pair)} for pair in islice(combinations(schema["oneOf"], 2), _MAX_BRANCHES)]
    if type(schema.get("allOf")) is list:
        branches += [{"not": branch} for branch in schema["allOf"][:_MAX_BRANCHES]]
    return branches


def _negated_bounds(schema: dict[str, Any]) -> list[Any]:
    branches: list[Any] = []
    if type(schema.get("maxLength")) is int:
        branches.append({"type": "string", "minLength": schema["maxLength"] + 1})
    if type(schema.get("minLength")) is int and schema["minLength"] > 0:
        branches.append({"type": "string", "maxLength": schema["minLength"] - 1})
    if is_number(schema.get("minimum")):
        branches.append({"type": "number", "exclusiveMaximum": schema["minimum"]})
    if is_number(schema.get("maximum")):
        branches.append({"type": "number", "exclusiveMinimum": schema["maximum"]})
    return branches


_REF_ONLY_DIALECTS = ("draft-07", "draft-06", "draft-04")
"""Dialects in which the keywords beside a `$ref` are ignored."""
_MAX_CHOICES = 25
"""How many unions may apply to one value before the first branch of every further one is taken."""
_MAX_ALTERNATIVES = 400
"""How many branches are tried for one value."""


class ConstraintResolver:
    """Resolves the subschemas of one schema document."""

    def __init__(self, schema: Any, oracle: Oracle) -> None:
        self._oracle = oracle
        self._checks: dict[int, Any] = {}
        self._derived: dict[tuple[int, str], tuple[Any, Any]] = {}
        self._alternatives: dict[tuple[int, ...], tuple[list[ValueConstraints], Iterator[ValueConstraints]]] = {}
        self._budgets: dict[tuple[int, ...], list[int]] = {}
        """How many more branches are tried for the schemas of a value."""
        self._paths: dict[int, str] = {}
        self._targets: dict[int, Any] = {}
        self._ignores_ref_siblings = False
        if type(schema) is dict:
            self._ignores_ref_siblings = any(old in str(schema.get("$schema", "")) for old in _REF_ONLY_DIALECTS)
            self._index(SchemaTree(schema))

    def _index(self, tree: SchemaTree) -> None:
        for reference in tree.references.all:
            node = tree.references.target_node(reference)
            target = node.schema if node is not None else reference.target if reference.is_resolved else None
            if target is not None:
                self._targets.setdefault(id(reference.holder.schema), []).append(target)
        for node in tree.nodes:
            if type(node.schema) is dict:
                self._paths.setdefault(id(node.schema), node.path)

    def is_valid(self, value: Any, schemas: tuple[Any, ...]) -> bool:
        """Whether a value is valid against all of these subschemas; those without a validator are skipped."""
        for schema in schemas:
            if schema is False:
                return False
            if type(schema) is not dict:
                continue
            key = id(schema)
            if key not in self._checks:
                path = self._paths.get(key)
                self._checks[key] = None if path is None else self._oracle.check_at(path)
            check = self._checks[key]
            if check is not None and not check(value):
                return False
        return True

    def alternatives(self, schemas: tuple[Any, ...], limit: int = 40) -> Iterator[ValueConstraints]:
        """The constraints that these schemas place on one value, for every choice of branches.

        The simplest choice comes first; there is none if the schemas contradict each other. Results are computed on
        demand and cached.
        """
        key = tuple(map(id, schemas))
        if key not in self._alternatives:
            merged = ValueConstraints()
            for schema in schemas:
                self._merge(merged, schema)
            self._budgets[key] = [_MAX_ALTERNATIVES]
            self._alternatives[key] = ([], self._choose(merged, 0, self._budgets[key]))
        cached, remaining = self._alternatives[key]
        for number in range(limit):
            if number == len(cached):
                constraints = next(remaining, None)
                if constraints is None:
                    return
                cached.append(constraints)
            yield cached[number]

    def is_cut(self, schemas: tuple[Any, ...]) -> bool:
        """Whether the alternatives of these schemas ended before every choice of branches was tried."""
        return self._budgets[tuple(map(id, schemas))][0] <= 0

    def _choose(self, constraints: ValueConstraints, choices: int, budget: list[int]) -> Iterator[ValueConstraints]:
        """Yield constraints for every choice of branches; the branches of the first union take turns."""
        if choices >= _MAX_CHOICES:
            constraints = constraints.copy()
            while constraints.unions and not constraints.is_unsatisfiable:
                self._merge(constraints, constraints.unions.pop()[0])
        # Unions multiply: ten with ten branches each are ten billion choices, so the number tried is bounded.
        if constraints.is_unsatisfiable or budget[0] <= 0:
            return
        if not constraints.unions:
            yield constraints
            return
        waiting = []
        for branch in constraints.unions[0]:
            budget[0] -= 1
            if budget[0] <= 0:
                break
            waiting.append(self._choose_branch(constraints, branch, choices + 1, budget))
        while waiting:
            unfinished = []
            for alternatives in waiting:
                chosen = next(alternatives, None)
                if chosen is not None:
                    yield chosen
                    unfinished.append(alternatives)
            waiting = unfinished

    def _choose_branch(
        self, constraints: ValueConstraints, branch: Any, choices: int, budget: list[int]
    ) -> Iterator[ValueConstraints]:
        """Yield constraints with a branch of the first union. They are copied on demand: a union may have many."""
        chosen = constraints.copy()
        del chosen.unions[0]
        self._merge(chosen, branch)
        yield from self._choose(chosen, choices, budget)

    def _merge(self, constraints: ValueConstraints, schema: Any) -> None:
        """Merge a schema and everything it includes by `$ref` and `allOf`."""
        waiting = [schema]
        while waiting:
            current = waiting.pop()
            if type(current) is not dict:
                if current is not True:
                    constraints.forbid_all()
                continue
            if id(current) in constraints.merged_ids:
                continue
            constraints.merged_ids.add(id(current))
            targets = self._targets.get(id(current), [])
            if targets and self._ignores_ref_siblings:
                waiting += targets[:1]
                continue
            self._merge_keywords(constraints, current)
            branches = current.get("allOf")
            # Reversed, because the last is taken first.
            waiting += reversed([*targets, *(branches if type(branches) is list else [])])

    def _merge_keywords(self, constraints: ValueConstraints, schema: dict[str, Any]) -> None:
        constraints.add(schema)
        self._merge_dependencies(constraints, schema)
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if type(branches) is list and branches:
                constraints.unions.append(branches)
                constraints.needs_validation = constraints.needs_validation or keyword == "oneOf"
        if "not" in schema:
            constraints.needs_validation = True
            self._merge_not(constraints, schema["not"])
        if "if" in schema and ("then" in schema or "else" in schema):
            constraints.needs_validation = True
            holds = self._cached(schema, "if", {"allOf": [schema["if"], schema.get("then", True)]})
            fails = self._cached(schema, "else", {"not": schema["if"], "allOf": [schema.get("else", True)]})
            # The branch without further demands comes first: it has the simpler values.
            constraints.unions.append([fails, holds] if "then" in schema else [holds, fails])

    def _merge_dependencies(self, constraints: ValueConstraints, schema: dict[str, Any]) -> None:
        """Add a union for every schema that applies if a property is present."""
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, dependency in as_object(schema.get(keyword)).items():
                if type(dependency) is not list and dependency is not True:
                    absent = {"properties": {name: False}}
                    branches = [absent, {"required": [name], "allOf": [dependency]}]
                    constraints.unions.append(self._cached(schema, f"{keyword} {name}", branches))

    def _merge_not(self, constraints: ValueConstraints, schema: Any) -> None:
        """Add what `not` allows, as far as it can be expressed; the validator checks the rest."""
        if schema is True or schema == {}:
            constraints.forbid_all()
        if type(schema) is not dict or not schema:
            return
        values = excluded_values(schema)
        if values is not None:
            constraints.excluded_values += values
            return
        cached = self._derived.get((id(schema), "not"))
        if cached is None:
            targets = self._targets.get(id(schema))
            branches = self._cached(schema, "not", negations(schema, targets[0] if targets else None))
        else:
            branches = cached[0]
        if branches:
            constraints.unions.append(branches)

    def _cached(self, source: Any, key: str, derived: Any) -> Any:
        """Return the same derived schema for the same source: schemas are identified by `id`."""
        # The source is stored as well, so that its id is not given to another object.
        return self._derived.setdefault((id(source), key), (derived, source))[0]
