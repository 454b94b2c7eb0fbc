"""Lists, dictionaries and enumerations whose contents may be uncertain, and what is known about a value.

Uncertainty has one form: the `Extent` of a container says whether it may contain more than its items, and
`doubtful` names the items that it may lack. `Assumed` values come from the environment; `Budget` bounds the work on
all of them.
Why names take the defaults of the environment: docs/decisions/0032-defaults-of-the-environment.md.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp.values import (
    PLAIN,
    UNKNOWN,
    BudgetExceededError,
    Class,
    EnumMember,
    External,
    ExternalCall,
    Function,
    Generic,
    Instance,
    Method,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable

    from mcproof.source.python.interp.modules import Module


class Assumed:
    """A value that the environment may replace: `os.environ.get("PREFIX", "")`.

    Names and texts take its default, which is plain data. A condition on it stays open.
    """

    def __init__(self, default: Any) -> None:
        self.default = default


def assumed(value: Any) -> Any:
    """Plain data as the default of something in the environment; UNKNOWN for any other value."""
    value = default_of(value)
    return Assumed(value) if isinstance(value, PLAIN) else UNKNOWN


def default_of(value: Any) -> Any:
    """The default of an assumed value; any other value unchanged."""
    return value.default if type(value) is Assumed else value


def with_defaults(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function of values; if one of them is assumed, so is the result."""
    if not any(type(value) is Assumed for value in values):
        return function(*values)
    return assumed(function(*map(default_of, values)))


class Extent(IntEnum):
    """How much is known about the contents of a container; a combination has the larger extent."""

    EXACT = 0
    """It contains its items; doubtful ones may be missing."""
    BOUNDED = 1
    """It contains nothing else than its items, but their positions are unknown."""
    OPEN = 2
    """It may contain other items."""


EXACT, BOUNDED, OPEN = Extent


class SourceDict(dict[Any, Any]):
    """A dictionary with the nodes of its keys and values."""

    def __init__(self, items: Any = (), module: Module | None = None) -> None:
        super().__init__(items)
        self.module = module
        self.origins: dict[Any, tuple[Module, ast.AST, ast.AST]] = {}
        """For each key: its module, the node of the key and the node of the value."""
        self.factory: Any = None
        """The function that creates the values of missing keys, as in a `defaultdict`."""
        self.extent = EXACT
        self.doubtful: set[Any] = set()
        """The keys that are only present under a condition."""

    def mark_open(self, when: bool = True) -> None:
        """Note that it may contain other keys."""
        if when:
            self.extent = OPEN

    def copy(self) -> SourceDict:
        copy = SourceDict(self, self.module)
        copy.origins = dict(self.origins)
        copy.extent = self.extent
        copy.doubtful = set(self.doubtful)
        return copy

    def merge(self, other: dict[Any, Any]) -> None:
        """Update it with another dictionary, including its uncertainty."""
        self.update(other)
        for key in other:
            self.origins.pop(key, None)
        self.doubtful.difference_update(other)
        if isinstance(other, SourceDict):
            self.origins.update(other.origins)
            self.extent = max(self.extent, other.extent)
            self.doubtful |= other.doubtful


class SourceList(list[Any]):
    """A list with the nodes of its items."""

    def __init__(self, items: Iterable[Any] = (), module: Module | None = None) -> None:
        super().__init__(items)
        self.module = module
        self.nodes: list[ast.AST] = []
        self.is_iterator = False
        """Whether it is the result of `iter`: `next` removes the first item."""
        self.extent = EXACT
        self.doubtful: set[int] = set()
        """The positions of items that are only present under a condition."""
        self.unordered = False
        """Whether the order of its items is unknown, as in a set."""
        self.alternatives: tuple[list[Any], ...] = ()
        """If it is one of several lists: those lists. A change of it is a change of one of them."""

    def mark_open(self, when: bool = True) -> None:
        """Note that it may contain other items."""
        if when:
            self.extent = OPEN

    def doubt_all(self) -> None:
        """Note that every item may be missing."""
        self.doubtful = set(range(len(self)))

    def inherit_doubt(self, value: Any, doubtful: Iterable[int]) -> SourceList:
        """Become as uncertain as the value that it is made from, with doubt about these positions."""
        self.extent = max(self.extent, extent_of(value))
        self.unordered = self.unordered or is_unordered(value)
        self.doubtful.update(doubtful)
        return self

    def node(self, index: int) -> ast.AST | None:
        """The node of an item, if the nodes are known."""
        return self.nodes[index] if len(self.nodes) == len(self) else None


def extent_of(value: Any) -> Extent:
    """The extent of a container; other values are exact."""
    return value.extent if isinstance(value, (SourceDict, SourceList)) else EXACT


def is_unordered(value: Any) -> bool:
    """Whether the order of a container is unknown."""
    return isinstance(value, SourceList) and value.unordered


def has_doubt(value: Any) -> bool:
    """Whether the contents of a container are uncertain."""
    return isinstance(value, (SourceDict, SourceList)) and (value.extent is not EXACT or bool(value.doubtful))


def is_certain(value: Any) -> bool:
    """Whether the contents of a container and their order are certain."""
    return not has_doubt(value) and not is_unordered(value)


def doubtful_positions(value: Any) -> set[int]:
    """The positions, in the order of iteration, of items that are only present under a condition."""
    if isinstance(value, SourceDict):
        return {index for index, key in enumerate(value) if key in value.doubtful} if value.doubtful else set()
    return set(value.doubtful) if isinstance(value, SourceList) else set()


