"""A server as a first suite names it: what starts or reaches it, and a variable wherever a secret would stand."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connect import INHERITED
from mcproof.client.endpoints import CommandEndpoint
from mcproof.client.secrets import HIDDEN, SHORTEST, redacted_command, redacted_text, secrets_of_url
from mcproof.suite.parse.server_entries import is_address, is_name
from mcproof.suite.parse.variables import FOLDER, NAME
from mcproof.text.yamlwriter import UnwritableError, comment_text, escape_variables, key, to_yaml, with_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcproof.client.endpoints import Endpoint, UrlEndpoint

PLACEHOLDER = "your-server-command"
"""What stands for a command that nobody has told."""
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*+\}")
_LONGEST_NAME = 60
_LONGEST_WAIT = 3_600_000


class Way(NamedTuple):
    """How a server is asked, where somebody said so."""

    timeout: float | None = None
    """In seconds."""
    protocol: str | None = None


class Names:
    """Names that are each given once; who comes later gets a number."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """This name, or the next one like it that is free."""
        free = name
        while free in self._given:
            self._given[name] += 1
            free = f"{name} ({self._given[name]})"
        self._given[free] = 1
        return free


class Variables:
    """The variables that stand for secrets, each for one value."""

    def __init__(self, environment: Mapping[str, str], mentioned: Iterable[str] = ()) -> None:
        self._environment = environment
        self._mentioned = [value for name in mentioned if (value := environment.get(name))]
        self.values: dict[str, str] = {}

    @property
    def unset(self) -> list[str]:
        """Those that have to be set, or set differently, before the suite can be run."""
        return [name for name, value in self.values.items() if self._environment.get(name) != value]

    def reference(self, wanted: str, value: str, server: str) -> str:
        """The name of the variable that stands for a value."""
        name = _identifier(wanted)
        if name == FOLDER:
            name = f"{name}_"
        if self.values.get(name, value) != value:
            name = _identifier(f"{server}_{name}")
        number, free = 1, name
        while self.values.get(free, value) != value:
            number += 1
            free = f"{name}_{number}"
        self.values[free] = value
        return free

    def known(self, filled: Sequence[str]) -> dict[str, str]:
        """The values that came from variables of the environment, each with the name of one."""
        sought = {*filled, *self._mentioned}
        return {
            value: name
            for name, value in self._environment.items()
            if value and value in sought and name not in (*INHERITED, FOLDER) and NAME.fullmatch(name)
        }

    def has(self, name: str, value: str) -> bool:
        """Whether the environment knows a value by this name."""
        return NAME.fullmatch(name) is not None and self._environment.get(name) == value


def placeholder_lines(command: Sequence[str] = ()) -> list[str]:
    """The entry of a server of which nobody has said how it is started, or of which it was guessed."""
    if command:
        return ["# Is this how your server is started? The source does not say.", f"command: {to_yaml(list(command))}"]
    return [
        "# Write the command here that starts your server, such as [python, server.py];",
        "# or, in its place, a `url`.",
        f"command: [{PLACEHOLDER}]",
    ]


def captured_lines(said: Any, name: str, variables: Variables) -> list[str]:
    """The entry of a server as a capture tells it; nothing where it does not."""
    from mcproof.client.endpoints import UrlEndpoint

    words, url = (said.get("command"), said.get("url")) if isinstance(said, dict) else (None, None)
    server: Endpoint
    if isinstance(words, list) and words and words[0] and all(isinstance(each, str) for each in words):
        if any("\0" in each for each in words):
            return []
        server = CommandEndpoint(tuple(words), {})
    elif isinstance(url, str) and is_address(url):
        server = UrlEndpoint(url, {})
    else:
        return []
    return ["# As the capture says: read it before you run it.", *entry_lines(server, name, variables, "", Way())]


def entry_lines(server: Endpoint, name: str, variables: Variables, folder: str, way: Way) -> list[str]:
    """The entry of a server, without secrets; files are told relative to the folder of the suite."""
    writer = _Entry(name, variables, variables.known(server.filled))
    lines = list(writer.command(server, folder) if isinstance(server, CommandEndpoint) else writer.endpoint(server))
    if way.timeout is not None:
        lines.append(f"timeout_ms: {max(1, min(round(way.timeout * 1000), _LONGEST_WAIT))}")
    if way.protocol is not None:
        lines.append(f"protocol: {to_yaml(way.protocol)}")
    return lines


class _Entry:
    """The lines of one server."""

    def __init__(self, name: str, variables: Variables, known: dict[str, str]) -> None:
        self._name = name
        self._variables = variables
        self._known = known
        longest_first = sorted((value for value in known if len(value) >= SHORTEST), key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def command(self, server: CommandEndpoint, folder: str) -> Iterator[str]:
        yield f"command: [{', '.join(map(with_variables, self._words(server.words)))}]"
        if server.directory is not None:
            yield f"cwd: {to_yaml(_from(folder, server.directory))}"
        yield from self._pairs("env", server.environment)

    def endpoint(self, server: UrlEndpoint) -> Iterator[str]:
        filled = self._filled(server.url)
        if any(secrets_of_url(_REFERENCE.sub("", filled))):
            variable = self._variables.reference(f"{self._name}_url", server.url, self._name)
            yield "# The address has something in it that may be a secret."
            yield f'url: "${{{variable}}}"'
        else:
            yield f"url: {with_variables(filled)}"
        yield from self._pairs("headers", server.headers)

    def _filled(self, text: str) -> str:
        """A text with variables for the values that came from some."""
        if text in self._known:
            return self._refer(self._known[text], text)
        if self._values is None:
            return escape_variables(text)
        pieces, end = [], 0
        for found in self._values.finditer(text):
            pieces += [escape_variables(text[end : found.start()]), self._refer(self._known[found[0]], found[0])]
            end = found.end()
        return "".join([*pieces, escape_variables(text[end:])])

    def _refer(self, name: str, value: str) -> str:
        self._variables.values[name] = value
        return f"${{{name}}}"

    def _words(self, words: Sequence[str]) -> list[str]:
        """The words of a command, with variables for what came from some, and for what looks like a secret."""
        filled = [self._filled(word) for word in words]
        ready = []
        for number, (word, shown) in enumerate(zip(filled, redacted_command(filled), strict=True)):
            if word == shown and HIDDEN not in word:
                ready.append(word)
                continue
            before, mark, after = shown.partition(HIDDEN)
            is_one_part = mark and HIDDEN not in after and word.startswith(before) and word.endswith(after)
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
        """Variables of a process, or headers: none with its value."""
        lines = []
        for name, value in pairs.items():
            try:
                spelt = key(name)
            except UnwritableError:
                spelt = "?"
            if not is_name(name, is_header=kind == "headers") or not name.isprintable() or spelt.startswith("?"):
                lines.append(f"  # {comment_text(name)} is left out: a suite cannot have this name.")
                continue
            lines.append(f"  {spelt}: {self._value(name, value)}")
        if any(not line.startswith("  #") for line in lines):
            yield f"{kind}:"
            yield from lines
        else:
            yield from (line.removeprefix("  ") for line in lines)

    def _value(self, name: str, value: str) -> str:
        filled = self._filled(value)
        if (found := _REFERENCE.fullmatch(filled)) is not None and value in self._known:
            return _handed_on(found[0][2:-1])
        rest = _REFERENCE.sub("", filled)
        if filled != escape_variables(value) and redacted_text(rest) == rest:
            return with_variables(filled)
        if self._variables.has(name, value):
            self._refer(name, value)
            return _handed_on(name)
        return _handed_on(self._variables.reference(name, value, self._name))


def _handed_on(variable: str) -> str:
    return to_yaml({"env": variable})


def _identifier(text: str) -> str:
    """A name that a variable can have."""
    made = re.sub(r"[^A-Za-z0-9]+", "_", text[:_LONGEST_NAME]).strip("_").upper()
    return f"_{made}" if not made or made[0].isdigit() else made


def _last_word(text: str) -> str:
    """The last word in a text that can name a variable, if it is long enough to say something."""
    found = re.findall(r"[A-Za-z][A-Za-z0-9_-]{2,}", text)
    return found[-1] if found else ""


def _from(folder: str, directory: str) -> str:
    """A directory as it is called from another."""
    if os.path.isabs(directory):
        return directory
    try:
        return os.path.relpath(directory, folder or os.curdir)
    except ValueError:  # another drive
        return os.path.abspath(directory)


def server_name(wanted: str) -> str:
    """A name that a suite can call a server by."""
    try:
        is_fine = bool(wanted) and not key(wanted).startswith("?")
    except UnwritableError:
        is_fine = False
    return wanted if is_fine else "server"
