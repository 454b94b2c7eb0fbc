"""Random valid values: a schema is turned into functions once, and each call of one draws a value.

Only `random.Random` methods whose results are the same on every Python version are used, and nothing depends on
the order of a set: the same seed gives the same values everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.generation.format_texts import SAMPLES
from mcproof.generation.patterns import matching, seeded
from mcproof.generation.pool import ALPHABET, ANYTHING, REAL, TEXTS, WHOLE
from mcproof.generation.scalars import numbers, texts
from mcproof.generation.valid_values import duplicate, preferred, with_needs

if TYPE_CHECKING:
    from random import Random

    from mcproof.generation.valid_values import Builder, Schemas
    from mcproof.generation.value_rules import Place

Draw = Callable[["Random", int], Any]
"""Draws a value; the number says how deep it stands."""

MOST_CONTAINERS = 300
_MOST_DEPTH = 6
_MOST_READINGS = 10
_DRAWS = 4
_POOL = 48


class Drawer:
    """Makes the functions that draw values for the parts of one schema, each when it is first needed."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.left = MOST_CONTAINERS
        """How many more objects and lists may be drawn before only small ones are taken; set again for each case."""
        self._draws: dict[tuple[int, ...], Draw] = {}

    def draw_for(self, schemas: Schemas) -> Draw:
        """What draws values for these schemas; it is worked out when it is first called."""
        key = tuple(map(id, schemas))
        known = self._draws.get(key)
        if known is not None:
            return known

        def first_time(choose: Random, depth: int) -> Any:
            draw = self._draws[key]
            if draw is first_time:
                draw = self._draws[key] = self._compile(schemas)
            return draw(choose, depth)

        self._draws[key] = first_time
        return first_time

    def compiled(self, schemas: Schemas) -> Draw:
        """What draws values, without the detour over its first call."""
        key = tuple(map(id, schemas))
        self._draws[key] = draw = self._compile(schemas)
        return draw

    def _compile(self, schemas: Schemas) -> Draw:
        if not schemas:
            return _anything
        smallest = self.builder.smallest(schemas)
        fallback = None if smallest is None else smallest.value
        places = list(self.builder.reader.places(schemas, _MOST_READINGS))
        draws = [draw for place in places if (draw := self._for_place(place, schemas)) is not None]
        if not draws:
            return lambda _choose, _depth: fallback
        is_deep = any("object" in place.kinds or "array" in place.kinds for place in places)
        is_picky = any(place.is_picky for place in places)
        draw = draws[0] if len(draws) == 1 else _one_of(draws)
        if is_picky:
            draw = self._confirmed(draw, schemas, fallback)
        return self._bounded(draw, fallback) if is_deep else draw

    def _bounded(self, draw: Draw, fallback: Any) -> Draw:
        def bounded(choose: Random, depth: int) -> Any:
            if depth >= _MOST_DEPTH or self.left <= 0:
                return fallback
            self.left -= 1
            return draw(choose, depth)

        return bounded

    def _confirmed(self, draw: Draw, schemas: Schemas, fallback: Any) -> Draw:
        fits = self.builder.reader.fits

        def confirmed(choose: Random, depth: int) -> Any:
            for _ in range(_DRAWS):
                value = draw(choose, depth)
                if fits(value, schemas):
                    return value
            return fallback

        return confirmed

    def _for_place(self, place: Place, schemas: Schemas) -> Draw | None:
        fits = self.builder.reader.fits
        if place.values is not None:
            return _from(list(filter(lambda value: place.admits(value) and fits(value, schemas), place.values[:2_000])))
        draws: list[Draw] = []
        for kind in preferred(place):
            draw: Draw | None
            if kind == "object":
                draw = self._object(place)
            elif kind == "array":
                draw = self._array(place)
            elif kind == "string":
                draw = _text(place, lambda value: fits(value, schemas))
            elif kind == "boolean":
                draw = _from([True, False])
            elif kind == "null":
                draw = _from([None])
            else:
                draw = _number(place, lambda value: fits(value, schemas), integers=kind == "integer")
            if draw is not None:
                draws.append(draw)
        if not draws:
            return None
        return draws[0] if len(draws) == 1 else _one_of(draws)

    def _object(self, place: Place) -> Draw | None:
        required = with_needs(place, place.required)
        needed: list[tuple[str, Draw]] = [(name, self.draw_for(place.property_schemas(name))) for name in required]
        optional: list[tuple[list[tuple[str, Draw]], int]] = []
        names = [name for name in place.declared() if name not in set(required)]
        for at, name in enumerate(names):
            group = [each for each in with_needs(place, [name]) if each not in set(required)]
            if all(self.builder.smallest(place.property_schemas(each)) is not None for each in group):
                optional.append(([(each, self.draw_for(place.property_schemas(each))) for each in group], 1 << at))
        count = len(names)
        least, most = place.least.get("minProperties", 0), place.most.get("maxProperties")
        extra = self._extra(place) if most is None else None
        spare = None
        if least > len(required):
            smallest = next(self.builder.of_kind("object", place), None)
            spare = None if smallest is None else smallest.value

        def draw(choose: Random, depth: int) -> Any:
            found = {name: make(choose, depth + 1) for name, make in needed}
            if count:
                wanted = choose.getrandbits(count)
                if choose.random() < 0.5:  # few as often as many
                    wanted &= choose.getrandbits(count)
                    if depth > 2:
                        wanted &= choose.getrandbits(count)
                if wanted:
                    for group, bit in optional:
                        if wanted & bit and (most is None or len(found) + len(group) <= most):
                            for name, make in group:
                                found[name] = make(choose, depth + 1)
            if extra is not None and choose.random() < 0.15:
                extra(choose, depth, found)
            if len(found) < least and spare is not None:
                return {**duplicate(spare), **found}
            return found

        return draw

    def _extra(self, place: Place) -> Callable[[Random, int, dict[str, Any]], None] | None:
        """What adds properties that are not declared; None where there can be none that a schema describes."""
        names: list[str] = []
        declared = set(place.declared())
        is_described = any(rules.patterns or type(rules.others) is dict for rules in place.rules)
        if not is_described and not place.names:
            return None
        for name in self.builder.spare_names(place):
            if name not in declared and self.builder.smallest(place.property_schemas(name)) is not None:
                names.append(name)
                if len(names) >= 6:
                    break
        if not names:
            return None
        makers = [(name, self.draw_for(place.property_schemas(name))) for name in names]

        def add(choose: Random, depth: int, found: dict[str, Any]) -> None:
            for _ in range(1 + int(choose.random() * 3)):
                name, make = makers[int(choose.random() * len(makers))]
                found[name] = make(choose, depth + 1)

        return add

    def _array(self, place: Place) -> Draw | None:
        least, most = place.least.get("minItems", 0), place.most.get("maxItems")
        start = next(self.builder.of_kind("array", place), None)
        if start is None:
            return None
        first = max([len(each) for each in place.prefix], default=0)
        leading = [self.draw_for(place.entry_schemas(at)) for at in range(min(first, 50))]
        following = None
        if self.builder.smallest(place.entry_schemas(first)) is not None:
            following = self.draw_for(place.entry_schemas(first))
        longest = min(least + 4 if most is None else most, max(least, 50))
        if following is None:
            longest = min(longest, len(leading))
        if longest < least or place.contains or place.is_unique:
            return self._special_array(place, start.value, following, longest)

        def draw(choose: Random, depth: int) -> Any:
            length = least + int(choose.random() * (longest - least + 1))
            entries = [make(choose, depth + 1) for make in leading[:length]]
            if following is not None:
                entries += [following(choose, depth + 1) for _ in range(length - len(entries))]
            return entries

        return draw

    def _special_array(self, place: Place, start: Any, following: Draw | None, longest: int) -> Draw:
        """Arrays whose entries depend on each other: a small one that fits, and what can be added to it."""
        is_unique = place.is_unique

        def draw(choose: Random, depth: int) -> Any:
            entries = duplicate(start)
            if following is not None:
                for _ in range(int(choose.random() * 4)):
                    entry = following(choose, depth + 1)
                    if len(entries) < longest and (not is_unique or entry not in entries):
                        entries.append(entry)
            return entries

        return draw


