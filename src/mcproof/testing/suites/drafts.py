"""Drafts of tests for a new suite, tried on their servers so that the suite passes when it is first run.

Resources and prompts are read-only by protocol. Tools are tried only if their annotations and names are read-only.
Why the first suite passes: docs/decisions/0007-first-suite-is-green.md.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.client.capture import OpenServer
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint, Endpoint
from mcproof.client.errors import ConnectError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import CHECKS
from mcproof.core.text.yaml_document import UnwritableError, scalar, to_yaml
from mcproof.probing.calls import CallPlan, in_silence
from mcproof.probing.generation.values import valid_arguments
from mcproof.probing.permission import HOW_TO_ALLOW, Permission
from mcproof.probing.probes.cases import ProbeCase, checks_of_tool
from mcproof.probing.probes.prove import working_arguments
from mcproof.testing.suites.execute import UNMARKED_ERROR
from mcproof.testing.suites.model import METHODS, NegativePathBlock, ServerEntry, Suite, SuiteLocation, SuiteTest
from mcproof.testing.suites.new_server import EntryOptions, UniqueNames, milliseconds
from mcproof.testing.suites.runner import RunOptions, run_suite
from mcproof.testing.suites.snapshots import SnapshotStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcproof.core.catalog.model import Catalog, Item, Prompt, Tool
    from mcproof.testing.outcomes import TestResult


MOST = 20
"""Maximum number of tests for resources, templates and prompts each; tools have no limit."""
_LONGEST_NAME = 100
_LISTS = (
    ("resources", "resources/list", "lists resources"),
    ("templates", "resources/templates/list", "lists resource templates"),
    ("prompts", "prompts/list", "lists prompts"),
)
_SECRET = "a secret of the server"  # noqa: S105


class Draft(NamedTuple):
    """A draft of a test, with the results of its trial."""

    name: str
    subject: str
    """The name of the tool or prompt, or the URI of the resource; a label if no test is possible."""
    arguments: dict[str, Any] = {}  # noqa: RUF012 (the default is never modified)
    is_generated: bool = False
    """Whether the arguments are generated and should be replaced."""
    checks: tuple[str, ...] = ()
    """Applicable probes."""
    inactive_reason: str = ""
    """Why the test is commented out; empty if it is not."""
    impossible: str = ""
    """Why no test is possible."""
    failed_call: str = ""
    """The error of the call, if it failed."""
    failed_checks: tuple[tuple[str, str], ...] = ()
    """Failed probes and their reasons."""
    failed_path: str = ""
    """Why probes cannot be sent at all."""
    block: str = "tools"
    """The list of the suite it belongs to."""

    @property
    def passing_checks(self) -> tuple[str, ...]:
        """The probes to include in the suite."""
        failed = {check for check, _ in self.failed_checks}
        return () if self.failed_path else tuple(check for check in self.checks if check not in failed)

    @property
    def active_tests(self) -> int:
        """The number of tests that `mcproof run` reports for an active draft: its call and its probes."""
        return int(not self.failed_call) + int(bool(self.passing_checks))

    @property
    def is_active(self) -> bool:
        """Whether the test is active, that is, not commented out."""
        return not self.inactive_reason and not self.impossible and not (self.failed_call and not self.passing_checks)


def drafts_of(
    catalog: Catalog,
    permissions: Sequence[Permission],
    names: UniqueNames,
    hide: Callable[[str], str],
    suffix: str = "",
) -> list[Draft]:
    """Return drafts for all tools, and for some resources, templates and prompts, with secrets hidden.

    A server without tools also gets tests of its lists.
    """
    drafter = _Drafter(names, hide, suffix)
    drafts = [drafter.tool(permission) for permission in permissions]
    if not catalog.tools:
        lists = [(method, name) for kind, method, name in _LISTS if getattr(catalog, kind)]
        drafts += [Draft(names.unique(f"{name}{suffix}"), method) for method, name in lists]
    drafts += map(drafter.resource, islice(catalog.resources, MOST))
    drafts += map(drafter.template, islice(catalog.templates, MOST))
    drafts += map(drafter.prompt, islice(catalog.prompts, MOST))
    return drafts


class _Drafter:
    """Drafts the tests of one server, one for each subject."""

    def __init__(self, names: UniqueNames, hide: Callable[[str], str], suffix: str) -> None:
        self._names = names
        self._hide = hide
        self._suffix = suffix
        self._seen: set[tuple[str, str]] = set()

    def tool(self, permission: Permission) -> Draft:
        tool = permission.tool
        why = "in suites, this name refers to a list method" if tool.name in METHODS else ""
        draft = self._start(tool, "tools", tool.name, "responds", why)
        if not draft.impossible:
            draft = self._of_tool(draft, permission)
        tool.release_tree()
        return draft

    def resource(self, resource: Item) -> Draft:
        return self._start(resource, "resources", resource.fields.get("uri"), "can be read")

    def template(self, template: Item) -> Draft:
        draft = self._start(template, "resources", template.fields.get("uriTemplate"), "can be read")
        return _inactive(draft, "replace the parts in braces with values")

    def prompt(self, prompt: Prompt) -> Draft:
        draft = self._start(prompt, "prompts", prompt.name, "can be fetched")
        schema = _schema_of(prompt)
        return draft if draft.impossible or not schema["required"] else self._with_arguments(draft, schema)

    def _start(self, item: Item, block: str, subject: Any, does: str, impossible: str = "") -> Draft:
        """Return a draft without arguments, or one that says why no test is possible."""
        why = impossible or self._impossible(block, subject)
        if why:
            return Draft("", self._hide(item.label), impossible=why, block=block)
        self._seen.add((block, subject))
        label = self._hide(item.label)
        shown = label if len(label) <= _LONGEST_NAME else f"{label[:_LONGEST_NAME]}…"
        return Draft(self._names.unique(f"{shown}{self._suffix} {does}"), subject, block=block)

    def _impossible(self, block: str, subject: Any) -> str:
        """Return why no test of a subject is possible; empty if it is."""
        kind, what = ("resource", "URI") if block == "resources" else (block.removesuffix("s"), "name")
        if not isinstance(subject, str) or not subject:
            return f"it has no {what}"
        if (block, subject) in self._seen:
            return f"another {kind} has the same {what}"
        if self._hide(subject) != subject:
            return f"its {what} contains {_SECRET}"
        try:
            scalar(subject)
        except UnwritableError as error:
            return f"its {what} cannot be written to a suite: {error}"
        return ""

    def _of_tool(self, draft: Draft, permission: Permission) -> Draft:
        tool = permission.tool
        if not permission.is_granted:
            draft = _inactive(draft, f"it is not called: {permission.reason.removesuffix(HOW_TO_ALLOW)}")
        draft = self._with_arguments(draft, tool.schema if tool.schema is not None else {})
        return draft if draft.inactive_reason else draft._replace(checks=_applicable(tool, draft.arguments))

    def _with_arguments(self, draft: Draft, schema: dict[str, Any]) -> Draft:
        generated = valid_arguments(schema)
        if generated.value is None:
            return _inactive(draft, f"no valid arguments found: {generated.problem}")._replace(is_generated=True)
        try:
            line = to_yaml(generated.value)
        except UnwritableError as error:
            return _inactive(draft, f"its arguments cannot be written to a suite: {error}")
        if self._hide(line) != line:
            return _inactive(draft, f"its arguments contain {_SECRET}")
        return draft._replace(arguments=generated.value, is_generated=_is_generated(schema, generated.value))


def _inactive(draft: Draft, reason: str) -> Draft:
    """Return a draft that is commented out; an earlier reason is kept."""
    return draft._replace(inactive_reason=draft.inactive_reason or reason)


def _schema_of(prompt: Prompt) -> dict[str, Any]:
    """Return a schema for the arguments of a prompt: strings, some of them required."""
    listed = prompt.fields.get("arguments")
    arguments = [argument for argument in listed if isinstance(argument, dict)] if isinstance(listed, list) else []
    named = {name: argument for argument in arguments if isinstance(name := argument.get("name"), str)}
    properties = {
        name: {"type": "string", "description": text if isinstance(text := argument.get("description"), str) else ""}
        for name, argument in named.items()
    }
    required = [name for name, argument in named.items() if argument.get("required") is True]
    return {"type": "object", "properties": properties, "required": required}


def _applicable(tool: Tool, arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return the probes that apply to a tool."""
    if not tool.parameters and not arguments:
        return ()
    # Only which probes apply is of interest, so no large text is made.
    probes = checks_of_tool(tool, list(CHECKS), given=arguments, size=1)
    applicable = {case.probe for case in probes.cases if isinstance(case, ProbeCase)}
    return tuple(check for check in CHECKS if check == "unknown_tool" or check in applicable)


