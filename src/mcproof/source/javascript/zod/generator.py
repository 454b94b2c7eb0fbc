"""The JSON Schema that `z.toJSONSchema` of zod 4 writes for a schema, by version.

A schema is first written with each of its parts (`_process`), then a wrapper takes over what the schema inside says
(`_flatten`): an optional string is a string. Parts are looked up by identity. A schema within itself becomes a
reference, as does one whose metadata has an `id`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_positions import escape
from mcproof.source.javascript.values import UNDEFINED, BigInt, Unknown, Value
from mcproof.source.javascript.zod import folding
from mcproof.source.javascript.zod.formats import Version, aggregated, are_numbers
from mcproof.source.javascript.zod.parts import UnknownParts, UnrepresentableError, as_json, type_of
from mcproof.source.javascript.zod.schema import Check, ZodSchema, member_of, settled

if TYPE_CHECKING:
    from collections.abc import Callable


Json = dict[str, Any]

DRAFTS = {
    "draft-2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "draft-04": "http://json-schema.org/draft-04/schema#",
}
DEEPEST = 80
MOST_PARTS = 20_000
MOST_SEARCHED = 2_000
UNREPRESENTABLE = {
    "bigint": "BigInt",
    "symbol": "Symbols",
    "undefined": "Undefined",
    "void": "Void",
    "date": "Date",
    "nan": "NaN",
    "custom": "Custom types",
    "function": "Function types",
    "map": "Map",
    "set": "Set",
    "transformation": "Transforms",
}
SIMPLE: dict[str, Json] = {
    **{kind: {"type": "boolean"} for kind in ("boolean", "success")},
    "null": {"type": "null"},
    **{kind: {} for kind in ("any", "unknown")},
    "never": {"not": {}},
    "template": {"type": "string", "pattern": Unknown("the pattern of a template is not derived")},
}
"""Kinds that are always written in the same way."""
PASSED_ON = {"optional", "nonoptional", "promise", "readonly", "default", "prefault", "catch", "lazy"}
"""Kinds that take over what the schema inside says."""


class Part:
    """What is known of one schema while it is written."""

    __slots__ = ("definition", "definition_id", "is_cycle", "is_flat", "json", "ref", "schema")

    def __init__(self, schema: ZodSchema) -> None:
        self.schema = schema
        self.json: Json = {}
        self.definition: Json | None = None
        """What it says, after it has become a reference."""
        self.definition_id: str | None = None
        self.is_cycle = False
        self.is_flat = False
        self.ref: ZodSchema | None = None
        """The schema that it takes over the rest from."""

    @property
    def body(self) -> Json:
        return self.json if self.definition is None else self.definition


class Zod4Generator:
    """One call of `z.toJSONSchema`; `io` is "input" or "output"."""

    def __init__(
        self,
        version: Version,
        target: str,
        io: str,
        parts: UnknownParts,
        *,
        throws: bool = True,
        adapt: Callable[[ZodSchema, Json], None] | None = None,
    ) -> None:
        self.version = max(version, (4, 0, 0))  # zod 3.25 holds one of the first of zod 4
        self.target = target
        self.io = io
        self.throws = throws
        self.adapt = adapt
        """What changes each part at the end: the option `override`."""
        self.unknown = parts
        self.parts: dict[int, Part] = {}
        self.intersections: list[list[Any]] = []
        self.names: list[Json] = []
        """The schemas of the keys of records."""
        self._transforming: dict[int, bool] = {}

    def generate(self, schema: ZodSchema) -> Json:
        """The schema as JSON, in which unknown values may stand. Raises UnrepresentableError."""
        self._process(schema, ())
        self._extract_definitions(schema)
        for part in reversed(list(self.parts.values())):
            self._flatten(part.schema)
        if self.version >= (4, 5):
            for part in self.parts.values():
                folding.join_types(part.body)
            if self.version >= (4, 5, 3):
                for part in self.parts.values():
                    if any(part.body.get("propertyNames") is names for names in self.names):
                        part.body["propertyNames"] = folding.names_of_keys(part.body["propertyNames"])
            for members in self.intersections:
                for part in self.parts.values():
                    if part.body.get("allOf") is members:
                        folding.fold_intersection(part.body)
        root = self.parts[id(schema)]
        result: Json = {"$schema": DRAFTS[self.target]} if self.target in DRAFTS else {}
        body = root.body if self.version < (4, 5) or root.definition_id is None else root.json
        result |= body
        self.unknown.share(body, result)
        if self.version >= (4, 4) and "id" in self._metadata(schema):
            result.pop("id", None)
        definitions: Json = {}
        for part in self.parts.values():
            if part.definition is not None and part.definition_id is not None:
                if self.version >= (4, 4) and part.definition.get("id") == part.definition_id:
                    del part.definition["id"]
                definitions[part.definition_id] = part.definition
        if definitions:
            result[self._definitions] = definitions
        return result

    @property
    def _definitions(self) -> str:
        return "$defs" if self.target == "draft-2020-12" else "definitions"

    def _parent(self, schema: ZodSchema) -> ZodSchema | None:
        """The schema that it is a copy of, if it inherits metadata from it."""
        inherits = schema.step in ("meta", "brand") or (schema.step in ("check", "refine") and self.version >= (4, 3))
        return schema.base if inherits else None

    def _metadata(self, schema: ZodSchema) -> dict[str, Value]:
        metadata = dict(schema.facts.get("meta", {}))
        parent = self._parent(schema)
        while parent is not None:
            above = parent.facts.get("meta", {})
            metadata = {**{key: value for key, value in above.items() if key != "id"}, **metadata}
            parent = self._parent(parent)
        return metadata

    def _process(self, schema: Value, path: tuple[ZodSchema, ...]) -> Json:
        schema = settled(schema)
        if not isinstance(schema, ZodSchema):
            return self.unknown.part(schema)
        part = self.parts.get(id(schema))
        if part is not None:
            part.is_cycle = part.is_cycle or any(other is schema for other in path)
            return part.json
        if len(path) > DEEPEST or len(self.parts) > MOST_PARTS:
            return self.unknown.part(Unknown("this schema has too many parts"))
        part = self.parts[id(schema)] = Part(schema)
        self.unknown.place(part.json, schema)
        path = (*path, schema)
        parent = self._parent(schema)
        if parent is None or self.version >= (4, 3):
            self._write(part, schema, path)
        if parent is not None:
            inner = part.ref
            self._rely(part, parent, path)
            part.ref = inner or part.ref
        for key, value in self._metadata(schema).items():
            part.json[key] = as_json(value)
        if self.io == "input":
            self._transforming[id(schema)] = is_transforming = self._is_transforming(schema)
            if is_transforming:
                # They are about what comes out of the transformation.
                part.json.pop("examples", None)
                part.json.pop("default", None)
            if "_prefault" in part.json:
                part.json.setdefault("default", part.json["_prefault"])
        part.json.pop("_prefault", None)
        return part.json

    def _write(self, part: Part, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        kind = schema.kind
        if kind in PASSED_ON:
            self._write_wrapper(part, schema, path)
        elif kind in ("transform", "preprocess", "pipe", "codec", "stringbool"):
            self._rely(part, self._side(schema, is_input=self.io == "input"), path)
        elif kind in UNREPRESENTABLE:
            self._refuse(f"{UNREPRESENTABLE[kind]} cannot be represented in JSON Schema")
        elif kind in SIMPLE:
            part.json.update(SIMPLE[kind])
        else:
            write = getattr(self, f"_write_{kind}", None)
            if write is None:
                raise UnrepresentableError(f"nothing is known of z.{kind}()")
            write(part.json, schema, path)

    def _rely(self, part: Part, inner: Value, path: tuple[ZodSchema, ...]) -> None:
        """Write a schema that another takes over the rest from."""
        inner = settled(inner)
        json = self._process(inner, path)
        if id(inner) in self.parts:
            part.ref = inner
        else:  # it is not known
            self.unknown.share(json, part.json)

    def _refuse(self, message: str) -> None:
        if self.throws:
            raise UnrepresentableError(message)

    def _side(self, schema: ZodSchema, *, is_input: bool) -> Value:
        """The schema on one side of a transformation."""
        facts = schema.facts
        if schema.kind == "preprocess":
            return facts["inner"]
        if schema.kind == "transform":
            return facts["inner"] if is_input else facts["output"]
        return facts["in" if is_input else "out"]

    def _write_wrapper(self, part: Part, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        self._rely(part, schema.inner, path)
        if schema.kind in ("default", "catch"):
            part.json["default"] = as_json(schema.facts["value"])
        elif schema.kind == "prefault" and self.io == "input":
            part.json["_prefault"] = as_json(schema.facts["value"])
        elif schema.kind == "readonly":
            part.json["readOnly"] = True

    def _write_string(self, json: Json, schema: ZodSchema, *_: object) -> None:
        facts = aggregated(schema, self.version)
        json["type"] = "string"
        _copy(facts, json, ("minimum", "minLength"), ("maximum", "maxLength"))
        if facts.get("format") and not facts["is_wider"]:
            json["format"] = facts["format"]
        if facts.get("encoding"):
            json["contentEncoding"] = facts["encoding"]
        patterns = facts.get("patterns", [])
        if len(patterns) == 1:
            json["pattern"] = patterns[0]
        elif patterns:
            typed = {} if self.target == "draft-2020-12" else {"type": "string"}
            json["allOf"] = [{**typed, "pattern": pattern} for pattern in patterns]

    def _write_number(self, json: Json, schema: ZodSchema, *_: object) -> None:
        facts = aggregated(schema, self.version)
        json["type"] = "integer" if facts.get("is_int") else "number"
        for word, tighter in (("minimum", max), ("maximum", min)):
            exclusive = "exclusive" + word.capitalize()
            one, other = facts.get(exclusive), facts.get(word)
            if one is not None and (other is None or (are_numbers(one, other) and tighter(one, other) == one)):
                json[exclusive] = one
            elif other is not None:
                json[word] = other
        divisors = facts.get("divisors", [])
        if divisors:
            json["multipleOf"] = divisors[0]
        if divisors[1:]:
            json["allOf"] = [{"multipleOf": divisor} for divisor in divisors[1:]]

    def _write_array(self, json: Json, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        _copy(aggregated(schema, self.version), json, ("minimum", "minItems"), ("maximum", "maxItems"))
        json["type"] = "array"
        json["items"] = self._process(schema.facts["element"], path)

    def _write_object(self, json: Json, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        json["type"] = "object"
        properties: Json = {}
        json["properties"] = properties
        members = {name: member_of(schema.shape, name) for name in schema.shape}
        for name, member in members.items():
            properties[name] = self._process(member, path)
        if schema.facts.get("is_open"):
            self.unknown.mark(json, Unknown("this object may have more properties"))
        required = [name for name, member in members.items() if not self._may_be_absent(member)]
        if required:
            json["required"] = required
        if any(not isinstance(member, ZodSchema) for member in members.values()):
            self.unknown.mark(json, Unknown("it is not known which properties are required"), "required")
        extra = schema.facts.get("extra")
        if extra == "strict" or (isinstance(extra, ZodSchema) and extra.kind == "never"):
            json["additionalProperties"] = False
        elif extra is None:
            if self.io == "output":
                json["additionalProperties"] = False
        else:
            json["additionalProperties"] = {} if extra == "loose" else self._process(extra, path)

    def _write_union(self, json: Json, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        is_exclusive = schema.facts.get("discriminator") is not None and self.version >= (4, 1, 13)
        options = [self._process(option, path) for option in schema.facts["options"]]
        json["oneOf" if is_exclusive or schema.facts.get("is_exclusive") else "anyOf"] = options

    def _write_intersection(self, json: Json, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        members: list[Any] = []
        for side in ("left", "right"):
            member = self._process(schema.facts[side], path)
            members += member["allOf"] if list(member) == ["allOf"] else [member]
        json["allOf"] = members
        self.intersections.append(members)

    def _write_tuple(self, json: Json, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        items, rest = schema.facts["items"], schema.facts.get("rest")
        json["type"] = "array"
        prefix = [self._process(item, path) for item in items]
        others = None if rest is None else self._process(rest, path)
        is_new = self.target == "draft-2020-12"
        json["prefixItems" if is_new else "items"] = prefix
        if others is not None:
            json["items" if is_new else "additionalItems"] = others
            if self.version < (4, 1, 2):
                json["items"] = others
        elif self.version >= (4, 5):
            json["items" if is_new else "additionalItems"] = False
        if self.version >= (4, 5):
            least = len(items)
            while least and self._may_be_absent(items[least - 1]):
                least -= 1
            if least:
                json["minItems"] = least
            if others is None:
                json["maxItems"] = len(items)
        _copy(aggregated(schema, self.version), json, ("minimum", "minItems"), ("maximum", "maxItems"))

    def _write_record(self, json: Json, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        key, value, mode = (schema.facts[word] for word in ("key", "value", "mode"))
        json["type"] = "object"
        patterns = aggregated(key, self.version).get("patterns") if isinstance(key, ZodSchema) else None
        if mode == "loose" and patterns and self.version >= (4, 3, 4):
            values = self._process(value, path)
            json["patternProperties"] = {pattern: values for pattern in patterns if isinstance(pattern, str)}
        else:
            json["propertyNames"] = self._process(key, path)
            self.names.append(json["propertyNames"])
            json["additionalProperties"] = self._process(value, path)
        if self.version < (4, 3) or (mode == "partial" and self.version >= (4, 3, 4)):
            return
        if self.version >= (4, 5) and self.io == "input" and self._may_be_absent(value):
            return
        names = [name for name in self._values(key) if type(name) in (str, int, float)]
        if names:
            json["required"] = [str(name) for name in names] if self.version >= (4, 5, 3) else names

    def _write_nullable(self, json: Json, schema: ZodSchema, path: tuple[ZodSchema, ...]) -> None:
        json["anyOf"] = [self._process(schema.inner, path), {"type": "null"}]

    def _write_enum(self, json: Json, schema: ZodSchema, *_: object) -> None:
        values = enum_values(schema.facts["entries"])
        if not values and self.version >= (4, 5):
            json["not"] = {}
            return
        _type_of_all(json, values or [""], {"number", "string"})
        json["enum"] = values
        if schema.facts.get("is_open"):
            self.unknown.mark(json, Unknown("this enumeration may have more values"), "enum")

    def _write_literal(self, json: Json, schema: ZodSchema, *_: object) -> None:
        if not schema.facts["values"] and self.version >= (4, 5):
            json["not"] = {}
            return
        values: list[Any] = []
        for value in schema.facts["values"]:
            if value is UNDEFINED:
                self._refuse("Literal `undefined` cannot be represented in JSON Schema")
            elif isinstance(value, BigInt):
                self._refuse("BigInt literals cannot be represented in JSON Schema")
                values.append(value.value)
            else:
                values.append(as_json(value))
        if len(values) == 1:
            name = type_of(values[0])
            json["type"] = name if name is not None else Unknown("this value is not known")
            json["const"] = values[0]
        elif values:
            _type_of_all(json, values, {"number", "string", "boolean", "null"})
            if json.get("type") == "boolean" and self.version < (4, 2):
                json["type"] = "string"
            json["enum"] = values

    def _write_file(self, json: Json, schema: ZodSchema, *_: object) -> None:
        file: Json = {"type": "string", "format": "binary", "contentEncoding": "binary"}
        _copy(aggregated(schema, self.version), file, ("minimum", "minLength"), ("maximum", "maxLength"))
        types = [kind for check in schema.checks if check.name == "mime" for kind in _listed(check)]
        if len(types) == 1:
            json |= {**file, "contentMediaType": types[0]}
        elif not types or self.version >= (4, 3):
            json |= {**file, **({"anyOf": [{"contentMediaType": kind} for kind in types]} if types else {})}
        else:
            json["anyOf"] = [{**file, "contentMediaType": kind} for kind in types]

    def _may_be_absent(self, schema: Value) -> bool:
        """Whether a member with this schema may be left out."""
        schema = settled(schema)
        if not isinstance(schema, ZodSchema):
            return True
        if self.io == "input":
            while (
                self.version >= (4, 5)
                and schema.kind in ("catch", "preprocess")
                and isinstance(schema.inner, ZodSchema)
            ):
                schema = schema.inner
        return self._accepts_absence(schema, set())

    def _accepts_absence(self, schema: Value, seen: set[int]) -> bool:
        schema = settled(schema)
        if not isinstance(schema, ZodSchema) or id(schema) in seen or len(seen) > DEEPEST:
            return False
        # A copy for each way down: a schema may be used twice without containing itself.
        seen = {*seen, id(schema)}
        kind, is_input, version = schema.kind, self.io == "input", self.version
        if kind in ("optional", "undefined"):
            return True
        if kind in ("default", "prefault"):
            return is_input
        if kind == "catch" and is_input and (version < (4, 0, 6) or version >= (4, 4, 3)):
            return True
        if kind == "preprocess" and is_input:
            if version < (4, 4, 2):
                return False
            if version >= (4, 4, 3):
                return True
        if kind == "union":
            return any(self._accepts_absence(option, seen) for option in schema.facts["options"])
        if kind in ("nullable", "catch", "readonly", "lazy", "preprocess"):
            return self._accepts_absence(schema.inner, seen)
        if kind in ("transform", "pipe", "codec", "stringbool"):
            return self._accepts_absence(self._side(schema, is_input=is_input), seen)
        return False

    def _values(self, schema: Value, depth: int = 0) -> list[Any]:
        """The values of a key's schema, if they can be listed."""
        schema = settled(schema)
        if not isinstance(schema, ZodSchema) or depth > DEEPEST:
            return []
        if schema.kind == "enum":
            return enum_values(schema.facts["entries"])
        if schema.kind == "literal":
            return list(schema.facts["values"])
        if schema.kind == "union":
            lists = [self._values(option, depth + 1) for option in schema.facts["options"]]
            return [value for values in lists for value in values] if all(lists) else []
        if schema.kind in PASSED_ON or schema.kind == "nullable":
            return self._values(schema.inner, depth + 1)
        return []

    def _is_transforming(self, root: ZodSchema) -> bool:
        """Whether a transformation is anywhere in a schema."""
        pending: list[Value] = [root]
        seen: set[int] = set()
        while pending and len(seen) < MOST_SEARCHED:
            schema = settled(pending.pop())
            if not isinstance(schema, ZodSchema) or id(schema) in seen:
                continue
            seen.add(id(schema))
            earlier = self._transforming.get(id(schema))
            if earlier or schema.kind in ("transform", "preprocess"):
                return True
            if schema.kind == "codec" and self.version >= (4, 4, 2):
                return True
            if schema.kind == "stringbool" and (self.version >= (4, 4, 2) or self.version < (4, 1)):
                return True
            if earlier is None and (schema.kind != "catch" or self.version >= (4, 4)):
                pending += children(schema)
        return False

    def _extract_definitions(self, root: ZodSchema) -> None:
        count = 0
        for part in self.parts.values():
            name = self._metadata(part.schema).get("id")
            if part.schema is not root and not name and not part.is_cycle:
                continue
            part.definition = dict(part.json)
            self.unknown.share(part.json, part.definition)
            identifier = part.json.get("id")
            if part.schema is root and not (identifier and self.version >= (4, 5)):
                reference = "#"
            else:
                part.definition_id = identifier if isinstance(identifier, str) else f"__schema{count}"
                count += identifier is None
                shown = escape(part.definition_id) if self.version >= (4, 5) else part.definition_id
                reference = f"#/{self._definitions}/{shown}"
            part.json.clear()
            part.json["$ref"] = reference

    def _flatten(self, schema: ZodSchema) -> None:
        """Take over what the schema inside, or the one that this is a copy of, says."""
        part = self.parts[id(schema)]
        if part.is_flat:
            return
        part.is_flat = True
        if part.ref is not None:
            self._flatten(part.ref)
            self._take_over(part, schema, part.ref)
        if self.adapt is not None:
            self.adapt(schema, part.body)

    def _take_over(self, part: Part, schema: ZodSchema, ref: ZodSchema) -> None:
        other, body, own = self.parts[id(ref)], part.body, dict(part.body)
        if "$ref" in other.json and self.target != "draft-2020-12":
            body.setdefault("allOf", []).append(other.json)  # older drafts ignore what is beside a reference
        else:
            body.update(other.json)
            self.unknown.share(other.json, body)
        body.update(own)
        if self.version < (4, 3):
            return
        parent = self._parent(schema)
        if parent is ref:
            for key in [key for key in body if key not in own and key not in ("$ref", "allOf")]:
                del body[key]
        if "$ref" in other.json:
            _drop_repeated(body, other)
        if parent is not None and parent is not ref:
            self._flatten(parent)
            above = self.parts[id(parent)]
            if "$ref" in above.json:
                body["$ref"] = above.json["$ref"]
                _drop_repeated(body, above)


