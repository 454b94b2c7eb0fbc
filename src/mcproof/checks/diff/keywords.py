"""Two schemas compared keyword by keyword, annotations and unknown keywords included.

Comparing keywords separately is sound: if every keyword accepts at least what it accepted before, so does the
schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mcproof.checks.diff.comparison import SchemaComparison, SchemaPair, value_effects
from mcproof.checks.diff.documents import (
    Subschema,
    changed_keys,
    same_json,
    same_keyword,
    same_schema,
    unknown_in_chain,
)
from mcproof.checks.diff.kinds import member_change, names_text, shortened_name, text_change
from mcproof.checks.diff.properties import compare_properties, property_label
from mcproof.core.schema.keywords import DYNAMIC, VALUE_KEYWORDS, has_in_place_applicator
from mcproof.core.text.json_positions import escape

_ANNOTATIONS = {
    "title": ("title", "title-changed"),
    "description": ("description", "description-changed"),
    "examples": ("list of examples", "description-changed"),
    "deprecated": ("deprecation", "description-changed"),
}
"""The compared annotations: their names in messages, and the kinds of change."""


class _Annotation(NamedTuple):
    member: dict[str, Any]
    """The keyword with its value; empty if it is absent."""
    pointer: str


def _annotation(keyword: str, referring: Subschema, target: Subschema) -> _Annotation:
    """An annotation of the referring schema, or else of its target."""
    for subschema in (referring, target):
        if keyword in subschema.keywords:
            return _Annotation({keyword: subschema.keywords[keyword]}, f"{subschema.pointer}/{keyword}")
    return _Annotation({}, referring.pointer)


def compare_annotations(comparison: SchemaComparison, pair: SchemaPair, old: Subschema, new: Subschema) -> None:
    """Report changed annotations; `old` and `new` are the schemas that the pair refers to."""
    subject = comparison.subject(pair)
    for keyword, (name, kind) in _ANNOTATIONS.items():
        if keyword != "description" and not pair.label:
            continue
        (old_member, _), (new_member, at) = _annotation(keyword, pair.old, old), _annotation(keyword, pair.new, new)
        before, after = old_member.get(keyword), new_member.get(keyword)
        if same_json(before or None, after or None):
            continue
        if keyword in {"examples", "deprecated"} or all(isinstance(value or "", str) for value in (before, after)):
            comparison.report(kind, False, text_change(name, before, after, of=subject), pair, at)
    (before, _), (after, at) = _annotation("default", pair.old, old), _annotation("default", pair.new, new)
    if not same_json(before, after):
        breaking = None if comparison.is_input and before else False
        message = f"default of {subject} {member_change('default', before, after)}"
        comparison.report("default-changed", breaking, message, pair, at)


def compare_unknown_keywords(
    comparison: SchemaComparison, pair: SchemaPair, old: list[Subschema], new: list[Subschema]
) -> None:
    """Report changed keywords that may or may not reject values, in two chains of references."""
    before, after = unknown_in_chain(old), unknown_in_chain(new)
    changed = changed_keys(before, after)
    if not changed:
        return
    keyword = changed[0]
    subject = comparison.subject(pair)
    message = f"{names_text(changed)} of {subject} changed"
    if len(changed) == 1:
        message = f"`{shortened_name(keyword)}` of {subject} {member_change(keyword, before, after)}"
    if (pair.label, message) in comparison.reported_unknown:
        return
    comparison.reported_unknown.add((pair.label, message))
    pointers = [f"{subschema.pointer}/{escape(keyword)}" for subschema in new if keyword in subschema.keywords]
    comparison.report("constraint-changed", None, message, pair, pointers[0] if pointers else None)


_MAX_BRANCH_PAIRS = 400
_WHOLE_SCHEMA_KEYWORDS = (
    *("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contains", "minContains", "maxContains"),
    *("propertyNames", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"),
    *("unevaluatedProperties", "unevaluatedItems", "$ref", "$dynamicRef", "$recursiveRef"),
)
"""Keywords whose changes can only be judged by comparing whole schemas, unless their subschemas can be paired."""
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


def compare_keywords(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair]:
    """Report the changes of all keywords, and return the pairs of subschemas still to be compared."""
    old, new = pair.old.keywords, pair.new.keywords
    is_shared = pair.is_shared or has_in_place_applicator(old) or has_in_place_applicator(new)
    pair = pair._replace(is_shared=is_shared)
    children: list[SchemaPair] = []
    for keywords, compare in _COMPARISONS:
        if not keywords.isdisjoint(old) or not keywords.isdisjoint(new):
            children += compare(comparison, pair)
    return children


def _compare_values(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair]:
    old, new = pair.old.keywords, pair.new.keywords
    for value_effect in value_effects(old, new, comparison.subject(pair), with_type=not pair.is_type_part):
        breaking = comparison.is_breaking(value_effect.effect)
        if breaking is not False and value_effect.is_decidable:
            decided = comparison.keyword_breaks(value_effect.keyword, old, new)
            breaking = breaking if decided is None else decided
        # Not every server enforces formats: docs/decisions/0024-two-validators.md.
        elif breaking and value_effect.keyword == "format":
            breaking = None
        is_written = comparison.is_written(value_effect.keyword, pair.new)
        at = f"{pair.new.pointer}/{value_effect.keyword}" if is_written else None
        comparison.report(value_effect.kind, breaking, value_effect.message, pair, at)
    return []


def _compare_items(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair]:
    (old_prefix, old_rest), (new_prefix, new_rest) = _items(pair.old), _items(pair.new)
    children = []
    for index in range(max(len(old_prefix), len(new_prefix))):
        old = old_prefix[index] if index < len(old_prefix) else old_rest
        new = new_prefix[index] if index < len(new_prefix) else new_rest
        children.append(comparison.child(pair, old, new, f"{pair.label}[{index}]"))
    children.append(comparison.child(pair, old_rest, new_rest, f"{pair.label}[]"))
    return children


def _items(parent: Subschema) -> tuple[list[Subschema], Subschema]:
    """The schemas of the first items of an array, and the schema of all others."""
    schema = parent.keywords
    # Before draft 2020-12, `items` may be a list, and `additionalItems` is for the others.
    keyword = "prefixItems" if "prefixItems" in schema else "items"
    rest = "items" if keyword == "prefixItems" else "additionalItems"
    prefix = schema.get(keyword)
    if not isinstance(prefix, list):
        prefix, rest = [], "items"
    others = parent.child(schema[rest], rest) if rest in schema else parent.unconstrained()
    return [parent.child(item_schema, keyword, index) for index, item_schema in enumerate(prefix)], others


def _compare_whole_schemas(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair]:
    """Pair the subschemas of keywords where possible; for the others, compare the schemas as a whole."""
    old, new = pair.old.keywords, pair.new.keywords
    children: list[SchemaPair] = []
    changed = []
    for keyword in _WHOLE_SCHEMA_KEYWORDS:
        if keyword not in old and keyword not in new:
            continue
        pair_subschemas = _PAIRINGS.get(keyword)
        subschemas = pair_subschemas(comparison, pair) if pair_subschemas is not None else None
        if subschemas is not None:
            children += subschemas
        elif keyword in DYNAMIC or not same_keyword(keyword, pair.old, pair.new):
            changed.append(keyword)
    if not changed:  # the effect of `unevaluated…` depends on all adjacent keywords
        unevaluated = [keyword for keyword in _UNEVALUATED if keyword in old or keyword in new]
        if unevaluated and not same_schema(pair.old, pair.new):
            changed = unevaluated
    if changed:
        at = f"{pair.new.pointer}/{changed[0]}" if changed[0] in new else None
        message = f"{names_text(changed)} of {comparison.subject(pair)} changed"
        comparison.report("constraint-changed", comparison.breaks(pair.old, pair.new), message, pair, at)
    return children


_COMPARISONS: tuple[tuple[frozenset[str], Callable[[SchemaComparison, SchemaPair], list[SchemaPair]]], ...] = (
    (VALUE_KEYWORDS | {"format"}, _compare_values),
    (frozenset({"properties", "required", "additionalProperties"}), compare_properties),
    (frozenset({"items", "prefixItems", "additionalItems"}), _compare_items),
    (frozenset(_WHOLE_SCHEMA_KEYWORDS), _compare_whole_schemas),
)
"""Keywords that depend on each other, and how they are compared, in the order in which changes are reported."""


def _pair_all_of(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair] | None:
    old, new = pair.old.keywords.get("allOf"), pair.new.keywords.get("allOf")
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new):
        return None
    old_branches = [pair.old.child(branch, "allOf", index) for index, branch in enumerate(old)]
    new_branches = [pair.new.child(branch, "allOf", index) for index, branch in enumerate(new)]
    return [
        comparison.child(pair, *branch_pair, is_shared=True) for branch_pair in _matched(old_branches, new_branches)
    ]


def _matched(old: list[Subschema], new: list[Subschema]) -> list[tuple[Subschema, Subschema]]:
    """Pair two lists of equal length: equivalent schemas first, the others in order."""
    # The search below compares each branch with each.
    if len(old) * len(new) > _MAX_BRANCH_PAIRS:
        return list(zip(old, new, strict=True))
    remaining, partners = list(old), dict[int, Any]()
    for index, branch in enumerate(new):
        same = next((at for at, candidate in enumerate(remaining) if same_schema(candidate, branch)), None)
        if same is not None:
            partners[index] = remaining.pop(same)
    return [(partners[index] if index in partners else remaining.pop(0), branch) for index, branch in enumerate(new)]


def _pair_pattern_properties(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair] | None:
    keyword = "patternProperties"
    old, new = pair.old.keywords.get(keyword), pair.new.keywords.get(keyword)
    if not isinstance(old, dict) or not isinstance(new, dict) or old.keys() != new.keys():
        return None
    return [
        comparison.child(
            pair,
            pair.old.child(old[pattern], keyword, pattern),
            pair.new.child(schema, keyword, pattern),
            property_label(pair.label, f"/{pattern}/"),
            is_shared=True,
        )
        for pattern, schema in new.items()
    ]


def _pair_references(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair] | None:
    old, new = pair.old.target(), pair.new.target()
    if old is None or new is None:
        return None
    return [comparison.child(pair, old, new, is_shared=True)]


_PAIRINGS: dict[str, Callable[[SchemaComparison, SchemaPair], list[SchemaPair] | None]] = {
    "allOf": _pair_all_of,
    "patternProperties": _pair_pattern_properties,
    "$ref": _pair_references,
}
"""How the subschemas of a keyword are paired, for keywords that accept more if any of their subschemas does."""
