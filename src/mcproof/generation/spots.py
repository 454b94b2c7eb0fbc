"""The places inside valid arguments where something can be changed, each with arguments that have it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.valid_values import Builder, shortened
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.generation.valid_values import Schemas
    from mcproof.generation.value_rules import Place

Path = tuple[str | int, ...]

_MOST_SPOTS = 150
_MOST_DEPTH = 6
_MOST_READINGS = 8


class Spot(NamedTuple):
    """A place inside the arguments."""

    path: Path
    schemas: Schemas
    place: Place
    frame: dict[str, Any]
    """Valid arguments in which a value of this place stands at the path."""
    reading: int
    """Which of the ways to read the schemas the place is; 0 is the first."""
    is_fresh: bool
    """Whether the frame differs from that of the spot above."""

    @property
    def pointer(self) -> str:
        return "".join(f"/{escape(str(token))}" for token in self.path)

    @property
    def label(self) -> str:
        """The place as people call it: `filter.names[0]`."""
        return label(self.path)

    @property
    def value(self) -> Any:
        return value_at(self.frame, self.path)


def label(path: Path) -> str:
    """A path as people write it."""
    if not path:
        return "the arguments"
    text = ""
    for token in path:
        text += f"[{token}]" if type(token) is int else f".{token}" if text else str(token)
    return f"`{shortened(text)}`"


def value_at(root: Any, path: Path) -> Any:
    """What stands at a path. Raises LookupError or TypeError where there is nothing."""
    for token in path:
        root = root[token]
    return root


def changed(root: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """A copy in which the value at a path is another; what is not on the path is shared."""
    if not path:
        return change(root)
    copy = root.copy()
    above = copy
    for token in path[:-1]:
        below = above[token].copy()
        above[token] = below
        above = below
    last = path[-1]
    above[last] = change(above[last])
    return copy


def with_value(root: Any, path: Path, value: Any) -> Any:
    """A copy with this value at a path; the last step may be new."""
    if not path:
        return value

    def put(container: Any) -> Any:
        copy = container.copy()
        if type(copy) is list and path[-1] == len(copy):
            copy.append(value)
        else:
            copy[path[-1]] = value
        return copy

    return changed(root, path[:-1], put)


def spots(builder: Builder, base: dict[str, Any]) -> list[Spot]:
    """The places of the arguments, outer ones first, with as many ways to read each as are worth a try."""
    found: list[Spot] = []
    waiting: list[tuple[Path, Schemas, dict[str, Any]]] = [((), builder.root, base)]
    for path, schemas, frame in waiting:
        for number, place in enumerate(builder.reader.places(schemas, _MOST_READINGS)):
            if len(found) >= _MOST_SPOTS:
                return found
            own = _framed(builder, place, path, frame, number)
            if own is None:
                continue
            found.append(Spot(path, schemas, place, own, number, own is not frame))
            if len(path) < _MOST_DEPTH and len(waiting) < _MOST_SPOTS:
                waiting += _below(builder, place, path, own)
    return found


def _framed(builder: Builder, place: Place, path: Path, frame: dict[str, Any], number: int) -> dict[str, Any] | None:
    """Arguments whose value at the path is one of this way to read it."""
    current = value_at(frame, path)
    if number == 0 and _is_of(current, place):
        return _with_entry(builder, place, path, frame) if current == [] else frame
    for built in _some_of(builder, place):
        candidate: dict[str, Any] = with_value(frame, path, built)
        if builder.oracle.accepts(candidate):
            return candidate
    return frame if number == 0 else None


def _with_entry(builder: Builder, place: Place, path: Path, frame: dict[str, Any]) -> dict[str, Any]:
    """Arguments whose list at the path is not empty, if it need not be: nothing is too long that has no entry."""
    entry = builder.smallest(place.entry_schemas(0))
    filled: dict[str, Any] = frame if entry is None else with_value(frame, path, [entry.value])
    return filled if builder.oracle.accepts(filled) else frame


def _is_of(value: Any, place: Place) -> bool:
    """Whether a value shows what a place says: an object where it may be one."""
    if "object" in place.kinds and place.rules:
        return type(value) is dict
    return type(value) is list if "array" in place.kinds and place.items else True


def _some_of(builder: Builder, place: Place) -> list[Any]:
    """A few values for a place, containers first: there is more to be changed in them."""
    wanted = [kind for kind in ("object", "array") if kind in place.kinds and (place.rules or place.items)]
    found = []
    if place.values is None:
        for kind in wanted:
            found += [built.value for built, _ in zip(builder.of_kind(kind, place), range(2), strict=False)]
    found += [built.value for built, _ in zip(builder.candidates(place), range(6), strict=False)]
    return found


def _below(builder: Builder, place: Place, path: Path, frame: dict[str, Any]) -> list[tuple[Path, Schemas, Any]]:
    """The places inside the value at a path, each put there if it can be."""
    value = value_at(frame, path)
    inside: list[str | int] = []
    if type(value) is dict:
        names = [*place.declared(), *value]
        if any(rules.patterns or type(rules.others) is dict for rules in place.rules):
            names += [name for name in islice(builder.spare_names(place), 80) if name not in names][:1]
        inside = list(dict.fromkeys(names))[:60]
    elif type(value) is list:
        count = max([len(first) for first in place.prefix], default=0)
        inside = list(range(min(max(count, 1), 8)))
        most = place.most.get("maxItems")
        if not place.items or (most is not None and most < len(inside)):
            inside = inside[: len(value)] if place.items else []
    found: list[tuple[Path, Schemas, Any]] = []
    for token in inside:
        schemas = place.property_schemas(token) if type(token) is str else place.entry_schemas(int(token))
        if not schemas:
            continue
        own = frame
        if not _has(value, token):
            built = builder.smallest(schemas)
            if built is None or (type(token) is int and token > len(value)):
                continue
            own = with_value(frame, (*path, token), built.value)
            if not builder.oracle.accepts(own):
                continue
        found.append(((*path, token), schemas, own))
    return found


def _has(value: Any, token: str | int) -> bool:
    return token in value if type(token) is str else int(token) < len(value)
