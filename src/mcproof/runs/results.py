"""The result of a run: what it saw of each target."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.findings import LEVELS
from mcproof.core.errors import McproofError, located
from mcproof.results.payloads import LintPayload, ProbePayload, ProvePayload
from mcproof.results.scores import Scores

if TYPE_CHECKING:
    from mcproof.checks.findings import Level, ReportedFinding, RuleFacts
    from mcproof.checks.fixes.snippets import CodeHelp
    from mcproof.core.errors import Notice, Untested
    from mcproof.probing.outcomes import Cell, ProbeResult
    from mcproof.results.payloads import Kind, Payload
    from mcproof.testing.outcomes import TestResult

COMPLETE = "complete"
"""The gate of runs that call a server: they have tried everything."""
BROKEN = "broken"
"""The `fail_on` of runs that call a server: only errors in its behaviour fail, not findings about its catalog."""


class AppliedConfiguration(NamedTuple):
    """A configuration that changed what was checked. It may come from a stranger, or from a folder above."""

    file: str
    keys: list[str]
    """The keys that applied to the run."""

    def __str__(self) -> str:
        return f"settings: {self.file} ({', '.join(self.keys)})"


class Trouble(NamedTuple):
    """Why a target, or the whole run, could not be checked."""

    message: str
    file: str | None
    line: int | None
    column: int | None

    @classmethod
    def of(cls, error: McproofError) -> Trouble:
        return cls(error.message, error.file, error.line, error.column)

    def as_error(self) -> McproofError:
        """Return it as an exception, for a command that cannot continue."""
        return McproofError(self.message, file=self.file, line=self.line, column=self.column)

    def __str__(self) -> str:
        return located(self.message, self.file, self.line, self.column)


class Gate(NamedTuple):
    """A limit that the user set or that the kind of run has, and whether the target meets it."""

    gate: str
    limit: str | int
    actual: str | int
    passed: bool


IN_PART = ", in part"
"""Ends the name of something that was tested, but not in full."""


class UntestedReason(NamedTuple):
    """A reason, and all that was not tested because of it."""

    why: str
    whats: list[str]


class TargetResult(NamedTuple):
    """What a run saw of one target, or the trouble that prevented it.

    A scan of a server that cannot be connected to has both: the trouble, and what its URL shows.
    """

    target: str
    trouble: Trouble | None = None
    server: dict[str, str] = {}  # noqa: RUF012 (never mutated, like the other defaults)
    """The name and version that the server reports, if any."""
    protocol: str | None = None
    connection: dict[str, str | None] | None = None
    """Transport, era and requested revision of a live connection; None for a snapshot."""
    counts: dict[str, int] = {}  # noqa: RUF012
    """The numbers of tools, resources, templates and prompts."""
    findings: list[ReportedFinding] = []  # noqa: RUF012
    suppressed: list[ReportedFinding] = []  # noqa: RUF012
    scores: Scores = Scores()
    gates: list[Gate] = []  # noqa: RUF012
    fail_on: str = "error"
    untested: list[Untested] = []  # noqa: RUF012
    seconds: float = 0.0
    payload: Payload = LintPayload()
    """What this kind of run adds."""
    code_help: list[CodeHelp] = []  # noqa: RUF012
    """What to write in the server's code, for rules whose findings cannot be fixed in a file."""

    @property
    def is_judged(self) -> bool:
        """Whether there is anything to show besides the trouble."""
        return self.trouble is None or (self.payload.kind == "scan" and self.payload.trust is not None)

    @property
    def probes(self) -> list[ProbeResult]:
        """The probes that were sent or left out; empty for kinds of run without probes."""
        return self.payload.probes if isinstance(self.payload, ProbePayload | ProvePayload) else []

    @property
    def matrix(self) -> list[Cell]:
        """The contract matrix; empty for kinds of run without one."""
        return self.payload.matrix if self.payload.kind == "prove" else []

    @property
    def tests(self) -> list[TestResult]:
        """The tests of a suite; empty for other kinds of run."""
        return self.payload.tests if self.payload.kind == "suite" else []

    @property
    def called_tools(self) -> set[str]:
        """The names of the tools that were called."""
        if self.payload.kind == "fuzz":
            return {tool for tool, cases in self.payload.fuzzing.tools.items() if cases}
        probed = {each.tool for each in self.probes if each.outcome not in ("not_tested", "not_applicable")}
        shown = {cell.tool for cell in self.matrix if cell.verdict not in ("not tested", "not applicable")}
        return {tool for tool in probed if tool is not None} | shown

    @property
    def was_tested(self) -> bool:
        """Whether a run that calls the server judged anything."""
        if self.payload.kind == "fuzz":
            return self.payload.fuzzing.cases > 0
        if any(gate.gate == "tested" and not gate.passed for gate in self.gates):
            return False
        return any(each.passed is not None for each in self.probes) or any(
            cell.kept is not None for cell in self.matrix
        )

    @property
    def incomplete(self) -> str:
        """Why a run that calls the server has not tried everything, such as `interrupted`; empty if it has."""
        return next((str(gate.actual) for gate in self.gates if gate.gate == COMPLETE and not gate.passed), "")

    @property
    def failing(self) -> int:
        """How many findings are at or above the failing level."""
        return sum(self.fails(each) for each in self.findings)

    def fails(self, finding: ReportedFinding) -> bool:
        """Whether a finding is at or above the failing level."""
        if self.fail_on == "never":
            return False
        if self.fail_on == BROKEN:
            return finding.level == "error" and finding.rule.ruleset == "wire"
        return finding.level in LEVELS[: LEVELS.index(self.fail_on) + 1]

    @property
    def passed(self) -> bool:
        if self.trouble is not None or any(test.is_bad for test in self.tests):
            return False
        return not self.failing and all(gate.passed for gate in self.gates)

    @property
    def is_complete(self) -> bool:
        """Whether everything could be checked: no trouble, and no test that could not run."""
        return self.trouble is None and not any(test.outcome == "error" for test in self.tests)

    @property
    def title(self) -> str:
        """The server's own name and version, else the target."""
        return " ".join(self.server[key] for key in ("name", "version") if key in self.server) or self.target

    def levels(self) -> dict[Level, int]:
        """Return the number of findings of each level."""
        counted: dict[Level, int] = dict.fromkeys(LEVELS, 0)
        for each in self.findings:
            counted[each.rule.level] += 1
        return counted

    def by_rule(self) -> dict[str, int]:
        """Return the number of findings of each rule, sorted by id."""
        counted: dict[str, int] = {}
        for each in self.findings:
            counted[each.rule.id] = counted.get(each.rule.id, 0) + 1
        return dict(sorted(counted.items()))

    def untested_reasons(self) -> list[UntestedReason]:
        """Return what was not tested, by reason; everything is named once, with all reasons of the run.

        The reasons of probes and cells count only for tools that the run itself does not name.
        """
        reasons: dict[str, dict[str, None]] = {}
        whole: set[str] = set()
        for each in self.untested:
            what = each.what.removesuffix(IN_PART)
            reasons.setdefault(what, {})[each.why] = None
            if what == each.what:
                whole.add(what)
        named = set(reasons)
        parts = [
            (f"tool {each.tool}" if each.tool else each.probe, each.reason)
            for each in self.probes
            if each.outcome == "not_tested"
        ]
        parts += [(f"tool {cell.tool}", cell.reason) for cell in self.matrix if cell.verdict == "not tested"]
        for what, why in parts:
            if what not in named:
                reasons.setdefault(what, {})[why] = None
        tested = {f"tool {tool}" for tool in self.called_tools}
        grouped: dict[str, list[str]] = {}
        for what, whys in reasons.items():
            is_partial = what not in whole and (what in named or what in tested)
            why = "; ".join(whys) or "unknown reason"
            grouped.setdefault(why, []).append(f"{what}{IN_PART}" if is_partial else what)
        return [UntestedReason(why, whats) for why, whats in grouped.items()]


class RunResult(NamedTuple):
    """The result of one run of one command."""

    command: str
    """The word to print; renderers dispatch on `kind`."""
    version: str
    targets: list[TargetResult]
    rules: list[RuleFacts] = []  # noqa: RUF012
    """The rules that ran."""
    notices: list[Notice] = []  # noqa: RUF012
    exit_code: int = 0
    is_single: bool = True
    """Whether the user named one target, not several or a folder."""
    started: str = ""
    """The time in UTC."""
    seconds: float = 0.0
    configurations: list[AppliedConfiguration] = []  # noqa: RUF012

    @property
    def kind(self) -> Kind:
        """The kind of run; all targets of a run have the same."""
        return self.targets[0].payload.kind if self.targets else "lint"

    @property
    def trouble(self) -> Trouble | None:
        """The trouble of the only target, if there is one target."""
        return self.targets[0].trouble if self.is_single and self.targets else None

    @property
    def failed(self) -> list[TargetResult]:
        """The targets that could not be checked."""
        return [each for each in self.targets if each.trouble is not None]
