"""Markdown for a pull-request comment and for the summary page of a job."""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import TYPE_CHECKING

from mcproof.checks.findings import LEVELS, group_by_fault
from mcproof.core.console import plural, safe
from mcproof.report.blocks import MARKDOWN, Findings, Renderer, blocks_for
from mcproof.report.ci import SUPPRESSED
from mcproof.report.grids import symbol_of
from mcproof.report.phrases import (
    CHANGE_WORDS,
    arguments_text,
    gate_sentence,
    outcome_word,
    repository_path,
    scope_of,
    static_sentence,
)
from mcproof.report.sections import document_of
from mcproof.report.sections.outcomes import merge_unrun, summary_sentence
from mcproof.report.sections.scores import score_blocks
from mcproof.report.verdicts import run_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.checks.findings import FindingGroup, Level, ReportedFinding
    from mcproof.report import blocks
    from mcproof.report.grids import Symbol
    from mcproof.runs.results import Kind, RunResult, TargetResult

MARK = "<!-- mcproof -->"
"""Marks the comment, so that a workflow can update it instead of adding another."""

MOST_CHARACTERS = 60_000
"""A comment on GitHub holds 65,536."""

MOST_OF_A_TEXT = 300
"""The length at which a name or a message is truncated, so that no single one fills the comment."""

_SIGNS = {"error": "🔴", "warning": "🟡", "note": "🔵"}
_PUNCTUATION = re.compile(r"([\\`*_\[\]#|<>~&$])")
"""Markup within a line; no line starts with untrusted text."""
_LINKS = re.compile(r"(@|#|GH-|www|://)(?=\S)", re.IGNORECASE)
_FOLD, _UNFOLD = "<details>", "</details>"
_NOTHING = "&#8203;"
"""A zero-width space: breaks mentions and links."""


def document(run: RunResult) -> Iterator[str]:
    """Write a table of findings for each target, truncated to the size of a comment."""
    room = MOST_CHARACTERS
    folded = 0
    for piece in _pieces(run):
        # Checked before a piece is written: a table that ends within a row is no table.
        if len(piece) > room:
            # An open fold would hide what follows.
            yield f"\n{_UNFOLD}\n" * folded + "\nTruncated: the rest does not fit into a comment.\n"
            return
        room -= len(piece)
        folded += piece.startswith(f"\n{_FOLD}") - piece.startswith(f"\n{_UNFOLD}")
        yield piece


def _pieces(run: RunResult) -> Iterator[str]:
    yield f"{MARK}\n\n# mcproof {escaped(run.command)}: {escaped(str(run_verdict(run)))}\n"
    for notice in run.notices:
        place = code(_location(notice.file, notice.line))
        yield f"\n{_SIGNS[notice.level]} {place} {escaped(notice.message)}\n"
    for result in run.targets:
        if result.trouble is not None:
            yield f"\n## {escaped(result.target)}\n\n🔴 {escaped(str(result.trouble))}\n"
        if result.is_judged:
            yield from _target(result, run)
    if any(result.findings for result in run.targets) and run.kind != "diff":
        yield "\n`mcproof explain RULE` explains a rule and its fix.\n"


def _target(result: TargetResult, run: RunResult) -> Iterator[str]:
    document, renderer = document_of(result), MarkdownRenderer()
    sentence = summary_sentence(result)
    head = f"\n## {escaped(result.title)}\n" + (f"\n**{escaped(sentence)}**\n" if sentence else "")
    for block in blocks_for(MARKDOWN, document.findings):
        if isinstance(block, Findings):
            head += f"\n{_summary(result, block.findings, run)}\n"
    yield head
    yield from renderer.draw(document.body)
    yield from renderer.draw(score_blocks(result))
    if result.scores.polish is not None:
        yield f"\nPolish score: {result.scores.polish} of 100.\n"
    for gate in result.gates:
        yield f"\n{'✅' if gate.passed else '🔴'} {escaped(gate_sentence(gate))}\n"
    yield from renderer.draw([*document.findings, *document.after])
    if result.suppressed:
        yield f"\n{_FOLD}<summary>{plural(len(result.suppressed), 'finding')} suppressed</summary>\n\n"
        yield "| rule | where | why |\n| --- | --- | --- |\n"
        for finding in result.suppressed:
            if finding.suppression is not None:
                by, reason, file, line = finding.suppression
                why = f"{SUPPRESSED[by]} {code(_location(file, line))}"
                why += f": {escaped(reason)}" if reason else ""
                yield f"| {code(finding.rule.id)} | {_where(finding)} | {why} |\n"
        yield f"\n{_UNFOLD}\n"


