"""From the sources of a sweep to its targets, one at a time: a sweep may have more targets than fit into memory."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from mcproof.core.errors import InputError, reason_of
from mcproof.core.text.files import is_left_out
from mcproof.services.sweep.registry import (
    Failing,
    SweepTarget,
    capture_target,
    entries_of,
    host_of,
    is_current,
    is_registry_entry,
    key_of,
    place_of,
    registry_server,
)
from mcproof.source.packages.projects import SUFFIXES
from mcproof.targets.arguments import LARGEST_INPUT, configured_name, is_url
from mcproof.targets.client_config import ConfiguredServer, read_servers, server_of
from mcproof.targets.snapshots import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.services.sweep import Permissions

LONGEST_LINE = 1 << 20
"""The most characters of a line in a list."""
_DEEPEST = 40
_SOURCE_CODE = (".py", ".pyi", *SUFFIXES)
"""Endings of files that are not lists: a line of code with a space in it would be a command."""
_WORDS = tuple(
    f'"{word}"'.encode() for word in ("mcpServers", "servers", "context_servers", "mcp", "packages", "remotes")
)
"""Words of which every client configuration and registry document has one."""


class TargetSources:
    """The sources that the user names, and what they may start."""

    def __init__(self, sources: tuple[str, ...], permissions: Permissions, ours: frozenset[str] = frozenset()) -> None:
        self._sources = sources
        self._permissions = permissions
        self._ours = ours
        """Files that the sweep itself writes, by real path."""
        self._our_names = frozenset(map(os.path.basename, ours))
        self.outdated = 0
        """How many entries of registry documents are older versions, or deleted."""

    def targets(self) -> Iterator[SweepTarget]:
        """Yield every target, in the order of the sources; some may be there twice.

        Raises an InputError if a source cannot be read. What is wrong with one target is its hindrance.
        """
        self.outdated = 0
        for source in self._sources:
            if is_url(source) or configured_name(source):
                yield from self._of_word(source, "")
            elif is_list(source):
                yield from self._of_list(source)
            elif os.path.exists(source):
                yield from self._of_path(source)
            else:
                raise InputError("there is no such file or folder", file=source)

    def _of_path(self, path: str) -> Iterator[SweepTarget]:
        if os.path.isdir(path):
            for file in captures_below(path):
                if os.path.basename(file) not in self._our_names or os.path.realpath(file) not in self._ours:
                    yield capture_target(file)
        elif os.path.isfile(path):
            yield from self._of_json(path)
        else:  # a pipe or a device may block, which only a worker may
            yield capture_target(path)

    def _of_json(self, file: str) -> Iterator[SweepTarget]:
        """Yield the servers of a client configuration or a registry document, or the file itself as a capture."""
        with _opened(file) as stream:
            data = stream.read(LARGEST_INPUT + 1)
        if not any(word in data for word in _WORDS) or len(data) > LARGEST_INPUT:
            yield capture_target(file)
            return
        try:
            text = text_of(data, file)
            servers = read_servers(text, file)
        except InputError:  # reported when it is read as a capture
            yield capture_target(file)
            return
        if servers is not None:
            for server in servers:
                yield self._of_configured(server, f"{file}#{server.name}", server.name)
            return
        entries = entries_of(json.loads(text))
        if entries is None:
            yield capture_target(file)
            return
        for number, entry in enumerate(entries):
            yield from self._of_entry(entry, f"{file}#{number}")

    def _of_entry(self, entry: Any, place: str) -> Iterator[SweepTarget]:
        if not is_current(entry):
            self.outdated += 1
            return
        # For a variable that is allowed but not set, the default of the document is used.
        allowed = self._permissions.for_strangers(place_of(entry)) & os.environ.keys()
        server = registry_server(entry, allowed, runs_packages=self._permissions.packages)
        name = server.name or place
        if server.hindrance is not None:
            yield SweepTarget(key_of("registry", name), name, server.name, hindrance=server.hindrance)
            return
        yield _live(ConfiguredServer(name, server.entry, place, 0), _raw_label(server.entry), name, allowed)

    def _of_configured(self, configured: ConfiguredServer, label: str, name: str) -> SweepTarget:
        entry = configured.entry
        if isinstance(entry, dict) and "command" in entry and not self._permissions.commands:
            message = "commands start only with --allow-commands"
            hindrance = Failing("left-out", "a command, without --allow-commands", message)
            return SweepTarget(_key(configured.entry, name), label, name, hindrance=hindrance)
        url = entry.get("url") if isinstance(entry, dict) else None
        allowed = self._permissions.for_user(host_of(url) if isinstance(url, str) else "")
        return _live(configured, label, name, allowed)

    def _of_list(self, source: str) -> Iterator[SweepTarget]:
        folder = "" if source == "-" else os.path.dirname(source)
        title = "<stdin>" if source == "-" else source
        if source.endswith(_SOURCE_CODE):
            raise InputError("is source code, not a list of targets; `mcproof lint` and `grade` check it", file=source)
        with _opened(source) as stream:
            number = 0
            while line := stream.readline(LONGEST_LINE):
                number += 1
                place = f"{title}:{number}"
                # A name of a file may have any bytes.
                text = line.decode("utf-8", "surrogateescape").strip("\ufeff \t\r\n")
                if b"\0" in line:
                    raise InputError("is not text; a list has one target a line", file=title, line=number)
                if len(line) == LONGEST_LINE:
                    raise InputError(f"the line is longer than {LONGEST_LINE:,} bytes", file=title, line=number)
                if text.startswith(("{", '"')):
                    yield from self._of_json_line(text, place, folder)
                elif text and not text.startswith("#"):
                    yield from self._of_word(text, folder)

    def _of_json_line(self, text: str, place: str, folder: str) -> Iterator[SweepTarget]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            hindrance = Failing("unreadable", "not JSON", "the line is not JSON")
            yield SweepTarget(key_of("line", place, text), place, hindrance=hindrance)
            return
        if isinstance(value, str):
            yield from self._of_word(value, folder)
        elif is_registry_entry(value):
            yield from self._of_entry(value, place)
        elif (
            isinstance(value, dict)
            and isinstance(value.get("target"), str)
            and value.keys().isdisjoint(("command", "url"))
        ):
            yield from self._of_target_line(value, place, folder)
        else:
            yield self._of_server_line(value, place)

    def _of_target_line(self, value: dict[str, Any], place: str, folder: str) -> Iterator[SweepTarget]:
        """Yield a target with `env` and `headers` for it."""
        target = value["target"]
        words = _command_words(target, folder)
        if not words and (not is_url(target) or " " in target):
            yield from self._of_word(target, folder)
            return
        server = {"command": words[0], "args": words[1:]} if words else {"url": target}
        yield self._of_server_line({**value, **server}, place)

    def _of_server_line(self, value: Any, place: str) -> SweepTarget:
        entry = _entry(value)
        name = entry.pop("name", None) if isinstance(entry, dict) else None
        name = name if isinstance(name, str) else ""
        label = _raw_label(entry) or place
        return self._of_configured(ConfiguredServer(name or place, entry, place, 0), label, name)

    def _of_word(self, word: str, folder: str) -> Iterator[SweepTarget]:
        """Yield the targets of a line, or of a URL on the command line."""
        if is_url(word) and " " not in word:
            yield self._of_configured(ConfiguredServer("", {"url": word}, "", 0), _raw_label({"url": word}), "")
        elif words := _command_words(word, folder):
            entry = {"command": words[0], "args": words[1:]}
            yield self._of_configured(ConfiguredServer("", entry, "", 0), _raw_label(entry), "")
        elif configured := configured_name(_resolved(word, folder)):
            yield from self._of_named(*configured)
        else:
            path = _resolved(word, folder)
            if os.path.isdir(path) or path.endswith(".json"):
                yield from self._of_existing(path)
            else:
                yield capture_target(path)

    def _of_existing(self, path: str) -> Iterator[SweepTarget]:
        try:
            yield from self._of_path(path)
        except InputError:
            yield capture_target(path)  # the reason is reported when it is read

    def _of_named(self, file: str, name: str) -> Iterator[SweepTarget]:
        label = f"{file}#{name}"
        for target in self._of_existing(file):
            if target.label == label or (target.name and target.name == name):
                yield target
                return
        hindrance = Failing("unreadable", "no such server", f"no server `{name}` in {file}")
        yield SweepTarget(key_of("configured", label), label, name, hindrance=hindrance)


def _live(configured: ConfiguredServer, label: str, name: str, variables: frozenset[str]) -> SweepTarget:
    """Return the target of a server, with these variables filled in."""
    key = _key(configured.entry, name)
    try:
        endpoint = server_of(configured, variables)
    except InputError as error:
        lacks_variable = "environment variable" in error.message
        outcome, reason = ("left-out", "a variable is missing") if lacks_variable else ("unreadable", "not a server")
        return SweepTarget(key, label, name, hindrance=Failing(outcome, reason, error.message))
    return SweepTarget(key, label, name, endpoint=endpoint)


def is_list(source: str) -> bool:
    """Whether a source is a list of targets: standard input, or a file or pipe with any name but `*.json`."""
    return source == "-" or (os.path.exists(source) and not os.path.isdir(source) and not source.endswith(".json"))


def captures_below(folder: str) -> Iterator[str]:
    """Yield the JSON files below a folder, in the order of the file system: a folder may have a million.

    Hidden folders, environments and installed packages are left out, and linked folders not followed.
    """
    waiting = [(folder, 0)]
    while waiting:
        here, depth = waiting.pop()
        try:
            with os.scandir(here) as listing:
                for entry in listing:
                    path = entry.name if here == os.curdir else entry.path
                    if entry.is_dir(follow_symlinks=False):
                        if depth < _DEEPEST and not is_left_out(entry.name):
                            waiting.append((path, depth + 1))
                    elif entry.name.endswith(".json") and _is_capture(entry):
                        yield path
        except OSError as error:
            if here == folder:
                raise InputError(f"cannot be read: {reason_of(error)}", file=folder) from None
            yield here  # reported as a capture that cannot be read


def _is_capture(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file, or a link that loops or leads nowhere: a capture that is reported as unreadable."""
    try:
        return entry.is_file() or not os.path.exists(entry.path)
    except OSError:
        return True


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Open a file or standard input. Raises an InputError."""
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(file, "rb") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=file) from None


def _entry(value: Any) -> Any:
    """Return an entry of a list as a client configuration has it.

    `env` may be a list of names, and a value may be `{"env": NAME}`; `command` may be a list of words.
    """
    if not isinstance(value, dict):
        return value
    entry = dict(value)
    command = entry.get("command")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        entry["command"] = command[0]
        # Anything else than a list is left for `server_of`, which says what is wrong with it.
        if isinstance(arguments := entry.get("args", []), list):
            entry["args"] = [*command[1:], *arguments]
    for key in ("env", "headers"):
        given = entry.get(key)
        if isinstance(given, list):
            entry[key] = {str(name): f"${{{name}}}" for name in given}
        elif isinstance(given, dict):
            entry[key] = {name: _named_value(member) for name, member in given.items()}
    return entry


def _named_value(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("env"), str):
        return f"${{{value['env']}}}"
    return value


def _command_words(line: str, folder: str) -> list[str]:
    """The words of a command: `-- COMMAND ARG…`, or several words that are not the name of a file; else empty."""
    is_marked = line.startswith("-- ")
    if not is_marked and (" " not in line or os.path.exists(_resolved(line, folder))):
        return []
    if configured_name(_resolved(line, folder)) is not None:
        return []
    try:
        return shlex.split(line.removeprefix("-- "))
    except ValueError:  # a quote without its partner, which no shell would run either
        return []


def _resolved(word: str, folder: str) -> str:
    """A path of a list: relative to its folder, or else to the current one."""
    beside = os.path.join(folder, word)
    return beside if folder and (os.path.exists(beside) or configured_name(beside) is not None) else word


def _key(entry: Any, name: str) -> int:
    return key_of("server", name, json.dumps(entry, sort_keys=True))


def _raw_label(entry: Any) -> str:
    """Return the command or URL of a server without secrets, and with variables as they are written."""
    from mcproof.client.redaction import redacted_command, redacted_url

    if not isinstance(entry, dict):
        return ""
    if isinstance(entry.get("url"), str):
        return redacted_url(entry["url"])
    words = [entry.get("command"), *(entry["args"] if isinstance(entry.get("args"), list) else [])]
    return shlex.join(redacted_command([str(word) for word in words])) if words[0] else ""
