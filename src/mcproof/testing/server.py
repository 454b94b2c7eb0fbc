"""A live server for synchronous tests, and the results of its calls.

`McpServer` runs in an event loop in a background thread, so it also works in tests with a loop of their own.
Servers end with the process, also if a signal terminates it.
Why servers have a loop of their own: docs/decisions/0022-tests-in-threads.md.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import signal
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import warn

from mcproof.client.errors import ConnectError, LostError
from mcproof.client.redaction import literal_secrets
from mcproof.client.transports.processes import STARTED
from mcproof.core.console import safe
from mcproof.core.errors import McproofError
from mcproof.testing.suites.execute import no_response
from mcproof.testing.suites.matchers import cropped
from mcproof.testing.suites.model import ServerEntry, Suite, SuiteLocation
from mcproof.testing.suites.servers import Caller, CannotRunError, ServerUnderTest, unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from types import FrameType

    from mcproof.client.session import Response


_NAMES = ("SIGTERM", "SIGHUP")
_owner: int | None = None
"""The process that installed the handlers."""


def handle_signals() -> None:
    """End all servers before a signal terminates this process."""
    global _owner  # noqa: PLW0603 (signal handlers are process-wide)
    if threading.current_thread() is not threading.main_thread():
        return  # Python allows signal handlers only in the main thread
    for name in _NAMES:
        number = getattr(signal, name, None)  # not on Windows
        # A handler of the user's own stays.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, _end)
                _owner = os.getpid()


def _end(number: int, _: FrameType | None) -> None:
    """End the servers, then let the default handler end this process."""
    # A forked process has the handler, too, but the servers are not its own.
    if os.getpid() == _owner:
        STARTED.kill_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


T = TypeVar("T")


class Background:
    """Runs coroutines in a background event loop, until closed or the process exits.

    `cleanup` runs on close; its argument is whether an interrupt occurred, in which case it should be quick.
    """

    def __init__(self, cleanup: Callable[[bool], Coroutine[Any, Any, None]]) -> None:
        self.is_closed = False
        self._cleanup = cleanup
        self._is_interrupted = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running: set[asyncio.Task[Any]] = set()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for its result; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(self._tracked(work), self._started())
        try:
            return future.result()
        except BaseException as error:
            if not isinstance(error, Exception):
                self._is_interrupted = True
            future.cancel()
            raise

    async def _tracked(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        self._running.add(task)
        try:
            return await work
        finally:
            self._running.discard(task)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon thread: a non-daemon thread would keep an aborted test run alive.
                self._thread = threading.Thread(target=self._loop.run_forever, name="mcproof", daemon=True)
                self._thread.start()
                # The servers end with the process at the latest: docs/decisions/0022-tests-in-threads.md.
                atexit.register(self.close)
                handle_signals()
            return self._loop

    def close(self) -> None:
        """Cancel running work, clean up, and stop the loop."""
        loop, thread = self._loop, self._thread
        if self.is_closed or loop is None or thread is None:
            self.is_closed = True
            return
        self.is_closed = True
        atexit.unregister(self.close)
        try:
            self._shut_down(loop)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _shut_down(self, loop: asyncio.AbstractEventLoop) -> None:
        future = asyncio.run_coroutine_threadsafe(self._tracked(self._finish()), loop)
        try:
            future.result()
        except KeyboardInterrupt:  # clean up again, quickly
            self._is_interrupted = True
            future.cancel()
            asyncio.run_coroutine_threadsafe(self._tracked(self._finish()), loop).result()
            raise

    async def _finish(self) -> None:
        others = self._running - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._cleanup(self._is_interrupted)
        await asyncio.get_running_loop().shutdown_asyncgens()


_SHOWN = 1_000


class _Result:
    """A result; its repr hides the secrets of the server."""

    __slots__ = ("hide", "raw")

    def __init__(self, raw: dict[str, Any], hide: Callable[[str], str]) -> None:
        self.raw = raw
        """The `result` of the JSON-RPC response."""
        self.hide = hide
        """Hides the secrets of the server in a text."""

    def __repr__(self) -> str:
        try:
            shown = self.hide(json.dumps(self.raw, ensure_ascii=False))
        except (RecursionError, ValueError):
            shown = "nested too deeply to show"
        return f"{type(self).__name__}({shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}…'})"

    def _list(self, key: str) -> list[Any]:
        value = self.raw.get(key)
        return value if isinstance(value, list) else []


class CallResult(_Result):
    """The result of a tool call."""

    __slots__ = ()

    @property
    def content(self) -> list[Any]:
        """The content blocks."""
        return self._list("content")

    @property
    def text(self) -> str:
        """The text of the content, one line per block."""
        return _texts(self.content)

    @property
    def structured(self) -> Any:
        """The structured content, or None."""
        return self.raw.get("structuredContent")

    @property
    def is_error(self) -> bool:
        """Whether the tool reported an error."""
        return self.raw.get("isError") is True


class ReadResult(_Result):
    """The contents of a resource."""

    __slots__ = ()

    @property
    def contents(self) -> list[Any]:
        """The contents, each with its URI."""
        return self._list("contents")

    @property
    def text(self) -> str:
        """The text of the contents, one line per item."""
        return _texts(self.contents)


class PromptResult(_Result):
    """The messages of a prompt."""

    __slots__ = ()

    @property
    def messages(self) -> list[Any]:
        """The messages, each with its role."""
        return self._list("messages")

    @property
    def text(self) -> str:
        """The text of the messages, one line per message."""
        return _texts([message.get("content") for message in self.messages if isinstance(message, dict)])


def _texts(blocks: list[Any]) -> str:
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


for _public_result in (CallResult, PromptResult, ReadResult):
    _public_result.__module__ = "mcproof.testing"  # the module that users import from, in tracebacks and reprs


NAME = "server"
"""The name of the server in results."""
_LONGEST_MESSAGE = 1_000


class ServerError(McproofError):
    """No valid response: the server is unreachable, ended, timed out, or sent something other than JSON-RPC."""


class McpError(Exception):
    """The server returned a JSON-RPC error."""

    def __init__(self, code: int | None, message: str, data: Any, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.message = message
        self.data = data


class McpServer:
    """A server, started or connected to on first use, and restarted if it has ended.

    `command` is a list, a string that is split like a shell command, or an HTTP URL. A started server gets a minimal
    environment and `env`.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        start_timeout: float | None = None,
        protocol: str | None = None,
    ) -> None:
        if start_timeout is not None and not start_timeout > 0:
            raise ValueError("`start_timeout` must be a positive number of seconds")
        entry = _entry(command, env or {}, cwd, headers or {}, timeout, protocol)
        suite = Suite("", secrets=tuple(_secrets(entry.environment)))
        self.caller = Caller(
            ServerUnderTest(entry, suite, start_timeout=start_timeout, start_setting="`start_timeout`")
        )
        self._turn = asyncio.Lock()
        self._is_warned = False
        self._background = Background(self._leave)

    def __repr__(self) -> str:
        return f"McpServer({self.caller.server.endpoint.label!r})"

    def __enter__(self) -> McpServer:
        __tracebackhide__ = True
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start or connect to the server. Raises ServerError."""
        __tracebackhide__ = True
        self.run(self.caller.server.connect)

    def close(self) -> None:
        """End the server and its child processes."""
        self._background.close()

    async def _leave(self, at_once: bool) -> None:
        await self.caller.server.session.close(at_once=at_once)

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> CallResult:
        """Call a tool. Raises McpError and ServerError; a result with `isError` is returned."""
        __tracebackhide__ = True
        params = {"name": tool, "arguments": dict(arguments or {})}
        return CallResult(self.request("tools/call", params, timeout=timeout), self.caller.server.hide_whole)

    def read(self, uri: str, *, timeout: float | None = None) -> ReadResult:
        """Read a resource. Raises McpError and ServerError."""
        __tracebackhide__ = True
        return ReadResult(self.request("resources/read", {"uri": uri}, timeout=timeout), self.caller.server.hide_whole)

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> PromptResult:
        """Get a prompt. Raises McpError and ServerError."""
        __tracebackhide__ = True
        params = {"name": name, **({} if arguments is None else {"arguments": dict(arguments)})}
        return PromptResult(self.request("prompts/get", params, timeout=timeout), self.caller.server.hide_whole)

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Send a request and return its result. Raises McpError and ServerError."""
        __tracebackhide__ = True
        sent = _json(params)
        response = self.run(lambda: self._send(method, sent, timeout))
        if response.outcome not in ("accepted", "rejected") or response.message is None:
            raise ServerError(self._shown(f"{_subject(method, sent)}: {_failure(response)}"))
        error = response.message.error
        if error is None:
            return response.result
        code, message = error.get("code"), error.get("message")
        text = self._shown(f"{_subject(method, sent)}: {response.message.description}")
        raise McpError(code if isinstance(code, int) else None, str(message), error.get("data"), text)

    def tools(self) -> list[Any]:
        """List the tools, all pages. Raises ServerError."""
        __tracebackhide__ = True
        return self._listed("tools")

    def resources(self) -> list[Any]:
        """List the resources, all pages. Raises ServerError."""
        __tracebackhide__ = True
        return self._listed("resources")

    def resource_templates(self) -> list[Any]:
        """List the resource templates, all pages. Raises ServerError."""
        __tracebackhide__ = True
        return self._listed("resourceTemplates")

    def prompts(self) -> list[Any]:
        """List the prompts, all pages. Raises ServerError."""
        __tracebackhide__ = True
        return self._listed("prompts")

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the background event loop. Raises ServerError."""
        __tracebackhide__ = True
        if self._background.is_closed:
            raise ServerError("the server was closed")
        try:
            done = self._background.run(work())
        except CannotRunError as error:
            why = str(error)
        except (ConnectError, LostError) as error:
            why = unreachable(error.message)
        else:
            self._warn_of_noise()
            return done
        raise ServerError(self._shown(why))

    def _warn_of_noise(self) -> None:
        if self.caller.server.noise and not self._is_warned:
            self._is_warned = True
            warn(self._shown(f"{self.caller.server.endpoint.label} {self.caller.server.noise}"), stacklevel=4)

    async def _send(self, method: str, params: dict[str, Any] | None, timeout: float | None) -> Response:
        # One request at a time, so that it is clear after which one the server ended.
        async with self._turn:
            response, _ = await self.caller.send(None, (method, params), timeout)
            ended = await self.caller.server.crash_after_response() if response.message is not None else None
            return response if ended is None else response._replace(outcome="crash", why=f"after the response, {ended}")

    def _listed(self, key: str) -> list[Any]:
        __tracebackhide__ = True
        items, why = self.run(lambda: self._list(key))
        if why:
            raise ServerError(self._shown(why))
        return items

    async def _list(self, key: str) -> tuple[list[Any], str]:
        """Return the items of a list, and why some are missing."""
        async with self._turn:
            await self.caller.server.connect()
            listing = await self.caller.server.session.listing(key)
            # The server may have ended; the next request is not to be blamed for that.
            if listing.unserved:
                await self.caller.server.session.close(at_once=True)
            return listing.lists.get(key, []), "; ".join(f"{method}: {why}" for method, why in listing.unserved)

    def _shown(self, text: str) -> str:
        return safe(cropped(self.caller.server.hide(text), _LONGEST_MESSAGE))


class ServerStarter:
    """Starts servers, and ends them all on exit."""

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
        start_timeout: float | None = None,
        protocol: str | None = None,
    ) -> McpServer:
        """Start a server; the options are those of McpServer. Raises ServerError."""
        __tracebackhide__ = True
        server = McpServer(
            command,
            env=env,
            cwd=cwd,
            headers=headers,
            timeout=timeout,
            start_timeout=start_timeout,
            protocol=protocol,
        )
        self._stack.callback(server.close)
        self._started.append(server)
        server.start()
        return server

    def hide(self, text: str) -> str:
        """Hide the secrets of all started servers in a text."""
        for server in self._started:
            text = server.caller.server.hide_whole(text)
        return text


def _entry(
    command: str | Sequence[str],
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None,
    headers: Mapping[str, str],
    timeout: float | None,
    protocol: str | None,
) -> ServerEntry:
    from mcproof.core.protocol import REVISIONS

    if protocol is not None and protocol not in REVISIONS:
        raise ValueError(f"unknown protocol revision {protocol!r}; expected one of {', '.join(REVISIONS)}")
    if timeout is not None and not timeout > 0:
        raise ValueError("`timeout` must be a positive number of seconds")
    limit = None if timeout is None else max(1, round(timeout * 1000))
    entry = ServerEntry(NAME, SuiteLocation("", 1, 1), timeout_ms=limit, protocol=protocol)
    if isinstance(command, str) and command.lower().startswith(("http://", "https://")):
        if env or cwd is not None:
            raise ValueError("`env` and `cwd` apply only to a command, not to a URL")
        return entry._replace(url=command, headers=dict(headers))
    if headers:
        raise ValueError("`headers` apply only to a URL, not to a command")
    words = tuple(_split(command) if isinstance(command, str) else map(str, command))
    if not words:
        raise ValueError("the command is empty")
    folder = None if cwd is None else os.fspath(cwd)
    return entry._replace(command=words, environment=dict(env), directory=folder)


def _split(command: str) -> list[str]:
    import shlex

    try:
        return shlex.split(command)
    except ValueError as error:
        raise ValueError(f"cannot split the command: {error}") from None


def _secrets(environment: Mapping[str, str]) -> list[str]:
    """Return values of `env` to hide: likely secrets, and values copied from our own environment."""
    # Shorter values occur in texts by chance.
    ours = {value for value in os.environ.values() if len(value) >= 8}
    return [*literal_secrets(environment.items()), *(value for value in environment.values() if value in ours)]


def _json(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return parameters as a dict. Raises TypeError if they are not JSON."""
    __tracebackhide__ = True
    if params is None:
        return None
    try:
        json.dumps(dict(params))
    except (TypeError, ValueError) as error:
        raise TypeError(f"not JSON arguments: {error}") from None
    return dict(params)


def _failure(response: Response) -> str:
    """Return why a response is missing or invalid."""
    if not response.arrived:
        return f"the server had already ended: {response.why}"
    return no_response(response) if response.message is None else response.why


def _subject(method: str, params: dict[str, Any] | None) -> str:
    """Return the method and the name or URI it concerns, for messages."""
    named = (params or {}).get("uri" if method == "resources/read" else "name")
    return f"{method} {named}" if isinstance(named, str) else method


for _public_server in (McpError, McpServer, ServerError, ServerStarter):
    _public_server.__module__ = "mcproof.testing"  # the module that users import from, in tracebacks and reprs
