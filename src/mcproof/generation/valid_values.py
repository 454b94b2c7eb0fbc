"""One small valid value for a schema: the arguments of a call that should work.

Values are built from the inside out, each confirmed by the validator before it is used in a bigger one. A
value never needs to hold another for the same schemas, so what refers to itself ends by itself.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.oracle import Oracle
from mcproof.generation.patterns import matching, seeded
from mcproof.generation.scalars import numbers, texts
from mcproof.generation.schema_views import Reader
from mcproof.generation.value_rules import KINDS, Place, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Schemas = tuple[Any, ...]
"""Schemas that judge one value together."""

_MOST_DEPTH = 50
_MOST_EFFORT = 10_000
"""How many values are tried for one schema, all places together."""
_TRIES = 60
"""How many values are tried for one place."""
_FIRST = 6
"""How many values of one type are tried before those of the next."""
_MOST_WEIGHT = 60_000
"""About how many characters a value may have as JSON."""
_MOST_ENTRIES = 5_000
_MOST_NESTED = 3
_MOST_FAILURES = 60
"""How many names are tried for which there is no value, where an object needs more properties."""
_OBJECT = {"type": "object"}
_STRING = {"type": "string"}


class Made(NamedTuple):
    """A value that fits, or why there is none."""

    value: dict[str, Any] | None
    problem: str


class Built(NamedTuple):
    """A value and about how long it is as JSON."""

    value: Any
    weight: int


def valid_arguments(schema: Any) -> Made:
    """A small object that a schema accepts, always the same for the same schema."""
    oracle = Oracle(schema)
    if oracle.problem is not None:
        return Made(None, oracle.problem)
    return Builder(schema, oracle).arguments()


class Builder:
    """Makes small values for the parts of one schema, each part once."""

    def __init__(self, schema: Any, oracle: Oracle) -> None:
        self.oracle = oracle
        self.reader = Reader(schema, oracle)
        self.root: Schemas = (schema, _OBJECT)
        self._made: dict[tuple[int, ...], Built | None] = {}
        self._under_way: set[tuple[int, ...]] = set()
        self._effort = _MOST_EFFORT
        self._cuts = 0
        self._trouble = ""
        self._nested = 0

    def arguments(self) -> Made:
        """The smallest object found for the whole schema."""
        built = self.smallest(self.root)
        if built is not None and self.oracle.accepts(built.value):
            return Made(duplicate(built.value), "")
        if next(self.reader.places(self.root), None) is None:
            return Made(None, "the schema admits no object")
        return Made(None, self._trouble or "no object was found that the schema accepts")

    def refresh(self) -> None:
        """Allow as much effort again: what comes next is another job."""
        self._effort = _MOST_EFFORT

    def smallest(self, schemas: Schemas) -> Built | None:
        """A small value for these schemas; None where none was found."""
        key = tuple(map(id, schemas))
        if key in self._made:
            return self._made[key]
        if key in self._under_way or len(self._under_way) >= _MOST_DEPTH or self._effort <= 0:
            self._cuts += 1
            return None
        self._effort -= 1
        self._under_way.add(key)
        cuts = self._cuts
        found = next(self.fitting(schemas), None)
        self._under_way.discard(key)
        if found is not None or cuts == self._cuts:
            self._made[key] = found
        return found

    def fitting(self, schemas: Schemas, tries: int = _TRIES) -> Iterator[Built]:
        """Values that fit all of these schemas, the plainest first."""
        for place in self.reader.places(schemas):
            for built in islice(self.candidates(place), tries):
                self._effort -= 1
                if self._effort <= 0:
                    return
                if place.excluded and built.value in place.excluded:
                    continue
                if built.weight <= _MOST_WEIGHT and self.reader.fits(built.value, schemas):
                    yield built

    def _others(self, schemas: Schemas, tries: int) -> Iterator[Built]:
        """Further values for a part of a value. Those have parts as well, so the levels at work are counted."""
        if self._nested >= _MOST_NESTED:
            return
        source = self.fitting(schemas, tries)
        while True:
            self._nested += 1
            found = next(source, None)
            self._nested -= 1
            if found is None:
                return
            yield found

    def candidates(self, place: Place) -> Iterator[Built]:
        """Values that should fit a place: what its author wrote down, then what can be built."""
        for value in chain(place.suggested, place.values or ()):
            if place.admits(value):
                yield Built(value, weight(value))
        if place.values is not None:
            return
        kinds = [self.of_kind(kind, place) for kind in preferred(place)]
        for values in kinds:  # of some types there are so many that the others would never have their turn
            yield from islice(values, _FIRST)
        for values in kinds:
            yield from values

    def of_kind(self, kind: str, place: Place) -> Iterator[Built]:
        """Values of one type for a place."""
        if kind == "object":
            yield from self._objects(place)
        elif kind == "array":
            yield from self._arrays(place)
        elif kind == "string":
            yield from (Built(text, len(text) + 2) for text in texts(place))
            self._note_patterns(place)
        elif kind == "boolean":
            yield from (Built(value, 5) for value in (True, False))
        elif kind == "null":
            yield Built(None, 4)
        else:
            yield from (Built(value, weight(value)) for value in numbers(place, integers=kind == "integer"))

    def _note_patterns(self, place: Place) -> None:
        for pattern in place.patterns:
            if matching(pattern, place.least.get("minLength", 0), place.most.get("maxLength")) is None:
                self._trouble = f"no text was found that matches the pattern `{shortened(pattern)}`"

    def _objects(self, place: Place) -> Iterator[Built]:
        """Objects: with what is required only, then with more of what is declared."""
        names = with_needs(place, place.required)
        least = self._object(place, names)
        if least is None:
            return
        yield least
        optional = [name for name in place.declared() if name not in least.value]
        for name in optional[:12]:
            more = self._object(place, with_needs(place, [*names, name]))
            if more is not None:
                yield more
        if len(optional) > 1:
            more = self._object(place, with_needs(place, [*names, *optional]), skip_impossible=True)
            if more is not None:
                yield more
        for name in names[:12]:
            for other in islice(self._others(place.property_schemas(name), 12), 1, 6):
                yield Built({**least.value, name: other.value}, least.weight + other.weight)

    def _object(self, place: Place, names: list[str], *, skip_impossible: bool = False) -> Built | None:
        members: dict[str, Any] = {}
        total = 2
        most = place.most.get("maxProperties")
        for name in ordered(place, names):
            built = self.smallest(place.property_schemas(name))
            if built is None:
                if skip_impossible:
                    continue
                self._trouble = self._trouble or f"no value was found for the required `{shortened(name)}`"
                return None
            members[name] = built.value
            total += built.weight + len(name) + 4
            if total > _MOST_WEIGHT:
                return None
        missing = place.least.get("minProperties", 0) - len(members)
        if missing > 0:
            total += self._fill(place, members, missing)
        if most is not None and len(members) > most:
            return None
        return Built(members, total)

    def _fill(self, place: Place, members: dict[str, Any], missing: int) -> int:
        """Add properties that nobody asks for by name, until there are enough."""
        total = 0
        failed = 0
        for tried, name in enumerate(self.spare_names(place)):
            if missing <= 0 or tried > 1_000 or failed > _MOST_FAILURES or total > _MOST_WEIGHT or self._effort <= 0:
                break
            if name in members or not self.reader.fits(name, tuple(place.names)):
                continue
            group = [each for each in with_needs(place, [name]) if each not in members]
            found = [(each, self.smallest(place.property_schemas(each))) for each in group]
            if any(built is None for _, built in found):
                failed += 1
                continue
            for each, built in found:
                if built is not None:
                    members[each] = built.value
                    total += built.weight + len(each) + 4
                    missing -= 1
        return total

    def spare_names(self, place: Place) -> Iterator[str]:
        """Names that a property may have: declared ones, those that patterns ask for, then any."""
        yield from place.declared()
        for rules in place.rules:
            for pattern in rules.patterns:
                choose = seeded(0)
                for number in range(20):
                    name = matching(pattern, choose=choose if number else None)
                    if name is not None:
                        yield name
        if place.names:
            yield from (built.value for built in self.fitting((*place.names, _STRING), 400) if type(built.value) is str)
        else:
            yield from (f"property{number}" for number in range(1, 1_000))

    def _arrays(self, place: Place) -> Iterator[Built]:
        """Arrays: as short as they may be, then longer ones."""
        least, most = place.least.get("minItems", 0), place.most.get("maxItems")
        contained = sum(number for _, number, _ in place.contains)
        shortest = max([least, *(number for _, number, _ in place.contains)])
        for length in dict.fromkeys((shortest, max(least, contained), shortest + 1, shortest + 2, 1, 2, 3)):
            if length < shortest or length > (_MOST_ENTRIES if most is None else min(most, _MOST_ENTRIES)):
                continue
            for first in dict.fromkeys((length - contained, 0, None)) if place.contains else (None,):
                array = self._array(place, length, first)
                if array is not None:
                    yield array

    def _array(self, place: Place, length: int, first: int | None) -> Built | None:
        """An array of this length, in which what it must contain stands from `first` on, or anywhere."""
        containing: list[Any] = []
        if first is not None:
            for schema, least, _ in place.contains:
                containing += [schema] * min(least, length)
            first = max(first, 0)
        entries: list[Any] = []
        total = 2
        unused: dict[tuple[int, ...], Iterator[Built]] = {}
        seen: set[str] = set()
        for at in range(length):
            schemas = place.entry_schemas(at)
            if first is not None and first <= at < first + len(containing):
                schemas = (*schemas, containing[at - first])
            built = self._unseen(schemas, unused, seen) if place.is_unique else self.smallest(schemas)
            if built is None:
                return None
            entries.append(built.value)
            total += built.weight + 2
            if total > _MOST_WEIGHT:
                return None
        return Built(entries, total)

    def _unseen(self, schemas: Schemas, unused: dict[tuple[int, ...], Iterator[Built]], seen: set[str]) -> Built | None:
        """A value that was not in the array before."""
        first = self.smallest(schemas)
        if first is None:
            return None
        key = tuple(map(id, schemas))
        if key not in unused:
            unused[key] = chain((first,), self._others(schemas, 3_000))
        for built in unused[key]:
            text = spelled(built.value)
            if text not in seen:
                seen.add(text)
                return built
        return None


def preferred(place: Place) -> list[str]:
    """The types that a place admits, what its keywords speak of first, null last."""
    if place.kinds != KINDS:
        return list(place.kinds)
    kinds = [kind for kind in place.hinted if kind in place.kinds]
    return list(dict.fromkeys([*kinds, "string", *(kind for kind in place.kinds if kind != "null"), "null"]))


def with_needs(place: Place, names: Iterable[str]) -> list[str]:
    """These names, and those that come with them."""
    found = list(dict.fromkeys(names))
    known = set(found)
    for name in found:
        for needed in place.needs.get(name, ()):
            if needed not in known:
                known.add(needed)
                found.append(needed)
    return found


def ordered(place: Place, names: list[str]) -> list[str]:
    """Names in the order in which they are declared, the others after them."""
    wanted = dict.fromkeys(names)
    declared = [name for name in place.declared() if name in wanted]
    return declared + [name for name in wanted if name not in set(declared)]


def shortened(text: str) -> str:
    """A text of a stranger, short enough for a message."""
    return text if len(text) <= 60 else text[:59] + "…"


def weight(value: Any) -> int:
    """About how long a value is as JSON."""
    total = 0
    waiting = [value]
    while waiting and total <= _MOST_WEIGHT:
        current = waiting.pop()
        kind = type(current)
        if kind is str:
            total += len(current) + 2
        elif kind is dict:
            total += 2 + sum(len(name) + 4 for name in current)
            waiting += current.values()
        elif kind is list:
            total += 2 + len(current)
            waiting += current
        else:
            total += 5 if kind is not int else 1 + current.bit_length() // 3
    return total


def duplicate(value: Any) -> Any:
    """A copy that shares nothing that can change; values are as deep as their builder lets them be."""
    if type(value) is dict:
        return {name: duplicate(each) for name, each in value.items()}
    return [duplicate(each) for each in value] if type(value) is list else value
