"""What every checking command does with its targets: read each, judge it, and write down what comes of it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from mcproof.cli.live_options import asking, live_options
from mcproof.cli.main import FAILED, FINDINGS, INTERRUPTED, OK
from mcproof.cli.outputs import Outputs
from mcproof.cli.planning import Planning
from mcproof.config.settings import settings_for
from mcproof.console import Progress, plural, tell
from mcproof.errors import InputError, McproofError, UsageError
from mcproof.execution.check_catalog import NO_TOOLS, examine
from mcproof.linting.suppression.ignores import IgnoreTracker
from mcproof.results.build import rule_facts
from mcproof.results.payloads import empty_payload
from mcproof.results.run import Notice, RunResult, TargetResult, Trouble
from mcproof.targets.argument import find_inputs, is_single, read_catalog

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from mcproof.catalog.model import Catalog
    from mcproof.cli.planning import Command
    from mcproof.client.open_server import OpenServer
    from mcproof.execution.check_catalog import Depth, Plan
    from mcproof.linting.suppression.baseline import Baseline
    from mcproof.results.findings import RuleFacts
    from mcproof.results.payloads import Payload
    from mcproof.targets.argument import Input
    from mcproof.targets.live_servers import LiveCatalogs


class Work(NamedTuple):
    """What there is to do with one catalog."""

    catalog: Catalog
    plan: Plan
    baseline: Baseline | None
    tracker: IgnoreTracker
    source: Input
    payload: Payload
    interrupt: Callable[[], None]
    """Takes note that the user wants to stop; what was found so far still counts."""
    server: OpenServer | None = None
    """The live server that the catalog was listed from, still open, if the command calls it."""

    def examined(self, depth: Depth) -> TargetResult:
        """What the rules have to say about the catalog."""
        return examine(self.catalog, self.plan, depth, self.tracker, self.baseline, self.payload)


def check_targets(
    command: Command,
    options: argparse.Namespace,
    look: Callable[[Work, Depth], TargetResult] = Work.examined,
) -> int:
    """Look at every target and write down what comes of it. One that cannot be read does not hide the others."""
    run = Run(command, options)
    outputs = Outputs(command.name, options, is_single=run.is_single)
    outputs.refuse_to_replace(run.to_keep())
    depth = outputs.depth._replace(scores=outputs.depth.scores or command.grades)
    start, started = perf_counter(), now()
    reports = []
    try:
        for report in run.over_targets(lambda work: look(work, depth)):
            reports.append(report)
            outputs.show(report)
            _tell_skipped(report)
    except KeyboardInterrupt:
        tell("interrupted")
        run.interrupt()
    with _finished_first() as interrupts:
        notices = run.notices()
        for notice in notices:
            tell(str(notice))
        code = run.exit_code(reports, notices)
        finished = RunResult(
            command=command.name,
            version=_version(),
            targets=reports,
            rules=run.rules(),
            notices=notices,
            exit_code=code,
            is_single=run.is_single,
            started=started,
            seconds=perf_counter() - start,
        )
        outputs.write(finished)
        run.update_baselines(code)
        outputs.print(finished)
    return INTERRUPTED if interrupts else code


@contextmanager
def _finished_first() -> Iterator[list[object]]:
    """Let interrupts wait until what was found is written down; those that came meanwhile."""
    import signal

    came: list[object] = []
    try:
        before = signal.signal(signal.SIGINT, lambda *_: came.append(None))
    except ValueError:  # not the main thread, which alone is interrupted
        yield came
        return
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


class Run:
    """One pass over all targets of a command line."""

    def __init__(self, command: Command, options: argparse.Namespace) -> None:
        self._planning = Planning(command, options)
        self._options = options
        self._targets = self._planning.targets()
        self._inputs = find_inputs(self._targets, live_options(options))
        # Before anything is printed or changed, so that a mistake in the settings of the last target costs nothing.
        self._plans = [
            self._planning.plan_for(source.configured_near, is_source=source.is_source) for source in self._inputs
        ]
        self._tracker = IgnoreTracker()
        self._needs_all = command.grades
        self._calls = command.calls
        self._payload = empty_payload(command.name)
        self._interrupted = False
        self._saw_all = True
        self._omissions: dict[Notice, None] = {}
        self.is_single = not options.all and is_single([*self._targets, *(["--"] if options.server_command else [])])
        self.has_several = len(self._inputs) > 1
        self.has_source_folder = any(source.is_source and os.path.isdir(source.name) for source in self._inputs)
        self.has_live = any(source.server is not None for source in self._inputs)

    def to_keep(self) -> dict[str, str]:
        """The files that no output may replace, each with what it is."""
        read = {each.name: "what is read" for each in self._inputs if not each.is_stdin and each.server is None}
        return {**read, **{each.file: "the baseline" for each in self._planning.baselines()}}

    def over_targets(self, look: Callable[[Work], TargetResult]) -> Iterator[TargetResult]:
        """The report of each target, as soon as it is there."""
        progress = Progress(len(self._inputs))
        done = 0
        try:
            live = self._ask_servers(progress)
            for number, (source, plan) in enumerate(zip(self._inputs, self._plans, strict=True), 1):
                progress.step(number, source.name)
                report = self._look(source, plan, look, live)
                progress.clear()
                if report is not None:
                    done += 1
                    yield report
            if live is not None and live.interrupted:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            progress.clear()
            tell(f"interrupted after {done} of {len(self._inputs)} targets")
            self.interrupt()
        if not done and not self._interrupted:
            listed = ", ".join(self._targets)
            raise InputError(f"nothing to check: no snapshot among the `.json` files of {listed}")

    def interrupt(self) -> None:
        """Take note that not all was seen."""
        self._interrupted = True

    def _ask_servers(self, progress: Progress) -> LiveCatalogs | None:
        """Ask the live servers, all at once; None where there are none."""
        if not self.has_live or self._calls:  # a server that is called is listed by the session that calls it
            return None
        from mcproof.targets.live_servers import LiveCatalogs

        return LiveCatalogs(self._inputs, asking(self._options, self._planning.timeout), progress.step)

    def _look(
        self,
        source: Input,
        plan: tuple[Plan, Baseline | None],
        look: Callable[[Work], TargetResult],
        live: LiveCatalogs | None,
    ) -> TargetResult | None:
        try:
            if self._calls and source.server is not None:
                return self._call(source, plan, look)
            if live is not None and source.server is not None:
                catalog = live.catalog(source)
            else:
                catalog = read_catalog(source, whole=self._needs_all)
            if catalog is None:
                return None
            self._omissions.update(dict.fromkeys(omissions(catalog)))
            if self._needs_all:
                refuse_partial(catalog)
            return look(Work(catalog, *plan, self._tracker, source, self._payload, self.interrupt))
        except McproofError as error:
            if _is_harmless(source, error):
                if not self._planning.is_baseline(source.name):
                    tell(f"passed over {source.name}: no catalog in it")
                return None
            self._saw_all = False
            return TargetResult(source.title, Trouble.of(error), payload=self._payload)

    def _call(
        self, source: Input, plan: tuple[Plan, Baseline | None], look: Callable[[Work], TargetResult]
    ) -> TargetResult:
        """Look at a server that is called: it is started once, listed, called and closed."""
        from mcproof.client.open_server import OpenServer
        from mcproof.targets.live_servers import listed_catalog

        assert source.server is not None  # noqa: S101
        limit = self._options.max_call_ms / 1000
        with OpenServer(source.server, asking(self._options, self._planning.timeout), limit) as server:
            catalog = listed_catalog(server, source)
            return look(Work(catalog, *plan, self._tracker, source, self._payload, self.interrupt, server))

    def notices(self) -> list[Notice]:
        """What configuration, comments and baselines say that is not needed any more, and what was not checked."""
        if self._interrupted:
            return []
        return [*self._stale_entries(), *self._unused_ignores(), *self._remarks(), *self._omissions]

    def _stale_entries(self) -> Iterator[Notice]:
        for baseline in [] if self._planning.updates_baseline else self._planning.baselines():
            for entry, line in baseline.stale():
                what = f"stale: {entry.rule} at {entry.subject}{entry.pointer} of {entry.target} no longer occurs"
                yield Notice("stale-baseline", f"{what}; `--update-baseline` takes it out", baseline.file, line)

    def update_baselines(self, code: int) -> None:
        """Write the baselines anew where that was asked for, and where all targets were seen."""
        for baseline in self._planning.baselines() if self._planning.updates_baseline else []:
            if code in (FAILED, INTERRUPTED):
                tell(f"{baseline.file}: not updated, as not all targets were checked")
            else:
                accepted, new, gone = baseline.update()
                counted = f"{plural(accepted, 'finding')} accepted, {new:,} new, {gone:,} gone"
                tell(f"{baseline.file}: {counted}")

    def _unused_ignores(self) -> Iterator[Notice]:
        for entry in self._tracker.unused() if self._saw_all else ():
            scope = f" for {entry.kind} `{entry.glob}`" if entry.kind is not None else ""
            what = f"unused: `ignore-for` of {', '.join(entry.named)}{scope} matched nothing in this run"
            yield Notice("unused-ignore", what, entry.location.file, entry.location.line)

    def _remarks(self) -> Iterator[Notice]:
        """What is wrong with comments in the source."""
        for remark in self._tracker.notices.values():
            if remark is not None:
                yield Notice(*remark)

    def exit_code(self, reports: list[TargetResult], notices: list[Notice]) -> int:
        if self._interrupted:
            return INTERRUPTED
        if any(report.trouble is not None for report in reports):
            return FAILED
        stale = any(notice.level == "error" for notice in notices)
        return OK if not stale and all(report.passed for report in reports) else FINDINGS

    def rules(self) -> list[RuleFacts]:
        """The rules that ran, for whichever target; those about connections only where there was one."""
        ran = [rule for rule in self._planning.rules() if self.has_live or rule.ruleset != "wire"]
        ran = [rule for rule in ran if self._calls or rule.scope != "ItemProbes"]
        return list({rule.id: rule_facts(rule) for rule in ran}.values())


def _tell_skipped(report: TargetResult) -> None:
    """Say which rules had nothing to look at, because no list of tools was read."""
    for each in report.untested:
        if each.why == NO_TOOLS:
            tell(f"{report.target}: {NO_TOOLS}, so skipped: {each.what}")


def _is_harmless(source: Input, error: McproofError) -> bool:
    """Whether a target that gives nothing is no failure, because a folder brought it in."""
    from mcproof.targets.snapshot import NoCatalogError

    return source.from_folder and isinstance(error, NoCatalogError)


def read_one(target: str | None, options: argparse.Namespace) -> Catalog:
    """The catalog of the one target that a command takes: a file, or a live server."""
    if target is not None and target != "-" and os.path.isdir(target) and not is_single([target]):
        raise InputError("is a folder; name one catalog", file=target)
    inputs = find_inputs([] if target is None else [target], live_options(options))
    if len(inputs) != 1:
        listed = ", ".join(source.title for source in inputs)
        raise UsageError(f"exactly one target is needed, and these are {len(inputs)}: {listed}")
    (source,) = inputs
    if source.obstacle is not None:
        raise source.obstacle
    if source.server is None:
        read = read_catalog(source, whole=True)
        for notice in omissions(read):
            tell(str(notice))
        return read
    from mcproof.targets.live_servers import LiveCatalogs

    catalog = LiveCatalogs(inputs, asking(options, settings_for(os.curdir).timeout), lambda *_: None).catalog(source)
    if catalog is None:
        raise KeyboardInterrupt
    refuse_partial(catalog)
    return catalog


def omissions(catalog: Catalog) -> list[Notice]:
    """What of a source is not in its catalog."""
    if catalog.source is None:
        return []
    return [Notice("not-checked", what, file, line) for file, line, _, what in catalog.source.omissions]


def refuse_partial(catalog: Catalog) -> None:
    """Raise an InputError where a server did not serve what it promised: a part must not pass for the whole."""
    if catalog.missing is not None:
        raise InputError(f"not the whole catalog: {catalog.missing}", file=catalog.name)


def _version() -> str:
    from mcproof import __version__

    return __version__


def now() -> str:
    """The time of day, in UTC, for the report."""
    from time import gmtime, strftime

    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
