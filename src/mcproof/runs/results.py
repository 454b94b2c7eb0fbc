"""The result of a run: what it saw of each target, and what each kind of run adds to it.

Results are plain values without rendering. Renderers and the stored form dispatch on the `kind` of the payload. A
target that could not be checked has its trouble instead.
Why one result serves all formats: docs/decisions/0013-one-result-many-formats.md.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcproof.checks.findings import LEVELS, Level, ReportedFinding, RuleSummary
from mcproof.core.errors import McproofError, Notice, Untested, located
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.stored_form import Count, Position, Text, member, record

if TYPE_CHECKING:
    from mcproof.checks.clients.verdicts import ClientOutcome, Improvement
    from mcproof.checks.fixes.snippets import CodeHelp
    from mcproof.checks.scores.grade import Grade, NotJudged
    from mcproof.checks.scores.tokens import TokenCost
    from mcproof.checks.scores.trust import Trust
    from mcproof.checks.subjects import CatalogDrift
    from mcproof.checks.texts.tool_graph import ToolGraph
    from mcproof.core.catalog.model import Catalog
    from mcproof.probing.outcomes import Cell, Fuzzing, ProbeResult
    from mcproof.probing.probes.failures import StoredFailure
    from mcproof.probing.replay import ReplayResult
    from mcproof.runs.requests import Method
    from mcproof.targets.arguments import Input
    from mcproof.testing.outcomes import TestResult
    from mcproof.testing.suites.regression import RegressionTest


Kind = Literal["lint", "grade", "compat", "scan", "check", "diff", "probe", "prove", "fuzz", "suite"]


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
    source: str = ""
    """The source that was read besides a started server; empty for none."""
    kind: Literal["scan"] = "scan"


LEFT_TO_SCAN = "`mcproof scan` connects several times to observe it"
"""Why `check` does not observe what differs from one connection to the next."""


@record()
class Edit(NamedTuple):
    """Something to change, and what it gains."""

    what: Text
    """What to do, in a phrase."""
    why: str
    """What is gained."""
    place: str
    """Where, in words: a file and a line as far as they are known, or the tool."""
    snippet: str
    """What to write there, for the framework of the server; empty if that depends on the code."""
    rules: list[Text]
    """The ids of the rules whose findings it fixes."""


class CheckPayload(NamedTuple):
    """What a server is like as a whole; grade and tokens are among the scores."""

    clients: CompatPayload = CompatPayload()
    trust: ScanPayload = ScanPayload()
    proof: ProvePayload | None = None
    """The promises of the schemas; None if no tool was to be called."""
    edits: list[Edit] = []  # noqa: RUF012 (never mutated)
    """What to change, the most helpful edit first."""
    framework: str = ""
    """The framework that the server is written with, as far as it is known."""
    kind: Literal["check"] = "check"


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
    | CheckPayload
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
    "check": CheckPayload(),
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


Share = Annotated[float, member(minimum=0, maximum=1)]


@record()
class Weakness(NamedTuple):
    tool: str
    """The tool's name."""
    score: Share
    """Its score."""
    reason: str
    """The costliest flaw."""


@record()
class Descriptions(NamedTuple):
    """The scores of descriptions, from 0 to 1."""

    tools: dict[str, Share]
    """The score of each tool's description, by the tool's name."""
    weakest: list[Weakness]
    """The lowest few, the worst first."""

    @property
    def mean(self) -> float:
        return sum(self.tools.values()) / len(self.tools) if self.tools else 0.0


class Scores(NamedTuple):
    """The scores of a target; None for each that was not computed."""

    grade: Grade | None = None
    tokens: TokenCost | None = None
    descriptions: Descriptions | None = None
    polish: int | None = None
    """The polish score; computed only if all of its rules ran."""


COMPLETE = "complete"
"""The gate of runs that call a server: they have tried everything."""
BROKEN = "broken"
"""The `fail_on` of runs that call a server: only errors in its behaviour fail, not findings about its catalog."""


@record()
class AppliedConfiguration(NamedTuple):
    """A configuration that changed what was checked."""

    # It may come from a stranger, or from a folder above.
    file: Text
    """The file."""
    keys: Annotated[list[Text], member(minItems=1)]
    """The keys that applied to the run."""

    def __str__(self) -> str:
        return f"settings: {self.file} ({', '.join(self.keys)})"


@record()
class Trouble(NamedTuple):
    """The error that prevented the run."""

    message: Text
    """The problem and its remedy, in one sentence."""
    file: Text | None
    """The file, or None."""
    line: Position | None
    """The line in that file, counted from 1, or None."""
    column: Position | None
    """The column in that line, in characters, counted from 1, or None."""

    @classmethod
    def of(cls, error: McproofError) -> Trouble:
        return cls(error.message, error.file, error.line, error.column)

    def as_error(self) -> McproofError:
        """Return it as an exception, for a command that cannot continue."""
        return McproofError(self.message, file=self.file, line=self.line, column=self.column)

    def __str__(self) -> str:
        return located(self.message, self.file, self.line, self.column)


