"""The targets of a run, one after the other: from names to inputs and catalogs, to the result of the run.

An interrupt keeps the results so far. Times and interrupts at the end of a run are handled here, too.
"""

from __future__ import annotations

import os
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from mcproof import __version__
from mcproof.checks.ignores import IgnoreTracker
from mcproof.checks.reporting import rule_facts
from mcproof.checks.subjects import Observed, observed_by_reading
from mcproof.core.catalog.model import Catalog, Neighbour
from mcproof.core.console import few, interrupts_deferred, plural
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
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import expired_text
from mcproof.core.observations.probes import ItemProbes
from mcproof.core.protocol import REVISIONS
from mcproof.core.text.files import leaves_folder
from mcproof.runs.events import (
    Clock,
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
)
from mcproof.runs.exit_code import exit_code
from mcproof.runs.judging import LINT, Checked, check_catalog
from mcproof.runs.planning import Planner, named_target
from mcproof.runs.requests import CheckRequest, FuzzRequest, LockRequest, ProbeRequest
from mcproof.runs.results import CatalogRead, RunResult, TargetResult, Trouble, empty_payload
from mcproof.targets.arguments import Input, SkippedFiles, find_inputs, is_single, read_catalog
from mcproof.targets.snapshots import LiveCatalogs, NoCatalogError, listed_catalog, refuse_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcproof.checks.findings import RuleSummary
    from mcproof.checks.subjects import Unjudged
    from mcproof.client.capture import OpenServer
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.observations.connection import ObservedConnection
    from mcproof.runs.config import Settings
    from mcproof.runs.judging import CatalogFindings, Plan
    from mcproof.runs.requests import CaptureRequest, CatalogRequest, Detail, ReadRequest, RunSession, TargetSelection
    from mcproof.runs.results import Payload
    from mcproof.targets.arguments import Target


def inputs_of(
    names: Iterable[Target],
    targets: TargetSelection,
    *,
    command: str = "lint",
    skipped: SkippedFiles | None = None,
    as_one: bool = False,
) -> list[Input]:
    """The inputs behind some targets and documents; see `find_inputs`."""
    documents = [Input(document.name, data=document.data) for document in targets.documents]
    inputs = find_inputs(names, targets.live, command=command, skipped=skipped, as_one=as_one)
    return [*inputs, *documents, *targets.inputs]


def is_single_target(names: Iterable[Target], targets: TargetSelection, inputs: list[Input]) -> bool:
    """Whether the user names one target, as opposed to several or a folder of them."""
    if len(inputs) > 1 or any(source.folder for source in inputs):
        return False
    others = ["--"] * (bool(targets.live.command) + len(targets.documents) + len(targets.inputs))
    return not targets.live.all_configured and len([*names, *others]) == 1


def connect_options(targets: TargetSelection, timeout: float | None) -> ConnectOptions:
    """How to connect to live servers, with the time limits of the request or else a configured one for responses."""
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.connection import Limits

    refuse_unknown_protocol(targets.protocol)
    limits = Limits()
    timeout = targets.timeout if targets.timeout is not None else timeout
    if timeout is not None:
        # Who allows a slow response allows a slow server, whose list may have many pages.
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
    return [Notice("not-checked", reason, file, line) for file, line, _, reason in catalog.source.omissions]


def one_input(targets: TargetSelection, settings: Settings, listen: Listener) -> Input:
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
    """The named targets, names from the configuration resolved, which is reported."""
    resolved: list[Target] = []
    for name in targets.names:
        target, messages = named_target(name, settings)
        resolved.append(target)
        for message in messages:
            listen(MessageSent(message))
    return [*resolved, *targets.servers]


def read_target(request: CaptureRequest, listen: Listener, _: RunSession) -> Catalog:
    """Read the catalog of the only target of a request."""
    return read_one(request.targets, request.settings.here(), listen, is_part_allowed=request.is_part_allowed)


