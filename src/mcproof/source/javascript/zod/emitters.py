"""What a server lists for a schema: which package writes the JSON Schema, and how each framework calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.javascript.values import UNDEFINED, JsArray, JsObject, Unknown, Value
from mcproof.source.javascript.zod.class_schemas import ClassSchema
from mcproof.source.javascript.zod.converter import Options, Zod3Converter, refined
from mcproof.source.javascript.zod.generator import Zod4Generator
from mcproof.source.javascript.zod.parts import RenderedSchema, UnknownParts, UnrepresentableError
from mcproof.source.javascript.zod.schema import ZodSchema, raw_shape

if TYPE_CHECKING:
    from mcproof.source.javascript.zod.formats import Version

Json = dict[str, Any]

NEWEST_ZOD: Version = (4, 6, 7)
NEWEST_CONVERTER: Version = (3, 25, 2)
TARGETS = {
    **dict.fromkeys(("draft-7", "draft-07", "jsonSchema7"), "draft-07"),
    **dict.fromkeys(("draft-4", "draft-04"), "draft-04"),
}


class Emitter(NamedTuple):
    """A framework, and the versions of what it uses."""

    framework: str = "sdk"
    """`sdk` (the official one, both major versions), `fastmcp`, `mastra`, `tmcp` or `mcp-framework`."""
    version: Version = (1, 32, 2)
    """The version of the framework."""
    zod: Version = NEWEST_ZOD
    converter: Version = NEWEST_CONVERTER
    """The version of zod-to-json-schema."""


def is_zod4(schema: ZodSchema, zod: Version) -> bool:
    """Whether a schema is one of zod 4: zod 3.25 has both, under different names."""
    if schema.module.endswith("/v3"):
        return False
    return zod >= (4,) or "/v4" in schema.module or schema.module.endswith("/mini")


def input_schema(schema: Value, emitter: Emitter) -> RenderedSchema | Unknown:
    """The `inputSchema` that a server lists for a schema or a raw shape; nothing given is undefined."""
    return _listed(schema, emitter, "input")


def output_schema(schema: Value, emitter: Emitter) -> RenderedSchema | Unknown | None:
    """The `outputSchema` that a server lists; None if it lists none."""
    return None if schema is UNDEFINED else _listed(schema, emitter, "output")


def _listed(schema: Value, emitter: Emitter, io: str) -> RenderedSchema | Unknown:
    if isinstance(schema, Unknown):
        return schema
    if schema is UNDEFINED or schema is None:
        return RenderedSchema(_without_schema(emitter), {}, {})
    if isinstance(schema, JsObject):
        is_empty = not schema.members and not schema.is_open
        schema = raw_shape(schema)
        if is_empty:
            schema.module = _module_of_empty(emitter)
    if not isinstance(schema, ZodSchema):
        return Unknown("this is not a schema of zod")
    parts = UnknownParts()
    try:
        written = FRAMEWORKS[emitter.framework](schema, emitter, io, parts)
        return written if isinstance(written, Unknown) else parts.finished(written)
    except UnrepresentableError as error:
        return Unknown(str(error))


def _without_schema(emitter: Emitter) -> Json:
    if emitter.framework == "fastmcp":
        return {"additionalProperties": False, "properties": {}, "type": "object"}
    if emitter.framework == "sdk" and emitter.version < (1, 13):
        return {"type": "object"}
    return {"type": "object", "properties": {}}


def _module_of_empty(emitter: Emitter) -> str:
    """The module whose `object` an SDK calls for a shape without members: from 1.23 on that of zod 4."""
    return "zod/v4-mini" if emitter.framework == "sdk" and emitter.version >= (1, 23) else "zod"


def _of_sdk(schema: ZodSchema, emitter: Emitter, io: str, parts: UnknownParts) -> Json | Unknown:
    zod4 = is_zod4(schema, emitter.zod)
    if emitter.version >= (2,):
        return _of_second_sdk(schema, emitter, io, parts) if zod4 else Unknown("version 2 of the SDK cannot list zod 3")
    if emitter.version < (1, 23):
        if zod4:
            return Unknown("this version of the SDK cannot list schemas of zod 4")
        pipe = io if emitter.version >= (1, 18) else "all"
        strict = emitter.version >= (1, 4)
        return Zod3Converter(Options(emitter.converter, strict, pipe), parts).convert(schema)
    if schema.kind != "object" or (refined(schema) is not None and not zod4):
        return _without_schema(emitter)  # it takes only objects for schemas
    if zod4:
        return Zod4Generator(emitter.zod, "draft-07", io, parts).generate(schema)
    return Zod3Converter(Options(emitter.converter, True, io), parts).convert(schema)


def _of_second_sdk(schema: ZodSchema, emitter: Emitter, io: str, parts: UnknownParts) -> Json | Unknown:
    written = Zod4Generator(emitter.zod, "draft-2020-12", io, parts).generate(schema)
    if "type" in written:
        is_object = written["type"] == "object" or io == "output"
        if not is_object:
            return Unknown("version 2 of the SDK takes only objects for schemas")
        if io == "output":
            return written
    elif io == "output" and not _describes_object(written):
        return written
    result = {"type": "object", **written}
    parts.share(written, result)
    return result


def _describes_object(schema: Json) -> bool:
    if schema.keys() & {"properties", "patternProperties", "additionalProperties", "required"}:
        return True
    for keyword in ("oneOf", "anyOf", "allOf"):
        if schema.get(keyword):
            return all(member.get("type") == "object" or _describes_object(member) for member in schema[keyword])
    return False


def _of_fastmcp(schema: ZodSchema, emitter: Emitter, io: str, parts: UnknownParts) -> Json:
    if not is_zod4(schema, emitter.zod):
        written = Zod3Converter(Options(emitter.converter), parts).convert(schema)
    else:
        # It uses the method of Standard Schema, which is for input, where zod has it: from 4.2 on.
        direction = "input" if emitter.zod >= (4, 2) else "output"
        written = Zod4Generator(emitter.zod, "draft-07", direction, parts).generate(schema)
    return _closed(written, parts) if io == "input" and emitter.version >= (4, 4) else written


def _closed(schema: Json, parts: UnknownParts) -> Json:
    """A schema whose objects, and those of its properties, allow no other properties."""
    result = {**schema, "additionalProperties": False}
    parts.share(schema, result)
    if "properties" in schema:
        result["properties"] = {
            name: _closed(member, parts) if member.get("type") == "object" else member
            for name, member in schema["properties"].items()
        }
    return result


def _of_mastra(schema: ZodSchema, emitter: Emitter, io: str, parts: UnknownParts) -> Json:
    target = "draft-2020-12" if emitter.version >= (2,) else "draft-07"
    if not is_zod4(schema, emitter.zod):
        return Zod3Converter(Options(emitter.converter, references="relative"), parts).convert(schema)
    written = Zod4Generator(emitter.zod, target, io, parts, throws=False, adapt=_as_mastra).generate(schema)
    if (1,) <= emitter.version < (2,):
        written.pop("$schema", None)
    return written


def _as_mastra(schema: ZodSchema, json: Json) -> None:
    if json.get("type") == "object" and "properties" in json and not json.get("additionalProperties"):
        json["additionalProperties"] = schema.facts.get("extra") == "loose"
    if schema.kind == "date":
        json |= {"type": "string", "format": "date-time", "x-date": not schema.facts.get("coerce", False)}


def _of_tmcp(schema: ZodSchema, emitter: Emitter, _: str, parts: UnknownParts) -> Json | Unknown:
    if not is_zod4(schema, emitter.zod):
        return Unknown("the adapter of tmcp for zod 3 is not read")
    return Zod4Generator(emitter.zod, "draft-07", "output", parts).generate(schema)


def _of_mcp_framework(schema: ZodSchema, emitter: Emitter, _: str, parts: UnknownParts) -> Json | Unknown:
    if is_zod4(schema, emitter.zod):
        return Unknown("mcp-framework does not know schemas of zod 4")
    return ClassSchema(parts).write(schema)


FRAMEWORKS = {
    "sdk": _of_sdk,
    "fastmcp": _of_fastmcp,
    "mastra": _of_mastra,
    "tmcp": _of_tmcp,
    "mcp-framework": _of_mcp_framework,
}


def to_json_schema(schema: Value, options: Value, zod: Version) -> Value:
    """What `z.toJSONSchema(schema, options)` returns."""
    if not isinstance(schema, ZodSchema):
        return schema if isinstance(schema, Unknown) else Unknown("this is not a schema of zod")
    given = options.members if isinstance(options, JsObject) else {}
    target = TARGETS.get(given.get("target", UNDEFINED), "draft-2020-12")
    io = "input" if given.get("io") == "input" else "output"
    parts = UnknownParts()
    throws = given.get("unrepresentable") != "any"
    return _as_value(lambda: Zod4Generator(zod, target, io, parts, throws=throws).generate(schema), parts)


def zod_to_json_schema(schema: Value, options: Value, zod: Version, converter: Version) -> Value:
    """What `zodToJsonSchema(schema, options)` returns."""
    if not isinstance(schema, ZodSchema):
        return schema if isinstance(schema, Unknown) else Unknown("this is not a schema of zod")
    given = options.members if isinstance(options, JsObject) else {}
    name = options if isinstance(options, str) else given.get("name")
    wanted = Options(
        converter,
        strict_unions=given.get("strictUnions") is True,
        pipe=given.get("pipeStrategy", "all"),
        references=given.get("$refStrategy", "root"),
        target=given.get("target", "jsonSchema7"),
        name=name if isinstance(name, str) else None,
        removes_additional=given.get("removeAdditionalStrategy") == "strict",
    )
    parts = UnknownParts()
    if is_zod4(schema, zod):
        # It looks for members that zod 4 does not have.
        return JsObject({"$schema": "http://json-schema.org/draft-07/schema#"})
    return _as_value(lambda: Zod3Converter(wanted, parts).convert(schema), parts)


def _as_value(write: Any, parts: UnknownParts) -> Value:
    try:
        rendered = parts.finished(write())
    except UnrepresentableError as error:
        return Unknown(str(error))
    return _value(rendered.json, "", rendered.unknown)


def _value(json: Any, pointer: str, unknown: dict[str, str]) -> Value:
    if isinstance(json, list):
        return JsArray(
            [_value(item, f"{pointer}/{index}", unknown) for index, item in enumerate(json)], is_open=pointer in unknown
        )
    if isinstance(json, dict):
        members = {name: _value(member, f"{pointer}/{name}", unknown) for name, member in json.items()}
        return JsObject(members, is_open=pointer in unknown)
    return json
