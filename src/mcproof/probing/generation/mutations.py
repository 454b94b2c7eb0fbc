"""Changes to a value inside valid arguments, the places for them, and those that keep the arguments valid."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_positions import escape
from mcproof.probing.generation.constraints import (
    TYPES,
    ArrayConstraints,
    NumberConstraints,
    StringConstraints,
    ValueConstraints,
    canonical_json,
    shortened,
)
from mcproof.probing.generation.scalars import matching_string

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.probing.generation.values import Schemas, ValueBuilder


Path = tuple[str | int, ...]


class VisitExtent(NamedTuple):
    """How much of a schema is visited."""

    points: int = 150
    depth: int = 6
    children: int = 60
    tuple_items: int = 8
    alternatives: int = 8
    recursions: int | None = None
    """How many times a schema may occur inside itself; None if only the depth limits it."""


_A_FEW = VisitExtent()


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
    # Only the containers on the way are copied: a campaign makes thousands of variants of large arguments.
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
    enclosing: frozenset[int] = frozenset()
    """Ids of the schemas of the enclosing values."""
    recursions: int = 0
    """How many of the enclosing values have a schema that occurs inside itself."""


def mutation_points(builder: ValueBuilder, base: dict[str, Any]) -> list[MutationPoint]:
    """Return mutation points of some valid arguments, outer values first, for several choices of branches."""
    return Visit(builder, base, _A_FEW).points


class Visit:
    """The mutation points of some valid arguments, as far as an extent reaches."""

    def __init__(self, builder: ValueBuilder, base: dict[str, Any], extent: VisitExtent) -> None:
        self.points: list[MutationPoint] = []
        """Outer values first, for several choices of branches."""
        self._builder = builder
        self._extent = extent
        self._is_cut = False
        self._unreached: dict[Path, Schemas] = {}
        """Values that no valid arguments were found for."""
        self._waiting = [_Place((), builder.root, base, "")]
        # The list grows, because a visit adds the children of a value.
        for place in self._waiting:
            if len(self.points) >= extent.points:
                self._is_cut = True
                break
            self._visit(place)

    @property
    def is_complete(self) -> bool:
        """Whether every value that the schema describes was visited, for every choice of branches."""
        if self._is_cut:
            return False
        visited = {point.path for point in self.points}
        alternatives = self._builder.resolver.alternatives
        return not any(
            next(alternatives(schemas, 1), None) for path, schemas in self._unreached.items() if path not in visited
        )

    def _visit(self, place: _Place) -> None:
        """Add a point for each choice of branches, and its children to the places to visit."""
        extent = self._extent
        for number, constraints in enumerate(
            # One more than is visited, to see whether any is left out.
            self._builder.resolver.alternatives(place.schemas, extent.alternatives + 1)
        ):
            if number >= extent.alternatives or len(self.points) >= extent.points:
                self._is_cut = True
                return
            recursions = place.recursions + (not constraints.merged_ids.isdisjoint(place.enclosing))
            if extent.recursions is not None and recursions > extent.recursions:
                continue
            own = _satisfying(self._builder, constraints, place.path, place.arguments, number)
            if own is None:  # the branch contradicts the rest of the schema, or has no value that can be generated
                self._is_cut = self._is_cut or not _values(self._builder, constraints)
                continue
            point = MutationPoint(place.path, constraints, own, number, own is not place.arguments, place.argument)
            self.points.append(point)
            if len(place.path) < extent.depth and len(self._waiting) < extent.points:
                enclosing = place.enclosing | constraints.merged_ids
                children = self._children(point)
                self._waiting += [child._replace(enclosing=enclosing, recursions=recursions) for child in children]
            elif any(_child_schemas(constraints, token) for token in self._child_tokens(point)):
                self._is_cut = True

        if self._builder.resolver.is_cut(place.schemas):
            self._is_cut = True

    def _children(self, point: MutationPoint) -> list[_Place]:
        """The properties or items of the value at a point, with arguments that contain them."""
        places: list[_Place] = []
        for token in self._child_tokens(point):
            schemas = _child_schemas(point.constraints, token)
            path = (*point.path, token)
            if not schemas:
                continue
            own = (
                with_property(self._builder, point, token) if type(token) is str else self._with_item(point, int(token))
            )
            if own is None:
                self._unreached.setdefault(path, schemas)
            else:
                places.append(_Place(path, schemas, own, _child_name(point, token)))
        return places

    def _with_item(self, point: MutationPoint, index: int) -> dict[str, Any] | None:
        """Valid arguments with an item of the array at a point; None if none were found."""
        items = list(point.value)
        while len(items) <= index:
            item = self._builder.smallest(point.constraints.array.item_schemas(len(items)))
            if item is None:
                return None
            items.append(item.value)
        own: dict[str, Any] = with_value(point.arguments, point.path, items)
        return own if len(items) == len(point.value) or self._builder.oracle.accepts(own) else None

    def _child_tokens(self, point: MutationPoint) -> list[str | int]:
        constraints, value = point.constraints, point.value
        tokens: list[str | int] = []
        most = self._extent.children
        if type(value) is dict:
            names = [*constraints.object.declared_names(), *value]
            if constraints.object.describes_undeclared:
                possible = islice(self._builder.possible_names(constraints.object), 80)
                names += [name for name in possible if name not in names][:1]
            tokens = list(dict.fromkeys(names))
        elif type(value) is list and constraints.array.items:
            array, most = constraints.array, self._extent.tuple_items
            tokens = list(range(max(array.prefix_length, 1)))
            if array.max_items is not None and array.max_items < len(tokens):
                tokens = tokens[: len(value)]
        self._is_cut = self._is_cut or len(tokens) > most
        return tokens[:most]


def with_property(builder: ValueBuilder, point: MutationPoint, name: str) -> dict[str, Any] | None:
    """Valid arguments with a property of the object at a point, and those that it requires; None if none were found."""
    constraints, value = point.constraints.object, point.value
    if name in value:
        return point.arguments
    for names in ([name], constraints.with_dependencies([name])):
        added = {other: builder.smallest(constraints.property_schemas(other)) for other in names if other not in value}
        filled = {**value, **{other: smallest.value for other, smallest in added.items() if smallest is not None}}
        own: dict[str, Any] = with_value(point.arguments, point.path, filled)
        if None not in added.values() and builder.oracle.accepts(own):
            return own
    return None


def _child_schemas(constraints: ValueConstraints, token: str | int) -> Schemas:
    if type(token) is int:
        return constraints.array.item_schemas(token)
    return constraints.object.property_schemas(str(token))


def _satisfying(
    builder: ValueBuilder, constraints: ValueConstraints, path: Path, arguments: dict[str, Any], alternative: int
) -> dict[str, Any] | None:
    """Arguments whose value at the path satisfies the constraints; None if none were found."""
    current = value_at(arguments, path)
    if alternative == 0 and _is_described(current, constraints):
        return _with_first_item(builder, constraints, path, arguments) if current == [] else arguments
    for value in _values(builder, constraints):
        candidate: dict[str, Any] = with_value(arguments, path, value)
        if builder.oracle.accepts(candidate):
            return candidate
    return arguments if alternative == 0 else None


def _with_first_item(
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
    values = []
    if constraints.values is None and (constraints.object.subschemas or constraints.array.items):
        for name in ("object", "array"):
            if name in constraints.types:
                values += [sized.value for sized in islice(builder.of_type(name, constraints), 2)]
    values += [sized.value for sized in islice(builder.candidates(constraints), 6)]
    return values


def _child_name(point: MutationPoint, token: str | int) -> str:
    if type(token) is int:
        return f"{point.argument}[{token if token < point.constraints.array.prefix_length else ''}]"
    name = str(token) if point.constraints.object.declares(str(token)) else "*"
    return f"{point.argument}.{name}" if point.argument else name


MAX_STRING_LENGTH = 20_000
MAX_ARRAY_LENGTH = 2_000


class Mutation(NamedTuple):
    """A change to the value at a mutation point."""

    description: str
    keyword: str
    """The keyword that the change violates, or tests at its boundary."""
    apply: Callable[[Any], Any]
    member: str | int | None = None
    """The property or index the change concerns; None for the value itself."""
    is_lenient: bool = False
    """Whether servers commonly convert the new value to a valid one."""


def replacement(description: str, keyword: str, value: Any, *, is_lenient: bool = False) -> Mutation:
    """A mutation that replaces the value."""
    return Mutation(description, keyword, lambda _: value, is_lenient=is_lenient)


def resized_string(text: str, length: int) -> str:
    """Cut a string to a length, or repeat its last character."""
    return text[:length] + (text[-1:] or "a") * (length - len(text))


def resized_array(array: list[Any], length: int, *, distinct: bool) -> list[Any] | None:
    """Cut an array to a length, or append items like its first; None if that is not possible."""
    if len(array) >= length:
        return array[:length]
    if not array:
        return None
    first = array[0]
    if not distinct:
        return array + [first] * (length - len(array))
    # Only integers and texts can be varied without knowing the schema of the items.
    if type(first) is int:
        highest = max(item for item in array if type(item) is int)
        return array + [highest + number for number in range(1, length - len(array) + 1)]
    if type(first) is str:
        return array + [f"{first}{number}" for number in range(1, length - len(array) + 1)]
    return None


def offset(bound: Any, distance: int) -> Any:
    """A number at a distance from a bound; integral floats become integers."""
    return int(bound) + distance if type(bound) is float and bound.is_integer() else bound + distance


def number_text(number: Any) -> str:
    """A number from a schema, truncated for messages."""
    try:
        return shortened(repr(number))
    except ValueError:  # beyond Python's limit of digits
        return "with too many digits to print"


_MAX_VALUES = 12
_STRINGS = (
    ("empty", ""),
    ("in other scripts", "Grüße, 世界 🌍"),
    ("with quotes, a backslash and a line break", '"it\'s" \\ a\nb'),
    ("with a null character", "a\x00b"),
    ("of 2,000 characters", "a" * 2_000),
)
_NUMBERS = (0, -1, 2**31, 2**53 + 1, 2**63, -(2**63))


def boundaries(point: MutationPoint) -> Iterator[Mutation]:
    """Yield mutations after which the arguments should still be valid."""
    constraints, value, label = point.constraints, point.value, point.label
    if constraints.values is not None:
        for allowed in filter(constraints.allows_type_of, constraints.values[:_MAX_VALUES]):
            yield replacement(f"{label} is {_quoted(allowed)}", "enum", allowed)
        return
    if "null" in constraints.types and value is not None and len(constraints.types) < len(TYPES):
        yield replacement(f"{label} is null", "type", None)
    if type(value) is str:
        yield from _strings(constraints.string, label, value)
    elif type(value) is bool:
        yield replacement(f"{label} is {_quoted(not value)}", "type", not value)
    elif type(value) is int or type(value) is float:
        yield from _numbers(constraints.number, label)
        if "number" in constraints.types:
            yield replacement(f"{label} is 0.5", "type", 0.5)
    elif type(value) is list:
        yield from _arrays(constraints.array, label, value)
    elif type(value) is dict and point.path:
        yield replacement(f"{label} empty", "properties", {})


def _strings(constraints: StringConstraints, label: str, value: str) -> Iterator[Mutation]:
    for keyword, length in (("minLength", constraints.min_length), ("maxLength", constraints.max_length)):
        if length is not None and 0 < length <= MAX_STRING_LENGTH:
            resized: str | None = resized_string(value, length)
            if constraints.patterns:
                resized = matching_string(constraints.patterns[0], length, length)
            if resized is not None:
                yield replacement(f"{label} as long as {keyword} {length}", keyword, resized)
    for description, text in _STRINGS:
        yield replacement(f"{label} {description}", "type", text)


def _numbers(constraints: NumberConstraints, label: str) -> Iterator[Mutation]:
    for bound, is_exclusive, name, inward in (
        (constraints.minimum, constraints.is_minimum_exclusive, "minimum", 1),
        (constraints.maximum, constraints.is_maximum_exclusive, "maximum", -1),
    ):
        if bound is not None and not is_exclusive:
            yield replacement(f"{label} at its {name} {number_text(bound)}", name, bound)
        elif bound is not None:
            keyword = f"exclusive{name.capitalize()}"
            yield replacement(f"{label} next to its {keyword} {number_text(bound)}", keyword, offset(bound, inward))
    for number in _NUMBERS:
        yield replacement(f"{label} is {number}", "type", number)


def _arrays(constraints: ArrayConstraints, label: str, value: list[Any]) -> Iterator[Mutation]:
    yield replacement(f"{label} empty", "type", [])
    for keyword, length in (("minItems", constraints.min_items), ("maxItems", constraints.max_items)):
        if length is not None and 0 < length <= MAX_ARRAY_LENGTH:
            resized = resized_array(value, length, distinct=constraints.is_unique)
            if resized is not None:
                yield replacement(f"{label} as long as {keyword} {length}", keyword, resized)
    if value:
        yield replacement(f"{label} with a duplicate item", "type", [*value, value[0]])


def _quoted(value: Any) -> str:
    return f"`{shortened(canonical_json(value))}`"


INTERESTING_STRINGS: tuple[str, ...] = (
    *("", "a", "mcproof", "Hello, world"),
    # whitespace, line ends and control characters, which end up in logs, headers and terminals
    *(" ", "  padded  ", "line\nbreak", "tab\there", "\r\n", "\x00", "\x1b[31mred\x1b[0m"),
    # quoting, and what a shell would run if a server passed it on
    *("\"quoted\" and 'quoted'", "back\\slash", "`whoami`", "$(id)", "; echo mcproof #", "| cat", "&& true"),
    # paths and addresses that lead out of where a tool should stay
    *("../../../../etc/passwd", "/etc/hosts", "C:\\Windows\\system32", "file:///etc/hosts"),
    *("http://localhost:1/", "https://example.com/?q=a&b=%00#c"),
    # texts that become part of SQL, of formats, of templates and of markup
    *("' OR '1'='1", "1; DROP TABLE users; --", '") OR 1=1 --'),
    *("%s%s%n%x", "{0.__class__}", "${jndi:x}", "{{7*7}}", "<script>alert(1)</script>", "<!-- -->", "]]>"),
    # values of other types in writing, which lenient code converts
    *("null", "undefined", "NaN", "true", "0", "-1", "1e309", "9007199254740993", "[]", "{}", '{"a": 1}'),
    # other scripts, characters of several code points, marks of direction, letters that change length in lower case
    *("Grüße", "世界", "🌍👩‍👩‍👧‍👦", "e\u0301", "\u202eright to left", "\ufeffmarked", "\u200b", "İstanbul", "ß"),
    *("Ω≈ç√∫", "مرحبا"),
    # patterns, and words that are options or separators elsewhere
    *("*.*", "^(a+)+$", "--help", "-", "#", "?", "%", "%00"),
    *("2024-01-01", "123e4567-e89b-42d3-a456-426614174000", "user@example.com"),
    # at and beyond common limits of columns and buffers
    *("a" * 255, "a" * 256, "x" * 2_000, "é" * 1_000),
)
"""Strings that programs mishandle: other scripts, control characters, shell, SQL and template syntax."""

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:/\\'\"\n\t<>&%$#@!äöüß世界🌍"
"""The characters of random strings."""

INTERESTING_INTEGERS: tuple[int, ...] = (
    *(0, 1, -1, 2, 7, 10, 42, 100, 255, 256, 1000, 65535, 10**18),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64),
)
INTERESTING_FLOATS: tuple[float, ...] = (
    *(0.5, -0.5, 0.1, 1.5, 1e-9, 5e-324, 3.141592653589793, 1e21, -1e21, 1e308, 123456.789),
)
ANY_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 0.5, 2**53, "", "a", "世界"),
    *([], [1], [[]], {}, {"a": 1}, {"a": {"b": [None]}}),
)
"""Values for a schema without constraints."""