def read_targets(request: ReadRequest, listen: Listener, _: RunSession) -> list[CatalogRead]:
    """Read the catalogs of all targets of a request; one that cannot be read does not hide the others."""
    settings = request.settings.here()
    inputs = inputs_of(resolved_names(request.targets, settings, listen), request.targets, as_one=True)
    live = None
    if any(source.server is not None for source in inputs):
        options = connect_options(request.targets, settings.timeout)
        live = LiveCatalogs(inputs, options, lambda *done: listen(ProgressMade(done[0], len(inputs), done[1])))
        if live.interrupted:
            raise KeyboardInterrupt
    return [_read(source, live) for source in inputs]


def _read(source: Input, live: LiveCatalogs | None) -> CatalogRead:
    """Read the whole catalog of one of several inputs, or keep the error."""
    try:
        catalog = live.catalog(source) if live is not None and source.server is not None else read_catalog(source)
        if catalog is None:
            raise KeyboardInterrupt
        refuse_part(catalog)
    except McproofError as error:  # a result as any other: the targets after it are still read
        return CatalogRead(source, None, error)
    return CatalogRead(source, catalog)


def read_one(
    targets: TargetSelection, settings: Settings, listen: Listener, *, is_part_allowed: bool = False
) -> Catalog:
    """Read the catalog of exactly one target: a file, a document or a live server."""
    source = one_input(targets, settings, listen)
    if source.server is None:
        read = read_catalog(source, whole=True)
        for notice in omissions(read):
            listen(NoticeRaised(notice))
        return read
    catalog = LiveCatalogs([source], connect_options(targets, settings.timeout), lambda *_: None).catalog(source)
    if catalog is None:
        raise KeyboardInterrupt
    if not is_part_allowed:
        refuse_part(catalog)
    return catalog


if TYPE_CHECKING:
    Recovery = Callable[[Input, Plan, McproofError], "Checked | None"]
    """What to make of a target whose catalog cannot be read; None if that is an error."""


def _call_limit(request: CatalogRequest | LockRequest) -> float | None:
    """How long a call may take, in seconds; None for a run that calls no tools."""
    if isinstance(request, CheckRequest) and request.is_static:
        return None
    return request.calls.limit if isinstance(request, CheckRequest | ProbeRequest | FuzzRequest) else None


class LoadedTarget(NamedTuple):
    """An input with its catalog and its plan."""

    source: Input
    catalog: Catalog
    plan: Plan
    observed: Observed
    """What was observed while the catalog was read."""
    server: OpenServer | None = None
    """The server that the catalog was listed from, still open, if the run calls its tools."""
    start: float = 0.0
    """When work on the target began, by the monotonic clock: a time limit counts from there."""


