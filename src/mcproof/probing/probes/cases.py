"""The cases of probes: what is sent, what it tests, and what the contract requires of the response.

`Explorer` adds calls that a schema allows, to find out whether the server refuses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.checks.rule import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD, UNKNOWN_METHOD
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import MAX_CALLS, Expectation
from mcproof.probing.generation.constraints import TYPES, deep_copy
from mcproof.probing.generation.mutations import MutationPoint, value_at, with_value
from mcproof.probing.generation.violations import Promise, schema_pointer
from mcproof.probing.probes.responses import with_repeated, without_repeated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mcproof.core.catalog.model import Tool
    from mcproof.probing.calls import CallPlan
    from mcproof.probing.outcomes import Column
    from mcproof.probing.probes.negative import NegativeChecks


FAULT_OF = {
    "unknown_tool": UNKNOWN_METHOD.id,
    "unknown_method": UNKNOWN_METHOD.id,
    "missing_required": MISSING_REQUIRED.id,
    "wrong_type": TYPE_MISMATCH.id,
    "extra_field": UNEXPECTED_FIELD.id,
    "oversized": OVERSIZED.id,
}
PROBE_OF: dict[Column, str] = {
    "missing": "missing_required",
    "type": "wrong_type",
    "extra": "extra_field",
    "size": "oversized",
    "values": "wrong_value",
}
"""The columns of the contract matrix, and the probes that decide them."""
COLUMN_OF: dict[str, Column] = {probe: column for column, probe in PROBE_OF.items()}
_COLUMN_OF_KEYWORD: dict[str, Column] = {
    "required": "missing",
    "dependentRequired": "missing",
    "type": "type",
    "additionalProperties": "extra",
    "unevaluatedProperties": "extra",
    "maxLength": "size",
    "maxItems": "size",
}
NO_SUCH_TOOL = "mcproof_no_such_tool"
_LARGEST = 64 * 1024 * 1024


def column_of(keyword: str) -> Column:
    """The column of the contract matrix that a promise belongs to."""
    return _COLUMN_OF_KEYWORD.get(keyword, "values")


class ProbePlan(NamedTuple):
    """Which probes to send to a server."""

    calls: CallPlan
    checks: list[str]
    explores: bool
    """Whether to test every promise, and what is not promised, for the contract matrix."""
    size: int
    max_calls: int = MAX_CALLS
    """How many probes `explores` sends to a tool."""


class ProbeCase(NamedTuple):
    """One call and what the contract requires of the response."""

    probe: str
    description: str
    expects: Expectation
    arguments: Any
    """What is sent, without the repeated texts."""
    declared: bool = False
    """Whether the schema promises the rejection."""
    keyword: str = ""
    schema_pointer: str = ""
    any_response_passes: bool = False
    """Whether any response will do, whether it accepts or rejects."""
    argument: str = ""
    """The path of the argument that it is about: `filter.limit`, `rows[].id`."""
    is_lenient: bool = False
    """Whether servers commonly convert the invalid value to a valid one."""
    changes_only_size: bool = False
    """Whether the value is that of the valid call, only larger."""
    repeated: tuple[dict[str, Any], ...] = ()
    """The texts that make the arguments large, as `without_repeated` returns them."""

    @property
    def fault(self) -> str | None:
        """The fault that an acceptance proves."""
        return FAULT_OF.get(self.probe)

    @property
    def is_exploratory(self) -> bool:
        return self.expects == "nothing"

    @property
    def is_promise(self) -> bool:
        """Whether the response shows if a promise is kept."""
        return self.declared and self.expects == "rejection"

    @property
    def promise(self) -> Promise:
        return Promise(self.argument, self.keyword)

    def sent_arguments(self) -> Any:
        """The arguments as they are sent. Equal repeated texts are one object, so that many cases can be kept."""
        if not self.repeated:
            return self.arguments
        return with_repeated(deep_copy(self.arguments), list(self.repeated), _LARGEST)

    @classmethod
    def compact(cls, arguments: Any, **fields: Any) -> ProbeCase:
        """A case whose arguments may be large."""
        small, repeated = without_repeated(arguments)
        return cls(arguments=small if repeated else arguments, repeated=tuple(repeated), **fields)


class SkippedProbe(NamedTuple):
    """A probe that is not sent, with the reason."""

    probe: str
    reason: str
    is_applicable: bool
    """Whether there is something to test, though it cannot be."""
    declared: bool | None = None


class ToolProbes(NamedTuple):
    """The probes of one tool."""

    tool: Tool
    baseline: ProbeCase | None
    cases: list[ProbeCase | SkippedProbe]
    problem: str = ""
    """Why no valid call could be generated."""
    promises: tuple[Promise, ...] = ()
    """All promises, in the order of the schema."""
    left_out: tuple[Promise, ...] = ()
    """The promises of which not every violation is sent."""
    calls_left_out: int = 0
    """How many cases are over the limit."""


_LARGE_LIST = 1_000


class Explorer:
    """Derives exploratory probes of one tool from its values."""

    def __init__(
        self,
        literal: NegativeChecks,
        base: dict[str, Any],
        schema: dict[str, Any],
        points: list[MutationPoint] | None,
        size: int,
    ) -> None:
        """Without `points`, because the schema cannot be validated, only its top level is explored."""
        self._literal = literal
        self._base = base
        self._schema = schema
        self._points = [] if points is None else [point for point in points if _is_free(point)]
        self._is_validating = points is not None
        self._size = size

    def cases(self, promised: Collection[str]) -> Iterator[ProbeCase]:
        """One case for each probe that no promise is tried with, and large values wherever there is no bound."""
        if "missing_required" not in promised and self._literal.has_parameters:
            pointer = "/inputSchema"
            yield ProbeCase("missing_required", "without any argument", "nothing", {}, schema_pointer=pointer)
        if "wrong_type" not in promised and (untyped := self._literal.with_untyped_object()) is not None:
            yield untyped
        if "extra_field" not in promised:
            yield self._literal.with_extra_field()
        if self._is_validating:
            yield from self.large_strings(is_bounded=False)
            yield from self._large_lists()
        else:
            yield from (case for case in self._literal.free_texts() if not case.is_promise)

    def large_strings(self, *, is_bounded: bool) -> Iterator[ProbeCase]:
        """A very long string for each text that has a bound, or for each that has none."""
        seen: set[str] = set()
        for point in self._points:
            if type(point.value) is not str or point.argument in seen:
                continue
            if (point.constraints.string.max_length is not None) is not is_bounded:
                continue
            description = f"a string of {self._size:,} characters for {point.label}"
            for letter in dict.fromkeys(("a", point.value[:1] or "a")):  # a pattern may exclude the first
                case = self._large(point, letter * self._size, description, "maxLength" if is_bounded else "")
                if case is not None:
                    seen.add(point.argument)
                    yield case
                    break

    def _large_lists(self) -> Iterator[ProbeCase]:
        """A very long list for each list that has no bound."""
        for point in self._points:
            value = point.value
            if type(value) is list and value and point.constraints.array.max_items is None:
                count = min(_LARGE_LIST, max(1, self._size // max(1, len(repr(value[0])))))
                longer = value + [value[-1]] * (count - len(value))
                case = self._large(point, longer, f"a list of {len(longer):,} items for {point.label}", "")
                if case is not None:
                    yield case

    def _large(self, point: MutationPoint, value: Any, description: str, keyword: str) -> ProbeCase | None:
        """The case with a large value; None if more than its size decides whether it is valid."""
        arguments = with_value(point.arguments, point.path, value)
        oracle = self._literal.oracle
        if not (oracle.rejects(arguments) if keyword else oracle.accepts(arguments)):
            return None
        return ProbeCase.compact(
            arguments,
            probe="oversized",
            description=description,
            expects="rejection" if keyword else "response",
            declared=bool(keyword),
            keyword=keyword,
            schema_pointer=f"/inputSchema{schema_pointer(self._schema, point.path)}",
            any_response_passes=not keyword,
            argument=point.argument,
            changes_only_size=self._changes_only_size(point, value),
        )

    def _changes_only_size(self, point: MutationPoint, value: Any) -> bool:
        """Whether the valid call has the same value, only smaller: "a", or a list of the same items."""
        try:
            valid = value_at(self._base, point.path)
        except (LookupError, TypeError):
            return False
        if type(valid) is str and type(value) is str:
            return set(valid) == {value[0]}
        # An empty list says nothing about the items of a long one.
        return type(valid) is list and bool(valid) and valid == point.value


def _is_free(point: MutationPoint) -> bool:
    """Whether the value at a point has a type, and is not one of a list of values."""
    return point.constraints.values is None and point.constraints.types != TYPES
