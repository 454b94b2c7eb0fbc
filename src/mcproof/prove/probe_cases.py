"""The cases of probes: what is sent, what it tests, and what the contract requires of the response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.rule import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD, UNKNOWN_METHOD
from mcproof.generation.json_values import deep_copy
from mcproof.generation.promises import Promise
from mcproof.prove.repeated_texts import with_repeated, without_repeated

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Tool
    from mcproof.core.observations.probes import Expectation
    from mcproof.results.proof import Column

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
_LARGEST = 64 * 1024 * 1024


def column_of(keyword: str) -> Column:
    """The column of the contract matrix that a promise belongs to."""
    return _COLUMN_OF_KEYWORD.get(keyword, "values")


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
    """The texts that make the arguments large, as `repeated_texts` describes them."""

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
