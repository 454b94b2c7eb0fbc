"""The words of a sentence, with the classes of the lexicon that they belong to.

The lexicon is data: `lexicon.json` has the words of each class for each language. A class is a bit, so a word is one
number and a sentence a list of numbers. Classes that follow from how a word is written are `WRITTEN`.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

WRITTEN = ("CLAUSE", "QUOTED", "LITERAL", "SIBLING", "OWN", "PATH", "ADDRESS", "FOREIGN")
"""First of a clause; in a quotation; a quoted value or a number; the name of another tool, or of this one; a path of
keys or settings; a URL, an email or IP address; in a language other than English."""

_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")
_secret_path = re.compile(
    r"\.ssh\b|id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys|known_hosts|\.aws(?![\w-])|/etc/(?:passwd|shadow|sudoers|group|crontab|hosts)"
    r"|\.env\b|\.netrc|\.npmrc|\.pypirc|git-credentials|\.gitconfig|\.kube|\.gnupg|\.docker/config"
    r"|credentials?\.(?:json|txt|ya?ml|csv|db|xml)|/credentials\b|sh_history|\.(?:bash|zsh)rc|\.(?:bash_)?profile\b|mcp\.json"
    r"|\.cursor\b|claude_desktop_config|\.claude\b|/environ\b|key(?:chain|ring|store)s?\b|wallet\.dat|/root/|auth\.log"
    r"|secrets?\.(?:json|ya?ml|txt|toml|env)|passwords?\.(?:txt|xlsx?|csv|json|kdbx|docx?)|\.(?:pem|p12|pfx|kdbx)\b"
    r"|private[_-]keys?\.|cookies\.sqlite|system32|ntds\.dit|://(?:confidential|secrets?|admin|internal|private)\b"
    r"|\.git/config|\.config/(?:gcloud|gh)|appdata"
).search
_address = re.compile(
    r"(?:https?|wss?|ftps?|smtp|tcp|hxxps?)://[^\s/]|[\w.+-]{1,64}@[\w-]{1,64}\.\w{2}|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
).search
_domain = re.compile(
    r"(?:[a-z0-9-]{1,63}\.){1,4}(?:com|net|org|io|ru|cn|xyz|dev|app|info|biz|co|me|tk|top|site|online|cloud|evil|example|test)(?:/|$)"
).match
_quotations = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|`[^`\n]{1,300}`|(?<![\w'])'[^'\n]{1,300}'(?!\w)|«[^»\n]{1,300}»|「[^」\n]{1,300}」"
).finditer
_LETTERS = r"\w@~$%/\\.:#&=+'’‘-"
_spaced = re.compile(rf"[{_LETTERS}]+").finditer
_unspaced_letters = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]").search
_is_identifier = re.compile(r"[a-z][\w-]*(?:[_.-][\w-]+|[a-z][A-Z]\w*)*$", re.IGNORECASE).match
_simple = re.compile(r"\w+(?:['-]\w+)*").finditer
_NAMING = frozenset(["call", "calling", "invoke", "invoking", "tool", "function", "trigger", "triggering"])
"""Words after which a quoted word is the name of a tool."""


class Word(NamedTuple):
    """A word of a sentence."""

    text: str
    """In lower case."""
    classes: int
    start: int
    end: int


class Lexicon(NamedTuple):
    """Word classes as bits, and the words that have them."""

    bits: dict[str, int]
    words: dict[str, int]
    phrases: dict[str, list[tuple[tuple[str, ...], int]]]
    """Phrases by their first word: the other words, and the classes."""
    unspaced: re.Pattern[str]
    """The words of languages that are written without spaces, or other words."""


@cache
def lexicon() -> Lexicon:
    """The lexicon that ships with mcproof."""
    tables = json.loads(Path(__file__).with_name("lexicon.json").read_bytes())
    names = dict.fromkeys((*WRITTEN, *tables["en"]))
    bits = {name: 1 << at for at, name in enumerate(names)}
    words: dict[str, int] = {}
    phrases: dict[str, dict[tuple[str, ...], int]] = {}
    unspaced: list[str] = []
    for language, classes in tables.items():
        foreign = 0 if language == "en" else bits["FOREIGN"]
        for name, listed in classes.items():
            bit = bits[name] | foreign
            for word in listed.split():
                if "_" in word:
                    first, *rest = word.split("_")
                    below = phrases.setdefault(first, {})
                    below[tuple(rest)] = below.get(tuple(rest), 0) | bit
                else:
                    words[word] = words.get(word, 0) | bit
                    if _unspaced_letters(word):
                        unspaced.append(word)
    longest_first = sorted(set(unspaced), key=lambda each: (-len(each), each))
    pattern = "|".join([*longest_first, "[A-Za-z0-9@~$%/\\\\.:#&=+'_-]+"])
    listed_phrases = {first: sorted(below.items(), key=lambda each: -len(each[0])) for first, below in phrases.items()}
    return Lexicon(bits, words, listed_phrases, re.compile(pattern))


def words_of(sentence: str, siblings: Collection[str], own_name: str) -> list[Word]:
    """The words of a sentence; `siblings` are names of tools in lower case."""
    known = lexicon()
    bits, classes_of = known.bits, known.words
    clause, quoted, literal, foreign = bits["CLAUSE"], bits["QUOTED"], bits["LITERAL"], bits["FOREIGN"]
    spans = [(match.start(), match.end(), " " in match[0]) for match in _quotations(sentence)]
    at_span, last_end = 0, 0
    found: list[Word] = []
    unspaced = not sentence.isascii() and _unspaced_letters(sentence) is not None
    for match in known.unspaced.finditer(sentence) if unspaced else _spaced(sentence):
        raw = match[0]
        stripped = raw.lstrip("':&=#+-").rstrip("':.&=#+-")
        if not stripped:
            continue
        start = match.start() + raw.index(stripped)
        end = start + len(stripped)
        while at_span < len(spans) and spans[at_span][1] <= start:
            at_span += 1
        extra = 0
        if at_span < len(spans) and spans[at_span][0] <= start:
            extra = quoted if spans[at_span][2] else literal
        gap = sentence[last_end:start]
        if not found or any(each in gap for each in ",:;()—–[]{}|*>"):
            extra |= clause
        last_end = end
        lowered = stripped.lower().translate(_APOSTROPHES)
        if lowered in siblings:
            found.append(Word(lowered, bits["SIBLING"] | extra & ~literal, start, end))
            continue
        if lowered == own_name:
            found.append(Word(lowered, bits["OWN"] | extra & ~literal, start, end))
            continue
        special = 0
        if "/" in lowered or "." in lowered or "~" in lowered or "\\" in lowered or "@" in lowered:
            if _address(lowered) or _domain(lowered):
                special = bits["ADDRESS"]
            if _secret_path(lowered):
                special |= bits["PATH"]
            if special:
                found.append(Word(lowered, special | extra, start, end))
                continue
        elif lowered.isdigit():
            extra |= literal
        given = classes_of.get(lowered)
        if given is not None:
            found.append(Word(lowered, given | extra, start, end))
        elif unspaced and not lowered.isascii():
            found.append(Word(lowered, foreign | extra, start, end))
        else:
            for part in _simple(lowered):
                word = part[0]
                given = classes_of.get(word, 0)
                if not given and "-" in word:
                    for piece in word.split("-"):
                        given |= classes_of.get(piece, 0)
                elif not given and word.endswith("'s"):
                    given = classes_of.get(word[:-2], 0)
                found.append(Word(word, given | extra, start + part.start(), start + part.end()))
                extra &= ~clause
    return _with_phrases(found, known)


def _with_phrases(found: list[Word], known: Lexicon) -> list[Word]:
    """Words with the classes of the phrases that they start, and of their neighbours."""
    phrases, bits = known.phrases, known.bits
    parameter, literal, tool, sibling = bits["PARAM"], bits["LITERAL"], bits["TOOL"], bits["SIBLING"]
    for at, word in enumerate(found):
        after = found[at + 1].classes if at + 1 < len(found) else 0
        if word.classes & literal and not word.text.isdigit():
            if after & tool or (at and found[at - 1].text in _NAMING):
                found[at] = word = Word(word.text, sibling, word.start, word.end)
            elif after & parameter:
                found[at] = word = Word(word.text, word.classes & ~literal | parameter, word.start, word.end)
        elif "_" in word.text and after & tool:
            found[at] = word = Word(word.text, sibling, word.start, word.end)
        rests = phrases.get(word.text)
        if rests:
            for rest, bit in rests:
                if all(
                    at + 1 + step < len(found) and found[at + 1 + step].text == each for step, each in enumerate(rest)
                ):
                    found[at] = word = Word(word.text, word.classes | bit, word.start, word.end)
    return found
