"""Changes between two JSON Schemas, and whether they break callers that send or read values.

Both schemas are traversed together, keyword by keyword. Comparing keywords separately is sound: if every keyword
accepts at least what it accepted before, so does the schema. If that makes a schema with in-place applicators look
narrower, it is compared as a whole before the change is called breaking. References are followed on both sides, so
definitions may move; a pair of schemas that recurs below itself is compared once. Changes that one keyword alone
cannot decide (`oneOf`, `not`, `if`) are decided by `containment`; an undecided change is reported as unknown, never
as compatible.

A narrower input breaks callers, and so does a wider output: callers may receive values they do not expect.
Properties that a schema neither declares nor explicitly allows are assumed not to be sent; see `containment`.
Why a change has three values: docs/decisions/0004-diff-three-values.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from mcproof.checks.diff.changes import counted, member_change, names_text, shortened_name, text_change, value_text
from mcproof.checks.diff.comparison import Effect, SchemaChange, SchemaComparison, SchemaPair, value_effects
from mcproof.checks.diff.containment import ContainmentBudget
from mcproof.checks.diff.documents import (
    SchemaDocument,
    Subschema,
    changed_keys,
    same_json,
    same_keyword,
    same_schema,
    unknown_in_chain,
)
from mcproof.checks.diff.properties import compare_properties, compare_unions, property_label
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import (
    ALTERNATIVES,
    DYNAMIC,
    VALUE_KEYWORDS,
    assertions,
    has_in_place_applicator,
    is_union,
)
from mcproof.core.text.json_positions import escape

MAX_LEVELS = 200
_MAX_PAIRS = 20_000
_MAX_USES = 20
"""How many uses of a changed definition are reported individually."""
_MAX_REPEATED_PAIRS = 5_000
"""How many pairs of schemas are compared repeatedly; further uses of definitions are only counted."""
_DECIDED_BY_CONTAINMENT = frozenset(
    {"type-narrowed", "type-widened", "type-changed", "values-removed", "values-added", "values-changed"}
    | {"const-changed", "bound-narrowed", "bound-widened", "bound-changed", "pattern-changed"}
    | {"union-narrowed", "union-widened", "union-changed", "constraint-changed"}
    | {"parameter-required", "parameter-added-required", "field-optional"}
)
"""Kinds of change that break callers only if the whole schema accepts other values."""
_DIALECT_KEYWORDS = DYNAMIC | {"prefixItems", "additionalItems", "dependencies", "dependentSchemas"}
_DIALECT_KEYWORDS |= {"dependentRequired", "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"}
_SINCE_DRAFT_07 = {"exclusiveMinimum", "exclusiveMaximum", "const", "contains", "propertyNames", "if", "then", "else"}

Direction = Literal["input", "output"]


def compare_schemas(
    old: dict[str, Any], new: dict[str, Any], direction: Direction, budget: ContainmentBudget | None = None
) -> list[SchemaChange]:
    """Return the changes between two schemas of a tool.

    They are in the order of the new schema, outer schemas first; removed properties follow those that remain. The
    comparisons of a catalog share one budget.
    """
    if same_json(old, new):
        return []
    base = f"/{direction}Schema"
    documents = SchemaDocument(old, base), SchemaDocument(new, base)
    comparison = SchemaComparison(*documents, budget or ContainmentBudget(), is_input=direction == "input")
    try:
        _compare_dialects(comparison)
        _Traversal(comparison).run()
    finally:
        for document in documents:
            document.release()  # the nodes of a tree refer to each other
    return comparison.changes


_VisitKey = tuple[int, int, bool, bool]
"""Identifies a pair of schemas by their ids, `is_shared` and `is_type_part`."""


class _Visit:
    """The comparison of one pair: the range of its changes, and how often the pair is used again."""

    __slots__ = ("further_uses", "key", "pair", "start", "stop", "uses")

    def __init__(self, pair: SchemaPair, key: _VisitKey, start: int) -> None:
        self.pair = pair
        self.key = key
        self.start = start
        self.stop = start
        self.uses = 1
        self.further_uses = 0


class _Traversal:
    """The traversal of two schemas: a stack of pairs to visit and of visits to finish."""

    def __init__(self, comparison: SchemaComparison) -> None:
        self._comparison = comparison
        self._visits: dict[_VisitKey, _Visit] = {}
        self._in_progress: set[_VisitKey] = set()
        self._repeated_pairs = 0

    def run(self) -> None:
        comparison = self._comparison
        old, new = comparison.old, comparison.new
        root = SchemaPair(Subschema(old, old.root, old.base), Subschema(new, new.root, new.base))
        waiting: list[SchemaPair | _Visit] = [root]
        pairs = 0
        while waiting:
            pair = waiting.pop()
            if isinstance(pair, _Visit):
                self._finish(pair)
                continue
            pairs += 1
            # Schemas come from strangers: docs/decisions/0010-hostile-input.md.
            if pairs - self._repeated_pairs > _MAX_PAIRS:
                message = f"the schema of {comparison.subject(root)} is too large to compare"
                comparison.report("not-compared", None, message, root)
                break
            comparison.changes += pair.notes
            if not pair.is_final:
                # The last entry of a stack is the next, so a visit is finished after all pairs below it.
                waiting += reversed(self._visit(pair))
        for visit in self._visits.values():
            if visit.further_uses:
                self._report_further_uses(visit)
        if all(change.breaking is False for change in comparison.changes):
            self._check_whole(root)

    def _visit(self, pair: SchemaPair) -> list[SchemaPair | _Visit]:
        """Report the changes of a pair itself, and return the pairs below it, then the visit to finish."""
        comparison = self._comparison
        chains = pair.old.chain(), pair.new.chain()
        old, new = chains[0][-1], chains[1][-1]
        if not pair.level:
            old, new = (comparison.substitute(subschema, _as_object(subschema.schema)) for subschema in (old, new))
        key = (id(old.schema), id(new.schema), pair.is_shared, pair.is_type_part)
        is_done = key in self._visits and not self._is_repeated(self._visits[key])
        if not pair.is_type_part:
            _compare_annotations(comparison, pair, *((pair.old, pair.new) if is_done else (old, new)))
        _compare_unknown_keywords(comparison, pair, *((chain[:-1] for chain in chains) if is_done else chains))
        if is_done:
            return []
        pair = pair._replace(old=old, new=new)
        if pair.level > MAX_LEVELS:
            if not same_schema(old, new):
                message = f"{comparison.subject(pair)} is nested too deeply to compare"
                comparison.report("not-compared", None, message, pair)
            return []
        if not (_has_keywords(old.schema) and _has_keywords(new.schema)):
            _compare_without_keywords(comparison, pair)
            return []
        visit = _Visit(pair, key, len(comparison.changes))
        is_first = self._visits.setdefault(key, visit) is visit
        self._in_progress.add(key)
        compare = compare_unions if is_union(old.schema) or is_union(new.schema) else _compare_keywords
        children = compare(comparison, pair)
        self._repeated_pairs += 0 if is_first else len(children)
        return [*children, visit]

    def _is_repeated(self, visit: _Visit) -> bool:
        """Whether to compare a pair again, to report its changes at another use."""
        if visit.key in self._in_progress or visit.start == visit.stop:  # recursive, or without changes
            return False
        if visit.uses < _MAX_USES and self._repeated_pairs < _MAX_REPEATED_PAIRS:
            visit.uses += 1
            return True
        visit.further_uses += 1
        return False

    def _finish(self, visit: _Visit) -> None:
        """Reconsider the changes of a pair: its parts may look breaking although the whole is not."""
        comparison, pair = self._comparison, visit.pair
        visit.stop = len(comparison.changes)
        self._in_progress.discard(visit.key)
        if not (has_in_place_applicator(pair.old.keywords) or has_in_place_applicator(pair.new.keywords)):
            return
        changes = comparison.changes
        breaking = [
            index
            for index in range(visit.start, visit.stop)
            if changes[index].breaking and changes[index].kind in _DECIDED_BY_CONTAINMENT
        ]
        if breaking and comparison.breaks(pair.old, pair.new) is False:
            for index in breaking:
                changes[index] = changes[index]._replace(breaking=False)

    def _report_further_uses(self, visit: _Visit) -> None:
        """Report all uses of a definition beyond the limit as one change."""
        verdicts = {change.breaking for change in self._comparison.changes[visit.start : visit.stop]}
        breaking = True if True in verdicts else None if None in verdicts else False
        subject, places = self._comparison.subject(visit.pair), counted(visit.further_uses, "more place")
        message = f"the definition of {subject} is used in {places}, with the same changes"
        self._comparison.report("constraint-changed", breaking, message, visit.pair)

    def _check_whole(self, root: SchemaPair) -> None:
        """If no breaking change was found, check the whole schemas as a safety net."""
        if same_schema(root.old, root.new):
            return
        comparison = self._comparison
        old, new = (
            comparison.substitute(subschema, _as_object(subschema.schema)) for subschema in (root.old, root.new)
        )
        if comparison.breaks(old, new, is_root=True):
            message = f"the schema of {comparison.subject(root)} changed as a whole"
            comparison.report("constraint-changed", True, message, root)


def _as_object(schema: Any) -> Any:
    """The root of a tool's schema, which describes an object even without `type`."""
    if schema is True:
        return {"type": "object"}
    if not isinstance(schema, dict) or not {"type", "$ref", *ALTERNATIVES}.isdisjoint(schema):
        return schema
    return {**schema, "type": "object"}


