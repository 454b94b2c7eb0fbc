"""Run requests: the typed, frozen input of every kind of run, and which function runs each.

The command line, `mcproof.api` and the services build requests; `runs.execute` runs them. Nothing else passes options
on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from mcproof.checks.rule import RULESETS
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import MAX_CALLS
from mcproof.runs.results import BROKEN
from mcproof.targets.arguments import Input, LiveOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.client.questions import AnswerSource
    from mcproof.runs.config import Settings
    from mcproof.targets.client_config import ConfiguredServer


class CatalogDocument(NamedTuple):
    """A catalog that is already in memory, as JSON text."""

    name: str
    data: bytes


class TargetSelection(NamedTuple):
    """The targets of a run, and how to reach the live servers among them."""

    names: tuple[str, ...] = ()
    """Paths, URLs, `FILE.json#NAME`, `-`, or names from the configuration."""
    live: LiveOptions = LiveOptions()
    servers: tuple[ConfiguredServer, ...] = ()
    """Live servers that a configuration names, to be reached although no name is typed."""
    documents: tuple[CatalogDocument, ...] = ()
    inputs: tuple[Input, ...] = ()
    """What the caller has found or read in its own way, such as the text in an editor."""
    timeout: float | None = None
    """Seconds to wait for a response; None for the configured or default limit."""
    start_timeout: float | None = None
    """Seconds from the start of a server to its first response; None for the default limit."""
    protocol: str | None = None
    """The protocol revision to speak; None to negotiate."""
    answers: AnswerSource | None = None
    """Answers to the questions of live servers; None to decline them."""

    @property
    def is_empty(self) -> bool:
        return not (self.names or self.servers or self.live.command or self.documents or self.inputs)


class RunSession(NamedTuple):
    """What a caller of several runs has besides the files."""

    # Nothing of a run is kept for the next: a plan takes 0.1 ms, and 1.5 with a configuration to read.
    contents: Mapping[str, bytes] = {}
    """The unsaved texts of an editor, by absolute path."""
    start: float = 0.0
    """When the run began, by the monotonic clock."""


class RuleSelection(NamedTuple):
    """The rules to run; empty fields leave the choice to the configuration and the kind of run."""

    rulesets: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


class SettingsSource(NamedTuple):
    """Where the settings of a run come from: one file, no file, or the nearest file above each target."""

    file: str | None = None
    is_disabled: bool = False
    top: str | None = None
    """The highest folder that is searched; None for no limit."""

    def given(self) -> Settings | None:
        """The settings for every target, if a file is named or configuration is disabled."""
        from mcproof.runs.config import DEFAULTS, read_settings

        if self.file is not None:
            return read_settings(self.file)
        return DEFAULTS if self.is_disabled else None

    def here(self) -> Settings:
        """The settings for the working directory."""
        from mcproof.runs.config import settings_for

        return self.given() or settings_for(os.curdir)


class Policy(NamedTuple):
    """What a run accepts, and what fails it."""

    settings: SettingsSource = SettingsSource()
    fail_on: str | None = None
    """The lowest level that fails; None for the configured or default level."""
    baseline: str | None = None
    updates_baseline: bool = False
    requires_conclusive: bool = False
    """Whether a target of which less than half was judged fails the run."""


class Detail(NamedTuple):
    """The optional parts of a result. Formats differ in what they need, and each part takes time."""

    lines: bool = False
    """The source line of each finding."""
    identities: bool = False
    """Fingerprints, and fixes as text edits."""
    scores: bool = False
    """The grade, the token cost and the description scores."""
    positions: bool = True
    """Where findings are in a document; a sweep only counts them."""


class GivenArguments(NamedTuple):
    """Valid arguments for a tool, to use instead of generated ones."""

    tool: str | None
    """None for the only tool that may be called."""
    values: Mapping[str, Any]


class CallOptions(NamedTuple):
    """The tools to call, and how."""

    tools: tuple[str, ...] = ()
    """Names or glob patterns; empty for all tools."""
    allow: tuple[str, ...] = ()
    """Names or glob patterns of tools to call although they may change something."""
    deny: tuple[str, ...] = ()
    """Names or glob patterns of tools that are never called."""
    allow_writes: bool = False
    """Whether to call every tool, also those that may change something."""
    arguments: tuple[GivenArguments, ...] = ()
    limit: float = 10.0
    """Seconds after which a call counts as a hang."""
    template: str | None = None
    """A file to write valid arguments of each tool to, for the user to edit and to give."""
    stores_failures: bool = True
    """Whether to store failures in `.mcproof`, for `mcproof replay`."""


class LintRequest(NamedTuple):
    """Check catalogs against rules."""

    targets: TargetSelection
    rules: RuleSelection = RuleSelection()
    policy: Policy = Policy()
    detail: Detail = Detail()
    clients: tuple[str, ...] = ()
    """The clients that matter, as `NAME` or `NAME@VERSION`; empty for those of the configuration."""
    locked: bool = False
    """Whether to compare with the lock, and fail on any difference."""
    against: str | None = None
    """An earlier capture to compare with."""


class SchemaLintRequest(LintRequest):
    """Check how strictly input schemas constrain a call."""

    __slots__ = ()


class FixRequest(NamedTuple):
    """Fix the findings of a check."""

    check: LintRequest | CompatRequest
    keep_optional: bool = False
    """Whether parameters with a default, or that admit null, stay out of a new `required` list."""
    is_dry_run: bool = False
    """Whether the findings still count, because the fixes are only shown."""
    writes: bool = False
    """Whether to replace the files."""


class GradeRequest(NamedTuple):
    """Grade catalogs from A to F."""

    targets: TargetSelection
    min_grade: str | None = None
    max_tokens: int | None = None
    policy: Policy = Policy()
    detail: Detail = Detail()


class CompatRequest(NamedTuple):
    """Judge catalogs client by client."""

    targets: TargetSelection
    clients: tuple[str, ...] = ()
    """The clients to report on, as `NAME` or `NAME@VERSION`; empty for all."""
    server_key: str = ""
    """The server's name in client configurations; empty for the name it reports."""
    require: tuple[str, ...] = ()
    """Clients in which the server must not break."""
    min_clients: int | None = None
    policy: Policy = Policy()
    detail: Detail = Detail()


