"""A request and its response on a terminal, each on one line, with the offending argument marked."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.console import display_width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import ReportedFinding
    from mcproof.core.console import Style

REQUEST, RESPONSE = "request ", "response"
_LABEL = len(RESPONSE) + 2
_ENVELOPE = re.compile(
    r'\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:\d+|"[^"]*"|null)\s*,\s*)*"(?:result|(?P<error>error))"\s*:\s*'
    r'(?:\{\s*"content"\s*:\s*\[\s*\{\s*(?:"type"\s*:\s*"text"\s*,\s*)?"text"\s*:\s*)?'
)
"""The beginning of a response, as mcproof or a server writes it."""


class SentRequest(NamedTuple):
    """The parameters of a request as text, and the part to mark."""

    text: str
    start: int = 0
    end: int = 0


def exchanges_of(shown: ReportedFinding, style: Style) -> list[dict[str, Any]]:
    """Return the exchanges that show a finding: the first, or all if all findings are shown."""
    evidence = shown.evidence
    if evidence is None or not isinstance(evidence.get("sent"), str):
        return []
    examples = evidence.get("examples") if style.examples is None else None
    every = [each for each in examples if isinstance(each, dict)] if isinstance(examples, list) else []
    return every or [evidence]


def exchange_lines(exchange: dict[str, Any], shown: ReportedFinding, style: Style) -> Iterator[str]:
    """Render the request, marks under the offending argument, and the response unless the message has it."""
    room = max(8, style.width - _LABEL)
    request = _marked(exchange, shown.message)
    start, end = (display_width(style.text(request.text[:at], 1_000)) for at in (request.start, request.end))
    yield f"{style.paint(REQUEST, 'dim')}  {style.fitting(request.text, room)}"
    if end > start and start < room - 1:
        yield " " * (_LABEL + start) + style.paint("^" * (min(end, room) - start), shown.level)
    response = exchange.get("answer")
    if isinstance(response, str) and response and response not in shown.message:
        yield f"{style.paint(RESPONSE, 'dim')}  {style.fitting(readable_response(response), room)}"


def _marked(exchange: dict[str, Any], message: str) -> SentRequest:
    """Return a request with the argument to mark: the one that the exchange is about, or an undeclared one."""
    sent = str(exchange["sent"])
    arguments = _parsed(sent)
    if not isinstance(arguments, dict):
        return SentRequest(sent)
    about = str(exchange.get("argument", ""))
    names = [key for key in arguments if about == key or about.startswith((f"{key}.", f"{key}["))]
    names = names or [key for key in arguments if f"undeclared `{key}`" in message]
    marked = max(names, key=len, default=None)
    text, start, end = "{", 0, 0
    for key, value in arguments.items():
        member = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        text += ", " if len(text) > 1 else ""
        if key == marked:
            start, end = len(text), len(text) + len(member)
        text += member
    return SentRequest(f"{text}}}", start, end)


def readable_response(response: str) -> str:
    """Return a response without its envelope; a result that is one text as that text."""
    message = _parsed(response)
    if message is None and (envelope := _ENVELOPE.match(response)) is not None:  # cropped
        return f"{'error ' if envelope['error'] else ''}{response[envelope.end() :]}"
    if not isinstance(message, dict):
        return response
    if "error" in message:
        return f"error {json.dumps(message['error'], ensure_ascii=False)}"
    result = message.get("result")
    if not isinstance(result, dict):
        return response
    content = result.get("content")
    if isinstance(content, list) and len(content) == 1:
        block = content[0]
        is_text = isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        if is_text and _repeats(block["text"], result):
            return ("isError: " if result.get("isError") is True else "") + json.dumps(
                block["text"], ensure_ascii=False
            )
    return json.dumps(result, ensure_ascii=False)


def _repeats(text: str, result: dict[str, Any]) -> bool:
    """Whether the structured content of a result has nothing but its text, as SDKs write it; also if it has none."""
    structured = result.get("structuredContent")
    if "structuredContent" not in result or structured == _parsed(text):
        return True
    return isinstance(structured, dict) and list(structured.values()) in ([text], [_parsed(text)])


def _parsed(text: str) -> Any:
    """Return a text as JSON; None if it is not, such as a cropped one."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
