"""Catalogs as JSON: the common shapes of a saved file, and live servers, whose responses are read the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mcproof.core.catalog.model import (
    FROM_SOURCE,
    Catalog,
    Item,
    Origin,
    Prompt,
    Resource,
    ResourceTemplate,
    Server,
    Tool,
)
from mcproof.core.errors import InputError, McproofError
from mcproof.core.text.files import BYTE_ORDER_MARK, NotUtf8Error, decode_utf8
from mcproof.core.text.json_document import JsonText, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.capture import Capture, OpenServer
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.errors import ConnectError
    from mcproof.core.observations.connection import ObservedConnection
    from mcproof.targets.arguments import Input


class LiveCatalogs:
    """The catalogs of the live servers among some inputs."""

    def __init__(self, inputs: list[Input], options: ConnectOptions, progress: Callable[[int, str], None]) -> None:
        from mcproof.client.capture import capture_all

        sources = [source for source in inputs if source.server is not None]
        done = 0

        def count(_: object) -> None:
            nonlocal done
            done += 1
            progress(done, f"of {len(sources)} servers have answered")

        results, self.interrupted = capture_all([source.server for source in sources if source.server], options, count)
        self._results: dict[str, Capture | ConnectError | None] = {
            source.name: result for source, result in zip(sources, results, strict=True)
        }

    def catalog(self, source: Input) -> Catalog | None:
        """The catalog of a server; None if the run was interrupted first. Raises the error that prevented it."""
        from mcproof.core.errors import McproofError

        result = self._results[source.name]
        if result is None:
            return None
        if isinstance(result, McproofError):
            raise _placed(result, source)
        return captured_catalog(result, source)


def listed_catalog(server: OpenServer, source: Input) -> Catalog:
    """The catalog of a server that stays open for calls. Raises ConnectError and KeyboardInterrupt."""
    from mcproof.client.errors import ConnectError

    try:
        return captured_catalog(server.capture(), source)
    except ConnectError as error:
        raise _placed(error, source) from None


def captured_catalog(capture: Capture, source: Input) -> Catalog:
    """The catalog of a capture that was just made."""
    text = capture.text.encode("utf-8", "surrogatepass")
    return read_snapshot(text, source.title, connection=capture.connection, origin=source.origin)


def refuse_part(catalog: Catalog) -> None:
    """Raise an InputError if a server did not serve all it declares: a part must not pass for the whole."""
    if catalog.missing is not None:
        raise InputError(f"not the whole catalog: {catalog.missing}", file=catalog.name)


def catalog_text(catalog: Catalog) -> str:
    """The text of the catalog, without a JSON-RPC envelope; a bare list of tools becomes an object.

    Serialising the values again would lose what Python cannot represent, such as very large numbers.
    """
    document = catalog.document
    if catalog.server.raw:
        whole = catalog.server.pointer
    else:
        whole = catalog.tools[0].pointer.rpartition("/")[0].removesuffix("/tools")
    span = document.spans([whole])[whole]
    text = document.text[span.start : span.end]
    return f'{{"tools": {text}}}\n' if text.startswith("[") else f"{text}\n"


def _placed(error: McproofError, source: Input) -> McproofError:
    """An error of a configured server at the line that names it; other servers are named by their error."""
    origin = source.origin
    if origin is None or origin.line is None:
        return error
    name = source.name.removeprefix(f"{origin.file}#")
    return type(error)(f"server `{name}`: {error.message}", file=origin.file, line=origin.line)


ItemType = TypeVar("ItemType", bound=Item)

SHAPES = (
    'a list of tools, `{"tools": [...]}`, a JSON-RPC response with either, '
    'or a capture with `"server"` or `"initialize"`'
)
_DESCRIBES_SERVER = ("server", "initialize", "discover")
_TOOL_KEYS = frozenset(("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta"))
_OTHER_KEYS = frozenset(("uri", "uriTemplate", "arguments", "mimeType"))
"""Keys that only resources, templates or prompts have."""
_LISTS = ("tools", "resources", "resourceTemplates", "prompts")


class NoCatalogError(InputError):
    """Valid JSON that is not a catalog."""


def read_snapshot(
    data: bytes,
    name: str,
    *,
    is_certain: bool = True,
    connection: ObservedConnection | None = None,
    origin: Origin | None = None,
) -> Catalog:
    """Read the catalog in `data`. Raises an InputError with the location of the first error.

    Unless `is_certain`, a list of something else than tools is not a catalog. A catalog that was just listed comes with
    its connection and the place that names its server.
    """
    document = JsonText.parse(text_of(data, name), name)
    document.byte_order_mark = data[: len(BYTE_ORDER_MARK)] if data.startswith(BYTE_ORDER_MARK) else b""
    catalog = _catalog_of(document, name)
    catalog.connection, catalog.origin = connection, origin
    # A folder has much JSON that is no catalog: docs/decisions/0038-one-report-per-server.md.
    if not is_certain and not _is_evident(catalog):
        raise _no_catalog(document.value, name)
    for tool in catalog.tools:
        tool.document = document
    return catalog


def _catalog_of(document: JsonText, name: str) -> Catalog:
    value, pointer = _unwrap(document.value, name)
    if isinstance(value, list) and (not value or any(map(_looks_like_a_tool, value))):
        return _bare(name, document, value, pointer)
    if isinstance(value, dict) and _is_capture(value):
        return _capture(name, document, value, pointer)
    if isinstance(value, dict) and isinstance(value.get("tools"), list):
        # A result with a cursor is one page of a longer list.
        return _bare(name, document, value["tools"], f"{pointer}/tools", has_more=bool(value.get("nextCursor")))
    raise _no_catalog(value, name)


def _looks_like_a_tool(value: Any) -> bool:
    return isinstance(value, dict) and any(key in value for key in ("name", "description", "inputSchema"))


def _is_evident(catalog: Catalog) -> bool:
    """Whether JSON is certainly a catalog, rather than other data with one of its keys."""
    described = (catalog.server.fields.get(key) for key in _DESCRIBES_SERVER)
    others = (*catalog.resources, *catalog.templates, *catalog.prompts)
    return (
        any(isinstance(value, dict) for value in described)
        or any(_is_tool(tool.raw) for tool in catalog.tools)
        or any(isinstance(item.raw, dict) and not item.raw.keys().isdisjoint(_OTHER_KEYS) for item in others)
    )


def _is_tool(value: Any) -> bool:
    """Whether a value is certainly a tool, rather than any object with a name."""
    return isinstance(value, dict) and ("inputSchema" in value or ("name" in value and value.keys() <= _TOOL_KEYS))


def _is_capture(value: dict[str, Any]) -> bool:
    """Whether this contains more than tools. `server` alone is not enough: any JSON may have such a key."""
    return (
        any(isinstance(value.get(key), dict) for key in ("initialize", "discover"))
        or any(isinstance(value.get(key), list) for key in _LISTS[1:])
        or ("tools" in value and any(key in value for key in ("server", *_LISTS[1:])))
    )


def text_of(data: bytes, name: str) -> str:
    """Decode a file, with or without a byte order mark. Raises an InputError with the position of invalid UTF-8."""
    try:
        return decode_utf8(data)
    except NotUtf8Error as error:
        raise InputError(error.message, file=name, line=error.line, column=error.column) from None


def _unwrap(value: Any, name: str) -> tuple[Any, str]:
    """The content of a JSON-RPC response, with its pointer; any other value as it is."""
    if not isinstance(value, dict) or any(key in value for key in _LISTS):
        return value, ""
    if isinstance(value.get("result"), (dict, list)):
        return value["result"], "/result"
    error = value.get("error")
    if "jsonrpc" in value and isinstance(error, dict):
        raise InputError(f"this JSON-RPC response is an error: {error.get('message') or error.get('code')}", file=name)
    return value, ""


def _bare(name: str, document: JsonText, tools: list[Any], pointer: str, *, has_more: bool = False) -> Catalog:
    if not tools:
        raise InputError("nothing to check: the list of tools is empty", file=name)
    return Catalog(name, document, tools=_entries(Tool, tools, pointer), has_more=has_more)


def _capture(name: str, document: JsonText, value: dict[str, Any], pointer: str) -> Catalog:
    def entries(key: str, make: Callable[[Any, str, int], ItemType]) -> list[ItemType]:
        listed = value.get(key)
        return _entries(make, listed if isinstance(listed, list) else [], f"{pointer}/{key}")

    return Catalog(
        name,
        document,
        tools=entries("tools", Tool),
        resources=entries("resources", Resource),
        templates=entries("resourceTemplates", ResourceTemplate),
        prompts=entries("prompts", Prompt),
        server=Server(value, pointer),
        describes_server=any(key in value for key in _DESCRIBES_SERVER) and not _is_of_source(value),
        has_more=bool(value.get("nextCursor")),
    )


def _is_of_source(value: dict[str, Any]) -> bool:
    """Whether the server info was read from source code, which does not determine all of it."""
    handshake = value.get("initialize")
    meta = handshake.get("_meta") if isinstance(handshake, dict) else None
    return isinstance(meta, dict) and meta.get(FROM_SOURCE) is True


def _entries(make: Callable[[Any, str, int], ItemType], listed: list[Any], pointer: str) -> list[ItemType]:
    return [make(raw, f"{pointer}/{index}", index) for index, raw in enumerate(listed)]


def _no_catalog(value: Any, name: str) -> InputError:
    if isinstance(value, dict) and "tools" in value:
        return NoCatalogError(f"not a catalog: `tools` is {_described(value['tools'])}, not a list", file=name)
    return NoCatalogError(f"not a catalog: {_described(value)}; expected {SHAPES}", file=name)


def _described(value: Any) -> str:
    """The type of a JSON value in words, with the first keys of an object."""
    if not isinstance(value, dict):
        return kind_of(value)
    keys = ", ".join(f"`{key}`" for key in list(value)[:4])
    return f"an object with {keys}" if keys else "an empty object"
