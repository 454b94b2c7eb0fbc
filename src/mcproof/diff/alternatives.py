"""What changed between two schemas of which one at least is a union: `anyOf` or `oneOf`, and nothing beside it.

Most unions tell their alternatives apart by type (`string` or `null`). Those are compared type by type, whichever way
they are written: as a list of types or as branches. Others tell objects apart by a property with one value each. Of
what remains the branches that say the same are set against each other; what is left is compared in order, which is
sound for `anyOf`, or asked of the schema library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.diff.equality import Place, asserts, key_of, same_schema, settled
from mcproof.diff.keywords import DYNAMIC
from mcproof.diff.value_keywords import Effect, for_type, shown, type_effect, types_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcproof.diff.schema_changes import Comparison, Pair
    from mcproof.diff.schema_side import Side

UNIONS = ("anyOf", "oneOf")
_MOST_BRANCH_PAIRS = 400
_MOST_BRANCHES = 50


def is_union(schema: dict[str, Any]) -> bool:
    """Whether a schema is nothing but a union."""
    keywords = asserts(schema)
    return len(keywords) == 1 and keywords[0] in UNIONS and isinstance(schema[keywords[0]], list)


def compare_unions(walk: Comparison, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> list[Pair]:
    """Two schemas of which one at least is nothing but a union."""
    if not asserts(new):
        if asserts(old):
            message = f"{walk.subject(pair)} accepts any value now"
            walk.say("type-widened", walk.verdict(Effect.WIDER), message, pair)
        return []
    before, after = _by_type(walk, walk.old, pair.old), _by_type(walk, walk.new, pair.new)
    if before is not None and after is not None:
        return _compare_by_type(walk, pair, before, after)
    if same_schema((walk.old, old), (walk.new, new)):
        return []
    keyword = asserts(new)[0]
    if is_union(old) and is_union(new):
        matched = _match_tagged(walk, pair)
        if matched is None and asserts(old) == [keyword]:
            matched = _match_branches(walk, pair, keyword, old[keyword], new[keyword])
        if matched is not None:
            return matched
    breaking = walk.breaks(pair.old, pair.new)
    walk.say("union-changed", breaking, f"the alternatives of {walk.subject(pair)} changed", pair)
    return []


def _by_type(walk: Comparison, side: Side, place: Place) -> dict[str, Place] | None:
    """The parts of a schema for each type of value, if they are easily told apart."""
    waiting, parts = [place], dict[str, Place]()
    steps = 0
    while waiting:
        steps += 1
        here = settled(side, waiting.pop(0))
        if type(here.schema) is not dict or steps > _MOST_BRANCHES:
            return None
        keywords = asserts(here.schema)
        if len(keywords) == 1 and keywords[0] in UNIONS and isinstance(here.schema[keywords[0]], list):
            branches = here.schema[keywords[0]]
            waiting += [Place(each, f"{here.pointer}/{keywords[0]}/{at}") for at, each in enumerate(branches)]
            continue
        types = types_of(here.schema)
        if types is None or not types or not {"$ref", *UNIONS, *DYNAMIC}.isdisjoint(keywords):
            return None
        for kind in types:
            if kind in parts:
                return None
            parts[kind] = here if len(types) == 1 else walk.made_of(here, for_type(here.schema, kind))
    return None if {"integer", "number"} <= parts.keys() else parts


def _compare_by_type(walk: Comparison, pair: Pair, old: dict[str, Place], new: dict[str, Place]) -> list[Pair]:
    _compare_types(walk, pair, list(old), list(new))
    below = []
    for kind, place in new.items():
        partner = old.get(kind)
        if partner is None and kind in {"integer", "number"}:
            partner = old.get("number") or old.get("integer")
        if partner is not None:
            below.append(pair._replace(old=partner, new=place, is_piece=True, level=pair.level + 1, notes=()))
    return below


def _compare_types(walk: Comparison, pair: Pair, old: list[str], new: list[str]) -> None:
    found = type_effect(old, new, walk.subject(pair))
    if found is not None:
        walk.say(found.kind, walk.verdict(found.effect), found.message, pair)


def _match_tagged(walk: Comparison, pair: Pair) -> list[Pair] | None:
    """Pair the objects of two unions by the property whose value tells them apart; None where there is no such one.

    No value matches two of them, so each may be judged alone, even in `oneOf`.
    """
    old, new = _branches(walk.old, pair.old), _branches(walk.new, pair.new)
    for name in _properties(new[0]) if old and new else ():
        before, after = _by_tag(name, old), _by_tag(name, new)
        if before is None or after is None:
            continue
        subject = walk.subject(pair)
        for tag, place in after.items():
            if tag not in before:
                message = f"{subject} has a further alternative, with {shown(_tag(place, name))} as `{name}`"
                walk.say("union-widened", walk.verdict(Effect.WIDER), message, pair, place.pointer)
        for tag, place in before.items():
            if tag not in after:
                message = f"{subject} lost the alternative with {shown(_tag(place, name))} as `{name}`"
                walk.say("union-narrowed", walk.verdict(Effect.NARROWER), message, pair)
        return [walk.below(pair, before[tag], place) for tag, place in after.items() if tag in before]
    return None


def _branches(side: Side, place: Place) -> list[Place]:
    """The branches of a union; none where they are too many to look through."""
    keyword = asserts(place.schema)[0]
    branches = place.schema[keyword]
    if len(branches) > _MOST_BRANCHES:
        return []
    return [settled(side, Place(each, f"{place.pointer}/{keyword}/{at}")) for at, each in enumerate(branches)]


def _properties(place: Place) -> dict[str, Any]:
    properties = place.schema.get("properties") if isinstance(place.schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _tag(place: Place, name: str) -> Any:
    """The only value that an object schema allows for a property which it requires; None where there is no such one."""
    schema = _properties(place).get(name)
    required = place.schema.get("required") if isinstance(place.schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(required, list) or name not in required:
        return None
    return schema.get("const") if place.schema.get("type") == "object" else None


def _by_tag(name: str, branches: list[Place]) -> dict[Hashable, Place] | None:
    """The branches by the value of a property; None where it does not tell all of them apart."""
    tags = [_tag(place, name) for place in branches]
    if not all(isinstance(tag, (str, int)) for tag in tags):
        return None
    found = dict(zip(map(key_of, tags), branches, strict=True))
    return found if len(found) == len(branches) else None


def _match_branches(walk: Comparison, pair: Pair, keyword: str, old: list[Any], new: list[Any]) -> list[Pair] | None:
    """Pair the branches of two unions; None where they are better compared as wholes.

    Any pairing is sound for `anyOf`. Of `oneOf` no branch may be judged alone: a value that matches two is refused.
    """
    if len(old) * len(new) > _MOST_BRANCH_PAIRS:
        return None
    left, added = list(range(len(old))), list[int]()
    for at, branch in enumerate(new):
        same = next((one for one in left if same_schema((walk.old, old[one]), (walk.new, branch))), None)
        if same is None:
            added.append(at)
        else:
            left.remove(same)
    is_free = keyword == "anyOf"
    subject = walk.subject(pair)
    if not left:
        breaking = walk.verdict(Effect.WIDER) if is_free else True
        message = f"{subject} has {_count(len(added), 'further alternative')}"
        walk.say("union-widened", breaking and walk.breaks(pair.old, pair.new), message, pair)
        return []
    if not added:
        breaking = walk.verdict(Effect.NARROWER) if is_free else True
        message = f"{subject} lost {_count(len(left), 'alternative')}"
        walk.say("union-narrowed", breaking and walk.breaks(pair.old, pair.new), message, pair)
        return []
    if not is_free or len(left) != len(added):
        return None
    base = f"{pair.old.pointer}/anyOf", f"{pair.new.pointer}/anyOf"
    return [
        walk.below(pair, Place(old[one], f"{base[0]}/{one}"), Place(new[at], f"{base[1]}/{at}"), is_shared=True)
        for one, at in zip(left, added, strict=True)
    ]


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
