"""Whether a text that a model reads has something in it that a person does not see, or that speaks to the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.finding import Problem
from mcproof.jsontext import escape
from mcproof.registry import rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.catalog import Tool

_controls = re.compile("[\x08\x1b]").search
_invisible = re.compile(
    "[\x08\x1b\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
    "|[\ufe00-\ufe0f]{2,}"
)
_OVERRIDES = "\u202d\u202e"
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"
_JOINERS = "\u200b\u200c\u200d"
_right_to_left = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]").search
_FLAG = "\U0001f3f4"
_LONGEST_FLAG = 8

_SPEECH = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|the|your|of|my|these|those)\s+){0,3}"
    r"(?:(?:previous|prior|above|earlier|preceding|existing|original|system)\s+(?:\w+\s+)?"
    r"(?:instructions?|prompts?|rules|guidelines|messages?|directives?|commands?)|instructions?\s+(?:above|before|given)"
    r"|(?:previous|above|prior)\b(?=\s*(?:[.,;:!]|and\b)))"
    r"|\b(?:ignore|disregard|forget)\s+(?:all\s+|everything\s+)(?:previous|above|before|you\b)"
    r"|\b(?:reveal|print|output|repeat|leak|send)\s+(?:\w+\s+){0,2}system\s+prompt\b"
    r"|<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end_of_text|begin_of_text|eot_id|start_header_id|end_header_id)\|>"
    r"|\[/?inst\]|<</?sys>>|</?im_(?:start|end)>"
    r"|\b(?:do\s+not|don't|never|without)\s+(?:tell|inform|notify|alert|telling|informing|notifying|alerting)\s+(?:the\s+)?user\b"
    r"|\b(?:do\s+not|don't|never)\s+(?:mention|reveal|disclose)\s+(?:this|that|it|these|any\s+of\s+this)\s+(?:\w+\s+){0,2}to\s+(?:the\s+)?user\b"
    r"|\byou\s+are\s+now\s+(?:dan\b|jailbroken|unrestricted|in\s+(?:developer|god|admin)\s+mode)"
)
_CUES = (
    *("ignore", "disregard", "forget", "override", "bypass", "system prompt", "<|", "inst]", "sys>>", "<im_", "/im_"),
    *("not tell", "not inform", "not notify", "not alert", "don't", "never", "without", "not mention", "not reveal"),
    *("not disclose", "are now"),
)
_is_quoted = re.compile(r"(?:e\.?g\.?|examples?|such as|like|detects?|contains?|for)[,:]?\s{0,2}[\"'`“‘(]{1,3}$").search


@rule(
    "MP040",
    ruleset="polish",
    name="hidden-prompt-injection",
    severity="error",
    category="security",
)
def hidden_prompt_injection(tool: Tool) -> Iterator[Problem]:
    """A text of a tool has characters that a person does not see.

    Every text is searched: names, descriptions, titles, values. Joiners inside an emoji or a word of a script that
    has them, direction marks in a text that runs from right to left, and a mark at the very beginning are in order.

    Why: a model reads them; whole instructions can be written in characters that no review shows.
    Fix: delete them; where they came in with copied text, type the words anew.
    """
    if all(text.isascii() and not _controls(text) for text in tool.texts):
        return
    for pointer, text in _places(tool.fields, lambda each: not each.isascii() or _controls(each) is not None):
        found = _hidden_in(text)
        if found is not None:
            yield Problem(f"has an invisible character, U+{ord(found):04X}", at=pointer)


def _hidden_in(text: str) -> str | None:
    """The first character that nobody sees and nothing explains."""
    runs_left = _right_to_left(text) is not None
    for match in _invisible.finditer(text):
        at, character = match.start(), match[0][0]
        if len(match[0]) == 1 and (
            (character == "\ufeff" and at == 0)
            or (character in _DIRECTIONS and runs_left)
            or (character in _JOINERS and _joins(text, at))
            or (character >= "\U000e0100" and at > 0 and "\u3400" <= text[at - 1] < "\U000e0000")
            or ("\U000e0000" <= character <= "\U000e007f" and _FLAG in text[max(0, at - _LONGEST_FLAG) : at])
        ):
            continue
        return character
    return None


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands between the parts of an emoji, or in a word of a script that uses them."""
    around = text[max(0, at - 1) : at] + text[at + 1 : at + 2]
    return len(around) == 2 and all(each > "\u058f" and not each.isspace() for each in around)


@rule(
    "MP041",
    ruleset="polish",
    name="instruction-in-description",
    severity="error",
    category="security",
)
def instruction_in_description(tool: Tool) -> Iterator[Problem]:
    """A text of a tool tells the model to set aside its instructions or to keep something from the user.

    Marks of a chat template count too. To say when and how to use the tool is what descriptions are for, and to
    name a system prompt is no crime.

    Why: a description comes from the server and speaks in nobody's name; this is how tools are poisoned.
    Fix: describe what the tool does; leave how a model behaves to whoever runs it.
    """
    joined = "\n".join(tool.texts).lower()
    if not any(cue in joined for cue in _CUES) or not _SPEECH.search(joined):
        return
    for pointer, text in _places(tool.fields, lambda each: _SPEECH.search(each.lower()) is not None):
        lowered = text.lower()
        for match in _SPEECH.finditer(lowered):
            if not _is_quoted(lowered[max(0, match.start() - 30) : match.start()]):
                said = " ".join(match[0].split())
                yield Problem(f"speaks to the model: `{said}`", at=pointer)
                break


def _places(fields: dict[str, Any], is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """The wanted texts of a tool, each with its pointer; a key stands where its value does."""
    waiting: list[tuple[str, Any]] = [("", fields)]
    for pointer, each in waiting:  # it grows while it is read
        if type(each) is str:
            if is_wanted(each):
                yield pointer, each
            continue
        pairs = each.items() if type(each) is dict else enumerate(each)
        for key, value in pairs:
            below = f"{pointer}/{escape(key) if type(key) is str else key}"
            if type(key) is str and is_wanted(key):
                yield below, key
            if type(value) in (str, dict, list):
                waiting.append((below, value))
