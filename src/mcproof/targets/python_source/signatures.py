"""What a framework makes of a function: the input and the output schema, and which parameters callers must give."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.jsontext import escape
from mcproof.targets.python_source import docstrings, models
from mcproof.targets.python_source.expressions import docstring_of
from mcproof.targets.python_source.pydantic_schema import Generator, Schema, ordered, title
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
    from mcproof.targets.python_source.interpreter import Interpreter
    from mcproof.targets.python_source.modules import Module

_CONTENT = frozenset(
    ["TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource", "ContentBlock", "Image", "Audio", "File"]
)
_RESULTS = frozenset(("CallToolResult", "ToolResult", "InputRequiredResult"))
_WRAPPED = frozenset(("str", "int", "float", "bool", "bytes"))


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
    found += [Parameter(each.arg, each, default) for each, default in zip(spec.kwonlyargs, face.kw_defaults, strict=True)]
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


def derive(run: Interpreter, function: Function, framework: str, *, structured: Any = None) -> Derived:
    """Everything that follows from a function's signature and docstring."""
    is_fastmcp = framework == "fastmcp"
    maker = Generator(run, describes_strings=is_fastmcp)
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
        place = f"/properties/{escape(name)}"
        if kind is MISSING:
            entry = maker.field(name, External("typing.Any"), default, face.scope, place)
            if not is_fastmcp:
                entry = entry._replace(schema={**entry.schema, "title": name, "type": "string"})
        else:
            entry = maker.field(name, kind, default, face.scope, place)
        properties[entry.name] = entry.schema
        nodes[entry.name] = node
        if entry.required:
            required.append(entry.name)
    made: Schema = {"properties": properties, "type": "object"}
    if required:
        made["required"] = required
    if is_fastmcp:
        made["additionalProperties"] = False
    else:
        made["title"] = f"{face.name}Arguments"
    schema = maker.whole(made)
    unknown = {f"/inputSchema{each}" for each in maker.unknown}
    description = docstring_of(function) or docstring_of(face)
    if is_fastmcp:
        schema = _as_fastmcp(schema, properties)
        description = _describe(schema, description)
    output, output_unknown = (None, set()) if structured is False else _output(run, function, framework)
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


def _as_fastmcp(schema: Schema, properties: Schema) -> Schema:
    """A schema as fastmcp serves it: without derived titles, references replaced by what they mean."""
    made: Schema = inlined(untitled(schema))
    for name, entry in properties.items():
        given = entry.get("title")
        if given is not None and given != title(name) and name in made["properties"]:
            made["properties"][name]["title"] = given
    return made


_STRUCTURE = frozenset(("type", "properties", "$ref", "items", "allOf", "oneOf", "anyOf", "required"))
_NOTES = frozenset(("title", "description", "deprecated", "readOnly", "writeOnly"))
_LITERAL = frozenset(("default", "const", "examples", "example", "enum"))
_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))


def untitled(node: Any, depth: int = 0) -> Any:
    """A schema without its titles."""
    if isinstance(node, list):
        return [untitled(each, depth + 1) for each in node]
    if not isinstance(node, dict) or depth > 100:
        return node
    made = {}
    is_plain = not _STRUCTURE.isdisjoint(node) or _NOTES.issuperset(node)
    for key, value in node.items():
        if key == "title" and isinstance(value, str) and is_plain:
            continue
        if key in _NAMED and isinstance(value, dict):
            made[key] = {name: untitled(each, depth + 1) for name, each in value.items()}
        else:
            made[key] = value if key in _LITERAL else untitled(value, depth + 1)
    return made


