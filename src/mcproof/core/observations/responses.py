"""What a response shows: flaws of its structure, errors that are not marked as errors, and leaks.

Only facts are collected here; the rules decide how serious they are. Precision comes first: a text about errors, a
log, a list of results, a record of another operation that failed, and the verdict of a validator are successes.
Nothing that the caller has sent is a leak. A text reports an error if:

| text | condition |
| --- | --- |
| `Error: ...`, `ValueError: ...`, `fatal: ...`, a traceback | it begins so, and is not a log |
| plain words: `Failed to fetch ...`, `Missing parameter: ...` | it begins so, and is short |
| `{"error": ...}` | the error is not empty, and the object has no requested data and no verdict such as `valid` |
| `{"status": "error"}`, `{"success": false}` | the object has nothing but an explanation and a few plain values |
| `{"detail": "..."}`, `{"result": "..."}` | the only member is itself such a text |
| `# Check error`, then any of these | the heading ends with the word |
| a content block of the type `error` | always; the protocol has no such type |
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.probes import ERROR_AS_SUCCESS, ResponseFlaw
from mcproof.core.protocol import FIRST_STATELESS
from mcproof.core.text.json_document import kind_of
from mcproof.core.text.secrets import secrets_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.core.schema.validation import Oracle


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
    rf"Error (?:while |when |in )?(?:{_VERBS})ing\b[^\n:]{{0,120}}:\s?\S",
    rf"(?:Failed|Unable) to (?:{_VERBS})e?\b",
    # Without "find": a search that finds nothing has not failed.
    rf"(?:Could not|Couldn't|Cannot|Can't) (?!find)(?:{_VERBS})e?\b",
    r"(?:An? (?:\w{1,20} ){0,2})?error (?:has )?occurred\b",
    r"Something went wrong\b",
    r"(?:(?:API|HTTP|Tool) )?(?:Operation|Query|Request|Search|Execution|Call|Connection|Authentication|Login|Download|"
    r"Upload|Lookup|Command)(?: execution)? failed(?::\s?\S|[.!]?\s{0,3}$| with (?:status|code|error|HTTP)\b)",
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
    r"(?:[\w\-]{1,30} ){0,2}['\"`][^'\"`\n]{1,200}['\"`] (?:was |is |could )?not (?:be )?found\b[^\n]{0,100}$",
    r"(?:Session|Connection|Environment|Workspace)(?: (?:id|name))?(?: \S{1,100})? (?:not found|does not exist)\b",
    r"Unknown \w{1,30}: \S[^\n]{0,100}$",
    r"No (?:[\w\-]{1,20} ){1,4}(?:was |were )?(?:provided|specified|supplied|given)\b",
    r"No such (?:tool|file|file or directory|directory|function|method|command)\b",
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
"""The beginnings of short texts that report an error in plain words: of the operation, the arguments or the service."""
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
_HEADING = re.compile(r"\s{0,20}#{1,6} [^\n]{0,100}(?:error|failed|failure)[*_`]{0,3}[.!]?\s*\n\s*", re.IGNORECASE)
"""A Markdown heading that announces an error."""
_LONGEST_UNSENT = 200
"""The longest value that stays in a text when the values that the caller sent are taken out of it."""
_RUN = re.compile(r"(.)\1{99,}", re.DOTALL)
_WRAPPERS = frozenset({"detail", "message", "msg", "result", "text", "output", "response", "content"})


def reported_error(result: dict[str, Any], arguments: Any = None) -> str | None:
    """The text of a result that reports an error; None if the result is a success.

    An error may repeat a megabyte of the arguments, which does not make it content.
    """
    blocks = result.get("content")
    if not isinstance(blocks, list) or len(blocks) != 1 or not isinstance(blocks[0], dict):
        return None
    text = blocks[0].get("text")
    if not isinstance(text, str):
        return None
    return text if blocks[0].get("type") == "error" or is_error_text(_without_echo(text, arguments)) else None


def _without_echo(text: str, arguments: Any) -> str:
    """A text without the long values that the caller sent, also if the server has cut them."""
    if len(text) > _LONGEST_PHRASE:
        for value in texts_in(arguments):
            if len(value) > _LONGEST_UNSENT:
                text = text.replace(value, "…")
        text = _RUN.sub("…", text)
    return text


def texts_in(arguments: Any) -> Iterator[str]:
    """Every string of the arguments, at any depth, names of members included."""
    waiting = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value


def is_error_text(text: str) -> bool:
    """Whether a text reports the failure of the call that it responds to."""
    if (heading := _HEADING.match(text)) is not None:
        text = text[heading.end() :]
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
    if value.get("errors") and "data" in value and value["data"] is None:  # GraphQL reports errors with status 200
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


LOOKED_AT = 20_000
"""How many characters are searched; a stack trace is near the beginning."""

_SOURCES = "py|pyx|js|mjs|cjs|jsx|ts|mts|cts|tsx|go|rs|java|kt|scala|rb|php|cs|fs|c|cc|cpp|swift|ex|exs|lua"
_FRAME = r"(?:\n|\\n)(?:[ \t]|\\t){1,12}at "
"""The beginning of a line of a stack trace; in JSON the line break before it is escaped."""
_TRACES = re.compile(
    # In Python, a frame whose file is `<string>` is code that the caller sent, and reveals nothing.
    r'Traceback \(most recent call last\)(?!:(?:\s|\\n){1,12}File \\?"<)'
    r'|File \\?"(?P<file>[^"<\n][^"\n]{0,300}?)\\?", line \d{1,9}'
    rf"|{_FRAME}[^\n]{{1,300}}?[A-Za-z>]:\d{{1,9}}:\d{{1,9}}\)?"
    rf"|{_FRAME}[\w.$<>/]{{3,200}}\([\w$]{{1,80}}\.(?:java|kt|scala|groovy|clj):\d{{1,9}}\)"
    rf"|{_FRAME}[\w.$<>`+\[\],]{{3,200}}\([^()\n]{{0,200}}\) in [^\n]{{1,300}}?:line \d{{1,9}}"
    rf"|(?:{_FRAME}[\w.$<>`+]{{1,150}}\.[\w$<>`]{{1,80}}\([^()\n]{{0,200}}\)){{2}}"
    r"|goroutine \d{1,9} \[[a-z0-9 ,]{1,40}\]:"
    r"|panicked at [^\n]{1,200}?\.rs:\d{1,9}"
    r"|#\d{1,4} /[^\n]{1,300}?\.php\(\d{1,9}\)"
    r"|(?<![\w/.-])[\w/.-]{1,200}?\.rb:\d{1,9}:in [`']"
    r"|\(\w{1,60} \d{1,9}\.\d{1,9}\.\d{1,9}\) lib/[\w/]{1,200}\.exs?:\d{1,9}:"
)
"""Stack traces of Python; of Node, the JVM and .NET; of Go, Rust, PHP, Ruby and Elixir."""
_PATHS = re.compile(
    rf"(?<![\w:/.\\~@+-])(?:(?:file://)?/(?:[\w.@+~-]{{1,100}}/){{1,30}}(?P<name>[\w.+-]{{1,100}}\.(?:{_SOURCES}))"
    rf"|[A-Za-z]:\\{{1,2}}(?:[^\\\r\n:\"'<>|]{{1,100}}\\{{1,2}}){{1,30}}(?P<windows>[\w.+-]{{1,100}}\.(?:{_SOURCES})))"
    r"(?![\w?-]|\.\w)"
)
_INVENTED_PATH = re.compile(r"(?:(?:file://)?/|[A-Za-z]:\\{1,2})(?:absolute|full|path|your|some|my|example|foo)[/\\]")
"""The beginning of an example path."""
_NO_FILE = re.compile(
    r"\b(?:(?i:e\.g\.?|example|such as|like|instance|url)|GET|POST|PUT|PATCH|DELETE|HEAD)[,:]?\s{0,2}[`\"'(]{0,2}$"
)
"""What precedes an example or the path of a URL."""


class Leak(NamedTuple):
    """What an error message reveals."""

    kind: str
    seen: str
    """The evidence, cropped; of a secret only the beginning."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.seen}"