@record()
class Gate(NamedTuple):
    """A limit that the user set or that the kind of run has, and whether the target meets it."""

    gate: str
    limit: str | int
    actual: str | int
    passed: bool


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


INJECTIONS = "injections"
"""What `lint` does not look for, although it reads source."""
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
    """How long reading, calling and judging it took."""
    payload: Payload = LintPayload()
    """What this kind of run adds."""
    code_help: list[CodeHelp] = []  # noqa: RUF012
    """What to write in the server's code, for rules whose findings cannot be fixed in a file."""
    not_judged: NotJudged | None = None
    """What of source is not known, so that it was not judged."""

    @property
    def is_judged(self) -> bool:
        """Whether there is anything to show besides the trouble."""
        return self.trouble is None or self.trust is not None

    @property
    def clients(self) -> CompatPayload | None:
        """What each client makes of the server; None for kinds of run without clients."""
        payload = self.payload.clients if self.payload.kind == "check" else self.payload
        return payload if payload.kind == "compat" else None

    @property
    def scan(self) -> ScanPayload | None:
        """Whether to trust the server; None for other kinds of run."""
        payload = self.payload.trust if self.payload.kind == "check" else self.payload
        return payload if payload.kind == "scan" else None

    @property
    def trust(self) -> Trust | None:
        """The trust score and the verdict; None if it was not judged."""
        return None if self.scan is None else self.scan.trust

    @property
    def proof(self) -> ProbePayload | ProvePayload | None:
        """The probes of the server; None for kinds of run without probes."""
        payload = self.payload.proof if self.payload.kind == "check" else self.payload
        return payload if isinstance(payload, ProbePayload | ProvePayload) else None

    @property
    def probes(self) -> list[ProbeResult]:
        """The probes that were sent or left out; empty for kinds of run without probes."""
        return [] if self.proof is None else self.proof.probes

    @property
    def matrix(self) -> list[Cell]:
        """The contract matrix; empty for kinds of run without one."""
        return self.proof.matrix if isinstance(self.proof, ProvePayload) else []

    @property
    def tests(self) -> list[TestResult]:
        """The tests of a suite; empty for other kinds of run."""
        return self.payload.tests if self.payload.kind == "suite" else []

    @property
    def called_tools(self) -> set[str]:
        """The names of the tools that were called."""
        if self.payload.kind == "fuzz":
            fuzzing = self.payload.fuzzing
            return {*fuzzing.called, *(tool for tool, cases in fuzzing.tools.items() if cases)}
        probed = {probe.tool for probe in self.probes if probe.outcome not in ("not_tested", "not_applicable")}
        shown = {cell.tool for cell in self.matrix if cell.verdict not in ("not tested", "not applicable")}
        return {tool for tool in probed if tool is not None} | shown

    @property
    def was_tested(self) -> bool:
        """Whether a run that calls the server judged anything."""
        if self.payload.kind == "fuzz":
            return self.payload.fuzzing.cases > 0
        if any(gate.gate == "tested" and not gate.passed for gate in self.gates):
            return False
        return any(probe.passed is not None for probe in self.probes) or any(
            cell.kept is not None for cell in self.matrix
        )

    @property
    def incomplete(self) -> str:
        """Why a run that calls the server has not tried everything, such as `interrupted`; empty if it has."""
        return next((str(gate.actual) for gate in self.gates if gate.gate == COMPLETE and not gate.passed), "")

    @property
    def failing(self) -> int:
        """How many findings are at or above the failing level."""
        return sum(map(self.fails, self.findings))

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

    @property
    def judged(self) -> Judged:
        """How much of what a command exists to judge was judged."""
        payload, tools = self.payload, self.counts.get("tools", 0)
        if payload.kind == "suite":
            ran = sum(test.outcome in ("passed", "failed") for test in payload.tests)
            due = sum(test.outcome != "not_applicable" for test in payload.tests)
            return Judged(ran, due, "test", "ran", is_anything=bool(ran))
        called = self.called_tools
        if payload.kind == "fuzz":
            reached = sum(tool in payload.fuzzing.reached for tool in called)
            verb = "reached by a valid call"
            return Judged(reached, len(called), "called tool", verb, is_anything=bool(called))
        if self.proof is None:
            unknown = 0 if self.not_judged is None else self.not_judged.tools
            return Judged(tools - unknown, tools, "tool")
        is_anything = bool(called) if tools else self.was_tested
        if payload.kind == "probe":
            probes = [
                probe.passed
                for probe in payload.probes
                if probe.outcome != "not_applicable" and not probe.is_exploratory and probe.probe != "baseline"
            ]
            return Judged(len(probes) - probes.count(None), len(probes), "probe", is_anything=is_anything)
        from mcproof.probing.outcomes import promises

        counts = promises(self.matrix)
        return Judged(counts.kept + counts.broken, counts.declared, "promise", is_anything=is_anything)

    @property
    def is_inconclusive(self) -> bool:
        """Whether a target that did not fail was judged too little to pass."""
        return self.trouble is None and self.passed and not self.judged.is_enough

    def levels(self) -> dict[Level, int]:
        """Return the number of findings of each level."""
        counted: dict[Level, int] = dict.fromkeys(LEVELS, 0)
        for finding in self.findings:
            counted[finding.rule.level] += 1
        return counted

    def by_rule(self) -> dict[str, int]:
        """Return the number of findings of each rule, sorted by id."""
        return dict(sorted(Counter(finding.rule.id for finding in self.findings).items()))

    def untested_reasons(self) -> list[UntestedReason]:
        """Return what was not tested, by reason; everything is named once, with all reasons of the run.

        The reasons of probes and cells count only for tools that the run itself does not name.
        """
        reasons: dict[str, dict[str, None]] = {}
        whole: set[str] = set()
        for part in self.untested:
            claim = part.what.removesuffix(IN_PART)
            reasons.setdefault(claim, {})[part.why] = None
            if claim == part.what:
                whole.add(claim)
        named = set(reasons)
        parts = [
            (f"tool {probe.tool}" if probe.tool else probe.probe, probe.reason)
            for probe in self.probes
            if probe.outcome == "not_tested"
        ]
        parts += [(f"tool {cell.tool}", cell.reason) for cell in self.matrix if cell.verdict == "not tested"]
        for claim, why in parts:
            if claim not in named:
                reasons.setdefault(claim, {})[why] = None
        tested = {f"tool {tool}" for tool in self.called_tools}
        grouped: dict[str, list[str]] = {}
        for claim, whys in reasons.items():
            is_partial = claim not in whole and (claim in named or claim in tested)
            why = "; ".join(whys) or "unknown reason"
            grouped.setdefault(why, []).append(f"{claim}{IN_PART}" if is_partial else claim)
        return [UntestedReason(why, claims) for why, claims in grouped.items()]


