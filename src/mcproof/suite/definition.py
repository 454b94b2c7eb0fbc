"""A suite as values: what is tested, on which server, and what must come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.suite.snapshots import Mask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.suite.matchers import Matcher
    from mcproof.suite.value_paths import Target

BLOCKS = ("tools", "resources", "prompts", "tool_quality")
"""The lists of tests that a suite may have."""

KEYS = ("servers", "variables", "imports", "setup", "teardown", *BLOCKS)
"""What a suite may have."""

METHODS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
"""What may stand for the name of a tool, to look at a list of the server's."""


class Place(NamedTuple):
    """Where something stands."""

    file: str
    line: int
    column: int


class Expectation(NamedTuple):
    """One value, and what it must be."""

    target: Target
    matcher: Matcher
    message: str
    """What the author has to say where it is something else."""
    place: Place
    snapshot: str = ""
    """The name that a snapshot is stored by; empty for every other matcher."""
    mask: Mask = Mask()


class Expect(NamedTuple):
    """All that must come of something; a suite that says nothing leaves it to a default."""

    assertions: tuple[Expectation, ...] = ()
    max_duration_ms: int | None = None


class ServerEntry(NamedTuple):
    """A server as a suite names it."""

    name: str
    place: Place
    command: tuple[str, ...] = ()
    url: str = ""
    environment: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    directory: str | None = None
    timeout_ms: int | None = None
    """How long an answer may take."""
    protocol: str | None = None


class NegativePath(NamedTuple):
    """Requests that must be refused."""

    checks: tuple[str, ...]
    expect: Expect | None
    are_named: bool = False
    """Whether the suite names the checks, and does not mean whichever apply."""


class Fuzz(NamedTuple):
    """Generated calls."""

    seed: int = 0
    cases: int = 200
    max_call_ms: int | None = None
    expect: Expect | None = None


class SuiteTest(NamedTuple):
    """One entry of a list of tests."""

    block: str
    """Which list: one of BLOCKS."""
    name: str
    server: str
    place: Place
    subject: str = ""
    """The tool or the prompt by its name, or the resource by its URI."""
    arguments: Mapping[str, Any] | None = None
    expect: Expect | None = None
    tags: tuple[str, ...] = ()
    timeout_ms: int | None = None
    negative_path: NegativePath | None = None
    fuzz: Fuzz | None = None

    @property
    def is_called(self) -> bool:
        """Whether the call itself is part of the test, and not only a block in it."""
        return self.expect is not None or (self.negative_path is None and self.fuzz is None)


class Step(NamedTuple):
    """Something that is done before the first test or after the last."""

    place: Place
    command: tuple[str, ...] = ()
    """A program to run; empty where a tool is called."""
    server: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    timeout_ms: int = 30_000

    @property
    def label(self) -> str:
        """What it does, in words."""
        return f"run {self.command[0]}" if self.command else f"call {self.tool} of {self.server}"


class Suite(NamedTuple):
    """Everything in a suite and what it imports."""

    file: str
    servers: Mapping[str, ServerEntry] = {}
    tests: tuple[SuiteTest, ...] = ()
    setup: tuple[Step, ...] = ()
    teardown: tuple[Step, ...] = ()
    secrets: tuple[str, ...] = ()
    """Values from the environment, which no report may repeat."""
    folder: str = ""
    """Where the suite stands, for programs that it runs."""
    files: tuple[str, ...] = ()
    """The suite and what it imports."""
