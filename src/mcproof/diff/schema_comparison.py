"""The state of one comparison of two schema documents: direction, changes found, containment checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.schema.keywords import VALUE_KEYWORDS
from mcproof.diff.change_wording import shortened_name
from mcproof.diff.containment import contains, contains_inlined
from mcproof.diff.value_effects import Effect

if TYPE_CHECKING:
    from mcproof.diff.containment import ContainmentBudget
    from mcproof.diff.schema_document import SchemaDocument, Subschema


class SchemaChange(NamedTuple):
    """One difference between two schemas."""

    kind: str
    """The id of its kind."""
    breaking: bool | None
    message: str
    pointer: str
    is_old: bool = False
    parameter: str | None = None


class SchemaPair(NamedTuple):
    """An old and a new schema for the same value."""

    old: Subschema
    new: Subschema
    label: str = ""
    """The path of the value for messages: `filter.status`; empty for the root."""
    parameter: str | None = None
    is_shared: bool = False
    """Whether other schemas apply to the same value."""
    is_type_part: bool = False
    """Whether these are the parts of two unions for one type."""
    level: int = 0
    notes: tuple[SchemaChange, ...] = ()
    """Changes to report before the pair is compared."""
    is_final: bool = False
    """Whether there are only notes to report, and nothing to compare."""


class SchemaComparison:
    """Collects the changes between two schema documents, and decides which of them break callers."""

    def __init__(self, old: SchemaDocument, new: SchemaDocument, budget: ContainmentBudget, *, is_input: bool) -> None:
        self.old = old
        self.new = new
        self.is_input = is_input
        self.changes: list[SchemaChange] = []
        self.reported_unknown: set[tuple[str, str]] = set()
        """Labels and messages of the changes of unknown keywords reported so far."""
        self._budget = budget
        self._results: dict[tuple[object, ...], bool | None] = {}
        self._substitutes: list[dict[str, Any]] = []  # kept alive, so that no id is used twice
        self._with_implied_type: set[int] = set()

    # Changes

    def report(self, kind: str, breaking: bool | None, message: str, pair: SchemaPair, at: str | None = None) -> None:
        """Report a change at a pointer, by default that of the new schema."""
        self.changes.append(self.change(kind, breaking, message, pair, at))

    def change(
        self,
        kind: str,
        breaking: bool | None,
        message: str,
        pair: SchemaPair,
        at: str | None = None,
        *,
        is_old: bool = False,
    ) -> SchemaChange:
        """Return a change, to be reported later."""
        return SchemaChange(
            kind=kind,
            breaking=breaking,
            message=message,
            pointer=pair.new.pointer if at is None else at,
            is_old=is_old,
            parameter=pair.parameter,
        )

    def subject(self, pair: SchemaPair) -> str:
        """The value of a pair, for messages."""
        if pair.label:
            return f"`{pair.label}`"
        return "the arguments" if self.is_input else "the result"

    # Pairs

    def child(
        self, pair: SchemaPair, old: Subschema, new: Subschema, label: str | None = None, *, is_shared: bool = False
    ) -> SchemaPair:
        """A pair below another. A new schema without a location is reported at its parent."""
        return SchemaPair(
            old=old,
            new=new if new.pointer else new._replace(pointer=pair.new.pointer),
            label=shortened_name(pair.label if label is None else label),
            parameter=pair.parameter,
            is_shared=is_shared or pair.is_shared,
            level=pair.level + 1,
        )

    def substitute(self, original: Subschema, schema: Any) -> Subschema:
        """Replace a schema by a derived one at the same location."""
        if schema is not original.schema:
            self._substitutes.append(schema)
            if isinstance(original.schema, dict) and "type" not in original.schema:
                self._with_implied_type.add(id(schema))
        return original._replace(schema=schema)

    def is_written(self, keyword: str, subschema: Subschema) -> bool:
        """Whether the document contains a keyword of this schema: the `type` of a substitute may be implied."""
        return keyword in subschema.keywords and (
            keyword != "type" or id(subschema.schema) not in self._with_implied_type
        )

    # Verdicts

    def is_breaking(self, effect: Effect) -> bool | None:
        """Whether an effect on the accepted values breaks callers; None if unclear."""
        if effect is Effect.UNCLEAR:
            return None
        return effect is not (Effect.WIDER if self.is_input else Effect.NARROWER)

    def breaks(self, old: Subschema, new: Subschema, *, is_root: bool = False) -> bool | None:
        """Whether replacing a schema breaks callers: an input that accepts less, an output that allows more."""
        if self.is_input:
            is_safe = self.is_within(old, new, is_root=is_root, declared_only=True)
        else:
            is_safe = self.is_within(new, old, is_root=is_root)
        return None if is_safe is None else not is_safe

    def is_within(
        self, narrower: Subschema, wider: Subschema, *, is_root: bool = False, declared_only: bool = False
    ) -> bool | None:
        """Whether `wider` accepts every value that `narrower` accepts; None if unknown."""
        key = (id(narrower.document), id(narrower.schema), id(wider.schema), is_root, declared_only)
        if key not in self._results:
            self._results[key] = contains(wider, narrower, self._budget, is_root=is_root, declared_only=declared_only)
        return self._results[key]

    def keyword_breaks(self, keyword: str, old: dict[str, Any], new: dict[str, Any]) -> bool | None:
        """Whether the change of one keyword breaks callers, given the other keywords for whole values."""
        draft = self.old.draft
        if draft is None or draft != self.new.draft:
            return None
        key = (keyword, id(old), id(new))
        if key not in self._results:
            narrower, wider = (old, new) if self.is_input else (new, old)
            kept = {name: value for name, value in narrower.items() if name in VALUE_KEYWORDS}
            changing = {"enum", "const"} if keyword in {"enum", "const"} else {keyword}
            changed = {name: value for name, value in kept.items() if name not in changing}
            changed |= {name: wider[name] for name in changing if name in wider}
            self._results[key] = contains_inlined(changed, kept, draft, self._budget)
        is_safe = self._results[key]
        return None if is_safe is None else not is_safe
