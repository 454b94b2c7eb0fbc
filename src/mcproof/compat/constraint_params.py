"""The parameters of each kind of constraint, to check those of a configuration."""

from __future__ import annotations

from typing import NamedTuple

from mcproof.compat.constraint_kinds import SERVER_KINDS, TOOL_KINDS


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
