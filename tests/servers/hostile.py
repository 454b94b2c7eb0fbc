"""A server whose tools are vulnerable or hardened: `python -I -S hostile.py [--http] FOLDER [TOOL...]`.

FOLDER is the folder that the tools may read. A tool of the family `read` returns the file `name`, one of `run` passes
`text` to a command, and so on; the names of hardened tools end with `_safely`. Without TOOL, all are offered;
`TOOL:ARGUMENT` offers a tool that does nothing with its argument.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import sys
import urllib.parse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

# What a single tool needs is imported by it: a run starts dozens of these servers.

IS_HTTP = "--http" in sys.argv
FOLDER, *WANTED = [word for word in sys.argv[1:] if word != "--http"] or [""]
TOOLS: dict[str, tuple[dict[str, Any], Callable[..., str]]] = {}


def tool(**properties: Any) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Offer a function as a tool with these parameters, all of them required."""

    def offer(function: Callable[..., str]) -> Callable[..., str]:
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        TOOLS[function.__name__] = ({**schema, "additionalProperties": False}, function)
        return function

    return offer


TEXT = {"type": "string"}


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


# Files


@tool(path=TEXT)
def read_joined(path: str) -> str:
    return read(os.path.join(FOLDER, path))


@tool(path=TEXT)
def read_concatenated(path: str) -> str:
    return read(f"{FOLDER}/{path}")


@tool(topic={"type": "string", "maxLength": 60})
def get_topic(topic: str) -> str:
    """Appends an extension, and no word in its name is about files."""
    return read(f"{FOLDER}/{topic}.md")


@tool(path=TEXT)
def read_with_prefix(path: str) -> str:
    """Tests the beginning of the path as a text: `/data-other` begins like `/data`."""
    full = os.path.realpath(os.path.join(FOLDER, path))
    if not full.startswith(os.path.realpath(FOLDER)):
        raise ValueError("access denied")
    return read(full)


@tool(path=TEXT)
def read_with_lexical_prefix(path: str) -> str:
    """Requires an absolute path, and tests it before `..` is resolved."""
    if not path.startswith(FOLDER):
        raise ValueError("access denied")
    return read(path)


@tool(path=TEXT)
def read_without_dots(path: str) -> str:
    """Removes `../` once."""
    return read(f"{FOLDER}/{path.replace('../', '')}")


@tool(path=TEXT)
def read_decoded(path: str) -> str:
    """Tests the path before it is decoded."""
    if ".." in path or "/" in path:
        raise ValueError("access denied")
    return read(f"{FOLDER}/{urllib.parse.unquote(path)}")


@tool(uri=TEXT)
def read_uri(uri: str) -> str:
    if not uri.startswith("file://"):
        raise ValueError("not a file: URI")
    return read(urllib.parse.unquote(uri.removeprefix("file://")))


@tool(directory=TEXT)
def list_folder(directory: str) -> str:
    return "\n".join(sorted(os.listdir(os.path.join(FOLDER, directory))))


@tool(
    files={
        "type": "array",
        "items": {"type": "object", "properties": {"path": TEXT}, "required": ["path"]},
        "minItems": 1,
    }
)
def read_several(files: list[dict[str, str]]) -> str:
    return "\n".join(read(os.path.join(FOLDER, each["path"])) for each in files)


def note(vault: str, folder: str, filename: str) -> str:
    if vault != "main":
        raise ValueError(f"Unknown vault: {vault}. Available vaults: main")
    if "/" in filename or os.path.isabs(folder):
        raise ValueError("`filename` must be a name, and `folder` relative")
    return os.path.join(FOLDER, folder, filename if filename.endswith(".md") else f"{filename}.md")


@tool(vault=TEXT, folder=TEXT, filename=TEXT)
def read_note(vault: str, folder: str, filename: str) -> str:
    """Tests each argument, and not the path that they are joined to."""
    return read(note(vault, folder, filename))


@tool(vault=TEXT, folder=TEXT, filename=TEXT)
def read_note_safely(vault: str, folder: str, filename: str) -> str:
    return read_safely(os.path.relpath(note(vault, folder, filename), FOLDER))


