"""Call the tools of a live server: `probe`, `prove`, `fuzz`, and their attacks.

Which tools may be called is announced before the first call, and failures are stored for `replay`. A run that did
not test everything fails a gate.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof.checks.rule import Rule, find_rule
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.core.console import listed_names
from mcproof.core.errors import InputError, McproofError, UsageError, nearest
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import ALL_OUTCOMES, with_shared_failures
from mcproof.probing.attacks.run import attack
from mcproof.probing.calls import Called, CallPlan, TimeLimit
from mcproof.probing.fuzz.campaign import fuzz
from mcproof.probing.left_files import ELSEWHERE, FilesBefore
from mcproof.probing.outcomes import Fuzzing
from mcproof.probing.permission import Permission, permissions_of, refuse_unknown_tools
from mcproof.probing.probes.cases import ProbePlan
from mcproof.probing.probes.failures import StoredFailure, described, store
from mcproof.probing.probes.prove import default_checks, prove, with_predictions, working_arguments
from mcproof.runs.events import CallsPlanned, Listener, MessageSent, ProgressMade
from mcproof.runs.loop import LoadedTarget, TargetRun
from mcproof.runs.requests import CallOptions, FuzzRequest, ProbeRequest, ProveRequest, TargetSelection
from mcproof.runs.results import COMPLETE, FuzzPayload, Gate, ProbePayload, ProvePayload, RunResult, TargetResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcproof.client.capture import OpenServer
    from mcproof.probing.calls import Progress
    from mcproof.runs.judging import Checked
    from mcproof.runs.requests import RunSession
    from mcproof.runs.results import Payload


_MOST_MISTAKES = 3
"""How many mistakes in the arguments of a tool a message names."""
MOST_PROBE_PROCESSES = 6
"""How many server processes are probed at once. Most of the time is spent waiting for slow calls."""
MOST_FUZZ_PROCESSES = 4
"""How many server processes are fuzzed at once by default."""
_TRYING = 0.25
"""The share of the time for finding a valid call of each tool, before fuzzing."""
ACCEPTING = ("WIR-012", "WIR-013", "WIR-014", "WIR-015", "WIR-016")
"""The rules about accepted invalid calls. Fuzzing finds many, so they fail a run only if it is strict."""


class Shown(NamedTuple):
    """What calling a server showed, and what the run makes of it."""

    called: Called
    gates: list[Gate]
    payload_for: Callable[[TargetResult], Payload]
    """The payload, once the catalog and the calls are judged."""
    observed: tuple[Any, ...] = ()
    """What rules judge of it: the connection and the probes."""


def call_server(request: ProbeRequest | FuzzRequest, listen: Listener, session: RunSession) -> RunResult:
    """Call the tools of one live server."""
    _require_one_server(request.targets)
    checks = [] if isinstance(request, FuzzRequest) else _checks(request)
    run = TargetRun(request, listen, session)

    def check(target: LoadedTarget) -> Checked:
        shown = call_target(request, checks, target, listen)
        observed = target.observed._replace(values=shown.observed, calls_tools=True)
        if isinstance(request, FuzzRequest) and not request.is_strict:
            target = target._replace(plan=target.plan._replace(rules=list(map(_lenient, target.plan.rules))))
        checked = run.judge(target, observed=observed)
        result = checked.result
        result = result._replace(
            gates=shown.gates,
            payload=shown.payload_for(result),
            untested=[*result.untested, *shown.called.untested],
        )
        return checked._replace(result=result, is_interrupted=_server_of(target).is_interrupted)

    return run.run(check)


def call_target(
    request: ProbeRequest | FuzzRequest, checks: list[str], target: LoadedTarget, listen: Listener
) -> Shown:
    """Call the tools of an open server with `checks`, and close it."""
    server = _server_of(target)
    time = TimeLimit(request.max_seconds, target.start)
    calls = _call_plan(request, target, listen)

    def progress(done: int, total: int, label: str) -> None:
        listen(ProgressMade(done, total, label))

    before = FilesBefore(server.session.server) if isinstance(server.session.server, CommandEndpoint) else None
    if isinstance(request, FuzzRequest):
        shown = _fuzz(request, target, server, calls, time, progress)
    else:
        shown = _probe(request, checks, target, server, calls, time, progress)
    called = shown.called
    left = ELSEWHERE if before is None else before.left(_allowed_writers(server, calls))
    if request.calls.template is not None:
        _write_template(request.calls.template, calls, listen)
    # Said, not followed: a server that adds a tool for each call would never be done.
    if "tools" in server.session.changed_lists:
        listen(MessageSent("the server has changed its tools during the run; what it added is not tested"))
    # How a process ends belongs to what is observed of its connection, so it is closed before that is judged.
    connection = server.close(at_once=called.was_cut, seconds=time.left)
    if request.calls.stores_failures:
        _store(called.stored, listen)
    else:
        called = _without_ids(called)
    item_probes = with_shared_failures(called.item_probes, target.catalog.server)
    about_server = [left] if connection is None else [connection, left]
    return shown._replace(called=called, observed=(*about_server, *item_probes))


def _allowed_writers(server: OpenServer, calls: CallPlan) -> list[str]:
    """The called tools that the user has allowed, although they may change something."""
    names = {permission.tool.name for permission in calls.permissions if permission.is_forced}
    return [name for name in server.session.memory.called & names if name]


def _require_one_server(targets: TargetSelection) -> None:
    """Raise a UsageError if the request names more than one server to call."""
    count = len(targets.names) + len(targets.documents) + len(targets.inputs) + bool(targets.live.command)
    if targets.live.all_configured or count > 1:
        raise UsageError("only one server is called at a time; name one TARGET, or one `-- COMMAND ARG...`")


def _checks(request: ProbeRequest) -> list[str]:
    """The probes to send, in their order."""
    explores = isinstance(request, ProveRequest)
    probes = [probe for probe in default_checks(explores=True) if explores or probe != "wrong_value"]
    for name in request.checks:
        if name not in probes:
            raise UsageError(f"unknown probe `{name}`{nearest(name, probes)}; there are {', '.join(probes)}")
    return [name for name in probes if name in request.checks] or default_checks(explores=explores)


def _server_of(target: LoadedTarget) -> OpenServer:
    """The open server behind a catalog. Raises an InputError if it is not a live one."""
    if target.server is None:
        how = "name a URL, FILE.json#NAME of a client configuration, or `-- COMMAND ARG...`"
        raise InputError(f"a snapshot cannot be called; {how}", file=target.source.title)
    return target.server


def _call_plan(request: ProbeRequest | FuzzRequest, target: LoadedTarget, listen: Listener) -> CallPlan:
    """Decide which tools may be called, and with which given arguments; announce the calls."""
    catalog, calls = target.catalog, request.calls
    names = [tool.name for tool in catalog.tools if tool.name]
    refuse_unknown_tools((*calls.tools, *calls.allow, *calls.deny), names)
    permissions = permissions_of(
        catalog, tools=calls.tools, allow=calls.allow, deny=calls.deny, allow_writes=calls.allow_writes
    )
    arguments = _given_arguments(calls, permissions)
    for message in _invalid_arguments(arguments, permissions):
        listen(MessageSent(message))
    listen(CallsPlanned(tuple(permissions)))
    return CallPlan(
        permissions=permissions,
        arguments=arguments,
        limit=calls.limit,
        target=described(target.source),
        is_strict=request.is_strict,
    )


def _given_arguments(calls: CallOptions, permissions: list[Permission]) -> dict[str, dict[str, Any]]:
    """The arguments that the user gives, by tool."""
    names = [permission.tool.name for permission in permissions if permission.tool.name]
    callable_names = [permission.tool.name for permission in permissions if permission.is_granted]
    given: dict[str, dict[str, Any]] = {}
    for tool, values in calls.arguments:
        if tool is None and len(callable_names) != 1:
            raise UsageError("--args: which tool? Write `--args TOOL=JSON`, or choose one with --tool")
        given[callable_names[0] if tool is None else tool] = dict(values)
    for name in given:
        if name not in names:
            raise UsageError(f"--args: unknown tool `{name}`{nearest(name, names)}; there are {listed_names(names)}")
    return given


def _invalid_arguments(given: Mapping[str, dict[str, Any]], permissions: list[Permission]) -> Iterator[str]:
    """Messages about given arguments that break the schema: probes that vary them would prove little."""
    from mcproof.core.schema.validation import Oracle
    from mcproof.runs.call import declared_parameters

    schemas = {
        permission.tool.name: permission.tool.schema for permission in permissions if permission.tool.name in given
    }
    for name, schema in schemas.items():
        declared = schema if isinstance(schema, dict) else {}
        oracle = Oracle(schema if schema is not None else {})
        if oracle.rejects(given[name]):
            mistakes = [objection.worded(declared_parameters(declared)) for objection in oracle.objections(given[name])]
            what = f": {'; '.join(mistakes[:_MOST_MISTAKES])}" if mistakes else ""
            yield f"--args: the schema of `{listed_names([name])}` does not allow these arguments{what}"


def _probe(
    request: ProbeRequest,
    checks: list[str],
    target: LoadedTarget,
    server: OpenServer,
    calls: CallPlan,
    time: TimeLimit,
    progress: Progress,
) -> Shown:
    """Send probes, then attacks in the rest of the time."""
    usual = 1 if isinstance(server.session.server, UrlEndpoint) else MOST_PROBE_PROCESSES
    explores = isinstance(request, ProveRequest)
    probing = calls._replace(seconds=time.left, processes=request.processes or usual)
    plan = ProbePlan(probing, checks, explores, request.oversize, request.max_calls)
    called, probes, matrix, working, furthest = prove(target.catalog, server, plan, progress)
    if request.security:
        # Last, as a server that is attacked may not recover, and its promises were to be judged first.
        attacking = calls._replace(arguments={**furthest, **working, **calls.arguments}, seconds=time.left)
        attacks = attack(server, attacking, progress)
        called = called.with_more(attacks.called(target.catalog))
        probes = [*probes, *attacks.probe_results()]
    tested = sum(probe.passed is not None for probe in probes)
    # The user asked for these tools, not for the server.
    if request.calls.tools and not any(permission.is_granted for permission in calls.permissions):
        tested = 0

    def payload(result: TargetResult) -> Payload:
        if not explores:
            return ProbePayload(probes)
        return ProvePayload(probes, with_predictions(matrix, [*result.findings, *result.suppressed]))

    return Shown(called, _gates(tested, "interrupted" if server.is_interrupted else called.incomplete, {}), payload)


def _fuzz(
    request: FuzzRequest, target: LoadedTarget, server: OpenServer, calls: CallPlan, time: TimeLimit, progress: Progress
) -> Shown:
    """Find valid calls and send attacks first, because fuzzing takes all the time that it is given."""
    processes = request.processes or _usual_processes(calls, server)
    left = time.left
    trying = calls._replace(seconds=None if left is None else left * _TRYING, processes=processes)
    calls = calls._replace(arguments=working_arguments(target.catalog, server, trying, progress, or_furthest=True))
    attacks = None
    if request.security:
        attacks = attack(server, calls._replace(seconds=time.left), progress)
    left = time.left
    fuzzing = calls._replace(seconds=None if left is None else max(0.0, left), processes=processes)
    called, outcomes, cases, unreported, reached = fuzz(
        target.catalog, server, fuzzing, progress, seed=request.seed, cases=request.cases
    )
    failures = [failure.reported(stored) for failure, stored in zip(unreported, called.stored, strict=True)]
    tools = cases
    if attacks is not None:
        called = called.with_more(attacks.called(target.catalog))
        failures = [*(failure.reported(stored) for failure, stored in attacks.failures()), *failures]
        hostile, counted = attacks.calls(), attacks.outcomes()
        tools = {name: count + hostile.get(name, 0) for name, count in cases.items()}
        outcomes = {name: outcomes.get(name, 0) + counted.get(name, 0) for name in ALL_OUTCOMES}
    permitted = {permission.tool.name for permission in calls.permissions if permission.is_granted}
    called_names = server.session.memory.called & permitted
    total = sum(cases.values()) + (0 if attacks is None else sum(attacks.calls().values()))
    outcome = Fuzzing(
        seed=request.seed,
        cases=total,
        outcomes=outcomes,
        failures=failures,
        tools=tools,
        reached=reached,
        called=sorted(called_names),
        paths={} if attacks is None else {name: paths for name, paths in attacks.paths().items() if paths},
    )
    return Shown(called, _gates(total, called.incomplete, cases), lambda _: FuzzPayload(outcome))


def _write_template(file: str, calls: CallPlan, listen: Listener) -> None:
    """Write arguments that the schemas of the called tools accept, for the user to replace by ones that work."""
    from json import dumps

    from mcproof.core.text.files import write_file
    from mcproof.probing.generation.values import valid_arguments

    tools = [permission.tool for permission in calls.permissions if permission.is_granted and permission.tool.name]
    values = {tool.name: calls.arguments.get(tool.name) or valid_arguments(tool.schema or {}).value for tool in tools}
    given = {name: {} if arguments is None else arguments for name, arguments in values.items()}
    write_file(file, (dumps(given, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
    listen(MessageSent(f"{file}: replace what the server refuses, then pass `--args @{file}`"))


def _usual_processes(calls: CallPlan, server: OpenServer) -> int:
    """How many processes to fuzz: one if tools may change something, because they could get in each other's way."""
    # Two processes that write may share a file or an account.
    is_risky = any(permission.is_forced for permission in calls.permissions)
    if is_risky or isinstance(server.session.server, UrlEndpoint):
        return 1
    return min(MOST_FUZZ_PROCESSES, os.cpu_count() or 1)