class ScanRequest(NamedTuple):
    """Judge whether an agent may connect to a server."""

    targets: TargetSelection
    rules: RuleSelection = RuleSelection()
    fails_on: str = "block"
    """The least bad verdict that fails: `review` or `block`."""
    deep: bool = False
    """Whether to call read-only tools."""
    locked: bool = False
    """Whether to compare with the lock file, and fail on any difference."""
    against: str | None = None
    """A capture to compare with."""
    judge: str | None = None
    """The base URL of a model that judges the texts of tools, as OpenAI's API has it."""
    judge_model: str = "default"
    judge_key: str | None = None
    """The name of the environment variable with its key."""
    judge_record: str | None = None
    """A file with judgements, which are not asked for again."""
    policy: Policy = Policy()
    detail: Detail = Detail()


class CheckRequest(NamedTuple):
    """Judge a server as a whole: grade, clients, trust and, by calls, the promises of its schemas."""

    targets: TargetSelection
    min_grade: str | None = None
    fails_on: str = "block"
    """The least bad verdict that fails: `review` or `block`."""
    min_clients: int | None = None
    clients: tuple[str, ...] = ()
    """The clients that matter, as `NAME` or `NAME@VERSION`: what breaks there is an error."""
    is_static: bool = False
    """Whether no tool is called."""
    calls: CallOptions = CallOptions()
    max_seconds: float = 30.0
    """How long the tools are called."""
    policy: Policy = Policy()
    detail: Detail = Detail()

    @property
    def proof(self) -> ProveRequest:
        """The request that proves the promises of a server."""
        # One process: a check starts a server no more often than it must.
        return ProveRequest(
            self.targets,
            calls=self.calls,
            max_seconds=self.max_seconds,
            policy=self.policy,
            detail=self.detail,
            processes=1,
        )


