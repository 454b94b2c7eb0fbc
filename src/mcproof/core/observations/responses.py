"""Recognise a text that reports the failure of a call, in the usual phrases and objects of servers.

Precision comes first: a text about errors, a log, a list of results, a record of another operation that failed, and the
verdict of a validator are successes.

| text | error if |
| --- | --- |
| `Error: …`, `ValueError: …`, `fatal: …`, a traceback | it begins so, and is not a log |
| plain words: `Failed to fetch …`, `Missing parameter: …` | it begins so, and is short |
| `{"error": …}` | the error is not empty, and the object has no requested data and no verdict such as `valid` |
| `{"status": "error"}`, `{"success": false}` | the object has nothing but an explanation and a few plain values |
| `{"detail": "…"}`, `{"result": "…"}` | the only member is itself such a text |
"""

from __future__ import annotations

import json
import re
from typing import Any

_LONGEST_JSON = 100_000
_LONGEST_PHRASE = 500
"""The longest text that is taken for an error in plain words; longer ones are content."""
_MOST_LINES = 60
"""The most lines of an error message with its stack trace; longer texts are content."""
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
_LOG_LINE = re.compile(r"\n\s{0,8}\W?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b")
_TRACEBACK = "Traceback (most recent call last)"

_VERBS = (
    "access|add|analyz|calculat|call|check|comput|connect|convert|creat|decod|delet|download|evaluat|execut|export|"
    "extract|fetch|find|generat|gett?|import|initializ|insert|list|load|open|pars|perform|process|query|read|render|"
    "resolv|retriev|runn?|sav|search|send|start|updat|upload|validat|writ"
)
_INPUT = r"(?:input|argument|param(?:eter)?|field|property|option|key)s?"
_QUOTED = r"['\"`][\w.\-\[\]]{1,60}['\"`]"
_NAME = rf"(?:{_QUOTED}|[\w.\-]{{1,60}})"
_IDENTIFIER = r"(?-i:[a-z][\w.]{0,60}|[A-Z][A-Z0-9]{0,30}_[A-Z0-9_]{1,30})"
_NAMED_INPUT = rf"(?:{_INPUT} {_NAME}|{_QUOTED}(?: {_INPUT})?|{_NAME} {_INPUT}|{_IDENTIFIER})"
"""An argument: by its kind, in quotes, or by a name in lower case, unlike the first word of a sentence."""
_END = r"(?:[.!]?\s{0,3}$|[.:;,(]\s?\S)"
"""The end of the text, or a detail."""
PHRASES = (
    # The operation failed.
    rf"Error (?:while |when |in )?(?:{_VERBS})ing\b[^\n:]{{0,120}}:\s?\S",
    rf"(?:Failed|Unable) to (?:{_VERBS})e?\b",
    rf"(?:Could not|Couldn't|Cannot|Can't) (?!find)(?:{_VERBS})e?\b",
    r"An? (?:\w{1,20} ){0,2}error (?:has )?occurred\b",
    r"Something went wrong\b",
    r"(?:(?:API|HTTP|Tool) )?(?:Operation|Query|Request|Search|Execution|Call|Connection|Authentication|Login|Download|"
    r"Upload|Lookup|Command)(?: execution)? failed(?::\s?\S|[.!]?\s{0,3}$| with (?:status|code|error|HTTP)\b)",
    # The arguments are wrong.
    rf"Missing (?:(?:required|mandatory|query|input|path) ){{0,2}}{_INPUT}\b",
    rf"(?:The )?(?:required )?{_NAMED_INPUT} (?:is|are) (?:required|missing){_END}",
    rf"(?:The )?{_NAMED_INPUT} (?:must|should) (?:not )?(?:be|have|contain|match|start|end)\b",
    rf"(?:Invalid|Unexpected|Unrecognized|Unsupported) (?:tool )?{_INPUT}(?: (?:type|value|name)s?)?"
    rf"(?:\s?:\s?\S|[.!]?\s{{0,3}}$| (?:for|to|in|provided|supplied|given)\b| {_NAME}\s?[.:,;])",
    r"Input validation error: ",
    r"\d{1,4} validation errors? (?:for|in) ",
    rf"Unknown (?:tool|function|method|command|action|operation|{_INPUT})"
    rf"(?: (?:name|type|requested|called))?(?: {_NAME})?{_END}",
    r"(?:Tool|Function|Command|Method|File|Directory|Path)(?: \S{1,200})? (?:not found|does not exist)\b",
    r"No such (?:tool|file|file or directory|directory|function|method|command)\b",
    # The service is not available, or refuses.
    r"Max(?:imum)? (?:number of )?(?:retries|attempts|requests) (?:(?:was|were|has been) )?(?:exceeded|reached)\b",
    r"Too many (?:requests|attempts|retries)\b",
    r"(?:API )?(?:Rate limit|Quota|Request limit|Timeout|Time limit) (?:exceeded|reached)\b",
    r"(?:The )?(?:request|connection|operation|query|call) (?:timed out|was refused|refused|was reset|reset by peer)\b",
    r"(?:Network|Connection|Server|Internal(?: server)?|API|HTTP|Database|Request|Timeout|Validation|Authentication|"
    r"Authorization|Unexpected|Unknown) error(?: \d{3})?(?:\s?:\s?\S|[.!]?\s{0,3}$)",
    r"(?:HTTP |Status |Status code |Error )?(?:4\d\d|5\d\d)\s?[:\-–]?\s?(?:Client Error|Server Error|Bad Request|"
    r"Unauthorized|Forbidden|Not Found|Method Not Allowed|Unprocessable|Too Many Requests|Internal Server Error|"
    r"Bad Gateway|Service Unavailable|Gateway Timeout)\b",
    r"(?:Access|Permission) denied\b",
    r"(?:Unauthorized|Forbidden|Not authenticated|Not logged in|Authentication (?:is )?required)"
    r"(?:[.!]?\s{0,3}$|[.:,;]\s?\S)",
    r"(?:No|Missing|Invalid) (?:[\w\-]{1,20} ){0,2}(?:API[ _]key|access token|api token|credentials)\b",
    r"(?:[\w\-]{1,30} ){0,2}(?:API[ _]key|access token|credentials) (?:(?:is|are) )?(?:not (?:set|found|configured|"
    r"provided)|missing|required|invalid)\b",
)
"""The beginnings of short texts that report an error in plain words."""
_PHRASE = re.compile(f"{_MARK}(?:{'|'.join(PHRASES)})", re.IGNORECASE)

