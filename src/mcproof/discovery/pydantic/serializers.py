"""Methods that change the values of a model: computed fields, serializers, validators."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.interp.values import UNKNOWN, Class, External, ExternalCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.discovery.pydantic.generator import SchemaGenerator

_CHANGING = frozenset(
    [
        "computed_field", "field_serializer", "model_serializer", "field_validator", "model_validator", "validator",
        "root_validator",
    ]
)  # fmt: skip


class DecoratedMethod(NamedTuple):
    """A method with a decorator of Pydantic."""

    decorator: Any
    """The evaluated decorator, or its call."""
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: Class

    def options(self) -> dict[str, Any]:
        """The keyword arguments of the decorator."""
        return self.decorator.kwargs if isinstance(self.decorator, ExternalCall) else {}


def marked(generator: SchemaGenerator, cls: Class, wanted: frozenset[str]) -> Iterator[DecoratedMethod]:
    """The methods of a class and its ancestors with one of these decorators, the farthest ancestor first."""
    for each in reversed(cls.ancestry()):
        for node in each.node.body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for decorator in node.decorator_list:
                value = generator.run.annotation(decorator, each.scope)
                func = value.func if isinstance(value, ExternalCall) else value
                if isinstance(func, External) and func.last in wanted:
                    yield DecoratedMethod(value, node.name, node, each)


def changes_values(generator: SchemaGenerator, cls: Class) -> bool:
    """Whether an instance of a model may be serialized with other values than it is created with."""
    names = [name for each in cls.ancestry() for name in each.body.names]
    if "__init__" in names or "model_post_init" in names or "__post_init__" in names:
        return True
    return next(marked(generator, cls, _CHANGING), None) is not None


def computed_fields(generator: SchemaGenerator, cls: Class) -> dict[str, DecoratedMethod]:
    """The properties that are serialized as fields."""
    return {each.name: each for each in marked(generator, cls, frozenset(["computed_field"]))}


def computed_type(generator: SchemaGenerator, field: DecoratedMethod) -> Any:
    """The type of a computed field."""
    if "return_type" in field.options():
        return field.options()["return_type"]
    return (
        generator.run.annotation(field.node.returns, field.owner.scope) if field.node.returns is not None else UNKNOWN
    )


def computed_info(field: DecoratedMethod) -> ExternalCall:
    """The metadata of a computed field, as a `Field(...)`."""
    described = ast.get_docstring(field.node, clean=False)
    options = {key: value for key, value in field.options().items() if key in _METADATA}
    if described and options.get("description") is None:
        options["description"] = inspect.cleandoc(described)
    complete = field.decorator.complete if isinstance(field.decorator, ExternalCall) else True
    return ExternalCall(External("pydantic.Field"), [], options, complete=complete)


_METADATA = frozenset(("title", "description", "examples", "deprecated", "json_schema_extra"))


def serializer_types(generator: SchemaGenerator, cls: Class) -> dict[str, Any]:
    """The return types of serializers, by field; `""` for that of the model."""
    found: dict[str, Any] = {}
    for each in marked(generator, cls, frozenset(["field_serializer", "model_serializer"])):
        kind = each.options().get("return_type")
        if kind is None and each.node.returns is None:
            kind = UNDECLARED
        elif kind is None:
            kind = generator.run.annotation(each.node.returns, each.owner.scope)
        is_model = getattr(getattr(each.decorator, "func", each.decorator), "last", "") == "model_serializer"
        names = [""] if is_model else [name for name in each.decorator.args if isinstance(name, str)]
        found.update(dict.fromkeys(names, kind))
    return found


class _Undeclared:
    """A serializer without a return type: the schema stays, the default may change."""


UNDECLARED = _Undeclared()


def is_declared(kind: Any) -> bool:
    """Whether a serializer declares its return type."""
    return kind is not UNDECLARED
