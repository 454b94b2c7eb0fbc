"""What attacks aim at, all of it mcproof's own: files with random content, and a listener on loopback.

Cases name them by placeholders, so that reports and stored failures do not depend on the run. `filled` replaces the
placeholders in the arguments of a call, `hidden` restores them in the texts of a response.
Why effects are seen and not inferred: docs/decisions/0030-injections-are-seen.md.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import secrets
import tempfile
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

if TYPE_CHECKING:
    from mcproof.client.session import Response
    from mcproof.probing.attacks.cases import ServerFolders


_HOST = "127.0.0.1"
# The server that is attacked may send anything to a trap.
_LONGEST_HEAD = 8_192
_MOST_REQUESTS = 10_000
_PATIENCE = 2.0
"""Seconds until the head of a request must have arrived."""
_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nConnection: close\r\n\r\nmcproof\n"


class LoopbackListener:
    """Accepts requests of a server under test, and responds to each with a word."""

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._heads: list[bytes] = []

    async def start(self) -> None:
        """Listen on a free port. Raises OSError."""
        self._server = await asyncio.start_server(self._respond, _HOST, 0, limit=_LONGEST_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def address(self) -> str:
        return f"{_HOST}:{self.port}"

    def has_seen(self, token: str) -> bool:
        """Whether a request with this token has arrived."""
        return any(token.encode() in head for head in self._heads)

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_PATIENCE):
                    try:
                        head = await reader.readuntil(b"\r\n\r\n")
                    except asyncio.IncompleteReadError as error:
                        # A request that breaks off was sent anyway.
                        head = error.partial
                    if len(self._heads) < _MOST_REQUESTS:
                        self._heads.append(head)
                    writer.write(_RESPONSE)
                    await writer.drain()
        finally:
            writer.close()

    async def stop(self) -> None:
        """Close the port; connections in progress end within seconds."""
        if self._server is not None:
            self._server.close()
            self._server = None


NESTED = "<nested lists>"
"""The placeholder of a value, not of a text: many lists inside each other."""
NESTING_DEPTH = 500

_EXTENSIONS = ("", ".txt", ".md", ".json", ".yaml", ".yml", ".csv", ".html", ".xml", ".log", ".py", ".js", ".ts")
"""The marker exists with each of them, as many tools append one to a name; others are made when a case has them."""
_PLACEHOLDER = re.compile(
    "<(token|proof file|listener|listener port|marker|marker folder|marker name|encoded marker|marker encoded twice"
    r"|marker with backslashes|(?:(?:name )?(?:beside|apart from) )?folder [1-9])>(\.[A-Za-z0-9]{1,5}(?![A-Za-z0-9]))?"
)

_NEIGHBOUR = re.compile(r"(?:name )?(beside|apart from) (folder [1-9])")


class Traps:
    """The traps of one run; use it as an async context manager, which removes them in every case."""

    def __init__(self, folders: ServerFolders) -> None:
        self._folders = folders
        self._listener = LoopbackListener()
        self._is_listening = False
        self._temporary: dict[str, tempfile.TemporaryDirectory[str]] = {}
        """The folders made so far, by placeholder."""
        self._content = f"mcproof-marker-{secrets.token_hex(16)}"
        self._inside = f"mcproof-inside-{secrets.token_hex(8)}"
        self._values: dict[str, str] = {}
        """The values of the placeholders."""
        self._run = f"mcproof{secrets.token_hex(8)}"
        self._tokens = 0

    async def __aenter__(self) -> Self:
        if self._folders.outside is not None:
            with contextlib.suppress(OSError):
                self._set_marker(self._make_folder("marker folder", self._folders.outside, "mcproof-"))
        if self._folders.is_local:
            with contextlib.suppress(OSError):
                await self._listener.start()
                self._is_listening = True
                self._values |= {"listener": self._listener.address, "listener port": str(self._listener.port)}
        for number, folder in enumerate(self._folders.folders, 1):
            self._values[f"folder {number}"] = folder
        return self

    async def __aexit__(self, *_: object) -> None:
        for folder in self._temporary.values():  # first, because nothing can interrupt it
            folder.cleanup()
        await self._listener.stop()

    @property
    def has_marker(self) -> bool:
        return "marker" in self._values

    def new_token(self) -> str:
        """A token for one case: requests and files with it belong to that case."""
        self._tokens += 1
        return f"{self._run}{self._tokens:06}"

    def _make_folder(self, placeholder: str, parent: str, prefix: str) -> str:
        """Make a folder with the marker in it. Raises OSError."""
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
        self._temporary[placeholder] = folder
        os.chmod(folder.name, 0o755)  # noqa: S103 (the server may run as another user; there is no secret in it)
        for extension in _EXTENSIONS:
            self._make_file(folder.name, extension)
        with open(os.path.join(folder.name, self._inside), "w", encoding="ascii"):
            pass
        return folder.name

    def _make_file(self, folder: str, extension: str) -> None:
        with open(os.path.join(folder, f"marker{extension}"), "w", encoding="ascii") as file:
            file.write(self._file_content(extension))

    def _file_content(self, extension: str) -> str:
        return f'{{"marker": "{self._content}"}}\n' if extension == ".json" else f"marker: {self._content}\n"

    def _set_marker(self, folder: str) -> None:
        marker = os.path.join(folder, "marker")
        encoded = quote(marker, safe="").replace(".", "%2e")
        self._values |= {
            "marker folder": folder,
            "marker": marker,
            "marker name": "marker",
            "encoded marker": encoded,
            "marker encoded twice": encoded.replace("%", "%25"),
            "marker with backslashes": marker.replace("/", "\\"),
        }

    def _value(self, name: str, token: str) -> str | None:
        """The value of a placeholder; None if there is no such trap."""
        if name == "token":
            return token
        if name == "proof file":
            folder = self._values.get("marker folder")
            return None if folder is None else os.path.join(folder, f"proof-{token}")
        if name not in self._values and (neighbour := _NEIGHBOUR.fullmatch(name)) is not None:
            self._make_neighbour(neighbour[1], neighbour[2])
        return self._values.get(name)

    def _make_neighbour(self, where: str, name: str) -> None:
        """Make a folder in the parent of a folder of the server.

        `beside`: its path begins with the path of that folder, so that a test of the prefix lets it pass. `apart from`:
        it does not, so that it shows whether the server serves the parent, too.
        """
        folder, placeholder = self._values.get(name), f"{where} {name}"
        if folder is None or placeholder in self._temporary:
            return
        parent, last = os.path.split(folder)
        with contextlib.suppress(OSError):
            path = self._make_folder(placeholder, parent, f"{last}-mcproof-" if where == "beside" else "mcproof-")
            self._values[placeholder] = os.path.join(path, "marker")
            self._values[f"name {placeholder}"] = os.path.join(os.path.basename(path), "marker")

    def filled(self, value: Any, token: str) -> Any:
        """A value with its placeholders replaced. Raises LookupError if a trap could not be set."""
        if isinstance(value, str):
            return _nested() if value == NESTED else _PLACEHOLDER.sub(lambda match: self._fill(match, token), value)
        if isinstance(value, dict):
            return {key: self.filled(member, token) for key, member in value.items()}
        return [self.filled(item, token) for item in value] if isinstance(value, list) else value

    def _fill(self, match: re.Match[str], token: str) -> str:
        value = self._value(match[1], token)
        if value is None:
            raise LookupError(match[0])
        if match[2] is None:
            return value
        if match[2] not in _EXTENSIONS:
            for folder in self._temporary.values():
                with contextlib.suppress(OSError):
                    self._make_file(folder.name, match[2])
        return value + match[2]

    def hidden(self, text: str) -> str:
        """A text of the server with the random values replaced by placeholders."""
        for placeholder, folder in self._temporary.items():
            text = text.replace(folder.name, f"<{placeholder}>")
            # A server may show the name without its path.
            text = text.replace(os.path.basename(folder.name), f"<{placeholder}>")
        text = text.replace(self._content, "<content of the marker>").replace(self._inside, "<file in the folder>")
        for content in self._encoded_contents():
            text = text.replace(content, "<content of the marker, base64>")
        if self._is_listening:
            text = re.sub(rf"(?<!\d){self._listener.port}(?!\d)", "<listener port>", text)
        return re.sub(rf"{self._run}\d{{6}}", "<token>", text)

    def shown(self, response: Response) -> str:
        """The text of a response with placeholders; put there first, because a cropped value is not found."""
        message = response.message
        if message is None:
            return self.hidden(response.text)
        raw = self.hidden(message.raw.decode(errors="replace")).encode(errors="replace")
        return response._replace(message=message._replace(raw=raw)).text

    def _encoded_contents(self) -> set[str]:
        """The marker's files in Base64, without the end, which depends on what follows."""
        contents = {self._file_content(extension) for extension in _EXTENSIONS}
        return {base64.b64encode(content.encode()).decode().rstrip("=")[:-1] for content in contents}

    def content_in(self, text: str) -> bool:
        """Whether a text contains the content of the marker, also in Base64."""
        return self._content in text or any(content in text for content in self._encoded_contents())

    def listing_in(self, text: str) -> bool:
        """Whether a text contains the name of the file beside the marker, which no request names."""
        return self._inside in text

    def was_requested(self, token: str) -> bool:
        """Whether a request with this token has arrived at the listener."""
        return self._listener.has_seen(token)

    def printed(self, token: str) -> str:
        """What a command has printed to the proof file of a case."""
        path = self._value("proof file", token)
        try:
            with open(path or "", encoding="utf-8", errors="replace") as file:
                return file.read(1_000)
        except OSError:
            return ""


def _nested() -> list[Any]:
    value: list[Any] = []
    for _ in range(NESTING_DEPTH):
        value = [value]
    return value
