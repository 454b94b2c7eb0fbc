"""Rules on hidden characters and on instructions to the model in a tool's texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mcproof.checks.findings import Problem
from mcproof.checks.rule import rule
from mcproof.checks.rules.polish.prose import has_any, matches_from, tool_words
from mcproof.core.catalog.model import Tool
from mcproof.core.schema.tree import STRICT_LEVELS
from mcproof.core.text.english import SPEAKING
from mcproof.core.text.json_positions import escape

_INVISIBLE = re.compile(
    "\x1b(?=\\[)|[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
    "|[\U000e0000-\U000e007f\U000e0100-\U000e01ef]|[\ufe00-\ufe0f]{2}"
)
_RARE_BYTES = (b"\xe2", b"\xef", b"\xf3", b"\xd8", b"\xe1", b"\x1b")
_may_be_invisible = re.compile(
    rb"\x1b\[|\xd8\x9c|\xe1\xa0\x8e|\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])|\xef(?:\xbb\xbf|\xb8[\x80-\x8f]\xef)|\xf3\xa0"
).match
"""These characters in UTF-8: if none occurs, which is usual, the texts are not searched one by one."""
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"
_JOINERS = "\u200b\u200c\u200d"
_right_to_left = re.compile("[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]").search
_FLAG, _LONGEST_FLAG = "\U0001f3f4", 8
"""A black flag, and how many invisible letters follow it in a flag emoji."""

_DO_NOT = "don(?:'|\u2018|\u2019|\u02bc|\uff07)t"
"""With every character that is used as an apostrophe."""
_OBEYED = r"(?:instructions?|prompts?|rules|guidelines|messages|directives?|commands)\b"
_SPEECH = (
    # Ignore your instructions.
    r"\b(?:ignore|disregard|forget|override|bypass)\s{1,9}(?:(?:all|any|every|the|your|of|my|these|those)\s{1,9}){0,3}(?:"
    rf"(?:previous|prior|above|earlier|preceding|existing|original|system)\s{{1,9}}(?:\w{{1,20}}\s{{1,9}})?{_OBEYED}"
    rf"|{_OBEYED}\s{{1,9}}(?:above|before|given|you)\b"
    r"|(?:previous|prior|above)(?=\s{0,9}(?:[.,;:!]|and\b))"
    r"|everything\s{1,9}(?:above|before|you)\b)"
    # Reveal your instructions.
    r"|\breveal\s{1,9}(?:(?:the|your|its|full|entire)\s{1,9}){1,3}system\s{1,9}prompt\b"
    # Hide it from the user.
    rf"|\b(?:not|{_DO_NOT}|never|without)\s{{1,9}}(?:tell|inform|notify|alert)(?:ing)?\s{{1,9}}(?:the\s{{1,9}})?user\b"
    rf"|\b(?:not|{_DO_NOT}|never)\s{{1,9}}(?:mention|reveal|disclose)\s{{1,9}}(?:this|that|it|these|any\s{{1,9}}of\s{{1,9}}this)"
    r"\s{1,9}(?:\w{1,20}\s{1,9}){0,2}to\s{1,9}(?:the\s{1,9})?user\b"
    # Change your role.
    r"|\byou\s{1,9}are\s{1,9}now\s{1,9}(?:dan\b|jailbroken|unrestricted|in\s{1,9}(?:developer|god|admin)\s{1,9}mode)"
)
_MARKERS = (
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end_of_text|begin_of_text|eot_id"
    r"|(?:start|end)_header_id)\|>|\[/?INST\]|<</?SYS>>|</?im_(?:start|end)>"
)
"""Markers of chat templates; tokenizers match their case."""
_BEGINNINGS = sorted(SPEAKING)
"""How matches start; searching for these first is many times faster than trying every position."""
_BYTE_BEGINNINGS = (
    (b"", (b"ignore", b"disregard", b"forget", b"override", b"bypass", b"reveal", b"you")),
    (b"user", (b"not", b"don", b"never", b"without")),
)
"""The same, after a rarer byte string that every match contains."""
_MARKER_BEGINNINGS = ("<|", "[INST", "[/INST", "<<SYS", "<</SYS", "<im_", "</im_")
_MARKER_PARTS = (b"<|", b"SYS>>", b"<im_", b"</im_")
"""Byte strings of which every marker but `[INST]` contains one."""
_marker = re.compile(_MARKERS).match
_speech = re.compile(_SPEECH).match
_speech_in_bytes = re.compile(
    _SPEECH.replace(r"\b", "")
    .replace(r"\s{1,9}", r"[\s\x1c-\x1f\x80-\xff]{1,27}")
    .replace(r"\s{0,9}", r"[\s\x1c-\x1f\x80-\xff]{0,27}")
    .replace(r"\w{1,20}", r"[\w\x80-\xff]{1,80}")
    .encode()
).match
"""The pattern for UTF-8: more permissive, since adjacent bytes may look like letters and spaces may take several bytes.
"""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e01ef]+"
)
"""Invisible characters within words: soft hyphens, joiners, marks."""
_UNSEEN_BYTES = (
    *(character.encode() for character in "\u00ad\u034f\u061c\u115f\u1160\u180e\u3164\ufeff\uffa0"),
    *(character.encode() for character in "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"),
    *(b"\xe2\x81", b"\xef\xb8", b"\xf3\xa0"),
)
"""These characters, or their first bytes, in UTF-8."""
_UNSEEN_STARTS = tuple(sorted({encoded[:1] for encoded in _UNSEEN_BYTES}))
_unseen_at = re.compile(b"|".join(map(re.escape, _UNSEEN_BYTES))).match
_introduces_quote = re.compile(r"(?:e\.?g\.?|examples?|such as|like|detects?|for)[,:]?\s{0,2}[\"'`“‘(]{1,3}$").search


@rule(
    Tool,
    "MP040",
    ruleset="polish",
    name="hidden-prompt-injection",
    severity="error",
    category="security",
)
def hidden_prompt_injection(tool: Tool) -> Iterator[Problem]:
    """A text of a tool contains invisible characters.

    All texts are searched: names, descriptions, titles, values. Not reported are joiners inside an emoji or a word of a
    script that uses them, direction marks in right-to-left text, and a byte order mark at the start.

    Why: models read them; whole instructions can be hidden from reviewers this way.
    Fix: delete them; if they came with copied text, retype the words.
    """
    if not _may_hide(tool):
        return
    for pointer, text in _texts(tool.fields):
        found = _hidden_in(text)
        if found is not None:
            yield Problem(f"contains an invisible character, U+{ord(found):04X}", at=pointer)


def _may_hide(tool: Tool) -> bool:
    """Whether the texts need to be searched one by one."""
    if tool.is_plain:
        return False
    written, description = tool.written, tool.description
    if not written or any(matches_from(_RARE_BYTES, _may_be_invisible, written)):
        return True
    if description.isascii():
        return "\x1b" in description
    return any(matches_from(_RARE_BYTES, _may_be_invisible, description.encode("utf-8", "surrogatepass")))


def _hidden_in(text: str) -> str | None:
    """The first invisible character without a legitimate use."""
    for match in _INVISIBLE.finditer(text):
        at, character = match.start(), match[0][0]
        if not (
            (character == "\ufeff" and at == 0)
            or (character in _DIRECTIONS and _right_to_left(text))
            or (character in _JOINERS and _joins(text, at))
            or (character >= "\U000e0100" and "\u3400" <= text[at - 1 : at] < "\U000e0000")
            or ("\U000e0020" <= character <= "\U000e007f" and _FLAG in text[max(0, at - _LONGEST_FLAG) : at])
        ):
            return character
    return None


def _joins(text: str, at: int) -> bool:
    """Whether a joiner is between parts of an emoji, or in a word of a script that uses joiners."""
    around = text[max(0, at - 1) : at] + text[at + 1 : at + 2]
    return len(around) == 2 and all(letter > "\u058f" and not _INVISIBLE.match(letter) for letter in around)


@rule(
    Tool,
    "MP041",
    ruleset="polish",
    name="instruction-in-description",
    severity="error",
    category="security",
)
def instruction_in_description(tool: Tool) -> Iterator[Problem]:
    """A text of a tool instructs the model to ignore its instructions or to hide something from the user.

    Markers of chat templates count too, in the case that tokenizers match: `[INST]`, not `[inst]`. Instructions on when
    and how to use the tool are fine, and so is the mention of a system prompt.

    Why: descriptions are untrusted text in the model's context; this is how tools are poisoned.
    Fix: describe what the tool does; leave the model's behaviour to the client.
    """
    if not _may_speak(tool):
        return
    for pointer, text in _texts(tool.fields):
        spoken = next(filter(None, map(_spoken_in, _readings(text))), None)
        if spoken is not None:
            yield Problem(f"contains an instruction to the model: `{spoken}`", at=pointer)


def _readings(text: str) -> Iterator[str]:
    """A text as it is, and without invisible characters: removed within words, and as spaces."""
    yield text
    if not text.isascii() and _UNSEEN.search(text):
        yield _UNSEEN.sub("", text)
        yield _UNSEEN.sub(" ", text)


def _spoken_in(text: str) -> str | None:
    """The first instruction to the model, or marker of a chat template, that is not a quoted example."""
    lowered = text.lower()
    for match in (*matches_from(_BEGINNINGS, _speech, lowered), *matches_from(_MARKER_BEGINNINGS, _marker, text)):
        if not _introduces_quote(match.string[max(0, match.start() - 30) : match.start()].lower()):
            return " ".join(match[0].split())
    return None


def _may_speak(tool: Tool) -> bool:
    """Whether the texts need to be searched one by one."""
    written, description = tool.written, tool.description
    if not written or tool_words(tool).says(SPEAKING, _speech):
        return True
    if ("<" in description or "]" in description) and has_any(_MARKER_BEGINNINGS, description):
        return True
    if b"INST]" in written or (b"<" in written and has_any(_MARKER_PARTS, written)):
        return True
    if not tool.is_plain and _may_have_unseen(written):
        return True
    if not description.isascii() and _may_have_unseen(description.encode("utf-8", "surrogatepass")):
        return True
    lowered = written.lower()
    for sign, beginnings in _BYTE_BEGINNINGS:
        if sign in lowered:
            for beginning in beginnings:
                if beginning in lowered and any(matches_from((beginning,), _speech_in_bytes, lowered)):
                    return True
    return False


def _may_have_unseen(text: bytes) -> bool:
    return any(matches_from(_UNSEEN_STARTS, _unseen_at, text))


def _texts(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a tool with their pointers; a key has the pointer of its value."""
    waiting: list[tuple[str, Any, int]] = [("", fields, 1)]
    for pointer, holder, level in waiting:  # grows while it is iterated
        pairs = holder.items() if type(holder) is dict else enumerate(holder)
        for key, value in pairs:
            below = f"{pointer}/{escape(key) if type(key) is str else key}"
            if type(key) is str:
                yield below, key
            if type(value) is str:
                yield below, value
            elif (type(value) is dict or type(value) is list) and level < STRICT_LEVELS:
                waiting.append((below, value, level + 1))
