"""Constraints in words: one sentence for each kind, filled with the constraint's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.compat.client_profiles import Constraint

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
        "forms": ", ".join(_REFERENCE_WORDS[each] for each in params.get("forbid", ()) if each in _REFERENCE_WORDS),
        "faults": ", ".join(_PATTERNS[each] for each in params.get("forbid", ()) if each in _PATTERNS),
        **{key: _listed(params.get(key, ()), "or") for key in ("keywords", "allowed", "instead", "types")},
        "names": _listed(params.get("names", ()), "and"),
    }


def _listed(words: list[str], last: str) -> str:
    """Words as a list, the long ones cut."""
    marked = [f"`{word}`" for word in words]
    if len(marked) > 8:
        return f"{', '.join(marked[:7])} and {len(marked) - 7} more"
    return f" {last} ".join([", ".join(marked[:-1]), marked[-1]] if len(marked) > 1 else marked)
