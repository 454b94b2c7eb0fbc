"""Expressions that make a schema of mcproof again, for the real library to judge what was read."""

from __future__ import annotations

from typing import Any

from mcproof.source.javascript.values import UNDEFINED, JsArray, JsObject, JsRegExp
from mcproof.source.javascript.zod.schema import ZodSchema, member_of

from .expressions import Expression, Function, Later, Regex, z

SAME = Function("value => value")
INNER = {"optional", "nullable", "readonly", "nonoptional", "promise"}
VALUED = {"default": "_default", "catch": "catch", "prefault": "prefault"}
PAIRS = {"intersection": ("left", "right"), "pipe": ("in", "out"), "map": ("key", "value"), "record": ("key", "value")}


class Rebuilding:
    """The expressions of schemas, one for each schema, because identity matters."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, ZodSchema]] = {}

    def expression(self, value: Any) -> Any:
        """A schema as an expression, other values as data."""
        if isinstance(value, ZodSchema):
            if id(value) not in self.known:
                self.known[id(value)] = self._schema(value), value
            return self.known[id(value)][0]
        if isinstance(value, JsArray):
            return [self.expression(item) for item in value.items]
        if isinstance(value, JsObject):
            return {name: self.expression(member) for name, member in value.members.items()}
        return Regex(value.source, value.flags) if isinstance(value, JsRegExp) else value

    def _schema(self, schema: ZodSchema) -> Any:
        facts, base = schema.facts, schema.base
        if base is not None and schema.step in ("meta", "check", "refine", "brand"):
            expression: Any = self.expression(base)
            if schema.step == "meta":
                return self._method(expression, "meta", self.expression(JsObject(facts["meta"])))
            if schema.step == "check":
                name, arguments = schema.checks[-1]
                return self._method(expression, name, *map(self.expression, arguments))
            return self._method(expression, schema.step, *([SAME] if schema.step == "refine" else []))
        return self._new(schema)

    def _method(self, expression: Any, name: str, *arguments: Any) -> Expression:
        return Expression(expression, (name,), arguments)

    def _new(self, schema: ZodSchema) -> Any:
        kind, facts = schema.kind, schema.facts
        if kind == "lazy":
            return z.lazy(Later(lambda: self.expression(schema.inner.get())))
        if kind == "object":
            shape = z.object({name: self.expression(member_of(schema.shape, name)) for name in schema.shape})
            extra = facts.get("extra")
            if isinstance(extra, ZodSchema):
                return shape.catchall(self.expression(extra))
            return getattr(shape, extra)() if extra else shape
        if kind in INNER:
            return getattr(z, kind)(self.expression(schema.inner))
        if kind in VALUED:
            return getattr(z, VALUED[kind])(self.expression(schema.inner), self.expression(facts["value"]))
        if kind in PAIRS:
            return getattr(z, kind)(*(self.expression(facts[word]) for word in PAIRS[kind]))
        if kind == "transform":
            return self._method(self.expression(schema.inner), "transform", SAME)
        if kind == "preprocess":
            return z.preprocess(SAME, self.expression(schema.inner))
        if kind == "array":
            return z.array(self.expression(facts["element"]))
        if kind == "tuple":
            tuple_ = z.tuple([self.expression(item) for item in facts["items"]])
            return tuple_.rest(self.expression(facts["rest"])) if facts["rest"] is not None else tuple_
        if kind == "union":
            options = [self.expression(option) for option in facts["options"]]
            tag = facts.get("discriminator", UNDEFINED)
            return z.union(options) if tag is UNDEFINED else z.discriminatedUnion(tag, options)
        if kind == "enum":
            return z.enum(facts["entries"])
        if kind == "literal":
            return z.literal([self.expression(value) for value in facts["values"]])
        if schema.checks:  # a schema of a format: `z.email()`
            name, arguments = schema.checks[0]
            path = z.iso if name in ("date", "time", "datetime", "duration") else z
            return getattr(path, name)(*map(self.expression, arguments))
        return getattr(z.coerce if facts.get("coerce") else z, kind)()


def rebuilt(schema: ZodSchema) -> Expression:
    """An expression that makes the same schema."""
    expression: Expression = Rebuilding().expression(schema)
    return expression
