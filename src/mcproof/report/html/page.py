"""Render a result as one self-contained HTML page, and the Jinja2 environment of every page.

Style sheet and script are part of the page, and its Content-Security-Policy allows only those two, by their hashes.
Autoescape is always on; control and invisible characters are escaped in every output.
Why markup lives in templates: docs/decisions/0028-html-markup.md.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mcproof.checks.findings import LEVELS
from mcproof.checks.scores.grade import BONUS_LENGTH, LETTERS
from mcproof.probing.outcomes import predictions
from mcproof.report import trust_phrases
from mcproof.report.gate_verdicts import run_verdict
from mcproof.report.html import client_views, graph_views, probe_views, suite_views, wording
from mcproof.report.html.environment import content_policy, environment
from mcproof.report.html.finding_views import count_levels, rules_used, rulesets_used
from mcproof.report.html.page_limits import MOST, MOST_ROWS, PageRoom
from mcproof.report.html.suite_views import all_tests, by_outcome
from mcproof.report.html.target_view import TargetView
from mcproof.report.html.verdict_views import verdict_tile
from mcproof.report.html.wording import GRADE_TONES, LOOKS, words_of
from mcproof.report.matrix_grid import MEANINGS, mark_of
from mcproof.report.outcome_phrases import arguments_text
from mcproof.testing.outcomes import OUTCOMES

if TYPE_CHECKING:
    from jinja2 import Environment

    from mcproof.runs.results import RunResult

OPEN_TARGETS = 3
"""With at most this many targets, each is shown unfolded."""

_ICON_COLOURS = {"good": "#1a6b3c", "fair": "#8a5300", "bad": "#b3261e"}

_HELPERS = {
    "BONUS_LENGTH": BONUS_LENGTH,
    "MEANINGS": MEANINGS,
    "arguments_text": arguments_text,
    "clients_of": client_views.ClientView,
    "action_gain": trust_phrases.action_gain,
    "graph_picture": graph_views.graph_picture,
    "outcome_counts": trust_phrases.outcome_counts,
    "unseen_rules": trust_phrases.unseen_rules,
    "duration": suite_views.duration,
    "failures_shown": probe_views.failures_shown,
    "mark_of": mark_of,
    "outcome_bars": probe_views.outcome_bars,
    "outcome_tone": probe_views.outcome_tone,
    "predictions": predictions,
    "probes_of": probe_views.ProbeView,
    "segments": wording.segments,
    "square_title": probe_views.square_title,
    "test_shares": suite_views.test_shares,
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
    return [template.render(page=PageView(run), policy=content_policy("report.css", "report.js"))]


class PageView:
    """A run as the page shows it."""

    def __init__(self, run: RunResult) -> None:
        self.run = run
        self.words = words_of(run.kind)
        self.verdict = run_verdict(run)
        own = self.verdict if self.is_single and run.trouble is None else None  # with what concerns the whole run
        self.targets = [TargetView(result, number, self.words, own) for number, result in enumerate(run.targets, 1)]
        self.most, self.most_rows = MOST, MOST_ROWS
        self._share_room()
        self.rules = rules_used(run)
        self.rulesets = rulesets_used(self.rules)
        self.silent_rules = [rule.id for rule in run.rules if rule.id not in self.rules]

    def _share_room(self) -> None:
        """Give each target the room that those before it leave."""
        room = PageRoom(findings=self.most, probes=self.most, tests=self.most)
        for target in self.targets:
            target.room, target.findings.most = room, room.findings
            findings = len(target.findings.shown) + len(target.findings.suppressed)
            room = PageRoom(
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
            return f"{grade}{target.result.title[:120]}: {target.headlines[0]} · mcproof"
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

    @property
    def tests(self) -> list[suite_views.OutcomeGroup]:
        """The tests of all suites, by outcome."""
        return by_outcome(all_tests(self.run))

    @property
    def shares(self) -> list[wording.Share]:
        return suite_views.test_shares(all_tests(self.run))

    @property
    def outcome_columns(self) -> list[tuple[str, wording.Look]]:
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
