"""Strings and numbers within given constraints, the simplest first: samples of formats, matches of patterns.

Python never executes a pattern from a schema: a string is built from its syntax tree (`regex`) and confirmed by the
validator, with a limit on backtracking.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import ceil, floor, lcm
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.probing.generation.regex import (
    Alternation,
    BackReference,
    CharacterClass,
    Concatenation,
    Ranges,
    RegexAssertion,
    RegexGroup,
    RegexNode,
    Repetition,
    UnsupportedPatternError,
    parse_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from mcproof.probing.generation.constraints import NumberConstraints, StringConstraints


FORMAT_SAMPLES: dict[str, tuple[str, ...]] = {
    "date": ("2024-01-01", "2024-02-29", "1999-12-31", "0001-01-01", "9999-12-31"),
    "date-time": (
        "2024-01-01T00:00:00Z",
        "2024-02-29T23:59:59.999Z",
        "1999-12-31T12:30:00+02:00",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-12:00",
    ),
    "time": ("00:00:00Z", "23:59:59Z", "12:30:00.5+02:00"),
    "duration": ("P1D", "PT1S", "P1Y2M3DT4H5M6S", "P4W"),
    "email": ("a@example.com", "first.last+tag@mail.example.org", "x@localhost.test"),
    "idn-email": ("a@example.com", "user@exämple.org"),
    "uri": ("https://example.com", "http://localhost:8080/a?b=c#d", "urn:isbn:0451450523", "file:///etc/hosts"),
    "url": ("https://example.com", "http://localhost:8080/a?b=c#d"),
    "uri-reference": ("https://example.com", "/a/b?c", "#top", "../up"),
    "iri": ("https://example.com", "https://exämple.org/ä"),
    "iri-reference": ("https://example.com", "/ä"),
    "uri-template": ("https://example.com/{id}", "/a{?b,c}"),
    "uuid": (
        "00000000-0000-4000-8000-000000000000",
        "123e4567-e89b-42d3-a456-426614174000",
        "ffffffff-ffff-4fff-bfff-ffffffffffff",
    ),
    "ipv4": ("127.0.0.1", "0.0.0.0", "255.255.255.255", "192.168.1.10"),  # noqa: S104
    "ipv6": ("::1", "::", "2001:db8::8a2e:370:7334", "::ffff:127.0.0.1"),
    "hostname": ("example.com", "localhost", "a-b.example.org"),
    "idn-hostname": ("example.com", "exämple.org"),
    "regex": ("^a$", ".*", "[a-z]+"),
    "json-pointer": ("/a", "", "/a~1b/0"),
    "relative-json-pointer": ("0", "1/a", "0#"),
    "byte": ("YQ==", ""),
    "binary": ("a", ""),
    "json": ("{}", "[1]", "null"),
    "color": ("#000000", "#ffffff"),
    "phone": ("+12025550123",),
    "password": ("a",),
}

BROKEN_FORMATS = ("not valid ~", "(")
"""Strings of which at least one breaks each format that the validator asserts."""

FAMILIAR_STRINGS: tuple[str, ...] = (
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "2024-01",
    "12:00",
    "12:00:00",
    "2024-01-01to2024-01-01",
    "00000000-0000-4000-8000-000000000000",
    "USD",
    "127.0.0.1",
)
"""Strings that are easy to recognise, preferred if they match a pattern."""


MAX_LENGTH = 20_000
"""The length of the longest string that is constructed."""
_MAX_STEPS = 40_000
_ATTEMPTS = 60
_UNBOUNDED = 10**9
_PREFERRED_CHARACTERS = tuple(map(ord, "a0A1b"))


class _LimitExceededError(Exception):
    """The string would be too long, or take too many steps."""


def matching_string(
    pattern: str, shortest: int = 0, longest: int | None = None, random: Random | None = None
) -> str | None:
    """Return a string of a given length that matches a pattern; None if none was found.

    Without `random` the string is short and always the same.
    """
    tree, is_match = _compiled(pattern)
    limit = MAX_LENGTH if longest is None else min(longest, MAX_LENGTH)
    if tree is None or is_match is None or shortest > limit:
        return None
    for text in _candidates(tree, shortest, limit, random):
        if shortest <= len(text) <= limit and is_match(text):
            return text
    return None


def seeded_random(seed: int) -> Random:
    """Return a random generator with a fixed seed."""
    from random import Random

    return Random(seed)  # noqa: S311


def matches(pattern: str, text: str) -> bool:
    """Whether a string matches a pattern; false if the pattern is invalid."""
    is_match = _compiled(pattern)[1]
    return is_match is not None and is_match(text)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[RegexNode | None, Callable[[str], bool] | None]:
    import jsonschema_rs

    is_match: Callable[[str], bool] | None = None
    try:
        # The tree only proposes texts: whether one matches is decided by the validator, which judges the calls later.
        is_match = jsonschema_rs.Draft202012Validator({"pattern": pattern}).is_valid
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the library refuses the pattern, or panics
        return None, None
    try:
        return parse_pattern(pattern), is_match
    except UnsupportedPatternError:  # matching still works; only texts cannot be made from it
        return None, is_match


def _candidates(tree: RegexNode, shortest: int, longest: int, random: Random | None) -> Iterator[str]:
    """Yield strings that may match: the first usually does, the others are for lookarounds and back references."""
    minimum = _min_length(tree)
    if minimum > longest:
        return
    for _ in range(1 if random is None else 8):
        yield from _padded(tree, shortest, longest, random)
    if _has_conditions(tree):
        source = seeded_random(0) if random is None else random
        for number in range(_ATTEMPTS):
            yield from _padded(tree, min(max(shortest, minimum + number % 12), longest), longest, source)


def _padded(tree: RegexNode, shortest: int, longest: int, random: Random | None) -> Iterator[str]:
    try:
        text = _StringWriter(shortest, longest, random).write(tree)
    except _LimitExceededError:
        return
    yield text
    # A pattern that is not anchored matches inside a longer text.
    missing = shortest - len(text)
    if missing > 0:
        for padding in ("a", " "):
            yield text + padding * missing
            yield padding * missing + text


def _has_conditions(tree: RegexNode) -> bool:
    """Whether a string written from the tree may fail to match."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, RegexAssertion):
            if node.kind in ("lookaround", "boundary"):
                return True
        elif isinstance(node, BackReference):
            return True
        else:
            waiting += _children(node)
    return False