_EXPLANATIONS = ("error", "message", "msg", "reason", "detail", "details", "error_message", "errorMessage")
_ENVELOPE = frozenset(
    {"status", "success", "ok", "error", "errors", "message", "msg", "reason", "detail", "details", "hint"}
    | {"code", "statusCode", "status_code", "error_code", "errorCode", "error_type", "errorType", "type", "tool"}
    | {"data", "result", "results", "timestamp", "request_id", "requestId", "suggestion", "suggestions"}
    | {"error_message", "errorMessage", "traceback", "help", "documentation_url", "title", "isError", "content"}
)
"""Members of an object that reports success or failure, as opposed to requested data."""
_RECORD = frozenset({"id", "uuid", "state", "data", "result", "results", "items", "name", "service", "job", "task"})
"""Members of requested data, which may have an error or a status of its own."""
_MOST_ECHOES = 4
"""How many members besides the envelope repeat the request, such as `file_path`."""
VERDICTS = frozenset(
    {"valid", "is_valid", "isValid", "passed", "compliant", "healthy", "available", "reachable", "connected", "exists"}
    | {"found", "matches", "supported", "installed", "well_formed", "wellFormed", "satisfiable", "equal"}
)
"""Boolean members that answer the question that was asked: the call succeeded, also if the answer is no."""
_WRAPPERS = frozenset({"detail", "message", "msg", "result", "text", "output", "response", "content"})


def reported_error(result: dict[str, Any]) -> str | None:
    """The text of a result that reports an error; None if the result is a success."""
    blocks = result.get("content")
    if not isinstance(blocks, list) or len(blocks) != 1 or not isinstance(blocks[0], dict):
        return None
    text = blocks[0].get("text")
    return text if isinstance(text, str) and is_error_text(text) else None


def is_error_text(text: str) -> bool:
    """Whether a text reports the failure of the call that it responds to."""
    if text.lstrip().startswith("{"):
        return len(text) <= _LONGEST_JSON and _is_error_json(text)
    return _is_error_message(text)


def _is_error_message(text: str) -> bool:
    if text.lstrip().startswith(_TRACEBACK):
        return True
    if len(text) <= _LONGEST_PHRASE and _PHRASE.match(text):
        return _LOG_LINE.search(text) is None
    return (
        _ERROR.match(text) is not None
        and text.count("\n") < _MOST_LINES
        and _LOG_LINE.search(text, 0, _LONGEST_JSON) is None
    )


def _is_error_json(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and _is_error_object(value)


def _is_error_object(value: dict[str, Any]) -> bool:
    """Whether an object reports the failure of the call."""
    if any(isinstance(value.get(name), bool) for name in VERDICTS):
        return False
    if value.get("isError") is True:
        return True
    if len(value) == 1:
        [(name, only)] = value.items()
        if name in _WRAPPERS:
            return isinstance(only, str) and _is_error_message(only)
    error = value.get("error")
    if isinstance(error, (str, dict)) and error and str(error).lower() not in ("none", "null", "ok"):
        return not any(value.get(name) for name in ("id", "uuid", "state", "data", "result", "results", "items"))
    if value.get("errors") and "data" in value and value["data"] is None:  # GraphQL
        return True
    return (
        _is_failure(value) and any(_is_explanation(value.get(name)) for name in _EXPLANATIONS) and _is_envelope(value)
    )


def _is_failure(value: dict[str, Any]) -> bool:
    """Whether a status member of an object means failure."""
    code = value.get("statusCode", value.get("status_code", value.get("code")))
    return (
        value.get("status") == "error"
        or value.get("success") is False
        or value.get("ok") is False
        or value.get("error") is True
        or (type(code) is int and 400 <= code < 600)
    )


def _is_explanation(value: Any) -> bool:
    return isinstance(value, (str, list, dict)) and bool(value)


def _is_envelope(value: dict[str, Any]) -> bool:
    """Whether an object consists of its status, an explanation, and a few plain values that repeat the request."""
    others = value.keys() - _ENVELOPE
    if any(value.get(name) for name in _RECORD) or len(others) > _MOST_ECHOES:
        return False
    return not any(
        name.endswith(("_at", "At", "_id", "Id")) or (isinstance(value[name], (dict, list)) and value[name])
        for name in others
    )
