"""Find flaws in the result of a call, by the protocol and by the output schema of the tool.

Only facts are collected here; the rules decide how serious they are.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcproof.exchange.connection_facts import cropped
from mcproof.exchange.probe_facts import ResponseFlaw
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

_LONGEST_JSON = 100_000
_LONGEST_FAILURE = 500
"""The longest text that is taken for a plain error message; longer ones are content."""
_MARK = r"\s{0,20}(?:[^\w\s]{1,4}\s{0,3})?"
"""What may precede an error message: a symbol or Markdown emphasis."""
_NOTHING = r"(?:none|null|nil|no|ok|false|n/a|0|\"\"|\'\'|\[\]|\{\})\s{0,3}(?:[\n,;|]|$)|-?\d{1,9}\.\d"
"""What follows `error:` if there was no error, or if it is a measured value."""
_ERROR = re.compile(
    rf"{_MARK}(?:[\w.]{{0,80}}(?:Error|Exception)|ERROR|FATAL|error|fatal(?: error)?|Fatal error)"
    r"\s?(?:\[[^\]\n]{0,40}\]|\([^)\n]{0,40}\)|-?\d{1,6})?"
    rf"[*_`]{{0,3}}\s?:\s{{0,3}}(?!(?i:{_NOTHING}))\S"
)
"""The beginning of an error message, as opposed to a text about errors."""
_VERBS = (
    "access|add|call|connect|creat|delet|download|execut|fetch|find|gett?|initializ|list|load|open|pars|perform|"
    "process|query|read|retriev|runn?|sav|search|send|start|updat|upload|validat|writ"
)
_PLAIN_ERROR = re.compile(
    rf"{_MARK}(?:Error (?:while |when |in )?(?:{_VERBS})ing\b[^\n:]{{0,120}}:\s?\S"
    rf"|(?:Failed|Unable) to (?:{_VERBS})e?\b"
    r"|An? (?:\w{1,20} ){0,2}error (?:has )?occurred\b)"
)
"""The beginning of an error message in plain words, if the text is short."""
_LOG_LINE = re.compile(r"\n\s{0,8}\W?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b")
_TRACEBACK = "Traceback (most recent call last)"


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
    if (text := _error_text(result)) is not None:
        flaws.append(ResponseFlaw("error-as-success", cropped(" ".join(text[:1_000].split()))))
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


def _error_text(result: dict[str, Any]) -> str | None:
    """The text of a result that reports an error without `isError`."""
    blocks = result.get("content")
    if not isinstance(blocks, list) or len(blocks) != 1 or not isinstance(blocks[0], dict):
        return None
    text = blocks[0].get("text")
    if not isinstance(text, str):
        return None
    if _is_error_message(text):
        return text
    if text.lstrip().startswith("{") and len(text) <= _LONGEST_JSON and _is_error_object(text):
        return text
    return None


def _is_error_message(text: str) -> bool:
    """Whether a text is an error message, in the usual phrases of servers."""
    if text.lstrip().startswith(_TRACEBACK):
        return True
    if len(text) <= _LONGEST_FAILURE and _PLAIN_ERROR.match(text):
        return True
    return _ERROR.match(text) is not None and _LOG_LINE.search(text, 0, _LONGEST_JSON) is None


_ENVELOPE = frozenset(
    {
        "status",
        "success",
        "ok",
        "error",
        "errors",
        "message",
        "msg",
        "reason",
        "detail",
        "details",
        "hint",
        "suggestion",
    }
    | {"code", "statusCode", "status_code", "error_code", "errorCode", "error_type", "errorType", "type", "tool"}
    | {"data", "result", "results", "timestamp", "request_id", "requestId"}
)
"""Members of an object that reports success or failure, as opposed to requested data."""
_RECORD = ("id", "uuid", "state", "data", "result", "results", "items")
"""Members of requested data, which may have an `error` member of its own."""


def _is_error_object(text: str) -> bool:
    """Whether a text is a JSON object that reports the failure of the call."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    error = value.get("error")
    if isinstance(error, (str, dict)) and error and str(error).lower() not in ("none", "null", "ok"):
        return not any(value.get(name) for name in _RECORD)
    if value.get("errors") and "data" in value and value["data"] is None:  # GraphQL
        return True
    is_failed = value.get("status") == "error" or value.get("success") is False or value.get("ok") is False
    return is_failed and _ENVELOPE.issuperset(value)


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
