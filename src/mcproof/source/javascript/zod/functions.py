"""The functions of zod: what `z.string()` and the others make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.text.english import word_set
from mcproof.source.javascript.values import UNDEFINED, Call, JsArray, JsObject, Unknown, Value
from mcproof.source.javascript.zod.formats import tables
from mcproof.source.javascript.zod.methods import CHECKS, computed, entries_of, zod_method
from mcproof.source.javascript.zod.schema import Check, Deferred, ZodSchema, as_list, settled, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIMPLE = word_set(
    "string number boolean bigint null any unknown never void undefined date symbol nan file custom function"
)
SAME_AS = {
    "instanceof": "custom",
    **{f"o{kind}": kind for kind in ("boolean", "number", "string")},
    "_function": "function",
}
"""Functions whose schemas are of a kind of another name; those that begin with `o` are optional besides."""
NUMBERS = {"int", "int32", "uint32", "float32", "float64"}
WRAPPERS = {
    **{name: name for name in word_set("optional nullable readonly nonoptional promise prefault catch success")},
    "exactOptional": "optional",
    "_default": "default",
    "_catch": "catch",
}
OF_MINI = word_set("nullish extend safeExtend merge pick omit partial required catchall keyof clone")
"""Functions of zod/mini that are methods elsewhere; the schema is their first argument."""
CHECKS_OF_MINI = {
    **{name: name for name in CHECKS if name not in ("date", "int", "nonempty")},
    **{name: name for name in ("describe", "meta", "refine", "superRefine", "overwrite", "check", "trim", "mime")},
    "minLength": "min",
    "maxLength": "max",
    "minSize": "min",
    "maxSize": "max",
    "minimum": "gte",
    "maximum": "lte",
}


def zod_call(path: Sequence[str], arguments: Sequence[Value], call: Call, module: str = "zod") -> Value:
    """What a function of zod returns; `path` is its name in the module, such as `("z", "coerce", "number")`."""
    name = path[-1] if path else ""
    schema = _created(name, [settled(argument) for argument in arguments], call, module, is_iso="iso" in path)
    if schema is None:
        return Unknown(f"nothing is known of z.{name}()")
    if "coerce" in path and isinstance(schema, ZodSchema):
        schema.facts["coerce"] = True
    return schema


def _created(name: str, arguments: list[Value], call: Call, module: str, *, is_iso: bool) -> Value:
    first = arguments[0] if arguments else UNDEFINED

    def schema(kind: str, options: Value = UNDEFINED, /, **facts: Any) -> ZodSchema:
        # zod 3 takes a description from the options of a function, zod 4 does not.
        if isinstance(options, JsObject) and "description" in options.members:
            facts["description"] = options.members["description"]
        return ZodSchema(kind, facts, module=module)

    if is_iso:
        return schema("string", first, checks=(Check(name, tuple(arguments)),), is_format=True)
    kind = SAME_AS.get(name, name)
    if kind in SIMPLE:
        created = schema(kind, first, **({"function": first} if kind == "custom" and arguments else {}))
        return created.wrapped("optional") if name.startswith("on") or name in ("ostring", "oboolean") else created
    if name in NUMBERS:
        return schema("number", first, checks=(Check(name),))
    if name in WRAPPERS:
        value = computed(arguments[1], call) if len(arguments) > 1 else UNDEFINED
        return schema(WRAPPERS[name], UNDEFINED, inner=first, value=value)
    if name in COMPOSITES:
        return COMPOSITES[name](schema, arguments, call)
    if name in OF_MINI and isinstance(first, ZodSchema):
        return zod_method(first, name, arguments[1:], call)
    if name in CHECKS_OF_MINI and name not in tables()["zod4"]:
        return Check(CHECKS_OF_MINI[name], tuple(arguments))
    if name in tables()["zod4"]:
        return schema("string", first, checks=(Check(name, tuple(arguments)),), is_format=True)
    return None


def _object(make: Callable[..., ZodSchema], arguments: list[Value], call: Call, extra: str | None = None) -> ZodSchema:
    shape, is_open = shape_of(arguments[0] if arguments else UNDEFINED, call)
    return make("object", *arguments[1:2], shape=shape, is_open=is_open, extra=extra, unknown_keys=extra)


def _union(make: Callable[..., ZodSchema], arguments: list[Value], *_: object) -> ZodSchema:
    return make("union", *arguments[1:2], options=as_list(arguments[0] if arguments else UNDEFINED))


def _discriminated(make: Callable[..., ZodSchema], arguments: list[Value], *_: object) -> ZodSchema:
    options = as_list(arguments[1]) if len(arguments) > 1 else []
    return make("union", *arguments[2:3], options=options, discriminator=arguments[0] if arguments else UNDEFINED)


def _xor(make: Callable[..., ZodSchema], arguments: list[Value], *_: object) -> ZodSchema:
    return make("union", options=as_list(arguments[0] if arguments else UNDEFINED), is_exclusive=True)


def _record(make: Callable[..., ZodSchema], arguments: list[Value], _: Call, mode: str = "") -> ZodSchema:
    if len(arguments) > 1 and isinstance(arguments[1], ZodSchema | Unknown | Deferred):
        options = arguments[2:3]
        key, value = arguments[:2]
    else:
        options = arguments[1:2]
        key, value = make("string"), arguments[0] if arguments else UNDEFINED
    return make("record", *options, key=key, value=value, mode=mode)


def _tuple(make: Callable[..., ZodSchema], arguments: list[Value], *_: object) -> ZodSchema:
    rest = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], ZodSchema) else None
    return make(
        "tuple",
        *arguments[1:2],
        items=as_list(arguments[0] if arguments else UNDEFINED),
        rest=rest,
        rest_is_argument=rest is not None,
    )


def _enum(make: Callable[..., ZodSchema], arguments: list[Value], *_: object) -> ZodSchema:
    entries, is_open = entries_of(arguments[0] if arguments else UNDEFINED)
    is_native = not isinstance(arguments[0], JsArray) if arguments else False
    return make("enum", *arguments[1:2], entries=entries, is_open=is_open, is_native=is_native)


def _literal(make: Callable[..., ZodSchema], arguments: list[Value], *_: object) -> ZodSchema:
    first = arguments[0] if arguments else UNDEFINED
    return make("literal", *arguments[1:2], values=as_list(first) if isinstance(first, JsArray) else [first])


def _lazy(make: Callable[..., ZodSchema], arguments: list[Value], call: Call) -> ZodSchema:
    return make("lazy", inner=Deferred(lambda: call(arguments[0], []) if arguments else UNDEFINED))


def _json(make: Callable[..., ZodSchema], *_: object) -> ZodSchema:
    options: list[Value] = [make("string"), make("number"), make("boolean"), make("null")]
    schema = make("lazy", inner=Deferred(lambda: union))
    options += [make("array", element=schema), make("record", key=make("string"), value=schema, mode="")]
    union = make("union", options=options)
    return schema


def _stringbool(make: Callable[..., ZodSchema], *_: object) -> ZodSchema:
    return make("stringbool", **{"in": make("string"), "out": make("boolean")})


def _of(kind: str, *words: str) -> Callable[..., ZodSchema]:
    """A function whose arguments are facts, followed by options."""

    def make_kind(make: Callable[..., ZodSchema], arguments: list[Value], *_: object) -> ZodSchema:
        given = [*arguments[: len(words)], *[UNDEFINED] * (len(words) - len(arguments))]
        return make(kind, *arguments[len(words) : len(words) + 1], **dict(zip(words, given, strict=True)))

    return make_kind


COMPOSITES: dict[str, Callable[..., ZodSchema]] = {
    "object": _object,
    "strictObject": lambda make, arguments, call: _object(make, arguments, call, "strict"),
    "looseObject": lambda make, arguments, call: _object(make, arguments, call, "loose"),
    "array": _of("array", "element"),
    "set": _of("set", "value"),
    "map": _of("map", "key", "value"),
    "intersection": _of("intersection", "left", "right"),
    "pipe": _of("pipe", "in", "out"),
    "pipeline": _of("pipe", "in", "out"),
    "codec": _of("codec", "in", "out"),
    "preprocess": lambda make, arguments, call: make(
        "preprocess", inner=arguments[1] if len(arguments) > 1 else UNDEFINED, absence=_absence(arguments, call)
    ),
    "transform": _of("transformation"),
    "nullish": lambda make, arguments, _: make(
        "optional", inner=make("nullable", inner=arguments[0] if arguments else UNDEFINED)
    ),
    "union": _union,
    "discriminatedUnion": _discriminated,
    "xor": _xor,
    "record": _record,
    "partialRecord": lambda make, arguments, call: _record(make, arguments, call, "partial"),
    "looseRecord": lambda make, arguments, call: _record(make, arguments, call, "loose"),
    "tuple": _tuple,
    "enum": _enum,
    "nativeEnum": _enum,
    "literal": _literal,
    "lazy": _lazy,
    "json": _json,
    "stringbool": _stringbool,
    "templateLiteral": _of("template", "parts"),
}


def _absence(arguments: list[Value], call: Call) -> Value:
    """What the function of `z.preprocess` makes of a missing value: zod 3 asks it whether a member is required."""
    return Deferred(lambda: call(arguments[0], [UNDEFINED]) if arguments else UNDEFINED)