class TargetRun:
    """One pass over the targets of a request."""

    def __init__(self, request: CatalogRequest | LockRequest, listen: Listener, session: RunSession) -> None:
        self._start = session.start
        self._planner = Planner(request, session.contents)
        self._detail = request.detail
        self._targets = self._planner.targets
        # Before inputs are looked for: a mistyped date must not start anything.
        refuse_unknown_protocol(self._targets.protocol)
        self._listen = listen
        self._names = self._planner.target_names()
        self._skipped = SkippedFiles()
        self._neighbours: dict[str, list[Neighbour]] = {}
        """The servers that were read, by the client configuration that names them."""
        command = self._planner.kind.command
        self.inputs = inputs_of(self._names, self._targets, command=command, skipped=self._skipped)
        # All plans first: an error in the configuration of the last target is reported before any work is done.
        self.plans = [self._planner.plan_for(source) for source in self.inputs]
        self._updates_baseline = request.policy.updates_baseline
        self._requires_conclusive = request.policy.requires_conclusive
        self._call_limit = _call_limit(request)
        self._has_live = any(source.server is not None for source in self.inputs)
        self._is_interrupted = False
        self._remarks: dict[Notice, None] = {}
        """Notices about targets: source that was not checked, sessions that have expired."""
        self.tracker = IgnoreTracker()
        self._recover: Recovery | None = None

    def judge(
        self,
        target: LoadedTarget,
        payload: Payload = LINT,
        *,
        observed: Observed | None = None,
        detail: Detail | None = None,
        summarize: Callable[[CatalogFindings, Mapping[str, Unjudged]], Payload] | None = None,
    ) -> Checked:
        """Check the catalog of a target by its plan, and what was observed: at least what reading it has shown."""
        return check_catalog(
            target.catalog,
            target.plan,
            detail or self._detail,
            self.tracker,
            payload,
            observed=target.observed if observed is None else observed,
            summarize=summarize,
        )

    @property
    def connect_options(self) -> ConnectOptions:
        """How to connect to the live servers among the targets."""
        return connect_options(self._targets, self._planner.timeout)

    def add_messages(self, messages: Iterable[str]) -> None:
        """Add messages for the user, which are sent when the run starts."""
        self._planner.messages += messages

    def run(self, check: Callable[[LoadedTarget], Checked], recover: Recovery | None = None) -> RunResult:
        """Check every target; one that cannot be read does not hide the others.

        `recover` may give a result for a target whose catalog cannot be read.
        """
        self._recover = recover
        clock = Clock()
        single = is_single_target(self._names, self._targets, self.inputs)
        self._listen(RunStarted(single, tuple(self.inputs), self._files()))
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
                exit_code=exit_code(
                    results,
                    notices,
                    is_interrupted=self._is_interrupted,
                    requires_conclusive=self._requires_conclusive,
                ),
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
            # The file that the user names may be anywhere, also behind a link.
            if file == source.name and not source.folder:
                return
            folder = source.folder or (source.name if os.path.isdir(source.name) else os.path.dirname(source.name))
            if leaves_folder(file, os.curdir) is None:
                return
        if (problem := leaves_folder(file, folder)) is not None:
            raise InputError(f"{problem}; nothing was written; name the file itself to fix it", file=file)

    def _files(self) -> dict[str, str]:
        """The files that this run needs, each with its role."""
        read = {
            source.name: "what is read"
            for source in self.inputs
            if not (source.is_stdin or source.server is not None or source.data is not None)
        }
        return {**read, **{baseline.file: "the baseline" for baseline in self._planner.baselines()}}

    def _check_all(self, check: Callable[[LoadedTarget], Checked]) -> list[TargetResult]:
        results: list[TargetResult] = []
        total = len(self.inputs)
        begin = perf_counter()
        try:
            live = self._list_servers()
            for number, (source, plan) in enumerate(zip(self.inputs, self.plans, strict=True), 1):
                if total > 1:  # servers are listed at once, which is the time of none of them
                    begin = perf_counter()
                self._listen(TargetStarted(number, total, source.name))
                checked = self._check(source, plan, check, live)
                if checked is not None:
                    checked = checked._replace(result=checked.result._replace(seconds=perf_counter() - begin))
                    results.append(checked.result)
                    self._listen(TargetFinished(checked.result, checked.catalog, checked.findings))
                    # Not raised: the part that was checked is still a result.
                    self._is_interrupted |= checked.is_interrupted
            if live is not None and live.interrupted:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            self._listen(MessageSent(f"interrupted after {len(results)} of {total} targets"))
            self._is_interrupted = True
        # A folder in which everything was skipped must not pass as clean.
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
            files = [file for file in files if file not in {server.where for server in configured}]
        if len(files) == 1:
            self._listen(MessageSent(f"skipped {files[0]} (not a catalog)"))
        elif files:
            self._listen(MessageSent(f"skipped {len(files):,} JSON files (not catalogs): {few(files, 3)}"))
            for file in files:
                self._listen(MessageSent(f"skipped {file}", is_detail=True))

    def _list_servers(self) -> LiveCatalogs | None:
        """List the catalogs of all live servers at once; None if there are none, or if the run calls their tools."""
        unread = [source for source in self.inputs if source.server is not None and source.catalog is None]
        if not unread or self._call_limit is not None:
            return None
        compares = any(rule.traits.compares_lists for plan in self.plans for rule in plan.rules)
        options = self.connect_options._replace(compares_lists=compares)
        return LiveCatalogs(unread, options, self._report_listed)

    def _report_listed(self, done: int, label: str) -> None:
        if len(self.inputs) > 1:
            self._listen(ProgressMade(done, len(self.inputs), label))

    def _check(
        self, source: Input, plan: Plan, check: Callable[[LoadedTarget], Checked], live: LiveCatalogs | None
    ) -> Checked | None:
        """Check one input; None if it was not reached, or if a folder listed it and it is not a catalog."""
        is_check = self._planner.kind.command == "check"  # which withholds the grade of a part, and judges the rest
        # A score of a part of a catalog would be better than that of the whole.
        needs_all = (self._planner.kind.is_grading and not is_check) or self._planner.compares
        try:
            if self._call_limit is not None and source.server is not None:
                return self._check_open(source, plan, check, source.server, self._call_limit)
            if live is not None and source.server is not None and source.catalog is None:
                catalog = live.catalog(source)
            else:
                catalog = read_catalog(source, whole=needs_all or is_check)
            if catalog is None:
                return None
            self._remarks.update(dict.fromkeys(omissions(catalog)))
            if needs_all:
                refuse_part(catalog)
            checked = check(LoadedTarget(source, catalog, plan, self._observed(source, catalog)))
            self._note_expired(source, catalog.connection)
            return checked._replace(catalog=catalog)
        except McproofError as error:  # a scan has a result without a catalog, too
            recovered = self._recover(source, plan, error) if self._recover is not None else None
            if recovered is not None:
                return recovered
            if source.folder and isinstance(error, NoCatalogError):  # any file of a folder, which is no error
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

        with OpenServer(server, self.connect_options, limit) as open_server:
            catalog = listed_catalog(open_server, source)
            observed = self._observed(source, catalog)
            checked = check(LoadedTarget(source, catalog, plan, observed, open_server, self._start))
        self._start = monotonic()
        self._note_expired(source, open_server.facts)
        return checked._replace(catalog=catalog)

    def _observed(self, source: Input, catalog: Catalog) -> Observed:
        """What was observed while a catalog was read: its connection, and the servers that were read before it."""
        observed = observed_by_reading(catalog)._replace(revision=self._targets.protocol)
        if source.origin is None or source.origin.line is None:
            return observed
        # By configuration: only servers that one client starts together can meet in a model.
        before = self._neighbours.setdefault(source.origin.file, [])
        observed = observed._replace(neighbours=tuple(before))
        before.append(Neighbour(source.title, tuple(tool.name for tool in catalog.tools if tool.name)))
        return observed

    def _note_expired(self, source: Input, connection: ObservedConnection | None) -> None:
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
        yield from (Notice("not-checked", server.message, server.where, None) for server in self._skipped.servers)
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
                # Accepting what was seen would drop the entries of what was not.
                message = "not updated, as not all targets were checked"
            else:
                accepted, new, gone = baseline.update()
                message = f"{plural(accepted, 'finding')} accepted, {new:,} new, {gone:,} gone"
            self._listen(MessageSent(f"{baseline.file}: {message}"))

    def _rules(self) -> list[RuleSummary]:
        """The rules that ran on any target; rules about connections and calls only if there were any."""
        ran = [rule for rule in self._planner.rules() if self._has_live or rule.ruleset != "wire"]
        ran = [rule for rule in ran if self._call_limit is not None or rule.subject is not ItemProbes]
        return list({rule.id: rule_facts(rule) for rule in ran}.values())
