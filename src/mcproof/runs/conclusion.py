"""How much of what a command exists to judge was judged, and whether that is enough to conclude anything.

The words of the conclusion are in `report.verdicts`, the exit code in `runs.exit_code`; both rest on these numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, Text, member, record

if TYPE_CHECKING:
    from mcproof.runs.results import TargetResult

Outcome = Literal["passed", "failed", "inconclusive", "reported"]


@record()
class Conclusion(NamedTuple):
    """What a run concludes about a target."""

    outcome: Annotated[Outcome, member()]
    """`failed`: a finding, a test or a gate fails. `inconclusive`: less than half was judged. `passed`: every gate is
    met. `reported`: nothing was gated."""
    judged: Count
    """How much was judged of what the command exists to judge."""
    of: Count
    """How much there is to judge: promises of all tools, called tools in `fuzz`, tests, else tools."""
    because: Text
    """The reason, in words."""


class Judged(NamedTuple):
    """How much was judged, of how much, and what it is."""

    done: int
    of: int
    noun: str
    verb: str = "judged"
    is_anything: bool = True
    """Whether the run came to the point at all: whether it called a tool, or ran a test."""

    @property
    def is_enough(self) -> bool:
        """Whether at least half was judged."""
        return 2 * self.done >= self.of and self.is_anything


def judged_of(result: TargetResult) -> Judged:
    """Return how much of what a command exists to judge was judged."""
    payload, tools = result.payload, result.counts.get("tools", 0)
    if payload.kind == "suite":
        ran = sum(test.outcome in ("passed", "failed") for test in payload.tests)
        due = sum(test.outcome != "not_applicable" for test in payload.tests)
        return Judged(ran, due, "test", "ran", is_anything=bool(ran))
    if payload.kind == "fuzz":
        called = result.called_tools
        reached = sum(tool in payload.fuzzing.reached for tool in called)
        verb = "reached by a valid call"
        return Judged(reached, len(called), "called tool", verb, is_anything=bool(called))
    if result.proof is None:
        unknown = 0 if result.not_judged is None else result.not_judged.tools
        return Judged(tools - unknown, tools, "tool")
    is_anything = bool(result.called_tools) if tools else result.was_tested
    if payload.kind == "probe":
        probes = [probe for probe in payload.probes if probe.outcome != "not_applicable" and not probe.is_exploratory]
        probes = [probe for probe in probes if probe.probe != "baseline"]
        judged = sum(probe.passed is not None for probe in probes)
        return Judged(judged, len(probes), "probe", is_anything=is_anything)
    from mcproof.probing.outcomes import promises

    counts = promises(result.matrix)
    return Judged(counts.kept + counts.broken, counts.declared, "promise", is_anything=is_anything)


def is_inconclusive(result: TargetResult) -> bool:
    """Whether a target that did not fail was judged too little to pass."""
    return result.trouble is None and result.passed and not judged_of(result).is_enough
