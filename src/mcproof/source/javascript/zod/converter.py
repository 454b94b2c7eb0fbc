"""The JSON Schema that the package zod-to-json-schema writes for a schema of zod 3.

A schema that was written before, by identity, becomes a reference to its first place. Descriptions belong to a schema
and to the wrappers that its methods make, which is why they are looked up here and not kept in the schema.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.javascript.values import UNDEFINED, BigInt, Unknown, Value
from mcproof.source.javascript.zod.formats import Version, option, pattern_of, tables, zod3_text_pattern
from mcproof.source.javascript.zod.parts import UnknownParts, UnrepresentableError, as_json, type_of
from mcproof.source.javascript.zod.schema import Check, ZodSchema, member_of, settled

Json = dict[str, Any]

DEEPEST = 80
SAFE_INTEGER = 2**53 - 1
SCHEMA = "http://json-schema.org/draft-07/schema#"
PRIMITIVES = {"string": "string", "number": "number", "bigint": "integer", "boolean": "boolean", "null": "null"}
FORMATS = {
    **{name: name for name in ("email", "uuid", "date", "time", "duration")},
    "url": "uri",
    "datetime": "date-time",
}
CARRYING = {"optional", "nullable", "default", "catch", "transform", "promise", "union", "intersection"}
"""Kinds that get the description of the schema whose method makes them."""
SIMPLE: dict[str, Json] = {
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "date": {"type": "string", "format": "date-time"},
    **{kind: {} for kind in ("any", "unknown", "custom")},
    **{kind: {"not": {}} for kind in ("never", "undefined", "nan")},
}
"""Kinds that are always written in the same way."""
OMITTED = {"void", "symbol", "function", "transformation"}
"""Kinds that nothing is written for; a member of such a kind is left out."""


class Options(NamedTuple):
    """The options of `zodToJsonSchema` that servers use."""

    version: Version = (3, 25, 2)
    strict_unions: bool = False
    pipe: str = "all"
    references: str = "root"
    """`$refStrategy`."""
    target: str = "jsonSchema7"
    name: str | None = None
    removes_additional: bool = False
    """Whether only strict objects are closed."""


class Zod3Converter:
    """One call of `zodToJsonSchema`."""

    def __init__(self, options: Options, parts: UnknownParts) -> None:
        self.options = options
        self.unknown = parts
        self.seen: dict[int, tuple[ZodSchema, list[str]]] = {}
        self.properties: set[tuple[str, ...]] = set()
        """The paths of members of objects, where `required` says what is optional."""

    def convert(self, schema: ZodSchema) -> Json:
        """The schema as JSON, in which unknown values may stand."""
        name = self.options.name
        path = ["#"] if name is None else ["#", "definitions", name]
        written = self._write(schema, path) or {}
        result = written if name is None else {"$ref": "/".join(path), "definitions": {name: written}}
        if self.options.target == "jsonSchema7":
            result["$schema"] = SCHEMA
        return result

    def _write(self, schema: Value, path: list[str]) -> Json | None:
        """A schema at a path; None if nothing is written for it."""
        schema = _existing(settled(schema))
        if not isinstance(schema, ZodSchema):
            return self.unknown.part(schema)
        if id(schema) in self.seen:
            earlier = self.seen[id(schema)][1]
            if self.options.references == "root":
                return {"$ref": "/".join(earlier)}
            if self.options.references == "relative":
                shared = len([*takewhile(lambda parts: parts[0] == parts[1], zip(path, earlier, strict=False))])
                return {"$ref": "/".join([str(len(path) - shared), *earlier[shared:]])}
            if len(earlier) < len(path) and path[: len(earlier)] == earlier:
                return {}
        if len(path) > DEEPEST:
            return self.unknown.part(Unknown("this schema has too many parts"))
        self.seen[id(schema)] = schema, path
        json = self._written(schema, path)
        if json is not None:
            self.unknown.place(json, schema)
            described = description(schema)
            if described is not UNDEFINED and described != "":
                json["description"] = described
        return json

    def _written(self, schema: ZodSchema, path: list[str]) -> Json | None:
        checked = refined(schema)
        if checked is not None:
            return self._write(checked, path)
        if schema.kind in OMITTED:
            return None
        if schema.kind == "optional":
            return self._optional(schema, path)
        if schema.kind in ("catch", "readonly", "promise", "lazy", "transform", "preprocess"):
            # The wrapper writes what is inside: the shape of the input.
            return self._write(schema.inner, path)
        if schema.kind in SIMPLE:
            return dict(SIMPLE[schema.kind])
        write = getattr(self, f"_write_{schema.kind}", None)
        if write is None:
            raise UnrepresentableError(f"zod 3 has no z.{schema.kind}()")
        json: Json | None = write(schema, path)
        return json

    def _optional(self, schema: ZodSchema, path: list[str]) -> Json | None:
        if tuple(path) in self.properties:
            return self._write(schema.inner, path)
        inner = self._write(schema.inner, [*path, "anyOf", "1"])
        return {} if inner is None else {"anyOf": [{"not": {}}, inner]}

    def _write_string(self, schema: ZodSchema, *_: object) -> Json:
        return _string(schema.checks, self.options.version)

    def _write_number(self, schema: ZodSchema, *_: object) -> Json:
        json: Json = {"type": "number"}
        for check in schema.checks:
            name, value = check.name, check.arguments[0] if check.arguments else UNDEFINED
            if name == "int":
                json["type"] = "integer"
            elif name == "safe":
                json |= {"minimum": -SAFE_INTEGER, "maximum": SAFE_INTEGER}
            elif name in ("multipleOf", "step"):
                json["multipleOf"] = value
            elif name in BOUNDS:
                json[BOUNDS[name]] = 0 if name in ZERO else value
        return json

    def _write_bigint(self, schema: ZodSchema, *_: object) -> Json:
        if any(check.name in BOUNDS or check.name in ("multipleOf", "step") for check in schema.checks):
            raise UnrepresentableError("bounds of z.bigint() cannot be written as JSON")
        return {"type": "integer", "format": "int64"}

    def _write_literal(self, schema: ZodSchema, *_: object) -> Json:
        value = schema.facts["values"][0] if len(schema.facts["values"]) == 1 else schema.facts["values"]
        if isinstance(value, BigInt):
            return {"type": "integer", "const": value.value}
        name = type_of(value)
        if isinstance(value, Unknown):
            return {"type": value, "const": value}
        if name is None or value is None:
            return {"type": "array" if isinstance(value, list) else "object"}
        return {"type": name, "const": value}

    def _write_enum(self, schema: ZodSchema, *_: object) -> Json:
        entries = schema.facts["entries"]
        if schema.facts.get("is_native"):
            # TypeScript lists the names of numbers, too: `{ A: 0, 0: "A" }`.
            members = {
                name: value for name, value in entries.items() if type_of(_looked_up(entries, value)) != "number"
            }
            types = {type_of(value) for value in members.values()}
            written = ["string", "number"] if len(types) != 1 else "string" if types == {"string"} else "number"
            json: Json = {"type": written, "enum": [as_json(value) for value in members.values()]}
        else:
            json = {"type": "string", "enum": list(entries.values())}
        if schema.facts.get("is_open"):
            self.unknown.mark(json, Unknown("this enumeration may have more values"), "enum")
        return json

    def _write_object(self, schema: ZodSchema, path: list[str]) -> Json:
        json: Json = {"type": "object", "properties": {}}
        required: list[str] = []
        if schema.facts.get("is_open"):
            self.unknown.mark(json, Unknown("this object may have more properties"))
        for name in schema.shape:
            member = _existing(member_of(schema.shape, name))
            below = [*path, "properties", name]
            self.properties.add(tuple(below))
            written = self._write(member, below)
            if written is None:
                continue
            json["properties"][name] = written
            may_be_absent = accepts(member, UNDEFINED)
            if may_be_absent is None:
                self.unknown.mark(json, Unknown("it is not known which properties are required"), "required")
            if not may_be_absent:
                required.append(name)
        if required:
            json["required"] = required
        catchall, keys = schema.facts.get("catchall"), schema.facts.get("unknown_keys")
        if isinstance(catchall, ZodSchema) and catchall.kind != "never":
            others = self._write(catchall, [*path, "additionalProperties"])
            json["additionalProperties"] = True if others is None else others
        else:
            json["additionalProperties"] = keys == "loose" or (self.options.removes_additional and keys != "strict")
        return json

    def _write_array(self, schema: ZodSchema, path: list[str]) -> Json:
        json: Json = {"type": "array"}
        element = settled(schema.facts["element"])
        if not (isinstance(element, ZodSchema) and element.kind == "any" and refined(element) is None):
            json["items"] = self._write(element, [*path, "items"])
        return _sized({key: value for key, value in json.items() if value is not None}, schema)

    def _write_set(self, schema: ZodSchema, path: list[str]) -> Json:
        items = self._write(schema.facts["value"], [*path, "items"])
        return _sized({"type": "array", "uniqueItems": True, **({} if items is None else {"items": items})}, schema)

    def _write_map(self, schema: ZodSchema, path: list[str]) -> Json:
        pair = [
            self._write(schema.facts[word], [*path, "items", "items", str(index)]) or {}
            for index, word in enumerate(("key", "value"))
        ]
        return {
            "type": "array",
            "maxItems": 125,
            "items": {"type": "array", "items": pair, "minItems": 2, "maxItems": 2},
        }

    def _write_tuple(self, schema: ZodSchema, path: list[str]) -> Json:
        members, rest = schema.facts["items"], schema.facts.get("rest")
        if schema.facts.get("rest_is_argument"):  # zod 3 takes it for options
            rest = None
        written = [self._write(member, [*path, "items", str(index)]) for index, member in enumerate(members)]
        items = [item for item in written if item is not None]
        if rest is None:
            return {"type": "array", "minItems": len(members), "maxItems": len(members), "items": items}
        others = self._write(rest, [*path, "additionalItems"])
        closing = {} if others is None else {"additionalItems": others}
        return {"type": "array", "minItems": len(members), "items": items, **closing}

    def _write_record(self, schema: ZodSchema, path: list[str]) -> Json:
        values = self._write(schema.facts["value"], [*path, "additionalProperties"])
        json: Json = {"type": "object", "additionalProperties": True if values is None else values}
        key = settled(schema.facts["key"])
        while isinstance(key, ZodSchema) and key.step == "brand" and key.base is not None:
            key = key.base
        if isinstance(key, ZodSchema) and refined(key) is None:
            if key.kind == "string" and key.checks:
                json["propertyNames"] = _without_type(_string(key.checks, self.options.version))
            elif key.kind == "enum" and not key.facts.get("is_native"):
                json["propertyNames"] = {"enum": list(key.facts["entries"].values())}
        return json

    def _write_union(self, schema: ZodSchema, path: list[str]) -> Json | None:
        options = [settled(option) for option in schema.facts["options"]]
        if all(isinstance(option, ZodSchema) and refined(option) is None for option in options):
            joined = _joined(options)
            if joined is not None:
                return joined
        written = [self._write(member, [*path, "anyOf", str(index)]) for index, member in enumerate(options)]
        branches = [member for member in written if member is not None and (member or not self.options.strict_unions)]
        return {"anyOf": branches} if branches else None

    def _write_intersection(self, schema: ZodSchema, path: list[str]) -> Json | None:
        members: list[Json] = []
        for index, side in enumerate(("left", "right")):
            written = self._write(schema.facts[side], [*path, "allOf", str(index)])
            if written is None:
                continue
            if "allOf" in written and written.get("type") != "string":
                members += written["allOf"]
            else:
                closed = written.get("additionalProperties") is False
                member = {
                    key: value for key, value in written.items() if not (closed and key == "additionalProperties")
                }
                self.unknown.share(written, member)
                members.append(member)
        return {"allOf": members} if members else None

    def _write_nullable(self, schema: ZodSchema, path: list[str]) -> Json | None:
        inner = settled(schema.inner)
        if isinstance(inner, ZodSchema) and _is_primitive(inner):
            return {"type": [PRIMITIVES[inner.kind], "null"]}
        written = self._write(inner, [*path, "anyOf", "0"])
        return None if written is None else {"anyOf": [written, {"type": "null"}]}

    def _write_default(self, schema: ZodSchema, path: list[str]) -> Json:
        inner = self._write(schema.inner, path) or {}
        json = {**inner, "default": as_json(schema.facts["value"])}
        self.unknown.share(inner, json)
        if json["default"] is UNDEFINED:
            del json["default"]
        return json

    def _write_pipe(self, schema: ZodSchema, path: list[str]) -> Json | None:
        if self.options.pipe in ("input", "output"):
            return self._write(schema.facts["in" if self.options.pipe == "input" else "out"], path)
        first = self._write(schema.facts["in"], [*path, "allOf", "0"])
        second = self._write(schema.facts["out"], [*path, "allOf", "0" if first is None else "1"])
        return {"allOf": [side for side in (first, second) if side is not None]}


BOUNDS = {
    **dict.fromkeys(("min", "gte", "nonnegative"), "minimum"),
    **dict.fromkeys(("max", "lte", "nonpositive"), "maximum"),
    **dict.fromkeys(("gt", "positive"), "exclusiveMinimum"),
    **dict.fromkeys(("lt", "negative"), "exclusiveMaximum"),
}
ZERO = {"nonnegative", "nonpositive", "positive", "negative"}


def refined(schema: ZodSchema) -> ZodSchema | None:
    """The schema that a refinement or a brand, which are wrappers in zod 3, is around; None if it is neither."""
    while schema.step == "meta" and schema.base is not None:
        schema = schema.base
    return schema.base if schema.step in ("refine", "brand") else None


def _is_primitive(schema: ZodSchema) -> bool:
    """Whether a schema is a simple type without constraints."""
    return schema.kind in PRIMITIVES and not schema.checks and refined(schema) is None


def _existing(schema: Value) -> Value:
    """The schema that `.required()` keeps of an optional member."""
    while isinstance(schema, ZodSchema) and schema.kind == "nonoptional":
        schema = settled(schema.inner)
        while isinstance(schema, ZodSchema) and schema.kind == "optional":
            schema = settled(schema.inner)
    return schema


def description(schema: ZodSchema) -> Value:
    """The description that zod 3 keeps in a schema; undefined if it has none."""
    while True:
        if "description" in schema.facts.get("meta", {}):
            return schema.facts["meta"]["description"]
        if schema.step in ("refine", "merge"):
            return UNDEFINED
        if schema.step and schema.base is not None:
            schema = schema.base
        elif schema.kind in CARRYING and schema.facts.get("by_method") and isinstance(schema.inner, ZodSchema):
            schema = schema.inner
        else:
            return schema.facts.get("description", UNDEFINED)


def _looked_up(entries: dict[str, Value], value: Value) -> Value:
    return entries.get(value if isinstance(value, str) else str(value), UNDEFINED)


def _without_type(json: Json) -> Json:
    return {key: value for key, value in json.items() if key != "type"}


def _sized(json: Json, schema: ZodSchema) -> Json:
    """An array with the bounds of its length; of two checks of one kind, the last counts."""
    sizes = {check.name: check.arguments[0] if check.arguments else UNDEFINED for check in schema.checks}
    if "nonempty" in sizes and "min" not in sizes:
        sizes["min"] = 1
    for name, word in (("min", "minItems"), ("max", "maxItems")):
        if name in sizes:
            json[word] = sizes[name]
    if "length" in sizes or "size" in sizes:
        exact = sizes.get("length", sizes.get("size"))
        json |= {"minItems": exact, "maxItems": exact}
    return json


def _joined(options: list[ZodSchema]) -> Json | None:
    """A union of simple types, of literals or of enumerations in one schema; None for others."""
    if all(map(_is_primitive, options)):
        return {"type": _one_or_all([PRIMITIVES[option.kind] for option in options])}
    if all(option.kind == "literal" and description(option) in (UNDEFINED, "") for option in options):
        values = [value for option in options for value in option.facts["values"]]
        types = ["integer" if isinstance(value, BigInt) else type_of(value) for value in values]
        if None not in types:
            distinct = list({(type(value), value): as_json(value) for value in values}.values())
            return {"type": _one_or_all(types), "enum": distinct}
        return None
    if all(option.kind == "enum" and not option.facts.get("is_native") for option in options):
        values = [value for option in options for value in option.facts["entries"].values()]
        return {"type": "string", "enum": list(dict.fromkeys(values))}
    return None


def _one_or_all(types: list[Any]) -> Any:
    distinct = list(dict.fromkeys(types))
    return distinct if len(distinct) > 1 else distinct[0] if distinct else None


def _string(checks: tuple[Check, ...], version: Version) -> Json:
    json: Json = {"type": "string"}
    for check in checks:
        name, value = check.name, check.arguments[0] if check.arguments else UNDEFINED
        if name in ("min", "length", "nonempty"):
            _tighten(json, "minLength", 1 if name == "nonempty" else value, max)
        if name in ("max", "length"):
            _tighten(json, "maxLength", value, min)
        if name == "regex":
            _add(json, "pattern", "allOf", pattern_of(value))
        elif name in ("startsWith", "endsWith", "includes"):
            _add(json, "pattern", "allOf", zod3_text_pattern(name, value, version))
        elif name == "base64":
            json["contentEncoding"] = "base64"
        elif name in FORMATS:
            _add(json, "format", "anyOf", FORMATS[name])
        elif name in ("ip", "cidr"):
            wanted = option(check.arguments, "version")
            for family in ("v4", "v6"):
                if wanted in (UNDEFINED, family):
                    if name == "ip":
                        _add(json, "format", "anyOf", f"ip{family}")
                    else:
                        _add(json, "pattern", "allOf", tables()["zod3"][f"cidr{family}"])
        elif name in tables()["zod3"]:
            _add(json, "pattern", "allOf", tables()["zod3"][name])
    return json


def _tighten(json: Json, word: str, value: Value, choose: Any) -> None:
    earlier = json.get(word)
    both = isinstance(earlier, int | float) and isinstance(value, int | float)
    json[word] = choose(earlier, value) if both else value


def _add(json: Json, word: str, combination: str, value: Value) -> None:
    """Add a format or a pattern; more than one is written as a combination, formats as alternatives."""
    if word in json or any(word in member for member in json.get(combination, ())):
        members = json.setdefault(combination, [])
        if word in json:
            members.append({word: json.pop(word)})
        members.append({word: value})
    else:
        json[word] = value


def accepts(schema: Value, value: Value, depth: int = 0) -> bool | None:
    """Whether a schema accepts a value, as far as it matters for what is required; None if it is not known."""
    schema = _existing(settled(schema))
    if not isinstance(schema, ZodSchema) or isinstance(value, Unknown) or depth > DEEPEST:
        return None
    kind, is_absent = schema.kind, value is UNDEFINED
    checked = refined(schema)
    if checked is not None:
        return accepts(checked, value, depth + 1)
    if kind == "custom":
        return None if schema.facts.get("function") else True
    if kind in ("any", "unknown", "catch") or (kind == "optional" and is_absent):
        return True
    if kind == "default" and is_absent:
        answer = accepts(schema.inner, schema.facts["value"], depth + 1)
        # A default that is not known may be missing, and then it is required; a text is taken to be a valid one.
        return True if answer is None and not isinstance(schema.facts["value"], Unknown) else answer
    if kind == "nullable" and value is None:
        return True
    if kind == "preprocess" and is_absent:
        computed = settled(schema.facts["absence"])
        answer = accepts(schema.inner, computed, depth + 1)
        # A function that is not understood most often passes a missing value on.
        return accepts(schema.inner, UNDEFINED, depth + 1) if answer is None else answer
    if kind in ("optional", "default", "nullable", "readonly", "lazy", "transform", "preprocess"):
        return accepts(schema.inner, value, depth + 1)
    if kind == "pipe":
        first = accepts(schema.facts["in"], value, depth + 1)
        return first if first is False else accepts(schema.facts["out"], _parsed(schema.facts["in"], value), depth + 1)
    if kind == "union" and schema.facts.get("discriminator") is None:
        answers = [accepts(option, value, depth + 1) for option in schema.facts["options"]]
        return True if True in answers else None if None in answers else False
    if kind == "intersection":
        answers = [accepts(schema.facts[side], value, depth + 1) for side in ("left", "right")]
        return False if False in answers else None if None in answers else True
    if kind in ("undefined", "void"):
        return is_absent
    if kind == "literal":
        return any(type(value) is type(other) and value == other for other in schema.facts["values"])
    if is_absent and schema.facts.get("coerce"):
        # String(undefined) is "undefined", Boolean(undefined) false; numbers and dates of it are invalid.
        return kind == "boolean" or (kind == "string" and _accepts_text(schema.checks, "undefined"))
    if is_absent:
        return False
    if kind == "string" and isinstance(value, str):
        return _accepts_text(schema.checks, value)
    return type_of(value) == kind or (None if kind not in PRIMITIVES else False)


def _parsed(schema: Value, value: Value) -> Value:
    """What a schema makes of a value that it accepts."""
    for _ in range(DEEPEST):
        schema = settled(schema)
        if not isinstance(schema, ZodSchema):
            break
        if schema.kind == "default" and value is UNDEFINED:
            return schema.facts["value"]
        if schema.facts.get("coerce") or schema.kind in ("transform", "preprocess", "catch", "pipe", "union"):
            break
        if "inner" not in schema.facts:
            return value
        schema = schema.inner
    return Unknown("what this schema makes of a value is not evaluated")


def _accepts_text(checks: tuple[Check, ...], text: str) -> bool | None:
    """Whether checks accept a text; None if one of them is a regular expression."""
    answer: bool | None = True
    for name, arguments in checks:
        bound = arguments[0] if arguments else UNDEFINED
        if name in LENGTHS and isinstance(bound, int):
            if not LENGTHS[name](len(text), bound):
                return False
        elif name in TESTS and isinstance(bound, str):
            if not TESTS[name](text, bound):
                return False
        elif name == "regex" or isinstance(bound, Unknown):
            answer = None
        elif text == "undefined" and name in NEVER_THAT_WORD:
            return False
    return answer


LENGTHS = {"min": int.__ge__, "max": int.__le__, "length": int.__eq__}
TESTS = {"startsWith": str.startswith, "endsWith": str.endswith, "includes": str.__contains__}
NEVER_THAT_WORD = {*FORMATS, *("ip", "cidr", "base64", "cuid", "ulid", "nanoid", "emoji", "base64url", "jwt")}
"""Formats that a missing value does not have, which `z.coerce.string()` makes the word `undefined`."""
