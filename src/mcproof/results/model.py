"""The run report as values: everything that a run saw, and all that a renderer may know.

It is built from a catalog and its findings, or read back from a stored report; no renderer can tell which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcproof.errors import McproofError
from mcproof.linting.finding import LEVELS, Level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.linting.suppression.ignores import Suppression


BROKEN = "broken"
"""What fails where a server was tried: what it did wrong itself, whatever is to be said about its catalog."""


class RuleFacts(NamedTuple):
    """What a report says about a rule, with the severity that it has in this run."""

    id: str
    name: str
    ruleset: str
    category: str
    severity: str
    level: Level
    fault: str | None
    fixable: bool
    needs_language_model: bool
    since: str
    summary: str
    why: str
    fix: str
    """What to do about a finding."""
    same_as: str | None = None
    """The id of the rule of another ruleset that says the same."""


class Snippet(NamedTuple):
    """The line that a finding is about, cropped around the place, with the part to point at."""

    text: str
    start: int
    end: int
    cut_before: bool
    """Whether the line goes on before `text`."""
    cut_after: bool


class TextEdit(NamedTuple):
    """A change of the file in terms of lines and columns; an insertion where it starts and ends at one place."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(NamedTuple):
    """What a machine can do about a finding: give the object that it points at this member."""

    key: str
    value: Any
    edit: TextEdit | None = None
    """The same as a change of the file; only where the report has identities."""


class Reported(NamedTuple):
    """A finding with its place."""

    rule: RuleFacts
    item: str
    """What it is about, as `kind:name`; the tool of a parameter."""
    item_pointer: str
    """Where that stands in the document."""
    subject: str
    pointer: str
    message: str
    evidence: dict[str, Any] | None
    file: str
    line: int | None
    column: int | None
    fix: Fix | None
    fingerprint: str = ""
    """An identity that survives moved lines and reordered tools, where somebody asked for it."""
    end_column: int | None = None
    """Where on its line the part to point at ends."""
    snippet: Snippet | None = None
    suppression: Suppression | None = None

    @property
    def level(self) -> Level:
        return self.rule.level

    @property
    def tool(self) -> str | None:
        return self.item.removeprefix("tool:") if self.item.startswith("tool:") else None

    @property
    def label(self) -> str:
        """The name of what it is about; empty for the server."""
        return self.item.partition(":")[2]

    @property
    def sentence(self) -> str:
        """The message, with whose it is in front."""
        return f"{self.label}: {self.message}" if self.label else self.message


class Deduction(NamedTuple):
    """What the findings of one rule cost."""

    rule: str
    severity: str
    """The scheme's word, which the points go by."""
    times: int
    points: int


class Gain(NamedTuple):
    """What mending every finding of one rule would do."""

    rule: str
    remedy: str
    points: int
    """By how much the score would rise."""
    cost: int
    """What the findings cost, which may be more where the score is at its floor."""
    grade: str


class Score(NamedTuple):
    """The grade and how it came about."""

    score: int
    grade: str
    word: str
    unclamped: int
    """The score before it is cut to the range from 0 to 100."""
    bonus: int
    short_descriptions: int
    """How many descriptions keep the bonus away."""
    is_empty: bool
    deductions: list[Deduction]
    gains: list[Gain]

    def findings_of(self, severity: str) -> int:
        return sum(each.times for each in self.deductions if each.severity == severity)


class Tokens(NamedTuple):
    """What the tools cost in the context of a model, by estimate."""

    total: int
    tools: dict[str, int]


class Weakness(NamedTuple):
    """A description that is worse than most, and what costs it most."""

    tool: str
    score: float
    reason: str


class Descriptions(NamedTuple):
    """How useful the descriptions of the tools are to an agent, each from 0 to 1."""

    tools: dict[str, float]
    weakest: list[Weakness]
    """The lowest few of those that lack something, the worst first."""

    @property
    def mean(self) -> float:
        return sum(self.tools.values()) / len(self.tools) if self.tools else 0.0


class Gate(NamedTuple):
    """A limit that was asked for."""

    gate: str
    limit: str | int
    actual: str | int
    passed: bool


class Untested(NamedTuple):
    """Something that this run cannot speak of, and why."""

    what: str
    why: str
    rules: tuple[str, ...] = ()
    """The ids of the rules, where it is about some."""

    @classmethod
    def of(cls, rules: Iterable[str], why: str) -> Untested:
        ids = tuple(rules)
        return cls(", ".join(ids), why, ids)