@tool(path={"type": "string", "description": "A path that ends with `.rst`."})
def read_manual(path: str) -> str:
    if not path.endswith(".rst"):
        raise ValueError("not a manual")
    return read(os.path.join(FOLDER, path))


@tool(
    files={
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"file_path": TEXT, "ranges": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
            "required": ["file_path", "ranges"],
        },
    }
)
def read_ranges(files: list[dict[str, Any]]) -> str:
    """Returns nothing for an empty list, of files or of ranges."""
    texts: dict[str, list[str]] = {}
    for file in files:
        texts[file["file_path"]] = []
        if not os.path.isabs(file["file_path"]):
            raise ValueError("the path must be absolute")
        for line in file["ranges"]:
            with contextlib.suppress(OSError):
                texts[file["file_path"]].append(read(file["file_path"])[line:])
    return json.dumps(texts)


@tool(path=TEXT)
def read_safely(path: str) -> str:
    full, folder = os.path.realpath(os.path.join(FOLDER, path)), os.path.realpath(FOLDER)
    if os.path.commonpath((full, folder)) != folder:
        raise ValueError(f"access denied: {path} is outside {folder}")
    return read(full)


@tool(path=TEXT)
def read_parent_safely(path: str) -> str:
    """Serves the parent of FOLDER, too."""
    full, folder = os.path.realpath(os.path.join(FOLDER, path)), os.path.dirname(os.path.realpath(FOLDER))
    if os.path.commonpath((full, folder)) != folder:
        raise ValueError("access denied")
    return read(full)


# Commands


def shell(command: str) -> str:
    import subprocess

    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, timeout=5)  # noqa: S602
    return done.stdout + done.stderr


@tool(text=TEXT)
def count_plain(text: str) -> str:
    return shell(f"printf %s {text}")


@tool(text=TEXT)
def count_quoted(text: str) -> str:
    return shell(f"printf %s '{text}'")


@tool(text=TEXT)
def count_double_quoted(text: str) -> str:
    return shell(f'printf %s "{text}"')


@tool(text=TEXT)
def count_blind(text: str) -> str:
    shell(f"true {text}")
    return "done"


@tool(expression=TEXT)
def calculate_evaluated(expression: str) -> str:
    return str(eval(expression))  # noqa: S307


@tool(text=TEXT)
def count_safely(text: str) -> str:
    import subprocess

    done = subprocess.run(["printf", "%s", text], capture_output=True, text=True, check=False)  # noqa: S607
    return done.stdout


# Databases


@functools.cache
def database() -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE TABLE books (title TEXT)")
    connection.execute("INSERT INTO books VALUES ('The Name of the Rose')")
    return connection


@tool(title=TEXT)
def find_formatted(title: str) -> str:
    return str(database().execute(f"SELECT title FROM books WHERE title = '{title}'").fetchall())  # noqa: S608


@tool(title=TEXT)
def sql_find_as_success(title: str) -> str:
    """Reports errors as results."""
    import sqlite3

    try:
        return find_formatted(title)
    except sqlite3.Error as error:
        return f"Nothing found ({error})"


@tool(column=TEXT)
def find_sorted(column: str) -> str:
    """Formats what cannot be a parameter; a driver's name is in the error."""
    import sqlite3

    try:
        return str(database().execute(f"SELECT title FROM books ORDER BY {column} COLLATE NOCASE").fetchall())  # noqa: S608
    except sqlite3.OperationalError as error:
        if "no such column" in str(error):
            return "[]"
        raise ValueError(f"sqlite3.OperationalError: {error}") from None


@tool(title=TEXT)
def find_safely(title: str) -> str:
    return str(database().execute("SELECT title FROM books WHERE title = ?", [title]).fetchall())


@tool(sql=TEXT)
def query_safely(sql: str) -> str:
    """SQL on purpose."""
    return str(database().execute(sql).fetchall())


@tool(text=TEXT)
def search_errors_safely(text: str) -> str:
    """A search over pages about errors: quotes find one of them."""
    return 'How to solve: near "\'": syntax error' if "'" in text else "Nothing found"