def _is_generated(schema: dict[str, Any], arguments: dict[str, Any]) -> bool:
    properties = schema.get("properties")
    declared = properties if isinstance(properties, dict) else {}
    return any(not _is_given(declared.get(name), value) for name, value in arguments.items())


def _is_given(schema: Any, value: Any) -> bool:
    """Whether the schema itself contains this value."""
    if not isinstance(schema, dict):
        return False
    given = [schema[key] for key in ("default", "const") if key in schema]
    for key in ("enum", "examples"):
        given += schema[key] if isinstance(schema.get(key), list) else []
    return value in given


def with_results(draft: Draft, call: str, probes: Iterable[tuple[str, str]], path: str) -> Draft:
    """Return a draft with trial results: the error of the call, the failed probes, or why no probe could be sent."""
    return draft._replace(
        failed_call=call,
        failed_checks=tuple(dict.fromkeys([*draft.failed_checks, *probes])),
        failed_path=draft.failed_path or path,
    )


_ROUNDS = 3
"""How often probes are sent; each round leaves out the probes that failed before."""
_LONGEST_SEARCH = 60.0
"""Seconds in which valid calls of all tools are looked for."""
_NOWHERE = SuiteLocation("", 1, 1)


class TrialServer(NamedTuple):
    """A server and the drafts to try on it."""

    name: str
    endpoint: Endpoint
    drafts: list[Draft]
    catalog: Catalog
    permissions: list[Permission]


