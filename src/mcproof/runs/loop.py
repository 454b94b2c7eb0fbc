"""The targets of a run, one after the other: from names to inputs and catalogs, to the result of the run.

An interrupt keeps the results so far. Times and interrupts at the end of a run are handled here, too.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from time import gmtime, perf_counter, strftime
from typing import TYPE_CHECKING, NamedTuple

from mcproof import __version__
from mcproof.checks.ignores import IgnoreTracker
from mcproof.checks.reporting import rule_facts
from mcproof.checks.subjects import Observed, observed_by_reading
from mcproof.core.catalog.model import Catalog, Neighbour
from mcproof.core.console import plural
from mcproof.core.errors import (
    FAILED,
    INTERRUPTED,
    SESSION_EXPIRED,
    InputError,
    McproofError,
    Notice,
    UsageError,
    nearest,
)
from mcproof.core.observations.connection import expired_text
from mcproof.core.observations.probes import ItemProbes
from mcproof.core.protocol import REVISIONS
from mcproof.core.text.files import leaves_folder
from mcproof.runs.config import DEFAULTS, Settings
from mcproof.runs.events import (
    ConfigurationApplied,
    Listener,
    MessageSent,
    NoticeRaised,
    ProgressMade,
    RunFinished,
    RunStarted,
    TargetFailed,
    TargetFinished,
    TargetStarted,
    ignore,
)
from mcproof.runs.exit_code import exit_code
from mcproof.runs.planning import Planner, few, resolve_target, shown_target
from mcproof.runs.requests import CheckRequest, FuzzRequest, LockRequest, ProbeRequest, TargetSelection
from mcproof.runs.results import RunResult, TargetResult, Trouble, empty_payload
from mcproof.targets.arguments import Input, SkippedFiles, find_inputs, is_single, read_catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.checks.findings import RuleFacts
    from mcproof.client.capture import OpenServer
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.observations.connection import ConnectionFacts
    from mcproof.runs.judging import Plan
    from mcproof.targets.arguments import Target
    from mcproof.targets.snapshots import LiveCatalogs


class Clock:
    """When a run started, and how long it has taken."""

    def __init__(self) -> None:
        self.started = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
        """In UTC."""
        self._start = perf_counter()

    @property
    def seconds(self) -> float:
        return perf_counter() - self._start


@contextmanager
def interrupts_deferred() -> Iterator[list[object]]:
    """Defer interrupts until the block ends; yield the list of those that arrive."""
    import signal

    arrived: list[object] = []
    try:
        before = signal.signal(signal.SIGINT, lambda *_: arrived.append(None))
    except ValueError:  # not the main thread, the only one that is interrupted
        yield arrived
        return
    try:
        yield arrived
    finally:
        signal.signal(signal.SIGINT, before)


def inputs_of(
    names: Iterable[Target],
    targets: TargetSelection,
    *,
    command: str = "lint",
    skipped: SkippedFiles | None = None,
    as_one: bool = False,
) -> list[Input]:
    """The inputs behind some targets and documents; see `find_inputs`."""
    documents = [Input(each.name, data=each.data) for each in targets.documents]
    return [*find_inputs(names, targets.live, command=command, skipped=skipped, as_one=as_one), *documents]


def is_single_target(names: Iterable[Target], targets: TargetSelection, inputs: list[Input]) -> bool:
    """Whether the user names one target, as opposed to several or a folder of them."""
    if len(inputs) > 1 or any(source.folder for source in inputs):
        return False
    others = ["--"] * (bool(targets.live.command) + len(targets.documents))
    return not targets.live.all_configured and len([*names, *others]) == 1


def is_file(source: Input) -> bool:
    """Whether an input is a file or a folder, as opposed to standard input, a server or a document."""
    return not source.is_stdin and source.server is None and source.data is None


def connect_options(targets: TargetSelection, timeout: float | None) -> ConnectOptions:
    """How to connect to live servers, with the time limits of the request or else a configured one for responses."""
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.connection import Limits

    refuse_unknown_protocol(targets.protocol)
    limits = Limits()
    timeout = targets.timeout if targets.timeout is not None else timeout
    if timeout is not None:
        limits = limits._replace(request=timeout, total=max(limits.total, 20 * timeout))
    if targets.start_timeout is not None:
        limits = limits._replace(start=targets.start_timeout)
    return ConnectOptions(limits, targets.protocol, targets.answers)


def refuse_unknown_protocol(revision: str | None) -> None:
    """Raise a UsageError if the user names a protocol revision that does not exist."""
    if revision is not None and revision not in REVISIONS:
        hint = nearest(revision, list(REVISIONS))
        raise UsageError(f"unknown protocol revision `{revision}`{hint}; there are {', '.join(REVISIONS)}")


def omissions(catalog: Catalog) -> list[Notice]:
    """What a source contains that its catalog does not."""
    if catalog.source is None:
        return []
    return [Notice("not-checked", what, file, line) for file, line, _, what in catalog.source.omissions]


def refuse_partial(catalog: Catalog) -> None:
    """Raise an InputError if a server did not serve all it declares: a part must not pass for the whole."""
    if catalog.missing is not None:
        raise InputError(f"not the whole catalog: {catalog.missing}", file=catalog.name)


def one_input(targets: TargetSelection, settings: Settings = DEFAULTS, listen: Listener = ignore) -> Input:
    """The only input behind some targets, whose names may come from the configuration.

    Raises an error if there are several, or if it cannot be read.
    """
    names = resolved_names(targets, settings, listen)
    for name in names:
        if isinstance(name, str) and name != "-" and os.path.isdir(name) and not is_single([name]):
            raise InputError("is a folder; name one catalog", file=name)
    inputs = inputs_of(names, targets, as_one=True)
    if len(inputs) != 1:
        listed = ", ".join(source.title for source in inputs)
        raise UsageError(f"expected one target, got {len(inputs)}: {listed}")
    (source,) = inputs
    if source.obstacle is not None:
        raise source.obstacle
    return source


def resolved_names(targets: TargetSelection, settings: Settings, listen: Listener) -> list[Target]:
    """The named targets, names from the configuration resolved."""
    return [_resolved(name, settings, listen) for name in targets.names]


def _resolved(name: str, settings: Settings, listen: Listener) -> Target:
    """A target by its name in the configuration, which is reported; or as it is."""
    target = resolve_target(name, settings)
    if target is not name:
        listen(MessageSent(f"{name}: {shown_target(target)} ({settings.locations[f'targets.{name}']})"))
    return target


def read_one(
    targets: TargetSelection,
    timeout: float | None,
    listen: Listener,
    *,
    settings: Settings = DEFAULTS,
    is_partial_allowed: bool = False,
) -> Catalog:
    """Read the catalog of exactly one target: a file, a document or a live server."""
    source = one_input(targets, settings, listen)
    if source.server is None:
        read = read_catalog(source, whole=True)
        for notice in omissions(read):
            listen(NoticeRaised(notice))
        return read
    from mcproof.targets.snapshots import LiveCatalogs

    catalog = LiveCatalogs([source], connect_options(targets, timeout), lambda *_: None).catalog(source)
    if catalog is None:
        raise KeyboardInterrupt
    if not is_partial_allowed:
        refuse_partial(catalog)
    return catalog


def catalog_text(catalog: Catalog) -> str:
    """The text of the catalog, without a JSON-RPC envelope; a bare list of tools becomes an object.

    Serialising the values again would lose what Python cannot represent, such as very large numbers.
    """
    document = catalog.document
    if catalog.server.raw:
        whole = catalog.server.pointer
    else:
        whole = catalog.tools[0].pointer.rpartition("/")[0].removesuffix("/tools")
    span = document.spans([whole])[whole]
    text = document.text[span.start : span.end]
    return f'{{"tools": {text}}}\n' if text.startswith("[") else f"{text}\n"


if TYPE_CHECKING:
    Recovery = Callable[[Input, Plan, McproofError], "Checked | None"]
    """What to make of a target whose catalog cannot be read; None if that is an error."""


class LoadedTarget(NamedTuple):
    """An input with its catalog and its plan."""

    source: Input
    catalog: Catalog
    plan: Plan
    server: OpenServer | None = None
    """The server that the catalog was listed from, still open, if the run calls its tools."""

    @property
    def observed(self) -> Observed:
        """What was observed while the catalog was read."""
        return observed_by_reading(self.catalog)


class Checked(NamedTuple):
    """The result of a target, partial if the user interrupted the check."""

    result: TargetResult
    is_interrupted: bool = False
    catalog: Catalog | None = None
    """The catalog that was checked; the run adds it."""


class TargetRun:
    """One pass over the targets of a request."""

    def __init__(self, request: CheckRequest | LockRequest, listen: Listener) -> None:
        self._planner = Planner(request)
        self._targets = self._planner.targets
        refuse_unknown_protocol(self._targets.protocol)
        self._listen = listen
        self._names = self._planner.target_names()
        self._skipped = SkippedFiles()
        self._neighbours: dict[str, list[Neighbour]] = {}
        """The servers that were read, by the client configuration that names them."""
        command = self._planner.kind.command
        self._inputs = inputs_of(self._names, self._targets, command=command, skipped=self._skipped)
        # All plans first: an error in the configuration of the last target is reported before any work is done.
        self._plans = [self._planner.plan_for(source) for source in self._inputs]
        self._updates_baseline = request.policy.updates_baseline
        self._call_limit = request.calls.limit if isinstance(request, ProbeRequest | FuzzRequest) else None
        self._has_live = any(source.server is not None for source in self._inputs)
        self._is_interrupted = False
        self._remarks: dict[Notice, None] = {}
        """Notices about targets: source that was not checked, sessions that have expired."""
        self.tracker = IgnoreTracker()
        self._recover: Recovery | None = None

    @property
    def inputs(self) -> list[Input]:
        """The inputs behind the targets."""
        return self._inputs

    @property
    def connect_options(self) -> ConnectOptions:
        """How to connect to the live servers among the targets."""
        return connect_options(self._targets, self._planner.timeout)

    @property
    def plans(self) -> list[Plan]:
        """The plan of each target."""
        return self._plans

    def add_messages(self, messages: Iterable[str]) -> None:
        """Add messages for the user, which are sent when the run starts."""
        self._planner.messages += messages

    def run(self, check: Callable[[LoadedTarget], Checked], recover: Recovery | None = None) -> RunResult:
        """Check every target; one that cannot be read does not hide the others.

        `recover` may give a result for a target whose catalog cannot be read.
        """
        self._recover = recover
        clock = Clock()
        single = is_single_target(self._names, self._targets, self._inputs)
        self._listen(RunStarted(single, tuple(self._inputs), self._files()))
        configurations = list(self._planner.configurations())
        for configuration in configurations:
            self._listen(ConfigurationApplied(configuration))
        for message in self._planner.messages:
            self._listen(MessageSent(message))
        results = self._check_all(check)
        with interrupts_deferred() as interrupts:
            notices = [] if self._is_interrupted else list(self._notices(results))
            for notice in notices:
                self._listen(NoticeRaised(notice))
            run = RunResult(
                command=self._planner.kind.command,
                version=__version__,
                targets=results,
                rules=self._rules(),
                notices=notices,
                configurations=configurations,
                exit_code=exit_code(results, notices, is_interrupted=self._is_interrupted),
                is_single=single,
                started=clock.started,
                seconds=clock.seconds,
            )
            self._listen(RunFinished(run))
            self._update_baselines(run.exit_code)
        return run._replace(exit_code=INTERRUPTED) if interrupts else run

    def refuse_foreign(self, source: Input, file: str) -> None:
        """Raise an InputError if fixing an input would write a file that the command line does not name.

        Links and paths in a stranger's checkout may lead to any file of the user.
        """
        folder = self._planner.folder
        if folder is None:
            if file == source.name and not source.folder:
                return
            folder = source.folder or (source.name if os.path.isdir(source.name) else os.path.dirname(source.name))
            if leaves_folder(file, os.curdir) is None:
                return
        if (problem := leaves_folder(file, folder)) is not None:
            raise InputError(f"{problem}; nothing was written; name the file itself to fix it", file=file)

    def _files(self) -> dict[str, str]:
        """The files that this run needs, each with its role."""
        read = {each.name: "what is read" for each in self._inputs if is_file(each)}
        return {**read, **{each.file: "the baseline" for each in self._planner.baselines()}}

    def _check_all(self, check: Callable[[LoadedTarget], Checked]) -> list[TargetResult]:
        results: list[TargetResult] = []
        total = len(self._inputs)
        try:
            live = self._list_servers()
            for number, (source, plan) in enumerate(zip(self._inputs, self._plans, strict=True), 1):
                self._listen(TargetStarted(number, total, source.name))
                checked = self._check(source, plan, check, live)
                if checked is not None:
                    results.append(checked.result)
                    self._listen(TargetFinished(checked.result, checked.catalog))
                    self._is_interrupted |= checked.is_interrupted
            if live is not None and live.interrupted:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            self._listen(MessageSent(f"interrupted after {len(results)} of {total} targets"))
            self._is_interrupted = True
        if not results and not self._is_interrupted:
            names = ", ".join(name for name in self._names if isinstance(name, str))
            raise InputError(f"nothing to check: no snapshot among the `.json` files of {names}")
        self._report_skipped()
        return results

    def _report_skipped(self) -> None:
        """Report the files in folders that are not catalogs, once for all."""
        files = [file for file in self._skipped.files if not self._planner.is_baseline(file)]
        if files:
            from mcproof.targets.folders import configured_servers

            configured = list(configured_servers(files, self._planner.kind.command))
            self._skipped.servers += configured
            files = [file for file in files if file not in {each.where for each in configured}]
        if len(files) == 1:
            self._listen(MessageSent(f"skipped {files[0]} (not a catalog)"))
        elif files:
            self._listen(MessageSent(f"skipped {len(files):,} JSON files (not catalogs): {few(files, 3)}"))
            for file in files:
                self._listen(MessageSent(f"skipped {file}", is_detail=True))

    def _list_servers(self) -> LiveCatalogs | None:
        """List the catalogs of all live servers at once; None if there are none, or if the run calls their tools."""
        if not self._has_live or self._call_limit is not None:
            return None
        from mcproof.targets.snapshots import LiveCatalogs

        compares = any(rule.traits.compares_lists for plan in self._plans for rule in plan.rules)
        options = self.connect_options._replace(compares_lists=compares)
        return LiveCatalogs(self._inputs, options, self._report_listed)

    def _report_listed(self, done: int, label: str) -> None:
        if len(self._inputs) > 1:
            self._listen(ProgressMade(done, len(self._inputs), label))

    def _check(
        self, source: Input, plan: Plan, check: Callable[[LoadedTarget], Checked], live: LiveCatalogs | None
    ) -> Checked | None:
        """Check one input; None if it was not reached, or if a folder listed it and it is not a catalog."""
        needs_all = self._planner.kind.is_grading or self._planner.compares
        try:
            if self._call_limit is not None and source.server is not None:
                return self._check_open(source, plan, check, source.server, self._call_limit)
            if live is not None and source.server is not None:
                catalog = live.catalog(source)
            else:
                catalog = read_catalog(source, whole=needs_all)
            if catalog is None:
                return None
            self._remarks.update(dict.fromkeys(omissions(catalog)))
            if needs_all:
                refuse_partial(catalog)
            catalog.revision_override = self._targets.protocol
            self._add_neighbours(source, catalog)
            checked = check(LoadedTarget(source, catalog, plan))
            self._note_expired(source, catalog.connection)
            return checked._replace(catalog=catalog)
        except McproofError as error:
            recovered = self._recover(source, plan, error) if self._recover is not None else None
            if recovered is not None:
                return recovered
            if _is_skippable(source, error):
                if not source.is_source:
                    self._skipped.files.append(source.name)
                return None
            self._listen(TargetFailed(source.name, error))
            return Checked(
                TargetResult(source.title, Trouble.of(error), payload=empty_payload(self._planner.kind.command))
            )

    def _check_open(
        self,
        source: Input,
        plan: Plan,
        check: Callable[[LoadedTarget], Checked],
        server: Endpoint,
        limit: float,
    ) -> Checked:
        """Check a server whose tools are called: one process is listed, called and closed."""
        from mcproof.client.capture import OpenServer
        from mcproof.targets.snapshots import listed_catalog

        with OpenServer(server, self.connect_options, limit) as open_server:
            catalog = listed_catalog(open_server, source)
            catalog.revision_override = self._targets.protocol
            self._add_neighbours(source, catalog)
            checked = check(LoadedTarget(source, catalog, plan, open_server))
        self._note_expired(source, open_server.facts)
        return checked._replace(catalog=catalog)

    def _add_neighbours(self, source: Input, catalog: Catalog) -> None:
        """Tell a catalog which servers of its client configuration were read before it."""
        if source.origin is not None and source.origin.line is not None:
            known = self._neighbours.setdefault(source.origin.file, [])
            catalog.neighbours = tuple(known)
            known.append(Neighbour(source.title, tuple(tool.name for tool in catalog.tools if tool.name)))

    def _note_expired(self, source: Input, connection: ConnectionFacts | None) -> None:
        """Keep a notice about a server that has ended sessions."""
        text = expired_text(connection.expired_sessions) if connection is not None else ""
        if text:
            file, line = source.origin if source.origin is not None else (source.title, None)
            self._remarks[Notice(SESSION_EXPIRED, text, file, line)] = None

    def _notices(self, results: list[TargetResult]) -> Iterator[Notice]:
        """Stale baseline entries, unused ignores, bad comments, and remarks about targets."""
        if not self._updates_baseline:
            yield from self._stale_entries()
        if all(result.trouble is None for result in results):  # else a target is missing that may need it
            yield from self._unused_ignores()
        yield from (Notice("not-checked", each.message, each.where, None) for each in self._skipped.servers)
        yield from (Notice(*remark) for remark in self.tracker.notices.values() if remark is not None)
        yield from self._remarks

    def _stale_entries(self) -> Iterator[Notice]:
        for baseline in self._planner.baselines():
            for entry, line in baseline.stale():
                what = f"stale: {entry.rule} at {entry.subject}{entry.pointer} of {entry.target} no longer occurs"
                yield Notice("stale-baseline", f"{what}; `--update-baseline` removes it", baseline.file, line)

    def _unused_ignores(self) -> Iterator[Notice]:
        for entry in self.tracker.unused():
            scope = f" for {entry.kind} `{entry.glob}`" if entry.kind is not None else ""
            what = f"unused: `ignore-for` of {', '.join(entry.named)}{scope} matched nothing in this run"
            yield Notice("unused-ignore", what, entry.location.file, entry.location.line)

    def _update_baselines(self, code: int) -> None:
        """Write the baselines, if requested and all targets were checked."""
        for baseline in self._planner.baselines() if self._updates_baseline else []:
            if code in (FAILED, INTERRUPTED):
                message = "not updated, as not all targets were checked"
            else:
                accepted, new, gone = baseline.update()
                message = f"{plural(accepted, 'finding')} accepted, {new:,} new, {gone:,} gone"
            self._listen(MessageSent(f"{baseline.file}: {message}"))

    def _rules(self) -> list[RuleFacts]:
        """The rules that ran on any target; rules about connections and calls only if there were any."""
        ran = [rule for rule in self._planner.rules() if self._has_live or rule.ruleset != "wire"]
        ran = [rule for rule in ran if self._planner.kind.calls_tools or rule.subject is not ItemProbes]
        return list({rule.id: rule_facts(rule) for rule in ran}.values())


def _is_skippable(source: Input, error: McproofError) -> bool:
    """Whether an input is a file of a folder that is not a catalog, which is not an error."""
    from mcproof.targets.snapshots import NoCatalogError

    return bool(source.folder) and isinstance(error, NoCatalogError)
