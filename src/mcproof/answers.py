"""One answer of a tool: what in it is not as the protocol, or the tool's own schema, says.

Only facts are collected here, a kind and what was seen; which of them is how serious, the rules say.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcproof.jsontext import kind_of
from mcproof.trial import Flaw
from mcproof.wire import cropped

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_SAYS_ERROR = re.compile(
    r"\s*(?:[^\w\s]{1,3}\s*)?(?:\w*(?:Error|Exception)|ERROR|FATAL|error|fatal(?: error)?|Fatal error)"
    r"\s?(?:\[[^\]\n]{0,40}\]|\([^)\n]{0,40}\)|-?\d{1,6})?\s?:\s?\S"
)
"""The beginning of a text that reports an error, as opposed to one that is about errors."""
_TRACEBACK = "Traceback (most recent call last)"


class OutputContract:
    """What a tool promises about its structured content."""

    def __init__(self, schema: Any) -> None:
        self.is_declared = isinstance(schema, dict)
        self._validator: Any = None
        if self.is_declared:
            import jsonschema_rs

            try:
                self._validator = jsonschema_rs.validator_for(schema, offline=True)
            except (ValueError, RecursionError):  # which is another rule's finding
                self._validator = None

    def breach(self, value: Any) -> str | None:
        """Where a value breaks the schema, in words; None where it does not."""
        if self._validator is None:
            return None
        try:
            if self._validator.is_valid(value):
                return None
            error = next(iter(self._validator.iter_errors(value)))
        except (ValueError, RecursionError, StopIteration):
            return None
        where = "".join(f"/{token}" for token in error.instance_path)
        return cropped(f"{error.message}" + (f" at {where}" if where else ""))


def flaws_of(result: Any, revision: str | None, output: OutputContract) -> list[Flaw]:
    """What is wrong with the result of a call, by the revision that the server speaks."""
    if not isinstance(result, dict):
        return [Flaw("malformed-content", f"the result is {kind_of(result)}")]
    revision = revision or ""
    flaws = [Flaw("malformed-content", each) for each in _content(result, revision)]
    if result.get("isError"):
        return flaws
    flaws += _structured(result, revision, output)
    if (text := _error_text(result)) is not None:
        flaws.append(Flaw("error-as-success", cropped(text)))
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
            yield f"content block {number}: {wrong}"


def _block(block: Any, revision: str) -> str | None:
    if not isinstance(block, dict):
        return kind_of(block)
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _SINCE:
        return f"the type is {json.dumps(cropped(kind)) if isinstance(kind, str) else kind_of(kind)}"
    if revision and revision < _SINCE[kind]:
        return f"`{kind}` came with revision {_SINCE[kind]}, and the server speaks {revision}"
    for key in _STRINGS[kind]:
        if not isinstance(block.get(key), str):
            return f"`{kind}` without `{key}`" if key not in block else f"`{key}` is {kind_of(block[key])}"
    if kind == "resource":
        return _resource(block.get("resource"))
    return None


def _resource(resource: Any) -> str | None:
    if not isinstance(resource, dict):
        return "`resource` without `resource`"
    if not isinstance(resource.get("uri"), str):
        return "the embedded resource has no `uri`"
    if not isinstance(resource.get("text"), str) and not isinstance(resource.get("blob"), str):
        return "the embedded resource has neither `text` nor `blob`"
    return None


def _structured(result: dict[str, Any], revision: str, output: OutputContract) -> Iterator[Flaw]:
    """What is wrong with the structured content; older revisions have none, whatever a tool declares."""
    if revision < STRUCTURED or result.get("resultType", "complete") != "complete":
        return
    if "structuredContent" not in result:
        if output.is_declared:
            yield Flaw("structured-missing", "the result has no `structuredContent`")
        return
    value = result["structuredContent"]
    if (breach := output.breach(value)) is not None:
        yield Flaw("structured-invalid", breach)
    elif revision < STATELESS and not isinstance(value, dict):
        yield Flaw("malformed-content", f"`structuredContent` is {kind_of(value)}")


def _error_text(result: dict[str, Any]) -> str | None:
    """The text of a result that says that it is an error, though nothing else does."""
    blocks = result.get("content")
    if not isinstance(blocks, list) or len(blocks) != 1 or not isinstance(blocks[0], dict):
        return None
    text = blocks[0].get("text")
    if not isinstance(text, str):
        return None
    if _SAYS_ERROR.match(text) or text.lstrip().startswith(_TRACEBACK):
        return text
    if text.lstrip().startswith("{") and len(text) <= _LONGEST_JSON and _tells_error(text):
        return text
    return None


def _tells_error(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    error = value.get("error")
    return (
        (isinstance(error, (str, dict)) and bool(error))
        or value.get("status") == "error"
        or value.get("success") is False
        or value.get("ok") is False
    )


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
