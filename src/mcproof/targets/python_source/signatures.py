"""What a framework makes of a function: the input and the output schema, and which parameters callers must give."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.jsontext import escape
from mcproof.targets.python_source import docstrings
from mcproof.targets.python_source.attributes import docstring_of
from mcproof.targets.python_source.fastmcp_schema import as_fastmcp
from mcproof.targets.python_source.outputs import output_schema
from mcproof.targets.python_source.pydantic_schema import Generator, Schema
from mcproof.targets.python_source.values import (
    MISSING,
    UNKNOWN,
    Called,
    Class,
    External,
    Function,
    Generic,
    UnionOf,
)

if TYPE_CHECKING:
    import ast

    from mcproof.targets.python_source.interpreter import Interpreter


class Parameter(NamedTuple):
    """One parameter of a function, as callers see it."""

    name: str
    node: ast.arg
    default: Any
    """What it is where nobody gives it; `MISSING` where it must be given."""


class Derived(NamedTuple):
    """What the framework derives from a function."""

    input_schema: Schema
    output_schema: Schema | None
    required: tuple[str, ...]
    parameters: dict[str, ast.arg]
    unknown: frozenset[str]
    description: str | None


def parameters_of(function: Function) -> list[Parameter]:
    """The parameters that a caller can give, in order."""
    face = function.face()
    spec = face.node.args
    positional = [*spec.posonlyargs, *spec.args]
    first_default = len(positional) - len(face.defaults)
    found = [
        Parameter(each.arg, each, face.defaults[index - first_default] if index >= first_default else MISSING)
        for index, each in enumerate(positional)
    ]
    if (function.bound_to is not None or face.bound_to is not None) and found:
        found = found[1:]
    if spec.vararg is not None:
        found.append(Parameter(spec.vararg.arg, spec.vararg, MISSING))
    found += [
        Parameter(each.arg, each, default) for each, default in zip(spec.kwonlyargs, face.kw_defaults, strict=True)
    ]
    if spec.kwarg is not None:
        found.append(Parameter(spec.kwarg.arg, spec.kwarg, MISSING))
    if function.partial is not None:
        given = len(function.partial[0])
        found = [
            each._replace(default=function.partial[1][each.name]) if each.name in function.partial[1] else each
            for each in found[given:]
        ]
    return found


def is_context(kind: Any) -> bool:
    """Whether an annotation says that the framework gives this parameter itself."""
    if isinstance(kind, External):
        return kind.last == "Context" and kind.package in ("mcp", "fastmcp")
    if isinstance(kind, Generic):
        return is_context(kind.base) or (
            isinstance(kind.base, External) and kind.base.last in ("Optional", "Union", "Annotated")
            and any(is_context(arg) for arg in kind.args)
        )  # fmt: skip
    if isinstance(kind, UnionOf):
        return any(is_context(arg) for arg in kind.args)
    return isinstance(kind, Class) and any(is_context(base) for base in kind.external_bases())


def _is_injected(kind: Any, default: Any) -> bool:
    """Whether a dependency fills a parameter, so that callers never see it."""
    if isinstance(default, Called):
        name = default.func.name
        if name.startswith(("fastmcp.dependencies", "fastmcp.server.dependencies", "docket", "uncalled_for")):
            return True
        if default.func.last in ("Depends", "CurrentContext"):
            return True
    if isinstance(kind, Generic) and isinstance(kind.base, External) and kind.base.last == "Annotated":
        return any(isinstance(arg, Called) and arg.func.last in ("Resolve", "Depends") for arg in kind.args[1:])
    return False


def _with_words(kind: Any) -> Any:
    """A type beside which stands nothing but a text: fastmcp has that for the description of the parameter."""
    if not (isinstance(kind, Generic) and isinstance(kind.base, External) and kind.base.last == "Annotated"):
        return kind
    inner, *said = kind.args
    is_whole = not (isinstance(inner, Generic) and isinstance(inner.base, External) and inner.base.last == "Annotated")
    if len(said) != 1 or not isinstance(said[0], str) or not is_whole:
        return kind
    return Generic(kind.base, (inner, Called(External("pydantic.Field"), [], {"description": said[0]})))


def derive(run: Interpreter, function: Function, framework: str, *, structured: Any = None) -> Derived:
    """Everything that follows from a function's signature and docstring."""
    is_fastmcp = framework == "fastmcp"
    maker = Generator(run)
    face = function.face()
    properties: Schema = {}
    required: list[str] = []
    nodes: dict[str, ast.arg] = {}
    context_seen = False
    for name, node, default in parameters_of(function):
        kind = run.annotation(node.annotation, face.scope) if node.annotation is not None else MISSING
        kind = maker.resolved(kind, face.scope)
        if is_context(kind) and (is_fastmcp or not context_seen):
            context_seen = True
            continue
        if _is_injected(kind, default):
            continue
        kind = _with_words(kind) if is_fastmcp else kind
        shown = maker.alias(kind, default, face.scope) or name
        place = f"/properties/{escape(shown)}"
        if kind is MISSING:
            entry = maker.field(shown, External("typing.Any"), default, face.scope, place)
            if not is_fastmcp:
                entry = entry._replace(schema={**entry.schema, "title": name, "type": "string"})
        else:
            entry = maker.field(shown, kind, default, face.scope, place)
        properties[shown] = entry.schema
        nodes[shown] = node
        if entry.required:
            required.append(shown)
    made: Schema = {"properties": properties, "type": "object"}
    if required:
        made["required"] = required
    if is_fastmcp:
        made["additionalProperties"] = False
    else:
        made["title"] = f"{face.name}Arguments"
    description = docstring_of(function) or docstring_of(face)
    if is_fastmcp:
        description = _describe(made, description)
    schema = maker.whole(made)
    if is_fastmcp:
        schema = as_fastmcp(schema, properties, maker.unknown)
    schema = maker.told_apart(schema)
    unknown = {f"/inputSchema{each}" for each in maker.unknown}
    output, output_unknown = (None, set()) if structured is False else output_schema(run, function, framework)
    if structured is UNKNOWN:
        output, output_unknown = None, {""}
    unknown |= {f"/outputSchema{each}" for each in output_unknown}
    return Derived(schema, output, tuple(required), nodes, frozenset(unknown), description)


def _describe(schema: Schema, text: str | None) -> str | None:
    """Parameter descriptions from the docstring; returns the description of the tool."""
    if not text:
        return None
    parts = docstrings.split(inspect.cleandoc(text))
    for name, description in parts.parameters.items():
        entry = schema["properties"].get(name)
        if entry is not None and "description" not in entry:
            entry["description"] = description
    return parts.description
