"""Targets of a sweep: captures and live servers, and entries of the MCP registry (`server.json`) as targets.

Each has an identity that is the same in every run. Remotes become URLs, packages become commands. Keys are read in
the current spelling (`registryType`) and in the one before September 2025 (`registry_type`).
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcproof.client.endpoints import Endpoint, UrlEndpoint
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record

if TYPE_CHECKING:
    from collections.abc import Container, Iterator


@record()
class Failing(NamedTuple):
    """Why a target is not checked."""

    outcome: str
    """One of `OUTCOMES` of `results`."""
    reason: str
    """A few words that many targets share, for the summary."""
    message: str


@record()
class SweepTarget(NamedTuple):
    """What to check; a plain value, so that any process can do it."""

    key: int
    """64 bits of a hash over what the target is, without the values of variables."""
    label: str
    """Its name in results: a file, a command or a URL, without secrets."""
    name: str = ""
    """The name that a configuration or a registry gives it."""
    file: str = ""
    """The capture to read; empty for a live server."""
    data: bytes | None = None
    """The content of the file, if another machine has to check it."""
    endpoint: Endpoint | None = None
    hindrance: Failing | None = None
    """Why it is not checked, if that is known without any work."""

    @property
    def host(self) -> str:
        """The host and port that requests go to; empty for anything but a URL."""
        if not isinstance(self.endpoint, UrlEndpoint):
            return ""
        return host_of(self.endpoint.url)

    @property
    def is_live(self) -> bool:
        return self.endpoint is not None


def key_of(*parts: str) -> int:
    """Return the identity of a target, never 0."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") or 1


def capture_target(file: str) -> SweepTarget:
    """Return the target of a capture."""
    return SweepTarget(key_of("file", file), file, file=file)


OFFICIAL = "io.modelcontextprotocol.registry/official"
"""The key of what the registry itself adds to an entry."""
_BRACES = re.compile(r"\{([A-Za-z_][\w.-]*)\}")
_UPPER = re.compile(r"(?<!^)([A-Z])")
_BASE_URLS = {
    "npm": "https://registry.npmjs.org",
    "pypi": "https://pypi.org",
    "nuget": "https://api.nuget.org",
}
_RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
"""The command that runs a package of a kind. A document may not name another: it could be any program."""


class RegistryServer(NamedTuple):
    """One server of a registry document: its name, and how to reach it or why not."""

    name: str
    entry: dict[str, Any]
    """An entry as in a client configuration: `url` and `headers`, or `command`, `args` and `env`."""
    hindrance: Failing | None = None


class _MissingValueError(Exception):
    """An input has no value."""


def is_registry_entry(value: Any) -> bool:
    """Whether a value is a `server.json`, or an entry of the registry's API around one."""
    if not isinstance(value, dict):
        return False
    server = value.get("server", value)
    if not isinstance(server, dict) or not isinstance(server.get("name"), str):
        return False
    return any(isinstance(server.get(key), list) for key in ("packages", "remotes"))


def entries_of(document: Any) -> list[Any] | None:
    """Return the entries of a registry document; None if it is something else."""
    if isinstance(document, dict) and isinstance(document.get("servers"), list):
        return list(document["servers"])
    if is_registry_entry(document):
        return [document]
    if isinstance(document, list) and any(map(is_registry_entry, document)):
        return document
    return None


def place_of(entry: Any) -> str:
    """Return what the user names as the place of a variable: the host of the remote, else the name of the entry.

    Not the package: another entry may run it with arguments that send the variable elsewhere.
    """
    server = _dict(_dict(entry).get("server", entry))
    remote = _first_remote(server)
    return str(server.get("name")) if remote is None else host_of(remote["url"])


def host_of(url: str) -> str:
    """Return the host and port of a URL as it is written; empty if a variable is a part of them."""
    try:
        host = urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""
    # Only one that is written plainly: programs disagree about what a backslash in it means.
    return host if re.fullmatch(r"[a-z0-9.:\[\]-]+", host) else ""


def is_current(entry: Any) -> bool:
    """Whether an entry is the latest version of its server, and not deleted."""
    meta = _member(_dict(entry), "_meta")
    official = _dict(_dict(meta).get(OFFICIAL))
    return official.get("isLatest") is not False and official.get("status") != "deleted"


def registry_server(value: Any, variables: Container[str], *, runs_packages: bool) -> RegistryServer:
    """Return how to reach the server of an entry: its first remote, else its first package that can be run.

    `variables` are the names that the user allows; they become `${NAME}`, which a client configuration fills in.
    """
    server = _dict(_dict(value).get("server", value))
    name = server.get("name")
    name = name if isinstance(name, str) else ""
    if remote := _first_remote(server):
        return _remote(name, remote, variables)
    packages = _listed(server, "packages")
    if not packages:
        return _left_out(name, "no remote or package", "the entry has neither remotes nor packages")
    if not runs_packages:
        what = "only packages, which --run-packages would download and run"
        return _left_out(name, "a package, without --run-packages", what)
    candidates = [_package(name, package, variables) for package in packages]
    return next((candidate for candidate in candidates if candidate.hindrance is None), candidates[0])


def _first_remote(server: dict[str, Any]) -> dict[str, Any] | None:
    remotes = [remote for remote in _listed(server, "remotes") if isinstance(remote.get("url"), str)]
    # SSE is the older transport, so it comes last.
    remotes.sort(key=lambda remote: (remote.get("type") or remote.get("transport_type")) == "sse")
    return remotes[0] if remotes else None


