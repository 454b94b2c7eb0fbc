"""A live server for tests that are written as plain functions."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import warn

from mcproof.client.failures import ConnectError, LostError
from mcproof.client.listing import METHODS, list_everything
from mcproof.client.secrets import plain_secrets
from mcproof.console import safe
from mcproof.errors import McproofError
from mcproof.suite.definition import Place, ServerEntry, Suite
from mcproof.suite.matchers import cropped
from mcproof.suite.run.execute_test import unanswered
from mcproof.suite.server_under_test import Host, UnableError, unreachable
from mcproof.testing.background import Background
from mcproof.testing.results import CallResult, PromptResult, ReadResult

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from mcproof.client.session import Response

T = TypeVar("T")
NAME = "server"
"""What the one server is called where a suite would have several."""
_LONGEST_SAID = 1_000


class ServerError(McproofError):
    """No answer: the server cannot be reached, ended, took too long, or sent something else than JSON-RPC."""


class McpError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: int | None, message: str, data: Any, said: str) -> None:
        super().__init__(said)
        self.code = code
        self.message = message
        self.data = data


class McpServer:
    """A server that is started or reached when it is needed first, and again where it has ended.

    The command is a list of words, or one text that is split as a shell would; an address that begins with http is
    reached instead. A started server gets no more of the environment than it takes to run, and `env`.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        protocol: str | None = None,
    ) -> None:
        entry = _entry(command, env or {}, cwd, headers or {}, timeout, protocol)
        self.host = Host(entry, Suite("", secrets=tuple(_secrets(entry.environment))), None)
        self._turn = asyncio.Lock()
        self._is_warned = False
        self._background = Background(self._leave)

    def __repr__(self) -> str:
        return f"McpServer({self.host.server.label!r})"

    def __enter__(self) -> McpServer:
        __tracebackhide__ = True
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Make sure that the server is there. Raises ServerError."""
        __tracebackhide__ = True
        self.run(self.host.connect)

    def close(self) -> None:
        """End the server, and all that it has started."""
        self._background.close()

    async def _leave(self, at_once: bool) -> None:
        await self.host.session.close(at_once=at_once)

    # What a server is asked

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> CallResult:
        """Call a tool. Raises McpError and ServerError; a tool that says itself that it failed is a result."""
        __tracebackhide__ = True
        params = {"name": tool, "arguments": dict(arguments or {})}
        return CallResult(self.request("tools/call", params, timeout=timeout), self.host.hide_whole)

    def read(self, uri: str, *, timeout: float | None = None) -> ReadResult:
        """Read a resource. Raises McpError and ServerError."""
        __tracebackhide__ = True
        return ReadResult(self.request("resources/read", {"uri": uri}, timeout=timeout), self.host.hide_whole)

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> PromptResult:
        """Get a prompt. Raises McpError and ServerError."""
        __tracebackhide__ = True
        params = {"name": name, **({} if arguments is None else {"arguments": dict(arguments)})}
        return PromptResult(self.request("prompts/get", params, timeout=timeout), self.host.hide_whole)

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """The result of any request. Raises McpError and ServerError."""
        __tracebackhide__ = True
        sent = _json(params)
        reply = self.run(lambda: self._ask(method, sent, timeout))
        if reply.outcome not in ("accepted", "rejected") or reply.message is None:
            raise ServerError(self._shown(f"{_subject(method, sent)}: {_trouble(reply)}"))
        error = reply.message.error
        if error is None:
            return reply.result
        code, message = error.get("code"), error.get("message")
        said = self._shown(f"{_subject(method, sent)}: {reply.message.description}")
        raise McpError(code if isinstance(code, int) else None, str(message), error.get("data"), said)

    def tools(self) -> list[Any]:
        """The tools as the server lists them, all pages. Raises ServerError."""
        __tracebackhide__ = True
        return self._listed("tools")

    def resources(self) -> list[Any]:
        """The resources as the server lists them, all pages. Raises ServerError."""
        __tracebackhide__ = True
        return self._listed("resources")

    def resource_templates(self) -> list[Any]:
        """The templates of resources as the server lists them, all pages. Raises ServerError."""
        __tracebackhide__ = True
        return self._listed("resourceTemplates")

    def prompts(self) -> list[Any]:
        """The prompts as the server lists them, all pages. Raises ServerError."""
        __tracebackhide__ = True
        return self._listed("prompts")

    # How

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something with the server in the background. Raises ServerError."""
        __tracebackhide__ = True
        if self._background.is_closed:
            raise ServerError("the server was closed")
        try:
            done = self._background.run(work())
        except UnableError as error:
            why = str(error)
        except (ConnectError, LostError) as error:
            why = unreachable(error.message)
        else:
            self._warn_of_noise()
            return done
        raise ServerError(self._shown(why))

    def _warn_of_noise(self) -> None:
        if self.host.noise and not self._is_warned:
            self._is_warned = True
            warn(self._shown(f"{self.host.server.label} {self.host.noise}"), stacklevel=4)

    async def _ask(self, method: str, params: dict[str, Any] | None, timeout: float | None) -> Response:
        async with self._turn:
            reply, _ = await self.host.ask(None, (method, params), timeout)
            ended = await self.host.end_after_answer() if reply.message is not None else None
            return reply if ended is None else reply._replace(outcome="crash", why=f"it was answered, and then {ended}")

    def _listed(self, key: str) -> list[Any]:
        __tracebackhide__ = True
        items, why = self.run(lambda: self._list(key))
        if why:
            raise ServerError(self._shown(why))
        return items

    async def _list(self, key: str) -> tuple[list[Any], str]:
        """The items of a list, and why they are not all."""
        async with self._turn:
            await self.host.connect()
            connection = await self.host.session.connection()
            listing = await list_everything(connection, [each for each in METHODS if each.key == key])
            if listing.unserved:
                await self.host.session.close(at_once=True)
            return listing.lists.get(key, []), "; ".join(f"{method}: {why}" for method, why in listing.unserved)

    def _shown(self, text: str) -> str:
        return safe(cropped(self.host.hide(text), _LONGEST_SAID))