def try_drafts(
    servers: list[TrialServer],
    options: EntryOptions,
    run_options: RunOptions,
    progress: Callable[[int, int, str], None],
) -> list[list[Draft]]:
    """Return the drafts of each server with trial results. Raises KeyboardInterrupt."""
    tried = [_with_working_arguments(server, options) for server in servers]
    remaining = [(index, number) for index, server in enumerate(servers) for number in range(len(server.drafts))]
    secrets = tuple(secret for server in servers for secret in server.endpoint.secrets)
    entries = {server.name: _entry(server, options) for server in servers}

    def show(done: int, total: int, test: str) -> None:
        index, number = map(int, test.split())
        progress(done, total, tried[index][number].subject)

    for turn in range(_ROUNDS):
        unnumbered = [
            test
            for index, number in remaining
            # Calls are sent once; only probes are sent again.
            for test in _tests(f"{index} {number}", servers[index].name, tried[index][number], calls=turn == 0)
        ]
        tests = [test._replace(number=number) for number, test in enumerate(unnumbered)]
        suite = Suite("", entries, tuple(tests), secrets=secrets)
        run = run_suite(suite, tests, run_options, SnapshotStore("", updates=False), show)
        if run.interrupted:
            raise KeyboardInterrupt
        results = {(result.name, result.block): result for result in run.results}
        changed = []
        for index, number in remaining:
            before = tried[index][number]
            call, path = (results.get((f"{index} {number}", block)) for block in (before.block, "negative_path"))
            after = tried[index][number] = _with_trial(before, call, path, is_last=turn == _ROUNDS - 1)
            if after.passing_checks and after.passing_checks != before.passing_checks:
                changed.append((index, number))
        remaining = changed
        if not remaining:
            break
    return tried


def _with_working_arguments(trial: TrialServer, options: EntryOptions) -> list[Draft]:
    """Return the drafts of a server, with arguments that it accepts where it refuses the generated ones."""
    limits = Limits()
    if options.timeout is not None:
        limits = limits._replace(request=options.timeout)
    if options.start_timeout is not None:
        limits = limits._replace(start=options.start_timeout)
    working: dict[str, dict[str, Any]] = {}
    with (
        suppress(ConnectError),
        OpenServer(trial.endpoint, ConnectOptions(limits, options.protocol), limits.request) as server,
    ):
        plan = CallPlan(trial.permissions, {}, limits.request, seconds=_LONGEST_SEARCH)
        working = working_arguments(trial.catalog, server, plan, in_silence)
        if server.is_interrupted:
            raise KeyboardInterrupt
    return [
        draft._replace(arguments=working[draft.subject], is_generated=False)
        if draft.block == "tools" and draft.is_active and draft.subject in working
        else draft
        for draft in trial.drafts
    ]


def _entry(trial: TrialServer, options: EntryOptions) -> ServerEntry:
    entry = ServerEntry(
        name=trial.name,
        location=_NOWHERE,
        timeout_ms=None if options.timeout is None else milliseconds(options.timeout),
        start_timeout_ms=None if options.start_timeout is None else milliseconds(options.start_timeout),
        protocol=options.protocol,
    )
    endpoint = trial.endpoint
    if isinstance(endpoint, CommandEndpoint):
        return entry._replace(command=endpoint.words, environment=endpoint.environment, directory=endpoint.directory)
    return entry._replace(url=endpoint.url, headers=endpoint.headers, access=endpoint.access)


def _tests(name: str, server: str, draft: Draft, *, calls: bool) -> Iterator[SuiteTest]:
    """Yield separate tests for the call and the probes: a call alone gives the clearest error."""
    if not draft.is_active:
        return
    test = SuiteTest(
        number=0,
        block=draft.block,
        name=name,
        server=server,
        location=_NOWHERE,
        subject=draft.subject,
        arguments=draft.arguments if draft.block == "tools" else draft.arguments or None,
    )
    if calls:
        yield test
    if draft.passing_checks:
        yield test._replace(negative_path=NegativePathBlock(draft.passing_checks, None, are_named=True))


def _with_trial(draft: Draft, call: TestResult | None, path: TestResult | None, *, is_last: bool) -> Draft:
    error = draft.failed_call
    if call is not None and call.outcome != "passed":
        error = call.message.removeprefix("the call failed: ")
    # A test must not expect success of a call that returns the text of an error.
    elif call is not None and call.message.startswith(UNMARKED_ERROR):
        error = call.message
    if path is None or path.outcome == "passed":
        return with_results(draft, error, (), "")
    failed = [(failure.target, failure.message) for failure in path.failures]
    if is_last or not failed or any(check not in CHECKS for check, _ in failed):
        return with_results(draft, error, (), path.message)
    return with_results(draft, error, failed, "")
