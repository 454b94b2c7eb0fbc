"""Random cases: half of them valid, half with a violation or two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.generation.drawing import MOST_CONTAINERS, Drawer
from mcproof.generation.models import GeneratedCase
from mcproof.generation.oracle import Oracle
from mcproof.generation.spots import Path, Spot, changed, spots
from mcproof.generation.valid_values import Builder, weight
from mcproof.generation.violations import Change, place_of, violations

if TYPE_CHECKING:
    import random

_TRIES = 4
_MOST_CHANGES = 4_000
_MOST_WEIGHT = 100_000


class Sampler:
    """Draws cases for one schema. The same seed gives the same cases on every Python and in every process.

    What is drawn may share parts with the schema, so nobody should change it.
    """

    def __init__(self, schema: Any, base: dict[str, Any] | None = None) -> None:
        self._oracle = Oracle(schema)
        self._changes: list[tuple[Spot, list[list[tuple[Change, str]]]]] = []
        """For each spot its changes, those against one keyword together, so that each keyword has its turn."""
        self._draw: Any = None
        self._base: dict[str, Any] | None = None
        self._is_own = base is not None
        if self._oracle.problem is not None:
            return
        builder = Builder(schema, self._oracle)
        self._base = builder.arguments().value if base is None or not self._oracle.accepts(base) else base
        if self._base is None:
            return
        total = 0
        builder.refresh()
        for spot in spots(builder, self._base):
            refused = [each for each in violations(spot, thorough=True) if self._is_refused(spot, each)]
            if refused and total < _MOST_CHANGES:
                total += len(refused)
                by_keyword: dict[str, list[tuple[Change, str]]] = {}
                for each in refused:
                    by_keyword.setdefault(each.keyword, []).append((each, place_of(spot, each)))
                self._changes.append((spot, list(by_keyword.values())))
        builder.refresh()
        self._drawer = Drawer(builder)
        self._draw = self._drawer.compiled(builder.root)

    def _is_refused(self, spot: Spot, change: Change) -> bool:
        return self._oracle.refuses(changed(spot.frame, spot.path, change.change))

    def case(self, choose: random.Random) -> GeneratedCase | None:
        """A random case; None where the draw led nowhere."""
        if self._draw is None or self._base is None:
            return None
        if not self._changes or choose.random() < 0.5:
            return self._valid(choose)
        return self._invalid(choose)

    def _arguments(self, choose: random.Random) -> Any:
        """Random valid arguments; None where none were found."""
        for _ in range(_TRIES):
            self._drawer.left = MOST_CONTAINERS
            arguments = self._draw(choose, 0)
            if self._oracle.accepts(arguments) and weight(arguments) <= _MOST_WEIGHT:
                if self._is_own and choose.random() < 0.5:
                    mixed = {**self._base, **arguments} if self._base is not None else arguments
                    return mixed if self._oracle.accepts(mixed) else arguments
                return arguments
        return None

    def _valid(self, choose: random.Random) -> GeneratedCase | None:
        arguments = self._arguments(choose)
        return None if arguments is None else GeneratedCase(arguments, True, "valid, random")

    def _any_change(self, choose: random.Random) -> tuple[Spot, Change, str]:
        spot, groups = self._changes[int(choose.random() * len(self._changes))]
        changes = groups[int(choose.random() * len(groups))]
        change, pointer = changes[int(choose.random() * len(changes))]
        return spot, change, pointer

    def _invalid(self, choose: random.Random) -> GeneratedCase | None:
        arguments = self._arguments(choose)
        if arguments is None:
            arguments = self._base
        spot, change, pointer = self._any_change(choose)
        try:
            broken = changed(arguments, spot.path, change.change)
        except (LookupError, TypeError, AttributeError, ValueError):  # these arguments have no such place
            broken = changed(spot.frame, spot.path, change.change)
        what, keyword = change.what, change.keyword
        if choose.random() < 0.15:
            other_spot, other, _ = self._any_change(choose)
            if not _is_inside(spot.path, other_spot.path):
                try:
                    broken = changed(broken, other_spot.path, other.change)
                    what = f"{what}; {other.what}"
                except (LookupError, TypeError, AttributeError, ValueError):
                    pass
        if not self._oracle.refuses(broken):
            return None
        return GeneratedCase(broken, False, what, keyword, pointer)


def _is_inside(path: Path, other: Path) -> bool:
    """Whether a change at one path would undo one at the other."""
    return path[: len(other)] == other
