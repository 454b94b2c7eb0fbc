"""The results of probes and fuzzing, and how they are counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, Fault, Position, Text, member, record

PROBE_OUTCOMES = [
    "rejected",
    "accepted",
    "hang",
    "crash",
    "malformed",
    "injection",
    "clean",
    "not_applicable",
    "not_tested",
]


@record()
class ProbeResult(NamedTuple):
    """The result of a probe."""

    tool: str | None
    """The tool that was called, or None for a probe of the server as a whole."""
    probe: Annotated[str, member(pattern="^[a-z][a-z0-9_]*$")]
    """The name of the probe, such as `wrong_type`; `baseline` is the valid call."""
    fault: Fault | None
    """The id in the fault taxonomy that rules and probes share, or None."""
    outcome: Annotated[str, member(enum=PROBE_OUTCOMES)]
    """The outcome; `injection` and `clean` only of hostile arguments; `not_tested` and `not_applicable` if nothing was
    sent."""
    passed: bool | None
    """Whether the probe passed, or None without a judgement: not applicable, not tested, exploratory, not shown (see
    `reason`), or the valid call itself."""
    reason: str = ""
    """Why it is not applicable or not tested; else the request and its result, in words."""
    is_exploratory: Annotated[bool, member("exploratory")] = False
    """Whether it tests something that the schema does not promise."""
    request: str = ""
    """The parameters as sent, truncated."""
    answer: str = ""
    """The response as received, truncated; or why there is none."""
    argument: str = ""
    """The path of the argument that it is about, such as `filter.limit` or `rows[].id`; empty for none."""
    is_lenient: Annotated[bool, member("lenient")] = False
    """Whether servers commonly convert the invalid value to a valid one, such as "5" for 5."""


Column = Literal["missing", "type", "extra", "size", "values"]
Verdict = Literal[
    "proven",
    "broken promise",
    "hidden rule",
    "open",
    "partly tried",
    "not shown",
    "not tested",
    "not applicable",
]
CELL_FAULTS = [
    "FAULT-SCHEMA-MISSING-REQUIRED",
    "FAULT-SCHEMA-TYPE-MISMATCH",
    "FAULT-SCHEMA-UNEXPECTED-FIELD",
    "FAULT-INPUT-OVERSIZED",
]


@record(
    "tool",
    "column",
    "fault",
    "declared",
    "kept",
    "tried",
    "refused",
    "lenient",
    "left_out",
    "arguments",
    "verdict",
    "reason",
    "predicted_by",
)
class Cell(NamedTuple):
    """One kind of promise of one tool: what the schema declares against what the server does."""

    tool: str
    """The name of the tool."""
    column: Column
    """The kind of promise: required arguments, types, closed objects, `maxLength` and `maxItems`, or values (enum,
    const, pattern, format, ranges, lower bounds)."""
    fault: Annotated[str, member(enum=CELL_FAULTS)] | None
    """The id of the fault, or None for values."""
    declared: bool | None
    """Whether the schema makes such a promise, or None if there is nothing to promise."""
    kept: bool | None
    """Whether the server rejects every violation, or None if unknown."""
    verdict: Verdict
    """`proven`: every promise was tried and kept. `broken promise`: one was not. `hidden rule`, `open`: nothing is
    declared, and it is refused, or not. `partly tried`: kept as far as it was tried. `not shown`: the responses are
    those of the valid call, about something else, or depend on a question that got no answer."""
    tried: Count = 0
    """How many promises were tried: every call that breaks them was sent, or one was accepted. If nothing is declared,
    how many exploratory calls were sent."""
    refused: Count = 0
    """How many of those are kept: every call was refused."""
    lenient: Count = 0
    """How many values the server converted instead of refusing them, such as "5" for 5. They count as tried only with
    `--strict`, and then not here."""
    left_out: Count = 0
    """How many promises were not tried, or not in full. Beside a broken promise, also those whose responses show
    nothing."""
    arguments: tuple[str, ...] = ()
    """The arguments that the verdict rests on, as paths such as `filter.limit` or `rows[].id`: those accepted if a
    promise is broken, those not shown, those left out if it is partly tried, else all that were tried. `(root)` is the
    arguments as a whole."""
    reason: str = ""
    """The reason, in words."""
    predicted_by: tuple[Annotated[str, member(pattern="^[A-Za-z0-9_-]+$")], ...] = ()
    """The ids of the static rules that predicted the verdict."""


FAILURE_OUTCOMES = ["accepted", "crash", "hang", "protocol_violation", "leak", "injection"]


@record()
class Failure(NamedTuple):
    """A case that failed."""

    id: Text
    """The id of the case, for `mcproof replay`."""
    tool: str | None
    """The tool that was called, or None."""
    outcome: Annotated[str, member(enum=FAILURE_OUTCOMES)]
    """The outcome."""
    arguments: Any
    """The arguments, minimised; long texts are truncated. Any JSON."""
    replay: str
    """The command that replays it."""
    what: str = ""
    """What is wrong with the response, in words."""
    times: Position = 1
    """The number of cases with the same result."""
    response: Annotated[str, member(presence="newer")] = ""
    """The response as received, truncated, or why there is none."""


@record("seed", "cases", "outcomes", "tools", "reached", "called", "paths", "failures")
class Fuzzing(NamedTuple):
    """The result of fuzzing."""

    seed: int
    """The seed of the cases: the same seed and schema give the same cases."""
    cases: Count
    """The number of cases, without those of shrinking."""
    outcomes: dict[str, int]
    """How many cases had each outcome; a leak is counted instead of `clean`, and beside any other outcome."""
    failures: list[Failure]
    """Every case that failed."""
    tools: dict[str, Count] = {}  # noqa: RUF012 (never mutated)
    """How many cases each tool was called with."""
    reached: Annotated[list[str], member(presence="newer")] = []  # noqa: RUF012 (never mutated)
    """The tools of which a valid call was accepted: their logic was reached."""
    called: Annotated[list[str], member(presence="newer")] = []  # noqa: RUF012 (never mutated)
    """The tools that were called, also those whose calls had no response in time."""
    paths: Annotated[dict[str, dict[str, bool]], member(presence="newer")] = {}  # noqa: RUF012 (never mutated)
    """With `--security`: the parameters that name files or folders, by tool, and whether attacks on each reached the
    logic behind it: the valid call works, or an attack had an effect."""

    @property
    def unreached_paths(self) -> tuple[int, int]:
        """How many parameters that are paths were not reached, and how many there are."""
        reached = [is_reached for parameters in self.paths.values() for is_reached in parameters.values()]
        return reached.count(False), len(reached)

    @property
    def counts(self) -> dict[str, int]:
        """The number of cases of every outcome that was looked for."""
        from mcproof.core.observations.probes import ALL_OUTCOMES, CASE_OUTCOMES

        return {
            name: self.outcomes.get(name, 0) for name in ALL_OUTCOMES if name in CASE_OUTCOMES or name in self.outcomes
        }


@record()
class NegativePathCounts(NamedTuple):
    """The negative path in numbers: how the server handles requests that it must reject."""

    checks_run: Count
    """The number of judged probes of the negative path."""
    failures: Count
    """How many of them failed."""
    gate_passed: Annotated[int, member(enum=[0, 1])]
    """1 if at least one ran and none failed, else 0."""  # untested does not pass


def negative_path(probes: Iterable[ProbeResult]) -> NegativePathCounts:
    """Count the checks of the negative path."""
    from mcproof.core.observations.probes import CHECKS

    judged = [probe.passed for probe in probes if probe.probe in CHECKS and probe.passed is not None]
    failures = judged.count(False)
    return NegativePathCounts(len(judged), failures, int(bool(judged) and not failures))


@record()
class Promises(NamedTuple):
    """The promises of the schemas, counted."""

    declared: Count
    """The number of promises."""
    kept: Count
    """The number of those kept."""
    broken: Count
    """The number of those broken."""
    not_shown: Count
    """The number of those whose responses are those of the valid call, or about something else."""
    not_tested: Count
    """The number of those not tried, or not in full."""


def promises(matrix: Iterable[Cell]) -> Promises:
    """Count the promises of a matrix."""
    promised = [cell for cell in matrix if cell.declared]
    tried = sum(cell.tried for cell in promised)
    kept = sum(cell.refused for cell in promised)
    broken = sum(cell.tried - cell.refused for cell in promised if cell.verdict == "broken promise")
    left_out = sum(cell.left_out for cell in promised)
    return Promises(tried + left_out, kept, broken, tried - kept - broken, left_out)


class Prediction(NamedTuple):
    """A fault that static rules predicted and probes confirmed, and the tools that have it."""

    rules: tuple[str, ...]
    column: Column
    tools: list[str]


def predictions(matrix: Iterable[Cell]) -> list[Prediction]:
    """Return the confirmed predictions of a matrix, by rules and column."""
    confirmed: dict[tuple[tuple[str, ...], Column], Prediction] = {}
    for cell in matrix:
        if cell.verdict == "open" and cell.predicted_by:
            key = (cell.predicted_by, cell.column)
            confirmed.setdefault(key, Prediction(*key, [])).tools.append(cell.tool)
    return list(confirmed.values())
