"""What each kind of run adds to the result of a target.

Renderers and the stored form dispatch on `kind`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from mcproof.checks.clients.verdicts import ClientOutcome, Improvement
    from mcproof.checks.scores.trust import Trust
    from mcproof.checks.texts.tool_graph import ToolGraph
    from mcproof.probing.outcomes import Cell, Fuzzing, ProbeResult
    from mcproof.testing.outcomes import TestResult

Kind = Literal["lint", "grade", "compat", "scan", "diff", "probe", "prove", "fuzz", "suite"]


class LintPayload(NamedTuple):
    """Nothing: the findings are the result."""

    kind: Literal["lint"] = "lint"


class GradePayload(NamedTuple):
    """Nothing: the scores are the result."""

    kind: Literal["grade"] = "grade"


class CompatPayload(NamedTuple):
    """What each client makes of a server, and what to change."""

    outcomes: list[ClientOutcome] = []  # noqa: RUF012 (never mutated)
    improvements: list[Improvement] = []  # noqa: RUF012 (never mutated)
    named: tuple[str, ...] = ()
    """The ids of the clients that the user named; empty for all."""
    is_fixable: bool = False
    """Whether `compat --fix` has edits."""
    kind: Literal["compat"] = "compat"


class ScanPayload(NamedTuple):
    """Whether to trust a server; None if it could not be judged."""

    trust: Trust | None = None
    graph: ToolGraph | None = None
    """Which tool's description names which other tool."""
    kind: Literal["scan"] = "scan"


class DiffPayload(NamedTuple):
    """A comparison; the findings are the changes."""

    compared_with: str = ""
    """The name of the older catalog."""
    kind: Literal["diff"] = "diff"


class ProbePayload(NamedTuple):
    """The probes of a server."""

    probes: list[ProbeResult] = []  # noqa: RUF012 (never mutated)
    kind: Literal["probe"] = "probe"


class ProvePayload(NamedTuple):
    """The probes of a server and its contract matrix."""

    probes: list[ProbeResult] = []  # noqa: RUF012 (never mutated)
    matrix: list[Cell] = []  # noqa: RUF012 (never mutated)
    kind: Literal["prove"] = "prove"


class FuzzPayload(NamedTuple):
    """The result of fuzzing."""

    fuzzing: Fuzzing
    kind: Literal["fuzz"] = "fuzz"


class SuitePayload(NamedTuple):
    """The tests of a suite, in its order."""

    tests: list[TestResult] = []  # noqa: RUF012 (never mutated)
    kind: Literal["suite"] = "suite"


Payload = (
    LintPayload
    | GradePayload
    | CompatPayload
    | ScanPayload
    | DiffPayload
    | ProbePayload
    | ProvePayload
    | FuzzPayload
    | SuitePayload
)

CALLING: tuple[Kind, ...] = ("probe", "prove", "fuzz")
"""The kinds of run that call the tools of a live server."""

_EMPTY: dict[str, Payload] = {
    "grade": GradePayload(),
    "compat": CompatPayload(),
    "scan": ScanPayload(),
    "diff": DiffPayload(),
    "probe": ProbePayload(),
    "prove": ProvePayload(),
    "run": SuitePayload(),
}


def empty_payload(command: str) -> Payload:
    """Return the payload of a target that a command could not check."""
    if command == "fuzz":
        from mcproof.probing.outcomes import Fuzzing

        return FuzzPayload(Fuzzing(seed=0, cases=0, outcomes={}, failures=[]))
    return _EMPTY.get(command, LintPayload())