class LockRequest(NamedTuple):
    """Lock the surface of servers as it is now."""

    targets: TargetSelection
    policy: Policy = Policy()
    detail: Detail = Detail()
    only_checks: bool = False
    """Whether to compare with the lock and write nothing."""


class ProbeRequest(NamedTuple):
    """Send a live server bad requests, and check that it rejects them."""

    targets: TargetSelection
    calls: CallOptions = CallOptions()
    checks: tuple[str, ...] = ()
    """The probes to send; empty for all."""
    max_seconds: float | None = None
    oversize: int = 1024 * 1024
    """The length of the oversized string, in bytes."""
    policy: Policy = Policy()
    detail: Detail = Detail()
    max_calls: int = MAX_CALLS
    """How many probes `prove` sends to a tool."""
    is_strict: bool = False
    """Whether `prove` also holds against a server that it converts values of a wrong type."""
    security: bool = False
    """Whether `prove` sends hostile arguments, too."""
    processes: int | None = None
    """How many server processes are probed at once; None for the default."""


class ProveRequest(ProbeRequest):
    """Probe a live server, and compare the contract its schemas declare with the one it keeps."""

    __slots__ = ()


class FuzzRequest(NamedTuple):
    """Call the tools of a live server with generated arguments."""

    targets: TargetSelection
    calls: CallOptions = CallOptions()
    seed: int = 0
    cases: int = 200
    """Cases per tool."""
    max_seconds: float | None = None
    is_strict: bool = False
    """Whether an accepted invalid call fails the run."""
    security: bool = False
    """Whether to send hostile arguments, too."""
    processes: int | None = None
    policy: Policy = Policy()
    detail: Detail = Detail()


class SuiteRequest(NamedTuple):
    """Run suites of tests."""

    files: tuple[str, ...]
    tests: tuple[tuple[str, str], ...] = ()
    """Files and names of tests: of these files, run only these tests."""
    filter: str = ""
    """Run only tests with this text in their names."""
    keyword: str = ""
    """Run only tests whose names and tags meet this expression, as with pytest's `-k`."""
    tags: tuple[str, ...] = ()
    """Run only tests with one of these tags."""
    fail_fast: bool = False
    retries: int = 0
    timeout: float | None = None
    """Seconds to wait for a response where the suite sets no limit."""
    start_timeout: float | None = None
    """Seconds from the start of a server to its first response where the suite sets no limit."""
    update_snapshots: bool = False


class DiffRequest(NamedTuple):
    """Compare two catalogs."""

    old: TargetSelection
    new: TargetSelection
    fail_on: str = "error"
    settings: SettingsSource = SettingsSource()


Method = Literal["tools/call", "resources/read", "prompts/get"]


class SingleRequest(NamedTuple):
    """Send a live server one request: call a tool, read a resource, get a prompt."""

    targets: TargetSelection
    method: Method
    item: str
    """The name of the tool or prompt, or the URI of the resource."""
    arguments: Mapping[str, Any] = {}
    pairs: tuple[tuple[str, str], ...] = ()
    """Arguments as text, to be typed by the schema of the tool."""
    is_checked: bool = True
    """Whether an unknown item or invalid arguments are an error before anything is sent."""
    user: Callable[[AnswerSource | None, Callable[[str], str]], AnswerSource] | None = None
    """Makes a source of answers that asks the user what another source does not answer; it hides secrets by itself."""
    settings: SettingsSource = SettingsSource()


class CaptureRequest(NamedTuple):
    """Read the catalog of one target, and judge nothing."""

    targets: TargetSelection
    settings: SettingsSource = SettingsSource()
    is_part_allowed: bool = False
    """Whether a server need not serve all that it declares."""


