"""The response to one request, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.core.console import Style, plural, safe, safe_line
from mcproof.runs.records import SCHEMA_VERSION, encode, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.runs.results import SingleResponse


def response_document(response: SingleResponse) -> Iterator[str]:
    """Write what was sent and the response as received, one member a line."""
    # All fields, so that a new one of the response is a new member of the document.
    members = {"schema_version": SCHEMA_VERSION, **response._asdict(), "seconds": round(response.seconds, 6)}
    del members["unanswered"]  # also in `asked`
    lines = ",\n".join(f"{encode(key)}: {printable(encode(value))}" for key, value in members.items())
    yield f"{{{lines}}}\n"


def response_text(response: SingleResponse, style: Style) -> Iterator[str]:
    """Render the result, or the error."""
    result = response.result
    if response.error is not None:
        yield from _json(response.error)
    elif response.method == "tools/call" and _has_list(result, "content"):
        yield from _call_result(result, style)
    elif response.method == "resources/read" and _has_list(result, "contents"):
        for part in result["contents"]:
            yield from _resource(part, style, is_named=len(result["contents"]) > 1)
    elif response.method == "prompts/get" and _has_list(result, "messages"):
        for part in result["messages"]:
            yield from _message(part, style)
    else:
        yield from _json(result)


def _has_list(result: Any, key: str) -> bool:
    return isinstance(result, dict) and isinstance(result.get(key), list)


def _call_result(result: dict[str, Any], style: Style) -> Iterator[str]:
    """Render content blocks and structured content, once if they are the same."""
    structured = result.get("structuredContent")
    # The protocol asks servers to repeat structured content as text, for older clients.
    content = [block for block in result["content"] if structured is None or not _repeats(block, structured)]
    yield from (line for block in content for line in _block(block, style))
    # SDKs wrap a value that is no object, and send each item of a list as a block.
    name, value = (
        next(iter(structured.items())) if isinstance(structured, dict) and len(structured) == 1 else ("", None)
    )
    items = value if isinstance(value, list) and len(content) == len(value) else [value]
    if content and len(items) == len(content) and all(map(_repeats, content, items)):
        yield _summary(style, f"structured content: the same, as `{name}`")
    elif structured is not None:
        yield from _json(structured)


def _repeats(block: Any, structured: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    try:
        return isinstance(text, str) and (text == structured or bool(json.loads(text) == structured))
    except (ValueError, RecursionError):  # a text that is no JSON repeats nothing
        return False


def _message(message: Any, style: Style) -> Iterator[str]:
    """Render a message of a prompt: its role, then its content."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        yield from _json(message)
        return
    yield style.paint(f"{safe(message['role'])}:", "bold") + "\n"
    yield from _block(message.get("content"), style)


def _block(block: Any, style: Style) -> Iterator[str]:
    """Render a content block."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "text" and isinstance(block.get("text"), str):
        yield from _text(block["text"])
    elif kind in ("image", "audio") and isinstance(block.get("data"), str):
        yield _summary(style, f"{kind}: {_type(block)}, {_size(block['data'])}")
    elif kind == "resource_link" and isinstance(block.get("uri"), str):
        yield _summary(style, f"resource link: {block['uri']}")
    elif kind == "resource" and isinstance(block.get("resource"), dict):
        yield from _resource(block["resource"], style, is_named=True)
    else:
        yield from _json(block)


def _resource(resource: Any, style: Style, *, is_named: bool) -> Iterator[str]:
    """Render the content of a resource; with `is_named`, below its URI."""
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        if is_named:
            yield _summary(style, f"resource: {resource.get('uri')}, {_type(resource)}")
        yield from _text(resource["text"])
    elif isinstance(resource, dict) and isinstance(resource.get("blob"), str):
        yield _summary(style, f"resource: {resource.get('uri')}, {_type(resource)}, {_size(resource['blob'])}")
    else:
        yield from _json(resource)


def _summary(style: Style, text: str) -> str:
    return style.paint(f"[{style.text(text)}]", "dim") + "\n"


def _type(value: dict[str, Any]) -> str:
    kind = value.get("mimeType")
    return kind if isinstance(kind, str) and kind else "unknown type"


def _size(data: str) -> str:
    """The size of base64 data."""
    return plural(max(0, len(data) * 3 // 4 - data[-2:].count("=")), "byte")


def _text(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"{safe_line(line.removesuffix(chr(13)))}\n"


def _json(value: Any) -> Iterator[str]:
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False)
    except RecursionError:
        text = json.dumps(value, ensure_ascii=False)  # the encoder in C allows deeper nesting
    yield from _text(text)