# Templates


@tool(text=TEXT)
def render_evaluated(text: str) -> str:
    """A toy template language that multiplies numbers."""
    return re.sub(r"\{\{ *(\d+) *\* *(\d+) *\}\}", lambda found: str(int(found[1]) * int(found[2])), text)


@tool(text=TEXT)
def render_safely(text: str) -> str:
    return "Hello {{name}}".replace("{{name}}", text)


# Requests


def fetch(url: str) -> str:
    import urllib.request

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=2) as response:
        return str(response.read(1_000).decode(errors="replace"))


@tool(url={"type": "string", "format": "uri"})
def fetch_any(url: str) -> str:
    return fetch(url) if urllib.parse.urlsplit(url).port else "a public page"


@tool(link=TEXT)
def fetch_but_localhost(link: str) -> str:
    """Looks for two names of this machine."""
    if "localhost" in link or "127.0.0.1" in link:
        raise ValueError("not allowed")
    return fetch(link) if urllib.parse.urlsplit(link).port else "a public page"


@tool(host=TEXT)
def check_host(host: str) -> str:
    return fetch(f"http://{host}/health") if ":" in host else "unknown"


@tool(url={"type": "string", "format": "uri"})
def fetch_safely(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.port:
        raise ValueError("not allowed")
    import ipaddress
    import socket

    addresses = {each[4][0] for each in socket.getaddrinfo(parts.hostname, parts.port)}
    if not all(ipaddress.ip_address(address).is_global for address in addresses):
        raise ValueError("not allowed")
    return fetch(url)


# Others


@tool(text=TEXT, path=TEXT, url=TEXT)
def echo_safely(**arguments: str) -> str:
    """Returns its arguments, verbatim, encoded, and in an error."""
    text = json.dumps(arguments)
    if len(text) % 2:
        raise ValueError(text)
    return f"{text}\n{' '.join(arguments.values())}\n{urllib.parse.quote(text)}"


HISTORY: list[str] = []


@tool(text=TEXT)
def remember_safely(text: str) -> str:
    """Returns what earlier calls have sent."""
    HISTORY.append(text[:500])
    return "\n".join(HISTORY[-50:])


@tool(text=TEXT)
def crash_on_nul(text: str) -> str:
    if "\0" in text:
        os._exit(3)
    return text[:100]


@tool(data={})
def crash_on_nesting(data: Any) -> str:
    depth = 0
    while isinstance(data, list) and data:
        data, depth = data[0], depth + 1
    if depth > 300:
        os._exit(4)
    return "done"


def harden() -> None:
    """Replace the tools that are named with an argument, as in `read_joined:path`: they return nothing."""
    for word in WANTED:
        name, colon, argument = word.partition(":")
        if colon:
            TOOLS[name] = ({"type": "object", "properties": {argument: TEXT}}, lambda **_: "nothing")


# The protocol


def answered(message: dict[str, Any]) -> dict[str, Any]:
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        info = {"name": "hostile", "version": "1.0"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        wanted = {word.partition(":")[0] for word in WANTED}
        offered = {name: each for name, each in TOOLS.items() if not wanted or name in wanted}
        hints = {"readOnlyHint": True}
        listed = [{"name": name, "inputSchema": schema, "annotations": hints} for name, (schema, _) in offered.items()]
        return {"result": {"tools": listed}}
    if method == "tools/call" and params.get("name") in TOOLS:
        try:
            text, is_error = TOOLS[params["name"]][1](**params.get("arguments", {})), False
        except Exception as error:
            text, is_error = str(error), True
        return {"result": {"content": [{"type": "text", "text": text}], "isError": is_error}}
    return {"error": {"code": -32602, "message": "unknown"}}


def serve() -> None:
    """Serve HTTP, print the port, and end with the standard input."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        """Responds to each message with JSON."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            is_request = "id" in message and "method" in message
            body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **answered(message)}) if is_request else ""
            self.send_response(200 if is_request else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()


def main() -> None:
    harden()
    if IS_HTTP:
        serve()
        return
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answered(message)}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
