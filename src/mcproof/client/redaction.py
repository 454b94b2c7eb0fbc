"""Masking of secrets: in commands, URLs, catalogs, traces and texts from servers.

`hiding` is for evidence: whole, in parts, encoded or cut off. `learn_secret` hides a value from now on, wherever it
appears. What looks like a secret is decided in `core.text.secrets`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

HIDDEN = "***"
LONGEST_EVIDENCE = 2_000
"""Longer texts are not cropped evidence, so no secret in them is cut off."""
SHORTEST = 4
"""Shorter values are not secrets; hiding them would hide half of every text."""

_WORDS = (
    r"api[-_.]?key|access[-_.]?key|key|token|secret|pass|passphrase|password|passwd|pwd|pat|auth|authorization|"
    r"credentials?|bearer|cookie"
)
_SECRET_WORD = re.compile(rf"(^|[-_.=\s]|(?<=[a-z])(?=[A-Z]))(?i:{_WORDS})s?([-_.](?i:value|id))?$")
_ASSIGNED = re.compile(
    rf"(?i)((?:^|[^A-Za-z0-9])(?:{_WORDS})s?[\"']?\s?[=:]\s?[\"']?)([^\s\"';,&]{{4,}})",
)
"""A name and its value inside a word, such as `Server=x;Password=y` or `sh -c 'TOKEN=z server'`."""
_SECRET_SHAPE = re.compile(
    r"(?<![A-Za-z0-9])(?:[spr]k[-_]|ghp|gho|ghs|github_pat|glpat|xox[abps]|AKIA|AIza|ey[JK])[-_A-Za-z0-9.]{12,}"
    r"|[A-Fa-f0-9]{32,}|[-_A-Za-z0-9+/]{40,}={0,2}"
)
_URL = re.compile(r"[A-Za-z][-+.A-Za-z0-9]*+://[^\s\"'<>]++")


def redacted_command(command: Sequence[str]) -> list[str]:
    """A command with every value that looks like a secret replaced."""
    return _redacted_command(command, lambda _: None)


def secrets_of_command(command: Sequence[str]) -> list[str]:
    """The values that `redacted_command` replaces."""
    secrets: list[str] = []
    _redacted_command(command, secrets.append)
    return secrets


def _redacted_command(command: Sequence[str], report: Callable[[str], None]) -> list[str]:
    def hidden(value: str) -> str:
        report(value)
        report(value.rpartition(" ")[2])
        return HIDDEN

    shown: list[str] = []
    hide_next = False
    for word in command:
        if hide_next and not word.startswith("--"):
            shown.append(hidden(word))
            hide_next = False
            continue
        name, sign, value = _named(word)
        if sign and value and _SECRET_WORD.search(name):
            shown.append(f"{name}{sign}{hidden(value)}")
        else:
            shown.append(_redacted_text(word, report))
        hide_next = word.startswith("-") and not sign and _SECRET_WORD.search(word) is not None
    return shown


def _named(word: str) -> tuple[str, str, str]:
    """Split into name, separator and value: `--name=value`, `NAME=value`, `Name: value`, `--header=Name: value`."""
    name, sign, value = word.partition("=")
    inner, colon, rest = value.partition(": ")
    if sign and colon and _SECRET_WORD.search(inner):
        return f"{name}={inner}", colon, rest
    if not sign or ": " in name:
        return word.partition(": ")
    return name, sign, value


def redacted_text(text: str) -> str:
    """A text without strings shaped like secrets and without the secret parts of URLs."""
    return _redacted_text(text, lambda _: None)


def _redacted_text(text: str, report: Callable[[str], None]) -> str:
    pieces: list[str] = []
    end = 0
    for url in _URL.finditer(text):
        pieces += [_without_shapes(text[end : url.start()], report), _redacted_url(url[0], report)]
        end = url.end()
    return "".join([*pieces, _without_shapes(text[end:], report)])


def _without_shapes(text: str, report: Callable[[str], None]) -> str:
    def hidden(shape: re.Match[str]) -> str:
        # A path is as long as a token, and full of words.
        if "/" in shape[0]:
            return shape[0]
        report(shape[0])
        return HIDDEN

    def hidden_value(pair: re.Match[str]) -> str:
        report(pair[2])
        return f"{pair[1]}{HIDDEN}"

    return _ASSIGNED.sub(hidden_value, _SECRET_SHAPE.sub(hidden, text))


def redacted_url(url: str) -> str:
    """A URL without its user, password, fragment and the values of its query."""
    return _redacted_url(url, lambda _: None)


def secrets_of_url(url: str) -> list[str]:
    """The values that `redacted_url` replaces, in each encoding that a server may repeat them in."""
    from base64 import b64encode
    from urllib.parse import unquote, unquote_plus, urlsplit

    secrets: list[str] = []
    _redacted_url(url, secrets.append)
    try:
        login = unquote(urlsplit(url).netloc.rpartition("@")[0])
    except ValueError:
        login = ""
    coded = [b64encode(login.encode(errors="replace")).decode()] if login else []
    return [*secrets, *map(unquote, secrets), *map(unquote_plus, secrets), *coded]


def _redacted_url(url: str, report: Callable[[str], None]) -> str:
    from urllib.parse import urlsplit, urlunsplit

    try:
        parts = urlsplit(url)
    except ValueError:  # what cannot be taken apart is hidden as a whole
        report(url)
        return HIDDEN
    login, _, host = parts.netloc.rpartition("@")
    for secret in (login, login.partition(":")[2], parts.fragment):
        report(secret)
    query = []
    for pair in filter(None, parts.query.split("&")):
        name, equals, value = pair.partition("=")
        report(value if equals else pair)
        query.append(f"{name}={HIDDEN}" if equals else HIDDEN)
    path = "/".join(_without_shapes(segment, report) for segment in parts.path.split("/"))
    return urlunsplit((parts.scheme, host, path, "&".join(query), ""))


_learned: dict[str, None] = {}
"""Secrets that arrived during the run, such as tokens; every function that hides secrets hides these as well."""


def learn_secret(secret: str) -> None:
    """Hide a secret from now on, whatever it appears in; a short one could be a word of a catalog."""
    if len(secret) >= 8:
        _learned[secret] = None


_PART, _CODED_PART, _LONG_PART = 8, 12, 16
"""How many characters in a row of a secret are hidden: with a digit, in base64, and in any case."""
_LONG_ENOUGH = 12
"""Of shorter secrets no parts are hidden: half of a word is in many texts."""
_ESCAPE = re.compile(
    r"%([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|\\U([0-9A-Fa-f]{8})|&#[xX]0{0,8}([0-9A-Fa-f]{1,6})\b;?"
    r"|&#0{0,8}([0-9]{1,7})(?![0-9]);?|\\([0-3][0-7]{2})|\\([bfnrt])|&([A-Za-z][A-Za-z0-9]{1,31});|\\([\"'/\\])"
)
_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MOST_LAYERS = 3


class _Hidden:
    """What to hide: some secrets and all that were learned since, in whatever way a server may repeat them."""

    def __init__(
        self, secrets: Iterable[str], variants: Callable[[str], Iterable[str]], *, in_part: bool = True
    ) -> None:
        self._own = list(secrets)
        self._variants = variants
        self._in_part = in_part
        self._known = -1
        self.texts: list[str] = []
        """Longest first."""
        self._grams: set[str] = set()

    def learn(self) -> None:
        # Secrets are only added, so their number shows whether there are new ones.
        if self._known == len(_learned):
            return
        self._known = len(_learned)
        texts = [variant for secret in (*self._own, *_learned) for variant in self._variants(secret)]
        # Escapes of percent are of bytes, and those of JSON are of halves of characters, which are undone one by one.
        coded_bytes = (text.encode(errors="replace").decode("latin-1") for text in texts)
        self.texts = _longest_first([*texts, *coded_bytes, *map(_in_halves, texts)])
        coded = [coded.lower() for text in self.texts for coded in _codings(text)]
        if self._in_part:
            self._grams = {gram for text in self.texts for gram in _grams(text)}
            self._grams |= {gram for text in coded for gram in (*_grams_of_size(text, _CODED_PART), text[:_LONG_PART])}
        else:
            self._grams = set(coded)
        self._starts = {gram[:_PART] for gram in self._grams}
        self._sizes = sorted({len(gram) for gram in self._grams})

    def without(self, text: str) -> str:
        """Return a text without the secrets. Escapes are undone to look for them, several times if they are nested."""
        self.learn()
        if not self.texts:
            return text
        places: list[int] = list(range(len(text) + 1))
        spans = list(self._spans(text))
        decoded = text
        for _ in range(_MOST_LAYERS):
            before, (decoded, places) = decoded, _decoded(decoded, places)
            if decoded == before:
                break
            spans += [(places[start], places[end]) for start, end in self._spans(decoded)]
        return _without_spans(text, spans)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        for secret in self.texts:
            offset = text.find(secret)
            while offset >= 0:
                yield offset, offset + len(secret)
                offset = text.find(secret, offset + len(secret))
        lowered = text.lower()
        # Characters whose lower case is longer would shift all that follow.
        if len(lowered) == len(text):
            for offset in range(len(lowered) - _PART + 1):
                # Most places end here, so that a long text takes one look at each.
                if lowered[offset : offset + _PART] in self._starts:
                    for size in self._sizes:
                        if (part := lowered[offset : offset + size]) in self._grams:
                            yield offset, offset + len(part)


def _grams(text: str) -> Iterator[str]:
    """Parts of a secret by which it is recognized, in lower case."""
    if len(text) >= _LONG_ENOUGH:
        yield from (gram for gram in _grams_of_size(text, _PART) if any(map(str.isdigit, gram)))
        yield from _grams_of_size(text, _LONG_PART)
    elif len(text) >= _PART:
        yield text.lower()


def _grams_of_size(text: str, size: int) -> Iterator[str]:
    lowered = text.lower()
    return (lowered[offset : offset + size] for offset in range(len(lowered) - size + 1))


def _decoded(text: str, places: list[int]) -> tuple[str, list[int]]:
    """Undo one layer of escapes of percent, JSON, Python and HTML; `places` says where each character was at first."""
    parts, moved, end = [], [], 0
    for escape in _ESCAPE.finditer(text):
        character = _character(escape)
        if character is None:
            continue
        parts += [text[end : escape.start()], character]
        moved += [*places[end : escape.start()], places[escape.start()]]
        end = escape.end()
    return "".join((*parts, text[end:])), [*moved, *places[end:]]


def _in_halves(text: str) -> str:
    """A text as JSON escapes it: each character beyond the first 65,536 is two surrogates."""
    return "".join(
        chr(0xD7C0 + (ord(character) >> 10)) + chr(0xDC00 + (ord(character) & 0x3FF))
        if ord(character) > 0xFFFF
        else character
        for character in text
    )


def _character(escape: re.Match[str]) -> str | None:
    """Return what an escape stands for; None if it stands for nothing."""
    *numbers, decimal, octal, short, name, symbol = escape.groups()
    if symbol or short:
        return symbol or _SHORT_ESCAPES[short]
    if name:
        from html.entities import html5

        character = html5.get(f"{name};", "")
        return character if len(character) == 1 else None
    code = next((int(digits, 16) for digits in numbers if digits), None)
    if code is None:
        code = int(octal, 8) if octal else int(decimal)
    return chr(code) if code <= sys.maxunicode else None


def _without_spans(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start > done or not (parts or done):
            parts += [text[done:start], HIDDEN]
        done = max(done, end)
    return "".join((*parts, text[done:]))


def hiding(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return a function that hides secrets in evidence: whole, in parts, encoded or cut off."""
    hidden = _Hidden(secrets, _parts)

    def hide(text: str) -> str:
        text = hidden.without(text)
        if len(text) <= LONGEST_EVIDENCE:
            for secret in hidden.texts:
                text = _without_cut(text, secret)
        return text

    return hide


