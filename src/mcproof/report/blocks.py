"""What a report shows of a target, as blocks: values without markup, which each format draws in its own way.

A builder in `report.sections` yields the blocks of a payload once. A renderer has one method for each class of block,
named like it, and none for a payload; in HTML, `blocks.html` has a macro for each.
Why there is a value between payloads and formats: docs/decisions/0067-one-document-of-blocks.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence, Set

    from mcproof.checks.findings import ReportedFinding
    from mcproof.checks.scores.grade import Grade
    from mcproof.checks.scores.tokens import TokenCost
    from mcproof.checks.texts.tool_graph import ToolGraph
    from mcproof.probing.outcomes import Failure, Fuzzing, Prediction, ProbeResult
    from mcproof.report.grids import ClientGrid, Grid
    from mcproof.runs.results import Edit, TargetResult, Weakness
    from mcproof.testing.outcomes import TestResult


TEXT, MARKDOWN, HTML = "text", "markdown", "html"


@dataclass_transform(frozen_default=True)
class Block:
    """A value that renderers draw. They dispatch on its class, and a test finds a missing method.

    Type checkers see a frozen dataclass. A NamedTuple or a dataclass compiles code for each class, and importing these
    would cost every command 2 ms more.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        # Annotations are in the order of the fields, and those with a default are class attributes already.
        self.__dict__.update(zip(self.__annotations__, values, strict=False), **named)


class Only(Block):
    """Blocks for some of the formats: where formats differ on purpose, the builder says so."""

    formats: tuple[str, ...]
    blocks: Sequence[Block]


class Headline(Block):
    """A line that is never broken: a word to stress, and the rest of the sentence."""

    word: str
    rest: str = ""
    tone: str = "none"


class Sentence(Block):
    """A sentence of its own."""

    text: str
    is_strong: bool = True
    has_gap: bool = False
    """Whether text leaves a line blank below it."""


class Section(Block):
    """A heading and what is below it."""

    title: str
    blocks: Sequence[Block]
    gist: str = ""
    """A phrase beside the title."""
    long: str | None = None
    """The title in text, where it has a line of its own; by default title and gist, and empty for none."""
    lead: str | None = None
    """The title in Markdown; by default title, gist and a colon, and empty for none."""
    anchor: str = ""
    """The id on a page about one target."""

    @property
    def title_and_gist(self) -> str:
        return f"{self.title}, {self.gist}" if self.gist else self.title


class Bullets(Block):
    """A list without an order."""

    items: Sequence[str]


class Step(NamedTuple):
    """Something to do, the rule that asks for it, and what is gained."""

    text: str
    rule: str
    gain: str
    line: str
    """How the three form a sentence, in a format that has no columns for them."""


class Steps(Block):
    """A list to work through in its order; text shows the first few unless everything is wanted."""

    steps: Sequence[Step]


class Reason(NamedTuple):
    """Names that have the same reason."""

    names: Sequence[str]
    why: str
    suffix: str = ""
    """What is true of all names."""


class Reasons(Block):
    """Why something is as it is, such as not judged, by reason."""

    reasons: Sequence[Reason]
    heading: str = "what"
    """What the names are, for a table."""
    noun: str = ""
    """With it, a format with little room counts the names instead of listing them."""
    are_phrases: bool = False
    """Whether the names are words for people, not names of tools or rules."""


class Names(Block):
    """A phrase and some names, of which as many are shown as there is room for."""

    head: str
    names: Sequence[str]
    most: int = 6
    longest: int = 60
    """The most characters of a name."""


class Hint(Block):
    """A hint with a command to copy."""

    text: str
    command: str
    warning: str = ""
    """The words before it that are to be noticed."""


class Clients(Block):
    """Clients against tools; how many columns there are depends on the room."""

    arrange: Callable[[int], ClientGrid]


class Graph(Block):
    """Which tool names which other: as lines, as a table, or as a picture."""

    graph: ToolGraph
    gist: str
    """The numbers of edges, in words."""