def _one_of(draws: list[Draw]) -> Draw:
    count = len(draws)
    return lambda choose, depth: draws[int(choose.random() * count)](choose, depth)


def _from(values: list[Any]) -> Draw | None:
    count = len(values)
    if count == 0:
        return None
    if count == 1:
        only = values[0]
        return lambda _choose, _depth: only
    return lambda choose, _depth: values[int(choose.random() * count)]


def _anything(choose: Random, _depth: int) -> Any:
    return ANYTHING[int(choose.random() * len(ANYTHING))]


def _text(place: Place, fits: Callable[[Any], bool]) -> Draw | None:
    least, most = place.least.get("minLength", 0), place.most.get("maxLength")
    built = list(islice(texts(place), 6))
    candidates = [*built, *TEXTS]
    for name in place.formats:
        candidates += SAMPLES.get(name, ())
    if place.patterns:
        seed = seeded(1)
        varied = (matching(place.patterns[0], least, most, seed) for _ in range(_POOL))
        candidates += [text for text in varied if text is not None]
    if most is not None and 0 < most <= 2_000:
        candidates += ["a" * most, "世" * most, "🌍" * most]
    if 0 < least <= 2_000:
        candidates += ["a" * least, "世" * least]
    pool = [each for each in dict.fromkeys(candidates) if fits(each)]
    if not pool:
        return None
    count = len(pool)
    if place.patterns or place.formats or place.is_picky or least > 200:
        return _from(pool)
    longest = 2_000 if most is None else most
    letters = len(ALPHABET)

    def draw(choose: Random, _depth: int) -> Any:
        text = pool[int(choose.random() * count)]
        chance = choose.random()
        if chance < 0.6:
            return text
        if chance < 0.8:
            joined = text + pool[int(choose.random() * count)]
            return joined if len(joined) <= longest else text
        chance = choose.random()
        length = int(chance * chance * chance * 60)
        made = "".join([ALPHABET[int(choose.random() * letters)] for _ in range(length)])
        return made if least <= length <= longest else text

    return draw


