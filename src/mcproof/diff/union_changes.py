"""Compare two schemas of which at least one is only a union: `anyOf` or `oneOf` without other assertions.

Most unions distinguish their branches by type (`string` or `null`). These are compared type by type, whether written as
a list of types or as branches. Other unions distinguish objects by a property with a constant value. In the remaining
ones, equivalent branches are matched; the others are compared in order, which is sound for `anyOf`, or by a containment
check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.schema.keywords import ALTERNATIVES, DYNAMIC, assertions, is_union
from mcproof.diff.change_wording import counted, value_text
from mcproof.diff.equality import json_key, same_schema
from mcproof.diff.property_names import declared_properties
from mcproof.diff.value_effects import Effect, accepted_types, for_type, type_effect

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcproof.diff.schema_comparison import SchemaComparison, SchemaPair
    from mcproof.diff.schema_document import Subschema

_MAX_BRANCH_PAIRS = 400
_MAX_BRANCHES = 50


def compare_unions(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair]:
    """Report changes of the branches, and return the pairs of branches still to be compared."""
    old_keywords, new_keywords = assertions(pair.old.keywords), assertions(pair.new.keywords)
    if not new_keywords:
        if old_keywords:
            message = f"{comparison.subject(pair)} accepts any value now"
            comparison.report("type-widened", comparison.is_breaking(Effect.WIDER), message, pair)
        return []
    before, after = _branches_by_type(comparison, pair.old), _branches_by_type(comparison, pair.new)
    if before is not None and after is not None:
        return _compare_by_type(comparison, pair, before, after)
    if same_schema(pair.old, pair.new):
        return []
    if is_union(pair.old.schema) and is_union(pair.new.schema):
        matched = _match_tagged(comparison, pair)
        if matched is None and old_keywords == new_keywords:
            matched = _match_branches(comparison, pair, new_keywords[0])
        if matched is not None:
            return matched
    message = f"the alternatives of {comparison.subject(pair)} changed"
    comparison.report("union-changed", comparison.breaks(pair.old, pair.new), message, pair)
    return []


def _branches(union: Subschema) -> list[Subschema]:
    keyword = assertions(union.keywords)[0]
    return [union.child(branch, keyword, index) for index, branch in enumerate(union.keywords[keyword])]


def _branches_by_type(comparison: SchemaComparison, subschema: Subschema) -> dict[str, Subschema] | None:
    """The parts of a schema for each type; None if its branches are not distinguished by type."""
    waiting = [subschema]
    parts: dict[str, Subschema] = {}
    steps = 0
    while waiting:
        steps += 1
        current = waiting.pop(0).resolved()
        if type(current.schema) is not dict or steps > _MAX_BRANCHES:
            return None
        if is_union(current.schema):
            waiting += _branches(current)
            continue
        types = accepted_types(current.schema)
        if not types or not {"$ref", *ALTERNATIVES, *DYNAMIC}.isdisjoint(assertions(current.schema)):
            return None
        for name in types:
            if name in parts:
                return None
            is_only = len(types) == 1
            parts[name] = current if is_only else comparison.substitute(current, for_type(current.schema, name))
    return None if {"integer", "number"} <= parts.keys() else parts


def _compare_by_type(
    comparison: SchemaComparison, pair: SchemaPair, old: dict[str, Subschema], new: dict[str, Subschema]
) -> list[SchemaPair]:
    found = type_effect(list(old), list(new), comparison.subject(pair))
    if found is not None:
        comparison.report(found.kind, comparison.is_breaking(found.effect), found.message, pair)
    children = []
    for name, part in new.items():
        partner = old.get(name)
        if partner is None and name in {"integer", "number"}:
            partner = old.get("number") or old.get("integer")
        if partner is not None:
            children.append(pair._replace(old=partner, new=part, is_type_part=True, level=pair.level + 1, notes=()))
    return children


def _match_tagged(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair] | None:
    """Pair objects by the constant property that distinguishes them; None if there is no such property.

    No value matches two of them, so each pair can be compared separately, even in `oneOf`.
    """
    old, new = _tagged_branches(pair.old), _tagged_branches(pair.new)
    for name in declared_properties(new[0].keywords) if old and new else ():
        before, after = _by_tag(name, old), _by_tag(name, new)
        if before is None or after is None:
            continue
        subject = comparison.subject(pair)
        for tag, branch in after.items():
            if tag not in before:
                message = f"{subject} has a further alternative, with {_tag_text(branch, name)}"
                breaking = comparison.is_breaking(Effect.WIDER)
                comparison.report("union-widened", breaking, message, pair, branch.pointer)
        for tag, branch in before.items():
            if tag not in after:
                message = f"{subject} lost the alternative with {_tag_text(branch, name)}"
                comparison.report("union-narrowed", comparison.is_breaking(Effect.NARROWER), message, pair)
        return [comparison.child(pair, before[tag], branch) for tag, branch in after.items() if tag in before]
    return None


def _tagged_branches(union: Subschema) -> list[Subschema]:
    """The resolved branches of a union; empty if there are too many."""
    branches = _branches(union)
    return [] if len(branches) > _MAX_BRANCHES else [branch.resolved() for branch in branches]


def _tag(branch: Subschema, name: str) -> Any:
    """The constant value of a required property; None if it is not required or not constant."""
    schema = branch.keywords
    subschema, required = declared_properties(schema).get(name), schema.get("required")
    if not isinstance(subschema, dict) or not isinstance(required, list) or name not in required:
        return None
    return subschema.get("const") if schema.get("type") == "object" else None


def _tag_text(branch: Subschema, name: str) -> str:
    return f"{value_text(_tag(branch, name))} as `{name}`"


def _by_tag(name: str, branches: list[Subschema]) -> dict[Hashable, Subschema] | None:
    """The branches by the constant value of a property; None if it does not distinguish all of them."""
    tags = [_tag(branch, name) for branch in branches]
    if not all(isinstance(tag, (str, int)) for tag in tags):
        return None
    found = dict(zip(map(json_key, tags), branches, strict=True))
    return found if len(found) == len(branches) else None


def _match_branches(comparison: SchemaComparison, pair: SchemaPair, keyword: str) -> list[SchemaPair] | None:
    """Pair the branches of two unions; None if the unions have to be compared as a whole.

    Any pairing is sound for `anyOf`. A branch of `oneOf` cannot be judged alone: a value that matches two is rejected.
    """
    removed, new = _branches(pair.old), _branches(pair.new)
    if len(removed) * len(new) > _MAX_BRANCH_PAIRS:
        return None
    added = []
    for branch in new:
        same = next((index for index, each in enumerate(removed) if same_schema(each, branch)), None)
        if same is None:
            added.append(branch)
        else:
            del removed[same]
    is_any_of = keyword == "anyOf"
    subject = comparison.subject(pair)
    if not removed:
        breaking = comparison.is_breaking(Effect.WIDER) if is_any_of else True
        message = f"{subject} has {counted(len(added), 'further alternative')}"
        comparison.report("union-widened", breaking and comparison.breaks(pair.old, pair.new), message, pair)
        return []
    if not added:
        breaking = comparison.is_breaking(Effect.NARROWER) if is_any_of else True
        message = f"{subject} lost {counted(len(removed), 'alternative')}"
        comparison.report("union-narrowed", breaking and comparison.breaks(pair.old, pair.new), message, pair)
        return []
    if not is_any_of or len(removed) != len(added):
        return None
    return [comparison.child(pair, *each, is_shared=True) for each in zip(removed, added, strict=True)]
