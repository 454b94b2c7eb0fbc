"""Changes of keywords that need no comparison of accepted values: annotations and unknown keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.text.json_positions import escape
from mcproof.diff.change_wording import member_change, names_text, shortened_name, text_change
from mcproof.diff.equality import changed_keys, same_json
from mcproof.diff.schema_document import unknown_in_chain

if TYPE_CHECKING:
    from mcproof.diff.schema_comparison import SchemaComparison, SchemaPair
    from mcproof.diff.schema_document import Subschema

_ANNOTATIONS = {
    "title": ("title", "title-changed"),
    "description": ("description", "description-changed"),
    "examples": ("list of examples", "description-changed"),
    "deprecated": ("deprecation", "description-changed"),
}
"""The compared annotations: their names in messages, and the kinds of change."""


class _Annotation(NamedTuple):
    value: Any
    pointer: str
    is_present: bool

    def as_member(self, keyword: str) -> dict[str, Any]:
        return {keyword: self.value} if self.is_present else {}


def _annotation(keyword: str, referring: Subschema, target: Subschema) -> _Annotation:
    """An annotation of the referring schema, or else of its target."""
    for subschema in (referring, target):
        if keyword in subschema.keywords:
            return _Annotation(subschema.keywords[keyword], f"{subschema.pointer}/{keyword}", True)
    return _Annotation(None, referring.pointer, False)


def compare_annotations(comparison: SchemaComparison, pair: SchemaPair, old: Subschema, new: Subschema) -> None:
    """Report changed annotations; `old` and `new` are the schemas that the pair refers to."""
    subject = comparison.subject(pair)
    for keyword, (name, kind) in _ANNOTATIONS.items():
        if keyword != "description" and not pair.label:
            continue
        before, after = _annotation(keyword, pair.old, old), _annotation(keyword, pair.new, new)
        if same_json(before.value or None, after.value or None):
            continue
        is_text = all(isinstance(each.value or "", str) for each in (before, after))
        if is_text or keyword in {"examples", "deprecated"}:
            message = text_change(name, before.value, after.value, of=subject)
            comparison.report(kind, False, message, pair, after.pointer)
    before, after = _annotation("default", pair.old, old), _annotation("default", pair.new, new)
    if not same_json(before.as_member("default"), after.as_member("default")):
        breaking = None if comparison.is_input and before.is_present else False
        change = member_change("default", before.as_member("default"), after.as_member("default"))
        comparison.report("default-changed", breaking, f"default of {subject} {change}", pair, after.pointer)


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
    pointers = [f"{each.pointer}/{escape(keyword)}" for each in new if keyword in each.keywords]
    comparison.report("constraint-changed", None, message, pair, pointers[0] if pointers else None)