class Matrix(Block):
    """Tools against kinds of promises or probes."""

    grid: Grid
    probes: Sequence[ProbeResult] = ()
    """The probes that a page lists by tool, to link to them."""


class Probes(Block):
    """Requests that were sent, and how they were judged."""

    probes: Sequence[ProbeResult]
    with_findings: Set[str] = frozenset()
    """The names of those that findings are about."""


class Evidence(Block):
    """The probes of each tool, with requests and responses, folded."""

    probes: Sequence[ProbeResult]


class Predicted(Block):
    """A kind of promise that rules warned about, and that the server does not keep either."""

    prediction: Prediction


class Cases(Block):
    """How many cases had each outcome."""

    fuzzing: Fuzzing


class Failures(Block):
    """The cases that failed, with the command that replays each."""

    failures: Sequence[Failure]


class Tests(Block):
    """The tests of a suite, with the reasons of those that did not pass."""

    tests: list[TestResult]


class Card(Block):
    """A grade in large letters, with facts beside it."""

    grade: Grade
    title: str
    scope: str
    target: str
    """Empty if the title names it."""


class Panel(Block):
    """A small section, beside others where there is room."""

    title: str
    blocks: Sequence[Block]
    gist: str = ""


class Deductions(Block):
    """What a grade is made of."""

    grade: Grade
    asides: Sequence[str]
    """What does not count for the score, in phrases."""


class Gains(Block):
    """The fixes that gain most, as far as they are worth naming."""

    grade: Grade


class Weakest(Block):
    """The weakest descriptions, with the costliest flaw of each."""

    descriptions: Sequence[Weakness]


class Tokens(Block):
    """The tokens of each tool, the most expensive first."""

    tokens: TokenCost


class Fact(NamedTuple):
    """A judgement in a line: what it is about, its word or symbol, the rest, and details below it."""

    label: str
    word: str
    text: str
    tone: str = "none"
    details: Sequence[str] = ()


class Facts(Block):
    """The judgements on a server, one below the other, each in one line of text."""

    title: str
    facts: Sequence[Fact]


class Edits(Block):
    """What to change, with place and snippet; text shows as much of the snippets as there is room for."""

    edits: Sequence[Edit]


class Findings(Block):
    """The findings of a target."""

    result: TargetResult
    findings: list[ReportedFinding]
    """Those to show; the others are only counted."""
    covered: Set[tuple[str | None, str]] = frozenset()
    """The tools and rules whose findings other blocks already show."""
    has_summary: bool = True
    """Whether text ends with their numbers."""


class Changes(Block):
    """The changes since another catalog, by item."""

    result: TargetResult


class Share(NamedTuple):
    """A part of a whole, for a bar with a key."""

    tone: str
    symbol: str
    amount: int
    word: str


class Document(NamedTuple):
    """The blocks of a target. Markdown and HTML have the verdict, gates and scores before the findings."""

    body: Sequence[Block] = ()
    findings: Sequence[Block] = ()
    after: Sequence[Block] = ()
    shares: Sequence[Share] = ()
    """The result as one bar, for the head of a page."""

    @property
    def blocks(self) -> list[Block]:
        return [*self.body, *self.findings, *self.after]


class Renderer:
    """Draws blocks in one format."""

    format: ClassVar[str]

    def draw(self, blocks: Iterable[Block]) -> Iterator[str]:
        """Yield the drawing of each block that this format shows."""
        for block in blocks_for(self.format, blocks):
            # By name, so that a class of block without a method is found by one test for all renderers.
            yield from getattr(self, type(block).__name__.lower())(block)


def blocks_for(format: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks that a format shows; a section of which it shows nothing is no heading either."""
    for block in blocks:
        if not isinstance(block, Only):
            if not isinstance(block, Section | Panel) or any(blocks_for(format, block.blocks)):
                yield block
        elif format in block.formats:
            yield from blocks_for(format, block.blocks)
