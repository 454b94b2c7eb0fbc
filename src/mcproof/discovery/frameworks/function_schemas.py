"""The schemas that a framework derives from a function, and its required parameters."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.text.json_positions import escape
from mcproof.discovery.frameworks import fastmcp_docstrings
from mcproof.discovery.frameworks.fastmcp_schema import as_fastmcp
from mcproof.discovery.frameworks.framework_versions import CLOSED, OUTPUT_SCHEMAS
from mcproof.discovery.frameworks.output_schema import output_schema
from mcproof.discovery.interp.assumptions import default_of
from mcproof.discovery.interp.attributes import docstring_of
from mcproof.discovery.interp.parameters import signature_of, written_parameters
from mcproof.discovery.interp.values import (
    MISSING,
    UNKNOWN,
    Class,
    External,
    ExternalCall,
    Function,
    Generic,
    UnionOf,
)
from mcproof.discovery.pydantic.generator import SchemaGenerator

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.interp.interpreter import Interpreter
    from mcproof.discovery.pydantic.schema_nodes import Schema


class DerivedSchemas(NamedTuple):
    """What a framework derives from a function."""

    input_schema: Schema
    output_schema: Schema | None
    required: tuple[str, ...]
    parameters: dict[str, ast.arg]
    unknown: frozenset[str]
    description: str | None


def is_context(kind: Any) -> bool:
    """Whether the framework itself supplies a parameter with this annotation."""
    if isinstance(kind, External):
        return kind.last == "Context" and kind.package in ("mcp", "fastmcp")
    if isinstance(kind, Generic):
        is_union = isinstance(kind.base, External) and kind.base.last in ("Optional", "Union", "Annotated")
        return is_context(kind.base) or (is_union and any(map(is_context, kind.args)))
    if isinstance(kind, UnionOf):
        return any(is_context(arg) for arg in kind.args)
    return isinstance(kind, Class) and any(is_context(base) for base in kind.external_bases())


def _is_injected(kind: Any, default: Any) -> bool:
    """Whether a parameter is supplied by dependency injection, and hidden from callers."""
    if isinstance(default, ExternalCall):
        name = default.func.name
        if name.startswith(("fastmcp.dependencies", "fastmcp.server.dependencies", "docket", "uncalled_for")):
            return True
        if default.func.last in ("Depends", "CurrentContext"):
            return True
    if isinstance(kind, Generic) and isinstance(kind.base, External) and kind.base.last == "Annotated":
        return any(isinstance(arg, ExternalCall) and arg.func.last in ("Resolve", "Depends") for arg in kind.args[1:])
    return False


def _with_description(kind: Any) -> Any:
    """fastmcp: `Annotated[T, "text"]` as `Annotated[T, Field(description="text")]`."""
    if not (isinstance(kind, Generic) and isinstance(kind.base, External) and kind.base.last == "Annotated"):
        return kind
    inner, *metadata = kind.args
    is_whole = not (isinstance(inner, Generic) and isinstance(inner.base, External) and inner.base.last == "Annotated")
    if len(metadata) != 1 or not isinstance(metadata[0], str) or not is_whole:
        return kind
    return Generic(kind.base, (inner, ExternalCall(External("pydantic.Field"), [], {"description": metadata[0]})))


def derive(
    run: Interpreter, function: Function, framework: str, traits: frozenset[str], *, structured: Any = None
) -> DerivedSchemas:
    """Derive everything from a function's signature and docstring, as a version of a framework does."""
    is_fastmcp = framework == "fastmcp"
    generator = SchemaGenerator(run)
    exposed = function.exposed()
    properties: Schema = {}
    required: list[str] = []
    nodes: dict[str, ast.arg] = {}
    context_seen = False
    signature = signature_of(function)
    if signature is None:
        generator.unknown.add("")
    for each in signature.parameters if signature is not None else written_parameters(function):
        name, default = each.name, default_of(each.default)
        kind = generator.parsed_type(each.type_in(run), exposed.scope)
        if is_context(kind) and (is_fastmcp or not context_seen):
            context_seen = True
            continue
        if _is_injected(kind, default):
            continue
        kind = _with_description(kind) if is_fastmcp else kind
        shown = generator.alias(kind, default, exposed.scope) or name
        pointer = f"/properties/{escape(shown)}"
        if kind is MISSING:
            entry = generator.field(shown, External("typing.Any"), default, exposed.scope, pointer)
            if not is_fastmcp:
                entry = entry._replace(schema={**entry.schema, "title": name, "type": "string"})
        else:
            entry = generator.field(shown, kind, default, exposed.scope, pointer)
        properties[shown] = entry.schema
        if each.node is not None:
            nodes[shown] = each.node
        if signature is not None and name in signature.doubtful:
            generator.unknown |= {pointer, "/required"}
        if entry.required:
            required.append(shown)
    made: Schema = {"properties": properties, "type": "object"}
    if required:
        made["required"] = required
    if is_fastmcp and CLOSED in traits:
        made["additionalProperties"] = False
    elif not is_fastmcp:
        made["title"] = f"{exposed.name}Arguments"
    description = docstring_of(function) or docstring_of(exposed)
    if is_fastmcp:
        description = _describe(made, description, traits)
    schema = generator.with_definitions(made)
    if is_fastmcp:
        schema = as_fastmcp(schema, properties, generator.unknown, traits)
    schema = generator.qualify_names(schema)
    unknown = {f"/inputSchema{each}" for each in generator.unknown}
    output, output_unknown = (None, set()) if structured is False else output_schema(run, function, framework, traits)
    if structured is UNKNOWN and OUTPUT_SCHEMAS in traits:
        output, output_unknown = None, {""}
    unknown |= {f"/outputSchema{each}" for each in output_unknown}
    return DerivedSchemas(schema, output, tuple(required), nodes, frozenset(unknown), description)


def _describe(schema: Schema, text: str | None, traits: frozenset[str]) -> str | None:
    """Set the descriptions of parameters from the docstring; return the description of the tool."""
    if not text:
        return None
    parts = fastmcp_docstrings.parsed_docstring(inspect.cleandoc(text), traits)
    for name, description in parts.parameters.items():
        entry = schema["properties"].get(name)
        if entry is not None and "description" not in entry:
            entry["description"] = description
    return parts.description
