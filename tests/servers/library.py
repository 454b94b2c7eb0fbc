"""A correct server for both eras, independent of the transport: bytes of a message in, a reply out.

`contract.py` serves it, and each class of `contract_faults.py` adds one fault.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import Message

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = ("2026-07-28",)
META = "io.modelcontextprotocol"
JSON = "application/json"

NOT_JSON, BAD_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602
NO_RESOURCE, HEADER_MISMATCH, BAD_VERSION = -32002, -32020, -32022
STATUS = {NOT_JSON: 400, BAD_REQUEST: 400, NO_METHOD: 404, HEADER_MISMATCH: 400, BAD_VERSION: 400}
"""The HTTP status of an error, where it is not 200; the older era has one only for what is no request."""

TITLE = {"type": "string", "description": "The title of the book.", "minLength": 1, "maxLength": 200}


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """The schema of an object that has these properties and no others."""
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


TOOLS: list[dict[str, Any]] = [
    {
        "name": "find_book",
        "description": "Find books by words of their title, the newest first.",
        "inputSchema": closed(
            {
                "query": {
                    "type": "string",
                    "description": "Words of the title.",
                    "minLength": 1,
                    "maxLength": 200,
                },
                "limit": {"type": "integer", "description": "How many at most.", "minimum": 1, "maximum": 50},
            },
            "query",
        ),
        "outputSchema": closed(
            {
                "titles": {"type": "array", "items": TITLE, "maxItems": 50, "description": "What was found."},
                "total": {"type": "integer", "minimum": 0, "description": "How many there are."},
            },
            "titles",
            "total",
        ),
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "count_books",
        "description": "Count all the books of the library.",
        "inputSchema": closed({}),
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "list_shelves",
        "description": "List the shelves that hold books of a genre.",
        "inputSchema": closed(
            {
                "genre": {
                    "type": "string",
                    "description": "The genre.",
                    "enum": ["fiction", "history", "science"],
                },
                "tags": {
                    "type": "array",
                    "description": "Words that the label of a shelf has to carry.",
                    "items": {"type": "string", "maxLength": 20},
                    "maxItems": 5,
                },
                "near": {
                    **closed(
                        {
                            "floor": {
                                "type": "integer",
                                "description": "The number of the floor.",
                                "minimum": 0,
                                "maximum": 9,
                            },
                            "wing": {"type": "string", "description": "The letter of the wing.", "maxLength": 1},
                        },
                        "floor",
                    ),
                    "description": "Where the reader stands.",
                },
            },
            "genre",
        ),
    },
    {
        "name": "add_book",
        "description": "Add a book to the library.",
        "inputSchema": closed({"title": TITLE}, "title"),
    },
    {
        "name": "delete_book",
        "description": "Delete a book from the library for good.",
        "inputSchema": closed({"title": TITLE}, "title"),
        "annotations": {"destructiveHint": True},
    },
    {
        "name": "archive",
        "description": "Move a book to the archive in the cellar.",
        "inputSchema": closed({"title": TITLE}, "title"),
        "annotations": {"readOnlyHint": True, "destructiveHint": True},
    },
]
SCHEMAS: dict[str, dict[str, Any]] = {tool["name"]: tool["inputSchema"] for tool in TOOLS}
PROMPTS = [
    {
        "name": "recommend",
        "description": "Recommend a book to a reader.",
        "arguments": [{"name": "genre", "description": "What the reader likes.", "required": True}],
    }
]
RESOURCES = [
    {
        "uri": "library://hours",
        "name": "hours",
        "description": "When the library is open.",
        "mimeType": "text/plain",
    }
]
LISTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "tools/list": ("tools", TOOLS),
    "prompts/list": ("prompts", PROMPTS),
    "resources/list": ("resources", RESOURCES),
    "resources/templates/list": ("resourceTemplates", []),
}
CACHED = {*LISTS, "server/discover", "resources/read"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the newer era repeats in a header."""


class RefusalError(Exception):
    """An error as the answer."""

    def __init__(self, code: int, message: str, data: Any = None, status: int = 200) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        self.code = code
        self.status = status


class Reply(NamedTuple):
    """What goes back to the client, and what becomes of the server then."""

    body: bytes
    status: int = 200
    kind: str = JSON
    dies_after: float | None = None
    """In how many seconds the process ends, once this is sent."""


NOTHING = Reply(b"", 202)
"""The reply to what needs none."""
NEVER = Reply(b"", 0)
"""No reply to what waits for one."""


class Violation(NamedTuple):
    """A promise of a schema that a value does not keep."""

    keyword: str
    pointer: str


