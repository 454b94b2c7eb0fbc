"""What changed between two schemas of which one at least is a union: `anyOf` or `oneOf`, and nothing beside it.

Most unions tell their alternatives apart by type (`string` or `null`). Those are compared type by type, whichever way
they are written: as a list of types or as branches. Of others the branches that say the same are set against
each other, and what is left is compared in order, which is sound for `anyOf`, or asked of the schema library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.containment import DYNAMIC
from mcproof.sameness import Place, asserts, same_schema, settled
from mcproof.values import Effect, for_type, type_effect, types_of

if TYPE_CHECKING:
    from mcproof.compatibility import Comparison, Pair
    from mcproof.containment import Side

UNIONS = ("anyOf", "oneOf")
_MOST_BRANCH_PAIRS = 400
_MOST_BRANCHES = 50


def is_union(schema: dict[str, Any]) -> bool:
    """Whether a schema is nothing but a union."""
    keywords = asserts(schema)
    return len(keywords) == 1 and keywords[0] in UNIONS


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
    if asserts(old) == [keyword] and isinstance(old[keyword], list) and isinstance(new[keyword], list):
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
