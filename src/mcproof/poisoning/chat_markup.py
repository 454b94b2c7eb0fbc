"""Markup of chat templates in a text: a model may take what follows for another speaker's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.code_spans import without_code
from mcproof.poisoning.substrings import RareSearch, rare_signs

if TYPE_CHECKING:
    from mcproof.poisoning.model_texts import ModelTexts

_SIGNS = (
    RareSearch(b"<", rb"(?i:\||<|/?im_|/?start_of|/?end_of|system|assistant|user>|instruction|important)"),
    rare_signs(b"]", b"INST]"),
    rare_signs(b'"', b'role"'),
    rare_signs(b"'", b"role'"),
    rare_signs(b":", b"Human: ", b"HUMAN: ", b"ssistant: ", b"ASSISTANT: ", b"ystem: ", b"SYSTEM: "),
    RareSearch(b"#", rb"(?=## {1,3}(?:System|Instruction|Response|Human|Assistant):|#(?:System|Instr))"),
)

_MARKUP = (
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end_of_text|begin_of_text|eot_id|end|start|channel"
    r"|message|return|(?:start|end)_header_id)\|>"
    r"|\[/?INST\]|<</?SYS>>|</?im_(?:start|end)>|<(?:start|end)_of_turn>"
    r"|[\"']role[\"']\s{0,3}:\s{0,3}[\"']system[\"']"
    r"|(?:^|\n\n)(?:Human|Assistant|System|SYSTEM|ASSISTANT|HUMAN): (?=\w)"
    r"|(?:^|\n)###{0,3} {0,3}(?:System|Instruction|Response|Human|Assistant):"
)
_ELEMENT = (
    r"(?i)<(system|assistant|user|instructions?|important|system[-_ ]?(?:prompt|message|reminder|note|instructions?))>"
    r"(?=[^<]{12})"
)
_PLACEHOLDERS = ("user", "system", "assistant", "instructions", "instruction")
"""Names of elements that are also names of placeholders, such as `/home/<user>/notes`."""


class ChatMarkup(NamedTuple):
    """Markup of a chat template in a text."""

    text: str
    marker: str


def chat_markup(texts: ModelTexts) -> list[ChatMarkup]:
    """The texts of a server with markup of chat templates, each with its first marker."""
    offsets = [match.start() for search in _SIGNS for match in search(texts.joined_bytes)]
    suspects = dict.fromkeys(texts.text_at(offset) for offset in offsets)
    markers = ((text, chat_marker(text)) for text in suspects)
    return [ChatMarkup(text, marker) for text, marker in markers if marker]


def chat_marker(text: str) -> str:
    """The first marker of a chat template outside code spans; empty if there is none."""
    text = without_code(text)
    match = re.search(_MARKUP, text)
    if match is not None:
        return match[0].strip()
    for element in re.finditer(_ELEMENT, text):
        name = element[1].lower()
        if name not in _PLACEHOLDERS or f"</{name}>" in text[element.end() : element.end() + 20_000].lower():
            return element[0]
    return ""
