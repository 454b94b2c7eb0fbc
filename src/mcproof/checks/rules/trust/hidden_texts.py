"""Rules on texts that a model reads and a person does not: hidden and encoded ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.text_problems import escaped, problem_of_text, quoted
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.core.observations.perimeter import Exposure
    from mcproof.poisoning.judged_texts import JudgedHiding
    from mcproof.poisoning.model_texts import ModelTexts

LONGEST_READ = 200_000
"""The characters of one text that all rules read: the limit of the analyses, which are too slow to import here."""
_MOST_CODE_POINTS = 16
_UNREAD = "unread"
"""The kind of a finding about text that is not read."""
_SEVERITIES = {"message": None, "suspicion": None, "oddity": "medium"}
"""The severity of a problem by how certain it is; None is that of the rule."""


def _is_message(evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """Whether the hidden text was decoded."""
    return bool(evidence.get("isMessage"))


def _title(evidence: Mapping[str, Any]) -> str | None:
    """The title of a finding about texts that no rule reads; None for hidden ones."""
    is_unread = evidence.get("kind") == _UNREAD
    return "Texts are beyond the limits of the rules, so part of them is not read" if is_unread else None


@trust_rule(
    "TRU-101",
    name="hidden-characters",
    severity="critical",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    hard_fail=_is_message,
    in_lint=True,
    same_as="MP040",
    title_of=_title,
)
def hidden_characters(texts: ModelTexts) -> Iterator[Problem]:
    """A text has a part that a model reads and a person does not see.

    Reported are tag characters, zero-width characters, variation selectors used as bytes, direction controls, escape
    sequences, lookalike or styled letters in words, comments, hidden elements, and text beyond much whitespace. Every
    text that a model may read is searched. Not reported are emoji and flags, joiners in words of scripts that use them,
    direction marks in right-to-left text, a byte order mark at the start, words that are entirely in another script,
    and comments in code spans.

    A server with more texts than rules read, with longer ones, or with deeper nesting, is reported as well.

    The verdict is `block` if the hidden part decodes to words, or breaks a rule about instructions. The severity is
    medium if it may be an accident, such as a single zero-width space.

    Why: reviewers approve what they see; whole instructions can be hidden from them.
    Fix: delete the hidden part; if it came with copied text, retype the words. Shorten texts that are too long to read.

    OWASP MCP03; SAFE-T1402.
    """
    from mcproof.poisoning.suspicious_texts import hiding_suspects

    if texts.left_out:
        evidence: dict[str, Any] = {"kind": _UNREAD, "count": texts.left_out, "isMessage": False}
        noun = "text" if texts.left_out == 1 else "texts"
        yield Problem(f"has {texts.left_out:,} {noun} beyond the limits that no rule reads", evidence=evidence)
    for text in texts.distinct:
        if len(text) > LONGEST_READ:
            evidence = {"kind": _UNREAD, "count": len(text) - LONGEST_READ, "isMessage": False}
            message = f"a text has {len(text):,} characters, of which rules read {LONGEST_READ:,}"
            if (problem := problem_of_text(texts, text, message, evidence)) is not None:
                yield problem
    suspects = hiding_suspects(texts)
    if not suspects:
        return
    from mcproof.poisoning.judged_texts import hidings

    for text, judged in hidings(suspects, texts.tool_names).items():
        for each in judged:
            hidden = each.hidden
            evidence = {
                "kind": hidden.kind,
                "codePoints": [f"U+{ord(one):04X}" for one in hidden.characters[:_MOST_CODE_POINTS]],
                "count": len(hidden.characters),
                "decoded": escaped(hidden.decoded) if hidden.decoded else None,
                "isMessage": each.certainty == "message",
                "rule": each.rule or None,
            }
            problem = problem_of_text(texts, text, _message(each), evidence, _SEVERITIES[each.certainty])
            if problem is not None:
                yield problem


def _message(judged: JudgedHiding) -> str:
    hidden = judged.hidden
    if hidden.kind in ("comment", "hidden element", "whitespace"):
        article = {"comment": "in a comment", "hidden element": "in a hidden element", "whitespace": "after whitespace"}
        return f"hides text {article[hidden.kind]}: {quoted(hidden.decoded)}"
    characters = hidden.characters
    count = f"{len(characters)} from U+{ord(characters[0]):04X}" if characters else "of a terminal"
    if hidden.kind in ("lookalike letters", "styled letters"):
        return f"has words with {hidden.kind} ({count}), which read {quoted(hidden.decoded)}"
    if hidden.decoded:
        return f"hides text in {hidden.kind} ({count}): {quoted(hidden.decoded)}"
    return f"contains {hidden.kind} ({count})"


@trust_rule(
    "TRU-102",
    name="encoded-instruction",
    severity="critical",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    hard_fail=_is_message,
    in_lint=True,
)
def encoded_instruction(texts: ModelTexts) -> Iterator[Problem]:
    """A text has an encoded part that, once decoded, instructs a model.

    Decoded are base64, base32, base85 and hexadecimal, also split, reversed, compressed or nested; character codes;
    escapes of HTML, URLs and strings; shifted, mirrored and reversed letters; digits for letters; spaced letters; Morse
    and Braille. Encoded examples that instruct nobody are not reported.

    The verdict is `block` if the decoded text breaks a rule about instructions, which the evidence names. The severity
    is medium if the decoded text is prose without a clear command.

    Why: models decode such text without being asked; reviewers and filters do not.
    Fix: write what is meant in plain words, or remove it.

    OWASP MCP03; SAFE-T1402.
    """
    from mcproof.poisoning.suspicious_texts import encoded_suspects

    suspects = encoded_suspects(texts)
    if not suspects:
        return
    from mcproof.poisoning.judged_texts import encodings

    for text, judged in encodings(suspects, texts.tool_names).items():
        encoded = judged.encoded
        evidence = {
            "encoding": encoded.encoding,
            "decoded": escaped(encoded.decoded),
            "isMessage": judged.certainty == "message",
            "rule": judged.rule or None,
        }
        message = f"has an encoded text ({encoded.encoding}), which reads {quoted(encoded.decoded)}"
        problem = problem_of_text(texts, text, message, evidence, _SEVERITIES[judged.certainty])
        if problem is not None:
            yield problem