class ProbeResult(NamedTuple):
    """What one probe came to."""

    tool: str | None
    """The tool that was called; None for what concerns the server as a whole."""
    probe: str
    fault: str | None
    outcome: str
    """`rejected`, `accepted`, `hang`, `crash`, `malformed`; or `not_applicable`, `not_tested`."""
    passed: bool | None
    """None where nothing was judged: not applicable, not tested, exploratory, or the valid call itself."""
    reason: str = ""
    """Why it is not applicable or not tested; else what was sent and what came of it, in words."""
    is_exploratory: bool = False
    """Whether it asks for something that the schema does not promise."""
    request: str = ""
    """The parameters as they were sent, cropped."""
    answer: str = ""
    """The answer as it came, cropped; or why there is none."""


Verdict = Literal["proven", "broken promise", "hidden rule", "open", "not tested", "not applicable"]


class Cell(NamedTuple):
    """One fault of one tool in the contract matrix."""

    tool: str
    fault: str
    declared: bool | None
    """Whether the schema promises it; None where there is nothing to promise."""
    kept: bool | None
    """Whether the server refuses it; None where nobody knows."""
    verdict: Verdict
    reason: str = ""
    is_doubtful: bool = False
    """Whether the valid call fails as well, so that a refusal proves little."""
    predicted_by: tuple[str, ...] = ()
    """The ids of the static rules that said so before anything was sent."""


class Failure(NamedTuple):
    """A case that failed, and how to send it again."""

    id: str
    tool: str | None
    outcome: str
    """`crash`, `hang`, `protocol_violation`, `leak` or `accepted`."""
    arguments: Any
    """What was sent, as small as it could be made; long texts are cropped."""
    replay: str
    """The command that sends it again."""
    what: str = ""
    """What is wrong about the answer, in words."""
    times: int = 1
    """How many cases came to the same."""


class Fuzzing(NamedTuple):
    """What fuzzing came to."""

    seed: int
    cases: int
    """How many cases were sent; what shrinking and blaming sent is not counted."""
    outcomes: dict[str, int]
    """How many cases had each outcome: clean, accepted, crash, hang, protocol_violation; and, beside those, leak."""
    failures: list[Failure]
    tools: dict[str, int] = {}  # noqa: RUF012 (a default that nobody changes)
    """How many cases each tool was called with."""


TestOutcome = Literal["passed", "failed", "error", "skipped", "not_applicable"]


class TestFailure(NamedTuple):
    """One expectation of a test that was not met."""

    target: str
    """Which value it is about; empty where it is about the test as a whole."""
    message: str
    expected: str = ""
    got: str = ""
    """Both cropped."""
    line: int | None = None
    """Where the expectation stands, in the file of its test."""


class TestResult(NamedTuple):
    """What one test of a suite came to."""

    name: str
    block: str
    """`tools`, `resources`, `prompts`, `tool_quality`; `negative_path` or `fuzz` for a block in a test; `setup` or
    `teardown` for a step that failed."""
    server: str
    outcome: TestOutcome
    """`failed` is the server's fault; `error` says that the test could not be made."""
    message: str = ""
    """Why it did not pass, in one line."""
    failures: tuple[TestFailure, ...] = ()
    file: str | None = None
    line: int | None = None
    seconds: float = 0.0
    detail: str = ""
    """More lines about it, such as the end of what a server wrote that could not be started; told with the first test
    that needs it."""

    @property
    def label(self) -> str:
        """The name, with the part of the test that it is about where that is not the test itself."""
        return f"{self.name} ({self.block})" if self.block in ("negative_path", "fuzz") else self.name


class Notice(NamedTuple):
    """Something that somebody should know: of the configuration, the baseline, a comment, the source or a server."""

    kind: str
    """`unused-ignore`, `bad-ignore` (a comment that cannot be read), `not-checked` (a part of the source that nothing
    can be said about), `noise-on-stdout` (of a server in a suite), or `stale-baseline`, which fails the run."""
    message: str
    file: str
    line: int | None

    @property
    def level(self) -> Level:
        return "error" if self.kind == "stale-baseline" else "note" if self.kind == "not-checked" else "warning"

    def __str__(self) -> str:
        return _placed(self.message, self.file, self.line)


class Trouble(NamedTuple):
    """Why a target, or the whole job, could not be done."""

    message: str
    file: str | None
    line: int | None
    column: int | None

    @classmethod
    def of(cls, error: McproofError) -> Trouble:
        return cls(error.message, error.file, error.line, error.column)

    def as_error(self) -> McproofError:
        """The error that this was, for a command that cannot go on."""
        return McproofError(self.message, file=self.file, line=self.line, column=self.column)

    def __str__(self) -> str:
        return _placed(self.message, self.file, self.line, self.column)


def _placed(message: str, *place: str | int | None) -> str:
    """A sentence with the place that it is about in front."""
    where = ":".join(str(part) for part in place if part is not None)
    return f"{where}: {message}" if where else message


