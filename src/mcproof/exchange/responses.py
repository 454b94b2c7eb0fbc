"""One answer of a tool: what in it is not as the protocol, or the tool's own schema, says.

Only facts are collected here, a kind and what was seen; which of them is how serious, the rules say.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcproof.exchange.connection_facts import cropped
from mcproof.exchange.probe_facts import ResponseFlaw
from mcproof.text.jsontext import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.oracle import Oracle

_SINCE = {"text": "", "image": "", "resource": "", "audio": "2025-03-26", "resource_link": "2025-06-18"}
"""The kinds of content blocks, each with the first revision that has it."""
STRUCTURED = "2025-06-18"
"""The first revision with structured content."""
STATELESS = "2026-07-28"
_STRINGS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}
"""What each block must have, as a text."""

_LONGEST_JSON = 100_000
_LONGEST_FAILURE = 500
"""How long a text is, at most, that tells in plain words what did not work; what is longer is about something."""
_MARK = r"\s{0,20}(?:[^\w\s]{1,4}\s{0,3})?"
"""What may stand before it: a sign, the stars of Markdown."""
_NOTHING = r"(?:none|null|nil|no|ok|false|n/a|0|\"\"|\'\'|\[\]|\{\})\s{0,3}(?:[\n,;|]|$)|-?\d{1,9}\.\d"
"""What stands after it where there was no error, or where it is a measure."""
_SAYS_ERROR = re.compile(
    rf"{_MARK}(?:[\w.]{{0,80}}(?:Error|Exception)|ERROR|FATAL|error|fatal(?: error)?|Fatal error)"
    r"\s?(?:\[[^\]\n]{0,40}\]|\([^)\n]{0,40}\)|-?\d{1,6})?"
    rf"[*_`]{{0,3}}\s?:\s{{0,3}}(?!(?i:{_NOTHING}))\S"
)
"""The beginning of a text that reports an error, as opposed to one that is about errors."""
_DOING = (
    "access|add|call|connect|creat|delet|download|execut|fetch|find|gett?|initializ|list|load|open|pars|perform|"
    "process|query|read|retriev|runn?|sav|search|send|start|updat|upload|validat|writ"
)
_SAYS_FAILURE = re.compile(
    rf"{_MARK}(?:Error (?:while |when |in )?(?:{_DOING})ing\b[^\n:]{{0,120}}:\s?\S"
    rf"|(?:Failed|Unable) to (?:{_DOING})e?\b"
    r"|An? (?:\w{1,20} ){0,2}error (?:has )?occurred\b)"
)
"""The same in plain words, which only a short text means."""
_LOG_LINE = re.compile(r"\n\s{0,8}\W?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b")
_TRACEBACK = "Traceback (most recent call last)"


class OutputContract:
    """What a tool promises about its structured content."""

    def __init__(self, schema: Any) -> None:
        self.is_declared = isinstance(schema, dict)
        self._oracle: Oracle | None = None
        if self.is_declared:
            from mcproof.generation.oracle import Oracle

            self._oracle = Oracle(schema)

    def breach(self, value: Any) -> str | None:
        """Where a value breaks the schema, in words; None where it does not, or the schema is none."""
        objection = self._oracle.rejection(value) if self._oracle is not None else None
        if objection is None:
            return None
        message, where = objection
        return cropped(message) + (f" at {cropped(where)}" if where else "")


def flaws_of(result: Any, revision: str | None, output: OutputContract) -> list[ResponseFlaw]:
    """What is wrong with the result of a call, by the revision that the server speaks."""
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
    """What is wrong with the blocks of content."""
    if revision >= STATELESS and result.get("resultType") not in ("complete", None):
        return  # it is no result of the tool yet
    if revision >= STATELESS and "resultType" not in result:
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
        return f"has {kind_of(kind)} as its type"
    if kind not in _SINCE:
        return f"is of the type {json.dumps(cropped(kind))}, which does not exist"
    if revision and revision < _SINCE[kind]:
        return f"is of the type `{kind}`, which came with revision {_SINCE[kind]}; the server speaks {revision}"
    for key in _STRINGS[kind]:
        if not isinstance(block.get(key), str):
            return f"(`{kind}`) has {f'{kind_of(block[key])} as its' if key in block else 'no'} `{key}`"
    if kind == "resource":
        return _resource(block.get("resource"))
    return None


def _resource(resource: Any) -> str | None:
    if not isinstance(resource, dict):
        return "(`resource`) has no resource in it"
    if not isinstance(resource.get("uri"), str):
        return "(`resource`) has no `uri` in its resource"
    if not isinstance(resource.get("text"), str) and not isinstance(resource.get("blob"), str):
        return "(`resource`) has neither `text` nor `blob` in its resource"
    return None


def structured_flaws(result: dict[str, Any], revision: str, output: OutputContract) -> Iterator[ResponseFlaw]:
    """What is wrong with the structured content of a success; older revisions have none, whatever a tool declares."""
    if revision < STRUCTURED or result.get("resultType", "complete") != "complete":
        return
    if "structuredContent" not in result:
        if output.is_declared:
            yield ResponseFlaw("structured-missing", "the result has no `structuredContent`")
        return
    value = result["structuredContent"]
    if (breach := output.breach(value)) is not None:
        yield ResponseFlaw("structured-invalid", breach)
    elif revision < STATELESS and not isinstance(value, dict):
        yield ResponseFlaw("malformed-content", f"`structuredContent` is {kind_of(value)}")


def _error_text(result: dict[str, Any]) -> str | None:
    """The text of a result that says that it is an error, though nothing else does."""
    blocks = result.get("content")
    if not isinstance(blocks, list) or len(blocks) != 1 or not isinstance(blocks[0], dict):
        return None
    text = blocks[0].get("text")
    if not isinstance(text, str):
        return None
    if _reports_error(text):
        return text
    if text.lstrip().startswith("{") and len(text) <= _LONGEST_JSON and _tells_error(text):
        return text
    return None


def _reports_error(text: str) -> bool:
    """Whether a text is the report of an error, in the words that servers use for it."""
    if text.lstrip().startswith(_TRACEBACK):
        return True
    if len(text) <= _LONGEST_FAILURE and _SAYS_FAILURE.match(text):
        return True
    return _SAYS_ERROR.match(text) is not None and _LOG_LINE.search(text, 0, _LONGEST_JSON) is None


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
"""The members of an object that reports how a call went, as opposed to one that was asked for."""
_RECORD = ("id", "uuid", "state", "data", "result", "results", "items")
"""Members of an object that was asked for, and may well have an error of its own."""


def _tells_error(text: str) -> bool:
    """Whether a text is an object of JSON that says that the call failed."""
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
    says_no = value.get("status") == "error" or value.get("success") is False or value.get("ok") is False
    return says_no and _ENVELOPE.issuperset(value)


def error_text(envelope: dict[str, Any]) -> str:
    """All that an error says to whoever called, of the protocol's kind or of the tool's."""
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
