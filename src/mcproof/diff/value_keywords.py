"""What changed in the keywords that speak of a value as a whole: its type, its possible values, its bounds."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.diff.equality import key_of, same_json
from mcproof.diff.keywords import unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_VALUE = 40
_MOST_VALUES = 5
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_FROM_ZERO = frozenset({"minLength", "minItems", "minProperties"})


class Effect(Enum):
    """How what a schema accepts compares with what it accepted before."""

    NARROWER = "narrower"
    WIDER = "wider"
    BOTH = "both"
    """It refuses some values that it accepted, and accepts others that it refused."""
    UNCLEAR = "unclear"


class ValueEffect(NamedTuple):
    """What one keyword does to what is accepted."""

    kind: str
    keyword: str
    effect: Effect
    message: str
    is_decidable: bool = True
    """Whether the schema library can have the last word."""


def shown(value: Any) -> str:
    """A value as JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "…"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def expanded(types: list[str]) -> set[str]:
    """A set of types to compare: every integer is a number."""
    return {*types, "integer"} if "number" in types else set(types)


def declared_types(schema: dict[str, Any]) -> list[str] | None:
    """What `type` names; None where it is absent or malformed."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    if isinstance(kind, list) and kind and all(isinstance(each, str) for each in kind):
        return list(dict.fromkeys(kind))
    return None


def types_of(schema: dict[str, Any]) -> list[str] | None:
    """The types that a schema names, or else those of the values that it lists; None where it does neither."""
    if "type" in schema:
        return declared_types(schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return None
    found = list(dict.fromkeys(map(_type_of, values)))
    return [each for each in found if each != "integer"] if "number" in found else found


def for_type(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """What a schema of several types says about values of one of them."""
    foreign = {keyword for other, keywords in _SPEAKS_OF.items() if other != kind for keyword in keywords}
    if kind == "integer":
        foreign -= _SPEAKS_OF["number"]
    foreign |= unknown(schema).keys()  # the whole schema is asked about these
    part = {keyword: value for keyword, value in schema.items() if keyword not in foreign}
    if isinstance(part.get("enum"), list):
        part["enum"] = [value for value in part["enum"] if _type_of(value) in expanded([kind])]
    return {**part, "type": kind}


_SPEAKS_OF = {
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


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object", type(None): "null"}
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return names.get(type(value), "null")


def value_effects(
    old: dict[str, Any], new: dict[str, Any], subject: str, *, with_type: bool = True
) -> Iterator[ValueEffect]:
    """What changed in the keywords about whole values of two schemas."""
    if with_type:
        yield from _type_effects(old, new, subject)
    yield from _listed_effects(old, new, subject)
    for keyword in (*_LOWER, *_UPPER, "multipleOf"):
        if keyword in old or keyword in new:
            yield from _bound_effects(keyword, old, new, subject)
    if _flag(old) != _flag(new):
        effect = Effect.NARROWER if _flag(new) else Effect.WIDER
        verb = "must be" if _flag(new) else "need not be"
        kind = f"bound-{'narrowed' if _flag(new) else 'widened'}"
        yield ValueEffect(kind, "uniqueItems", effect, f"the entries of {subject} {verb} unique now")
    for keyword in ("pattern", "format"):
        yield from _text_effects(keyword, old, new, subject)


def _flag(schema: dict[str, Any]) -> bool:
    return schema.get("uniqueItems") is True


def _type_effects(old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    if "type" not in old and "type" not in new:
        return
    before, after = (types_of(schema) or None for schema in (old, new))
    if (before is None and "type" in old) or (after is None and "type" in new):
        if "type" not in old or "type" not in new or not same_json(old["type"], new["type"]):
            yield ValueEffect("type-changed", "type", Effect.UNCLEAR, f"type of {subject} changed")
    elif before is None:
        if after is not None:
            message = f"type of {subject} was narrowed from any to {'|'.join(after)}"
            yield ValueEffect("type-narrowed", "type", Effect.NARROWER, message)
    elif after is None:
        message = f"type of {subject} was widened from {'|'.join(before)} to any"
        yield ValueEffect("type-widened", "type", Effect.WIDER, message)
    else:
        found = type_effect(before, after, subject)
        if found is not None:
            yield found


def type_effect(old: list[str], new: list[str], subject: str) -> ValueEffect | None:
    """What a change of types does; None where the types are the same."""
    before, after = expanded(old), expanded(new)
    if before == after:
        return None
    change = f"from {'|'.join(old)} to {'|'.join(new)}"
    if after < before:
        return ValueEffect("type-narrowed", "type", Effect.NARROWER, f"type of {subject} was narrowed {change}")
    if after > before:
        return ValueEffect("type-widened", "type", Effect.WIDER, f"type of {subject} was widened {change}")
    return ValueEffect("type-changed", "type", Effect.BOTH, f"type of {subject} changed {change}")


def _listed_effects(old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    """`enum`, and `const` as an `enum` of one."""
    keyword = "const" if "const" in new else "enum"
    if all(
        (name in old) == (name in new) and (name not in old or same_json(old[name], new[name]))
        for name in ("enum", "const")
    ):
        return
    before, after = _listed(old), _listed(new)
    if before is None and after is None:
        return
    if isinstance(before, str) or isinstance(after, str):
        yield ValueEffect("values-changed", keyword, Effect.UNCLEAR, f"the possible values of {subject} changed")
    elif before is None:
        message = f"{subject} must be {'' if keyword == 'const' else 'one of '}{_values(after or {})} now"
        yield ValueEffect("values-removed", keyword, Effect.NARROWER, message)
    elif after is None:
        message = f"{subject} is no longer limited to {_values(before)}"
        yield ValueEffect("values-added", keyword, Effect.WIDER, message)
    elif "const" in old and "const" in new and len(before.keys() | after.keys()) > 1:
        message = f"{subject} must be {shown(new['const'])} instead of {shown(old['const'])}"
        yield ValueEffect("const-changed", keyword, Effect.BOTH, message)
    else:
        if removed := {key: value for key, value in before.items() if key not in after}:
            message = f"{subject} can no longer be {_values(removed)}"
            yield ValueEffect("values-removed", keyword, Effect.NARROWER, message)
        if added := {key: value for key, value in after.items() if key not in before}:
            message = f"{subject} can also be {_values(added)} now"
            yield ValueEffect("values-added", keyword, Effect.WIDER, message)


def _listed(schema: dict[str, Any]) -> dict[Any, Any] | str | None:
    """The values that a schema lists; a word where it lists them in no sensible way, None where in none."""
    if "const" in schema:
        return "twice" if "enum" in schema else {key_of(schema["const"]): schema["const"]}
    if "enum" not in schema:
        return None
    return {key_of(value): value for value in schema["enum"]} if isinstance(schema["enum"], list) else "malformed"


def _values(values: dict[Any, Any]) -> str:
    if not values:
        return "no value"
    texts = [shown(value) for value in list(values.values())[:_MOST_VALUES]]
    if len(values) > _MOST_VALUES:
        texts.append(f"{len(values) - _MOST_VALUES} others")
    return " or ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def _bound_effects(keyword: str, old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    before, after = old.get(keyword), new.get(keyword)
    if keyword in _FROM_ZERO:
        before, after = (0 if each is None else each for each in (before, after))
    if same_json(before, after):
        return
    name = f"`{keyword}` of {subject}"
    if not all(each is None or _is_number(each) for each in (before, after)):
        yield ValueEffect("bound-changed", keyword, Effect.UNCLEAR, f"{name} changed")
        return
    effect = _multiple(before, after) if keyword == "multipleOf" else _limit(keyword in _LOWER, before, after)
    if before is None or keyword not in old:
        message = f"{name} was added: {shown(after)}"
    elif after is None or keyword not in new:
        message = f"{name} was removed: {shown(before)}"
    elif keyword == "multipleOf":
        message = f"{name} changed from {shown(before)} to {shown(after)}"
    else:
        message = f"{name} was {'raised' if after > before else 'lowered'} from {shown(before)} to {shown(after)}"
    kind = {Effect.NARROWER: "bound-narrowed", Effect.WIDER: "bound-widened"}.get(effect, "bound-changed")
    yield ValueEffect(kind, keyword, effect, message)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _limit(is_lower: bool, before: Any, after: Any) -> Effect:
    if before is None or after is None:
        return Effect.NARROWER if before is None else Effect.WIDER
    return Effect.NARROWER if (after > before) == is_lower else Effect.WIDER


def _multiple(before: Any, after: Any) -> Effect:
    if before is None or after is None:
        return Effect.NARROWER if before is None else Effect.WIDER
    if type(before) is not int or type(after) is not int or before <= 0 or after <= 0:
        return Effect.UNCLEAR
    if after % before == 0:
        return Effect.NARROWER
    return Effect.WIDER if before % after == 0 else Effect.BOTH


def _text_effects(keyword: str, old: dict[str, Any], new: dict[str, Any], subject: str) -> Iterator[ValueEffect]:
    """`pattern`, whose expressions only the library compares, and `format`, which not every server enforces."""
    before, after = old.get(keyword), new.get(keyword)
    if same_json(before, after):
        return
    name, kind, is_pattern = f"`{keyword}` of {subject}", f"{keyword}-changed", keyword == "pattern"
    if before is None:
        yield ValueEffect(kind, keyword, Effect.NARROWER, f"{name} was added: {shown(after)}", is_pattern)
    elif after is None:
        yield ValueEffect(kind, keyword, Effect.WIDER, f"{name} was removed: {shown(before)}", is_pattern)
    else:
        message = f"{name} changed from {shown(before)} to {shown(after)}"
        yield ValueEffect(kind, keyword, Effect.UNCLEAR, message, is_pattern)
