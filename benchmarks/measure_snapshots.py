"""Measurements on snapshots: rules, whole commands, output formats, many files, growth."""

from __future__ import annotations

import gc
import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from catalogs import catalog
from measurement import MANY_FILES, Comparison
from timing import MCPROOF, best_of, best_of_each, monitored, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from measurement import Workspace
    from timing import Spent

    from mcproof.checks.findings import Finding
    from mcproof.checks.rule import Rule

ALL_RULES = ("lint", "--ruleset", "all", "--format", "json")


@contextmanager
def without_collector() -> Iterator[None]:
    """Disable the garbage collector, as the command does."""
    gc.disable()
    yield
    gc.enable()


def cold(command: str) -> Callable[[Workspace], Comparison]:
    """A cold command on a 100 KB catalog against a Python that does nothing."""

    def measure(at: Workspace) -> Comparison:
        spent, nothing = best_of(
            25, lambda: run(MCPROOF, command, str(at.large_snapshot)), lambda: run(sys.executable, "-c", "pass")
        )
        return Comparison.of(spent, nothing)

    return measure


def warm(at: Workspace) -> Comparison:
    """The time of `lint` for each catalog of a folder, in one process that has checked them before."""
    (spent,) = _warm(_linted(at))
    each = 1e3 / len(at.snapshots)
    return Comparison(spent.cpu * each, f"{len(at.snapshots)} catalogs", "cpu", spent.wall * each)


def swept(at: Workspace) -> Comparison:
    """What a worker of a sweep does for each catalog, with scores and a row, against a warm `lint`."""
    from mcproof.services.sweep import SweepPlan
    from mcproof.services.sweep.check import SweepTask, check_capture
    from mcproof.services.sweep.registry import capture_target

    tasks = [
        SweepTask(number, capture_target(name)._replace(data=content))
        for number, (content, name) in enumerate(at.snapshots)
    ]
    sweep, lint = _warm(lambda: [check_capture(task, SweepPlan()) for task in tasks], _linted(at))
    return Comparison.of(sweep, lint)


def _linted(at: Workspace) -> Callable[[], object]:
    from mcproof.runs import execute
    from mcproof.runs.requests import CatalogDocument, LintRequest, Policy, SettingsSource, TargetSelection

    documents = tuple(CatalogDocument(name, content) for content, name in at.snapshots)
    request = LintRequest(TargetSelection(documents=documents), policy=Policy(SettingsSource(is_disabled=True)))
    return lambda: execute(request)


def _warm(*actions: Callable[[], object]) -> list[Spent]:
    """The least times of actions that were done before."""
    for action in actions:
        action()
    with without_collector():
        return best_of(7, *actions)


def rules(*ignored: str) -> Callable[[Workspace], Comparison]:
    """All rules but the ignored ones, without positions, against `json.loads` of the same bytes."""

    def measure(at: Workspace) -> Comparison:
        from mcproof.checks.engine import check
        from mcproof.checks.rule import choose_rules
        from mcproof.targets.snapshots import read_snapshot

        chosen = choose_rules(["all"], ignore=ignored)

        def judge(source: tuple[bytes, str]) -> list[Finding]:
            return check(read_snapshot(*source), chosen)

        with without_collector():
            judged, loaded = best_of_each(9, at.snapshots, judge, lambda source: json.loads(source[0]))
        return Comparison.of(judged, loaded, f"{sum(len(judge(source)) for source in at.snapshots):,} findings")

    return measure


_OTHERS = ("strict", "catalog", "tool_input_schemas_well_formed")
"""Rules that walk and measure every schema, as those of `lint` do in any case."""


