"""The schemas that a framework derives from a function: of its arguments, and of its return annotation.

Schemas of types come from `pydantic`; the changes of fastmcp are in `fastmcp`. What depends on a value that is not
known is marked as unknown, never guessed.
"""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set
from mcproof.core.text.json_positions import escape
from mcproof.source.framework_tables import CLOSED, OUTPUT_SCHEMAS, PLAIN_WRAPPER
from mcproof.source.python.frameworks import fastmcp
from mcproof.source.python.frameworks.fastmcp import adapted, as_fastmcp
from mcproof.source.python.interp.attributes import docstring_of
from mcproof.source.python.interp.bindings import signature_of, written_parameters
from mcproof.source.python.interp.containers import default_of
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    Class,
    External,
    ExternalCall,
    Function,
    Generic,
    UnionOf,
    generic_name,
)
from mcproof.source.python.pydantic import classes, dynamic_types
from mcproof.source.python.pydantic.fields import has_late_annotations, has_slots
from mcproof.source.python.pydantic.generator import SchemaGenerator, union_members
from mcproof.source.python.pydantic.nodes import Schema, ordered

if TYPE_CHECKING:
    from mcproof.source.python.interp.interpreter import Interpreter


_CONTENT = word_set("TextContent ImageContent AudioContent ResourceLink EmbeddedResource ContentBlock Image Audio File")
_RESULTS = frozenset(("CallToolResult", "ToolResult", "InputRequiredResult"))
_WRAPPED = frozenset(("str", "int", "float", "bool", "bytes"))


def output_schema(
    run: Interpreter, function: Function, framework: str, traits: frozenset[str]
) -> tuple[Schema | None, set[str]]:
    """The schema, None if there is none, and the pointers of its unknown parts."""
    if OUTPUT_SCHEMAS not in traits:
        return None, set()
    exposed = function.exposed()
    signature = signature_of(function)
    node = exposed.node.returns if not isinstance(exposed.node, ast.Lambda) else None
    kind = signature.returns if signature is not None else UNKNOWN
    if kind is None:
        kind = run.annotation(node, exposed.scope) if node is not None else MISSING
    if kind is MISSING:
        return None, set()
    if kind is UNKNOWN:
        return None, {""}
    generator = SchemaGenerator(run, for_serialization=framework == "fastmcp")
    kind = generator.parsed_type(kind, exposed.scope)
    if framework != "mcp1":
        kind = _without_input_request(kind)
    # content and complete results have no schema
    if not _is_annotated(kind) and _names_in(kind) & (_CONTENT | _RESULTS):
        is_model = framework == "mcp1" and _names_in(kind) & (_CONTENT - {"Image", "Audio", "File"})
        return None, {""} if is_model else set()
    if framework == "fastmcp":
        output = _fastmcp_output(generator, kind, exposed, traits)
    else:
        output = _mcp_output(generator, kind, exposed, framework)
    if output is None:
        return None, set()
    if "" in generator.unknown or any(pointer.startswith("/properties/result") for pointer in generator.unknown):
        return None, {""}
    output = generator.qualify_names(output)
    return output, generator.unknown


_DETAILS = word_set(
    "default description title examples deprecated required additionalProperties minimum maximum "
    "exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems"
)


def _is_detail(pointer: str) -> bool:
    """Whether an unknown part is not a type."""
    above, _, last = pointer.rpartition("/")
    return last in _DETAILS and not above.endswith(("/properties", "/$defs"))


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


def _is_annotated(kind: Any) -> bool:
    return generic_name(kind) == "Annotated"


def _is_generic_class(kind: Any) -> bool:
    return isinstance(kind, Generic) and isinstance(kind.base, Class)


def _is_object_with_string_keys(kind: Any) -> bool:
    """`dict[str, ...]`; the SDK treats `typing.Dict` differently."""
    if not isinstance(kind, Generic) or not isinstance(kind.base, External) or kind.base.name != "builtins.dict":
        return False
    return len(kind.args) == 2 and isinstance(kind.args[0], External) and kind.args[0].last == "str"


