"""The state of one comparison of two schemas, and how changed keywords affect the values that are accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from mcproof.checks.diff.changes import member_change, shortened_name, value_text, values_text
from mcproof.checks.diff.containment import ContainmentBudget, contains, contains_inlined
from mcproof.checks.diff.documents import SchemaDocument, Subschema, json_key, same_json
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import VALUE_KEYWORDS, unknown_keywords

_LOWER_BOUNDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER_BOUNDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_ZERO_BY_DEFAULT = frozenset({"minLength", "minItems", "minProperties"})
_KEYWORDS_FOR_TYPE = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "array": frozenset(
        {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"}
        | {"contains", "minContains", "maxContains"}
    ),
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"}
        | {"maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"}
    ),
}


class Effect(Enum):
    """How the values that a schema accepts compare with those it accepted before."""

    NARROWER = "narrower"
    WIDER = "wider"
    BOTH = "both"
    """Some values are rejected now, others are accepted now."""
    UNCLEAR = "unclear"


class ValueEffect(NamedTuple):
    """The effect of one changed keyword."""

    kind: str
    keyword: str
    effect: Effect
    message: str
    is_decidable: bool = True
    """Whether a containment check can decide if the change breaks callers."""


def declared_types(schema: dict[str, Any]) -> list[str] | None:
    """The types that `type` lists; None if it is absent or malformed."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    if isinstance(kind, list) and kind and all(isinstance(name, str) for name in kind):
        return list(dict.fromkeys(kind))
    return None