def added(*rulesets: str, to: str) -> Callable[[Workspace], Comparison]:
    """What rulesets add to the time of other rules, without positions, against what another ruleset adds."""

    def measure(at: Workspace) -> Comparison:
        from mcproof.checks.engine import check
        from mcproof.checks.rule import rules_named
        from mcproof.targets.snapshots import read_snapshot

        def judging(*more: str) -> Callable[[tuple[bytes, str]], list[Finding]]:
            chosen = rules_named((*_OTHERS, *more))
            return lambda source: check(read_snapshot(*source), chosen)

        judges = judging(), judging(*rulesets), judging(to)
        with without_collector():
            others, with_these, with_reference = best_of_each(9, at.snapshots, *judges)
        counts = [sum(len(judge(source)) for source in at.snapshots) for judge in judges]
        detail = f"{counts[1] - counts[0]:,} findings against {counts[2] - counts[0]:,}"
        return Comparison.of(with_these - others, with_reference - others, detail)

    return measure


def text_rules(at: Workspace) -> Comparison:
    """The rules about texts that a model reads against the `polish` rules, on the same catalogs."""
    from mcproof.checks.engine import check
    from mcproof.checks.rule import rules_of
    from mcproof.targets.snapshots import read_snapshot

    polish = rules_of("polish")
    texts = [rule for rule in rules_of("trust") if rule.traits.in_lint and rule.id.startswith("TRU-")]

    def judge(chosen: list[Rule]) -> Callable[[tuple[bytes, str]], list[Finding]]:
        return lambda source: check(read_snapshot(*source), chosen)

    with without_collector():
        judged, polished, read = best_of_each(9, at.snapshots, judge(texts), judge(polish), judge([]))
    return Comparison.of(judged - read, polished - read, f"{len(texts)} rules against {len(polish)}")


def command(*arguments: str) -> Callable[[Workspace], Comparison]:
    """A whole command on a folder, with the start of its process, against `json.loads` of the same bytes."""

    def measure(at: Workspace) -> Comparison:
        (spent,) = best_of(7, lambda: run(MCPROOF, *arguments, str(at.catalogs)))
        with without_collector():
            (loaded,) = best_of_each(9, at.snapshots, lambda source: json.loads(source[0]))
        return Comparison.of(spent, loaded)

    return measure


def command_added(*rulesets: str, to: str) -> Callable[[Workspace], Comparison]:
    """What rulesets add to `lint --ruleset catalog` of a folder, in JSON, against what another ruleset adds."""

    def measure(at: Workspace) -> Comparison:
        def lint(*more: str) -> Callable[[], None]:
            chosen = ",".join(("catalog", *more))
            options = ("--ruleset", chosen, "--format", "json", "--no-config")
            return lambda: run(MCPROOF, "lint", str(at.catalogs), *options)

        base, with_these, with_reference = best_of(9, lint(), lint(*rulesets), lint(to))
        return Comparison.of(with_these - base, with_reference - base, f"base {base.cpu * 1000:.0f} ms")

    return measure


def many_files(name: str) -> Callable[[Workspace], Comparison]:
    """The time of a command for each of 5,000 files of two tools, in microseconds."""

    def measure(at: Workspace) -> Comparison:
        files = sorted(at.many_files.iterdir())
        with without_collector():
            spent, loaded = best_of(
                3,
                lambda: run(MCPROOF, name, str(at.many_files)),
                lambda: [json.loads(file.read_bytes()) for file in files],
            )
        a_file = 1e6 / MANY_FILES
        detail = f"{loaded.cpu * a_file:.0f} µs to read and parse a file, {loaded.wall * a_file:.0f} µs wall"
        return Comparison(spent.cpu * a_file, detail, "cpu", spent.wall * a_file)

    return measure


_FEW, _SOME, _MANY = 1_000, 10_000, 100_000


def growth(at: Workspace) -> Comparison:
    """The CPU time for a tool of a catalog of 100,000 tools against one of 1,000, and the peak memory of each."""
    costs, notes = {}, []
    for tools in (_FEW, _SOME, _MANY):
        file = at.folder / f"{tools}.json"
        file.write_text(catalog(1, tools), encoding="utf-8")
        cost = monitored(*ALL_RULES, str(file))
        costs[tools] = cost.seconds / tools
        notes.append(f"{cost.peak / file.stat().st_size:.1f}")
        file.unlink()
    detail = f"linear is 1; peak memory of 1,000, 10,000 and 100,000 tools: {', '.join(notes)} times the input"
    return Comparison(costs[_MANY] / costs[_FEW], detail, "cpu")