def _mcp_output(generator: SchemaGenerator, kind: Any, exposed: Function, framework: str) -> Schema | None:
    name = exposed.name
    if _is_annotated(kind) and _names_in(kind.args[0]) & _RESULTS:
        kind = kind.args[1] if len(kind.args) > 1 else kind.args[0]
    bare = generator.parsed_type(kind.args[0], exposed.scope) if _is_annotated(kind) else kind
    if _is_object_with_string_keys(bare) or isinstance(bare, Class) or _is_generic_class(bare):
        kind = bare  # the SDK drops the metadata of `Annotated`
    if _is_object_with_string_keys(kind):
        return generator.with_definitions({**generator.schema(kind, exposed.scope, ""), "title": f"{name}DictOutput"})
    if isinstance(kind, ExternalCall) and dynamic_types.is_dynamic_type(kind) and kind.func.last != "create_model":
        return None
    if _is_generic_class(kind) or (isinstance(kind, ExternalCall) and dynamic_types.is_dynamic_type(kind)):
        reference = generator.schema(kind, exposed.scope, "").get("$ref", "")
        name = reference.removeprefix("#/$defs/")
        generic = generator.definitions.get(name)
        if generic is None:
            return generator.unknown_at("")
        is_kept = generator.is_referenced(name)
        if not is_kept:
            del generator.definitions[name]
        generator.move_unknown(name, is_kept=is_kept)
        return generator.with_definitions(generic)
    if isinstance(kind, Class):
        sort = classes.kind_of(kind)
        if sort in ("enum", "tuple") or (sort is None and not kind.annotations):
            return None
        if sort == "root":
            return generator.with_definitions(classes.definition(generator, kind, ""))
        made_of_hints = sort in (None, "dataclass")
        if made_of_hints and any(has_slots(ancestor) for ancestor in kind.ancestry()):
            return None  # its defaults are slot descriptors, which are not JSON
        if sort == "typed" and framework == "mcp1":
            sort = "typed hints"
        output = classes.object_schema(generator, kind, "", "hints" if made_of_hints else str(sort))
        if made_of_hints and any(not _is_detail(pointer) for pointer in generator.unknown):
            return generator.unknown_at("")  # there is no schema at all if Pydantic does not support a type
        if generator.is_referenced(kind.name):
            generator.definitions.setdefault(kind.name, dict(output))
        return generator.with_definitions(output)
    if isinstance(bare, External) and bare.last not in _WRAPPED and bare.last != "NoneType":
        if bare.name.startswith("builtins.") or bare.last in ("Any", "object") or bare.package in _PLAIN_CLASSES:
            if bare.package != "typing" or bare.last == "Any":
                return None
        elif bare.package != "typing":
            return generator.unknown_at("")
    entry = generator.field("result", kind, MISSING, exposed.scope, "/properties/result")
    output = {
        "properties": {"result": entry.schema},
        "required": ["result"],
        "title": f"{name}Output",
        "type": "object",
    }
    return generator.with_definitions(output)


_PLAIN_CLASSES = frozenset(("datetime", "pathlib", "uuid", "decimal", "typing", "collections", "pandas", "numpy"))


def _fastmcp_output(generator: SchemaGenerator, kind: Any, exposed: Function, traits: frozenset[str]) -> Schema | None:
    if isinstance(kind, External) and kind.last in ("Any", "bytes"):
        return None
    if (kind is None and not has_late_annotations(exposed.module)) or _has_bytes(kind) or _is_any_sequence(kind):
        return None
    output = generator.with_definitions(generator.schema(kind, exposed.scope, ""))
    target = output
    for _ in range(10):  # an alias may stand for another one, perhaps in a circle
        reference = output.get("$ref")
        if not isinstance(reference, str):
            break
        name = reference.removeprefix("#/$defs/")
        target = generator.definitions.get(name, {})
        output = {**ordered(target), **{key: value for key, value in output.items() if key != "$ref"}}
        if isinstance(target.get("$ref"), str):
            output["$ref"] = target["$ref"]
        is_kept = generator.is_referenced(name)
        generator.move_unknown(name, is_kept=is_kept)
        if not is_kept:
            output["$defs"] = {key: value for key, value in output["$defs"].items() if key != name}
    if not output.get("$defs", True):
        del output["$defs"]
    if target.get("type") != "object" and "properties" not in target:
        if any(not pointer.startswith("/$defs/") for pointer in generator.unknown):
            return generator.unknown_at("")
        output = generator.with_definitions(generator.schema(kind, exposed.scope, ""))
        inner = {key: value for key, value in output.items() if key != "$defs"}
        output = {"properties": {"result": inner}, "required": ["result"], "type": "object"}
        output = generator.with_definitions(output)
        output["x-fastmcp-wrap-result"] = True
        if PLAIN_WRAPPER not in traits:
            generator.unknown.add("/description")  # depends on the version of Pydantic
    return adapted(output, generator.unknown, traits)


