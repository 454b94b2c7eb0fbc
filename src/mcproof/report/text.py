"""Text for a terminal: how each block is drawn, and the line that ends a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import level_of
from mcproof.core.console import Style, display_width, few, padded, plural, wrapped
from mcproof.report.blocks import TEXT, Renderer
from mcproof.report.frames import command_hint, findings_text, location_of, readable_response
from mcproof.report.phrases import CHANGE_WORDS, GRADE_TONES, arguments_text, floor_note, outcome_tone, outcome_word
from mcproof.report.verdicts import closing_verdict, target_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.checks.scores.grade import Grade
    from mcproof.probing.outcomes import Failure
    from mcproof.report import blocks
    from mcproof.report.grids import ClientGrid, ClientRow, Row, Symbol
    from mcproof.runs.results import Edit, RunResult, TargetResult


_COLOURS = {"good": "good", "fair": "warning", "bad": "error", "open": "note", "none": "dim"}
_MOST_STEPS, _MOST_EDGES = 8, 4
"""How many steps, and lines of the tool graph, are listed unless everything is."""
_NAMES = 4
"""How many tools of a column are named; the rest are counted."""
_LABEL, _MOST_LABEL, _SUMMARY = 20, 44, 24
"""The least and most columns of the names of clients, and the least of the summary of a row."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The titles of columns; a table is written out, as importing `string` costs more than all of it."""
_SERVER = "*"
"""The title of the column of the server as a whole."""
_NAME_WIDTH, _TOOL_WIDTH = 48, 36
"""The most columns that the name of a tool takes in a matrix, and beside a bar."""
_BARS, _BAR_WIDTH, _TOKEN_BAR_WIDTH = 10, 32, 24
"""How many tools have a bar, and the most columns of the bars of outcomes and of tokens."""
_LEVEL_SYMBOLS = {"error": "!", "warning": "?", "note": " "}
_TEST_SYMBOLS = {"passed": ("✓", "ok"), "failed": ("✗", "FAIL"), "error": ("!", "ERROR")}
_TEST_COLOURS = {"passed": "good", "failed": "error", "error": "error"}
_FACT_LABEL, _EDIT_LINES = 10, 17
"""The columns of the labels of facts, and the most lines of edits: a check is one screen."""
_ASCII = {"✓": "ok", "✗": "X", "·": "-"}
_LARGE = {
    "A": (" ### ", "#   #", "#####", "#   #", "#   #"),
    "B": ("#### ", "#   #", "#### ", "#   #", "#### "),
    "C": (" ####", "#    ", "#    ", "#    ", " ####"),
    "D": ("#### ", "#   #", "#   #", "#   #", "#### "),
    "F": ("#####", "#    ", "#### ", "#    ", "#    "),
}


