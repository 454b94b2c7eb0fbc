"""Write the entry of a server in a new suite: how it is started or reached, with variables in place of secrets."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.client.connect import INHERITED
from mcproof.client.endpoints import AccessOptions, CommandEndpoint, Endpoint, UrlEndpoint
from mcproof.client.redaction import HIDDEN, SHORTEST, redacted_command, redacted_text, secrets_of_url
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.yaml_document import (
    UnwritableError,
    comment_text,
    escape_variables,
    key,
    to_yaml,
    with_variables,
)
from mcproof.testing.suites.entries import is_http_url, is_name
from mcproof.testing.suites.loading import FOLDER, NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


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


def placeholder_lines(command: Sequence[str] = (), folder: str = "", build: str = "") -> list[str]:
    """Return the entry of a server whose command is unknown or guessed, with what builds it first."""
    if command:
        first = f", after `{build}`" if build else ""
        lines = [f"# A guess: check that this command starts your server{first}.", f"command: {to_yaml(list(command))}"]
        return [*lines, f"cwd: {to_yaml(folder)}"] if folder not in ("", os.curdir) else lines
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
    except ValueError:  # on another drive, to which no relative path leads
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