def enum_values(entries: dict[str, Value]) -> list[Any]:
    """The values of an enumeration, without the names that TypeScript lists for numbers."""
    numbers = {str(value) for value in entries.values() if type(value) in (int, float)}
    return [as_json(value) for name, value in entries.items() if name not in numbers]


def children(schema: ZodSchema) -> list[Value]:
    """The schemas that a schema is made of."""
    facts = schema.facts
    if schema.kind == "object":
        return [member_of(schema.shape, name) for name in schema.shape]
    single = [
        facts[word]
        for word in ("inner", "element", "left", "right", "in", "out", "key", "value", "rest")
        if word in facts
    ]
    return [*single, *facts.get("options", ()), *facts.get("items", ())]


def _drop_repeated(body: Json, other: Part) -> None:
    definition = other.definition or {}
    for key in [key for key in body if key not in ("$ref", "allOf") and key in definition]:
        if body[key] == definition[key]:
            del body[key]


def _copy(facts: dict[str, Any], json: Json, *words: tuple[str, str]) -> None:
    for source, target in words:
        if facts.get(source) is not None:
            json[target] = facts[source]


def _type_of_all(json: Json, values: list[Any], types: set[str]) -> None:
    type_names = {type_of(value) for value in values}
    if len(type_names) == 1 and type_names <= types:
        json["type"] = type_names.pop()


def _listed(check: Check) -> list[Value]:
    value = check.arguments[0] if check.arguments else UNDEFINED
    return list(value.items) if hasattr(value, "items") and not isinstance(value, dict) else [value]