def _children(node: RegexNode) -> tuple[RegexNode, ...]:
    if isinstance(node, Concatenation):
        return node.nodes
    if isinstance(node, Alternation):
        return node.branches
    return (node.node,) if isinstance(node, Repetition | RegexGroup) else ()


def _min_length(node: RegexNode) -> int:
    """The length of the shortest match. The parser bounds the depth of the recursion."""
    if isinstance(node, CharacterClass):
        return 1 if node.ranges else _UNBOUNDED
    if isinstance(node, Concatenation):
        return sum(map(_min_length, node.nodes))
    if isinstance(node, Alternation):
        return min(map(_min_length, node.branches))
    if isinstance(node, Repetition):
        return min(_min_length(node.node) * node.minimum, _UNBOUNDED) if node.minimum else 0
    return _min_length(node.node) if isinstance(node, RegexGroup) else 0


def _max_length(node: RegexNode) -> int:
    if isinstance(node, CharacterClass):
        return 1
    if isinstance(node, Concatenation):
        return min(sum(map(_max_length, node.nodes)), _UNBOUNDED)
    if isinstance(node, Alternation):
        return max(map(_max_length, node.branches))
    if isinstance(node, Repetition):
        return min(_max_length(node.node) * (_UNBOUNDED if node.maximum is None else node.maximum), _UNBOUNDED)
    if isinstance(node, BackReference):
        return _UNBOUNDED
    return _max_length(node.node) if isinstance(node, RegexGroup) else 0