class TargetReport(NamedTuple):
    """What a run saw of one target: a judgement, or the trouble that kept it from one."""

    target: str
    trouble: Trouble | None = None
    server: dict[str, str] = {}  # noqa: RUF012 (a default that nobody changes)
    """The name and the version that the server gives itself, as far as it does."""
    protocol: str | None = None
    connection: dict[str, str | None] | None = None
    """How a live server was spoken to: transport, era, the revision asked for; None for a snapshot."""
    counts: dict[str, int] = {}  # noqa: RUF012
    """How many tools, resources, templates and prompts were looked at."""
    findings: list[Reported] = []  # noqa: RUF012
    suppressed: list[Reported] = []  # noqa: RUF012
    score: Score | None = None
    tokens: Tokens | None = None
    descriptions: Descriptions | None = None
    gates: list[Gate] = []  # noqa: RUF012
    fail_on: str = "error"
    untested: list[Untested] = []  # noqa: RUF012
    seconds: float = 0.0
    compared_with: str | None = None
    """The older catalog that a comparison started from."""
    polish: int | None = None
    """The polish score, where all rules behind it ran."""
    probes: list[ProbeResult] = []  # noqa: RUF012
    matrix: list[Cell] = []  # noqa: RUF012
    fuzzing: Fuzzing | None = None
    tests: list[TestResult] = []  # noqa: RUF012
    """The tests of a suite, in its order."""

    @property
    def failing(self) -> int:
        """How many findings are at or above the level that fails."""
        return sum(self.fails(each) for each in self.findings)

    def fails(self, finding: Reported) -> bool:
        """Whether a finding is at or above the level that fails."""
        if self.fail_on == "never":
            return False
        if self.fail_on == BROKEN:
            return finding.level == "error" and finding.rule.ruleset == "wire"
        return finding.level in LEVELS[: LEVELS.index(self.fail_on) + 1]

    @property
    def passed(self) -> bool:
        if self.trouble is not None or any(test.outcome in ("failed", "error") for test in self.tests):
            return False
        return not self.failing and all(gate.passed for gate in self.gates)

    @property
    def title(self) -> str:
        """What to call it: the server's own name and version, or else the target."""
        return " ".join(self.server[key] for key in ("name", "version") if key in self.server) or self.target

    def levels(self) -> dict[Level, int]:
        """How many findings each level has."""
        counted: dict[Level, int] = dict.fromkeys(LEVELS, 0)
        for each in self.findings:
            counted[each.rule.level] += 1
        return counted

    def by_rule(self) -> dict[str, int]:
        """How many findings each rule has, in the order of the ids."""
        counted: dict[str, int] = {}
        for each in self.findings:
            counted[each.rule.id] = counted.get(each.rule.id, 0) + 1
        return dict(sorted(counted.items()))


class RunReport(NamedTuple):
    """One run of one command."""

    command: str
    version: str
    targets: list[TargetReport]
    rules: list[RuleFacts] = []  # noqa: RUF012
    """The rules that ran."""
    notices: list[Notice] = []  # noqa: RUF012
    exit_code: int = 0
    is_single: bool = True
    """Whether the user spoke of one target, as opposed to several or a folder of them."""
    started: str = ""
    """When, in UTC."""
    seconds: float = 0.0

    @property
    def trouble(self) -> Trouble | None:
        """Why the job could not be done, where it is about one target or none."""
        return self.targets[0].trouble if self.is_single and self.targets else None

    @property
    def failed(self) -> list[TargetReport]:
        """The targets that could not be checked."""
        return [each for each in self.targets if each.trouble is not None]


class Group(NamedTuple):
    """What people see once: a finding, and the ids of other rules that say the same of the same place."""

    shown: Reported
    also: list[str]


def _urgency(each: Reported) -> tuple[int, bool, bool]:
    """Which of findings that say the same is shown: the most serious, one with a fix, one that is no mere polish."""
    return LEVELS.index(each.rule.level), each.fix is None, each.rule.ruleset == "polish"


def group_by_fault(findings: Iterable[Reported]) -> list[Group]:
    """Put findings together that report one fault at one place, the most serious in front, and of these one with a fix.

    So are those of rules that say the same. What a live server did stands in no place: there, each finding tells of
    something else.
    """
    groups: dict[tuple[object, ...], list[Reported]] = {}
    all_findings = list(findings)
    repeated = {each.rule.same_as for each in all_findings}
    for number, each in enumerate(all_findings):
        rule = each.rule
        fault = rule.fault if rule.ruleset != "wire" else None
        said = fault or rule.same_as or (rule.id if rule.id in repeated else None)
        groups.setdefault((number,) if said is None else (said, each.item_pointer, each.pointer), []).append(each)
    result = []
    for members in groups.values():
        shown = min(members, key=_urgency)
        result.append(Group(shown, [each.rule.id for each in members if each is not shown]))
    return result
