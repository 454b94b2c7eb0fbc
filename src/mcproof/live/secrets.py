"""Names for targets that give nothing away: what a report may say about a command or a URL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HIDDEN = "***"
SHORTEST = 4
"""What is shorter is no secret, and hiding it would hide half of every text."""

_SECRET_WORD = re.compile(
    r"(^|[-_.=]|(?<=[a-z])(?=[A-Z]))"
    r"(?i:api[-_.]?key|key|token|secret|password|passwd|pwd|auth|authorization|credentials?|bearer)s?$"
)
_SECRET_SHAPE = re.compile(
    r"(sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abps]|AKIA|AIza|ey[JK])[-_A-Za-z0-9.]{12,}|[A-Fa-f0-9]{32,}|[-_A-Za-z0-9+/]{40,}={0,2}"
)
_URL = re.compile(r"[A-Za-z][-+.A-Za-z0-9]*+://[^\s\"'<>]++")


def redacted_command(command: Sequence[str]) -> list[str]:
    """A command without the values that look like secrets."""
    return _redacted_command(command, lambda _: None)


def secrets_of_command(command: Sequence[str]) -> list[str]:
    """What `redacted_command` hides."""
    found: list[str] = []
    _redacted_command(command, found.append)
    return found


def _redacted_command(command: Sequence[str], found: Callable[[str], None]) -> list[str]:
    def hidden(value: str) -> str:
        found(value)
        found(value.rpartition(" ")[2])
        return HIDDEN

    shown: list[str] = []
    hide_next = False
    for word in command:
        if hide_next and not word.startswith("-"):
            shown.append(hidden(word))
            hide_next = False
            continue
        name, sign, value = _named(word)
        if sign and value and _SECRET_WORD.search(name):
            shown.append(f"{name}{sign}{hidden(value)}")
        else:
            shown.append(_redacted_text(word, found))
        hide_next = word.startswith("-") and not sign and _SECRET_WORD.search(word) is not None
    return shown


def _named(word: str) -> tuple[str, str, str]:
    """A word as a name and a value: `--name=value`, `NAME=value`, `Name: value`, or `--header=Name: value`."""
    name, sign, value = word.partition("=")
    inner, colon, rest = value.partition(": ")
    if sign and colon and _SECRET_WORD.search(inner):
        return f"{name}={inner}", colon, rest
    if not sign or ": " in name:
        return word.partition(": ")
    return name, sign, value


def redacted_text(text: str) -> str:
    """A text without what has the shape of a secret and the secret parts of URLs; paths and plain words stay."""
    return _redacted_text(text, lambda _: None)


def _redacted_text(text: str, found: Callable[[str], None]) -> str:
    pieces: list[str] = []
    end = 0
    for url in _URL.finditer(text):
        pieces += [_without_shapes(text[end : url.start()], found), _redacted_url(url[0], found)]
        end = url.end()
    return "".join([*pieces, _without_shapes(text[end:], found)])


def _without_shapes(text: str, found: Callable[[str], None]) -> str:
    def hidden(shape: re.Match[str]) -> str:
        if "/" in shape[0]:
            return shape[0]
        found(shape[0])
        return HIDDEN

    return _SECRET_SHAPE.sub(hidden, text)


def redacted_url(url: str) -> str:
    """A URL without its user, password, fragment and the values of its query."""
    return _redacted_url(url, lambda _: None)


def secrets_of_url(url: str) -> list[str]:
    """What `redacted_url` hides, in each way that a server may repeat it."""
    from base64 import b64encode
    from urllib.parse import unquote, unquote_plus, urlsplit

    found: list[str] = []
    _redacted_url(url, found.append)
    try:
        login = unquote(urlsplit(url).netloc.rpartition("@")[0])
    except ValueError:
        login = ""
    coded = [b64encode(login.encode(errors="replace")).decode()] if login else []
    return [*found, *map(unquote, found), *map(unquote_plus, found), *coded]


def _redacted_url(url: str, found: Callable[[str], None]) -> str:
    from urllib.parse import urlsplit, urlunsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        found(url)
        return HIDDEN
    login, _, host = parts.netloc.rpartition("@")
    for secret in (login, login.partition(":")[2], parts.fragment):
        found(secret)
    query = []
    for pair in filter(None, parts.query.split("&")):
        name, equals, value = pair.partition("=")
        found(value if equals else pair)
        query.append(f"{name}={HIDDEN}" if equals else HIDDEN)
    path = "/".join(_without_shapes(segment, found) for segment in parts.path.split("/"))
    return urlunsplit((parts.scheme, host, path, "&".join(query), ""))


def hiding(secrets: Iterable[str], shortest: int = SHORTEST) -> Callable[[str], str]:
    """What hides known secrets in a text, wherever a server may repeat them: whole, a line of them, or cut off."""
    known = {part for secret in secrets for part in (secret, secret.strip(), *_long_lines(secret))}
    longest_first = sorted((each for each in known if len(each) >= shortest), key=lambda each: (-len(each), each))

    def hide(text: str) -> str:
        for secret in longest_first:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        for secret in longest_first:
            text = _without_cut(text, secret)
        return text

    return hide


def _long_lines(secret: str) -> list[str]:
    """The lines of a key file, say; a server may write them one by one."""
    lines = secret.splitlines()
    return [line.strip() for line in lines if len(line.strip()) >= 8] if len(lines) > 1 else []


def _without_cut(text: str, secret: str) -> str:
    """A text whose evidence was cropped in the middle of a secret, without the beginning that is left."""
    first = secret[:SHORTEST]
    at = text.find(first)
    while at >= 0:
        cut = text.find("…", at)
        end = len(text) if cut < 0 else cut
        if secret.startswith(text[at:end]):
            text = f"{text[:at]}{HIDDEN}{text[end:]}"
        at = text.find(first, at + 1)
    return text