MOST_STEPS = 400_000
STEPS_OF_ONE_ROOT = 40_000
"""How many steps a module, or a function that nothing calls, may take."""
STEPS_OF_MODULE_WITHOUT_EFFECTS = 10_000
"""How many steps a module may take of which only the names are of interest; the rest of its names stay unknown."""
ITEMS_PER_STEP = 200
CHARACTERS_PER_STEP = 4_000
"""How many items or characters count as one step, wherever all of them are processed at once."""
SIZED = frozenset((str, tuple, SourceList, SourceDict))


class Budget:
    """Counts steps, and items that are processed within steps; raises a `BudgetExceededError` beyond the limit."""

    def __init__(self) -> None:
        self.steps = 0
        self.limit = self.root_limit = STEPS_OF_ONE_ROOT
        self.items = 0
        self.most_items = STEPS_OF_ONE_ROOT * ITEMS_PER_STEP

    def allow(self, steps: int) -> None:
        """Start a new root that may take this many steps, and the corresponding number of items."""
        self.limit = self.root_limit = self.steps + steps
        self.most_items = self.items + steps * ITEMS_PER_STEP

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise BudgetExceededError

    def charge(self, items: int) -> None:
        """Count the work of processing this many items at once."""
        self.items += items
        if self.items > self.most_items:
            raise BudgetExceededError

    def charge_items(self, *values: Any) -> None:
        """Count the work of looking at every item or character of values, which is more than to copy them."""
        for value in values:
            if type(value) in SIZED:
                self.charge(len(value))

    def charge_copy(self, value: Any) -> None:
        """Count the work of copying a value."""
        if type(value) is str:
            self.charge(len(value) * ITEMS_PER_STEP // CHARACTERS_PER_STEP)
        elif type(value) in SIZED:
            self.charge(len(value))

    @property
    def work(self) -> int:
        """All work so far, in steps."""
        return self.steps + self.items // ITEMS_PER_STEP


MIXED = frozenset(("str", "int", "float", "StrEnum", "IntEnum"))
"""Base types whose members equal their values."""


def is_enum(cls: Class) -> bool:
    return any(base.last in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag") for base in cls.external_bases())


def members_of(cls: Class) -> list[EnumMember]:
    if cls.members is None:
        members: list[EnumMember] = []
        bases = {base.last for base in cls.external_bases()}
        for name, value in cls.body.names.items():
            if not (name.startswith("_") or isinstance(value, (Function, Class))):
                members.append(EnumMember(cls, name, _enum_value(name, value, bases, members)))
        cls.members = members
    return cls.members


def _enum_value(name: str, given: Any, bases: set[str], before: list[EnumMember]) -> Any:
    """The value of a member: `auto()` increments, a tuple holds the arguments of the mixed-in type."""
    if getattr(getattr(given, "func", None), "last", "") == "auto":
        if "str" in bases:
            return UNKNOWN  # the text form of the number depends on the Python version
        numbers = [member.value for member in before if isinstance(member.value, int)]
        return name.lower() if "StrEnum" in bases else max(numbers, default=0) + 1
    if isinstance(given, tuple) and len(given) == 1 and not MIXED.isdisjoint(bases):
        return given[0]
    return given


def distinct_members(cls: Class) -> list[EnumMember]:
    """The members in an iteration, which skips aliases."""
    seen: set[Any] = set()
    distinct = []
    for member in members_of(cls):
        is_plain = isinstance(member.value, (str, int, float))
        if not is_plain or member.value not in seen:
            distinct.append(member)
        if is_plain:
            seen.add(member.value)
    return distinct


MOST_VALUES_KNOWN = 20_000
"""The maximum number of values in data that is considered known; shared values count each time."""


def or_none(value: Any) -> Any:
    """A value that may be None: it can be used, but a test for None has no known result."""
    if isinstance(value, External):
        value = External(value.name)
    if isinstance(value, (External, Function, Class, Instance)):
        value.may_be_none = True
    return value


def may_be_none(value: Any) -> bool:
    """Whether a value may be None."""
    return isinstance(value, (External, Function, Class, Instance)) and value.may_be_none


def size_of(value: Any) -> int:
    """The number of values in data, up to a maximum; shared values count each time."""
    waiting = [value]
    seen = 0
    while waiting and seen + len(waiting) < MOST_VALUES_KNOWN:
        part = waiting.pop()
        seen += 1
        if isinstance(part, (list, tuple, dict)) and len(part) < MOST_VALUES_KNOWN:
            waiting += part.values() if isinstance(part, dict) else part
    return seen + len(waiting)


def is_known(value: Any) -> bool:
    """Whether a value is plain data at every level, and not too large."""
    waiting = [(value, 0)]
    seen = 0
    while waiting:
        part, depth = waiting.pop()
        seen += 1
        if isinstance(part, EnumMember):
            part = part.value
        if part is None or isinstance(part, (str, int, float, bool)):
            continue
        if not isinstance(part, (list, tuple, set, frozenset, dict)) or has_doubt(part) or depth > 60:
            return False
        if isinstance(part, dict):
            if not all(isinstance(key, str) for key in part):
                return False
            part = part.values()
        if seen + len(waiting) + len(part) > MOST_VALUES_KNOWN:
            return False
        waiting += [(item, depth + 1) for item in part]
    return True


def truth(value: Any) -> bool | None:
    """Whether a value is true in a condition; None if unknown."""
    if value is None or isinstance(value, (str, int)):
        return bool(value)
    if value is UNKNOWN or isinstance(value, (Assumed, ExternalCall, Method, Generic)):
        return None  # a value that looks like `list[int]` may be an item of an external object
    if isinstance(value, (SourceDict, SourceList)):
        if len(value.doubtful) >= len(value) and (value or value.extent is not EXACT):
            return None  # every item may be missing
        return bool(value)
    if may_be_none(value):
        return None
    if isinstance(value, EnumMember):
        return truth(value.value) if value.cls.external_bases() else True
    try:
        return bool(value)
    except Exception:
        return None
