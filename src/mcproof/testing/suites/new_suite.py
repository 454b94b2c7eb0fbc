"""Write a new suite: its servers, the tests that pass, quality gates and explanatory comments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.redaction import hiding_whole
from mcproof.core.errors import InputError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.yaml_document import (
    MAX_BYTES,
    MAX_NODES,
    UnwritableError,
    comment_text,
    count_values,
    key,
    scalar,
    to_yaml,
)
from mcproof.probing.permission import permissions_of, refuse_unknown_tools
from mcproof.testing.suites.drafts import Draft, TrialServer, drafts_of, try_drafts
from mcproof.testing.suites.model import BLOCKS, METHODS
from mcproof.testing.suites.new_server import (
    PLACEHOLDER,
    EntryOptions,
    SecretVariables,
    UniqueNames,
    captured_lines,
    entry_lines,
    placeholder_lines,
    server_name,
)
from mcproof.testing.suites.runner import RunOptions
from mcproof.testing.suites.steps import quality_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcproof.core.catalog.model import Catalog
    from mcproof.probing.permission import Permission
    from mcproof.targets.arguments import Input


_WIDEST = 100
"""Maximum width of arguments on one line."""
_MOST_BYTES, _MOST_NODES = MAX_BYTES * 3 // 4, MAX_NODES * 3 // 4
"""Limits for the tests; the rest of what a suite may hold is left for servers and gates."""
_NODES = 25
"""Maximum number of values in a test, without its arguments."""
_GENERATED = {
    "tools": "generated from the schema: replace with real values",
    "prompts": "generated: replace with real values",
}
_WORKS = {"tools": "- {target: result.isError, matcher: {exact: false}}"}
_NO_ERROR = "- {target: error, matcher: {exact: null}}"
_SUBJECTS = {"tools": "tool", "resources": "uri", "prompts": "prompt"}
_TEACHING = {
    "tools": (
        "A test calls a tool with `args` and checks the response against `expect`.",
        "`negative_path` sends invalid requests, derived from the schema, that the server must reject.",
        "Tools whose annotations and names are not read-only are commented out.",
    ),
    "resources": (
        "The contents are at `result.contents[0].text` or `.blob`; check them with `contains` or `snapshot`.",
    ),
    "prompts": ("The messages of a prompt are at `result.messages`.",),
}


class FirstServer(NamedTuple):
    """A server and its drafts."""

    name: str
    label: str
    """Its name in comments."""
    entry: list[str]
    """The lines of its `servers` entry; empty if it could not be reached."""
    drafts: list[Draft] = []  # noqa: RUF012 (the default is never modified)
    catalog: Catalog | None = None
    trouble: str = ""
    """Why it could not be reached."""


class FirstSuite(NamedTuple):
    """The text of a new suite, with its counts."""

    text: str
    tests: int
    """Number of active tests as `mcproof run` counts them: the probes of a test are one more."""
    commented_out: int
    """Number of tests that are commented out."""
    failed_calls: int
    """Number of active tests whose call is commented out because it fails."""
    failed_checks: int
    """Number of probes left out because they fail."""
    servers: int = 0
    """Number of servers that could be reached."""
    placeholder: str = ""
    """What stands for a command that only the author knows; empty if nothing does."""
    unset: tuple[str, ...] = ()
    """The variables of the environment that the suite needs and that are not set here."""


def first_suite(servers: Sequence[FirstServer], command: str) -> FirstSuite:
    """Write a suite; `command` runs it."""
    reached = [server for server in servers if server.catalog is not None]
    lines = [*_head(reached, command), "", *_servers(servers), ""]
    room = _Room(len("\n".join(lines)))
    for block in _SUBJECTS:
        lines += _section(block, reached, room)
    quality = [line for server in reached for line in _quality(server, is_alone=len(reached) == 1)]
    if quality:
        lines += [f"{BLOCKS[-1]}:", *quality, ""]
    active = [draft for draft in room.taken if draft.is_active]
    gates = sum(line.startswith("  - name:") for line in quality)
    return FirstSuite(
        text="\n".join(lines),
        tests=sum(draft.active_tests for draft in active) + gates,
        commented_out=len(room.taken) - len(active),
        failed_calls=sum(bool(draft.failed_call) for draft in active),
        failed_checks=sum(len(draft.checks) - len(draft.passing_checks) for draft in active),
    )


class _Room:
    """Keeps the tests within the limits of a suite."""

    def __init__(self, taken: int) -> None:
        self._bytes = taken
        self._nodes = 0
        self._is_full = False
        self.taken: list[Draft] = []
        """The tests that fit."""

    def takes(self, draft: Draft, lines: list[str]) -> bool:
        """Whether a test fits; after the first that does not, none does."""
        self._bytes += sum(len(line.encode()) + 1 for line in lines)
        self._nodes += 0 if draft.impossible else _NODES + count_values(draft.arguments)
        # Once full, it stays full: what is left out is the end of the list, as the comment there says.
        self._is_full = self._is_full or self._bytes > _MOST_BYTES or self._nodes > _MOST_NODES
        self.taken += [] if self._is_full or draft.impossible else [draft]
        return not self._is_full


def _head(servers: Sequence[FirstServer], command: str) -> Iterator[str]:
    of = comment_text(", ".join(server.label for server in servers[:3])) + (" and others" if len(servers) > 3 else "")
    yield f"# Tests of {of}, written by `mcproof init`; run them with `{comment_text(command)}`."
    yield "# In CI, run `mcproof check` with the same target too: grade, clients, trust and promises in one run."
    yield "# A starting point: use your own values, and expect more than that a call succeeds."
    yield "# Tests that may have side effects or do not pass yet are commented out: remove the `# ` to activate them."
    yield "# For completion in an editor, run `mcproof validate --schema > mcproof.schema.json` and add at the top:"
    yield "#   # yaml-language-server: $schema=mcproof.schema.json"


def _servers(servers: Sequence[FirstServer]) -> Iterator[str]:
    yield "servers:"
    if any("{env: " in line or "${" in line for server in servers for line in server.entry):
        yield "  # ${NAME} and {env: NAME} refer to environment variables, which keeps secrets out of this file."
    for server in servers:
        if server.trouble:
            yield f"  # {comment_text(server.name)} is omitted: {comment_text(server.trouble)}"
        else:
            yield f"  {key(server.name)}:"
            yield from (f"    {line}" for line in server.entry)


def _section(block: str, servers: Sequence[FirstServer], room: _Room) -> Iterator[str]:
    """The tests of one list."""
    before = len(room.taken)
    lines = [line for server in servers for line in _tests(server, block, room, is_alone=len(servers) == 1)]
    taken = room.taken[before:]
    if taken:
        yield from _heading(block, is_active=any(draft.is_active for draft in taken))
    if lines:
        yield from (*lines, "")


def _heading(block: str, *, is_active: bool) -> Iterator[str]:
    prefix = "" if is_active else "# "
    if not is_active:
        yield "# None of these tests is active yet. To activate one, remove the `# ` from its lines and from this one:"
    yield f"{prefix}{block}:"
    if is_active:
        yield from (f"  # {line}" for line in _TEACHING[block])


def _tests(server: FirstServer, block: str, room: _Room, *, is_alone: bool) -> Iterator[str]:
    drafts = [draft for draft in server.drafts if draft.block == block]
    left_out = max(0, _item_count(server.catalog, block) - len(drafts))
    for number, draft in enumerate(drafts):
        if draft.impossible:
            lines = [f"  # No test of {comment_text(draft.subject)}: {comment_text(draft.impossible)}."]
        else:
            lines = list(_test(draft, server.name))
        if not room.takes(draft, lines):
            left_out += 1
            continue
        yield ""
        if number == 0 and not is_alone:
            yield f"  # The {block} of {comment_text(server.name)}."
        yield from lines
    if left_out:
        yield f"  # {left_out:,} more {block} do not fit here; add them to a second suite."


def _item_count(catalog: Catalog | None, block: str) -> int:
    """Return the number of items that a list could test."""
    counts = catalog.counts if catalog is not None else {}
    return counts.get(block, 0) + (counts.get("templates", 0) if block == "resources" else 0)


def _test(draft: Draft, server: str) -> Iterator[str]:
    """Yield the lines of a test; commented out, with the reason, if it is inactive."""
    if draft.is_active:
        yield from (f"  {line}" for line in _body(draft, server))
        return
    if draft.inactive_reason:
        yield f"  # Inactive: {comment_text(draft.inactive_reason)}"
    else:
        yield f"  # Inactive: the call fails: {comment_text(draft.failed_call)}"
    # A comment within a comment would stay one after the first is removed.
    uncommented = draft._replace(failed_call="", checks=draft.checks if draft.failed_call else ())
    yield from (f"  # {line}" for line in _body(uncommented, server))


def _body(draft: Draft, server: str) -> Iterator[str]:
    yield f"- name: {scalar(draft.name)}"
    yield f"  server: {scalar(server)}"
    yield f"  {_SUBJECTS[draft.block]}: {scalar(draft.subject)}"
    yield from _arguments(draft)
    if draft.block == "tools" and draft.subject in METHODS:
        return
    works = _WORKS.get(draft.block, _NO_ERROR)
    if draft.failed_call:
        yield f"  # The call fails: {comment_text(draft.failed_call)}"
        yield "  # Use better values above, then remove the `# ` here:"
        yield "  # expect:"
        yield f"  #   {works}"
    else:
        yield "  expect:"
        yield f"    {works}"
    yield from _negative_path(draft)


def _arguments(draft: Draft) -> Iterator[str]:
    hint = f"  # {_GENERATED[draft.block]}" if draft.is_generated else ""
    if not draft.arguments:
        if draft.is_generated or (draft.failed_call and draft.block == "tools"):
            yield f"  args: {{}}{hint}"
        return
    line = f"  args: {to_yaml(draft.arguments)}"
    names = list(map(key, draft.arguments))
    if len(line) <= _WIDEST or any(name.startswith("?") for name in names):
        yield f"{line}{hint}"
        return
    yield f"  args:{hint}"
    yield from (f"    {name}: {to_yaml(value)}" for name, value in zip(names, draft.arguments.values(), strict=True))


def _negative_path(draft: Draft) -> Iterator[str]:
    if not draft.checks:
        return
    for _, why in draft.failed_checks:
        yield f"  # Left out, does not pass: {comment_text(why)}"
    if draft.failed_path:
        yield f"  # Inactive, does not pass: {comment_text(draft.failed_path)}"
    prefix = "" if draft.passing_checks else "# "
    yield f"  {prefix}negative_path:"
    yield f"  {prefix}  checks: [{', '.join(draft.passing_checks or draft.checks)}]"


def _quality(server: FirstServer, *, is_alone: bool) -> Iterator[str]:
    """Yield the quality gates, relaxed to the current values if the default would fail."""
    catalog = server.catalog
    if catalog is None or not catalog.tools:
        return
    quality = quality_of(catalog)
    facts = quality.facts
    of = "" if is_alone else f" of {server.name}"
    gates = (
        (
            f"tool descriptions{of} are good enough",
            _described(facts, quality.reasons["min_score"]),
        ),
        (
            f"schemas{of} do not get looser",
            (_at_most(target, facts, "") for target in ("schema_criticals", "schema_warnings")),
        ),
    )
    for (name, lines), why in zip(gates, _GATES, strict=True):
        yield f"  # {why}"
        yield f"  - name: {scalar(name)}"
        yield f"    server: {scalar(server.name)}"
        yield "    expect:"
        yield from (f"      {line}" for line in lines)


_GATES = (
    "Description scores from 0 to 1, and the number of useless descriptions.",
    "Findings of the strict rules, as in `mcproof schema-lint`. These are today's numbers: lower them over time.",
)


def _described(facts: dict[str, Any], worst: str) -> Iterator[str]:
    for target, default in (("min_score", 0.5), ("mean_score", 0.7)):
        now = _rounded_down(facts[target])
        if now <= 0:  # no score could fall below
            yield f"# {target} is 0 today, the default gate is {default}; {comment_text(worst)}"
            continue
        hint = f"  # today's value; the default is {default}" if now < default else ""
        yield f"- {{target: {target}, matcher: {{schema: {{minimum: {min(now, default)}}}}}}}{hint}"
    yield _at_most("critical_count", facts, "today's value; the default is 0")


def _rounded_down(score: float) -> float:
    # Never up, so that the gate passes today.
    near = round(score, 2)
    return near if near <= score else round(near - 0.01, 2)


def _at_most(target: str, facts: dict[str, Any], hint: str) -> str:
    remarks = f"  # {hint}" if hint and facts[target] else ""
    return f"- {{target: {target}, matcher: {{schema: {{maximum: {facts[target]}}}}}}}{remarks}"


class ReadServer(NamedTuple):
    """A target whose catalog was read, or the reason why it was not."""

    source: Input
    catalog: Catalog | None
    trouble: str = ""


class SuiteOptions(NamedTuple):
    """What the user wants of a new suite."""

    folder: str
    """Where it is written; empty for standard output."""
    timeout: float | None = None
    protocol: str | None = None
    start_timeout: float | None = None
    variables: tuple[str, ...] = ()
    """The environment variables that headers refer to."""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    """The tools that the user allows or denies."""

    def permissions_in(self, catalog: Catalog) -> list[Permission]:
        return permissions_of(catalog, allow=self.allow, deny=self.deny)


class NewSuite:
    """A suite that is being written. Raises a UsageError if no server has a tool that the options name."""

    def __init__(self, reads: Sequence[ReadServer], options: SuiteOptions) -> None:
        names = [tool.name for read in reads if read.catalog is not None for tool in read.catalog.tools if tool.name]
        refuse_unknown_tools((*options.allow, *options.deny), names)
        self._options = options
        self._way = EntryOptions(options.timeout, options.protocol, options.start_timeout)
        self._variables = SecretVariables(os.environ, options.variables)
        self._server_names, self._test_names = UniqueNames(), UniqueNames()
        is_alone = sum(read.catalog is not None for read in reads) == 1
        self._servers = [self._first_server(read, is_alone=is_alone) for read in reads]
        self.trials = {
            index: TrialServer(
                self._servers[index].name,
                read.source.server,
                self._servers[index].drafts,
                read.catalog,
                options.permissions_in(read.catalog),
            )
            for index, read in enumerate(reads)
            if read.source.server is not None and read.catalog is not None
        }
        """The live servers with their drafts, by their number."""

    def _first_server(self, read: ReadServer, *, is_alone: bool) -> FirstServer:
        source, catalog = read.source, read.catalog
        name = self._server_names.unique(_name(source))
        if catalog is None:
            return FirstServer(name, name, [], trouble=read.trouble)
        entry = self._entry(source, catalog, name)
        hide = hiding_whole(source.server.secrets if source.server is not None else ())
        suffix = "" if is_alone else f" of {name}"
        drafts = drafts_of(catalog, self._options.permissions_in(catalog), self._test_names, hide, suffix)
        label = source.title if source.server is None else source.server.label
        return FirstServer(name, label, entry, drafts, catalog)

    def _entry(self, source: Input, catalog: Catalog, name: str) -> list[str]:
        try:
            if source.server is not None:
                return entry_lines(source.server, name, self._variables, self._options.folder, self._way)
            if source.is_source:
                return placeholder_lines(*_start_of(source.name))
            return captured_lines(catalog.server.fields.get("server"), name, self._variables) or placeholder_lines()
        except UnwritableError as error:
            raise InputError(f"the server entry cannot be written to a suite: {error}", file=source.title) from None

    def try_tests(self, progress: Callable[[int, int, str], None]) -> None:
        """Try the tests of live servers; those that do not pass become comments. Raises KeyboardInterrupt."""
        drafts = try_drafts([*self.trials.values()], self._way, RunOptions(), progress) if self.trials else []
        for index, of_server in zip(self.trials, drafts, strict=True):
            self._servers[index] = self._servers[index]._replace(drafts=of_server)

    def written(self, command: str) -> FirstSuite:
        """The suite as text; `command` runs it."""
        has_placeholder = any(PLACEHOLDER in line for server in self._servers for line in server.entry)
        return first_suite(self._servers, command)._replace(
            servers=sum(not server.trouble for server in self._servers),
            placeholder=PLACEHOLDER if has_placeholder else "",
            unset=tuple(self._variables.unset),
        )


def _name(source: Input) -> str:
    """The name of a server in a suite: from its client configuration, or `remote` or `local`."""
    if (source.origin is not None and source.origin.line is not None) or source.obstacle is not None:
        return server_name(source.name.partition("#")[2])
    return "remote" if isinstance(source.server, UrlEndpoint) else "local"


def _start_of(target: str) -> tuple[Sequence[str], str, str]:
    """The command that starts a server from source, if one can be guessed, its folder and what builds it."""
    from mcproof.source.packages.projects import SUFFIXES, package_in, start_of

    package = package_in(target) if os.path.isdir(target) else None
    if package is not None and package.is_server:
        return package.start
    if os.path.isfile(target):
        return start_of(target) if target.endswith(SUFFIXES) else (("python", target), "", "")
    return (), "", ""
