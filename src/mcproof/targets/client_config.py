"""Configuration files of MCP clients: the servers they name, and how to start or reach them.

Clients differ in the key and in the syntax of variables; all common forms are supported. Naming a server in a file
never starts it: the user has to ask for it.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError, nearest
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_document import JsonText, kind_of
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from mcproof.client.endpoints import Endpoint

KEYS = ("mcpServers", "servers", "context_servers", "mcp")
"""The key of the servers: in most clients, VS Code, Zed, and the settings of VS Code."""

_URL_KEYS = ("url", "serverUrl", "httpUrl")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_OTHER_VARIABLE = re.compile(r"\$\{[^}]*\}")
_COMMENT = r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?"
# An unterminated string or comment extends to the end of the text, which keeps matching linear.
_TOKENS = re.compile(rf'"(?:[^"\\]|\\.)*+"?|{_COMMENT}|,(?=(?:\s|{_COMMENT})*+[\]}}])', re.DOTALL)


class ConfiguredServer(NamedTuple):
    """An entry of a client configuration."""

    name: str
    entry: Any
    file: str
    line: int


def read_servers(text: str, file: str) -> list[ConfiguredServer] | None:
    """The servers in a client configuration, in order; None if the file is not one.

    Comments and trailing commas are allowed, as in the clients.
    """
    document = JsonText.parse(_TOKENS.sub(_blank, text), file)
    located = _servers_in(document.value)
    if located is None:
        return None
    pointer, servers = located
    pointers = {name: f"{pointer}/{escape(name)}" for name in servers}
    spans = document.spans(pointers.values())
    names = sorted(servers, key=lambda name: spans[pointers[name]].anchor)
    positions = document.positions([spans[pointers[name]].anchor for name in names])
    return [
        ConfiguredServer(name, servers[name], file, place.line) for name, place in zip(names, positions, strict=True)
    ]


def listing(data: bytes, file: str) -> str | None:
    """The message for a client configuration in place of a catalog; None if the file is not one."""
    if (names := server_names(data, file)) is None:
        return None
    return (
        f"not a catalog but a client configuration (servers: {', '.join(names) or 'none'}); nothing was started; "
        f"select one with {file}#NAME, or use --all"
    )


def server_names(data: bytes, file: str) -> list[str] | None:
    """The names of the servers in a client configuration, sorted; None if the file is not one."""
    # Few files are client configurations, and a search shows it without parsing.
    if not any(f'"{key}"'.encode() in data for key in KEYS):
        return None
    try:
        servers = read_servers(data.decode("utf-8-sig"), file)
    except (InputError, UnicodeDecodeError):
        return None
    return None if servers is None else sorted(server.name for server in servers)


def _blank(match: re.Match[str]) -> str:
    """Replace a comment or comma with spaces, so that positions do not change; keep strings."""
    text = match[0]
    return text if text.startswith('"') else "".join(character if character == "\n" else " " for character in text)


def _servers_in(value: Any) -> tuple[str, dict[str, Any]] | None:
    if not isinstance(value, dict):
        return None
    for key in KEYS:
        servers = value.get(key)
        if isinstance(servers, dict):
            # VS Code has them one level deeper, in settings.json.
            inner = servers.get("servers") if key == "mcp" else None
            return (f"/{key}/servers", inner) if isinstance(inner, dict) else (f"/{key}", servers)
    return None


def _entry(configured: ConfiguredServer) -> dict[str, Any]:
    entry = configured.entry
    if isinstance(entry, dict):
        return entry
    message = f"the server `{configured.name}` is {kind_of(entry)}, not an object"
    raise InputError(message, file=configured.file, line=configured.line)


def pick(servers: list[ConfiguredServer], name: str, file: str) -> ConfiguredServer:
    """The server with this name; raises an InputError that lists the known ones."""
    for server in servers:
        if server.name == name:
            return server
    names = [server.name for server in servers]
    listed = ", ".join(names) or "none"
    raise InputError(f"no server `{name}` in this configuration{nearest(name, names)}; there are: {listed}", file=file)


def server_of(configured: ConfiguredServer, allowed: Container[str] | None = None) -> Endpoint:
    """How to start or reach a configured server, with variables filled in from the environment.

    `allowed` are the names that may be filled in; None for all.
    """
    from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint

    entry, fill, secrets = _entry(configured), *_filler(configured, allowed)
    url = next((entry[key] for key in _URL_KEYS if isinstance(entry.get(key), str)), None)
    command = entry.get("command")
    if isinstance(command, dict):  # Zed writes an object: {"path", "args", "env"}
        entry = {**entry, **command}
        command = command.get("path")
    if isinstance(command, str) and command:
        words = [command, *_texts(entry.get("args", []), "args", configured)]
        environment = {name: fill(value) for name, value in _pairs(entry.get("env", {}), "env", configured).items()}
        directory = entry.get("cwd")
        if not isinstance(directory, str | None):
            raise _wrong("cwd", "a string", configured)
        filled = tuple(fill(word) for word in words)
        # Relative to the configuration, wherever mcproof runs.
        folder = os.path.join(os.path.dirname(configured.file), fill(directory)) if directory else None
        return CommandEndpoint(filled, environment, folder, tuple(secrets))
    if url is not None:
        headers = {name: fill(value) for name, value in _pairs(entry.get("headers", {}), "headers", configured).items()}
        return UrlEndpoint(fill(url), headers, tuple(secrets))
    raise InputError(
        f"the server `{configured.name}` has neither a `command` nor a `url`",
        file=configured.file,
        line=configured.line,
    )


def _filler(configured: ConfiguredServer, allowed: Container[str] | None) -> tuple[Callable[[str], str], list[str]]:
    """A function that fills in variables, from the environment and the few others that clients define.

    Also returns the list of values taken from the environment, which are secrets.
    """
    from mcproof.client.connect import INHERITED

    folder = os.path.dirname(os.path.abspath(configured.file))
    workspace = os.path.dirname(folder) if os.path.basename(folder) == ".vscode" else folder
    secrets: list[str] = []
    predefined = {"${workspaceFolder}": workspace, "${userHome}": os.path.expanduser("~"), "${/}": os.sep}

    def value_of(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        is_allowed = allowed is None or name in allowed
        value = os.environ.get(name, default) if is_allowed else default
        if value is None:
            problem = "is not set" if is_allowed else f"is filled in only with --allow-env {name}"
            raise InputError(
                f"the server `{configured.name}` needs the environment variable {name}, which {problem}",
                file=configured.file,
                line=configured.line,
            )
        # What every server inherits is not secret.
        if is_allowed and name in os.environ and name not in INHERITED:
            secrets.append(value)
        return value

    def fill(text: str) -> str:
        for variable, value in predefined.items():
            text = text.replace(variable, value)
        for match in _OTHER_VARIABLE.finditer(text):
            if _VARIABLE.fullmatch(match[0]) is None:
                raise InputError(
                    f"the server `{configured.name}` uses `{match[0]}`, which only its client can fill in; "
                    "use an environment variable instead",
                    file=configured.file,
                    line=configured.line,
                )
        return _VARIABLE.sub(value_of, text)

    return fill, secrets


def _texts(value: Any, key: str, configured: ConfiguredServer) -> list[str]:
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return value
    raise _wrong(key, "a list of strings", configured)


def _pairs(value: Any, key: str, configured: ConfiguredServer) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(member, (str, int, float, bool)) for member in value.values()):
        raise _wrong(key, "an object of strings", configured)
    return {name: str(member).lower() if isinstance(member, bool) else str(member) for name, member in value.items()}


def _wrong(key: str, expected: str, configured: ConfiguredServer) -> InputError:
    return InputError(
        f"`{key}` of the server `{configured.name}` is not {expected}", file=configured.file, line=configured.line
    )