def _has_keywords(schema: Any) -> bool:
    return schema is True or type(schema) is dict


def _compare_without_keywords(comparison: SchemaComparison, pair: SchemaPair) -> None:
    """Compare two schemas of which at least one is `false` or malformed."""
    old, new = pair.old.schema, pair.new.schema
    if same_json(old, new):
        return
    subject = comparison.subject(pair)
    if new is False and _has_keywords(old):
        breaking = comparison.is_breaking(Effect.NARROWER)
        comparison.report("type-narrowed", breaking, f"no value of {subject} is accepted any more", pair)
    elif old is False and _has_keywords(new):
        breaking = comparison.is_breaking(Effect.WIDER)
        comparison.report("type-widened", breaking, f"values of {subject} are accepted now", pair)
    else:
        comparison.report("constraint-changed", None, f"the schema of {subject} is malformed", pair)


def _compare_dialects(comparison: SchemaComparison) -> None:
    old, new = comparison.old, comparison.new
    if old.draft == new.draft and (old.draft is not None or same_json(old.root["$schema"], new.root["$schema"])):
        return
    is_known = old.draft is not None and new.draft is not None
    drafts = {old.draft, new.draft}
    is_harmless = is_known and not any(_depends_on_dialect(document, drafts) for document in (old, new))
    before, after = (
        value_text(document.root["$schema"]) if "$schema" in document.root else "none" for document in (old, new)
    )
    message = f"`$schema` changed from {before} to {after}"
    pointer = new.base + ("/$schema" if "$schema" in new.root else "")
    comparison.changes.append(SchemaChange("dialect-changed", False if is_harmless else None, message, pointer))