def _number(place: Place, fits: Callable[[Any], bool], *, integers: bool) -> Draw | None:
    candidates: list[Any] = list(islice(numbers(place, integers=integers), 12))
    candidates += WHOLE
    if not integers:
        candidates += REAL
    for bound in (place.low, place.high):
        if _is_huge(bound):
            continue
        if bound is not None and not integers:
            candidates += [bound, bound + 1, bound - 1, bound * 0.5]
        elif bound is not None:
            candidates += [int(bound), int(bound) + 1, int(bound) - 1, int(bound) // 2]
    unique = list({repr(each): each for each in candidates if not _is_huge(each)}.values())
    pool = [each for each in unique if fits(each)]
    if not pool:
        return None
    if not integers or place.multiples or place.is_picky:
        return _from(pool)
    low = -(2**31) if place.low is None else int(place.low) + 1
    high = max(low, 0) + 2**31 if place.high is None else int(place.high) - 1
    count, span = len(pool), high - low
    if span <= 0:
        return _from(pool)
    span = min(span, 2**52)

    def draw(choose: Random, _depth: int) -> Any:
        if choose.random() < 0.6:
            return pool[int(choose.random() * count)]
        return low + int(choose.random() * span)

    return draw


def _is_huge(number: Any) -> bool:
    return type(number) is int and number.bit_length() > 1_000