class ServerStarter:
    """Starts servers, and ends all of them when its own time is over."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._started: list[McpServer] = []

    def __enter__(self) -> ServerStarter:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(
        self,
        command: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        protocol: str | None = None,
    ) -> McpServer:
        """Start a server; the options are those of McpServer. Raises ServerError."""
        __tracebackhide__ = True
        server = McpServer(command, env=env, cwd=cwd, headers=headers, timeout=timeout, protocol=protocol)
        self._stack.callback(server.close)
        self._started.append(server)
        server.start()
        return server

    def hide(self, text: str) -> str:
        """A text without the secrets of any server that was started."""
        for server in self._started:
            text = server.host.hide_whole(text)
        return text


def _entry(
    command: str | Sequence[str],
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None,
    headers: Mapping[str, str],
    timeout: float | None,
    protocol: str | None,
) -> ServerEntry:
    from mcproof.client.connection import REVISIONS

    if protocol is not None and protocol not in REVISIONS:
        raise ValueError(f"unknown protocol revision {protocol!r}; there are {', '.join(REVISIONS)}")
    if timeout is not None and not timeout > 0:
        raise ValueError("a timeout is a number of seconds, more than 0")
    place, limit = Place("", 1, 1), None if timeout is None else max(1, round(timeout * 1000))
    if isinstance(command, str) and command.lower().startswith(("http://", "https://")):
        if env or cwd is not None:
            raise ValueError("`env` and `cwd` are for a server that is started, and this one is at an address")
        return ServerEntry(NAME, place, (), command, {}, dict(headers), None, limit, protocol)
    if headers:
        raise ValueError("`headers` are for a server at an address, and this one is started")
    words = tuple(_split(command) if isinstance(command, str) else map(str, command))
    if not words:
        raise ValueError("the command is empty")
    folder = None if cwd is None else os.fspath(cwd)
    return ServerEntry(NAME, place, words, "", dict(env), {}, folder, limit, protocol)


def _split(command: str) -> list[str]:
    import shlex

    try:
        return shlex.split(command)
    except ValueError as error:
        raise ValueError(f"the command cannot be split into words: {error}") from None


def _secrets(environment: Mapping[str, str]) -> list[str]:
    """What a server is given and nobody may repeat: secrets by their name or looks, and what our environment has."""
    ours = {value for value in os.environ.values() if len(value) >= 8}
    return [*plain_secrets(environment.items()), *(value for value in environment.values() if value in ours)]


def _json(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Parameters as they are sent. Raises TypeError where they are no JSON."""
    __tracebackhide__ = True
    if params is None:
        return None
    try:
        json.dumps(dict(params))
    except (TypeError, ValueError) as error:
        raise TypeError(f"these are no arguments in JSON: {error}") from None
    return dict(params)


def _trouble(reply: Response) -> str:
    """Why a reply is not to be relied on."""
    if not reply.arrived:
        return f"the server had ended before: {reply.why}"
    return unanswered(reply) if reply.message is None else reply.why


def _subject(method: str, params: dict[str, Any] | None) -> str:
    """What was asked for, in front of what came of it."""
    named = (params or {}).get("uri" if method == "resources/read" else "name")
    return f"{method} {named}" if isinstance(named, str) else method
