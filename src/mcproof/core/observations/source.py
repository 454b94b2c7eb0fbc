"""What source code shows about a server: locations, flows to dangerous calls, configuration, packages.

The values are independent of the language. They are collected in `source`, and the kinds of dangerous use are named
here because rules judge by them. `version_key` and `in_range` order versions as PyPI and npm define it; what is not a
version has no order.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from packaging.version import Version


class KnownPackage(NamedTuple):
    """One package of a server."""

    name: str
    """In the normalized form of its ecosystem."""
    ecosystem: str
    """`pypi` or `npm`."""
    version: str | None
    """None if it is not pinned."""
    known_from: str
    """How it is known, such as `the command` or the name of a file."""


LONGEST_VERSION = 100
_SEMVER = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9a-z.-]+))?(?:\+[0-9a-z.-]+)?")
_RANGE_CLAUSE = re.compile(r"(>=|<=|>|<|==|=)?\s*(\S+)")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "=": operator.eq,
}


def version_key(text: str, ecosystem: str) -> Any:
    """A key that orders versions of an ecosystem, `pypi` or `npm`; None if the text is not a version."""
    if len(text) > LONGEST_VERSION:
        return None
    return _npm_key(text.strip().lower()) if ecosystem == "npm" else pypi_version(text)


def pypi_version(text: str) -> Version | None:
    """A version as PyPI orders them; None if the text is not one."""
    from packaging.version import InvalidVersion, Version  # here, as snapshots are checked without it

    try:
        return Version(text)
    except InvalidVersion:
        return None


def _npm_key(text: str) -> tuple[Any, ...] | None:
    match = _SEMVER.fullmatch(text)
    if match is None:
        return None
    major, minor, patch, before = match.groups()
    if before is None:
        return int(major), int(minor or 0), int(patch or 0), (1,)
    # SemVer: a version before the release is smaller, and in its parts numbers come before words
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split("."))
    return int(major), int(minor or 0), int(patch or 0), (0, parts)


def in_range(version: str, allowed: str, ecosystem: str) -> bool | None:
    """Whether a version is in a range such as `>=0.0.5,<0.1.16`; `*` is every version. None if it is not a version.

    A version before a release, such as `1.0rc1`, is smaller than the release, also at the end of a range.
    """
    key = version_key(version, ecosystem)
    if key is None:
        return None
    return all(_meets(key, clause.strip(), ecosystem) for clause in allowed.split(",") if clause.strip() != "*")


def _meets(key: Any, clause: str, ecosystem: str) -> bool:
    match = _RANGE_CLAUSE.fullmatch(clause)
    limit = version_key(match[2], ecosystem) if match is not None else None
    if match is None or limit is None:
        raise ValueError(f"not a range of versions: {clause}")
    return bool(_COMPARISONS[match[1] or "=="](key, limit))


_SEPARATORS = re.compile(r"[-_.]+")


def normalized(name: str) -> str:
    """The name of a distribution in the form in which names are compared."""
    return _SEPARATORS.sub("-", name).lower()


class KnownSoftware(NamedTuple):
    """The packages of a server, and the circumstances that advisories depend on."""

    packages: list[KnownPackage]
    server_name: str = ""
    """The name that the server reports; empty if unknown."""
    server_version: str = ""
    transport: str = ""
    """`stdio` or `http`; empty if unknown."""
    platform: str = ""
    """`windows` or `other`; empty if unknown."""
    circumstances: Mapping[str, bool] = {}
    """Which other circumstances that advisories need are the case, as far as known."""
    unobserved: dict[str, str] = {}  # noqa: RUF012 (never mutated)
    """The rules that could not be judged, each with the reason."""

    def meets(self, need: str) -> bool | None:
        """Whether a circumstance that an advisory needs is the case; None if unknown."""
        if need == "http":
            return self.transport == "http" if self.transport else None
        if need == "windows":
            return self.platform == "windows" if self.platform else None
        return self.circumstances.get(need)


class SourcePlace(NamedTuple):
    """A line of a source file."""

    file: str
    line: int
    column: int
    """From one, in characters."""


class OpenBinding(NamedTuple):
    """A server that listens on all interfaces, and does not authenticate, unless it is configured otherwise."""

    address: str
    """`0.0.0.0` or `::`."""
    place: SourcePlace
    """Where the address is written."""
    how: str
    """How it gets there, such as `default of MCP_HOST`."""
    served: SourcePlace
    """The call that listens."""
    optional_authentication: SourcePlace | None = None
    """Authentication that is off by default, if there is one."""


class UncheckedOrigin(NamedTuple):
    """A server over HTTP that answers requests which any website makes a browser send, unless it is configured."""

    place: SourcePlace
    """The call that serves, or the middleware that admits every origin."""
    why: str
    """`host` if no request is checked for its host, `origin` if every origin is admitted."""
    what: str
    """The call, as the source names it."""


class SourceSecret(NamedTuple):
    """A secret that is written in source."""

    place: SourcePlace
    shown: str
    """The part of it that may be shown."""


class ForwardedToken(NamedTuple):
    """A token of the caller that is sent on to another service."""

    place: SourcePlace
    """Where it is sent."""
    received: SourcePlace
    """Where it is read from the request."""
    function: str


class SourceConfiguration(NamedTuple):
    """What the source of a server shows about its configuration."""

    bindings: tuple[OpenBinding, ...] = ()
    unchecked: tuple[UncheckedOrigin, ...] = ()
    secrets: tuple[SourceSecret, ...] = ()
    tokens: tuple[ForwardedToken, ...] = ()
    unobserved: dict[str, str] = {}  # noqa: RUF012 (never mutated)
    """The rules that could not be judged, each with the reason."""


SHELL, PROGRAM, COMMAND, EVAL, SQL = "shell", "program", "command", "eval", "sql"
PATH, PREFIX, URL, ARGUMENT, ATTRIBUTE = "path", "prefix", "url", "argument", "attribute"
"""The kinds of use. `program` is one that the parameter chooses, `command` a program and its arguments in one text."""
TOKEN = "token"  # noqa: S105 (a kind of use)
"""A use as the credentials of a request; a `ForwardedToken`, if the client sent it as its own."""
STDOUT = "stdout"
"""Text that is printed where the protocol is; no flow."""
WRITE, DELETE = "write", "delete"
"""A handler writes or deletes files with a value of the client, checked or not; no flow."""
ADDRESS = "address"
"""A use as an address of a function that reads files and addresses: a `url` if the scheme of the value was checked."""

RULES = {
    SHELL: "TRU-301",
    EVAL: "TRU-302",
    SQL: "TRU-303",
    PATH: "TRU-304",
    PREFIX: "TRU-305",
    URL: "TRU-306",
    ARGUMENT: "TRU-307",
    ATTRIBUTE: "TRU-308",
    STDOUT: "TRU-312",
}
"""The rule that reports each kind of use."""


class SourceFlow(NamedTuple):
    """A value of the client, such as a parameter of a tool, that reaches a dangerous call without a check."""

    kind: str
    """The kind of use, such as `shell`."""
    parameters: tuple[str, ...]
    """The parameters that reach the call, the most direct first."""
    tools: tuple[str, ...]
    """The tools from which the call is reached; empty if unknown."""
    call: str
    """The dangerous call: `subprocess.run`."""
    function: str
    """The function that contains the place to change."""
    location: SourceLocation
    """The place to change: the call, or the text that becomes a query."""
    steps: tuple[FlowStep, ...]
    """From the parameter to the call, which is the last step."""
    further: tuple[FlowStep, ...] = ()
    """More calls of the same kind that a parameter of this name reaches: one fact about the server."""
    others: tuple[str, ...] = ()
    """The resources, prompts and completions from which it is reached, such as ``resource `notes://{name}` ``."""
    is_used: bool = True
    """Whether a tool reaches the call; false for a method that no tool calls, of a class that tools use."""
    switch: str = ""
    """The setting that switches the check off: ``unless `confined` is set``; empty if there is no check."""


class HandlerAct(NamedTuple):
    """What the handler of a tool does with its arguments, by a call in the source."""

    tool: str
    kind: str
    """`write`, `delete`, or a kind of use: `shell` for a whole command, `url` for an address."""
    call: str
    file: str
    line: int


class SourceFlows(NamedTuple):
    """All flows of one server."""

    flows: tuple[SourceFlow, ...]
    incomplete: tuple[str, ...] = ()
    """Tools whose source was too large to follow."""
    unread: Mapping[str, str] = {}
    """Why the source is not read for some kinds of use."""
    prints: tuple[SourcePlace, ...] = ()
    """Where a server that certainly speaks over stdio writes text to stdout."""
    acts: tuple[HandlerAct, ...] = ()
    """What the handlers of tools do, each kind once for each tool."""

    @property
    def unobserved(self) -> Mapping[str, str]:
        """Why single rules do not pass although nothing was found, by their ids."""
        kinds = {flow.kind for flow in self.flows if not flow.switch} | ({STDOUT} if self.prints else set())
        # Many servers confine callers only if their user asks for it: no fault of the code, and nothing that is shown.
        switched = {
            flow.kind: f"the check of `{flow.parameters[0]}` before {flow.call}() is switched off {flow.switch}"
            for flow in reversed(self.flows)
            if flow.switch
        }
        why = f"the source of `{self.incomplete[0]}` is too large to follow" if self.incomplete else ""
        reasons = {kind: self.unread.get(kind, switched.get(kind, why)) for kind in RULES if kind not in kinds}
        return {RULES[kind]: reason for kind, reason in reasons.items() if reason}


class SourceLocation(NamedTuple):
    """A range in one line of a source file; lines and columns start at one, columns count characters."""

    file: str
    line: int
    column: int
    end_column: int | None
    """The column after the last character; None if the range continues on another line."""


class HiddenLine(NamedTuple):
    """A line of a source file that is named and not shown, because it has a secret."""

    file: str
    line: int
    column: None = None
    end_column: None = None


class SourceProblem(NamedTuple):
    """Something in a source file that could not be read or followed."""

    file: str
    line: int | None
    column: int | None
    what: str


class FlowStep(NamedTuple):
    """One place on the way of a value from a parameter to a call."""

    file: str
    line: int
    what: str
