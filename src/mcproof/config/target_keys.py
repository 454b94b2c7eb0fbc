"""Targets in a configuration: paths, URLs, and the commands of servers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof.config.config_values import dotted, is_web_url, not_empty, path_in, short, table_in, text_in, words_in

if TYPE_CHECKING:
    from mcproof.config.config_values import ConfigFile, Path
    from mcproof.targets.client_config import ConfiguredServer

SERVER_KEYS = {"command": "command", "env": "command", "cwd": "command", "url": "url", "headers": "url"}
"""The keys of a live server in `[targets]`, each with the key that it belongs to."""


def read_targets(source: ConfigFile, key: str, value: Any) -> dict[str, str | ConfiguredServer]:
    """Read `[targets]`: paths as text, live servers as the entries of a client configuration."""
    targets: dict[str, str | ConfiguredServer] = {}
    for name, target in table_in(source, key, value).items():
        at = (key, name)
        if not name.strip() or name.startswith("-"):
            raise source.error(f"`{short(name)}` is not a target name: it is blank or starts with `-`", at)
        targets[name] = read_target(source, at, name, target)
    return targets


def read_target(source: ConfigFile, at: Path, name: str, value: Any) -> str | ConfiguredServer:
    """Read a target: a path as text, a live server as an entry of a client configuration."""
    from mcproof.targets.client_config import ConfiguredServer

    if isinstance(value, dict):
        entry = _server_table(source, at, value)
    elif isinstance(value, list):
        entry = _command(source, at, value)
    elif isinstance(value, str) and is_web_url(value):
        entry = {"url": value}
    else:
        return path_in(source, at, value, "a path, a URL, a list of words (a command) or a table")
    return ConfiguredServer(name, entry, source.file, source.position(at)[0])


def _server_table(source: ConfigFile, at: Path, table: dict[str, Any]) -> dict[str, Any]:
    """A live server as a table, checked; the variables in it are not filled in yet."""
    if not table.keys() & SERVER_KEYS:
        expected = f'a path, a URL or a command; in [{at[0]}], quote a name that has dots: "a.b" = "..."'
        raise source.mistyped(at, table, expected)
    for key in table:
        if key not in SERVER_KEYS:
            raise source.unknown("key", key, SERVER_KEYS, (*at, key))
    given = [key for key in ("command", "url") if key in table]
    if len(given) != 1:
        raise source.error(f"`{dotted(at)}` needs either `command` or `url`", at)
    for key in table:
        if SERVER_KEYS[key] != given[0]:
            raise source.error(f"`{dotted((*at, key))}` has no meaning beside `{given[0]}`", (*at, key))
    for key in table.keys() & {"env", "headers"}:
        for name, text in table_in(source, (*at, key), table[key]).items():
            if not isinstance(text, str):
                raise source.mistyped((*at, key, name), text, "a string")
    if given == ["command"]:
        folder = text_in(source, (*at, "cwd"), table["cwd"], "a folder") if "cwd" in table else os.curdir
        return {**table, **_command(source, (*at, "command"), table["command"]), "cwd": folder}
    url = text_in(source, (*at, "url"), table["url"], "a URL")
    if not is_web_url(url):
        raise source.error(f"`{dotted((*at, 'url'))}` is not an http:// or https:// URL", (*at, "url"))
    return table


def _command(source: ConfigFile, at: Path, value: Any) -> dict[str, Any]:
    """A command that starts in the folder of the configuration."""
    expected = "a command: a list of words"
    first, *rest = not_empty(source, at, words_in(source, at, value, expected))
    return {"command": first, "args": rest, "cwd": os.curdir}
