"""Detect leaks in error messages: stack traces, paths of source code, secrets.

To avoid false positives, only unmistakable shapes count, and never what the caller has sent: a file name, a hash, an
example or a documentation URL is not a leak.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.exchange.connection_facts import cropped
from mcproof.text.secret_shapes import secrets_in

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOKED_AT = 20_000
"""How many characters are searched; a stack trace is near the beginning."""

_SOURCES = "py|pyx|js|mjs|cjs|jsx|ts|mts|cts|tsx|go|rs|java|kt|scala|rb|php|cs|fs|c|cc|cpp|swift|ex|exs|lua"
_FRAME = r"(?:\n|\\n)(?:[ \t]|\\t){1,12}at "
"""The beginning of a line of a stack trace; in JSON the line break before it is escaped."""
_TRACES = re.compile(
    # Python; a frame without a file is code from the caller.
    r'Traceback \(most recent call last\)(?!:(?:\s|\\n){1,12}File \\?"<)'
    r'|File \\?"(?P<file>[^"<\n][^"\n]{0,300}?)\\?", line \d{1,9}'
    # Node, JVM, .NET
    rf"|{_FRAME}[^\n]{{1,300}}?[A-Za-z>]:\d{{1,9}}:\d{{1,9}}\)?"
    rf"|{_FRAME}[\w.$<>/]{{3,200}}\([\w$]{{1,80}}\.(?:java|kt|scala|groovy|clj):\d{{1,9}}\)"
    rf"|{_FRAME}[\w.$<>`+\[\],]{{3,200}}\([^()\n]{{0,200}}\) in [^\n]{{1,300}}?:line \d{{1,9}}"
    rf"|(?:{_FRAME}[\w.$<>`+]{{1,150}}\.[\w$<>`]{{1,80}}\([^()\n]{{0,200}}\)){{2}}"
    # Go, Rust, PHP, Ruby, Elixir
    r"|goroutine \d{1,9} \[[a-z0-9 ,]{1,40}\]:"
    r"|panicked at [^\n]{1,200}?\.rs:\d{1,9}"
    r"|#\d{1,4} /[^\n]{1,300}?\.php\(\d{1,9}\)"
    r"|(?<![\w/.-])[\w/.-]{1,200}?\.rb:\d{1,9}:in [`']"
    r"|\(\w{1,60} \d{1,9}\.\d{1,9}\.\d{1,9}\) lib/[\w/]{1,200}\.exs?:\d{1,9}:"
)
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
