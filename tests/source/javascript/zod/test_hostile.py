"""Whatever arguments source passes to zod, the answer is a value."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mcproof.source.javascript.values import UNDEFINED, BigInt, JsArray, JsObject, JsRegExp, Unknown
from mcproof.source.javascript.zod.emitters import Emitter, input_schema, output_schema
from mcproof.source.javascript.zod.functions import CHECKS_OF_MINI, COMPOSITES, NUMBERS, SIMPLE, WRAPPERS, zod_call
from mcproof.source.javascript.zod.methods import (
    CHECKS,
    METHODS,
    OBJECTS,
    REFINEMENTS,
    UNWRAPPED,
    VALUES,
    zod_member,
    zod_method,
)
from mcproof.source.javascript.zod.schema import ZodSchema

IGNORING = {"json", "stringbool"}
"""Functions that take no arguments."""
EMITTERS = [
    Emitter(zod=(3, 25, 76)),
    *(Emitter(zod=zod) for zod in ((4, 0, 0), (4, 3, 6), (4, 6, 7))),
    Emitter("fastmcp"),
    Emitter("mastra", (2, 0, 0)),
    Emitter(version=(2, 4, 0)),
]


def called(_function: Any, _arguments: Any) -> Any:
    return Unknown("functions are not followed here")


def pool() -> list[Any]:
    """Values of every type."""
    text = zod_call(("z", "string"), [], called)
    shape = JsObject({"a": text, "b": 1, "c": Unknown("computed")}, is_open=True)
    return [
        *(
            UNDEFINED,
            None,
            True,
            "a/b",
            3,
            0.5,
            float("nan"),
            BigInt(3),
            JsRegExp("(", ""),
            Unknown("computed"),
            object(),
        ),
        *(text, shape, JsObject({"t": 1}), JsArray([text, "x", Unknown("computed"), None]), JsArray([], is_open=True)),
        zod_call(("z", "object"), [shape], called),
    ]


def written(value: Any) -> None:
    """Every emitter has an answer for a value."""
    for emitter in EMITTERS:
        for schema in (value, JsObject({"a": value})):
            assert input_schema(schema, emitter) is not None
            output_schema(schema, emitter)


@pytest.mark.parametrize("name", sorted({*COMPOSITES, *SIMPLE, *NUMBERS, *WRAPPERS, *CHECKS_OF_MINI, "email", "uuid"}))
def test_functions_take_any_arguments(name: str) -> None:
    values = pool()
    pairs = () if name in IGNORING else itertools.product(values, repeat=2)
    for arguments in ([], *([value] for value in values), *(list(pair) for pair in pairs)):
        value = zod_call(("z", name), arguments, called)
        if isinstance(value, ZodSchema):
            written(value)


@pytest.mark.parametrize(
    "name", sorted({*METHODS, *OBJECTS, *REFINEMENTS, *UNWRAPPED, *CHECKS, "strict", "rest", "parse"})
)
def test_methods_take_any_arguments(name: str) -> None:
    values = pool()
    receivers = [zod_call(("z", kind), [], called) for kind in ("string", "number", "bigint", "date")]
    receivers += [zod_call(("z", kind), values[-2:], called) for kind in ("array", "tuple", "enum", "record", "set")]
    for receiver in (*receivers, values[-1]):
        for arguments in ([], *([value] for value in values), [values[2], values[3]]):
            value = zod_method(receiver, name, arguments, called)
            if isinstance(value, ZodSchema):
                written(value)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_members_are_values(name: str) -> None:
    for kind in sorted({*COMPOSITES, *SIMPLE}):
        assert zod_member(zod_call(("z", kind), pool()[-2:], called), name) is not ...
