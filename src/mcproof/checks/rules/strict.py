"""`strict`: whether input schemas constrain what callers may send."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mcproof.checks.findings import Problem, SetMember
from mcproof.checks.rule import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD, rule
from mcproof.core.schema.acceptance import accepts_anything, are_all_optional, unbounded_kinds
from mcproof.core.schema.tree import SchemaTree

_strict_rule = partial(rule, SchemaTree, ruleset="strict", severity="warning", category="schema")


@_strict_rule("SCH-001", name="no-required-list", fault=MISSING_REQUIRED, fixable=True)
def no_required_list(tree: SchemaTree) -> Iterator[Problem]:
    """An object declares properties but not which of them are required.

    Why: callers have to guess, and the server cannot rely on any argument being present.
    Fix: list the required properties; if none is required, declare an empty list.
    """
    for node in tree.objects:
        if node.properties and not isinstance(node.schema.get("required"), list):
            obstacle = node.obstacle
            fix = None if obstacle else SetMember("required", node.requirable())
            path = node.path
            message = f"{_named(path)} declares properties but no `required` list"
            if are_all_optional(node.properties.values(), tree):
                message += "; all have a default or accept null, so an empty list fits"
            yield Problem(message + _left(obstacle), tree.base + path, fix=fix)


@_strict_rule("SCH-002", name="open-object", fault=UNEXPECTED_FIELD, fixable=True)
def open_object(tree: SchemaTree) -> Iterator[Problem]:
    """An object accepts undeclared properties.

    Why: a misspelled or invented argument is silently accepted, and the caller never learns that it had no effect.
    Fix: set `additionalProperties` to false; if any key is allowed on purpose, mention it in the description.
    """
    for node in tree.objects:
        additional = node.schema.get("additionalProperties", True)
        unevaluated = node.schema.get("unevaluatedProperties", True)
        if additional is False or unevaluated is False:
            continue
        path, obstacle = node.path, None
        if (isinstance(additional, dict) and additional) or (isinstance(unevaluated, dict) and unevaluated):
            message = f"{_named(path)} is a map: it accepts any key"
            fix = None
        else:
            message = f"{_named(path)} accepts undeclared properties: `additionalProperties` is not false"
            is_switch = additional is True or additional == {}
            obstacle = node.obstacle if is_switch else "its value is neither a boolean nor a schema"
            fix = None if obstacle else SetMember("additionalProperties", False)
        yield Problem(message + _left(obstacle), tree.base + path, fix=fix)


@_strict_rule("SCH-003", name="untyped-property", severity="critical", fault=TYPE_MISMATCH)
def untyped_property(tree: SchemaTree) -> Iterator[Problem]:
    """A property accepts any value.

    Why: whatever a model sends passes validation, so the error surfaces deep inside the tool, or not at all.
    Fix: give it a `type`, an `enum` or a `const`; in a union, give every branch one.
    """
    for node in tree.properties:
        schema = node.schema
        if (type(schema) is not dict or "type" not in schema) and accepts_anything(schema, tree):  # most have a type
            message = f"`{node.name}` accepts any value: no type, enum or const constrains it"
            yield Problem(message, node.pointer, node.name)


@_strict_rule("SCH-004", name="unbounded-size", fault=OVERSIZED)
def unbounded_size(tree: SchemaTree) -> Iterator[Problem]:
    """A string has no `maxLength`, or an array no `maxItems`.

    Why: arguments of any size are valid, so a megabyte of text reaches the tool and the systems behind it.
    Fix: set the largest sensible size for this argument; only its author knows it.
    """
    for node in tree.properties:
        kinds = unbounded_kinds(node.schema, tree)
        if kinds:
            name = node.name
            yield Problem(f"`{name}` is {_UNBOUNDED[kinds]}", node.pointer, name)


_UNBOUNDED = {
    frozenset({"string"}): "a string without `maxLength`",
    frozenset({"array"}): "an array without `maxItems`",
    frozenset({"string", "array"}): "a string without `maxLength` or an array without `maxItems`",
}


def _named(path: str) -> str:
    """The object schema at a path, in words."""
    return f"the object at `{path}`" if path else "the input schema"


def _left(obstacle: str | None) -> str:
    return f" (not auto-fixable: {obstacle})" if obstacle else ""
