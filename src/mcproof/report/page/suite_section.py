"""The tests of a suite on a page: those that did not pass first, each with its reasons; the others on a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.console import plural
from mcproof.report.page.markup import names, prose, stack, text
from mcproof.results.suite_tests import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.report.page.markup import Share
    from mcproof.results.run import RunResult, TargetResult
    from mcproof.results.suite_tests import TestFailure, TestResult

OPEN = 30
"""A suite with no more tests than this shows them all at once; a longer one folds those that give no work."""

_LONGEST = 1_000_000
"""Seconds; whatever claims to have taken longer comes from a file that is not to be believed."""


class Look(NamedTuple):
    """How the page shows an outcome: by colour, by symbol and in words."""

    tone: str
    symbol: str
    word: str
    is_open: bool = False
    """Whether its tests are shown however many there are."""


LOOKS = {
    "failed": Look("bad", "✗", "failed", is_open=True),
    "error": Look("unmade", "!", "could not be made", is_open=True),
    "skipped": Look("open", "–", "skipped"),
    "not_applicable": Look("none", "·", "not applicable"),
    "passed": Look("good", "✓", "passed"),
}
"""The outcomes in the order in which they call for somebody."""


def by_outcome(tests: Sequence[TestResult]) -> dict[str, list[TestResult]]:
    """The tests of each outcome, in the order of the suite."""
    groups: dict[str, list[TestResult]] = {outcome: [] for outcome in LOOKS}
    for test in tests:
        groups[test.outcome].append(test)
    return groups


def tests_headline(tests: Sequence[TestResult]) -> str:
    """What the tests came to, in a phrase that begins with what is wrong."""
    counts = {outcome: len(group) for outcome, group in by_outcome(tests).items() if group}
    if not counts:
        return "no tests"
    if len(counts) == 1 and "passed" in counts:
        return f"all {len(tests):,} tests passed" if len(tests) > 1 else "1 test passed"
    if not counts.keys() & {"failed", "error", "passed"}:
        told = [f"no test of {len(tests):,} was made"]
    else:
        first = next(outcome for outcome in ("failed", "error", "passed") if outcome in counts)
        told = [f"{counts.pop(first):,} of {plural(len(tests), 'test')} {LOOKS[first].word}"]
        if first != "passed":
            counts = {outcome: count for outcome, count in counts.items() if outcome == "error"}
    return ", ".join([*told, *(f"{count:,} {LOOKS[outcome].word}" for outcome, count in counts.items())])


def shares(tests: Sequence[TestResult]) -> list[Share]:
    """How many tests have each outcome that occurs, for a bar."""
    groups = by_outcome(tests)
    return [
        (LOOKS[outcome].tone, LOOKS[outcome].symbol, len(groups[outcome]), LOOKS[outcome].word)
        for outcome in OUTCOMES
        if groups[outcome]
    ]


def duration(seconds: float) -> str:
    """How long something took; nothing where that is not known."""
    seconds = round(seconds, 4)  # as a stored report has it, so that the page is the same when it is made again
    if not 0 < seconds < _LONGEST:
        return ""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "< 1 ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"


def suite_facts(report: TargetResult) -> str:
    """Which servers a suite speaks to, and how long it took."""
    servers = _servers(report)
    took = duration(report.seconds)
    entries = [("Server" if len(servers) == 1 else "Servers", names(servers))] if servers else []
    entries += [("Took", text(took))] if took else []
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>\n" for name, value in entries)
    return f'<dl class="facts">\n{rows}</dl>\n' if rows else ""


def _servers(report: TargetResult) -> list[str]:
    return list(dict.fromkeys(test.server for test in report.tests if test.server))


def test_groups(report: TargetResult, heading: int) -> Iterator[str]:
    """Every test, in a section that opens for each outcome."""
    if not report.tests:
        yield '<p class="clean">No tests.</p>\n'
    few = len(report.tests) <= OPEN
    several = len(_servers(report)) > 1
    for outcome, tests in by_outcome(report.tests).items():
        if not tests:
            continue
        look = LOOKS[outcome]
        yield (
            f'<details class="group"{" open" if few or look.is_open else ""}>\n'
            f'<summary><h{heading} class="title">{look.word.capitalize()}</h{heading}>'
            f'<span class="counts">{plural(len(tests), "test")}</span></summary>\n<ol>\n'
        )
        for test in tests:
            yield _test(test, look, with_server=several)
        yield "</ol>\n</details>\n"


def _test(test: TestResult, look: Look, *, with_server: bool) -> str:
    """One test: its name and what it is about on a line, the reasons below it."""
    calls_for_work = look.is_open
    part = f'<code class="part">{text(test.block, 40)}</code>\n' if test.block != "tools" else ""
    server = f'<span class="server">{text(test.server, 120)}</span>\n' if with_server and test.server else ""
    note = f'<span class="gist">{prose(test.message)}</span>\n' if test.message and not calls_for_work else ""
    took = duration(test.seconds)
    time = f'<span class="time">{text(took)}</span>\n' if took else ""
    return (
        f'<li class="test" data-outcome="{test.outcome}"><span class="square {look.tone}">'
        f'<span aria-hidden="true">{look.symbol}</span><span class="unseen">{look.word}: </span></span>'
        f'<div class="what"><p class="head"><span class="about"><b>{text(test.name, 300)}</b>\n'
        f"{part}{server}{note}</span>{time}</p>\n"
        f"{_reasons(test) if calls_for_work else ''}</div></li>\n"
    )


def _reasons(test: TestResult) -> str:
    """Why a test did not pass, and where it stands."""
    if test.failures:
        told = f'<ul class="unmet">\n{"".join(map(_failure, test.failures))}</ul>\n'
    else:
        told = f"<p>{prose(test.message)}</p>\n" if test.message else ""
    place = test.first_line
    line = "" if place is None else f":{place}"
    return told + (f'<p class="place">{text(test.file, 300)}{line}</p>\n' if test.file is not None else "")


def _failure(failure: TestFailure) -> str:
    """One expectation that was not met: of what, what is wrong, and both values below each other."""
    wanted, got = failure.expected, failure.got
    repeats = failure.message == f"expected {wanted}, got {got}"
    of_what = bool(failure.target) and not failure.message.startswith(failure.target)
    parts = [f"<code>{text(failure.target, 300)}</code>"] if of_what else []
    parts += [] if repeats else [prose(failure.message)]
    said = f"<p>{' '.join(parts)}</p>\n" if parts else ""
    values = ""
    if got and (repeats or failure.has_difference):
        values = (
            '<dl class="values">\n'
            f'<div class="wanted"><dt>expected</dt><dd><code>{text(wanted)}</code></dd></div>\n'
            f'<div class="came"><dt>got</dt><dd><code>{text(got)}</code></dd></div>\n</dl>\n'
        )
    return f"<li>{said}{values}</li>\n"


def suites_overview(run: RunResult) -> str:
    """Several suites at a glance: how many tests of each ended how."""
    there = [
        outcome for outcome in OUTCOMES if any(test.outcome == outcome for each in run.targets for test in each.tests)
    ]
    timed = any(duration(report.seconds) for report in run.targets)
    head = "".join(f'<th scope="col" class="number">{LOOKS[outcome].word.capitalize()}</th>' for outcome in there)
    took = '<th scope="col" class="number">Took</th>' if timed else ""
    rows = "".join(_suite_row(number, report, there, timed) for number, report in enumerate(run.targets, 1))
    return (
        '<table class="overview suites"><caption class="unseen">All suites</caption>\n'
        f'<thead><tr><th scope="col">Suite</th><td></td>{head}{took}<th scope="col">Result</th></tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table>\n"
    )


def _suite_row(number: int, report: TargetResult, there: Sequence[str], timed: bool) -> str:
    result = "passed" if report.passed else "failed"
    cells = [f'<th scope="row" class="of-name"><a href="#t{number}">{text(report.title, 120)}</a></th>']
    if report.trouble is not None:
        cells.append(f'<td class="of-trouble" colspan="{1 + len(there) + timed}">could not be checked</td>')
    else:
        groups = by_outcome(report.tests)
        cells.append(f'<td class="of-bar">{stack(shares(report.tests))}</td>')
        cells += [_number(len(groups[outcome]), LOOKS[outcome]) for outcome in there]
        cells += [f'<td class="of-time number">{text(duration(report.seconds))}</td>'] if timed else []
    cells.append(f'<td class="of-result"><strong class="{result}">{result}</strong></td>')
    return f"<tr>{''.join(cells)}</tr>\n"


def _number(count: int, look: Look) -> str:
    """How many tests; what of is said by the column, or beside the number where a screen has no room for columns."""
    kind = look.tone if count else "zero"
    return f'<td class="number {kind}">{count:,}<span class="unit"> {look.word}</span></td>'


def all_tests(run: RunResult) -> list[TestResult]:
    """The tests of all suites of a run."""
    return [test for report in run.targets for test in report.tests]
