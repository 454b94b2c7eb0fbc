"""The results of probes and fuzzing, and how they are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class ProbeResult(NamedTuple):
    """The result of one probe."""

    tool: str | None
    """The tool that was called; None for a probe of the server as a whole."""
    probe: str
    fault: str | None
    outcome: str
    """`rejected`, `accepted`, `hang`, `crash`, `malformed`; or `not_applicable`, `not_tested`."""
    passed: bool | None
    """None if there is no judgement: not applicable, not tested, exploratory, or the valid call itself."""
    reason: str = ""
    """Why it is not applicable or not tested; else what was sent and the result, in words."""
    is_exploratory: bool = False
    """Whether it tests something that the schema does not promise."""
    request: str = ""
    """The parameters as sent, cropped."""
    answer: str = ""
    """The response as received, cropped; or why there is none."""
    argument: str = ""
    """The path of the argument that it is about; empty for none."""
    is_lenient: bool = False
    """Whether servers commonly convert the invalid value to a valid one."""


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


class Cell(NamedTuple):
    """One kind of promise of one tool in the contract matrix."""

    tool: str
    column: Column
    fault: str | None
    """The fault that an acceptance proves; None for values."""
    declared: bool | None
    """Whether the schema makes such a promise; None if there is nothing to promise."""
    kept: bool | None
    """Whether the server rejects violations; None if unknown."""
    verdict: Verdict
    tried: int = 0
    """How many promises were tried; for a promise that is not declared, how many calls."""
    refused: int = 0
    """How many of those the server keeps: it refused every call that breaks them."""
    lenient: int = 0
    """How many values of a wrong type, or almost right, were converted instead of refused."""
    left_out: int = 0
    """How many promises were not tried, or not in full."""
    arguments: tuple[str, ...] = ()
    """The arguments that the verdict rests on."""
    reason: str = ""
    predicted_by: tuple[str, ...] = ()
    """The ids of the static rules that predicted the verdict."""


class Failure(NamedTuple):
    """A case that failed, and how to replay it."""

    id: str
    tool: str | None
    outcome: str
    """`crash`, `hang`, `protocol_violation`, `leak`, `injection` or `accepted`."""
    arguments: Any
    """What was sent, minimised; long texts are cropped."""
    replay: str
    """The command that replays it."""
    what: str = ""
    """What is wrong with the response, in words."""
    times: int = 1
    """How many cases had the same result."""
    response: str = ""
    """The response as received, cropped; or why there is none."""


class Fuzzing(NamedTuple):
    """The result of fuzzing."""

    seed: int
    cases: int
    """How many cases were sent, without those of shrinking and blame."""
    outcomes: dict[str, int]
    """The number of cases by outcome; `injection` only with `--security`.

    A leak is counted instead of `clean`, and beside any other outcome.
    """
    failures: list[Failure]
    tools: dict[str, int] = {}  # noqa: RUF012 (never mutated)
    """How many cases each tool was called with."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of cases of every outcome that was looked for."""
        from mcproof.core.observations.probes import ALL_OUTCOMES, CASE_OUTCOMES

        return {
            name: self.outcomes.get(name, 0) for name in ALL_OUTCOMES if name in CASE_OUTCOMES or name in self.outcomes
        }


class NegativePathCounts(NamedTuple):
    """How a server handles requests that it must reject."""

    checks_run: int
    failures: int
    gate_passed: int
    """1 if at least one check ran and none failed, else 0: untested does not pass."""


def negative_path(probes: Iterable[ProbeResult]) -> NegativePathCounts:
    """Count the checks of the negative path."""
    from mcproof.core.observations.probes import CHECKS

    judged = [probe.passed for probe in probes if probe.probe in CHECKS and probe.passed is not None]
    failures = judged.count(False)
    return NegativePathCounts(len(judged), failures, int(bool(judged) and not failures))


class Promises(NamedTuple):
    """How many promises the schemas make, and how many the server keeps."""

    declared: int
    kept: int
    broken: int
    not_shown: int
    """How many got the same response as the valid call, or one about something else."""
    not_tested: int


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
