"""Changes between two JSON Schemas, and whether they break callers that send or read values.

Both schemas are traversed together, keyword by keyword. If that makes a schema with in-place applicators look
narrower, it is compared as a whole before the change is called breaking. References are followed on both sides, so
definitions may move; a pair of schemas that recurs below itself is compared once. Changes that one keyword alone
cannot decide (`oneOf`, `not`, `if`) are decided by `containment`; an undecided change is reported as unknown, never
as compatible.

A narrower input breaks callers, and so does a wider output: callers may receive values they do not expect.
Properties that a schema neither declares nor explicitly allows are assumed not to be sent; see `containment`.
Why a change has three values: docs/decisions/0004-diff-three-values.md.
"""

from __future__ import annotations

from typing import Any, Literal

from mcproof.checks.diff.comparison import Effect, SchemaChange, SchemaComparison, SchemaPair
from mcproof.checks.diff.containment import ContainmentBudget
from mcproof.checks.diff.documents import SchemaDocument, Subschema, same_json, same_schema
from mcproof.checks.diff.keywords import compare_annotations, compare_keywords, compare_unknown_keywords
from mcproof.checks.diff.kinds import counted, value_text
from mcproof.checks.diff.properties import compare_unions
from mcproof.core.schema.keywords import ALTERNATIVES, DYNAMIC, assertions, has_in_place_applicator, is_union

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
            compare_annotations(comparison, pair, *((pair.old, pair.new) if is_done else (old, new)))
        compare_unknown_keywords(comparison, pair, *((chain[:-1] for chain in chains) if is_done else chains))
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
        compare = compare_unions if is_union(old.schema) or is_union(new.schema) else compare_keywords
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
