"""Rules on texts that are not what their place is for: markup of chats, instructions in names and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.rules.trust.text_problems import escaped, problem_of_text, quoted
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.linting.finding import Problem
    from mcproof.poisoning.model_texts import ModelTexts


@trust_rule(
    "TRU-110",
    name="chat-markup",
    severity="medium",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    in_lint=True,
    same_as="MP041",
)
def chat_markup(texts: ModelTexts) -> Iterator[Problem]:
    """A text has markup of a chat template, such as `<|im_start|>`, `[INST]`, `<system>` or a role at a line's start.

    Not reported are code spans, and placeholders such as `<user>` in a path.

    Why: a model may take what follows for the words of its operator or user.
    Fix: delete the markup; put an example of it into a code span.

    OWASP MCP03; SAFE-T1001.
    """
    from mcproof.poisoning.chat_markup import chat_markup as found_markup

    for found in found_markup(texts):
        message = f"has markup of a chat template: {quoted(found.marker)}"
        problem = problem_of_text(texts, found.text, message, {"marker": escaped(found.marker)})
        if problem is not None:
            yield problem


@trust_rule(
    "TRU-113",
    name="instruction-outside-description",
    severity="medium",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    in_lint=True,
)
def instruction_outside_description(texts: ModelTexts) -> Iterator[Problem]:
    """A name, title, value, default, example or unknown key instructs the model.

    Read is everything of a catalog that is not a description or the server's instructions.

    Why: clients pass whole schemas to models; reviewers read the descriptions.
    Fix: describe the value in the description of its parameter; leave the model's behaviour to the client.

    OWASP MCP03; SAFE-T1001.
    """
    from mcproof.poisoning.misplaced_instructions import misplaced_instructions

    for use in misplaced_instructions(texts):
        message = f"instructs the model in {_article(use.place)}: {quoted(use.text)}"
        problem = problem_of_text(texts, use.text, message, {"text": escaped(use.text)})
        if problem is not None:
            yield problem


def _article(place: str) -> str:
    return f"an {place}" if place[0] in "aeiou" else f"a {place}"