def hide_inside(value: Any, hide: Callable[[str], str]) -> Any:
    """A value with the secrets hidden in every text of its named tuples, tuples and dictionaries."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {key: hide_inside(member, hide) for key, member in value.items()}
    if isinstance(value, tuple):
        parts = [hide_inside(part, hide) for part in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


def hiding_in_catalogs(named: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Return a function that hides secrets in a catalog: only values secret by name or shape, in part or encoded too.

    `MODE=production` is a setting; hiding `production` would change the catalog.
    """
    return _Hidden(literal_secrets(named), lambda secret: (secret,)).without


def hiding_whole(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return a function that hides secrets that occur whole, unchanged or encoded."""
    return _Hidden(secrets, lambda secret: (secret,), in_part=False).without


def literal_secrets(named: Iterable[tuple[str, str]]) -> list[str]:
    """The values that are secret by name or shape, as opposed to settings."""
    return [value for name, value in named if _is_secret(name, value)]


def _is_secret(name: str, value: str) -> bool:
    if len(value) < 8:
        return False
    return _SECRET_WORD.search(name) is not None or _SECRET_SHAPE.fullmatch(value) is not None


def _longest_first(secrets: Iterable[str]) -> list[str]:
    long_enough = {secret for secret in secrets if len(secret) >= SHORTEST}
    # A short secret may be a part of a long one, and would leave the rest of it visible.
    return sorted(long_enough, key=lambda secret: (-len(secret), secret))


def _parts(secret: str) -> Iterator[str]:
    """A secret and its parts."""
    yield from (secret, secret.strip(), *_long_lines(secret), *_basic_login(secret))
    yield from (part for part in re.split(r"[\s;,=]+", secret) if len(part) >= 8)  # such as the parts of a cookie
    yield from secrets_of_url(secret) if "://" in secret else ()


def _basic_login(secret: str) -> list[str]:
    """The user with the password, and the password alone, in the value of an `Authorization: Basic` header."""
    from base64 import b64decode

    scheme, _, coded = secret.strip().partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        login = b64decode(coded.strip() + "==").decode(errors="replace")
    except ValueError:  # not Base64, so there is no password in it
        return []
    return [login, login.partition(":")[2]]


def _codings(text: str) -> Iterator[str]:
    """A text in hexadecimal and in base64, also in the middle of a longer text; other codings are undone."""
    from base64 import b64encode, urlsafe_b64encode

    data = text.encode(errors="replace")
    if len(data) < _PART:
        return
    yield data.hex()
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            # Without the characters that depend on the text around it: 4 of them encode 3 bytes.
            coded = encode(bytes(before) + data).decode().rstrip("=")
            yield coded[(0, 2, 3)[before] : len(coded) - ((before + len(data)) % 3 != 0)]


def _long_lines(secret: str) -> list[str]:
    """The lines of a multi-line secret, such as a key file; a server may print them one by one."""
    lines = secret.splitlines()
    return [line.strip() for line in lines if len(line.strip()) >= 8] if len(lines) > 1 else []


def _without_cut(text: str, secret: str) -> str:
    """A cropped text without the beginning of a secret that was cut off at its end."""
    first = secret[:SHORTEST]
    at = text.find(first)
    while at >= 0:
        cut = text.find("…", at)
        end = len(text) if cut < 0 else cut
        if secret.startswith(text[at:end]):
            text = f"{text[:at]}{HIDDEN}{text[end:]}"
        at = text.find(first, at + 1)
    return text