def _depends_on_dialect(document: SchemaDocument, drafts: set[int | None]) -> bool:
    """Whether a schema in the document has another meaning, or none, in one of two drafts."""
    keywords = _DIALECT_KEYWORDS if drafts.isdisjoint({4, 6}) else _DIALECT_KEYWORDS | _SINCE_DRAFT_07
    return any(
        not keywords.isdisjoint(schema)
        or isinstance(schema.get("items"), list)
        or ("$ref" in schema and len(assertions(schema)) > 1)
        for schema in document.schemas()
    )


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


def _compare_annotations(comparison: SchemaComparison, pair: SchemaPair, old: Subschema, new: Subschema) -> None:
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


def _compare_unknown_keywords(
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


def _compare_keywords(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair]:
    """Report the changes of all keywords, and return the pairs of subschemas still to be compared."""
    old, new = pair.old.keywords, pair.new.keywords
    is_shared = pair.is_shared or has_in_place_applicator(old) or has_in_place_applicator(new)
    pair = pair._replace(is_shared=is_shared)
    children: list[SchemaPair] = []
    for keywords, compare in _BY_KEYWORDS:
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


_BY_KEYWORDS: tuple[tuple[frozenset[str], Callable[[SchemaComparison, SchemaPair], list[SchemaPair]]], ...] = (
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
    children = []
    for pattern, schema in new.items():
        pairs = pair.old.child(old[pattern], keyword, pattern), pair.new.child(schema, keyword, pattern)
        children.append(comparison.child(pair, *pairs, property_label(pair.label, f"/{pattern}/"), is_shared=True))
    return children


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
