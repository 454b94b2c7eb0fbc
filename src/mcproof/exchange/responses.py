"""Find flaws in the result of a call, by the protocol and by the output schema of the tool.

Only facts are collected here; the rules decide how serious they are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.exchange.connection_facts import cropped
from mcproof.exchange.error_texts import reported_error
from mcproof.exchange.probe_facts import ERROR_AS_SUCCESS, ResponseFlaw
from mcproof.exchange.revisions import FIRST_STATELESS
from mcproof.text.jsontext import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.oracle import Oracle

_SINCE = {"text": "", "image": "", "resource": "", "audio": "2025-03-26", "resource_link": "2025-06-18"}
"""The types of content blocks with the first revision that supports them."""
STRUCTURED = "2025-06-18"
"""The first revision with structured content."""
_STRINGS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}
"""The required string members of each type."""


class OutputContract:
    """The output schema of a tool."""

    def __init__(self, schema: Any) -> None:
        self.is_declared = isinstance(schema, dict)
        self._oracle: Oracle | None = None
        if self.is_declared:
            from mcproof.generation.oracle import Oracle

            self._oracle = Oracle(schema)

    def violation(self, value: Any) -> str | None:
        """How a value violates the schema; None if valid, or if the schema is invalid."""
        objection = self._oracle.rejection(value) if self._oracle is not None else None
        if objection is None:
            return None
        message, where = objection
        return cropped(message) + (f" at {cropped(where)}" if where else "")


def flaws_of(result: Any, revision: str | None, output: OutputContract) -> list[ResponseFlaw]:
    """The flaws of the result of a call in a protocol revision."""
    if not isinstance(result, dict):
        return [ResponseFlaw("malformed-content", f"the result is {kind_of(result)}")]
    revision = revision or ""
    flaws = [ResponseFlaw("malformed-content", each) for each in _content(result, revision)]
    if result.get("isError"):
        return flaws
    flaws += structured_flaws(result, revision, output)
    if (text := reported_error(result)) is not None:
        flaws.append(ResponseFlaw(ERROR_AS_SUCCESS, cropped(" ".join(text[:1_000].split()))))
    return flaws


def _content(result: dict[str, Any], revision: str) -> Iterator[str]:
    """The problems of `content`, `isError` and `resultType`."""
    if revision >= FIRST_STATELESS and result.get("resultType") not in ("complete", None):
        return  # not the result of the tool yet
    if revision >= FIRST_STATELESS and "resultType" not in result:
        yield "the result has no `resultType`"
    is_error = result.get("isError", False)
    if not isinstance(is_error, bool):
        yield f"`isError` is {kind_of(is_error)}"
    blocks = result.get("content")
    if not isinstance(blocks, list):
        yield f"`content` is {kind_of(blocks)}" if "content" in result else "the result has no `content`"
        return
    for number, block in enumerate(blocks):
        if (wrong := _block(block, revision)) is not None:
            yield f"content block {number} {wrong}"


def _block(block: Any, revision: str) -> str | None:
    if not isinstance(block, dict):
        return f"is {kind_of(block)}"
    if "type" not in block:
        return "has no `type`"
    kind = block["type"]
    if not isinstance(kind, str):
        return f"has {kind_of(kind)} as its `type`"
    if kind not in _SINCE:
        return f"has the unknown type {json.dumps(cropped(kind))}"
    if revision and revision < _SINCE[kind]:
        return f"has the type `{kind}`, which revision {revision} does not support (since {_SINCE[kind]})"
    for key in _STRINGS[kind]:
        if not isinstance(block.get(key), str):
            return f"(`{kind}`) has {f'{kind_of(block[key])} as its' if key in block else 'no'} `{key}`"
    if kind == "resource":
        return _resource(block.get("resource"))
    return None


def _resource(resource: Any) -> str | None:
    if not isinstance(resource, dict):
        return "(`resource`) has no `resource` object"
    if not isinstance(resource.get("uri"), str):
        return "(`resource`) has no `uri` in its resource"
    if not isinstance(resource.get("text"), str) and not isinstance(resource.get("blob"), str):
        return "(`resource`) has neither `text` nor `blob` in its resource"
    return None


def structured_flaws(result: dict[str, Any], revision: str, output: OutputContract) -> Iterator[ResponseFlaw]:
    """The flaws of the structured content of a success; older revisions do not support it."""
    if revision < STRUCTURED or result.get("resultType", "complete") != "complete":
        return
    if "structuredContent" not in result:
        if output.is_declared:
            yield ResponseFlaw("structured-missing", "the result has no `structuredContent`")
        return
    value = result["structuredContent"]
    if (violation := output.violation(value)) is not None:
        yield ResponseFlaw("structured-invalid", violation)
    elif revision < FIRST_STATELESS and not isinstance(value, dict):
        yield ResponseFlaw("malformed-content", f"`structuredContent` is {kind_of(value)}")


def error_text(envelope: dict[str, Any]) -> str:
    """The whole text of an error, of the protocol or of the tool."""
    error = envelope.get("error")
    if isinstance(error, dict):
        data = error.get("data")
        more = data if isinstance(data, str) else "" if data is None else _as_json(data)
        return f"{error.get('message', '')}\n{more}"
    result = envelope.get("result")
    blocks = result.get("content") if isinstance(result, dict) else None
    texts = [block.get("text") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""