def inlined(schema: Schema) -> Schema:
    """A schema with every local reference replaced by its target; one that refers to itself stays as it is."""
    definitions = schema.get("$defs") or {}
    if not definitions:
        return schema
    budget = [20_000]

    def expand(node: Any, path: tuple[str, ...]) -> Any:
        budget[0] -= 1
        if budget[0] < 0 or len(path) > 30:
            raise RecursionError
        if isinstance(node, list):
            return [expand(each, path) for each in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            name = reference.removeprefix("#/$defs/")
            if name in path or name not in definitions:
                raise RecursionError
            rest = {key: expand(value, path) for key, value in node.items() if key != "$ref"}
            return {**expand(definitions[name], (*path, name)), **rest}
        whole = {key: expand(value, path) for key, value in node.items() if key not in ("$defs", "discriminator")}
        told_by = node.get("discriminator")
        if isinstance(told_by, dict) and "oneOf" in whole:
            name = told_by.get("propertyName")
            for branch in whole["oneOf"]:
                if name in branch.get("properties", {}) and name not in branch.get("required", []):
                    branch["required"] = [*branch.get("required", []), name]
        return whole

    try:
        made: Schema = expand(schema, ())
    except RecursionError:
        return schema
    return made


def _output(run: Interpreter, function: Function, framework: str) -> tuple[Schema | None, set[str]]:
    face = function.face()
    node = face.node.returns if not isinstance(face.node, ast.Lambda) else None
    if node is None:
        return None, set()
    maker = Generator(run, describes_strings=framework == "fastmcp", by_alias=framework != "fastmcp")
    kind = maker.resolved(run.annotation(node, face.scope), face.scope)
    if _is_signal(kind):
        is_model = framework == "mcp1" and _names_in(kind) & (_CONTENT - {"Image", "Audio", "File"})
        return None, {""} if is_model else set()
    made = _fastmcp_output(maker, kind, face) if framework == "fastmcp" else _mcp_output(maker, kind, face, framework)
    if made is None:
        return None, set()
    if "" in maker.unknown or any(place.startswith("/properties/result") for place in maker.unknown):
        return None, {""}
    return made, maker.unknown


def _names_in(kind: Any) -> set[str]:
    """The names of all types in an annotation."""
    if isinstance(kind, External):
        return {kind.last}
    if isinstance(kind, Generic):
        inner = set().union(*(_names_in(arg) for arg in kind.args)) if kind.args else set()
        return inner | _names_in(kind.base)
    if isinstance(kind, UnionOf):
        return set().union(*(_names_in(arg) for arg in kind.args))
    if isinstance(kind, Class):
        return {base.last for base in kind.external_bases()}
    return set()


def _is_signal(kind: Any) -> bool:
    """Whether a return type is content or a whole result, which no schema describes."""
    if isinstance(kind, Generic) and isinstance(kind.base, External) and kind.base.last == "Annotated":
        return False
    return bool(_names_in(kind) & (_CONTENT | _RESULTS))


def _optional_as_null(schema: Schema) -> None:
    """What the first version of the SDK does with a key that may be absent: it is null unless given."""
    for name, entry in schema["properties"].items():
        if name not in schema.get("required", ()):
            entry["default"] = None


def _mcp_output(maker: Generator, kind: Any, face: Function, framework: str) -> Schema | None:
    name = face.name
    if isinstance(kind, Generic) and isinstance(kind.base, External) and kind.base.last == "Annotated":
        if _names_in(kind.args[0]) & _RESULTS:
            kind = kind.args[1] if len(kind.args) > 1 else kind.args[0]
    base = kind.base if isinstance(kind, Generic) else None
    if isinstance(base, External) and base.name == "builtins.dict" and len(kind.args) == 2:
        if isinstance(kind.args[0], External) and kind.args[0].last == "str":
            return maker.whole({**maker.schema(kind, face.scope, ""), "title": f"{name}DictOutput"})
    if isinstance(kind, Generic) and isinstance(kind.base, Class):
        reference = maker.schema(kind, face.scope, "").get("$ref", "")
        generic = maker.definitions.pop(reference.removeprefix("#/$defs/"), None)
        return maker.unknown_at("") if generic is None else maker.whole(generic)
    if isinstance(kind, Class):
        sort = models.kind_of(maker, kind)
        if sort == "enum" or (sort is None and not kind.annotations):
            return None
        if sort == "root":
            return maker.whole(models.definition(maker, kind, ""))
        made = models.object_schema(maker, kind, "", "class" if sort in (None, "dataclass") else sort)
        if sort in (None, "dataclass") or (sort == "typed" and framework == "mcp1"):
            made.pop("description", None)
        if sort == "typed" and framework == "mcp1":
            if _has_late_annotations(kind.module):
                is_total = kind.keywords.get("total") is not False
                made["required"] = list(made["properties"]) if is_total else []
            _optional_as_null(made)
            if not made.get("required"):
                made.pop("required", None)
        if f"#/$defs/{kind.name}" in str(maker.definitions):
            maker.definitions.setdefault(kind.name, dict(made))
        return maker.whole(made)
    if isinstance(kind, External) and kind.last not in _WRAPPED and kind.last != "NoneType":
        if kind.name.startswith("builtins.") or kind.last in ("Any", "object") or kind.package in _PLAIN_CLASSES:
            if kind.package != "typing" or kind.last == "Any":
                return None
        elif kind.package != "typing":
            return maker.unknown_at("")
    entry = maker.field("result", kind, MISSING, face.scope, "/properties/result")
    made = {"properties": {"result": entry.schema}, "required": ["result"], "title": f"{name}Output", "type": "object"}
    return maker.whole(made)


_PLAIN_CLASSES = frozenset(("datetime", "pathlib", "uuid", "decimal", "typing", "collections", "pandas", "numpy"))


def _fastmcp_output(maker: Generator, kind: Any, face: Function) -> Schema | None:
    if isinstance(kind, External) and kind.last in ("Any", "bytes"):
        return None
    if kind is None and not _has_late_annotations(face.module):
        return None
    if "bytes" in _names_in(kind) and not isinstance(kind, Class):
        return None
    if _is_any_sequence(kind):
        return None
    made = maker.whole(maker.schema(kind, face.scope, ""))
    target = made
    reference = made.get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix("#/$defs/")
        target = maker.definitions.get(name, {})
        made = {**made, **ordered(target)}
        del made["$ref"]
        if reference not in str(maker.definitions):
            made["$defs"] = {key: value for key, value in made["$defs"].items() if key != name}
            made = made if made["$defs"] else {key: value for key, value in made.items() if key != "$defs"}
    if target.get("type") != "object" and "properties" not in target:
        made = maker.whole(maker.schema(kind, face.scope, ""))
        inner = {key: value for key, value in made.items() if key != "$defs"}
        made = {"properties": {"result": inner}, "required": ["result"], "type": "object"}
        made = maker.whole(made)
        made["x-fastmcp-wrap-result"] = True
    return inlined(untitled(made))


def _has_late_annotations(module: Module) -> bool:
    """Whether the module's annotations are strings until somebody asks: then `None` is read as a type."""
    return any(
        isinstance(each, ast.ImportFrom) and each.module == "__future__" and each.names[0].name == "annotations"
        for each in module.tree.body[:12]
    )


def _is_any_sequence(kind: Any) -> bool:
    if isinstance(kind, External):
        return kind.last in ("list", "tuple", "Sequence", "List", "Tuple")
    if isinstance(kind, Generic) and isinstance(kind.base, External):
        is_sequence = kind.base.last in ("list", "List", "Sequence") or (
            kind.base.last in ("tuple", "Tuple") and kind.args[1:] == (...,)
        )
        return is_sequence and isinstance(kind.args[0], External) and kind.args[0].last == "Any"
    return False