def _has_bytes(kind: Any) -> bool:
    """Whether a type includes bytes at the top level."""
    if _is_annotated(kind):
        return _has_bytes(kind.args[0])
    return (isinstance(kind, External) and kind.name == "builtins.bytes") or any(map(_has_bytes, union_members(kind)))


def _without_input_request(kind: Any) -> Any:
    """A union without the branch that only requests more input."""
    arms = union_members(kind)
    others = tuple(arm for arm in arms if not (isinstance(arm, External) and arm.last == "InputRequiredResult"))
    if not others or len(others) == len(arms):
        return kind
    return others[0] if len(others) == 1 else UnionOf(others)


def _is_any_sequence(kind: Any) -> bool:
    if _is_annotated(kind):
        return _is_any_sequence(kind.args[0])
    if isinstance(kind, External):
        return kind.last in ("list", "tuple", "Sequence", "List", "Tuple")
    name = generic_name(kind)
    if name in ("list", "List", "Sequence") or (name in ("tuple", "Tuple") and kind.args[1:] == (...,)):
        return isinstance(kind.args[0], External) and kind.args[0].last == "Any"
    return False


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
        is_union = generic_name(kind) in ("Optional", "Union", "Annotated")
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
    if _is_annotated(kind):
        return any(isinstance(arg, ExternalCall) and arg.func.last in ("Resolve", "Depends") for arg in kind.args[1:])
    return False


def _with_description(kind: Any) -> Any:
    """fastmcp: `Annotated[T, "text"]` as `Annotated[T, Field(description="text")]`."""
    if not _is_annotated(kind) or len(kind.args) != 2:
        return kind
    inner, text = kind.args
    if not isinstance(text, str) or _is_annotated(inner):
        return kind
    return Generic(kind.base, (inner, ExternalCall(External("pydantic.Field"), [], {"description": text})))


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
    for parameter in signature.parameters if signature is not None else written_parameters(function):
        name, default = parameter.name, default_of(parameter.default)
        kind = generator.parsed_type(parameter.type_in(run), exposed.scope)
        if is_context(kind) and (is_fastmcp or not context_seen):  # the SDK looks for one parameter only
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
        if parameter.node is not None:
            nodes[shown] = parameter.node
        if signature is not None and name in signature.doubtful:
            generator.unknown |= {pointer, "/required"}
        if entry.required:
            required.append(shown)
    arguments: Schema = {"properties": properties, "type": "object"}
    if required:
        arguments["required"] = required
    if is_fastmcp and CLOSED in traits:
        arguments["additionalProperties"] = False
    elif not is_fastmcp:
        arguments["title"] = f"{exposed.name}Arguments"
    description = docstring_of(function) or docstring_of(exposed)
    if is_fastmcp:
        description = _describe(arguments, description, traits)
    schema = generator.with_definitions(arguments)
    if is_fastmcp:
        schema = as_fastmcp(schema, properties, generator.unknown, traits)
    schema = generator.qualify_names(schema)
    unknown = {f"/inputSchema{pointer}" for pointer in generator.unknown}
    output, output_unknown = (None, set()) if structured is False else output_schema(run, function, framework, traits)
    if structured is UNKNOWN and OUTPUT_SCHEMAS in traits:
        output, output_unknown = None, {""}
    unknown |= {f"/outputSchema{pointer}" for pointer in output_unknown}
    return DerivedSchemas(schema, output, tuple(required), nodes, frozenset(unknown), description)


def _describe(schema: Schema, text: str | None, traits: frozenset[str]) -> str | None:
    """Set the descriptions of parameters from the docstring; return the description of the tool."""
    if not text:
        return None
    parts = fastmcp.parsed_docstring(inspect.cleandoc(text), traits)
    for name, description in parts.parameters.items():
        entry = schema["properties"].get(name)
        if entry is not None and "description" not in entry:
            entry["description"] = description
    return parts.description
