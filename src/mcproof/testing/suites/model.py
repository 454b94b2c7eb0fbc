"""The suite model: servers, tests, steps and expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.endpoints import AccessOptions
from mcproof.suite.snapshots import Mask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.client.questions import Answer
    from mcproof.suite.matchers import Matcher
    from mcproof.suite.value_paths import ValuePath

BLOCKS = ("tools", "resources", "prompts", "tool_quality")
"""The lists of tests in a suite."""

KEYS = ("servers", "variables", "imports", "setup", "teardown", "answers", *BLOCKS)
"""The top-level keys of a suite."""

METHODS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
"""List methods that a test may name instead of a tool."""


class SuiteLocation(NamedTuple):
    """A position in a suite file."""

    file: str
    line: int
    column: int


class Expectation(NamedTuple):
    """A value path and the matcher for its value."""

    path: ValuePath
    matcher: Matcher
    message: str
    """The author's explanation, shown if the value does not match."""
    location: SuiteLocation
    snapshot: str = ""
    """The name of the stored snapshot; empty for other matchers."""
    mask: Mask = Mask()


class Expect(NamedTuple):
    """An `expect` block."""

    assertions: tuple[Expectation, ...] = ()
    max_duration_ms: int | None = None


class ToolHints(NamedTuple):
    """An entry of `annotations`: hints about a tool, in place of the server's own."""

    location: SuiteLocation
    values: Mapping[str, bool]


class ServerEntry(NamedTuple):
    """An entry of `servers`: a command or a URL."""

    name: str
    location: SuiteLocation
    command: tuple[str, ...] = ()
    url: str = ""
    environment: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    access: AccessOptions = AccessOptions()
    """How to get an authorization for a URL."""
    directory: str | None = None
    timeout_ms: int | None = None
    """Time limit of a response."""
    start_timeout_ms: int | None = None
    """Time limit from the start to the first response."""
    protocol: str | None = None
    annotations: Mapping[str, ToolHints] = {}
    """By tool name."""


class NegativePathBlock(NamedTuple):
    """A `negative_path` block: probes that the server must reject."""

    checks: tuple[str, ...]
    expect: Expect | None
    are_named: bool = False
    """Whether the suite lists the checks; otherwise those that apply are run."""


class FuzzBlock(NamedTuple):
    """A `fuzz` block: generated calls."""

    seed: int = 0
    cases: int = 200
    max_call_ms: int | None = None
    security: bool = False
    """Whether to send hostile arguments, too."""
    expect: Expect | None = None


class CallStep(NamedTuple):
    """A step of a test: a call before its own, of which later ones use values."""

    location: SuiteLocation
    tool: str
    arguments: Mapping[str, Any] = {}
    save: tuple[tuple[str, ValuePath], ...] = ()
    """Names and paths of the values to keep."""
    timeout_ms: int | None = None


class SuiteTest(NamedTuple):
    """A test: one entry of a list in BLOCKS."""

    number: int
    """Position in the suite; identifies the test during a run."""
    block: str
    """One of BLOCKS."""
    name: str
    server: str
    location: SuiteLocation
    subject: str = ""
    """The name of the tool or prompt, or the URI of the resource."""
    arguments: Mapping[str, Any] | None = None
    expect: Expect | None = None
    tags: tuple[str, ...] = ()
    timeout_ms: int | None = None
    negative_path: NegativePathBlock | None = None
    fuzz: FuzzBlock | None = None
    steps: tuple[CallStep, ...] = ()
    answers: tuple[Answer, ...] = ()
    """Replies to what the server asks; those of the suite come after them."""

    @property
    def expects_questions(self) -> bool:
        """Whether an expectation is about what the server asks."""
        return self.expect is not None and any(each.path.root == "asked" for each in self.expect.assertions)

    @property
    def makes_call(self) -> bool:
        """Whether the test calls its subject, apart from `negative_path` and `fuzz`."""
        return self.expect is not None or (self.negative_path is None and self.fuzz is None)


class Step(NamedTuple):
    """A step of `setup` or `teardown`: a program to run or a tool to call."""

    location: SuiteLocation
    command: tuple[str, ...] = ()
    """The program to run; empty for a tool call."""
    server: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    timeout_ms: int = 30_000

    @property
    def label(self) -> str:
        """The name of the step in results."""
        return f"run {self.command[0]}" if self.command else f"call {self.tool} of {self.server}"


class Suite(NamedTuple):
    """A suite, including everything it imports."""

    file: str
    servers: Mapping[str, ServerEntry] = {}
    tests: tuple[SuiteTest, ...] = ()
    setup: tuple[Step, ...] = ()
    teardown: tuple[Step, ...] = ()
    secrets: tuple[str, ...] = ()
    """Values from the environment; hidden in all output."""
    folder: str = ""
    """The working directory of programs in `setup` and `teardown`."""
    files: tuple[str, ...] = ()
    """The suite file and the files it imports."""
    answers: tuple[Answer, ...] = ()
    """Replies to what servers ask, in all tests and steps."""
