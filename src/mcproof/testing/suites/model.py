"""The suite model: servers, tests, steps and expectations; and how suites and tests are found and selected.

A reference such as `${steps.NAME}` stands for a value that an earlier step saves.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.client.endpoints import AccessOptions
from mcproof.core.errors import InputError, McproofError, UsageError, nearest, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import files_below, open_in_checkout, start_of_file
from mcproof.testing.suites.snapshots import Mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.client.questions import Answer
    from mcproof.testing.suites.matchers import Matcher
    from mcproof.testing.suites.paths import ValuePath


BLOCKS = ("tools", "resources", "prompts", "tool_quality")
"""The lists of tests in a suite."""

KEYS = ("servers", "variables", "imports", "setup", "teardown", "answers", *BLOCKS)
"""The top-level keys of a suite."""

METHODS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
"""List methods that a test may name instead of a tool."""


def suite_schema_text() -> str:
    """The text of the published JSON Schema of suites."""
    with open(os.path.join(os.path.dirname(__file__), "suite.schema.json"), encoding="utf-8") as opened:
        return opened.read()


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
        return self.expect is not None and any(assertion.path.root == "asked" for assertion in self.expect.assertions)

    @property
    def makes_call(self) -> bool:
        """Whether the test calls its subject, apart from `negative_path` and `fuzz`."""
        return self.expect is not None or (self.negative_path is None and self.fuzz is None)

    @property
    def parts(self) -> list[str]:
        """The blocks that it runs; each has a result of its own, and counts as a test."""
        parts = [self.block] if self.makes_call else []
        parts += ["negative_path"] if self.negative_path is not None else []
        return [*parts, "fuzz"] if self.fuzz is not None else parts


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

    @property
    def test_count(self) -> int:
        """How many results a run of all tests has."""
        return sum(len(test.parts) for test in self.tests)


DEFAULT_NAMES = ("mcproof.yaml", "mcproof.yml", "mcptest.yaml", "mcptest.yml")
"""Default suite files; the first that exists is used."""
_SUITE = re.compile(rb"^(?:servers|imports)\s*:", re.MULTILINE)
"""A key that every suite has; other tools use YAML files too."""
_TESTS = re.compile(rb"^(?:tools|resources|prompts|tool_quality)\s*:", re.MULTILINE)
_MOST_BYTES = 1_000_000


def split_test(name: str) -> tuple[str, str | None]:
    """A suite or folder, and the name of the test in `SUITE::TEST`; None for all tests."""
    # A file may have `::` in its name.
    if os.path.exists(name):
        return name, None
    file, separator, test = name.partition("::")
    return (file, test) if separator and test and not os.path.isdir(file) else (name, None)


def suite_files(named: list[str]) -> list[str]:
    """The named suites and those below named folders, without duplicates, or the default suite.

    Raises an InputError if there is none.
    """
    if named:
        return list(dict.fromkeys(file for name in named for file in _files_of(split_test(name)[0])))
    for name in DEFAULT_NAMES:
        if os.path.isfile(name):
            return [_in_its_checkout(name)]
    tried = f"no suite found (tried {', '.join(DEFAULT_NAMES)})"
    raise InputError(f"{tried}; name one, or write a first one: `mcproof init -- COMMAND ARG...`")


def _files_of(name: str) -> list[str]:
    """A suite, or every suite below a folder."""
    if not os.path.isdir(name):
        return [name]
    found = [file for file in files_below(name) if file.endswith((".yaml", ".yml")) and is_suite(file)]
    files = [_in_its_checkout(file) for file in found]
    imported = {os.path.realpath(part) for file in files for part in _imported_by(file)}
    suites = [file for file in files if os.path.realpath(file) not in imported]
    if not suites:
        raise InputError("no suite below this folder: no YAML file with `servers` and tests", file=name)
    return suites


def _in_its_checkout(file: str) -> str:
    """Return a file that nobody named; an InputError if it is a link out of its checkout, since errors quote suites."""
    try:
        os.close(open_in_checkout(file, os.O_RDONLY))
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=file) from error
    return file


def is_suite(file: str) -> bool:
    """Whether a file found in a folder is a suite: by its name, or by its keys."""
    return os.path.basename(file) in DEFAULT_NAMES or has_suite_keys(start_of_file(file, _MOST_BYTES))


def has_suite_keys(data: bytes) -> bool:
    """Whether YAML has the keys of a suite."""
    return _SUITE.search(data) is not None and _TESTS.search(data) is not None


def looks_like_a_suite(file: str) -> bool:
    """Whether a YAML file named by the user is likely a suite."""
    return os.path.basename(file) in DEFAULT_NAMES or _SUITE.search(start_of_file(file, _MOST_BYTES)) is not None


def _imported_by(file: str) -> list[str]:
    """The files that a suite imports, directly or indirectly; they are parts of it, not suites of their own."""
    if b"imports" not in start_of_file(file, _MOST_BYTES):
        return []
    from mcproof.testing.suites.loading import load

    return [document.file for document in load(file, []) if os.path.realpath(document.file) != os.path.realpath(file)]


WRITTEN = re.compile(r"steps\.([A-Za-z_][A-Za-z0-9_]*+)")
"""A reference as an author writes it, between `${` and `}`."""
_MARKED = re.compile(r"\0steps\.([A-Za-z_][A-Za-z0-9_]*+)\0")


def marked(name: str) -> str:
    """Return the mark of a reference."""
    return f"\0steps.{name}\0"


def references_in(text: str) -> list[str]:
    """Return the names that a text refers to."""
    return _MARKED.findall(text) if "\0" in text else []


def filled(value: Any, saved: Mapping[str, Any]) -> Any:
    """Return a copy of a JSON value with saved values in place of references. The depth of suites is limited.

    A text that is nothing but a reference becomes the saved value itself, whatever its type.
    """
    if isinstance(value, dict):
        return {key: filled(member, saved) for key, member in value.items()}
    if isinstance(value, list):
        return [filled(item, saved) for item in value]
    if not isinstance(value, str) or "\0" not in value:
        return value
    whole = _MARKED.fullmatch(value)
    return saved[whole[1]] if whole is not None else _MARKED.sub(lambda match: _as_text(saved[match[1]]), value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


if TYPE_CHECKING:
    Condition = Callable[[str], bool]

_TOKEN = re.compile(r"""\s*(?:([()])|"([^"]*)"|'([^']*)'|([^\s()]+))""")
_OPERATORS = ("and", "or", "not")
_DEEPEST = 50
"""How deep parentheses and `not` may be nested."""


