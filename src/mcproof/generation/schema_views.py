"""The ways to read the schemas that judge one value: references, unions, conditions, dependencies and negations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.generation.negation import excluded_values, opposites
from mcproof.generation.value_rules import ObjectRules, Place, mapping
from mcproof.schema.tree import SchemaTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.oracle import Oracle

_OLD_DIALECTS = ("draft-07", "draft-06", "draft-04")
_MOST_PICKS = 25
_MOST_READINGS = 400
"""How many choices of branches are looked at for one value."""


class Reader:
    """Reads the places of one schema document."""

    def __init__(self, schema: Any, oracle: Oracle) -> None:
        self._oracle = oracle
        self._checks: dict[int, Any] = {}
        self._derived: dict[tuple[int, str], tuple[Any, Any]] = {}
        self._places: dict[tuple[int, ...], tuple[list[Place], Iterator[Place]]] = {}
        self._paths: dict[int, str] = {}
        self._targets: dict[int, Any] = {}
        self._has_old_references = False
        if type(schema) is dict:
            self._has_old_references = any(old in str(schema.get("$schema", "")) for old in _OLD_DIALECTS)
            tree = SchemaTree(schema)
            for reference in tree.references.all:
                target = tree.references.target_node(reference)
                schema_there = reference.target if reference.is_resolved and target is None else None
                if target is not None:
                    schema_there = target.schema
                if schema_there is not None:
                    self._targets.setdefault(id(reference.holder.schema), []).append(schema_there)
            for node in tree.nodes:
                if type(node.schema) is dict:
                    self._paths.setdefault(id(node.schema), node.path)

    def fits(self, value: Any, schemas: tuple[Any, ...]) -> bool:
        """Whether a value fits all of these schemas, as far as the validator can be asked about them."""
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

    def places(self, schemas: tuple[Any, ...], most: int = 40) -> Iterator[Place]:
        """The ways to read what these schemas say of one value, the plainest first; none where they contradict.

        They are worked out when they are asked for, and kept.
        """
        key = tuple(map(id, schemas))
        if key not in self._places:
            whole = Place()
            for schema in schemas:
                self._absorb(whole, schema)
            self._places[key] = ([], self._readings(whole, 0, [_MOST_READINGS]))
        known, further = self._places[key]
        for number in range(most):
            if number == len(known):
                place = next(further, None)
                if place is None:
                    return
                known.append(place)
            yield known[number]

    def _readings(self, place: Place, picks: int, budget: list[int]) -> Iterator[Place]:
        """A place for each choice of branches: first all branches of the first union, then those of the next."""
        if picks >= _MOST_PICKS:
            place = place.copy()
            while place.unions and not place.is_impossible:
                self._absorb(place, place.unions.pop()[0])
        if place.is_impossible or budget[0] <= 0:
            return
        if not place.unions:
            yield place
            return
        waiting = []
        for branch in place.unions[0]:
            budget[0] -= 1
            if budget[0] <= 0:
                break
            waiting.append(self._readings(self._pick(place, branch), picks + 1, budget))
        while waiting:
            further = []
            for readings in waiting:
                found = next(readings, None)
                if found is not None:
                    yield found
                    further.append(readings)
            waiting = further

    def _pick(self, place: Place, branch: Any) -> Place:
        picked = place.copy()
        del picked.unions[0]
        self._absorb(picked, branch)
        return picked

    def _absorb(self, place: Place, schema: Any) -> None:
        """Add what a schema, and all it is combined of, says about the same value."""
        waiting = [schema]
        while waiting:
            current = waiting.pop()
            if type(current) is not dict:
                if current is not True:
                    place.kinds = ()
                continue
            if id(current) in place.met:
                continue
            place.met.add(id(current))
            targets = self._targets.get(id(current), [])
            if targets and self._has_old_references:
                waiting += targets[:1]
                continue
            self._read(place, current)
            branches = current.get("allOf")
            waiting += reversed([*targets, *(branches if type(branches) is list else [])])

    def _made(self, source: Any, what: str, schema: Any) -> Any:
        """What was made of a schema of the text, always the same for the same: its id is what it is known by."""
        return self._derived.setdefault((id(source), what), (schema, source))[0]

    def _read(self, place: Place, schema: dict[str, Any]) -> None:
        place.read(schema)
        self._read_objects(place, schema)
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if type(branches) is list and branches:
                place.unions.append(branches)
                place.is_picky = place.is_picky or keyword == "oneOf"
        if "not" in schema:
            place.is_picky = True
            self._read_not(place, schema["not"])
        if "if" in schema and ("then" in schema or "else" in schema):
            place.is_picky = True
            holds = self._made(schema, "if", {"allOf": [schema["if"], schema.get("then", True)]})
            fails = self._made(schema, "else", {"not": schema["if"], "allOf": [schema.get("else", True)]})
            place.unions.append([fails, holds] if "then" in schema else [holds, fails])

    def _read_objects(self, place: Place, schema: dict[str, Any]) -> None:
        if "properties" in schema or "additionalProperties" in schema or "patternProperties" in schema:
            place.rules.append(ObjectRules(schema))
        if "propertyNames" in schema:
            place.names.append(schema["propertyNames"])
        if "unevaluatedProperties" in schema:
            place.unevaluated = schema["unevaluatedProperties"]
            place.is_picky = True
        required = schema.get("required")
        for name in required if type(required) is list else ():
            if type(name) is str:
                place.required[name] = None
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, needed in mapping(schema.get(keyword)).items():
                if type(needed) is list:
                    place.needs.setdefault(name, []).extend(each for each in needed if type(each) is str)
                elif needed is not True:
                    without = {"properties": {name: False}}
                    branches = [without, {"required": [name], "allOf": [needed]}]
                    place.unions.append(self._made(schema, f"{keyword} {name}", branches))

    def _read_not(self, place: Place, schema: Any) -> None:
        """What the opposite of a schema allows, as far as it shows; the validator knows the rest."""
        if schema is True or schema == {}:
            place.kinds = ()
        if type(schema) is not dict or not schema:
            return
        values = excluded_values(schema)
        if values is not None:
            place.excluded += values
            return
        derived = self._derived.get((id(schema), "not"))
        if derived is None:
            targets = self._targets.get(id(schema))
            options = self._made(schema, "not", opposites(schema, targets[0] if targets else None))
        else:
            options = derived[0]
        if options:
            place.unions.append(options)