class ReadRequest(NamedTuple):
    """Read the catalogs of targets of which some may fail; a source file is what it defines itself."""

    targets: TargetSelection
    settings: SettingsSource = SettingsSource()


class ReplayRequest(NamedTuple):
    """Send a stored failure again."""

    id: str
    """Its id, or the beginning of it."""
    targets: TargetSelection
    """The server to send it to; empty for the one that failed."""
    is_trusted: bool = False
    """Whether the server that its file names is started, although somebody else stored it."""
    suite: str | None = None
    """The suite to add the failure to as a test, instead of sending it."""
    settings: SettingsSource = SettingsSource()


CatalogRequest = LintRequest | GradeRequest | CompatRequest | ScanRequest | CheckRequest | ProbeRequest | FuzzRequest
"""The requests that check catalogs against rules."""
RunRequest = CatalogRequest | FixRequest | SuiteRequest | DiffRequest
"""The requests whose result is that of a run."""

RUNNERS: Mapping[type, str] = {
    LintRequest: "mcproof.runs.lint:check_targets",
    SchemaLintRequest: "mcproof.runs.lint:check_targets",
    GradeRequest: "mcproof.runs.lint:check_targets",
    CompatRequest: "mcproof.runs.compat:check_clients",
    ScanRequest: "mcproof.runs.scan:scan_targets",
    CheckRequest: "mcproof.runs.check:check_servers",
    FixRequest: "mcproof.runs.fix:fix_targets",
    DiffRequest: "mcproof.runs.diff:diff_catalogs",
    LockRequest: "mcproof.runs.diff:lock_targets",
    ProbeRequest: "mcproof.runs.prove:call_server",
    ProveRequest: "mcproof.runs.prove:call_server",
    FuzzRequest: "mcproof.runs.prove:call_server",
    SuiteRequest: "mcproof.runs.suites:run_suites",
    SingleRequest: "mcproof.runs.call:send",
    CaptureRequest: "mcproof.runs.loop:read_target",
    ReadRequest: "mcproof.runs.loop:read_targets",
    ReplayRequest: "mcproof.runs.replay:replay_failure",
}
"""The module and function of each kind of run. They are strings, because `lint` must start without the others."""


class RunKind(NamedTuple):
    """What a kind of run checks by default."""

    command: str
    rulesets: tuple[str, ...]
    fail_on: str = "error"
    is_selectable: bool = False
    """Whether the configuration may choose the rulesets."""
    is_grading: bool = False
    """Whether the grade is the result, and may have gates."""
    calls_tools: bool = False

    @property
    def uses_fail_on(self) -> bool:
        """Whether the configured `fail-on` applies; runs with a verdict of their own have no level that fails."""
        return not self.calls_tools and self.fail_on != "never"


_DEFAULT_RULESETS = tuple(ruleset.name for ruleset in RULESETS.values() if ruleset.is_default)
KINDS: Mapping[type, RunKind] = {
    LintRequest: RunKind("lint", _DEFAULT_RULESETS, is_selectable=True),
    SchemaLintRequest: RunKind("schema-lint", ("strict", "catalog"), fail_on="note"),
    GradeRequest: RunKind("grade", ("grade", "catalog"), is_grading=True),
    CompatRequest: RunKind("compat", ("compat", "catalog")),
    ScanRequest: RunKind("scan", ("trust", "catalog"), fail_on="never"),
    CheckRequest: RunKind("check", _DEFAULT_RULESETS, is_grading=True),
    LockRequest: RunKind("lock", ("catalog",)),
    ProbeRequest: RunKind("probe", ("wire",), fail_on=BROKEN, calls_tools=True),
    ProveRequest: RunKind("prove", ("strict", "wire"), fail_on=BROKEN, calls_tools=True),
    FuzzRequest: RunKind("fuzz", ("wire",), fail_on=BROKEN, calls_tools=True),
}