def parse_expression(text: str) -> Condition:
    """Parse an expression such as `search and not (slow or flaky)`; the result tests a text.

    A word matches if it occurs in the text, in any case; adjacent words are a phrase. Raises a UsageError.
    """
    return _Expression(text).parse()


class _Expression:
    """A recursive-descent parser: `or` of `and` of `not` of words and parentheses."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, bool]] = []
        """Words, and whether each is an operator or a parenthesis."""
        for parenthesis, double, single, word in _TOKEN.findall(text):
            written = double or single or word
            is_operator = bool(parenthesis) or (bool(word) and word.lower() in _OPERATORS)
            self._tokens.append((parenthesis or (written.lower() if is_operator else written), is_operator))
        self._at = 0
        self._depth = 0

    def parse(self) -> Condition:
        condition = self._either()
        if self._at < len(self._tokens):
            raise self._error()
        return condition

    def _either(self) -> Condition:
        conditions = [self._both()]
        while self._took("or"):
            conditions.append(self._both())
        return lambda text: any(condition(text) for condition in conditions)

    def _both(self) -> Condition:
        conditions = [self._negated()]
        while self._took("and"):
            conditions.append(self._negated())
        return lambda text: all(condition(text) for condition in conditions)

    def _negated(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UsageError(f"-k: nested more than {_DEEPEST} levels deep")
        try:
            if self._took("not"):
                condition = self._negated()
                return lambda text: not condition(text)
            if self._took("("):
                condition = self._either()
                if not self._took(")"):
                    raise self._error()
                return condition
            return self._phrase()
        finally:
            self._depth -= 1

    def _phrase(self) -> Condition:
        words = []
        while self._at < len(self._tokens) and not self._tokens[self._at][1]:
            words.append(self._tokens[self._at][0])
            self._at += 1
        if not words:
            raise self._error()
        phrase = " ".join(words).casefold()
        return lambda text: phrase in text

    def _took(self, operator: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == (operator, True):
            self._at += 1
            return True
        return False

    def _error(self) -> UsageError:
        where = f"at `{self._tokens[self._at][0]}`" if self._at < len(self._tokens) else "at its end"
        return UsageError(f"-k: `{self._text}` is not an expression: a name or `not` was expected {where}")


def matches(condition: Condition, test: SuiteTest) -> bool:
    """Whether the name and the tags of a test meet a condition."""
    return condition("\n".join((test.name, *test.tags)).casefold())


def named_tests(tests: Iterable[SuiteTest], names: Iterable[str], file: str) -> list[SuiteTest]:
    """The tests with these names. Raises an InputError with the nearest name if there is none."""
    tests = list(tests)
    existing = [test.name for test in tests]
    for name in names:
        if name not in existing:
            raise InputError(f"no test `{name}`{nearest(name, existing)}", file=file)
    return [test for test in tests if test.name in set(names)]


MOST_PROBLEMS = 50
"""Maximum number of problems reported."""


class SuiteProblem(NamedTuple):
    """A mistake in a suite, with its location."""

    file: str
    line: int | None
    column: int | None
    message: str

    def __str__(self) -> str:
        location = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{location}: {self.message}"


class SuiteError(McproofError):
    """An invalid suite; its message is the first problem."""

    def __init__(self, problems: list[SuiteProblem]) -> None:
        first = problems[0]
        more = len(problems) - 1
        hint = f" (and {more:,} more)" if more else ""
        super().__init__(f"{first.message}{hint}", file=first.file, line=first.line, column=first.column)
        self.problems = problems[:MOST_PROBLEMS]
        self.left_out = len(problems) - len(self.problems)
        """Number of problems beyond MOST."""

    @property
    def lines(self) -> list[str]:
        """The reported problems, and the number of those left out."""
        more = [f"{self.file}: and {self.left_out:,} more"] if self.left_out else []
        return [*map(str, self.problems), *more]
