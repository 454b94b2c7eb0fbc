"""Whether an error text tells more than its reader should know: a stack trace, a source path, a secret.

It must not cry wolf: what the caller has sent may be repeated to them, and a file name, a hash or an address of
documentation is no leak. So only shapes that nothing else has are looked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.wire import cropped

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOKED_AT = 20_000
"""How much of a text is searched; a trace stands near its beginning."""

_SOURCES = "py|pyx|js|mjs|cjs|jsx|ts|mts|cts|tsx|go|rs|java|kt|scala|rb|php|cs|fs|c|cc|cpp|swift|ex|exs|lua"
_TRACES = re.compile(
    r"Traceback \(most recent call last\)"
    r'|File "[^"\n]{1,300}", line \d+'
    r"|\n\s{1,12}at [^\n]{1,300}:\d+:\d+\)?"
    r"|\n\s{1,12}at [\w.$<>]{3,200}\([\w$]{1,80}\.(?:java|kt|scala):\d+\)"
    r"|\n\s{1,12}at [^\n]{1,300} in [^\n]{1,300}:line \d+"
    r"|goroutine \d+ \[[a-z ]{1,40}\]:"
    r"|panicked at [^\n]{1,200}\.rs:\d+"
    r"|#\d+ /[^\n]{1,300}\.php\(\d+\)"
)
_PATHS = re.compile(
    rf"(?<![\w:/.\\-])(?:/(?:[\w.@+~-]{{1,100}}/){{1,30}}[\w.+-]{{1,100}}\.(?:{_SOURCES})\b"
    rf"|[A-Za-z]:\\(?:[^\\\s:\"'<>|]{{1,100}}\\){{1,30}}[\w.+-]{{1,100}}\.(?:{_SOURCES})\b)"
)
_SECRETS = re.compile(
    r"-----BEGIN (?:[A-Z]{1,20} ){0,3}PRIVATE KEY-----"
    r"|\b(?:sk|rk|pk)[-_](?:live|test|proj|ant|svcacct|or)[-_][A-Za-z0-9_-]{16,200}"
    r"|\bsk-[A-Za-z0-9]{32,200}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{36,200}|\bgithub_pat_[A-Za-z0-9_]{40,200}|\bglpat-[A-Za-z0-9_-]{20,200}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{20,200}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,2000}"
    r"|\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"']{1,100}:[^\s:/@\"']{3,100}@[\w.-]{1,200}"
)


class Leak(NamedTuple):
    """What an error text gives away."""

    kind: str
    seen: str
    """The part of it, cropped; nothing of a secret but how it begins."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.seen}"


def leak_in(text: str, sent: str, secrets: Sequence[str] = ()) -> Leak | None:
    """What an error text gives away that the caller did not send; `secrets` are values that the server was given."""
    text = text[:LOOKED_AT]
    for value in secrets:
        if len(value) >= 8 and value in text and value not in sent:
            return Leak("a value of its environment", "***")
    if (trace := _TRACES.search(text)) is not None and trace[0].strip() not in sent:
        return Leak("a stack trace", cropped(" ".join(trace[0].split())))
    for path in _PATHS.finditer(text):
        if path[0] not in sent:
            return Leak("a path of source code", cropped(path[0]))
    for secret in _SECRETS.finditer(text):
        if secret[0] not in sent:
            return Leak("what looks like a secret", f"{secret[0][:4]}***")
    return None
