"""What all the schemas that judge one value say about it together.

References and `allOf` are followed, and of each union one branch is taken: a place is what is left, the bounds of
one value. Where a schema can be read in several ways (unions, conditions, dependencies) there are several places, the
plainest first. They guide what is tried; whether a value fits is for the validator to say, so a place may be
wider than its schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.generation.patterns import matches
from mcproof.schemas import SchemaTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.oracle import Oracle

KINDS = ("object", "array", "string", "integer", "number", "boolean", "null")
_HINTS = (
    ("object", ("properties", "required", "additionalProperties", "patternProperties", "minProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems")),
    ("string", ("minLength", "maxLength", "pattern", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)
_OLD_DIALECTS = ("draft-07", "draft-06", "draft-04")
_MOST_PICKS = 25
_MOST_VALUES = 200_000
"""How many values of an `enum` are compared with those of another."""
_MOST_READINGS = 400
"""How many choices of branches are looked at for one value."""


class ObjectRules:
    """What one schema says about the properties of an object."""

    __slots__ = ("others", "patterns", "properties")

    def __init__(self, schema: dict[str, Any]) -> None:
        self.properties: dict[str, Any] = _mapping(schema.get("properties"))
        self.patterns: dict[str, Any] = _mapping(schema.get("patternProperties"))
        self.others: Any = schema.get("additionalProperties", True)

    def of(self, name: str) -> Iterator[Any]:
        """The schemas that judge a property of this name."""
        is_declared = name in self.properties
        if is_declared:
            yield self.properties[name]
        for pattern, schema in self.patterns.items():
            if matches(pattern, name):
                is_declared = True
                yield schema
        if not is_declared and self.others is not True:
            yield self.others


class Place:
    """The bounds of one value. A list of schemas means that all of them must hold."""

    def __init__(self) -> None:
        self.kinds: tuple[str, ...] = KINDS
        self.hinted: list[str] = []
        self.values: list[Any] | None = None
        self.values_from = "enum"
        self.excluded: list[Any] = []
        self.suggested: list[Any] = []
        self.unions: list[list[Any]] = []
        self.is_picky = False
        """Whether values are to be confirmed one by one, because not all rules show in the bounds."""
        self.least: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.patterns: list[str] = []
        self.formats: list[str] = []
        self.low: Any = None
        self.high: Any = None
        self.is_low_open = self.is_high_open = False
        self.multiples: list[Any] = []
        self.is_unique = False
        self.prefix: list[list[Any]] = []
        self.items: list[Any] = []
        """For each schema with a say in it: the schemas of the first entries, and the one of the rest."""
        self.contains: list[tuple[Any, int, int | None]] = []
        self.required: list[str] = []
        self.rules: list[ObjectRules] = []
        self.names: list[Any] = []
        self.unevaluated: Any = True
        self.needs: dict[str, list[str]] = {}
        self._met: set[int] = set()

    def copy(self) -> Place:
        """The same place, to be narrowed on its own."""
        other = Place.__new__(Place)
        for key, value in self.__dict__.items():
            kind = type(value)
            other.__dict__[key] = value.copy() if kind is list or kind is dict or kind is set else value
        return other

    @property
    def is_impossible(self) -> bool:
        """Whether no value at all fits."""
        return not self.kinds or self.values == []

    def narrow(self, kinds: tuple[str, ...]) -> None:
        """Keep only these types; an integer is a number too."""
        kept = [each for each in kinds if each in self.kinds or (each == "integer" and "number" in self.kinds)]
        if "number" in kinds and "integer" in self.kinds and "integer" not in kept and "number" not in kept:
            kept.append("integer")
        self.kinds = tuple(dict.fromkeys(kept))

    def property_schemas(self, name: str) -> tuple[Any, ...]:
        """All schemas that judge a property of this name."""
        found = [schema for rules in self.rules for schema in rules.of(name)]
        if self.unevaluated is not True and not self.is_declared(name):
            found.append(self.unevaluated)
        return tuple(found)

    def is_declared(self, name: str) -> bool:
        """Whether any schema speaks of a property of this name."""
        return any(
            name in rules.properties or any(matches(each, name) for each in rules.patterns) for rules in self.rules
        )

    def declared(self) -> list[str]:
        """The names of all declared properties, in the order of the text."""
        return list(dict.fromkeys(name for rules in self.rules for name in rules.properties))

    def entry_schemas(self, at: int) -> tuple[Any, ...]:
        """All schemas that judge the entry at an index of an array."""
        pairs = zip(self.prefix, self.items, strict=True)
        return tuple(first[at] if at < len(first) else rest for first, rest in pairs)


class Reader:
    """Reads the places of one schema document."""

    def __init__(self, schema: Any, oracle: Oracle) -> None:
        self._oracle = oracle
        self._checks: dict[int, Any] = {}
        self._derived: dict[tuple[int, str], tuple[Any, Any]] = {}
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
        """The ways to read what these schemas say of one value, the plainest first; none where they contradict."""
        whole = Place()
        for schema in schemas:
            self._absorb(whole, schema)
        budget = [_MOST_READINGS]
        for number, place in enumerate(self._readings(whole, 0, budget)):
            yield place
            if number + 1 >= most:
                return

    def _readings(self, place: Place, picks: int, budget: list[int]) -> Iterator[Place]:
        """A place for each choice of branches: first all branches of the first union, then those of the next."""
        while place.unions and picks >= _MOST_PICKS and not place.is_impossible:
            place = self._pick(place, place.unions[0][0])
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
            if id(current) in place._met:
                continue
            place._met.add(id(current))
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
        _read_kinds(place, schema)
        _read_values(place, schema)
        _read_sizes(place, schema)
        _read_numbers(place, schema)
        _read_arrays(place, schema)
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
            if type(name) is str and name not in place.required:
                place.required.append(name)
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, needed in _mapping(schema.get(keyword)).items():
                if type(needed) is list:
                    place.needs.setdefault(name, []).extend(each for each in needed if type(each) is str)
                elif needed is not True:
                    without = {"properties": {name: False}}
                    branches = [without, {"required": [name], "allOf": [needed]}]
                    place.unions.append(self._made(schema, f"{keyword} {name}", branches))

    def _read_not(self, place: Place, schema: Any) -> None:
        """The opposite of a schema, where it is a plain one; the validator knows the rest."""
        if schema is True or schema == {}:
            place.kinds = ()
        if type(schema) is not dict:
            return
        options: list[Any] = []
        if "type" in schema:
            options.append({"type": [each for each in KINDS if each not in _listed(schema["type"])]})
        for keyword in ("const", "enum"):
            if keyword in schema:
                values = [schema["const"]] if keyword == "const" else schema["enum"]
                options.append({"not": {"x-values": values}})
        if "x-values" in schema:
            place.excluded += schema["x-values"]
            return
        required = schema.get("required")
        if type(required) is list:
            options += [{"properties": {name: False}} for name in required if type(name) is str]
        for name, inner in list(_mapping(schema.get("properties")).items())[:20]:
            options.append({"required": [name], "properties": {name: {"not": inner}}})
        if "not" in schema:
            options.append({"allOf": [schema["not"]]})
        for keyword in ("anyOf", "oneOf"):
            if type(schema.get(keyword)) is list:
                options.append({"allOf": [{"not": each} for each in schema[keyword]]})
        if type(schema.get("allOf")) is list:
            options += [{"not": each} for each in schema["allOf"]]
        if type(schema.get("maxLength")) is int:
            options.append({"type": "string", "minLength": schema["maxLength"] + 1})
        if type(schema.get("minLength")) is int:
            options.append({"type": "string", "maxLength": schema["minLength"] - 1})
        if _is_number(schema.get("minimum")):
            options.append({"type": "number", "exclusiveMaximum": schema["minimum"]})
        if _is_number(schema.get("maximum")):
            options.append({"type": "number", "exclusiveMinimum": schema["maximum"]})
        if len(options) == 1 and set(schema) <= {"const", "enum"}:
            values = options[0]["not"]["x-values"]
            place.excluded += values if type(values) is list else []
        elif options:
            place.unions.append(self._made(schema, "not", options))


def _read_kinds(place: Place, schema: dict[str, Any]) -> None:
    if "type" in schema:
        place.narrow(tuple(sorted(_listed(schema["type"]), key="null".__eq__)))
    place.hinted += [kind for kind, keywords in _HINTS if any(keyword in schema for keyword in keywords)]


def _read_values(place: Place, schema: dict[str, Any]) -> None:
    for keyword in ("const", "enum"):
        if keyword in schema:
            values = [schema["const"]] if keyword == "const" else schema["enum"]
            if type(values) is list:
                place.values_from = keyword
                place.is_picky = place.is_picky or place.values is not None
                if place.values is None:
                    place.values = values
                else:
                    known = {spelled(each) for each in values[:_MOST_VALUES]}
                    place.values = [each for each in place.values[:_MOST_VALUES] if spelled(each) in known]
    if "default" in schema:
        place.suggested.append(schema["default"])
    examples = schema.get("examples")
    if type(examples) is list and examples:
        place.suggested.append(examples[0])


_LEAST = ("minLength", "minItems", "minProperties")
_MOST = ("maxLength", "maxItems", "maxProperties")


def _read_sizes(place: Place, schema: dict[str, Any]) -> None:
    for keyword in _LEAST:
        if _is_number(schema.get(keyword)):
            place.least[keyword] = max(place.least.get(keyword, 0), int(schema[keyword]))
    for keyword in _MOST:
        if _is_number(schema.get(keyword)):
            limit = int(schema[keyword])
            place.most[keyword] = min(place.most.get(keyword, limit), limit)
    if type(schema.get("pattern")) is str:
        place.patterns.append(schema["pattern"])
    if type(schema.get("format")) is str:
        place.formats.append(schema["format"])


def _read_numbers(place: Place, schema: dict[str, Any]) -> None:
    for keyword, is_open in (("minimum", False), ("exclusiveMinimum", True)):
        bound = schema.get(keyword)
        if _is_number(bound) and (place.low is None or bound > place.low or (bound == place.low and is_open)):
            place.low, place.is_low_open = bound, is_open
    for keyword, is_open in (("maximum", False), ("exclusiveMaximum", True)):
        bound = schema.get(keyword)
        if _is_number(bound) and (place.high is None or bound < place.high or (bound == place.high and is_open)):
            place.high, place.is_high_open = bound, is_open
    if _is_number(schema.get("multipleOf")) and schema["multipleOf"] > 0:
        place.multiples.append(schema["multipleOf"])


def _read_arrays(place: Place, schema: dict[str, Any]) -> None:
    first, rest = schema.get("prefixItems"), schema.get("items", True)
    if type(rest) is list:  # how draft-07 writes `prefixItems`
        first, rest = rest, schema.get("additionalItems", True)
    if "unevaluatedItems" in schema and "items" not in schema:
        rest = schema["unevaluatedItems"]
        place.is_picky = True
    if type(first) is list or rest is not True:
        place.prefix.append(first if type(first) is list else [])
        place.items.append(rest)
    if schema.get("uniqueItems") is True:
        place.is_unique = True
    if "contains" in schema:
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        place.is_picky = True
        place.contains.append(
            (schema["contains"], int(least) if _is_number(least) else 1, most if type(most) is int else None)
        )


def spelled(value: Any) -> str:
    """A value as text, the same for values that are equal."""
    import json

    if type(value) is float and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


def _mapping(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}


def _listed(value: Any) -> list[str]:
    return [each for each in (value if type(value) is list else [value]) if type(each) is str]


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and abs(value) < float("inf"))  # no to NaN as well
