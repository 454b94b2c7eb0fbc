"""Rules on hidden characters and on instructions to the model in a tool's texts, as `trust` sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rule import rule
from mcproof.core.catalog.model import Tool
from mcproof.core.schema.tree import STRICT_LEVELS
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    if tool.is_plain:
        return
    from mcproof.checks.texts.hidden import invisible_in

    for pointer, text in _texts(tool.fields):
        character = invisible_in(text)
        if character:
            yield Problem(f"contains an invisible character, U+{ord(character):04X}", at=pointer)


@rule(
    Tool,
    "MP041",
    ruleset="polish",
    name="instruction-in-description",
    severity="error",
    category="security",
)
def instruction_in_description(tool: Tool) -> Iterator[Problem]:
    """A text of a tool seems to instruct the model against its user, or has a marker of a chat template.

    Markers count in the case that tokenizers match: `[INST]`, not `[inst]`. A sentence is a warning if its score is
    that of a manipulation, as for TRU-114: a judgement. Instructions on when and how to use the tool are fine.

    Why: descriptions are untrusted text in the model's context; this is how tools are poisoned.
    Fix: describe what the tool does; leave the model's behaviour to the client.
    """
    from mcproof.checks.texts.markup import chat_marker
    from mcproof.checks.texts.suspicion import worst_sentence

    for pointer, text in _texts(tool.fields):
        marker = chat_marker(text) if "<" in text or "[" in text or "###" in text else ""
        worst = worst_sentence(text)
        if marker:
            yield Problem(f"contains a marker of a chat template: `{marker}`", at=pointer)
        elif worst is not None and worst[1] > 0:
            sentence = " ".join(worst[0].split())[:_LONGEST_QUOTE]
            yield Problem(f"seems to contain an instruction to the model: `{sentence}`", at=pointer, severity="warning")


_LONGEST_QUOTE = 200


def _texts(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a tool with their pointers; a key has the pointer of its value."""
    waiting: list[tuple[str, Any, int]] = [("", fields, 1)]
    for pointer, holder, level in waiting:  # read while it grows, which is breadth first without recursion
        pairs = holder.items() if type(holder) is dict else enumerate(holder)
        for key, value in pairs:
            below = f"{pointer}/{escape(key) if type(key) is str else key}"
            if type(key) is str:
                yield below, key
            if type(value) is str:
                yield below, value
            elif (type(value) is dict or type(value) is list) and level < STRICT_LEVELS:
                waiting.append((below, value, level + 1))
