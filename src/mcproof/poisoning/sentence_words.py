"""The words of a sentence with their classes: those of the lexicon, and those that follow from how they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.word_classes import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.poisoning.word_classes import Lexicon

_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")
_NAMING = frozenset(("call", "calling", "invoke", "invoking", "tool", "function", "trigger", "triggering"))
"""Words after which a quoted word is the name of a tool."""
_CLAUSES = frozenset(",:;()—–[]{}|*>，、：；（）")
_quotations = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|`[^`\n]{1,300}`|(?<![\w'])'[^'\n]{1,300}'(?!\w)|«[^»\n]{1,300}»|「[^」\n]{1,300}」"
).finditer
_spaced = re.compile(r"[\w@~$%/\\.:#&=+'’‘-]+").finditer
_parts = re.compile(r"\w+(?:['-]\w+)*").finditer
_pieces = re.compile(r"\w+").finditer
_dotted_path = re.compile(
    r"\.(?:ssh\b|aws(?![\w-])|env\b|netrc|npmrc|pypirc|gitconfig|kube|gnupg|docker/config|(?:bash|zsh)rc"
    r"|(?:bash_)?profile\b|cursor\b|claude\b|(?:pem|p12|pfx|kdbx)\b|git/config|config/(?:gcloud|gh))"
).search
_absolute_path = re.compile(
    r"/(?:etc/(?:passwd|shadow|sudoers|group|crontab|hosts)|credentials\b|environ\b|root/"
    r"|/(?<=://)(?:confidential|secrets?|admin|internal|private)\b)"
).search
_file_name = re.compile(
    r"id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys|known_hosts|git-credentials|sh_history|mcp\.json"
    r"|credentials?\.(?:json|txt|ya?ml|csv|db|xml)|claude_desktop_config|key(?:chain|ring|store)s?\b|wallet\.dat"
    r"|auth\.log|secrets?\.(?:json|ya?ml|txt|toml|env)|passwords?\.(?:txt|xlsx?|csv|json|kdbx|docx?)"
    r"|private[_-]keys?\.|cookies\.sqlite|system32|ntds\.dit|appdata"
).search
_FILE_NAME_PARTS = (
    *("id_", "_keys", "_hosts", "credential", "sh_history", "mcp.json", "claude_desktop_config", "key", "wallet.dat"),
    *("auth.log", "secret", "password", "private", "cookies.sqlite", "system32", "ntds.dit", "appdata"),
)
"""Parts of which every match of `_file_name` has one."""
_address = re.compile(
    r"(?:https?|wss?|ftps?|smtp|tcp|hxxps?)://[^\s/]|[\w.+-]{1,64}@[\w-]{1,64}\.\w{2}"
    r"|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
).search
_domain = re.compile(
    r"(?:[a-z0-9-]{1,63}\.){1,4}"
    r"(?:com|net|org|io|ru|cn|xyz|dev|app|info|biz|co|me|tk|top|site|online|cloud|example|test)(?:/|$)"
).match
_SPACES = {each: " " for each in range(128) if not (chr(each).isalnum() or chr(each) == "_")}
_MARKS = {ord(each): " " for each in "’‘ʼ“”«»„…—–·•，。、：；（）！？"}
TO_SPACES = str.maketrans(_SPACES | _MARKS)
"""Maps characters that separate words to spaces."""


def secret_path(lowered: str) -> bool:
    """Whether a text in lower case has a path of keys, credentials or settings."""
    return bool(
        ("." in lowered and _dotted_path(lowered))
        or ("/" in lowered and _absolute_path(lowered))
        or (any(part in lowered for part in _FILE_NAME_PARTS) and _file_name(lowered))
    )


class ToolNames(NamedTuple):
    """The names of the tools that a model sees, in lower case."""

    names: frozenset[str]
    plain: frozenset[str]
    """Those that are ordinary words, such as `search`: they are names only in quotation marks."""
    words: frozenset[bytes]
    """The longest word of each other name."""
    telling: frozenset[bytes]
    """Those of names that show access to secrets or destruction."""
    looks: dict[str, bool]
    """The sentences that a first look was taken at, and whether it found anything: a cache."""


def tool_names(names: Iterable[str]) -> ToolNames:
    """Return names in the form that the analysis needs."""
    given = set(names)
    plain = {each for each in given if each.isalpha() and (each.islower() or each.istitle())}
    longest = {each: _longest_piece(each) for each in given - plain}
    telling = frozenset(piece for each, piece in longest.items() if _is_telling(each.lower()))
    return ToolNames(
        frozenset(map(str.lower, given)), frozenset(map(str.lower, plain)), frozenset(longest.values()), telling, {}
    )


def _longest_piece(name: str) -> bytes:
    return max(name.lower().translate(TO_SPACES).split(), key=len, default="").encode(errors="replace")


class Word(NamedTuple):
    """A word of a sentence."""

    text: str
    """In lower case."""
    classes: int
    start: int
    end: int


def words_of(sentence: str, names: ToolNames, own_name: str, known: Lexicon | None = None) -> list[Word]:
    """The words of a sentence in the language of a lexicon; names of tools are given in lower case."""
    known = known or lexicon()
    bits = known.bits
    clause, literal = bits["CLAUSE"], bits["LITERAL"]
    spans = _Quotations(sentence, bits["QUOTED"], literal)
    of_word = known.words.get
    found: list[Word] = []
    last_end = 0
    for match in _spaced(sentence) if known.unspaced is None else known.unspaced.finditer(sentence):
        written = match[0]
        start, end = match.span()
        if not written.isalpha():
            stripped = written.lstrip("\"'`:&=#+-,;()[]{}<>*|!?").rstrip("\"'`:.&=#+-,;()[]{}<>*|!?")
            if not stripped:
                continue
            start += written.index(stripped)
            end, written = start + len(stripped), stripped.translate(_APOSTROPHES)
        context = spans.classes_at(start) if spans.are_any else 0
        gap = sentence[last_end:start]
        if not found or (gap != " " and not _CLAUSES.isdisjoint(gap)):
            context |= clause
        last_end = end
        lowered = written.lower()
        if lowered == own_name:
            found.append(Word(lowered, bits["OWN"] | context & ~literal, start, end))
        elif lowered in names.names and (context & literal or lowered not in names.plain):
            found.append(Word(lowered, bits["SIBLING"] | context & ~literal | _purpose(lowered, bits), start, end))
        elif lowered.isalpha() and not known.stems:
            found.append(Word(lowered, of_word(lowered, 0) | context, start, end))
        else:
            found += _classified(lowered, context, start, known)
    return _in_context(found, known)


_SECRETIVE = frozenset(
    ("secret", "secrets", "credential", "credentials", "password", "passwords", "env", "printenv", "keys", "token")
)
_RUINING = frozenset(
    ("delete", "remove", "drop", "purge", "wipe", "destroy", "reset", "erase", "truncate", "void", "kill", "revoke")
)
_subwords = re.compile("[a-z0-9]+").findall


def _is_secretive(name: str) -> bool:
    return "env" in name[-4:] or not _SECRETIVE.isdisjoint(_subwords(name))


def _is_ruining(name: str) -> bool:
    return not _RUINING.isdisjoint(_subwords(name))


def _is_telling(name: str) -> bool:
    """Whether the name of a tool in lower case shows a purpose that `_purpose` has a class for."""
    return _is_secretive(name) or _is_ruining(name)


def _purpose(name: str, bits: dict[str, int]) -> int:
    """What the name of a tool shows of its purpose."""
    return (bits["SECRET"] if _is_secretive(name) else 0) | (bits["RUINER"] if _is_ruining(name) else 0)


class _Quotations:
    """The quotations of a sentence, asked for in the order of the sentence."""

    def __init__(self, sentence: str, quoted: int, literal: int) -> None:
        self._spans = [
            (match.start(), match.end(), quoted if " " in match[0] else literal) for match in _quotations(sentence)
        ]
        self.are_any = bool(self._spans)
        self._at = 0

    def classes_at(self, start: int) -> int:
        """The classes that a word there has because it is quoted."""
        spans = self._spans
        while self._at < len(spans) and spans[self._at][1] <= start:
            self._at += 1
        return spans[self._at][2] if self._at < len(spans) and spans[self._at][0] <= start else 0


def _classified(lowered: str, context: int, start: int, known: Lexicon) -> Iterator[Word]:
    """A run of characters without spaces as words: one, or several joined by punctuation."""
    bits, classes_of = known.bits, known.classes_of
    classes = 0
    if "/" in lowered or "." in lowered or "~" in lowered or "\\" in lowered or "@" in lowered:
        if _address(lowered) or _domain(lowered):
            classes = bits["ADDRESS"]
        if secret_path(lowered):
            classes |= bits["PATH"]
    classes |= known.words.get(lowered, 0)
    if classes:
        yield Word(lowered, classes | context, start, start + len(lowered))
        return
    for part in _pieces(lowered) if known.stems else _parts(lowered):
        word = part[0]
        classes = classes_of(word)
        if word.isdigit():
            classes = bits["NUMBER"]
        elif not classes and word.endswith("'s"):
            classes = classes_of(word[:-2])
        elif not classes and "-" in word:
            for piece in word.split("-"):
                classes |= classes_of(piece)
        yield Word(word, classes | context, start + part.start(), start + part.end())
        context &= ~bits["CLAUSE"]


def _in_context(words: list[Word], known: Lexicon) -> list[Word]:
    """Words with the classes of the phrases that they start, and names of tools and parameters by their neighbours."""
    bits = known.bits
    parameter, literal, tool, sibling = bits["PARAM"], bits["LITERAL"], bits["TOOL"], bits["SIBLING"]
    result = []
    for at, word in enumerate(words):
        classes = word.classes
        after = words[at + 1].classes if at + 1 < len(words) else 0
        is_quoted = classes & literal
        if ((is_quoted or "_" in word.text) and after & tool) or (is_quoted and at and words[at - 1].text in _NAMING):
            classes = sibling
        elif is_quoted and after & parameter:
            classes = classes & ~literal | parameter
        for rest, bit in known.phrases.get(word.text, ()):
            if [each.text for each in words[at + 1 : at + 1 + len(rest)]] == list(rest):
                classes |= bit
        result.append(word if classes == word.classes else Word(word.text, classes, word.start, word.end))
    return result
