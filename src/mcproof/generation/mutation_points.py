"""The values inside valid arguments that can be mutated, each with arguments that contain it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.json_values import shortened
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.generation.mutations import Mutation
    from mcproof.generation.valid_values import Schemas, ValueBuilder
    from mcproof.generation.value_constraints import ValueConstraints

Path = tuple[str | int, ...]

_MAX_POINTS = 150
_MAX_DEPTH = 6
_MAX_CHILDREN = 60
_MAX_TUPLE_ITEMS = 8
_MAX_ALTERNATIVES = 8


class MutationPoint(NamedTuple):
    """A value inside the arguments, and the constraints on it for one choice of branches."""

    path: Path
    constraints: ValueConstraints
    arguments: dict[str, Any]
    """Valid arguments whose value at the path satisfies the constraints."""
    alternative: int
    """The number of the choice of branches, from 0."""
    has_own_arguments: bool
    """Whether the arguments differ from those of the enclosing point."""
    argument: str = ""
    """The name of the value in its schema: `filter.names[]`, `labels.*`; empty for the arguments themselves."""

    @property
    def pointer(self) -> str:
        return "".join(f"/{escape(str(token))}" for token in self.path)

    @property
    def label(self) -> str:
        """The path for messages: `filter.names[0]`."""
        return f"`{label_of(self.path)}`" if self.path else "the arguments"

    @property
    def value(self) -> Any:
        return value_at(self.arguments, self.path)

    def pointer_of(self, mutation: Mutation) -> str:
        """The pointer of the value that a mutation concerns."""
        return self.pointer if mutation.member is None else f"{self.pointer}/{escape(str(mutation.member))}"

    def mutated(self, mutation: Mutation) -> Any:
        """The arguments after a mutation."""
        return with_change(self.arguments, self.path, mutation.apply)


def label_of(path: Path) -> str:
    """A path as text: filter.names[0]."""
    text = ""
    for token in path:
        text += f"[{token}]" if type(token) is int else f".{token}" if text else str(token)
    return shortened(text)


def value_at(root: Any, path: Path) -> Any:
    """Return the value at a path. Raises LookupError or TypeError if there is none."""
    for token in path:
        root = root[token]
    return root


def with_change(root: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """Return a copy in which the value at a path is changed; everything beside the path is shared."""
    if not path:
        return change(root)
    copy = root.copy()
    parent = copy
    for token in path[:-1]:
        child = parent[token].copy()
        parent[token] = child
        parent = child
    last = path[-1]
    parent[last] = change(parent[last])
    return copy


def with_value(root: Any, path: Path, value: Any) -> Any:
    """Return a copy with a value at a path; the last token may be new."""
    if not path:
        return value

    def put(container: Any) -> Any:
        copy = container.copy()
        if type(copy) is list and path[-1] == len(copy):
            copy.append(value)
        else:
            copy[path[-1]] = value
        return copy

    return with_change(root, path[:-1], put)


class _Place(NamedTuple):
    """A value to visit, with arguments that contain it."""

    path: Path
    schemas: Schemas
    arguments: dict[str, Any]
    argument: str


def mutation_points(builder: ValueBuilder, base: dict[str, Any], most: int = _MAX_POINTS) -> list[MutationPoint]:
    """Return the mutation points of some valid arguments, outer values first, for several choices of branches."""
    found: list[MutationPoint] = []
    waiting = [_Place((), builder.root, base, "")]
    for path, schemas, arguments, argument in waiting:
        for number, constraints in enumerate(builder.resolver.alternatives(schemas, _MAX_ALTERNATIVES)):
            if len(found) >= most:
                return found
            own = _satisfying(builder, constraints, path, arguments, number)
            if own is None:
                continue
            point = MutationPoint(path, constraints, own, number, own is not arguments, argument)
            found.append(point)
            if len(path) < _MAX_DEPTH and len(waiting) < most:
                waiting += _children(builder, point, most)
    return found


def _satisfying(
    builder: ValueBuilder, constraints: ValueConstraints, path: Path, arguments: dict[str, Any], alternative: int
) -> dict[str, Any] | None:
    """Arguments whose value at the path satisfies the constraints; None if none were found."""
    current = value_at(arguments, path)
    if alternative == 0 and _is_described(current, constraints):
        return _with_item(builder, constraints, path, arguments) if current == [] else arguments
    for value in _values(builder, constraints):
        candidate: dict[str, Any] = with_value(arguments, path, value)
        if builder.oracle.accepts(candidate):
            return candidate
    return arguments if alternative == 0 else None


def _with_item(
    builder: ValueBuilder, constraints: ValueConstraints, path: Path, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Arguments with an item in the array at the path if allowed: an empty array cannot be made too long."""
    item = builder.smallest(constraints.array.item_schemas(0))
    filled: dict[str, Any] = arguments if item is None else with_value(arguments, path, [item.value])
    return filled if builder.oracle.accepts(filled) else arguments


def _is_described(value: Any, constraints: ValueConstraints) -> bool:
    """Whether a value is an object or array if the schemas describe one."""
    if "object" in constraints.types and constraints.object.subschemas:
        return type(value) is dict
    return type(value) is list if "array" in constraints.types and constraints.array.items else True


def _values(builder: ValueBuilder, constraints: ValueConstraints) -> list[Any]:
    """A few values that should be valid, objects and arrays first, as they have the most to mutate."""
    found = []
    if constraints.values is None and (constraints.object.subschemas or constraints.array.items):
        for name in ("object", "array"):
            if name in constraints.types:
                found += [each.value for each in islice(builder.of_type(name, constraints), 2)]
    found += [each.value for each in islice(builder.candidates(constraints), 6)]
    return found


def _children(builder: ValueBuilder, point: MutationPoint, most: int) -> list[_Place]:
    """The properties or items of the value at a point, with arguments that contain them."""
    constraints, path, value = point.constraints, point.path, point.value
    found: list[_Place] = []
    for token in _child_tokens(builder, constraints, value, max(most - _MAX_POINTS, _MAX_CHILDREN)):
        if type(token) is str:
            schemas = constraints.object.property_schemas(token)
        else:
            schemas = constraints.array.item_schemas(int(token))
        if not schemas:
            continue
        own = point.arguments
        if not (token in value if type(token) is str else int(token) < len(value)):
            smallest = builder.smallest(schemas)
            if smallest is None or (type(token) is int and token > len(value)):
                continue
            own = with_value(own, (*path, token), smallest.value)
            if not builder.oracle.accepts(own):
                continue
        found.append(_Place((*path, token), schemas, own, _child_name(point, token)))
    return found


def _child_name(point: MutationPoint, token: str | int) -> str:
    if type(token) is int:
        return f"{point.argument}[{token if token < point.constraints.array.prefix_length else ''}]"
    name = str(token) if point.constraints.object.declares(str(token)) else "*"
    return f"{point.argument}.{name}" if point.argument else name


def _child_tokens(builder: ValueBuilder, constraints: ValueConstraints, value: Any, most: int) -> list[str | int]:
    if type(value) is dict:
        names = [*constraints.object.declared_names(), *value]
        if constraints.object.describes_undeclared:
            possible = islice(builder.possible_names(constraints.object), 80)
            names += [name for name in possible if name not in names][:1]
        return list(dict.fromkeys(names))[:most]
    array = constraints.array
    if type(value) is list and array.items:
        indexes: list[str | int] = list(range(min(max(array.prefix_length, 1), _MAX_TUPLE_ITEMS)))
        is_limited = array.max_items is not None and array.max_items < len(indexes)
        return indexes[: len(value)] if is_limited else indexes
    return []
