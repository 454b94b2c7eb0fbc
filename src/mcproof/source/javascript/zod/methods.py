"""The methods of schemas, and their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.values import UNDEFINED, BigInt, Call, JsArray, JsObject, JsRegExp, Unknown, Value
from mcproof.source.javascript.zod.formats import tables
from mcproof.source.javascript.zod.schema import Check, Deferred, ZodSchema, as_list, member_of, settled, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

LENGTHS = {"min", "max", "length", "size", "nonempty"}
NUMBERS = {
    *("min", "max", "gt", "gte", "lt", "lte", "int", "safe", "positive", "negative", "nonnegative", "nonpositive"),
    *("multipleOf", "step", "finite"),
}
STRINGS = {
    *LENGTHS,
    *("regex", "includes", "startsWith", "endsWith", "trim", "toLowerCase", "toUpperCase", "normalize", "slugify"),
    *("datetime", "date", "time", "duration", "ip", "cidr", "lowercase", "uppercase"),
}
CHECKS = NUMBERS | STRINGS
OF_KIND = {
    "number": NUMBERS,
    "bigint": NUMBERS,
    "date": {"min", "max"},
    "array": LENGTHS,
    "set": LENGTHS,
    "map": LENGTHS,
    "file": {"min", "max", "mime"},
    "tuple": LENGTHS,
}
"""Methods that add a check, by the kind of schema; those of strings are in `_is_check`."""
WRAPPERS = {
    **{name: name for name in ("optional", "nullable", "readonly", "nonoptional", "promise")},
    "exactOptional": "optional",
}
REFINEMENTS = {"refine", "superRefine", "refinement", "superrefine", "overwrite"}
UNWRAPPED = {"unwrap", "innerType", "removeDefault", "removeCatch", "sourceType"}
EXTRAS = {"strict": "strict", "passthrough": "loose", "loose": "loose", "nonstrict": "loose", "strip": None}
VALUES = {
    *(
        "shape",
        "options",
        "enum",
        "Enum",
        "Values",
        "element",
        "value",
        "values",
        "description",
        "keySchema",
        "keyType",
    ),
    *("valueSchema", "valueType", "items", "schema", "_def", "def", "_zod", "~standard", "type", "in", "out"),
}
"""Members that are values; all other members are methods."""


def zod_method(schema: ZodSchema, name: str, arguments: Sequence[Value], call: Call) -> Value:
    """What a method of a schema returns."""
    arguments = [settled(argument) for argument in arguments]
    first = arguments[0] if arguments else UNDEFINED
    if _is_check(schema, name):
        return schema.checked(name, *arguments)
    if name in WRAPPERS:
        return schema.wrapped(WRAPPERS[name])
    if name in REFINEMENTS:
        return schema.changed("refine")
    if name in UNWRAPPED:
        return _unwrapped(schema)
    if schema.kind == "object" and (name in OBJECTS or name in EXTRAS):
        if name in EXTRAS:
            return schema.changed("shape", extra=EXTRAS[name], unknown_keys=EXTRAS[name])
        return OBJECTS[name](schema, arguments, call)
    if schema.kind == "enum" and name in ("extract", "exclude"):
        return _selected(schema, first, keeps=name == "extract")
    if name in METHODS:
        return METHODS[name](schema, arguments, call)
    if name in ("rest", "returns", "args", "implement") and schema.kind in ("tuple", "function"):
        return schema.changed("shape", rest=first, rest_is_argument=False)
    return Unknown(f"nothing is known of the method {name}() of zod's schemas")


def _is_check(schema: ZodSchema, name: str) -> bool:
    if schema.kind == "string":
        return name in STRINGS or name in tables()["zod4"]
    return name in OF_KIND.get(schema.kind, ())


def computed(value: Value, call: Call) -> Value:
    """A default: a value, or what a function returns."""
    is_data = value is None or value is UNDEFINED or isinstance(value, DATA)
    return value if is_data and not getattr(value, "is_callable", False) else call(value, [])


DATA = (str, bool, int, float, JsArray, JsObject, Unknown, BigInt, JsRegExp, ZodSchema)


def entries_of(value: Value) -> tuple[dict[str, Value], bool]:
    """The entries of an enumeration, from an array or an object, and whether there may be more."""
    if isinstance(value, JsArray):
        items = as_list(value)
        return {item: item for item in items if isinstance(item, str)}, any(isinstance(item, Unknown) for item in items)
    if isinstance(value, JsObject):
        members = {name: settled(member) for name, member in value.members.items()}
        entries = {name: member for name, member in members.items() if isinstance(member, str | int | float)}
        return entries, value.is_open or any(isinstance(member, Unknown) for member in members.values())
    return {}, True


def _unwrapped(schema: ZodSchema) -> Value:
    if schema.kind == "array":
        return schema.facts["element"]
    if "inner" not in schema.facts:
        return schema.base or schema  # what `innerType` of a refinement returns in zod 3
    return settled(schema.inner)


def _described(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
    return schema.changed("meta", meta={"description": arguments[0] if arguments else UNDEFINED})


def _with_metadata(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
    if not arguments:
        return Unknown("the metadata of a schema is not read")
    return schema.changed("meta", meta=_metadata(arguments[-1]))


def _metadata(value: Value) -> dict[str, Value]:
    if isinstance(value, JsObject):
        open_part = {"description": Unknown("this metadata is computed")} if value.is_open else {}
        return {**open_part, **value.members}
    return {"description": Unknown("this metadata is computed")}


def _registered(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
    return schema.changed("register", meta=_metadata(arguments[1])) if len(arguments) > 1 else schema


def _checked(schema: ZodSchema, arguments: list[Value], call: Call) -> Value:
    """The method `check`, whose arguments are functions, checks, or schemas of formats."""
    for argument in arguments:
        if isinstance(argument, Check):
            changed = zod_method(schema, argument.name, argument.arguments, call)
        elif isinstance(argument, ZodSchema):
            changed = schema.changed("check", checks=(*schema.checks, *argument.checks))
        else:
            changed = schema.changed("refine")
        if not isinstance(changed, ZodSchema):
            return changed
        schema = changed
    return schema


def _applied(schema: ZodSchema, arguments: list[Value], call: Call) -> Value:
    return call(arguments[0], [schema, *arguments[1:]]) if arguments else schema


def _with_value(kind: str) -> Any:
    return lambda schema, arguments, call: schema.wrapped(
        kind, value=computed(arguments[0], call) if arguments else UNDEFINED
    )


METHODS: dict[str, Any] = {
    "describe": _described,
    "meta": _with_metadata,
    "register": _registered,
    "check": _checked,
    "with": _checked,
    "apply": _applied,
    "clone": lambda schema, *_: schema,
    "brand": lambda schema, *_: schema.changed("brand"),
    "nullish": lambda schema, *_: schema.wrapped("nullable").wrapped("optional"),
    "array": lambda schema, *_: ZodSchema("array", {"element": schema}, module=schema.module),
    "or": lambda schema, arguments, _: ZodSchema(
        "union", {"options": [schema, *arguments[:1]], "inner": schema, "by_method": True}, module=schema.module
    ),
    "and": lambda schema, arguments, _: ZodSchema(
        "intersection",
        {"left": schema, "right": arguments[0] if arguments else UNDEFINED, "inner": schema, "by_method": True},
        module=schema.module,
    ),
    "transform": lambda schema, *_: schema.wrapped(
        "transform", output=ZodSchema("transformation", module=schema.module)
    ),
    "pipe": lambda schema, arguments, _: ZodSchema(
        "pipe", {"in": schema, "out": arguments[0] if arguments else UNDEFINED}, module=schema.module
    ),
    "default": _with_value("default"),
    "prefault": _with_value("prefault"),
    "catch": _with_value("catch"),
}


def _shaped(
    schema: ZodSchema, shape: dict[str, Value], *, is_open: bool = False, step: str = "shape", **facts: Any
) -> ZodSchema:
    return schema.changed(step, shape=shape, is_open=is_open or schema.facts.get("is_open", False), **facts)


def _extended(schema: ZodSchema, arguments: list[Value], call: Call) -> Value:
    added = arguments[0] if arguments else UNDEFINED
    if isinstance(added, ZodSchema) and added.kind == "object":
        return _merged(schema, arguments)
    shape, is_open = shape_of(added, call)
    return _shaped(schema, {**schema.shape, **shape}, is_open=is_open)


def _merged(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
    other = arguments[0] if arguments else UNDEFINED
    if not isinstance(other, ZodSchema) or other.kind != "object":
        return _shaped(schema, schema.shape, is_open=True, step="merge")
    is_open = bool(other.facts.get("is_open"))
    others = {word: other.facts.get(word) for word in ("extra", "catchall", "unknown_keys")}
    return _shaped(schema, {**schema.shape, **other.shape}, is_open=is_open, step="merge", **others)


def _mask(arguments: list[Value]) -> tuple[set[str] | None, bool]:
    """The names that a mask selects; None for all. And whether the mask is known."""
    mask = arguments[0] if arguments else UNDEFINED
    if mask is UNDEFINED:
        return None, True
    if not isinstance(mask, JsObject):
        return set(), False
    chosen = {
        name for name, value in mask.members.items() if value is not False and value is not UNDEFINED and value != 0
    }
    return chosen, not mask.is_open and not any(isinstance(value, Unknown) for value in mask.members.values())


def _picked(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
    names, is_known = _mask(arguments)
    shape = {name: value for name, value in schema.shape.items() if names is None or name in names}
    return _shaped(schema, shape, is_open=not is_known)


def _omitted(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
    names, is_known = _mask(arguments)
    shape = {name: value for name, value in schema.shape.items() if not names or name not in names}
    return _shaped(schema, shape, is_open=not is_known)


def _wrapped_members(kind: str) -> Any:
    def method(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
        names, is_known = _mask(arguments)
        shape = {name: member_of(schema.shape, name) for name in schema.shape}
        for name, member in shape.items():
            if isinstance(member, ZodSchema) and (names is None or name in names):
                shape[name] = member.wrapped(kind)
                shape[name].node = member.node
        return _shaped(schema, shape, is_open=not is_known)

    return method


def _deep_partial(schema: Value) -> Value:
    if not isinstance(schema, ZodSchema):
        return schema
    if schema.kind == "object":
        shape = {name: _deep_partial(member_of(schema.shape, name)) for name in schema.shape}
        optional = {
            name: member.wrapped("optional") if isinstance(member, ZodSchema) else member
            for name, member in shape.items()
        }
        return _shaped(schema, optional)
    if schema.kind == "array":
        return schema.changed("shape", element=_deep_partial(schema.facts["element"]))
    if schema.kind in ("optional", "nullable"):
        return schema.changed("shape", inner=_deep_partial(schema.inner))
    return schema


def _keys(schema: ZodSchema, *_: object) -> Value:
    facts = {"entries": {name: name for name in schema.shape}, "is_open": schema.facts.get("is_open", False)}
    return ZodSchema("enum", facts, module=schema.module)


def _with_catchall(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
    others = arguments[0] if arguments else UNDEFINED
    return schema.changed("shape", extra=others, catchall=others)


def _with_member(schema: ZodSchema, arguments: list[Value], *_: object) -> Value:
    if len(arguments) < 2 or not isinstance(arguments[0], str):
        return _shaped(schema, schema.shape, is_open=True)
    return _shaped(schema, {**schema.shape, arguments[0]: arguments[1]})


OBJECTS: dict[str, Any] = {
    "extend": _extended,
    "safeExtend": _extended,
    "augment": _extended,
    "merge": _merged,
    "pick": _picked,
    "omit": _omitted,
    "partial": _wrapped_members("optional"),
    "exactPartial": _wrapped_members("optional"),
    "required": _wrapped_members("nonoptional"),
    "deepPartial": lambda schema, *_: _deep_partial(schema),
    "catchall": _with_catchall,
    "keyof": _keys,
    "setKey": _with_member,
}


def _selected(schema: ZodSchema, names: Value, *, keeps: bool) -> ZodSchema:
    """`extract` and `exclude` of an enumeration."""
    chosen = {item for item in as_list(names) if isinstance(item, str)}
    entries = {name: value for name, value in schema.facts["entries"].items() if (name in chosen) == keeps}
    is_open = schema.facts.get("is_open", False) or not isinstance(names, JsArray) or names.is_open
    return ZodSchema("enum", {"entries": entries, "is_open": is_open}, module=schema.module)


def zod_member(schema: ZodSchema, name: str) -> Value:
    """A member of a schema that is a value, as listed in `VALUES`."""
    facts = schema.facts
    if name == "description":
        return description_of(schema)
    if name == "shape" and schema.kind == "object":
        return JsObject({member: member_of(schema.shape, member) for member in schema.shape}, is_open=facts["is_open"])
    if schema.kind == "enum":
        if name in ("enum", "Enum", "Values"):
            return JsObject(dict(facts["entries"]), is_open=facts.get("is_open", False))
        if name in ("options", "values"):
            return JsArray(list(facts["entries"].values()), is_open=facts.get("is_open", False))
    if schema.kind == "union" and name == "options":
        return JsArray(list(facts["options"]))
    if schema.kind == "literal" and name == "value" and len(facts["values"]) == 1:
        return facts["values"][0]
    if name in ("in", "out") and schema.kind in ("preprocess", "transform"):
        if "/v4" not in schema.module:
            return UNDEFINED
        function = facts.get("output") or ZodSchema("transformation", module=schema.module)
        sides = (function, facts["inner"]) if schema.kind == "preprocess" else (facts["inner"], function)
        return settled(sides[name == "out"])
    word = {"keySchema": "key", "keyType": "key", "valueSchema": "value", "valueType": "value", "schema": "inner"}.get(
        name, name
    )
    if word in facts and name in VALUES:
        return settled(facts[word])
    return Unknown(f"nothing is known of the member {name} of this schema")


def description_of(schema: ZodSchema) -> Value:
    """The description of a schema, where both versions agree on it."""
    current: ZodSchema | None = schema
    while current is not None:
        if "description" in current.facts.get("meta", {}):
            return current.facts["meta"]["description"]
        if current.facts.get("by_method") or current.step in ("shape", "check", "refine"):
            return Unknown("the versions of zod differ in this description")
        current = current.base
    return schema.facts.get("description", UNDEFINED)


INNER = {"optional", "nullable", "default", "catch", "readonly", "nonoptional", "prefault", "promise"}
PARTS = {"key": "keyType", "value": "valueType", "left": "left", "right": "right", "in": "in", "out": "out"}


def definition_of(schema: ZodSchema, *, is_zod4: bool) -> JsObject:
    """The member `_def`, with which servers convert schemas by themselves; functions are deferred values."""
    kind, facts = schema.kind, schema.facts
    is_effect = not is_zod4 and (kind in ("transform", "preprocess") or schema.step == "refine")
    members: dict[str, Value] = {"description": description_of(schema)} if not is_zod4 else {}
    if kind == "object" and not is_effect:
        shape = zod_member(schema, "shape")
        members["shape"] = shape if is_zod4 else Deferred(lambda: shape)
    elif is_effect:
        members["schema"] = schema.base if schema.step == "refine" else facts["inner"]
    elif kind in INNER:
        members["type" if kind == "promise" and not is_zod4 else "innerType"] = settled(schema.inner)
    elif kind == "array":
        members["element" if is_zod4 else "type"] = settled(facts["element"])
    elif kind == "enum":
        values = zod_member(schema, "options" if not facts.get("is_native") else "enum")
        members["entries" if is_zod4 else "values"] = zod_member(schema, "enum") if is_zod4 else values
    elif kind == "literal":
        members |= {"values": JsArray(list(facts["values"]))} if is_zod4 else {"value": facts["values"][0]}
    elif kind == "union":
        members["options"] = JsArray(list(facts["options"]))
    else:
        members |= {name: settled(facts[word]) for word, name in PARTS.items() if word in facts and kind != "default"}
    if kind in ("default", "prefault"):
        members["defaultValue"] = facts["value"] if is_zod4 else Deferred(lambda: facts["value"])
    if is_zod4:
        # Converters tell the versions apart by `typeName`, which only zod 3 has.
        members |= {"type": kind, "typeName": UNDEFINED}
    else:
        name = "nativeEnum" if facts.get("is_native") else {"pipe": "pipeline"}.get(kind, kind)
        name = "discriminatedUnion" if facts.get("discriminator") is not None else name
        members["typeName"] = "ZodEffects" if is_effect else f"Zod{name[0].upper()}{name[1:]}"
    return JsObject(members, is_open=True)