def _remote(name: str, remote: dict[str, Any], variables: Container[str]) -> RegistryServer:
    try:
        url = _filled(remote["url"], _dict(remote.get("variables")), variables)
    except _MissingValueError as error:
        return _left_out(name, "a value is missing", f"the URL needs a value for {error}")
    # `${NAME}` is filled in later, as in a client configuration.
    if unknown := _BRACES.search(url.replace("${", "")):
        return _left_out(name, "a value is missing", f"the URL needs a value for `{unknown[1]}`")
    headers = {}
    for header in _listed(remote, "headers"):
        try:
            # Without a header that it requires, the server reports what it needs.
            headers[str(header.get("name"))] = _value(header, variables)
        except _MissingValueError:
            continue
    return RegistryServer(name, {"url": url, "headers": headers})


def _package(name: str, package: dict[str, Any], variables: Container[str]) -> RegistryServer:
    kind, identifier = _member(package, "registryType"), package.get("identifier")
    if kind not in _RUNNERS or not isinstance(identifier, str):
        return _left_out(name, "a package that cannot be run", f"a package of the kind `{kind}` cannot be run")
    if identifier.startswith("-"):
        return _left_out(name, "a package that cannot be run", "the identifier of the package is an option")
    hint = _member(package, "runtimeHint") or _RUNNERS[kind]
    if hint != _RUNNERS[kind]:
        return _left_out(name, "a package that cannot be run", f"the package wants to be run by `{hint}`")
    base = _member(package, "registryBaseUrl")
    if kind in _BASE_URLS and base not in (None, _BASE_URLS[kind]):
        return _left_out(name, "a package that cannot be run", f"the package is in another registry, {base}")
    transport = _dict(package.get("transport")).get("type", "stdio")
    if transport != "stdio":
        return _left_out(name, "a package that cannot be run", f"the package serves {transport}, not stdio")
    try:
        environment = dict(_environment(package, variables))
        runtime = list(_arguments(package, "runtimeArguments", variables))
        arguments = list(_arguments(package, "packageArguments", variables))
    except _MissingValueError as error:
        return _left_out(name, "a value is missing", f"the package needs a value for {error}")
    version = package.get("version")
    words = _command_line(kind, identifier, version if isinstance(version, str) else "", runtime, arguments)
    # A container does not inherit the environment; `-e NAME` passes a variable on without its value in the command.
    if kind == "oci":
        at = words.index("--rm") + 1
        words[at:at] = [word for variable in environment for word in ("-e", variable)]
    return RegistryServer(name, {"command": words[0], "args": words[1:], "env": environment})


def _command_line(kind: str, identifier: str, version: str, runtime: list[str], arguments: list[str]) -> list[str]:
    """Return the command line of a package, as the registry documents it for each kind."""
    if kind == "oci":
        has_version = not version or "@" in identifier or ":" in identifier.rpartition("/")[2]
        image = identifier if has_version else f"{identifier}:{version}"
        return ["docker", "run", "-i", "--rm", *runtime, image, *arguments]
    reference = f"{identifier}@{version}" if version else identifier
    if kind == "npm":
        # npx asks before it installs a package, and nobody would answer.
        confirmed = runtime if {"-y", "--yes"} & set(runtime) else ["-y", *runtime]
        return ["npx", *confirmed, reference, *arguments]
    if kind == "nuget":
        return ["dnx", *runtime, reference, "--yes", *(["--", *arguments] if arguments else [])]
    return ["uvx", *runtime, reference, *arguments]


def _environment(package: dict[str, Any], variables: Container[str]) -> Iterator[tuple[str, str]]:
    for variable in _listed(package, "environmentVariables"):
        name = str(variable.get("name"))
        try:
            yield name, f"${{{name}}}" if name in variables else _value(variable, variables)
        except _MissingValueError:
            if _member(variable, "isRequired"):
                raise _MissingValueError(
                    f"{name} (--allow-env {name}={package.get('identifier')} passes yours on)"
                ) from None


def _arguments(package: dict[str, Any], key: str, variables: Container[str]) -> Iterator[str]:
    for argument in _listed(package, key):
        flag = argument.get("name") if argument.get("type") == "named" else None
        try:
            value = _value(argument, variables)
        except _MissingValueError:
            if _member(argument, "isRequired"):
                hint = flag or _member(argument, "valueHint") or "an argument"
                raise _MissingValueError(f"`{hint}`") from None
            continue
        if isinstance(flag, str):
            yield flag
        yield value


def _value(given: dict[str, Any], variables: Container[str]) -> str:
    """Return the value of an input, with its variables filled in."""
    value = given.get("value")
    if value is None:
        value = given.get("default")
    if isinstance(value, bool):
        value = str(value).lower()
    if not isinstance(value, str | int | float):
        raise _MissingValueError(given.get("name") or "an input")
    return _filled(str(value), _dict(given.get("variables")), variables)


def _filled(text: str, declared: dict[str, Any], variables: Container[str]) -> str:
    """Fill in `{name}`: `${name}` for a variable that the user allows, else the value that the document declares."""

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        if name in variables:
            return f"${{{name}}}"
        if name not in declared:
            return match[0]
        try:
            return _value(_dict(declared[name]), ())
        except _MissingValueError:
            raise _MissingValueError(f"`{name}` (--allow-env {name}=HOST passes yours on)") from None

    return _BRACES.sub(value_of, text)


def _left_out(name: str, reason: str, message: str) -> RegistryServer:
    return RegistryServer(name, {}, Failing("left-out", reason, message))


def _member(value: dict[str, Any], key: str) -> Any:
    """Return a member by its current or its older spelling."""
    return value.get(key, value.get(_UPPER.sub(r"_\1", key).lower()))


def _listed(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    members = _member(value, key)
    return [member for member in members if isinstance(member, dict)] if isinstance(members, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
