"""The kinds of constraint: for each its check, its parameters, and its sentence.

The checks are in `surface`, `schema_constraints` and `whole_schemas`. A new kind is added here, with its parameters
and a sentence; a new fact about a client only in `profiles.json`.
Why sentences are generated: docs/decisions/0042-constraints-are-data.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.clients import schema_constraints as schema
from mcproof.checks.clients import surface
from mcproof.checks.clients import whole_schemas as whole
from mcproof.checks.clients.surface import LARGE, LARGE_BYTES, LONG_NAME, ServerSurface, ToolSurface
from mcproof.core.catalog.tool_marks import (
    HYPHENATED,
    LONG_DESCRIPTION,
    NO_DESCRIPTION,
    NO_PARAMETERS,
    NULL,
    ODD_MEMBER,
    ODD_NAME,
    ODD_OUTPUT,
    ODD_ROOT,
    OUTPUT_DIALECT,
    OUTPUT_REFERENCE,
    ROOT_KEYWORDS,
    root_mark,
)
from mcproof.core.schema.keywords import BARE_ARRAY, DEEP, ODD, ODD_ENUM, ODD_KEY, TYPE_LIST, UNDECLARED, UNTYPED
from mcproof.core.schema.tree import DEEP_LEVELS

if TYPE_CHECKING:
    from mcproof.checks.clients.profiles import Constraint
    from mcproof.checks.clients.surface import Hit


if TYPE_CHECKING:
    Params = Mapping[str, Any]
    ToolCheck = Callable[[ToolSurface, Params], Iterator[str]]
    ServerCheck = Callable[[ServerSurface, Params], Iterator[Hit]]


class ToolKind(NamedTuple):
    """A constraint on single tools."""

    check: ToolCheck
    needs: Callable[[Params], frozenset[str] | None] = lambda _: None
    """The keywords and marks of which a tool must have one to break it; None if any tool may.

    It holds for the profiles that ship with mcproof: those of users may refuse what is usual.
    """


def _on(check: ToolCheck, *marks: str) -> ToolKind:
    return ToolKind(check, lambda _: frozenset(marks))


def _on_keywords(check: ToolCheck) -> ToolKind:
    return ToolKind(check, lambda params: frozenset(params["keywords"]))


def _on_size(check: ToolCheck, mark: str, limit: int) -> ToolKind:
    """A constraint with a maximum; the mark shows whether a tool exceeds `limit`."""
    # A tool without the mark may still exceed a smaller maximum.
    return ToolKind(check, lambda params: frozenset({mark}) if params["max"] >= limit else None)


def _names(params: Params) -> frozenset[str]:
    """The marks of names that a pattern may refuse; most accept hyphens."""
    accepts_hyphens = "-]" in params["pattern"]
    return frozenset({ODD_NAME} if accepts_hyphens else {ODD_NAME, HYPHENATED})


def _at_root(params: Params) -> frozenset[str] | None:
    keywords = params["keywords"]
    # Only some keywords have a mark for the root.
    return frozenset(map(root_mark, keywords)) if ROOT_KEYWORDS.issuperset(keywords) else None


# Most tools break nothing, so each kind names what a tool needs to break it:
# docs/decisions/0043-survey-before-constraints.md.
TOOL_KINDS: dict[str, ToolKind] = {
    "name.regex": ToolKind(surface.name_regex, _names),
    "name.max": _on(surface.name_max, ODD_NAME),
    "name.forbids": _on(surface.name_forbids, ODD_NAME),
    "name.combined": _on(surface.name_combined, LONG_NAME),
    "description.required": _on(surface.description_required, NO_DESCRIPTION),
    "description.empty": _on(surface.description_empty, NO_DESCRIPTION),
    "description.max": _on(surface.description_max, LONG_DESCRIPTION),
    "tool.bytes": ToolKind(surface.tool_bytes),
    "tool.null_members": _on(surface.null_members, NULL),
    "tool.member_types": _on(surface.member_types, ODD_MEMBER),
    "annotations.read_only": ToolKind(surface.read_only),
    "param_description.max": _on(schema.parameter_description, "description"),
    "input.root_type": _on(whole.root_type, ODD_ROOT),
    "input.root_forbids": ToolKind(whole.root_forbids, _at_root),
    "input.root_requires": ToolKind(
        whole.root_requires, lambda params: frozenset({NO_PARAMETERS}) if params["keywords"] == ["properties"] else None
    ),
    "input.valid": _on(whole.valid, ODD),
    "input.dialect": _on(whole.dialect, "$schema"),
    "input.bytes": _on_size(whole.schema_bytes, LARGE, LARGE_BYTES),
    "input.large_lossy": ToolKind(whole.large_lossy),
    "input.depth": _on_size(whole.depth, DEEP, DEEP_LEVELS),
    "input.properties": _on(whole.property_count, "properties"),
    "input.string_total": ToolKind(whole.string_total),
    "input.enum_total": _on(whole.enum_total, "enum"),
    "input.forbids": _on_keywords(schema.forbids),
    "input.array_items": _on(schema.array_items, BARE_ARRAY, TYPE_LIST),
    "input.tuple_items": _on(schema.tuple_items, ODD),
    "input.boolean_schema": _on(schema.boolean_schema, ODD),
    "input.property_not_object": _on(schema.property_not_object, ODD),
    "input.type_union": _on(schema.type_union, TYPE_LIST),
    "input.type_missing": _on(schema.type_missing, UNTYPED),
    "input.items_untyped": _on(schema.items_untyped, UNTYPED, ODD),
    "input.union_parent_type": _on_keywords(schema.union_parent_type),
    "input.ref": _on(whole.references, "$ref"),
    "input.enum_types": _on(schema.enum_types, ODD_ENUM),
    "input.enum_on": _on(schema.enum_on, ODD_ENUM),
    "input.enum_empty": _on(schema.enum_empty, ODD_ENUM),
    "input.enum_shape": _on(schema.enum_shape, ODD_ENUM),
    "input.format": _on(schema.string_format, "format"),
    "input.pattern": _on(schema.pattern, "pattern"),
    "input.number_max": _on_keywords(schema.number_max),
    "input.required_defined": _on(schema.required_defined, UNDECLARED),
    "input.required_list": _on(whole.required_list, ODD),
    "input.required_all": _on(schema.required_all, "properties"),
    "input.closed": ToolKind(schema.closed),
    "input.open_object": _on(schema.open_object, "additionalProperties"),
    "input.property_key": _on(schema.property_key, ODD_KEY),
    "input.property_names_together": _on(schema.property_names_together, "properties"),
    "input.bool_exclusive": _on(schema.bool_exclusive, ODD),
    "output.root_type": _on(whole.output_root_type, ODD_OUTPUT),
    "output.dialect": _on(whole.output_dialect, OUTPUT_DIALECT),
    "output.ref": _on(whole.output_references, OUTPUT_REFERENCE),
    "output.valid": _on(whole.output_valid, ODD_OUTPUT),
}
"""Constraints on single tools. The marks of names and keys only hold for profiles that accept plain ones."""

SERVER_KINDS: dict[str, ServerCheck] = {
    "name.unique": surface.unique_names,
    "tools.max": surface.tool_count,
    "tools.bytes": surface.catalog_bytes,
    "optional_params.max": surface.optional_params,
    "union_params.max": surface.union_params,
    "instructions.max": surface.instructions_max,
    "list.pages": surface.list_pages,
}
"""Constraints that need more than one tool."""


class ParameterType(NamedTuple):
    """What a parameter may be."""

    expected: str
    """In words."""
    kind: str
    """`count`, `flag`, `pattern`, `template`, `word` or `words`."""
    words: tuple[str, ...] = ()
    """The only words that are allowed; empty for any."""


_COUNT = ParameterType("a whole number", "count")
_FLAG = ParameterType("true or false", "flag")
_PATTERN = ParameterType("a regular expression", "pattern")
_WORDS = ParameterType("a list of words", "words")
_TEMPLATE = ParameterType("a text with `{server}` and `{tool}`", "template")
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_SCHEMA_TYPES = ParameterType("a list of types", "words", _TYPES)
_FORMS = ("any", "unresolvable", "remote", "siblings", "not_defs", "not_dollar_defs", "recursive")
_REFERENCES = ParameterType("a list of forms of `$ref`", "words", _FORMS)
_DIALECT = ParameterType("a dialect", "word", ("2020-12", "draft-07"))
_UNIT = ParameterType("a unit", "word", ("bytes", "utf16"))


def _choice(*words: str) -> ParameterType:
    return ParameterType("a word", "word", words)


Parameters = dict[str, ParameterType]
_LENGTH: tuple[Parameters, Parameters] = ({"max": _COUNT}, {"unit": _UNIT})
_KEYWORDS: tuple[Parameters, Parameters] = ({"keywords": _WORDS}, {})
_MAXIMUM: tuple[Parameters, Parameters] = ({"max": _COUNT}, {})
_PARAMETERS: dict[str, tuple[Parameters, Parameters]] = {
    "name.regex": ({"pattern": _PATTERN}, {"forbid": _PATTERN}),
    "name.max": _LENGTH,
    "name.forbids": ({"pattern": _PATTERN}, {}),
    "name.combined": ({"template": _TEMPLATE, "max": _COUNT}, {"server_max": _COUNT}),
    "description.max": _LENGTH,
    "param_description.max": _LENGTH,
    "instructions.max": _LENGTH,
    "tool.null_members": ({"members": _WORDS}, {}),
    "annotations.read_only": ({}, {"or_closed": _FLAG}),
    "input.root_forbids": _KEYWORDS,
    "input.root_requires": _KEYWORDS,
    "input.valid": ({"dialect": _DIALECT}, {}),
    "output.valid": ({"dialect": _DIALECT}, {}),
    "input.dialect": ({"allowed": _WORDS}, {}),
    "output.dialect": ({"allowed": _WORDS}, {}),
    "input.forbids": _KEYWORDS,
    "input.array_items": ({}, {"unions": _FLAG, "defs": _FLAG}),
    "input.type_union": ({}, {"where": _choice("root_property"), "all_of": _SCHEMA_TYPES}),
    "input.type_missing": ({"instead": _WORDS}, {"branches": _FLAG}),
    "input.union_parent_type": _KEYWORDS,
    "input.ref": ({"forbid": _REFERENCES}, {"siblings_ok": _WORDS, "only_with": _WORDS}),
    "output.ref": ({"forbid": _REFERENCES}, {"siblings_ok": _WORDS, "only_with": _WORDS}),
    "input.enum_on": ({"types": _SCHEMA_TYPES}, {}),
    "input.format": ({"allowed": _WORDS}, {"types": _SCHEMA_TYPES}),
    "input.pattern": (
        {"forbid": ParameterType("a list of faults", "words", ("unanchored", "lookaround", "shorthand"))},
        {},
    ),
    "input.number_max": ({"keywords": _WORDS, "max": _COUNT}, {}),
    "input.open_object": ({}, {"where": _choice("root")}),
    "input.property_key": ({"pattern": _PATTERN}, {"where": _choice("top")}),
    "input.property_names_together": ({"names": _WORDS}, {}),
    **dict.fromkeys(("tool.bytes", "input.bytes", "input.large_lossy", "input.depth", "input.properties"), _MAXIMUM),
    **dict.fromkeys(("input.string_total", "input.enum_total", "tools.max", "tools.bytes"), _MAXIMUM),
    **dict.fromkeys(("optional_params.max", "union_params.max", "list.pages"), _MAXIMUM),
}
"""The required and the optional parameters of each kind that has any."""

KINDS = (*TOOL_KINDS, *SERVER_KINDS)


def parameters_of(kind: str) -> tuple[Parameters, Parameters]:
    """Return the required and the optional parameters of a kind of constraint."""
    return _PARAMETERS.get(kind, ({}, {}))


_UNITS = {"bytes": "bytes", "utf16": "UTF-16 units"}
_REFERENCE_WORDS = {
    "any": "any `$ref`",
    "unresolvable": "a `$ref` that does not resolve",
    "remote": "a `$ref` to another document",
    "siblings": "keywords beside a `$ref`",
    "not_defs": "a `$ref` outside `$defs` and `definitions`",
    "not_dollar_defs": "a `$ref` outside `$defs`",
    "recursive": "a recursive `$ref`",
}
_PATTERNS = {
    "unanchored": "patterns without `^` and `$`",
    "lookaround": "look-around in patterns",
    "shorthand": "classes such as `\\d` in patterns",
}

_SENTENCES = {
    "name.regex": "Tool names must match `{pattern}`{without}.",
    "name.max": "Tool names have at most {max:,} {unit}.",
    "name.forbids": "Tool names must not contain `{pattern}`.",
    "name.combined": "`{template}` has at most {max:,} characters.",
    "name.unique": "Tool names must be unique.",
    "description.required": "Every tool needs a description.",
    "description.empty": "A description must not be empty.",
    "description.max": "Descriptions have at most {max:,} {unit}.",
    "param_description.max": "Descriptions of parameters have at most {max:,} {unit}.",
    "tool.bytes": "A tool has at most {max:,} bytes.",
    "tool.null_members": "Members of a tool may be absent but not null.",
    "tool.member_types": "A tool must have a name, and members of the right type: hints are booleans, titles strings.",
    "annotations.read_only": "Only tools marked as reading run without asking.",
    "input.root_type": "The input schema must be `type: object`.",
    "input.root_forbids": "The root of the input schema must not use {keywords}.",
    "input.root_requires": "The root of the input schema must have {keywords}.",
    "input.valid": "The input schema must be valid JSON Schema {dialect}.",
    "input.dialect": "A declared `$schema` must be {allowed}.",
    "input.bytes": "The input schema has at most {max:,} bytes.",
    "input.large_lossy": "An input schema over {max:,} bytes is reduced.",
    "input.depth": "The input schema has at most {max:,} levels.",
    "input.properties": "The input schema has at most {max:,} properties.",
    "input.string_total": "Names and values of the input schema have at most {max:,} characters together.",
    "input.enum_total": "The input schema has at most {max:,} enum values.",
    "input.forbids": "The input schema must not use {keywords}.",
    "input.array_items": "Every array needs `items`.",
    "input.tuple_items": "`items` must not be a list.",
    "input.boolean_schema": "No schema may be `true` or `false`.",
    "input.property_not_object": "`properties` must be an object of objects.",
    "input.type_union": "`type` must not be a list{of}.",
    "input.type_missing": "Every property and every `items` needs one of {instead}.",
    "input.items_untyped": "The items of an array need a type.",
    "input.union_parent_type": "`type` must not be beside {keywords}.",
    "input.ref": "Not accepted: {forms}.",
    "input.enum_types": "Enum values must be strings.",
    "input.enum_on": "An enum must not be on an {types}.",
    "input.enum_empty": "An enum must have values, and no empty one.",
    "input.enum_shape": "An enum must have values, and distinct ones.",
    "input.format": "`format` must be one of {allowed}.",
    "input.pattern": "Not accepted: {faults}.",
    "input.number_max": "{keywords} must be at most {max:,}.",
    "input.required_defined": "`required` must name declared properties.",
    "input.required_list": "`required` must be a list of strings.",
    "input.required_all": "Every property must be required.",
    "input.closed": "Every object needs `additionalProperties: false`.",
    "input.open_object": "`additionalProperties` must be false where it is given.",
    "input.property_key": "Names of parameters must match `{pattern}`.",
    "input.property_names_together": "Parameters must not be called {names} in one tool.",
    "input.bool_exclusive": "`exclusiveMinimum` and `exclusiveMaximum` must be numbers.",
    "output.root_type": "The output schema must be `type: object`.",
    "output.dialect": "A declared `$schema` of the output schema must be {allowed}.",
    "output.ref": "Not accepted in output schemas: {forms}.",
    "output.valid": "The output schema must be valid JSON Schema {dialect}.",
    "tools.max": "A server has at most {max:,} tools.",
    "tools.bytes": "All tools together have at most {max:,} bytes.",
    "optional_params.max": "All tools together have at most {max:,} optional parameters.",
    "union_params.max": "All tools together have at most {max:,} unions.",
    "instructions.max": "Instructions have at most {max:,} {unit}.",
    "list.pages": "Only the first page of tools is read.",
}


def in_a_sentence(constraint: Constraint) -> str:
    """Return a constraint as a sentence, with the models or builds it applies to."""
    sentence = _SENTENCES[constraint.kind].format(**_words(constraint.params))
    return f"{sentence[:-1]} ({constraint.when})." if constraint.when else sentence


def _words(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a constraint as words."""
    return {
        **params,
        "unit": _UNITS.get(params.get("unit", ""), "characters"),
        "without": f" and not contain `{params['forbid']}`" if isinstance(params.get("forbid"), str) else "",
        "of": f" with {_listed(params['all_of'], 'and')}" if "all_of" in params else "",
        "forms": ", ".join(_REFERENCE_WORDS[form] for form in params.get("forbid", ()) if form in _REFERENCE_WORDS),
        "faults": ", ".join(_PATTERNS[fault] for fault in params.get("forbid", ()) if fault in _PATTERNS),
        **{key: _listed(params.get(key, ()), "or") for key in ("keywords", "allowed", "instead", "types")},
        "names": _listed(params.get("names", ()), "and"),
    }


def _listed(words: list[str], last: str) -> str:
    """Words as a list, the long ones cut."""
    marked = [f"`{word}`" for word in words]
    if len(marked) > 8:
        return f"{', '.join(marked[:7])} and {len(marked) - 7} more"
    return f" {last} ".join([", ".join(marked[:-1]), marked[-1]] if len(marked) > 1 else marked)