def _store(failed: list[StoredFailure], listen: Listener) -> None:
    """Store failures for `mcproof replay`; if that is not possible, say so and go on."""
    try:
        store(failed)
    except McproofError as error:  # the run has its result; only `replay` lacks it
        listen(MessageSent(f"failures are not stored, so `mcproof replay` will not find them: {error}"))


def _without_ids(called: Called) -> Called:
    """The same without the ids of failures, which are not stored and cannot be replayed."""
    item_probes = [
        probes._replace(records=[record._replace(failure=None) for record in probes.records])
        for probes in called.item_probes
    ]
    return called._replace(item_probes=item_probes)


def _gates(tested: int, incomplete: str, cases: Mapping[str, int]) -> list[Gate]:
    """The failed gates of a run that tested nothing, not everything, or not every tool; none for a complete run.

    `incomplete` is the reason why requests are missing, `cases` the number of cases of each tool that may be called.
    """
    gates = [] if tested else [Gate("tested", 1, 0, False)]
    if incomplete:
        gates.append(Gate(COMPLETE, "all calls", incomplete, False))
    if cases and tested and not all(cases.values()):
        gates.append(Gate("tested-tools", len(cases), sum(map(bool, cases.values())), False))
    return gates


def _lenient(rule: Rule) -> Rule:
    """A rule, as a warning if it is about accepted calls and the configuration sets no severity."""
    is_configured = rule is not find_rule(rule.id)
    return rule if is_configured or rule.id not in ACCEPTING else rule.with_severity("warning")