def leak_in(text: str, sent: str, secrets: Sequence[str] = ()) -> Leak | None:
    """The first leak in a text; `sent` is what the caller sent, `secrets` are values passed to the server."""
    text = text[:LOOKED_AT]
    for value in secrets:
        # Shorter values occur by chance, and what the caller has sent is no leak.
        if len(value) >= 8 and value in text and value not in sent:
            return Leak("a secret of its environment", "***")
    for trace in _TRACES.finditer(text):
        if (trace["file"] or trace[0].strip()) not in sent:
            return Leak("a stack trace", cropped(" ".join(trace[0].replace("\\n", "\n").split())))
    for path in _PATHS.finditer(text):
        if not _was_sent(path, sent) and not _is_example(text, path):
            return Leak("a path of source code", cropped(path[0]))
    shown = secret_in(text, sent)
    return None if shown is None else Leak("a possible secret", shown)


_INTERNAL = re.compile(
    r"'[\w.]{1,60}' object (?:is not (?:subscriptable|iterable|callable)|has no attribute '\w{1,80}'"
    r"|does not support item assignment)"
    r"|unsupported operand type\(s\) for|can only concatenate \w{1,20} \(not \"|must be str, not \w{1,20}$"
    r"|\b(?:list|string|tuple) index out of range\b|^(?:Error[^\n:]{0,60}: )?'[^'\n]{1,80}'$"
    r"|\bCannot (?:read|set) propert(?:y|ies) [^\n]{0,80}?of (?:undefined|null)\b"
    r"|(?<![\w.])\w+\.[\w$.]{1,80} is not a function\b"
    r"|nil pointer dereference|\bNullPointerException\b|index out of range \[\d{1,9}\] with length"
)
"""What Python, JavaScript, Go and Java say about a mistake in a program; a quoted word alone is a `KeyError`."""


