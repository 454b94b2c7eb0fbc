"""Write a new suite: its `servers` entry, tests, quality gates and explanatory comments."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.client.connect import INHERITED
from mcproof.client.endpoints import AccessOptions, CommandEndpoint, Endpoint, UrlEndpoint
from mcproof.client.redaction import HIDDEN, SHORTEST, redacted_command, redacted_text, secrets_of_url
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.yaml_document import (
    MAX_BYTES,
    MAX_NODES,
    UnwritableError,
    comment_text,
    count_values,
    escape_variables,
    key,
    scalar,
    to_yaml,
    with_variables,
)
from mcproof.testing.suites.entries import is_http_url, is_name
from mcproof.testing.suites.loading import FOLDER, NAME
from mcproof.testing.suites.model import BLOCKS, METHODS
from mcproof.testing.suites.steps import quality_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcproof.core.catalog.model import Catalog
    from mcproof.testing.suites.drafts import Draft


PLACEHOLDER = "your-server-command"
"""Placeholder for an unknown command."""
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*+\}")
_LONGEST_NAME = 60
_LONGEST_WAIT = 3_600_000


class EntryOptions(NamedTuple):
    """Connection settings for the entry, if given."""

    timeout: float | None = None
    """In seconds."""
    protocol: str | None = None
    start_timeout: float | None = None
    """In seconds."""


class UniqueNames:
    """Makes names unique by numbering duplicates."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """Return the name, numbered if it is taken."""
        free = name
        while free in self._given:
            self._given[name] += 1
            free = f"{name} ({self._given[name]})"
        self._given[free] = 1
        return free


class SecretVariables:
    """Environment variables that replace secrets in a suite, one for each value."""

    def __init__(self, environment: Mapping[str, str], mentioned: Iterable[str] = ()) -> None:
        self._environment = environment
        self._mentioned = [value for name in mentioned if (value := environment.get(name))]
        self.values: dict[str, str] = {}

    @property
    def unset(self) -> list[str]:
        """Variables to set before the suite can run."""
        return [name for name, value in self.values.items() if self._environment.get(name) != value]

    def reference(self, wanted: str, value: str, server: str) -> str:
        """Return the name of the variable for a value."""
        name = _identifier(wanted)
        if name == FOLDER:
            name = f"{name}_"
        if self.values.get(name, value) != value:
            name = _identifier(f"{server}_{name}")
        number, free = 1, name
        while self.values.get(free, value) != value:
            number += 1
            free = f"{name}_{number}"
        # One variable for one value, so that a secret that occurs twice is set once.
        self.values[free] = value
        return free

    def names_of(self, substituted: Sequence[str]) -> dict[str, str]:
        """Return the values that came from environment variables, with the name of one variable each."""
        sought = {*substituted, *self._mentioned}
        return {
            value: name
            for name, value in self._environment.items()
            if value and value in sought and name not in (*INHERITED, FOLDER) and NAME.fullmatch(name)
        }

    def has(self, name: str, value: str) -> bool:
        """Whether an environment variable has this value."""
        return NAME.fullmatch(name) is not None and self._environment.get(name) == value


def placeholder_lines(command: Sequence[str] = ()) -> list[str]:
    """Return the entry of a server whose command is unknown or guessed."""
    if command:
        return ["# A guess: check that this command starts your server.", f"command: {to_yaml(list(command))}"]
    return [
        "# The command that starts your server, such as [python, server.py]; or use `url` instead.",
        f"command: [{PLACEHOLDER}]",
    ]


def captured_lines(endpoint: Any, name: str, variables: SecretVariables) -> list[str]:
    """Return the entry of a captured server; empty if the capture does not record its endpoint."""
    from mcproof.client.endpoints import UrlEndpoint

    recorded = endpoint if isinstance(endpoint, dict) else {}
    words, url = recorded.get("command"), recorded.get("url")
    server: Endpoint
    if isinstance(words, list) and words and words[0] and all(isinstance(word, str) for word in words):
        if any("\0" in word for word in words):
            return []
        server = CommandEndpoint(tuple(words), {})
    elif isinstance(url, str) and is_http_url(url):
        server = UrlEndpoint(url, {})
    else:
        return []
    return [
        "# From the capture: review it before running it.",
        *entry_lines(server, name, variables, "", EntryOptions()),
    ]


def milliseconds(limit: float) -> int:
    """Return a time limit in seconds as a suite has it."""
    return max(1, min(round(limit * 1000), _LONGEST_WAIT))


def entry_lines(
    server: Endpoint, name: str, variables: SecretVariables, folder: str, options: EntryOptions
) -> list[str]:
    """Return the entry of a server, without secrets. Paths are relative to `folder`, that of the suite."""
    writer = _EntryWriter(name, variables, variables.names_of(server.filled))
    lines = list(writer.command(server, folder) if isinstance(server, CommandEndpoint) else writer.endpoint(server))
    for setting, limit in (("timeout_ms", options.timeout), ("start_timeout_ms", options.start_timeout)):
        if limit is not None:
            lines.append(f"{setting}: {milliseconds(limit)}")
    if options.protocol is not None:
        lines.append(f"protocol: {to_yaml(options.protocol)}")
    return lines


class _EntryWriter:
    """Writes the entry of one server."""

    def __init__(self, name: str, variables: SecretVariables, variable_names: dict[str, str]) -> None:
        self._name = name
        self._variables = variables
        self._variable_names = variable_names
        # The longest first, because one value may contain another.
        longest_first = sorted((value for value in variable_names if len(value) >= SHORTEST), key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def command(self, server: CommandEndpoint, folder: str) -> Iterator[str]:
        yield f"command: [{', '.join(map(with_variables, self._words(server.words)))}]"
        if server.directory is not None:
            yield f"cwd: {to_yaml(_relative_to(folder, server.directory))}"
        yield from self._pairs("env", server.environment)

    def endpoint(self, server: UrlEndpoint) -> Iterator[str]:
        filled = self._with_references(server.url)
        # As a whole, because parts of it may be secret that no pattern recognises.
        if any(secrets_of_url(_REFERENCE.sub("", filled))):
            variable = self._variables.reference(f"{self._name}_url", server.url, self._name)
            yield "# The URL may contain a secret."
            yield f'url: "${{{variable}}}"'
        else:
            yield f"url: {with_variables(filled)}"
        yield from self._pairs("headers", server.headers)
        if server.access.uses_client_credentials:
            yield "auth:"
            yield from (f"  {key}: {to_yaml(value)}" for key, value in _auth_members(server.access) if value)

    def _with_references(self, text: str) -> str:
        """Replace values from the environment with references to their variables."""
        if text in self._variable_names:
            return self._refer(self._variable_names[text], text)
        if self._values is None:
            return escape_variables(text)
        pieces, end = [], 0
        for match in self._values.finditer(text):
            pieces += [
                escape_variables(text[end : match.start()]),
                self._refer(self._variable_names[match[0]], match[0]),
            ]
            end = match.end()
        return "".join([*pieces, escape_variables(text[end:])])

    def _refer(self, name: str, value: str) -> str:
        self._variables.values[name] = value
        return f"${{{name}}}"

    def _words(self, words: Sequence[str]) -> list[str]:
        """Replace values from the environment, and likely secrets, in the words of a command."""
        filled = [self._with_references(word) for word in words]
        ready = []
        for number, (word, shown) in enumerate(zip(filled, redacted_command(filled), strict=True)):
            if word == shown and HIDDEN not in word:
                ready.append(word)
                continue
            before, hidden, after = shown.partition(HIDDEN)
            # Where several parts of a word are hidden, they cannot be told apart any more, so all of it becomes a
            # variable.
            is_one_part = hidden and HIDDEN not in after and word.startswith(before) and word.endswith(after)
            if not is_one_part:
                before = after = ""
            secret = word[len(before) : len(word) - len(after)]
            if _REFERENCE.fullmatch(secret):
                ready.append(word)
                continue
            flag = filled[number - 1] if number and filled[number - 1].startswith("-") else ""
            variable = self._variables.reference(_last_word(before) or _last_word(flag) or "secret", secret, self._name)
            ready.append(f"{before}${{{variable}}}{after}")
        return ready

    def _pairs(self, kind: str, pairs: Mapping[str, str]) -> Iterator[str]:
        """Write environment variables or headers, with references in place of values."""
        lines = []
        for name, value in pairs.items():
            try:
                quoted = key(name)
            except UnwritableError:
                quoted = "?"
            if not is_name(name, is_header=kind == "headers") or not name.isprintable() or quoted.startswith("?"):
                lines.append(f"  # {comment_text(name)} is omitted: not a valid name in a suite.")
                continue
            lines.append(f"  {quoted}: {self._value(name, value)}")
        if any(not line.startswith("  #") for line in lines):
            yield f"{kind}:"
            yield from lines
        else:
            yield from (line.removeprefix("  ") for line in lines)

    def _value(self, name: str, value: str) -> str:
        filled = self._with_references(value)
        if (reference := _REFERENCE.fullmatch(filled)) is not None and value in self._variable_names:
            return _env_reference(reference[0][2:-1])
        rest = _REFERENCE.sub("", filled)
        if filled != escape_variables(value) and redacted_text(rest) == rest:
            return with_variables(filled)
        if self._variables.has(name, value):
            self._refer(name, value)
            return _env_reference(name)
        return _env_reference(self._variables.reference(name, value, self._name))


def _env_reference(variable: str) -> str:
    return to_yaml({"env": variable})


def _identifier(text: str) -> str:
    """Return a valid variable name similar to a text."""
    identifier = re.sub(r"[^A-Za-z0-9]+", "_", text[:_LONGEST_NAME]).strip("_").upper()
    return f"_{identifier}" if not identifier or identifier[0].isdigit() else identifier


def _last_word(text: str) -> str:
    """Return the last word of a text that can name a variable, if it has at least three letters."""
    words = re.findall(r"[A-Za-z][A-Za-z0-9_-]{2,}", text)
    return words[-1] if words else ""


def _relative_to(folder: str, directory: str) -> str:
    """Return the path of a directory relative to a folder."""
    if os.path.isabs(directory):
        return directory
    try:
        return os.path.relpath(directory, folder or os.curdir)
    except ValueError:  # another drive
        return os.path.abspath(directory)


def server_name(wanted: str) -> str:
    """Return the wanted name if it is valid in a suite, else `server`."""
    try:
        is_valid = bool(wanted) and not key(wanted).startswith("?")
    except UnwritableError:
        is_valid = False
    return wanted if is_valid else "server"


def _auth_members(access: AccessOptions) -> list[tuple[str, str]]:
    """The members of `auth` in a suite, which names variables only."""
    return [
        ("client_id", access.client_id),
        ("client_secret_env", access.secret_variable),
        ("client_key_env", access.key_variable),
        ("issuer", access.issuer),
        ("scope", access.scope),
    ]


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
