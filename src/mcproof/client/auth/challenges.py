"""Parse `WWW-Authenticate`: what a server requires."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_CHALLENGE = 16_384
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER = re.compile(rf'({_WORD})\s*=\s*(?:"((?:[^"\\]|\\.)*+)"|([^\s,"]+))')
_SCHEME = re.compile(rf"({_WORD})(?=\s|,|$)")
_SEPARATORS = re.compile(r"[\s,]*")


class Challenge(NamedTuple):
    """The parameters of a `Bearer` challenge; empty where it has none."""

    resource_metadata: str = ""
    scope: str = ""
    error: str = ""


def bearer_challenge(header: str) -> Challenge:
    """The `Bearer` challenge in a header: the first one with parameters."""
    found = [parameters for scheme, parameters in _challenges(header) if scheme == "bearer"]
    best = next(filter(None, found), {})
    scope = " ".join(filter(is_scope, best.get("scope", "").split()))
    return Challenge(best.get("resource_metadata", ""), scope, best.get("error", ""))


def _challenges(header: str) -> list[tuple[str, dict[str, str]]]:
    challenges: list[tuple[str, dict[str, str]]] = []
    text, at = header[:LONGEST_CHALLENGE], 0
    while True:
        separators = _SEPARATORS.match(text, at)
        at = separators.end() if separators is not None else at
        if at >= len(text):
            return challenges
        if (parameter := _PARAMETER.match(text, at)) is not None:
            if challenges:
                name, quoted, plain = parameter.groups()
                value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
                challenges[-1][1].setdefault(name.lower(), value)
            at = parameter.end()
        elif (scheme := _SCHEME.match(text, at)) is not None:
            challenges.append((scheme[1].lower(), {}))
            at = scheme.end()
        else:
            at += 1


def joined_scopes(*scopes: str) -> str:
    """The scopes of all texts, each once, in order."""
    return " ".join(dict.fromkeys(each for text in scopes for each in text.split()))


def is_scope(text: str) -> bool:
    """Whether a text is one scope: visible ASCII characters other than quotes and backslashes."""
    return bool(text) and all("!" <= each <= "~" and each not in '"\\' for each in text)
