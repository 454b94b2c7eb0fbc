"""Run requests: the typed, frozen input of every kind of run.

The command line and `mcproof.api` build requests; `runs.execute` runs them. Nothing else passes options on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.probes import MAX_CALLS
from mcproof.targets.arguments import LiveOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.client.questions import AnswerSource
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
        return not (self.names or self.servers or self.live.command or self.documents)


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


class Policy(NamedTuple):
    """What a run accepts, and what fails it."""

    settings: SettingsSource = SettingsSource()
    fail_on: str | None = None
    """The lowest level that fails; None for the configured or default level."""
    baseline: str | None = None
    updates_baseline: bool = False


class Detail(NamedTuple):
    """The optional parts of a result. Formats differ in what they need, and each part takes time."""

    lines: bool = False
    """The source line of each finding."""
    identities: bool = False
    """Fingerprints, and fixes as text edits."""
    scores: bool = False
    """The grade, the token cost and the description scores."""


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
    policy: Policy = Policy()
    detail: Detail = Detail()


class LockRequest(NamedTuple):
    """Lock the surface of servers as it is now."""

    targets: TargetSelection
    policy: Policy = Policy()
    detail: Detail = Detail()


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


CheckRequest = LintRequest | GradeRequest | CompatRequest | ScanRequest | ProbeRequest | FuzzRequest
"""The requests that check catalogs against rules."""
RunRequest = CheckRequest | FixRequest | SuiteRequest | DiffRequest
