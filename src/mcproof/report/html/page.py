"""Render a result as one self-contained HTML page, and the Jinja2 environment of every page.

Style sheet and script are part of the page, and its Content-Security-Policy allows only those two, by their hashes.
Autoescape is always on; control and invisible characters are escaped in every output.
Why markup lives in templates: docs/decisions/0028-html-markup.md.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from mcproof.checks.findings import LEVELS, level_of
from mcproof.checks.scores.grade import BONUS_LENGTH, LETTERS
from mcproof.core.console import plural, safe
from mcproof.report.blocks import Matrix, Share, blocks_for
from mcproof.report.grids import MEANINGS, matrix_grid, symbol_of
from mcproof.report.html import parts
from mcproof.report.html.parts import MOST, MOST_ROWS, PageRoom, by_outcome, count_levels, rules_used, words_of
from mcproof.report.html.views import TargetView, verdict_tile
from mcproof.report.phrases import GRADE_TONES, arguments_text, floor_note, outcome_tone, outcome_word
from mcproof.report.sections.outcomes import LOOKS, Look, test_shares
from mcproof.report.verdicts import run_verdict
from mcproof.testing.outcomes import OUTCOMES, TestResult

if TYPE_CHECKING:
    from mcproof.runs.results import RunResult


LONGEST = 1000
"""The length at which untrusted text is truncated by default."""


@cache
def environment() -> Environment:
    """Return the environment with the templates of this package."""
    pages = Environment(
        loader=PackageLoader("mcproof.report.html"),
        autoescape=True,
        # A misspelt name in a template is an error in the tests, not a gap in a page.
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters.update(
        crop=crop,
        number=number,
        plural=plural,
        code_parts=code_parts,
        words=words,
        sentence=sentence,
        outcome_word=outcome_word,
    )
    return pages


def _visible(value: Any) -> Any:
    """Escape control and invisible characters in a text that is about to be printed."""
    return safe(value) if type(value) is str else value


def crop(value: str, limit: int = LONGEST) -> str:
    """Truncate a text."""
    return value if len(value) <= limit else value[:limit] + "…"


def number(value: int) -> str:
    """Return a number with thousands separators."""
    return f"{value:,}"


def words(value: str) -> str:
    """Return an identifier such as `not_tested` in words."""
    return value.replace("_", " ")


def sentence(value: str) -> str:
    """Return a phrase as a sentence."""
    return f"{value[:1].upper()}{value[1:]}."


def code_parts(value: str) -> list[str]:
    """Split a sentence at its backticks: every second part is code. An unpaired backtick stays in the text."""
    parts = value.split("`")
    if len(parts) % 2 == 0:
        # Of an odd number of backticks, the last has no partner.
        last = parts.pop()
        parts[-1] += f"`{last}"
    return parts


def content_policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of a page: only this style sheet and this script."""
    return (
        f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; "
        # The icon of the tab is in the page as well, as a `data:` URL.
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hashed(template: str) -> str:
    from base64 import b64encode
    from hashlib import sha256

    content = environment().get_template(template).render()
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


OPEN_TARGETS = 3
"""With at most this many targets, each is shown unfolded."""

_ICON_COLOURS = {"good": "#1a6b3c", "fair": "#8a5300", "bad": "#b3261e"}

_HELPERS = {
    "BONUS_LENGTH": BONUS_LENGTH,
    "MEANINGS": MEANINGS,
    "MOST_ROWS": MOST_ROWS,
    "OPEN_TESTS": parts.OPEN_TESTS,
    "ROOM": PageRoom(),
    "anchors_of": parts.anchors_of,
    "arguments_text": arguments_text,
    "bar_width": parts.bar_width,
    "blocks_for": blocks_for,
    "by_outcome": by_outcome,
    "class_of": lambda block: type(block).__name__,
    "duration": parts.duration,
    "evidence_of": parts.evidence_of,
    "failures_shown": parts.failures_shown,
    "floor_note": floor_note,
    "graph_picture": parts.graph_picture,
    "level_of": level_of,
    "outcome_tone": outcome_tone,
    "rows_shown": parts.rows_shown,
    "segments": parts.segments,
    "square_title": parts.square_title,
    "symbol_of": symbol_of,
    "test_shares": test_shares,
    "token_rows": parts.token_rows,
}
"""The functions and tables that templates use."""


@cache
def page_environment() -> Environment:
    """Return the environment of the report: its templates, and the functions that they use."""
    pages = environment()
    pages.globals.update(_HELPERS)
    return pages


def document(run: RunResult) -> list[str]:
    """Return the page."""
    template = page_environment().get_template("page.html")
    # The policy has the hashes of exactly what this page contains: docs/decisions/0028-html-markup.md.
    return [template.render(page=PageView(run), policy=content_policy("report.css", "report.js"))]


def contract_matrix(run: RunResult) -> Matrix:
    """Return what a page about a server shows of a run of `prove`."""
    return Matrix(matrix_grid(run.targets[0].matrix))


class PageView:
    """A run as the page shows it."""

    def __init__(self, run: RunResult) -> None:
        self.run = run
        self.words = words_of(run.kind)
        self.verdict = run_verdict(run)
        # A stale baseline and an interrupt belong to the run, and a page about one target shows no other verdict.
        own = self.verdict if self.is_single and run.trouble is None else None  # with what concerns the whole run
        self.targets = [TargetView(result, number, self.words, own) for number, result in enumerate(run.targets, 1)]
        self.most, self.most_rows = MOST, MOST_ROWS
        self._share_room()
        self.rules = rules_used(run)
        self.silent_rules = [rule.id for rule in run.rules if rule.id not in self.rules]

    def _share_room(self) -> None:
        """Give each target the room that those before it leave."""
        room = PageRoom(1, self.most, self.most, self.most)
        for target in self.targets:
            # Each target leaves what it does not use, so that one with few findings makes room for the next.
            target.room, target.findings.most = room, room.findings
            findings = len(target.findings.shown) + len(target.findings.suppressed)
            room = PageRoom(
                number=target.number + 1,
                findings=max(0, room.findings - findings),
                probes=max(0, room.probes - len(target.result.probes)),
                tests=max(0, room.tests - len(target.result.tests)),
            )

    @property
    def is_single(self) -> bool:
        """Whether the page is about one target, and not a list of them."""
        return self.run.is_single and len(self.run.targets) == 1

    @property
    def is_suite(self) -> bool:
        return self.run.kind == "suite"

    @property
    def title(self) -> str:
        command = self.run.command[:40]
        if self.is_single:
            (target,) = self.targets
            grade = f"{target.grade.letter} · " if target.grade is not None else ""
            return f"{grade}{target.result.title[:120]}: {target.headlines[0]} · mcproof".replace("`", "")
        return f"{self.verdict} · mcproof {command}"

    @property
    def icon(self) -> str:
        """A picture for the tab; it also keeps a browser from requesting one."""
        from urllib.parse import quote

        grade = self.targets[0].scores.grade if self.is_single else None
        if self.verdict.is_bad or grade is None or grade.letter not in LETTERS:
            letter, tone, _ = verdict_tile(self.verdict)
        else:
            letter, tone = grade.letter, GRADE_TONES.get(grade.letter, "bad")
        picture = environment().get_template("icon.svg").render(colour=_ICON_COLOURS[tone], letter=letter)
        return f"data:image/svg+xml,{quote(picture)}"

    @property
    def stale(self) -> int:
        """The number of stale baseline entries, which fail the run."""
        return sum(notice.level == "error" for notice in self.run.notices) if self.run.is_single else 0

    @property
    def tally(self) -> str:
        """The verdict on several targets, and their grades."""
        letters = [result.scores.grade.letter for result in self.run.targets if result.scores.grade is not None]
        grades = ", ".join(
            f"{letters.count(letter):,}\N{NO-BREAK SPACE}{letter}" for letter in LETTERS if letter in letters
        )
        return str(self.verdict) + (f" · {grades}" if grades else "")

    def starts_open(self, target: TargetView) -> bool:
        """Whether a target is shown unfolded: if there are few, or if it is a suite that failed."""
        return len(self.targets) <= OPEN_TARGETS or (self.is_suite and not target.result.passed)

    @property
    def levels(self) -> list[tuple[str, int]]:
        """The levels that occur, each with the number of findings that are not suppressed."""
        shown = count_levels(group for target in self.targets for group in target.findings.shown)
        hidden = count_levels(group for target in self.targets for group in target.findings.suppressed)
        return [(level, shown[level]) for level in LEVELS if shown[level] or hidden[level]]

    @property
    def suppressed(self) -> int:
        return sum(len(target.findings.suppressed) for target in self.targets)

    @cached_property
    def _every_test(self) -> list[TestResult]:
        return [test for result in self.run.targets for test in result.tests]

    @property
    def tests(self) -> list[parts.OutcomeGroup]:
        """The tests of all suites, by outcome."""
        return by_outcome(self._every_test)

    @property
    def shares(self) -> list[Share]:
        return test_shares(self._every_test)

    @property
    def outcome_columns(self) -> list[tuple[str, Look]]:
        """The outcomes that occur, as columns of the overview of suites."""
        occurring = {group.outcome for group in self.tests}
        return [(outcome, LOOKS[outcome]) for outcome in OUTCOMES if outcome in occurring]

    @property
    def is_graded(self) -> bool:
        return any(target.scores.grade is not None for target in self.targets)

    @property
    def is_priced(self) -> bool:
        return any(target.scores.tokens is not None for target in self.targets)

    @property
    def is_timed(self) -> bool:
        return any(target.took for target in self.targets)