def _summary(result: TargetResult, findings: list[ReportedFinding], run: RunResult) -> str:
    parts = []
    if result.scores.grade is not None:
        parts.append(f"grade **{result.scores.grade.letter}** ({result.scores.grade.score} of 100)")
    elif result.not_judged is not None and result.not_judged.best is not None:
        parts.append("grade **withheld**")
    levels = [finding.level for finding in findings]
    counts = [_counted(levels.count(level), level, run.kind) for level in LEVELS if level in levels]
    parts.append(", ".join(counts) or ("no changes" if run.kind == "diff" else "no findings"))
    if result.suppressed:
        parts.append(f"{len(result.suppressed):,} suppressed")
    if run.kind != "diff":
        parts.append(scope_of(result))
    if result.scores.tokens is not None:
        parts.append(plural(result.scores.tokens.total, "token"))
    if result.scores.grade is not None and result.scores.descriptions is not None and result.scores.descriptions.tools:
        parts.append(f"descriptions {result.scores.descriptions.mean:.2f} of 1.00")
    if result.payload.kind == "diff":
        parts.append(f"from {code(repository_path(result.payload.compared_with))}")
    if result.title != result.target:
        parts.append(code(repository_path(result.target) if result.connection is None else result.target))
    return " · ".join(parts)


def _counted(count: int, level: Level, kind: Kind) -> str:
    return f"{count:,} {CHANGE_WORDS[level]}" if kind == "diff" else plural(count, level)


def _where(finding: ReportedFinding) -> str:
    item = f"{code(finding.label)} " if finding.label else ""
    # Without a line it is the command or URL of a live server, not a path.
    return item + code(finding.file if finding.line is None else _location(finding.file, finding.line))


def _location(file: str, line: int | None) -> str:
    return repository_path(file) + (f":{line}" if line is not None else "")


_COLUMNS = 12
"""How many groups of tools have a column."""
_NAMES, _CLIENTS = 8, 12
"""How many tools of a group and clients of a row are named; the rest are counted."""
_OUTCOME_SIGNS = {"works": "✅", "degraded": "🟡", "lost": "⚪", "breaks": "🔴"}
_TEST_SIGNS = {"passed": "✅", "failed": "🔴", "error": "❗"}
_MOST_EDGES = 30
"""How many edges of the tool graph are listed."""