def violations(schema: dict[str, Any], value: Any, pointer: str = "") -> Iterator[Violation]:
    """Every promise of a schema that a value breaks; a value of the wrong type breaks that one only."""
    if not has_type(value, schema["type"]):
        yield Violation("type", pointer)
        return
    if "enum" in schema and value not in schema["enum"]:
        yield Violation("enum", pointer)
    if isinstance(value, str):
        yield from _bounds(schema, len(value), "minLength", "maxLength", pointer)
    elif isinstance(value, (int, float)):
        yield from _bounds(schema, value, "minimum", "maximum", pointer)
    elif isinstance(value, list):
        yield from _bounds(schema, len(value), "minItems", "maxItems", pointer)
        for number, item in enumerate(value):
            yield from violations(schema["items"], item, f"{pointer}/{number}")
    elif isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield Violation("required", f"{pointer}/{name}")
        for name, member in value.items():
            if name in schema["properties"]:
                yield from violations(schema["properties"][name], member, f"{pointer}/{name}")
            else:
                yield Violation("additionalProperties", f"{pointer}/{name}")


def has_type(value: Any, name: str) -> bool:
    """Whether a value is of this type as JSON Schema has it: 5.0 is an integer, and `true` is none."""
    if name == "integer":
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
    return isinstance(value, {"object": dict, "array": list, "string": str}[name])


def _bounds(schema: dict[str, Any], size: float, low: str, high: str, pointer: str) -> Iterator[Violation]:
    if size < schema.get(low, size):
        yield Violation(low, pointer)
    if size > schema.get(high, size):
        yield Violation(high, pointer)


def text_result(text: str, **others: Any) -> dict[str, Any]:
    """The result of a call that has one text to say."""
    return {"content": [{"type": "text", "text": text}], **others}