def accepted_types(schema: dict[str, Any]) -> list[str] | None:
    """The types in `type`, or else of the values in `enum` or `const`; None if all of these are absent or malformed."""
    if "type" in schema:
        return declared_types(schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return None
    types = list(dict.fromkeys(map(_type_of, values)))
    # Every integer is a number, so `number` says both.
    return [name for name in types if name != "integer"] if "number" in types else types


def for_type(schema: dict[str, Any], type_name: str) -> dict[str, Any]:
    """The part of a schema of several types that applies to values of one type."""
    irrelevant = {
        keyword for other, keywords in _KEYWORDS_FOR_TYPE.items() if other != type_name for keyword in keywords
    }
    if type_name == "integer":
        irrelevant -= _KEYWORDS_FOR_TYPE["number"]
    irrelevant |= unknown_keywords(schema).keys()  # compared for the whole schema
    part = {keyword: value for keyword, value in schema.items() if keyword not in irrelevant}
    if isinstance(part.get("enum"), list):
        part["enum"] = [value for value in part["enum"] if _type_of(value) in _with_integer([type_name])]
    return {**part, "type": type_name}


def _with_integer(types: list[str]) -> set[str]:
    """The types as a set; every integer is a number."""
    return {*types, "integer"} if "number" in types else set(types)


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object", type(None): "null"}
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return names.get(type(value), "null")


def value_effects(
    old: dict[str, Any], new: dict[str, Any], subject: str, *, with_type: bool = True
) -> Iterator[ValueEffect]:
    """Yield the effects of all changed keywords for whole values."""
    for keyword, compare in _COMPARISONS.items():
        if keyword != "type" or with_type:
            yield from compare(keyword, old, new, subject)


def _type_effects(keyword: str, old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    if keyword not in old and keyword not in new:
        return
    before, after = (accepted_types(schema) or None for schema in (old, new))
    if (before is None and keyword in old) or (after is None and keyword in new):
        if keyword not in old or keyword not in new or not same_json(old[keyword], new[keyword]):
            yield ValueEffect("type-changed", keyword, Effect.UNCLEAR, f"type of {subject} changed")
    elif before is None:
        if after is not None:
            message = f"type of {subject} was narrowed from any to {'|'.join(after)}"
            yield ValueEffect("type-narrowed", keyword, Effect.NARROWER, message)
    elif after is None:
        message = f"type of {subject} was widened from {'|'.join(before)} to any"
        yield ValueEffect("type-widened", keyword, Effect.WIDER, message)
    elif (effect := type_effect(before, after, subject)) is not None:
        yield effect


def type_effect(old: list[str], new: list[str], subject: str) -> ValueEffect | None:
    """The effect of a change of types; None if they are the same."""
    before, after = _with_integer(old), _with_integer(new)
    if before == after:
        return None
    change = f"from {'|'.join(old)} to {'|'.join(new)}"
    if after < before:
        return ValueEffect("type-narrowed", "type", Effect.NARROWER, f"type of {subject} was narrowed {change}")
    if after > before:
        return ValueEffect("type-widened", "type", Effect.WIDER, f"type of {subject} was widened {change}")
    return ValueEffect("type-changed", "type", Effect.BOTH, f"type of {subject} changed {change}")


def _enum_effects(_keyword: str, old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    """Compare `enum`, and `const` as an `enum` of one value."""
    keyword = "const" if "const" in new else "enum"
    if all(
        (name in old) == (name in new) and (name not in old or same_json(old[name], new[name]))
        for name in ("enum", "const")
    ):
        return
    try:
        before, after = _allowed_values(old), _allowed_values(new)
    except ValueError:
        yield ValueEffect("values-changed", keyword, Effect.UNCLEAR, f"the allowed values of {subject} changed")
        return
    if before is None:
        if after is not None:
            values = f"{'' if keyword == 'const' else 'one of '}{values_text(list(after.values()))}"
            yield ValueEffect("values-removed", keyword, Effect.NARROWER, f"{subject} must be {values} now")
    elif after is None:
        message = f"{subject} is no longer limited to {values_text(list(before.values()))}"
        yield ValueEffect("values-added", keyword, Effect.WIDER, message)
    elif "const" in old and "const" in new and len(before.keys() | after.keys()) > 1:
        message = f"{subject} must be {value_text(new['const'])} instead of {value_text(old['const'])}"
        yield ValueEffect("const-changed", keyword, Effect.BOTH, message)
    else:
        if removed := [value for key, value in before.items() if key not in after]:
            message = f"{subject} can no longer be {values_text(removed)}"
            yield ValueEffect("values-removed", keyword, Effect.NARROWER, message)
        if added := [value for key, value in after.items() if key not in before]:
            message = f"{subject} can also be {values_text(added)} now"
            yield ValueEffect("values-added", keyword, Effect.WIDER, message)


def _allowed_values(schema: dict[str, Any]) -> dict[Any, Any] | None:
    """The values in `enum` or `const` by their keys; None if neither occurs.

    Raises ValueError if both occur or `enum` is malformed.
    """
    if "const" in schema and "enum" not in schema:
        return {json_key(schema["const"]): schema["const"]}
    if "enum" not in schema:
        return None
    if "const" in schema or not isinstance(schema["enum"], list):
        raise ValueError
    return {json_key(value): value for value in schema["enum"]}


def _bound_effects(keyword: str, old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    before, after = old.get(keyword), new.get(keyword)
    if keyword in _ZERO_BY_DEFAULT:
        # `minLength: 0` allows everything, so to add or to remove it is no change.
        before, after = (0 if bound is None else bound for bound in (before, after))
    if same_json(before, after):
        return
    name = f"`{keyword}` of {subject}"
    if any(isinstance(bound, bool) or not isinstance(bound, (int, float, type(None))) for bound in (before, after)):
        yield ValueEffect("bound-changed", keyword, Effect.UNCLEAR, f"{name} changed")
        return
    if before is None or after is None:
        effect = Effect.NARROWER if before is None else Effect.WIDER
    elif keyword == "multipleOf":
        effect = _multiple_effect(before, after)
    else:
        effect = Effect.NARROWER if (after > before) == (keyword in _LOWER_BOUNDS) else Effect.WIDER
    if before is None or keyword not in old:
        message = f"{name} was added: {value_text(after)}"
    elif after is None or keyword not in new:
        message = f"{name} was removed: {value_text(before)}"
    else:
        verb = "changed" if keyword == "multipleOf" else "was raised" if after > before else "was lowered"
        message = f"{name} {verb} from {value_text(before)} to {value_text(after)}"
    kind = {Effect.NARROWER: "bound-narrowed", Effect.WIDER: "bound-widened"}.get(effect, "bound-changed")
    yield ValueEffect(kind, keyword, effect, message)


def _multiple_effect(before: float, after: float) -> Effect:
    # Remainders of floats are inexact: `0.3 % 0.1` is not 0.
    if type(before) is not int or type(after) is not int or before <= 0 or after <= 0:
        return Effect.UNCLEAR
    if after % before == 0:
        return Effect.NARROWER
    return Effect.WIDER if before % after == 0 else Effect.BOTH


def _unique_effects(keyword: str, old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    before, after = old.get(keyword) is True, new.get(keyword) is True
    if after and not before:
        yield ValueEffect("bound-narrowed", keyword, Effect.NARROWER, f"items of {subject} must be unique now")
    elif before and not after:
        yield ValueEffect("bound-widened", keyword, Effect.WIDER, f"items of {subject} need not be unique now")


def _string_effects(keyword: str, old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    """Compare `pattern`, which only the library can decide, or `format`, which not every server enforces."""
    before, after = old.get(keyword), new.get(keyword)
    if same_json(before, after):
        return
    effect = Effect.NARROWER if before is None else Effect.WIDER if after is None else Effect.UNCLEAR
    present = ({} if value is None else {keyword: value} for value in (before, after))
    yield ValueEffect(
        kind=f"{keyword}-changed",
        keyword=keyword,
        effect=effect,
        message=f"`{keyword}` of {subject} {member_change(keyword, *present)}",
        is_decidable=keyword == "pattern",
    )


_COMPARISONS: dict[str, Callable[[str, dict[str, Any], dict[str, Any], str], Iterator[ValueEffect]]] = {
    "type": _type_effects,
    "enum": _enum_effects,
    **dict.fromkeys((*_LOWER_BOUNDS, *_UPPER_BOUNDS, "multipleOf"), _bound_effects),
    "uniqueItems": _unique_effects,
    "pattern": _string_effects,
    "format": _string_effects,
}
"""How each keyword is compared, in the order in which changes are reported."""


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


def change_of(
    pair: SchemaPair, kind: str, breaking: bool | None, message: str, at: str | None = None, *, is_old: bool = False
) -> SchemaChange:
    """A change of a pair at a pointer, by default that of the new schema."""
    return SchemaChange(kind, breaking, message, pair.new.pointer if at is None else at, is_old, pair.parameter)


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

    def report(self, kind: str, breaking: bool | None, message: str, pair: SchemaPair, at: str | None = None) -> None:
        """Report a change at a pointer, by default that of the new schema."""
        self.changes.append(change_of(pair, kind, breaking, message, at))

    def subject(self, pair: SchemaPair) -> str:
        """The value of a pair, for messages."""
        if pair.label:
            return f"`{pair.label}`"
        return "the arguments" if self.is_input else "the result"

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

    def is_breaking(self, effect: Effect) -> bool | None:
        """Whether an effect on the accepted values breaks callers; None if unclear."""
        if effect is Effect.UNCLEAR:
            return None
        return effect is not (Effect.WIDER if self.is_input else Effect.NARROWER)

    def breaks(self, old: Subschema, new: Subschema, *, is_root: bool = False) -> bool | None:
        """Whether replacing a schema breaks callers: an input that accepts less, an output that allows more."""
        if self.is_input:
            # Callers send what the schema declares, but a result may contain whatever its schema allows.
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
            value_keywords = {name: value for name, value in narrower.items() if name in VALUE_KEYWORDS}
            # One of the two can take the place of the other, so they change together.
            changing = {"enum", "const"} if keyword in {"enum", "const"} else {keyword}
            changed = {name: value for name, value in value_keywords.items() if name not in changing}
            changed |= {name: wider[name] for name in changing if name in wider}
            self._results[key] = contains_inlined(changed, value_keywords, draft, self._budget)
        is_safe = self._results[key]
        return None if is_safe is None else not is_safe
