"""Markup of chat templates in a text: a model may take what follows for another speaker's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.code_spans import without_code
from mcproof.poisoning.substrings import occurrences

if TYPE_CHECKING:
    from mcproof.poisoning.model_texts import ModelTexts

_bracket = re.compile(
    r"<(?:\||<|/?im_|/?start_of|/?end_of|system|assistant|user>|instruction|important)", re.IGNORECASE
)
_SIGNS = (
    "INST]",
    "role",
    "Human: ",
    "HUMAN: ",
    "ssistant: ",
    "ASSISTANT: ",
    "ystem: ",
    "SYSTEM: ",
    "### ",
    "##System",
    "##Instr",
)

_markup = re.compile(
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end_of_text|begin_of_text|eot_id|end|start|channel"
    r"|message|return|(?:start|end)_header_id)\|>"
    r"|\[/?INST\]|<</?SYS>>|</?im_(?:start|end)>|<(?:start|end)_of_turn>"
    r"|[\"']role[\"']\s{0,3}:\s{0,3}[\"']system[\"']"
    r"|(?:^|\n\n)(?:Human|Assistant|System|SYSTEM|ASSISTANT|HUMAN): (?=\w)"
    r"|(?:^|\n)###{0,3} {0,3}(?:System|Instruction|Response|Human|Assistant):"
)
_element = re.compile(
    r"<(system|assistant|user|instructions?|important|system[-_ ]?(?:prompt|message|reminder|note|instructions?))>"
    r"(?=[^<]{12})",
    re.IGNORECASE,
)
_PLACEHOLDERS = ("user", "system", "assistant", "instructions", "instruction")
"""Names of elements that are also names of placeholders, such as `/home/<user>/notes`."""


class ChatMarkup(NamedTuple):
    """Markup of a chat template in a text."""

    text: str
    marker: str


def chat_markup(texts: ModelTexts) -> list[ChatMarkup]:
    """The texts of a server with markup of chat templates, each with its first marker."""
    joined = texts.joined
    offsets = [match.start() for match in _bracket.finditer(joined)]
    offsets += [at for sign in _SIGNS for at in occurrences(joined, sign)]
    suspects = dict.fromkeys(texts.text_at(offset) for offset in offsets)
    markers = ((text, chat_marker(text)) for text in suspects)
    return [ChatMarkup(text, marker) for text, marker in markers if marker]


def chat_marker(text: str) -> str:
    """The first marker of a chat template outside code spans; empty if there is none."""
    text = without_code(text)
    match = _markup.search(text)
    if match is not None:
        return match[0].strip()
    for element in _element.finditer(text):
        name = element[1].lower()
        if name not in _PLACEHOLDERS or f"</{name}>" in text[element.end() : element.end() + 20_000].lower():
            return element[0]
    return ""