class RunResult(NamedTuple):
    """The result of one run of one command."""

    command: str
    """The word to print; renderers dispatch on `kind`."""
    version: str
    targets: list[TargetResult]
    rules: list[RuleSummary] = []  # noqa: RUF012
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
        return [result for result in self.targets if result.trouble is not None]


class CatalogRead(NamedTuple):
    """A target whose catalog was read, or the reason why it was not."""

    source: Input
    catalog: Catalog | None
    trouble: McproofError | None = None


class ReplayOutcome(NamedTuple):
    """A stored failure that was sent again, or added to a suite."""

    failed: StoredFailure
    replayed: ReplayResult | None = None
    test: RegressionTest | None = None


class SingleResponse(NamedTuple):
    """What was sent to a server, and its response, without secrets."""

    target: str
    method: Method
    params: dict[str, Any]
    result: Any
    """None for an error."""
    error: dict[str, Any] | None
    seconds: float
    asked: list[dict[str, Any]] = []  # noqa: RUF012 (never mutated)
    """What the server asked before it responded, with the replies."""
    notifications: list[dict[str, Any]] = []  # noqa: RUF012 (never mutated)
    """What the server reported before it responded: log messages, progress, changed lists."""
    unanswered: str = ""
    """The first question without an answer, in words."""

    @property
    def failure(self) -> str:
        """Why the request failed, in words; empty if it did not."""
        from mcproof.client.questions import asks_for_input
        from mcproof.client.session import reports_error

        if self.unanswered:
            return f"the server {self.unanswered}"
        if self.error is not None:
            code, message = self.error.get("code"), self.error.get("message")
            described = f"{message} ({code})" if isinstance(code, int) else str(message)
            return f"the server responds with an error: {cropped(described)}"
        result = self.result if isinstance(self.result, dict) else {}
        if reports_error(result):
            return "the tool reports an error (`isError`)"
        if asks_for_input(result):
            return "the server asks for more input"
        return ""


LockStatus = Literal["new", "unchanged", "changed", "dropped"]


class LockedTarget(NamedTuple):
    """What locking did to a target."""

    target: str
    status: LockStatus
    hash: str
    """Of the surface; empty if the target was dropped."""
    counts: dict[str, int]
    drift: CatalogDrift | None = None
    """How it differs from what was locked before, if anything was."""


class LockOutcome(NamedTuple):
    """The lock that was written, and what changed in it."""

    file: str
    targets: list[LockedTarget]
    is_written: bool = True
    """Whether it was written, and not only compared."""

    @property
    def is_equal(self) -> bool:
        """Whether every target offers what was locked."""
        return all(target.status == "unchanged" for target in self.targets)
