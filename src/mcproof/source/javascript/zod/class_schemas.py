"""The JSON Schema that mcp-framework writes for the schema of a tool: its own conversion, of schemas of zod 3 only."""

from __future__ import annotations

from typing import Any

from mcproof.source.javascript.values import UNDEFINED, JsRegExp, Unknown, Value
from mcproof.source.javascript.zod.converter import BOUNDS, SAFE_INTEGER, ZERO, description, refined
from mcproof.source.javascript.zod.parts import UnknownParts, as_json, type_of
from mcproof.source.javascript.zod.schema import ZodSchema, member_of, settled

Json = dict[str, Any]

TYPES = {kind: kind for kind in ("string", "number", "boolean", "array", "object", "null", "undefined")}
FORMATS = {"email": "email", "url": "uri", "uuid": "uuid"}
LENGTHS = {"min": "minLength", "nonempty": "minLength", "max": "maxLength"}
SIMPLE = ("number", "boolean", "array", "object")
DEEPEST = 60


class ClassSchema:
    """One conversion."""

    def __init__(self, parts: UnknownParts) -> None:
        self.unknown = parts

    def write(self, schema: ZodSchema) -> Json:
        """The schema of a tool. In the older form, members have a type and a text and nothing else."""
        texts = schema.facts.get("texts")
        json: Json = {"type": "object", "properties": {}}
        required = []
        for name in schema.shape:
            written, is_optional = self._field(member_of(schema.shape, name), 0)
            if texts is not None:
                simple: Json = {"type": written["type"] if written.get("type") in SIMPLE else "string"}
                if texts[name] is not UNDEFINED:
                    simple["description"] = as_json(texts[name])
                is_optional = is_optional or "default" in written
                written = simple
            json["properties"][name] = written
            if not is_optional:
                required.append(name)
        json["required"] = required
        if schema.facts.get("is_open"):
            self.unknown.mark(json, Unknown("this object may have more properties"))
        return json

    def _field(self, value: Value, depth: int) -> tuple[Json, bool]:
        """A member as JSON, and whether it may be left out; one with a default may not."""
        schema = settled(value)
        is_optional, text, default = False, UNDEFINED, UNDEFINED
        while isinstance(schema, ZodSchema):
            text = text if isinstance(text, str) and text else description(schema)
            if refined(schema) is not None or schema.kind not in ("optional", "nullable", "default"):
                break
            is_optional = is_optional or schema.kind != "default"
            default = schema.facts["value"] if schema.kind == "default" else default
            schema = settled(schema.inner)
        if not isinstance(schema, ZodSchema) or depth > DEEPEST:
            return self.unknown.part(schema), is_optional
        json: Json = {"type": self._type(schema)}
        self.unknown.place(json, schema)
        if isinstance(text, (str, Unknown)) and text:
            json["description"] = text
        if default is not UNDEFINED:
            json["default"] = as_json(default)
        if refined(schema) is None:
            add = getattr(self, f"_add_{schema.kind}", None)
            if add is not None:
                add(json, schema, depth + 1)
        return json, is_optional

    @staticmethod
    def _type(schema: ZodSchema) -> str:
        if refined(schema) is not None:
            return "string"
        if schema.kind == "literal":
            return type_of(schema.facts["values"][0]) or "string"
        return TYPES.get(schema.kind, "string")

    def _add_enum(self, json: Json, schema: ZodSchema, _: int) -> None:
        if not schema.facts.get("is_native"):
            json["enum"] = list(schema.facts["entries"].values())

    def _add_array(self, json: Json, schema: ZodSchema, depth: int) -> None:
        json["items"] = self._field(schema.facts["element"], depth)[0]

    def _add_object(self, json: Json, schema: ZodSchema, depth: int) -> None:
        fields = {name: self._field(member_of(schema.shape, name), depth) for name in schema.shape}
        json["properties"] = {name: written for name, (written, _) in fields.items()}
        json["required"] = [name for name, (_, is_optional) in fields.items() if not is_optional]
        if schema.facts.get("is_open"):
            self.unknown.mark(json, Unknown("this object may have more properties"))

    def _add_number(self, json: Json, schema: ZodSchema, _: int) -> None:
        for check in schema.checks:
            bound = BOUNDS.get(check.name, "")
            if check.name == "int":
                json["type"] = "integer"
            elif check.name == "safe":
                json |= {"minimum": -SAFE_INTEGER, "maximum": SAFE_INTEGER}
            elif bound:
                value = 0 if check.name in ZERO else check.arguments[0] if check.arguments else UNDEFINED
                is_least = bound in ("minimum", "exclusiveMinimum")
                json["minimum" if is_least else "maximum"] = as_json(value)
                if bound.startswith("exclusive"):
                    json[bound] = True
        if any(
            check.name == "positive" or (check.name == "gt" and check.arguments[:1] == (0,)) for check in schema.checks
        ):
            json["minimum"] = 1

    def _add_string(self, json: Json, schema: ZodSchema, _: int) -> None:
        for check in schema.checks:
            first = check.arguments[0] if check.arguments else UNDEFINED
            if check.name in LENGTHS:
                json[LENGTHS[check.name]] = 1 if check.name == "nonempty" else as_json(first)
            elif check.name == "regex":
                json["pattern"] = first.source if isinstance(first, JsRegExp) else Unknown("this pattern is not known")
            elif check.name in FORMATS:
                json["format"] = FORMATS[check.name]
