"""Which texts may have signals: a look at their words, since hardly any text has one.

For each pattern, a text must have a word for each element. All patterns are checked at once: the words of the lexicon
map to numbers in which bit `n` of lane `k` means that the word can be element `k` of pattern `n`.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from itertools import repeat
from operator import or_
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
from mcproof.poisoning.shell_commands import is_ruinous, is_shell
from mcproof.poisoning.word_classes import ENGLISH, class_bits, foreign_function_words, has_other_script, lexicon
from mcproof.poisoning.word_order import may_have_place, ordered
from mcproof.poisoning.word_pieces import lanes_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.poisoning.sentence_patterns import Pattern
    from mcproof.poisoning.sentence_words import ToolNames

SHORTEST = 20
"""Characters of the shortest text in English that can have a signal."""
_LONG = 600
"""Characters of texts that have words for everything, so that only their sentences are worth a look."""
_LANES = 8
_MOST_LOOKS = 50_000
"""How many sentences of a server are remembered."""


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
    r"\.(?<=\w\.)(?:com|net|org|io|ru|cn|xyz|dev|app|info|biz|co|me|tk|top|site|online|cloud|\d)"
).search
_SHELL_COMMANDS = _bytes(("sudo", "curl", "wget", "chmod", "chown", "scp", "powershell", "iex", "whoami", "crontab"))
_RUIN_WORDS = _bytes(
    (
        *("rm", "drop", "truncate", "delete", "mkfs", "dd", "format", "shutdown", "kill", "killall", "chmod", "del"),
        *("rmdir", "git", "terraform", "kubectl", "docker"),
    )
)


class _Table(NamedTuple):
    lanes: dict[bytes, int]
    classes: dict[bytes, int]
    filled: int
    """What no word has to provide: elements that follow from writing, and lanes that a pattern does not use."""
    size: int
    """The number of patterns."""
    all: int
    """All patterns, as bits."""
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
    words = plain(text).split()
    if _anchors().isdisjoint(words) and names.words.isdisjoint(words) and "://" not in text and "@" not in text:
        return is_foreign(words)
    if len(text) > _LONG:
        return True
    several = ". " in text or "\n" in text or "; " in text or "<" in text or "[" in text or "*" in text
    possible = _lanes_met(words, is_framed=several)
    return bool(possible and _written(possible, text.lower(), words, names)) or is_foreign(words)


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
    """A word as `plain` has it; accents become spaces there, so the longest part remains."""
    return max(plain(word).split(), key=len, default=b" ")


def classes_in(words: list[bytes]) -> int:
    """The classes of words, and of the phrases that they may be parts of."""
    return reduce(or_, map(_table().classes.get, words, repeat(0)), 0)


def may_match(sentence: str, names: ToolNames) -> bool:
    """Whether a sentence may match a pattern if its context speaks to a model; many tools share sentences."""
    known = names.looks.get(sentence)
    if known is None:
        known = possible_in(sentence, plain(sentence).split(), names, is_framed=True) != 0
        if len(names.looks) < _MOST_LOOKS:
            names.looks[sentence] = known
    return known


def possible_in(sentence: str, words: list[bytes], names: ToolNames, *, is_framed: bool) -> int:
    """The patterns that may match a sentence, as bits; `is_framed` if its context speaks to a model."""
    if (
        _anchors().isdisjoint(words)
        and names.words.isdisjoint(words)
        and (_NAMING.isdisjoint(words) or not _may_have_name(sentence))
        and not may_have_place(sentence)
        and not _has_operator(sentence)
    ):
        return 0
    possible = _lanes_met(words, is_framed=is_framed)
    if possible:
        lowered = sentence.lower()
        possible = _written(possible, lowered, words, names)
        if possible:
            possible &= ordered(lowered, words, names, is_framed=is_framed)
    return possible


def _may_have_name(text: str) -> bool:
    """Whether a text has a character by which the name of an unknown tool is recognised."""
    return "'" in text or "`" in text or '"' in text or "_" in text


def _has_operator(text: str) -> bool:
    """Whether a text has an operator of a shell."""
    return "|" in text or "&&" in text or "$(" in text


def starts_with(words: list[bytes], starters: int) -> bool:
    """Whether the first of the words makes a sentence an order; `starters` are the classes that do."""
    return bool(words) and (words[0] in (b"if", b"to") or bool(_table().classes.get(words[0], 0) & starters))


def _lanes_met(words: list[bytes], *, is_framed: bool) -> int:
    """The patterns for each of whose elements there is a word."""
    table = _table()
    lanes = reduce(or_, map(table.lanes.get, words, repeat(0)), table.filled)
    if is_framed:
        lanes |= table.framing
    # Halve the lanes until one is left.
    for width in (4, 2, 1):
        lanes &= lanes >> width * table.size
    return lanes & table.all


def _written(possible: int, lowered: str, words: list[bytes], names: ToolNames) -> int:
    """The possible patterns for which a text in lower case has the names, paths, addresses, commands and phrases."""
    table = _table()
    if (
        possible & table.sibling
        and names.words.isdisjoint(words)
        and (_NAMING.isdisjoint(words) or not _may_have_name(lowered))
    ):
        possible &= ~table.sibling
    if possible & table.path and not (may_have_place(lowered) and secret_path(lowered)):
        possible &= ~table.path
    if possible & table.address and not ("://" in lowered or "@" in lowered or _domain_or_ip(lowered)):
        possible &= ~table.address
    if possible & table.shell and (
        (_SHELL_COMMANDS.isdisjoint(words) and not _has_operator(lowered)) or not is_shell(lowered)
    ):
        possible &= ~table.shell
    if possible & table.ruinous and (_RUIN_WORDS.isdisjoint(words) or not is_ruinous(lowered)):
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
    return _bytes((*found, *_PATH_WORDS, "echo", "bash")) | _SHELL_COMMANDS | _RUIN_WORDS


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
    known = {_ascii(word): classes for word, classes in _words_by_piece().items()}
    return _Table(
        {word: lanes_of(classes, of_bit) for word, classes in known.items()},
        known,
        filled,
        count,
        (1 << count) - 1,
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