class _StringWriter:
    """Writes one string; repetitions are extended until it has the required length."""

    def __init__(self, shortest: int, longest: int, random: Random | None) -> None:
        self.shortest = shortest
        self.longest = longest
        self.random = random
        self.missing = 0
        """Characters still needed beyond the shortest match."""
        self.spare = 0
        """Characters still allowed beyond the shortest match."""
        self.steps = 0
        self.pieces: list[str] = []
        self.groups: dict[int, str] = {}

    def write(self, tree: RegexNode) -> str:
        minimum = _min_length(tree)
        if minimum > MAX_LENGTH:
            raise _LimitExceededError
        self.missing = max(self.shortest - minimum, 0)
        self.spare = self.longest - minimum
        self.write_node(tree)
        return "".join(self.pieces)

    def write_node(self, node: RegexNode) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise _LimitExceededError
        if isinstance(node, CharacterClass):
            self.pieces.append(_character(node.ranges, self.random))
        elif isinstance(node, Concatenation):
            for child in node.nodes:
                self.write_node(child)
        elif isinstance(node, Alternation):
            self.write_alternation(node)
        elif isinstance(node, Repetition):
            self.write_repetition(node)
        elif isinstance(node, RegexGroup):
            start = len(self.pieces)
            self.write_node(node.node)
            self.groups[node.number] = "".join(self.pieces[start:])
        elif isinstance(node, BackReference):
            text = self.groups.get(node.number, "")
            self.pieces.append(text)
            self.count_extra(len(text))

    def count_extra(self, length: int) -> None:
        """Count characters beyond the shortest match."""
        self.missing -= length
        self.spare -= length

    def write_alternation(self, node: Alternation) -> None:
        minimum = _min_length(node)
        possible = [branch for branch in node.branches if _min_length(branch) - minimum <= self.spare]
        if self.missing > 0:
            possible = [branch for branch in possible if _max_length(branch) - minimum >= self.missing] or possible
        if not possible:
            raise _LimitExceededError
        branch = possible[self.random.randrange(len(possible))] if self.random else min(possible, key=_min_length)
        self.count_extra(_min_length(branch) - minimum)
        self.write_node(branch)

    def write_repetition(self, node: Repetition) -> None:
        length = _min_length(node.node)
        # What matches nothing but the empty text is written once, however often it may repeat.
        if _max_length(node.node) == 0:
            self.write_node(node.node)
            return
        if length >= _UNBOUNDED:  # the repeated node matches nothing
            return
        times = node.minimum if length else 0
        room = (_UNBOUNDED if node.maximum is None else node.maximum) - times
        extra = 0
        if self.missing > 0:
            unit = length or min(_max_length(node.node), self.missing)
            extra = min(room, -(-self.missing // unit))
        if self.random and room > extra and self.random.random() < 0.6:
            extra += self.random.randrange(min(room - extra, 8) + 1)
        if length:
            extra = min(extra, self.spare // length)
        self.count_extra(extra * length)
        for _ in range(times + extra):
            self.write_node(node.node)


def _character(ranges: Ranges, random: Random | None) -> str:
    if not ranges:
        raise _LimitExceededError
    if random is not None:
        low, high = ranges[random.randrange(len(ranges))]
        if high - low > 200 and random.random() < 0.7:  # mostly ASCII, which can be read in a report
            low, high = max(low, 32), min(high, 126)
            if low > high:
                low, high = ranges[0]
        return chr(random.randrange(low, high + 1))
    for preferred in _PREFERRED_CHARACTERS:
        for low, high in ranges:
            if low <= preferred <= high:
                return chr(preferred)
    for low, high in ranges:
        if high >= 33 and low <= 126:
            return chr(max(low, 33))
    return chr(ranges[0][0])


_VARIANTS = 24
# The largest float has 309 digits.
_MAX_DIGITS = 320


def strings(constraints: StringConstraints) -> Iterator[str]:
    """Yield candidate strings. Samples of a format may have the wrong length, matches of a pattern the wrong format."""
    shortest, longest = constraints.min_length, constraints.max_length
    if shortest > MAX_LENGTH or (longest is not None and longest < shortest):
        return
    for name in constraints.formats:
        yield from FORMAT_SAMPLES.get(name, ())
        if name in ("uri", "url", "uri-reference", "iri", "iri-reference"):
            yield "https://example.com/".ljust(shortest, "a")
        elif name in ("email", "idn-email"):
            yield "@example.com".rjust(shortest, "a")
            yield "a@b.cd"
    for pattern in constraints.patterns:
        yield from _matching_strings(pattern, shortest, longest)
    if not constraints.patterns:
        yield from _plain_strings(shortest, longest)


def _matching_strings(pattern: str, shortest: int, longest: int | None) -> Iterator[str]:
    """Yield matches of a pattern: familiar strings of the same length first, then constructed ones."""
    constructed = matching_string(pattern, shortest, longest)
    if constructed is None:
        return
    yield from (text for text in FAMILIAR_STRINGS if len(text) == len(constructed) and matches(pattern, text))
    yield constructed
    random = seeded_random(0)
    for _ in range(_VARIANTS):
        variant = matching_string(pattern, shortest, longest, random)
        if variant is not None:
            yield variant


def _plain_strings(shortest: int, longest: int | None) -> Iterator[str]:
    """Yield distinct strings that are constrained by length only."""
    if longest == 0:
        yield ""
        return
    length = max(shortest, 1)
    yield "a" * length
    for number in range(1, 2_000):
        text = _in_letters(number).rjust(length, "a")
        if longest is None or len(text) <= longest:
            yield text
    if shortest == 0:
        yield ""


def _in_letters(number: int) -> str:
    text = ""
    while number:
        number, letter = divmod(number, 26)
        text = chr(97 + letter) + text
    return text


class _Interval(NamedTuple):
    """The numbers between two bounds; a bound of None is absent."""

    low: Fraction | None
    high: Fraction | None
    is_low_exclusive: bool
    is_high_exclusive: bool

    def contains(self, number: Fraction) -> bool:
        low, high = self.low, self.high
        if low is not None and (number < low or (self.is_low_exclusive and number == low)):
            return False
        return high is None or not (number > high or (self.is_high_exclusive and number == high))


def numbers(constraints: NumberConstraints, *, integers: bool) -> Iterator[Any]:
    """Yield numbers: 1 or 0 if allowed, else those closest to them."""
    interval = _Interval(
        _fraction(constraints.minimum),
        _fraction(constraints.maximum),
        constraints.is_minimum_exclusive,
        constraints.is_maximum_exclusive,
    )
    step = _common_multiple(constraints.multiples, integers=integers)
    if step is None:
        yield from _numbers_in(interval)
        return
    for number in islice(_multiples_in(interval, step), 2_000):
        yield _as_number(number)


def _multiples_in(interval: _Interval, step: Fraction) -> Iterator[Fraction]:
    """Yield the multiples of a step within an interval, outward from the one closest to the step itself."""
    low, high = interval.low, interval.high
    first = None if low is None else ceil(low / step)
    if first is not None and interval.is_low_exclusive and first * step == low:
        first += 1
    last = None if high is None else floor(high / step)
    if last is not None and interval.is_high_exclusive and last * step == high:
        last -= 1
    if first is not None and last is not None and first > last:
        return
    start = 1 if first is None or first <= 1 else first
    if last is not None and last < start:
        start = 0 if last == 0 and (first is None or first <= 0) else last
    yield start * step
    for distance in range(1, 1_200):
        for number in (start - distance, start + distance):
            if (first is None or number >= first) and (last is None or number <= last):
                yield number * step


def _numbers_in(interval: _Interval) -> Iterator[Any]:
    """Yield numbers within an interval that need not be integers."""
    low, high = interval.low, interval.high
    for number in (1, 0, -1):
        if interval.contains(Fraction(number)):
            yield number
    if low is not None and high is not None:
        for divisor in (2, 4, 3, 5, 7, 11):
            between = low + (high - low) / divisor
            if interval.contains(between):
                yield _as_number(between)
    for bound, sign in ((low, 1), (high, -1)):
        if bound is not None:
            for distance in (Fraction(0), Fraction(1), Fraction(1, 2), abs(bound) / 2, *map(Fraction, range(2, 60))):
                nearby = bound + sign * distance
                if interval.contains(nearby):
                    yield _as_number(nearby)
    if low is None and high is None:
        yield 0.5
        yield from range(2, 1_200)


def _common_multiple(multiples: list[Any], *, integers: bool) -> Fraction | None:
    """The least common multiple of all `multipleOf`; None if every number is allowed."""
    steps = [step for multiple in multiples if (step := _fraction(multiple))]
    if integers:
        steps.append(Fraction(1))
    if not steps:
        return None
    # As fractions, because multiples of 0.1 are not exact as floats: 0.3 would not be a multiple of it.
    result = steps[0]
    for other in steps[1:]:
        denominator = lcm(result.denominator, other.denominator)
        result = Fraction(lcm(int(result * denominator), int(other * denominator)), denominator)
    return result


def _fraction(number: Any) -> Fraction | None:
    """A number as written: 0.1 is one tenth, not the nearest binary fraction."""
    if type(number) is int:
        return Fraction(number) if number.bit_length() < _MAX_DIGITS * 4 else None
    return Fraction(repr(number)) if type(number) is float else None


def _as_number(number: Fraction) -> Any:
    if number.denominator == 1:
        return int(number)
    try:
        return float(number)
    except OverflowError:  # beyond the range of floats
        return int(number)