class MarkdownRenderer(Renderer):
    """Draws blocks in Markdown. A block that can follow a paragraph begins with a blank line, others have a section."""

    format = MARKDOWN

    def sentence(self, block: blocks.Sentence) -> Iterator[str]:
        yield f"\n{escaped(block.text)}\n"

    def section(self, block: blocks.Section) -> Iterator[str]:
        lead = f"{block.title_and_gist}:" if block.lead is None else block.lead
        # In one piece with what follows: a comment that is too long ends after a piece.
        pieces = self.draw(block.blocks)
        yield (f"\n{lead}\n\n" if lead else "\n") + next(pieces, "")
        yield from pieces

    def bullets(self, block: blocks.Bullets) -> Iterator[str]:
        yield from (f"- {escaped(item)}\n" for item in block.items)

    def steps(self, block: blocks.Steps) -> Iterator[str]:
        for number, step in enumerate(block.steps, 1):
            line = step.line.format(text=escaped(step.text), rule=code(step.rule), gain=escaped(step.gain))
            yield f"{number}. {line}\n"

    def reasons(self, block: blocks.Reasons) -> Iterator[str]:
        yield f"| {block.heading} | why |\n| --- | --- |\n"
        for reason in block.reasons:
            names = ", ".join(map(code, reason.names)) if block.noun else _listed(reason.names, 6)
            yield f"| {names} | {escaped(reason.why)} |\n"

    def graph(self, block: blocks.Graph) -> Iterator[str]:
        yield "| tool | names | sentence |\n| --- | --- | --- |\n"
        for edge in block.graph.edges[:_MOST_EDGES]:
            yield f"| {code(edge.source)} | {edge.kind} {code(edge.target)} | {escaped(edge.sentence)} |\n"

    def clients(self, block: blocks.Clients) -> Iterator[str]:
        grid = block.arrange(_COLUMNS)
        letters = ascii_uppercase[: len(grid.columns)]
        titles = [*(["server"] if grid.has_server_column else []), *letters]
        yield f"| clients | {' | '.join(titles)} | result |\n|{' --- |' * (len(titles) + 2)}\n"
        for row in grid.rows:
            names = row.names if row.verdict != "works" else [f"{len(row.names):,} others"]
            listed = escaped(", ".join(names[:_CLIENTS])) + _more(names, _CLIENTS)
            cells = " | ".join(_OUTCOME_SIGNS[symbol.word] for symbol in grid.symbols(row))
            yield f"| {listed} | {cells} | {escaped(row.summary)} |\n"
        yield "\n"
        for letter, column in zip(letters, grid.columns, strict=True):
            listed = _listed(column.tools, _NAMES)
            yield f"- {letter}: {plural(column.size, 'tool')}{f': {listed}' if listed else ''}\n"
        meanings = [f"{_OUTCOME_SIGNS[symbol.word]} {symbol.meaning or symbol.word}" for symbol in grid.legend()]
        yield f"\n{' · '.join(meanings)}\n"

    def matrix(self, block: blocks.Matrix) -> Iterator[str]:
        grid = block.grid
        yield f"| tool | {' | '.join(grid.titles)} |\n|{' --- |' * (len(grid.titles) + 1)}\n"
        for row in grid.rows:
            squares = ["" if square is None else square.label(square.symbol.unicode) for square in row.squares]
            yield f"| {code(row.tool)} | {' | '.join(squares)} |\n"
        meanings = [_symbol(symbol) + (f" ({symbol.meaning})" if symbol.meaning else "") for symbol in grid.legend()]
        yield f"\n{'; '.join(meanings)}\n"

    def probes(self, block: blocks.Probes) -> Iterator[str]:
        yield "| probe | result | what |\n| --- | --- | --- |\n"
        for probe in block.probes:
            symbol = _symbol(symbol_of(probe, block.with_findings))
            yield f"| {code(probe.probe)} | {symbol} | {escaped(probe.reason)} |\n"

    def predicted(self, block: blocks.Predicted) -> Iterator[str]:
        rules, column, tools = block.prediction
        warned = f"warned about {plural(len(tools), 'tool')}: {_listed(tools, 6)}"
        yield f"\n{column} not enforced: {', '.join(map(code, rules))} {warned}\n"

    def cases(self, block: blocks.Cases) -> Iterator[str]:
        counts = block.fuzzing.counts
        titles = " | ".join(outcome_word(name) for name in counts)
        cells = " | ".join(f"{count:,}" for count in counts.values())
        yield f"| {titles} |\n|{' --- |' * len(counts)}\n| {cells} |\n"

    def failures(self, block: blocks.Failures) -> Iterator[str]:
        yield "| outcome | tool | what | arguments | replay |\n| --- | --- | --- | --- | --- |\n"
        for failure in block.failures:
            times = f" ({plural(failure.times, 'case')})" if failure.times > 1 else ""
            tool = "the server" if failure.tool is None else code(failure.tool)
            outcome = outcome_word(failure.outcome)
            arguments, replay = code(arguments_text(failure)), code(failure.replay)
            yield f"| {outcome} | {tool} | {escaped(failure.what)}{times} | {arguments} | {replay} |\n"

    def tests(self, block: blocks.Tests) -> Iterator[str]:
        """Write the tests that did not pass, one row each, and the others folded."""
        bad = [test for test in merge_unrun(block.tests) if test.is_bad]
        others = [test for test in block.tests if not test.is_bad]
        if bad:
            yield "\n| | test | where | why |\n| --- | --- | --- | --- |\n"
        for test in bad:
            lines = [failure.sentence for failure in test.failures] or [test.message, *test.detail.splitlines()]
            why = "<br>".join(map(escaped, lines))
            where = code(_location(test.file, test.first_line)) if test.file is not None else ""
            yield f"| {_TEST_SIGNS[test.outcome]} | {escaped(test.label)} | {where} | {why} |\n"
        if others:
            yield f"\n{_FOLD}<summary>{plural(len(others), 'other test')}</summary>\n\n"
            for test in others:
                message = f": {escaped(test.message)}" if test.message else ""
                yield f"- {_TEST_SIGNS.get(test.outcome, '➖')} {escaped(test.label)}{message}\n"
            yield f"\n{_UNFOLD}\n"

    def facts(self, block: blocks.Facts) -> Iterator[str]:
        yield f"\n{escaped(block.title)}\n\n| | | |\n| --- | --- | --- |\n"
        for fact in block.facts:
            text = "<br>".join(map(escaped, (fact.text, *fact.details)))
            yield f"| {fact.label} | {escaped(fact.word)} | {text} |\n"

    def edits(self, block: blocks.Edits) -> Iterator[str]:
        for number, edit in enumerate(block.edits, 1):
            gain = f": {escaped(edit.why)}" if edit.why else ""
            snippet = "<br>".join(map(code, filter(None, edit.snippet.splitlines())))
            yield f"{number}. {escaped(edit.what)}{gain}<br>{escaped(edit.place)}{'<br>' if snippet else ''}{snippet}\n"

    def panel(self, block: blocks.Panel) -> Iterator[str]:
        yield f"\n{block.title}: {''.join(self.draw(block.blocks))}.\n"

    def gains(self, block: blocks.Gains) -> Iterator[str]:
        yield ", ".join(f"{escaped(gain.remedy)} (+{gain.points or gain.cost})" for gain in block.grade.gains[:3])

    def findings(self, block: blocks.Findings) -> Iterator[str]:
        """Write a table for each level; notes are folded."""
        shown: dict[Level, list[FindingGroup]] = {level: [] for level in LEVELS}
        for group in group_by_fault(block.findings):
            if (group.shown.tool, group.shown.rule.id) not in block.covered:
                shown[group.shown.level].append(group)
        rows = [group for groups in shown.values() for group in groups]
        levels = [finding.level for group in rows for finding in (group.shown, *group.others)]
        for level, groups in shown.items():
            if groups:
                kind, is_folded = block.result.payload.kind, level == "note"
                title = f"{_SIGNS[level]} {_counted(levels.count(level), level, kind)}"
                yield f"\n{_FOLD}<summary>{title}</summary>\n" if is_folded else f"\n### {title}\n"
                yield f"\n| {'change' if kind == 'diff' else 'rule'} | where | what |\n| --- | --- | --- |\n"
                for group in groups:
                    rules = ", ".join(code(rule) for rule in (group.shown.rule.id, *group.also))
                    yield f"| {rules} | {_where(group.shown)} | {escaped(group.shown.message)} |\n"
                yield f"\n{_UNFOLD}\n" if is_folded else ""
        if left_out := len(block.result.findings) - len(block.findings):
            yield f"\n{escaped(static_sentence(left_out))}\n"