class Library:
    """The good server. Whatever a fault changes is a method of its own."""

    revisions: ClassVar[tuple[str, ...]] = HANDSHAKE
    """What it speaks in the older era, the newest first."""

    def __init__(self, era: str) -> None:
        self.is_stateless = era == "stateless"
        self.supported = STATELESS if self.is_stateless else self.revisions

    def receive(self, data: bytes, headers: Message | None = None) -> Reply:
        """Take a message, with its headers where it came over HTTP."""
        try:
            message = json.loads(data, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return self.not_json()
        if isinstance(message, dict) and ("result" in message or "error" in message):
            return NOTHING
        try:
            checked = self.checked(message)
        except RefusalError as refusal:
            return self.reply(None, refusal)
        return self.request(checked, headers) if "id" in checked else NOTHING

    def not_json(self) -> Reply:
        return self.reply(None, RefusalError(NOT_JSON, "Parse error"))

    def checked(self, message: Any) -> dict[str, Any]:
        """A message that is a request or a notification, with parameters."""
        is_message = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
        if not is_message or not isinstance(message.get("method"), str):
            raise RefusalError(BAD_REQUEST, "Invalid request")
        number = message.get("id", 0)
        if not isinstance(number, (int, str)) or not isinstance(message.get("params", {}), dict):
            raise RefusalError(BAD_REQUEST, "Invalid request")
        return {"params": {}, **message}

    def request(self, message: dict[str, Any], headers: Message | None = None) -> Reply:
        method, params = message["method"], message["params"]
        try:
            self.check_revision(method, params, headers)
            return self.reply(message["id"], self.complete(method, self.result(method, params)))
        except RefusalError as refusal:
            return self.reply(message["id"], refusal)

    def reply(self, number: Any, outcome: dict[str, Any] | RefusalError) -> Reply:
        if not isinstance(outcome, RefusalError):
            return Reply(json.dumps({"jsonrpc": "2.0", "id": number, "result": outcome}).encode())
        has_status = self.is_stateless or outcome.code in (NOT_JSON, BAD_REQUEST)
        status = STATUS.get(outcome.code, outcome.status) if has_status else outcome.status
        return Reply(json.dumps({"jsonrpc": "2.0", "id": number, "error": outcome.error}).encode(), status)

    def check_revision(self, method: str, params: dict[str, Any], headers: Message | None) -> None:
        """Refuse a request in a revision that is not spoken, or whose headers say something else."""
        if not self.is_stateless:
            named = None if headers is None or method == "initialize" else headers.get("MCP-Protocol-Version")
            if named is not None and not self.speaks(named):
                raise RefusalError(BAD_REQUEST, f"Unsupported protocol version: {named}")
            return
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        revision = meta.get(f"{META}/protocolVersion")
        if not isinstance(revision, str) or not isinstance(meta.get(f"{META}/clientCapabilities"), dict):
            raise RefusalError(BAD_PARAMS, "The protocol version and capabilities belong into _meta", status=400)
        if headers is not None:
            wanted = {"MCP-Protocol-Version": revision, "Mcp-Method": method}
            name = params.get(NAMED.get(method, ""))
            if isinstance(name, str):
                wanted["Mcp-Name"] = name
            for header, value in wanted.items():
                if decoded(headers.get(header)) != value:
                    raise RefusalError(HEADER_MISMATCH, f"Header mismatch: {header}")
        if not self.speaks(revision):
            raise self.unsupported(revision)

    def speaks(self, revision: str) -> bool:
        return revision in self.supported

    def unsupported(self, revision: str) -> RefusalError:
        data = {"supported": list(self.supported), "requested": revision}
        return RefusalError(BAD_VERSION, "Unsupported protocol version", data)

    def complete(self, method: str, result: Any) -> Any:
        """A result with what the era wants in each."""
        if not self.is_stateless:
            return result
        cache = {"ttlMs": 60_000, "cacheScope": "public"} if method in CACHED else {}
        return {"resultType": "complete", **cache, **result}

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method in LISTS:
            return self.listed(method, params)
        answers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "tools/call": self.called,
            "prompts/get": self.prompt,
            "resources/read": self.resource,
            **({"server/discover": self.discovery} if self.is_stateless else {}),
            **({} if self.is_stateless else {"initialize": self.introduction, "ping": lambda _: {}}),
        }
        return answers[method](params) if method in answers else self.unknown_method(method)

    def unknown_method(self, method: str) -> Any:
        raise RefusalError(NO_METHOD, f"Method not found: {method}")

    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise RefusalError(BAD_PARAMS, "protocolVersion is missing")
        return {
            "protocolVersion": asked if self.speaks(asked) else self.other_revision(asked),
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "library", "version": "1.0"},
        }

    def other_revision(self, asked: str) -> str:
        """The revision to offer where this one is not spoken."""
        return self.supported[0]

    def discovery(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "supportedVersions": list(self.supported),
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "_meta": {f"{META}/serverInfo": {"name": "library", "version": "1.0"}},
        }

    def listed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A list, which has one page: there is no cursor that was ever given out."""
        if "cursor" in params:
            self.bad_cursor()
        key, items = LISTS[method]
        return {key: items}

    def bad_cursor(self) -> None:
        raise RefusalError(BAD_PARAMS, "Invalid cursor")

    def prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        arguments = params.get("arguments")
        if params.get("name") != PROMPTS[0]["name"]:
            return self.unknown_prompt(params.get("name"))
        if not isinstance(arguments, dict) or not isinstance(arguments.get("genre"), str):
            raise RefusalError(BAD_PARAMS, "genre is missing")
        text = f"Recommend a book to a reader who likes {arguments['genre']}."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def unknown_prompt(self, name: Any) -> dict[str, Any]:
        raise RefusalError(BAD_PARAMS, f"Unknown prompt: {name}")

    def resource(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("uri") != RESOURCES[0]["uri"]:
            return self.unknown_resource(params.get("uri"))
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "9 to 5"}]}

    def unknown_resource(self, uri: Any) -> dict[str, Any]:
        raise RefusalError(BAD_PARAMS if self.is_stateless else NO_RESOURCE, "Resource not found", {"uri": uri})

    def called(self, params: dict[str, Any]) -> Any:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise RefusalError(BAD_PARAMS, "A call needs the name of a tool, and arguments in an object")
        remember(name)
        if name not in SCHEMAS:
            return self.unknown_tool(name)
        found = self.found(name, arguments)
        return self.rejection(name, arguments, found) if found else self.perform(name, arguments)

    def unknown_tool(self, name: str) -> Any:
        raise RefusalError(BAD_PARAMS, f"Unknown tool: {name[:100]}")

    def found(self, name: str, arguments: dict[str, Any]) -> list[Violation]:
        """What is wrong with the arguments of a tool."""
        return list(violations(SCHEMAS[name], arguments))

    def rejection(self, name: str, arguments: dict[str, Any], found: list[Violation]) -> dict[str, Any]:
        """The result where the arguments are not what the schema promises."""
        keyword, pointer = found[0]
        return text_result(f"Invalid arguments: {keyword} at {pointer[:100] or 'the root'}", isError=True)

    def perform(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a valid call."""
        if name == "find_book":
            books = {"titles": ["The Name of the Rose"], "total": 1}
            return text_result(json.dumps(books), structuredContent=books)
        return text_result({"count_books": "4711 books", "list_shelves": "Shelves 3 and 4"}.get(name, "Done"))


def remember(name: str) -> None:
    """Write down that a tool was called, for tests to show that none was."""
    if "CALLED" in os.environ:
        with open(os.environ["CALLED"], "a", encoding="utf-8", errors="surrogatepass") as called:
            called.write(f"{name}\n")


def decoded(header: str | None) -> str | None:
    """What a header says, which is coded where it could not say it otherwise."""
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    from base64 import b64decode

    try:
        return b64decode(header[9:-2], validate=True).decode("utf-8", "surrogatepass")
    except ValueError:
        return None


def _no_constant(word: str) -> None:
    raise ValueError(word)