def internal_error_in(text: str, sent: str) -> str | None:
    """The words of a text that tell of a mistake in the program, and not of the caller; None if there are none."""
    found = _INTERNAL.search(text[:LOOKED_AT].strip())
    return None if found is None or found[0] in sent else cropped(found[0])


def secret_in(text: str, sent: str = "") -> str | None:
    """The part that may be shown of the first secret in a text; None if there is none."""
    return next((secret.shown for secret in secrets_in(text) if secret.value not in sent), None)


def _was_sent(path: re.Match[str], sent: str) -> bool:
    """Whether the caller named a file, whatever its folder; validators abbreviate what they repeat: `/etc/...ts`."""
    if (path["name"] or path["windows"]) in sent:
        return True
    parts = path[0].split("...")
    return len(parts) > 1 and all(part in sent for part in parts)


def _is_example(text: str, path: re.Match[str]) -> bool:
    """Whether a path is an example or part of a URL."""
    return (
        _INVENTED_PATH.match(path[0]) is not None
        or _NO_FILE.search(text[max(0, path.start() - 20) : path.start()]) is not None
    )


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
            from mcproof.core.schema.validation import Oracle

            self._oracle = Oracle(schema)

    def violation(self, value: Any) -> str | None:
        """How a value violates the schema; None if valid, or if the schema is invalid."""
        objection = self._oracle.rejection(value) if self._oracle is not None else None
        if objection is None:
            return None
        message, where = objection
        return cropped(message) + (f" at {cropped(where)}" if where else "")


def flaws_of(result: Any, revision: str | None, output: OutputContract, arguments: Any = None) -> list[ResponseFlaw]:
    """The flaws of the result of a call in a protocol revision; an error may repeat the arguments."""
    if not isinstance(result, dict):
        return [ResponseFlaw("malformed-content", f"the result is {kind_of(result)}")]
    revision = revision or ""
    flaws = [ResponseFlaw("malformed-content", problem) for problem in _content(result, revision)]
    if result.get("isError"):
        return flaws
    flaws += structured_flaws(result, revision, output)
    if (text := reported_error(result, arguments)) is not None:
        flaws.append(ResponseFlaw(ERROR_AS_SUCCESS, cropped(" ".join(text[:1_000].split()))))
    elif (word := _non_value(result, arguments)) is not None:
        flaws.append(ResponseFlaw("no-value", word))
    return flaws


_NON_VALUE = re.compile(r"\bNaN\b|\bInvalid [Dd]ate\b|\[object Object\]|(?:^|[:=]\s?)undefined\s*$")
_LONGEST_ANSWER = 300
"""The longest text in which such a word is the answer; longer ones may be about the word."""


def _non_value(result: dict[str, Any], arguments: Any) -> str | None:
    """The word for a value that was never computed, such as `NaN`, in a short success; None if there is none."""
    blocks = result.get("content")
    texts = [block.get("text") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    for text in texts:
        if isinstance(text, str) and len(text) <= _LONGEST_ANSWER and (word := _NON_VALUE.search(text)) is not None:
            value = word[0].lstrip(":= ").strip()
            return None if any(value in sent for sent in texts_in(arguments)) else value
    return None


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