def _symbol(symbol: Symbol) -> str:
    return f"{symbol.unicode} {symbol.word}"


def _more(names: Sequence[str], most: int) -> str:
    return f" and {len(names) - most:,} more" if len(names) > most else ""


def _listed(names: Sequence[str], most: int) -> str:
    return ", ".join(map(code, names[:most])) + _more(names, most)


def escaped(text: str) -> str:
    """Escape untrusted text: no markup, no links, no mentions.

    Text between backticks stays code, as in the rules' messages.
    """
    text = _shown(text)
    parts = text.split("`")
    # A backtick without a partner, or an empty span: nothing is code.
    if len(parts) % 2 == 0 or not all(parts[1:-1]):
        return _plain(text)
    return "".join(code(part) if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    # The group of the pattern keeps what splits: every second piece is a mark that would link or mention.
    pieces = _LINKS.split(text)
    joined = [
        _PUNCTUATION.sub(r"\\\1", piece) + (_NOTHING if number % 2 else "") for number, piece in enumerate(pieces)
    ]
    return "".join(joined).replace("\\|", "&#124;")


def code(text: str) -> str:
    """Return text in a code span, or escaped if a span or a table cannot hold it."""
    text = _shown(text)
    return _plain(text) if "`" in text or "|" in text or not text.strip() else f"`{text}`"


def _shown(text: str) -> str:
    """Return untrusted text truncated and without control characters."""
    return safe(text if len(text) <= MOST_OF_A_TEXT else text[:MOST_OF_A_TEXT] + "…")