class TextRenderer(Renderer):
    """Draws blocks for a terminal, in its width and its colours."""

    format = TEXT

    def __init__(self, style: Style) -> None:
        self._style = style

    def _wrapped(self, text: str, head: str = "", indent: int | None = None) -> Iterator[str]:
        """Break a text into lines below each other; the first begins with a head."""
        used = display_width(head)
        first, *others = wrapped(text, self._style.width, used=used, indent=used if indent is None else indent)
        yield f"{head}{first}\n" if text else f"{head.rstrip()}\n"
        yield from (f"{line}\n" for line in others)

    def headline(self, block: blocks.Headline) -> Iterator[str]:
        colours = () if block.tone == "none" else (_COLOURS[block.tone],)
        yield f"{self._style.paint(block.word, 'bold', *colours)}{block.rest}\n"

    def sentence(self, block: blocks.Sentence) -> Iterator[str]:
        if block.is_strong:
            yield from (
                f"{self._style.paint(line, 'bold')}\n" for line in wrapped(block.text, self._style.width, indent=4)
            )
        else:
            yield from self._wrapped(block.text)
        if block.has_gap:
            yield "\n"

    def section(self, block: blocks.Section) -> Iterator[str]:
        title = block.title_and_gist if block.long is None else block.long
        if title:
            yield f"{self._style.paint(title, 'bold')}\n\n"
        yield from self.draw(block.blocks)
        yield "\n"

    def bullets(self, block: blocks.Bullets) -> Iterator[str]:
        for item in block.items:
            yield from self._wrapped(self._style.text(item, 1_000), "  - ")

    def steps(self, block: blocks.Steps) -> Iterator[str]:
        shown = block.steps if self._style.examples is None else block.steps[:_MOST_STEPS]
        for number, step in enumerate(shown, 1):
            parts = {"text": self._style.text(step.text, 500), "rule": self._style.text(step.rule)}
            line = step.line.format(**parts, gain=self._style.text(step.gain))
            yield from self._wrapped(line, f"{number:>3}  ")
        if left := len(block.steps) - len(shown):
            yield f"     and {left:,} more; --show all lists everything\n"

    def reasons(self, block: blocks.Reasons) -> Iterator[str]:
        for reason in block.reasons:
            if block.noun:
                is_listed = self._style.examples is None or len(reason.names) == 1
                names = ", ".join(reason.names) if is_listed else plural(len(reason.names), block.noun)
                yield from self._wrapped(f"{names}: {self._style.text(reason.why, 500)}", "  - ")
            else:
                line = f"{self._listed(reason.names)}{reason.suffix}: {self._style.text(reason.why)}"
                yield from self._wrapped(line, "  ", indent=4)

    def names(self, block: blocks.Names) -> Iterator[str]:
        yield from self._wrapped(block.head + self._listed(block.names, block.most, block.longest), "  ", indent=4)

    def _listed(self, names: Sequence[str], most: int = 6, longest: int = 60) -> str:
        """Return the first names, and the number of the others."""
        return few([self._style.text(name, longest) for name in names], most)

    def hint(self, block: blocks.Hint) -> Iterator[str]:
        text = self._style.paint(block.warning, "warning") + block.text
        yield from (f"{line}\n" for line in command_hint(text, block.command, self._style))

    def facts(self, block: blocks.Facts) -> Iterator[str]:
        style = self._style
        yield f"\n{style.paint(style.sentence(block.title, style.width), 'bold')}\n"
        for fact in block.facts:
            word = style.symbol(fact.word, _ASCII.get(fact.word, fact.word))
            painted = f"{style.paint(word, _COLOURS[fact.tone], 'bold')} " if word else ""
            head = f"  {fact.label:{_FACT_LABEL}}{painted}"
            yield f"{head}{style.sentence(fact.text, style.width - display_width(head))}\n"
            indent = _FACT_LABEL + 4
            for detail in fact.details:
                first, *others = wrapped(style.text(detail, 500), style.width, used=indent, indent=indent)
                yield f"{' ' * (indent - 2)}- {style.sentence(first, style.width - indent)}\n"
                if rest := " ".join(map(str.strip, others)):
                    yield f"{' ' * indent}{style.sentence(rest, style.width - indent)}\n"
        yield "\n"

    def edits(self, block: blocks.Edits) -> Iterator[str]:
        """Draw what to do in two lines at most, and the place; snippets as far as the screen has room."""
        style, room = self._style, _EDIT_LINES
        spare = room - 3 * len(block.edits)
        drawn = []
        for edit in block.edits:
            lines = self._edit_lines(edit, 2 + max(0, spare))
            spare -= max(0, len(lines) - 2)
            shown = [style.sentence(line.strip(), style.width - 5) for line in lines]
            shown.append(style.paint(self._ending(edit.place, style.width - 5), "dim"))
            drawn.append(shown)
        room -= sum(map(len, drawn))
        for number, (edit, lines) in enumerate(zip(block.edits, drawn, strict=True), 1):
            yield f"{number:>3}  " + "\n     ".join(lines) + "\n"
            snippet = edit.snippet.splitlines()[: max(0, room)]
            room -= len(snippet)
            yield from (f"       {style.paint(style.sentence(line, style.width - 7), 'help')}\n" for line in snippet)

    def _edit_lines(self, edit: Edit, most: int) -> list[str]:
        """What an edit does and gains, in at most so many lines: the last gains are left out whole, not cut."""
        gains = edit.why.split("; ") if edit.why else []
        while True:
            words = ": ".join(filter(None, (edit.what, "; ".join(gains))))
            lines = wrapped(self._style.text(words, 500), self._style.width, used=5, indent=5)
            if len(lines) <= most or not gains:
                return [*lines[: most - 1], " ".join(map(str.strip, lines[most - 1 :]))] if len(lines) > most else lines
            gains.pop()

    def _ending(self, place: str, room: int) -> str:
        """A place in a file, cropped at its beginning: the folders say least."""
        if display_width(shown := self._style.text(place, 1_000)) <= room:
            return shown
        ellipsis = self._style.symbol("…", "...")
        ending = self._style.ending(place, room - len(ellipsis))
        return ellipsis + ending[max(0, ending.find("/", 0, len(ending) // 2)) :]

    def findings(self, block: blocks.Findings) -> Iterator[str]:
        return findings_text(block, self._style)

    def changes(self, block: blocks.Changes) -> Iterator[str]:
        style, result, item = self._style, block.result, None
        for finding in result.findings:
            # By name: another file, or another order of its items, has other pointers.
            if finding.item != item:
                yield "" if item is None else "\n"
                yield style.paint(style.text(finding.label or "server", 100), "bold") + "\n"
                item = finding.item
            symbol = style.paint(_LEVEL_SYMBOLS[finding.level], finding.level)
            word = style.paint(CHANGE_WORDS[finding.level], finding.level)
            yield f"  {symbol} {style.text(finding.message)} ({word})\n"
            yield "      " + style.paint(f"{finding.rule.id}  {location_of(finding, style)}", "dim") + "\n"
        older = result.payload.compared_with if result.payload.kind == "diff" else "?"
        between = f"from {style.text(older)} to {style.text(result.target)}"
        if not result.findings:
            yield f"{style.paint(style.symbol('✓', 'ok:'), 'good')} no changes {between}\n"
            return
        levels = result.levels()
        counts = [style.paint(f"{levels[level]:,} {CHANGE_WORDS[level]}", level) for level in levels if levels[level]]
        yield f"\n{plural(len(result.findings), 'change')} {between}: {', '.join(counts)}\n"

    def graph(self, block: blocks.Graph) -> Iterator[str]:
        from mcproof.checks.texts.tool_graph import graph_lines

        style, graph = self._style, block.graph
        if style.examples is None:
            for line in graph_lines(graph):
                yield from self._wrapped(style.text(line.strip(), 400), "  " + " " * (len(line) - len(line.lstrip())))
            return
        strong = sorted((edge for edge in graph.edges if edge.kind != "mentions"), key=lambda edge: edge.kind)
        for edge in strong[:_MOST_EDGES]:
            yield f"  {style.fitting(f'{edge.source}: {edge.sentence}', style.width - 2)}\n"
        if left := len(graph.edges) - len(strong[:_MOST_EDGES]):
            yield f"  {f'{left:,} more; ' if strong else ''}--show all lists everything\n"

    def clients(self, block: blocks.Clients) -> Iterator[str]:
        """Draw one row for each group of clients, one column for each group of tools, and a key."""
        style = self._style
        # As many columns as fit beside the names and the summaries; tools beyond them share the last one.
        most = max(2, min(len(_LETTERS), (style.width - 6 - _LABEL - _SUMMARY) // 2 - 1))
        grid = block.arrange(most)
        letters = [*([_SERVER] if grid.has_server_column else []), *_LETTERS[: len(grid.columns)]]
        heading = " ".join(letters)
        room = max(_LABEL, min(_MOST_LABEL, style.width - 6 - len(heading) - _SUMMARY))
        labels = [self._label(row, room) for row in grid.rows]
        titles = {True: "Clients", False: "APIs, engines, SDKs"}
        column = max(map(display_width, (*labels, *(titles[row.is_client] for row in grid.rows))))
        previous = None
        for row, label in zip(grid.rows, labels, strict=True):
            if row.is_client is not previous:
                previous = row.is_client
                yield style.paint(f"  {titles[previous]:{column}}  {heading}".rstrip(), "dim") + "\n"
            drawn = " ".join(map(self._symbol, grid.symbols(row)))
            yield from self._wrapped(row.summary, f"  {padded(label, column)}  {drawn}  ")
        yield "\n"
        for letter, tools in zip(letters, self._tools(grid), strict=True):
            yield from self._wrapped(tools, f"  {style.paint(letter, 'bold')}  ")
        yield "\n"
        yield from self._legend(grid.legend())

    def _label(self, row: ClientRow, room: int) -> str:
        """Return the names of the clients of a row that fit, and the number of the others."""
        names = [self._style.text(name, 60) for name in row.names]
        if row.verdict == "works" and len(names) > 1:
            return f"{len(names):,} {'clients' if row.is_client else 'others'}"
        shown = names[:1]
        for count in range(2, len(names) + 1):
            more = f" +{len(names) - count:,}" if count < len(names) else ""
            if display_width(", ".join(names[:count]) + more) > room:
                break
            shown = names[:count]
        rest = f" +{len(names) - len(shown):,}" if len(names) > len(shown) else ""
        return self._style.shortened(", ".join(shown), room - len(rest)) + rest

    def _tools(self, grid: ClientGrid) -> Iterator[str]:
        """Yield the tools of each column, in words."""
        if grid.has_server_column:
            yield "the server as a whole"
        for column in grid.columns:
            room = min(40, self._style.width - 10)
            names = few([self._style.shortened(name, room) for name in column.tools], _NAMES)
            counted = plural(column.size, "other tool" if column.is_rest and len(grid.columns) > 1 else "tool")
            yield names if len(column.tools) == 1 else ": ".join(filter(None, (counted, names)))

    def matrix(self, block: blocks.Matrix) -> Iterator[str]:
        """Draw one row a tool, one column a fault, and a legend."""
        style, grid = self._style, block.grid
        labels = [
            ["" if square is None else square.label(self._character(square.symbol)) for square in row.squares]
            for row in grid.rows
        ]
        widest = [max(map(len, column)) for column in zip(grid.titles, *labels, strict=True)]
        longest = max(display_width(style.fitting(row.tool, _NAME_WIDTH)) for row in grid.rows)
        if style.width - 4 - sum(widest) - 2 * len(widest) < min(longest, 20):  # no room for the numbers
            # The symbols alone still say what is wrong; the numbers are in every other format.
            labels = [[label[:1] for label in row] for row in labels]
            widest = list(map(len, grid.titles))
        left = style.width - 4 - sum(widest)
        gap = 2 if left >= 2 * len(widest) + 12 else 1
        widths = [width + gap for width in widest]
        room = max(6, min(_NAME_WIDTH, left - gap * len(widths)))
        names = [style.shortened(row.tool, room) for row in grid.rows]
        column = max(map(display_width, names))
        titles = "".join(title.ljust(width) for title, width in zip(grid.titles, widths, strict=True))
        yield style.paint(f"  {' ' * column}  {titles}".rstrip(), "dim") + "\n"
        for row, name, shown in zip(grid.rows, names, labels, strict=True):
            tool = style.paint(padded(name, column), "dim") if row.was_left_out else padded(name, column)
            yield f"  {tool}  {self._squares(row, shown, widths)}\n"
        yield "\n"
        yield from self._legend(grid.legend())

    def _squares(self, row: Row, labels: list[str], widths: list[int]) -> str:
        """Draw the squares of a row, each at the left of its column; the symbols are distinct without colour."""
        last = max((number for number, label in enumerate(labels) if label), default=-1)  # no blanks after it
        drawn = ""
        for number, (square, label, width) in enumerate(zip(row.squares, labels, widths, strict=True)):
            if number <= last:
                colour = "dim" if square is None else _COLOURS[square.symbol.tone]
                drawn += self._style.paint(label, colour) + " " * (width - len(label) if number < last else 0)
        return drawn

    def probes(self, block: blocks.Probes) -> Iterator[str]:
        from mcproof.report.grids import symbol_of  # it loads the clients, which few commands need

        longest = max(len(probe.probe) for probe in block.probes)
        for probe in block.probes:
            symbol = symbol_of(probe, block.with_findings)
            head = f"  {self._symbol(symbol)} {probe.probe:{longest}}  "
            yield from self._wrapped(self._style.text(probe.reason or symbol.word), head)

    def cases(self, block: blocks.Cases) -> Iterator[str]:
        widest = max(1, *block.fuzzing.counts.values())
        room = min(_BAR_WIDTH, self._style.width - 32)
        for name, count in block.fuzzing.counts.items():
            bar = self._bar(room * count / widest) if count else ""
            painted = self._style.paint(bar, _COLOURS[outcome_tone(name)])
            yield f"  {outcome_word(name):18} {count:>8,}  {painted}".rstrip() + "\n"

    def _bar(self, length: float) -> str:
        return self._style.symbol("█", "#") * max(1, round(length))

    def failures(self, block: blocks.Failures) -> Iterator[str]:
        """Render some of the failed cases of each outcome of a tool, and the number of the others."""
        # By outcome and tool: two hundred crashes of a tool are one line of news.
        groups: dict[tuple[str, str | None], list[Failure]] = {}
        for failure in block.failures:
            groups.setdefault((failure.outcome, failure.tool), []).append(failure)
        for (outcome, tool), members in groups.items():
            shown = members[: self._style.examples]
            for failure in shown:
                yield from self._failure(failure)
            if hidden := len(members) - len(shown):
                yield f"and {hidden:,} more: {outcome_word(outcome)} {self._tool(tool)} (--show all)\n\n"

    def _tool(self, tool: str | None) -> str:
        return self._style.text(tool, 100) if tool is not None else "the server"

    def _failure(self, failure: Failure) -> Iterator[str]:
        """Render a failed case: the problem, the arguments, the response and the replay command."""
        style, outcome = self._style, outcome_word(failure.outcome)
        times = f" ({plural(failure.times, 'case')})" if failure.times > 1 else ""
        what = f"{self._tool(failure.tool)}: {style.text(failure.what or 'invalid response')}{times}"
        first, *others = wrapped(what, style.width, used=len(outcome) + 1, indent=4)
        painted = style.paint(outcome, _COLOURS[outcome_tone(failure.outcome)], "bold")
        yield f"{painted} {style.paint(first, 'bold')}".rstrip() + "\n"
        yield from (style.paint(line, "bold") + "\n" for line in others)
        yield f"    arguments  {style.fitting(arguments_text(failure), style.width - 15)}\n"
        if failure.response and failure.response not in failure.what:
            yield f"    response   {style.fitting(readable_response(failure.response), style.width - 15)}\n"
        yield f"    replay     {style.text(failure.replay, 2000)}\n\n"

    def tests(self, block: blocks.Tests) -> Iterator[str]:
        from mcproof.report.sections.outcomes import merge_unrun
        from mcproof.testing.outcomes import reasons

        for test in merge_unrun(block.tests):
            symbol = self._style.symbol(*_TEST_SYMBOLS.get(test.outcome, ("-", "-")))
            remark = self._style.text(test.message) if test.message and not test.is_bad else ""
            label = (
                f"{self._style.paint(symbol, _TEST_COLOURS.get(test.outcome, 'dim'))} {self._style.text(test.label)}"
            )
            yield f"  {label}{self._style.paint(f'  {remark}', 'dim') if remark else ''}\n"
            yield from (f"      {line}\n" for line in reasons(test, self._style))
        yield "\n"

    def card(self, block: blocks.Card) -> Iterator[str]:
        style, grade = self._style, block.grade
        colour = _COLOURS[GRADE_TONES.get(grade.letter, "bad")]
        beside = [
            style.paint(style.text(block.title, 80), "bold"),
            f"grade {style.paint(grade.letter, colour, 'bold')}, {grade.word}",
            f"score {style.paint(str(grade.score), 'bold')} of 100{_below_zero(grade)}",
            block.scope,
            style.text(block.target),
        ]
        full = style.symbol("█", "#")
        yield "\n"
        for drawn, fact in zip(_LARGE[grade.letter], beside, strict=True):
            wide = "".join((full if cell == "#" else " ") * 2 for cell in drawn)
            yield f"  {style.paint(wide, colour)}   {fact}".rstrip() + "\n"

    def panel(self, block: blocks.Panel) -> Iterator[str]:
        yield "\n"
        if block.title:
            title = self._style.paint(block.title, "bold")
            gist = f": {block.gist}" if block.gist else ""
            first, *others = wrapped(gist, self._style.width, used=display_width(block.title), indent=4)
            yield f"{title}{first}\n" + "".join(f"{line}\n" for line in others)
        yield from self.draw(block.blocks)

    def deductions(self, block: blocks.Deductions) -> Iterator[str]:
        from mcproof.checks.scores.grade import BONUS_LENGTH

        style, grade = self._style, block.grade
        for deduction in grade.deductions:
            points = f"{style.symbol('−', '-')}{deduction.points}".rjust(6)
            counted = plural(deduction.times, deduction.severity)
            counted += f", {deduction.intended:,} may be intended" if deduction.intended else ""
            yield f"{style.paint(points, level_of(deduction.severity))}  {deduction.rule:28} {counted}\n"
        if not grade.deductions:
            yield "        none\n"
        if grade.is_empty:
            yield "  an empty server scores 0\n"
        if grade.bonus:
            bonus = style.paint(f"+{grade.bonus}".rjust(6), "good")
            yield f"{bonus}  every description has {BONUS_LENGTH} characters or more\n"
        yield from (f"    +0  {aside}\n" for aside in block.asides)

    def gains(self, block: blocks.Gains) -> Iterator[str]:
        grade = block.grade
        if floor := floor_note(grade, str(-grade.unclamped)):
            yield from self._wrapped(floor, "  ", indent=4)
        for gain in grade.gains[:3]:
            arrow = self._style.symbol("→", "->")
            change = f", {grade.letter} {arrow} {gain.letter}" if gain.letter != grade.letter else ""
            points = self._style.paint(f"+{gain.points or gain.cost}", "good")
            yield from self._wrapped(f"{gain.remedy}: {points}{change}", "  ", indent=4)

    def weakest(self, block: blocks.Weakest) -> Iterator[str]:
        names = self._column([description.tool for description in block.descriptions])
        for name, description in zip(names, block.descriptions, strict=True):
            what, _, cost = self._style.text(description.reason, 80).rpartition("-")
            head = f"  {name}  {description.score:.2f}  "
            yield from self._wrapped(f"{what}{self._style.symbol('−', '-')}{cost}", head)

    def tokens(self, block: blocks.Tokens) -> Iterator[str]:
        """Draw a bar for each tool, the most expensive first."""
        ranked = sorted(block.tokens.tools.items(), key=lambda item: -item[1])
        widest = max(1, ranked[0][1])
        names = self._column([tool for tool, _ in ranked[:_BARS]])
        room = min(_TOKEN_BAR_WIDTH, self._style.width - display_width(names[0]) - 12)
        for name, (_, count) in zip(names, ranked, strict=False):
            bar = self._bar(room * count / widest)
            yield f"  {name}  {self._style.paint(bar, 'help')}{' ' * (room - len(bar))} {count:>7,}\n"
        if others := ranked[_BARS:]:
            rest = sum(count for _, count in others)
            yield f"  and {plural(len(others), 'more tool')} with {rest:,} tokens\n"

    def _column(self, names: list[str]) -> list[str]:
        """Return names of the same width."""
        shown = [self._style.shortened(name, min(_TOOL_WIDTH, self._style.width // 2)) for name in names]
        widest = max(map(display_width, shown), default=0)
        return [padded(name, widest) for name in shown]

    def _symbol(self, symbol: Symbol) -> str:
        return self._style.paint(self._character(symbol), _COLOURS[symbol.tone])

    def _character(self, symbol: Symbol) -> str:
        return self._style.symbol(symbol.unicode, symbol.ascii)

    def _legend(self, symbols: Sequence[Symbol]) -> Iterator[str]:
        longest = max((len(symbol.word) for symbol in symbols), default=0)
        for symbol in symbols:
            yield from self._wrapped(symbol.meaning, f"  {self._symbol(symbol)} {symbol.word:{longest}}  ")


def _below_zero(grade: Grade) -> str:
    """How far a score of 0 is from more, so that progress shows."""
    return f", {-grade.unclamped:,} points below zero" if grade.unclamped < 0 and not grade.is_empty else ""


def grade_line(result: TargetResult, style: Style) -> str:
    """Return the grade of one of several catalogs."""
    grade, tokens = result.scores.grade, result.scores.tokens
    if tokens is None:
        raise ValueError("not a graded result")
    letter, score = style.paint("?", _COLOURS["fair"], "bold"), " - "
    if grade is not None:
        letter = style.paint(grade.letter, _COLOURS[GRADE_TONES.get(grade.letter, "bad")], "bold")
        score = f"{grade.score:>3}"
    verdict = target_verdict(result)
    failed = style.paint(f"  {verdict}" if verdict.is_bad else "", "error")
    return f"{letter} {score}  {tokens.total:>8,} tokens  {style.text(result.target)}{failed}\n"


_SYMBOLS = {"good": "✓ ", "bad": "✗ "}


def closing_line(run: RunResult, style: Style) -> str:
    """Return the line; empty if the text above ends with the same words, or if an error was reported instead."""
    if not run.targets or (len(run.targets) == 1 and run.failed):
        return ""
    # The same words as in documents and on pages: `grep` and people must read one verdict.
    verdict = closing_verdict(run)
    gap = "\n" if len(run.targets) == 1 and run.is_single and run.kind == "grade" else ""
    symbol = style.symbol(_SYMBOLS.get(verdict.tone, ""), "") if verdict.word else ""
    first, *others = wrapped(f"{symbol}{style.text(str(verdict), 1_000)}", style.width, indent=4)
    head = f"{symbol}{verdict.word}" if verdict.word else first
    colours = (
        [] if verdict.tone == "none" else [_COLOURS[verdict.tone]] if verdict.word or verdict.tone == "fair" else ()
    )
    painted = style.paint(head, *colours) if colours and first.startswith(head) else first[: len(head)]
    return gap + "".join(f"{line}\n" for line in (f"{painted}{first[len(head) :]}", *others))
