"""Which texts may have signals: a look at their words, since hardly any text has one.

For each pattern, a text must have a word for each element. All patterns are checked at once: the words of the lexicon
map to numbers in which bit `n` of lane `k` means that the word can be element `k` of pattern `n`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.sentence_patterns import (
    CONDITIONAL,
    FIRM,
    FRAMED,
    OBLIGED,
    OTHERS,
    RUINOUS,
    SHELL,
    patterns,
)
from mcproof.poisoning.sentence_words import TO_SPACES, secret_path
from mcproof.poisoning.word_classes import ENGLISH, class_bits, foreign_function_words, has_other_script, lexicon

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.poisoning.sentence_patterns import Pattern
    from mcproof.poisoning.sentence_words import ToolNames

SHORTEST = 20
"""Characters of the shortest text in English that can have a signal."""
_LONG = 600
"""Characters of texts that have words for everything, so that only their sentences are worth a look."""
_LANES = 8


def _bytes(words: Iterable[str]) -> frozenset[bytes]:
    return frozenset(word.encode() for word in words)


_FRAMING = ("OBLIGE", "MUST", "COND", "WHEN", "STRONGCOND", "FIRST", "PRETEXT", "VOCATIVE")
_NEEDED_WORDS = (
    (FRAMED, _FRAMING),
    (FIRM, _FRAMING),
    (CONDITIONAL, ("COND",)),
    (OBLIGED, ("OBLIGE", "MUST")),
)
_NAMING = _bytes(("tool", "tools", "function", "call", "calling", "invoke", "invoking", "trigger", "triggering"))
_domain_or_ip = re.compile(
    r"\w\.(?:com|net|org|io|ru|cn|xyz|dev|app|info|biz|co|me|tk|top|site|online|cloud|\d)"
).search
_shell_sign = re.compile(r"\$\(|&&|\||\b(?:sudo|curl|wget|chmod|chown|scp|powershell|iex|whoami|crontab)\b").search
_RUIN_WORDS = _bytes(
    (
        *("rm", "drop", "truncate", "delete", "mkfs", "dd", "format", "shutdown", "kill", "killall", "chmod", "del"),
        *("rmdir", "git", "terraform", "kubectl", "docker"),
    )
)


class _Table(NamedTuple):
    words: dict[bytes, tuple[int, int]]
    """The lanes and the classes of each word."""
    framing_classes: int
    filled: int
    """What no word has to provide: elements that follow from writing, and lanes that a pattern does not use."""
    lane: int
    """The number of patterns."""
    path: int
    """The patterns with such a path; likewise the next ones."""
    address: int
    sibling: int
    shell: int
    ruinous: int
    phrases: list[tuple[tuple[str, ...], int]]
    """Phrases of which one must occur, and the patterns for which that is so."""
    framing: int
    """The bits of the lanes for `framed` and `firm`, for texts with several sentences."""


def may_signal(text: str, names: ToolNames) -> bool:
    """Whether a text may have a signal, by its rarer words."""
    if has_other_script(text):
        return True
    if len(text) < SHORTEST:
        return False
    words = _words_in(text)
    if _anchors().isdisjoint(words) and names.words.isdisjoint(words) and "://" not in text and "@" not in text:
        return is_foreign(words)
    if len(text) > _LONG:
        return True
    several = ". " in text or "\n" in text or "; " in text or "<" in text or "[" in text or "*" in text
    return bool(_possible(text, words, names, is_framed=several).possible) or is_foreign(words)


def _words_in(text: str) -> list[bytes]:
    """The words of a text in lower case, with spaces for everything that is not ASCII."""
    return text.encode("ascii", "replace").translate(_WORDS_ONLY).split()


def is_foreign(listed: list[bytes]) -> bool:
    """Whether the words of a text may be in another language in Latin script."""
    foreign_words, english_words = _function_words()
    if foreign_words.isdisjoint(listed):
        return False
    words = set(listed)
    foreign = len(words & foreign_words)
    return foreign > 1 and (foreign > 3 or foreign > len(words & english_words))


@cache
def _function_words() -> tuple[frozenset[bytes], frozenset[bytes]]:
    return frozenset(map(_ascii, foreign_function_words())), frozenset(map(_ascii, ENGLISH))


def _ascii(word: str) -> bytes:
    """A word as `_words_in` has it; accents become spaces there, so the longest part remains."""
    return max(word.encode("ascii", "replace").translate(_WORDS_ONLY).split(), key=len, default=b" ")


def may_be_foreign(text: str) -> bool:
    """Whether a text, or a part of it, may be in another language than English."""
    return has_other_script(text) or is_foreign(_words_in(text))


class SentenceLook(NamedTuple):
    """A first look at a sentence."""

    classes: int
    """The classes of its words, and of words that are parts of phrases in it."""
    possible: int
    """The patterns that may match, as bits."""


def look_at(sentence: str, names: ToolNames, *, is_framed: bool, starters: int) -> SentenceLook:
    """Which patterns a sentence may match.

    `is_framed` is true if its context speaks to a model. `starters` are the classes of the words that make it an order
    if they come first.
    """
    words = _words_in(sentence)
    if words and not is_framed:
        is_framed = words[0] in (b"if", b"to") or bool(_table().words.get(words[0], (0, 0))[1] & starters)
    return _possible(sentence, words, names, is_framed=is_framed)


def _possible(text: str, words: list[bytes], names: ToolNames, *, is_framed: bool) -> SentenceLook:
    table = _table()
    lanes, classes = table.filled, 0
    of_word = table.words.get
    for word in words:
        known = of_word(word)
        if known is not None:
            lanes |= known[0]
            classes |= known[1]
    if is_framed or classes & table.framing_classes:
        lanes |= table.framing
    possible = lanes
    for _ in range(_LANES - 1):
        lanes >>= table.lane
        possible &= lanes
    possible &= (1 << table.lane) - 1
    return SentenceLook(classes, possible and _written(possible, table, text.lower(), words, names))


def _written(possible: int, table: _Table, lowered: str, words: list[bytes], names: ToolNames) -> int:
    """The possible patterns for which a text has the names, paths, addresses and commands."""
    if possible & table.sibling and names.words.isdisjoint(words):
        is_quoted = "'" in lowered or "`" in lowered or '"' in lowered
        if _NAMING.isdisjoint(words) or not (is_quoted or "_" in lowered):
            possible &= ~table.sibling
    if possible & table.path and not secret_path(lowered):
        possible &= ~table.path
    if possible & table.address and not ("://" in lowered or "@" in lowered or _domain_or_ip(lowered)):
        possible &= ~table.address
    if possible & table.shell and not _shell_sign(lowered):
        possible &= ~table.shell
    if possible & table.ruinous and _RUIN_WORDS.isdisjoint(words):
        possible &= ~table.ruinous
    for phrases, numbers in table.phrases:
        if possible & numbers and not any(phrase in lowered for phrase in phrases):
            possible &= ~numbers
    return possible


_SHARES = {
    73: "DET",
    70: "COND",
    66: "TARGET",
    58: "LEAD INTO",
    47: "DATA",
    43: "TO",
    34: "WHEN READ",
    33: "REQUEST",
    30: "THINGS",
    28: "FOR",
    26: "OBLIGE",
    24: "MUST ACT",
    22: "USE THIS",
    21: "STRONGCOND",
    20: "PREFER CALL TAKE",
    19: "SHOW",
    16: "OUTGO PARAM SET EXAMPLE",
    15: "NEWGOAL WEAKSEND ASK NEG",
    14: "SELF",
    13: "WHOLE IDENT",
    12: "WEAK SECRET",
    11: "ALL RESULT PRETEXT",
    10: "REMAIN SEND DESTROY",
    9: "TOOL FROM",
    8: "OUTSIDE CALLS ADDED MODEL AS",
    7: "NOW HAVE PRIOR",
    6: "USER CHANGE CONTEXT SAY GUARD",
    5: "CLAIM CHANGED HIGHEST INSTR OTHER",
    4: "ASIF PRAISE NOTHING ACTUAL PROMPT VOID",
    3: "LOGS SOFAR CONSENT STEPS LATEST FIRST",
    2: "GOAL KNOW REGARDLESS MODE",
}
"""The share of descriptions, in percent, that have a word of a class; of the other classes it is smaller."""
_USUAL = frozenset(
    (
        *("a", "all", "any", "api", "are", "as", "be", "been", "can", "default", "for", "from", "has", "have", "is"),
        *("it", "message", "name", "new", "number", "of", "on", "our", "server", "that", "the", "this", "to", "up"),
        *("use", "user", "will", "with", "you", "your", "task", "request", "call", "list", "get", "data", "system"),
    )
)
"""Words of phrases by which the phrases are not looked for, if they have others."""
_PATH_WORDS = (
    *("ssh", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys", "known_hosts", "aws", "etc", "env"),
    *("netrc", "npmrc", "pypirc", "credentials", "credential", "gitconfig", "kube", "gnupg", "docker", "history"),
    *("bash_history", "zsh_history", "bashrc", "zshrc", "profile", "bash_profile", "mcp", "cursor", "claude"),
    *("claude_desktop_config", "environ", "keychain", "keychains", "keyring", "keystore", "wallet", "root", "auth"),
    *("secrets", "secret", "password", "passwords", "pem", "p12", "pfx", "kdbx", "private", "private_key", "cookies"),
    *("private_keys", "system32", "ntds", "config", "appdata", "keys", "key", "git"),
)
_SHELL_WORDS = (
    "sudo",
    "curl",
    "wget",
    "chmod",
    "chown",
    "scp",
    "powershell",
    "iex",
    "whoami",
    "crontab",
    "echo",
    "bash",
)
_WORDS_ONLY = bytes(
    ord(chr(each).lower()) if each < 128 and (chr(each).isalnum() or chr(each) == "_") else ord(" ")
    for each in range(256)
)
"""Maps letters to lower case, and everything that is not part of a word to spaces."""


@cache
def _anchors() -> frozenset[bytes]:
    """Words of which every English text with a signal has one, unless it has the name of a tool or an address."""
    bits = class_bits()
    share = {bits[name]: percent for percent, names in _SHARES.items() for name in names.split()}
    by_writing = bits["SIBLING"] | bits["ADDRESS"] | bits["PATH"]

    def share_of(classes: int) -> int:
        return sum(percent for bit, percent in share.items() if classes & bit)

    wanted = 0
    for pattern in patterns():
        is_written = any(not each.classes & ~by_writing for each in pattern.elements)
        if not is_written and not pattern.needs & (SHELL | RUINOUS | OTHERS):
            wanted |= min(pattern.required, key=share_of)
    found = {word for word, classes in _words_by_piece().items() if classes & wanted}
    return _bytes((*found, *_PATH_WORDS, *_SHELL_WORDS)) | _RUIN_WORDS


@cache
def _table() -> _Table:
    bits = class_bits()
    all_patterns = patterns()
    count = len(all_patterns)
    lanes: dict[int, list[int]] = {}
    """For each position in all lanes, the classes of which a word must have one."""
    filled = framing = 0
    for number, pattern in enumerate(all_patterns):
        required = list(pattern.required)
        framed_at = -1
        for need, names in _NEEDED_WORDS:
            if pattern.needs & need:
                if need in (FRAMED, FIRM):
                    framed_at = len(required)
                required.append(sum(bits[name] for name in names))
        if framed_at >= 0:
            framing |= 1 << (framed_at * count + number)
        for lane, classes in enumerate(required[:_LANES]):
            lanes.setdefault(classes, []).append(lane * count + number)
        for lane in range(len(required), _LANES):
            filled |= 1 << (lane * count + number)
    of_bit: dict[int, int] = {}
    for required_classes, positions in lanes.items():
        mask = sum(1 << position for position in positions)
        for bit in bits.values():
            if required_classes & bit:
                of_bit[bit] = of_bit.get(bit, 0) | mask
    words: dict[bytes, tuple[int, int]] = {}
    for word, classes in _words_by_piece().items():
        mask, left = 0, classes
        while left:
            bit = left & -left
            mask |= of_bit.get(bit, 0)
            left ^= bit
        words[_ascii(word)] = mask, classes
    return _Table(
        words,
        sum(bits[name] for name in _FRAMING),
        filled,
        count,
        path=_numbers(all_patterns, bits["PATH"]),
        address=_numbers(all_patterns, bits["ADDRESS"]),
        sibling=_numbers(all_patterns, bits["SIBLING"])
        | sum(1 << at for at, each in enumerate(all_patterns) if each.needs & OTHERS),
        shell=sum(1 << at for at, each in enumerate(all_patterns) if each.needs & SHELL),
        ruinous=sum(1 << at for at, each in enumerate(all_patterns) if each.needs & RUINOUS),
        phrases=_phrases(all_patterns),
        framing=framing,
    )


def _numbers(all_patterns: list[Pattern], bit: int) -> int:
    """The patterns with an element that only a word of this class can be."""
    return sum(
        1 << at
        for at, pattern in enumerate(all_patterns)
        if any(element.classes == bit for element in pattern.elements)
    )


def _phrases(all_patterns: list[Pattern]) -> list[tuple[tuple[str, ...], int]]:
    """The phrases of each class that has no single words, and the patterns that need that class."""
    known = lexicon()
    with_words = 0
    for classes in known.words.values():
        with_words |= classes
    listed: dict[int, list[str]] = {}
    for first, phrases in known.phrases.items():
        for rest, classes in phrases:
            left = classes & ~with_words
            while left:
                bit = left & -left
                listed.setdefault(bit, []).append(" ".join((first, *rest)))
                left ^= bit
    needed = ((tuple(phrases), _numbers(all_patterns, bit)) for bit, phrases in listed.items())
    return [(phrases, numbers) for phrases, numbers in needed if numbers]


@cache
def _words_by_piece() -> dict[str, int]:
    """The words of the lexicon; of those with several parts, and of phrases, the longest part."""
    known = lexicon()
    found: dict[str, int] = {}
    for word, classes in known.words.items():
        piece = max(word.translate(TO_SPACES).split(), key=len, default="")
        found[piece] = found.get(piece, 0) | classes
    for first, phrases in known.phrases.items():
        for rest, classes in phrases:
            pieces = [piece for word in (first, *rest) for piece in word.translate(TO_SPACES).split()]
            longest = max((each for each in pieces if each not in _USUAL), key=len, default=max(pieces, key=len))
            found[longest] = found.get(longest, 0) | classes
    return found
