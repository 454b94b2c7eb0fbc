"""Patterns of instructions, as sequences of word classes.

`NEG <3 TELLU <3 USER` matches a negation, within three words a verb such as "tell", within three more the user. `+VERB`
is a verb in the position of a command that is not negated. Patterns are matched from each word that may start them, and
look a bounded number of words ahead: matching is linear in the length of a sentence.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from mcproof.poisoning.word_classes import Word, lexicon

CONCEALS = "conceals-from-user"
OVERRIDES = "overrides-user-or-instructions"
SECRETS = "commands-secret-access"
DESTROYS = "commands-destruction"
SENDS = "sends-to-outside-address"
TAMPERS = "tampers-with-another-tool"
OVERREACHES = "out-of-scope-parameter"
PRAISES = "self-praise"
KINDS = (CONCEALS, OVERRIDES, SECRETS, DESTROYS, SENDS, TAMPERS, OVERREACHES, PRAISES)

FRAMED, CONDITIONAL, OBLIGED, OTHERS, RUINOUS, SHELL, PRETEXT, NAMED = 1, 2, 4, 8, 16, 32, 64, 128
"""What a pattern needs around it: an instruction to a model; a condition such as "before using this tool"; a word such
as "must"; another tool in the sentence."""


class Frame(NamedTuple):
    """How a sentence speaks to a model."""

    needs_met: int


_TABLE: tuple[tuple[str, str, int], ...] = (
    (CONCEALS, "NEG|WITHOUT <3 TELLU <3 USER", 0),
    (CONCEALS, "NEG|WITHOUT <3 TELL <2 THIS", 0),
    (CONCEALS, "NEG|WITHOUT <3 TELL|SHOW <3 THIS <3 ACT", 0),
    (CONCEALS, "NEG|WITHOUT <3 TELL|SHOW <5 ACT <5 USER", 0),
    (CONCEALS, "NEG|WITHOUT <3 SHOW <2 THIS <4 USER", 0),
    (CONCEALS, "NEG|WITHOUT <3 LET <3 KNOW", 0),
    (CONCEALS, "USER <3 MUST|OBLIGE <2 NEG <4 TOLD|KNOW", 0),
    (CONCEALS, "USER <3 NEG <2 MUST|OBLIGE <4 TOLD|KNOW", 0),
    (CONCEALS, "THIS <3 MUST <2 NEG <3 TOLD", 0),
    (CONCEALS, "MUST <2 NEG <3 TOLD <4 USER", 0),
    (CONCEALS, "THIS <2 NEG <1 TO <2 TOLD", 0),
    (CONCEALS, "WITHOUT <4 USER <3 KNOW|TOLD|SEEN", 0),
    (CONCEALS, "USER <5 UNAWARE", 0),
    (CONCEALS, "+HIDE <7 FROM <3 USER", 0),
    (CONCEALS, "+HIDE <2 THIS <4 HIDDEN|QUIET", 0),
    (CONCEALS, "MUST <3 REMAIN <3 HIDDEN", FRAMED),
    (CONCEALS, "STEALTH <2 CALL|READ|SEND|CHANGE|SET|DESTROY", FRAMED),
    (CONCEALS, "+CALL|READ|SEND|CHANGE|SET|DESTROY <9 STEALTH", FRAMED),
    (CONCEALS, "ASIF <5 NORMAL", FRAMED),
    (CONCEALS, "NEG|WITHOUT <3 TRACE", FRAMED),
    (OVERRIDES, "+IGNORE|IGNOREW <4 PRIOR|ALL|YOUR <3 INSTR", 0),
    (OVERRIDES, "+IGNORE <1 DET <3 INSTR|GUARD", 0),
    (OVERRIDES, "+IGNORE =3 GUARD", FRAMED),
    (OVERRIDES, "+IGNORE|IGNOREW <4 USER|THEIR <4 REQUEST", 0),
    (OVERRIDES, "+IGNOREW <4 GUARD", OBLIGED),
    (OVERRIDES, "INSTR|REQUEST <10 MUST <4 IGNORED", 0),
    (OVERRIDES, "PRIOR|ALL <2 INSTR|GUARD <3 VOID", 0),
    (OVERRIDES, "!PRIORITY <6 USER|INSTR", 0),
    (OVERRIDES, "!OVERR <4 USER <3 REQUEST|INSTR", 0),
    (OVERRIDES, "SELF <5 HIGHEST <1 PRIORITY", 0),
    (OVERRIDES, "REGARDLESS <5 USER <4 REQUEST", 0),
    (OVERRIDES, "REGARDLESS <3 ACTUAL <2 RESULT|REQUEST", FRAMED),
    (OVERRIDES, "USER <4 MUST <3 CHANGED", 0),
    (OVERRIDES, "BECOME", FRAMED),
    (OVERRIDES, "NOW <5 ROOT|MODE", 0),
    (OVERRIDES, "YOUR <2 NEWGOAL <2 GOAL", 0),
    (OVERRIDES, "ACTAS <4 ROOT", 0),
    (OVERRIDES, "CLAIM", 0),
    (OVERRIDES, "NEG <2 OBEY <4 USER|INSTR", 0),
    (OVERRIDES, "NEG|WITHOUT <3 ASK <3 CONSENT <4 USER", 0),
    (OVERRIDES, "NEG|WITHOUT <3 ASK <4 USER <3 CONSENT", FRAMED),
    (OVERRIDES, "NEG|WITHOUT <3 ASK <3 CONSENT", FRAMED),
    (OVERRIDES, "OBLIGE|MUST <4 OBEY <4 STEPS", FRAMED),
    (SECRETS, "+READ|CALL|SET|SEND|CHANGE|DESTROY|TAKE <14 PATH", FRAMED),
    (SECRETS, "+TAKE <5 SECRET", FRAMED),
    (SECRETS, "DATA <4 PATH|SECRET <4 MUST <4 ADDED", 0),
    (SECRETS, "PATH <6 ADDED", FRAMED),
    (DESTROYS, "+CALL|SET|CHANGE", FRAMED | RUINOUS),
    (DESTROYS, "+CALL", OBLIGED | SHELL),
    (DESTROYS, "+DESTROY <4 ALL <4 THINGS", CONDITIONAL),
    (DESTROYS, "ALL <2 THINGS <8 MUST <4 DESTROYED", OTHERS),
    (DESTROYS, "+CALL <4 STEPS <4 COMMAND", OBLIGED),
    (SENDS, "+SEND <14 ADDRESS", FRAMED),
    (SENDS, "MUST <4 WEAKSEND <9 ADDRESS", FRAMED),
    (SENDS, "MUST <3 SENT <8 ADDRESS|OUTSIDE", FRAMED),
    (SENDS, "ADDRESS <4 ADDED", FRAMED),
    (SENDS, "ALL <4 DATA|TARGET <6 TO <3 ADDRESS", FRAMED),
    (SENDS, "+SEND <6 DATA <8 OUTSIDE", FRAMED),
    (TAMPERS, "+CHANGE =6 PARAM|TARGET|LITERAL =7 INTO", OTHERS),
    (TAMPERS, "+CHANGE =6 PARAM|TARGET|LITERAL =7 INTO", CONDITIONAL),
    (TAMPERS, "+CHANGE =9 INTO <4 LITERAL|QUOTED|ADDRESS|PATH", CONDITIONAL),
    (TAMPERS, "+CHANGE <2 LITERAL|QUOTED <6 PARAM|TARGET", CONDITIONAL),
    (TAMPERS, "+DIVERT <7 SIBLING", NAMED),
    (TAMPERS, "MUST <3 CHANGE <6 SIBLING", FRAMED),
    (TAMPERS, "PARAM|TARGET|LITERAL <7 MUST <3 CHANGED", CONDITIONAL),
    (TAMPERS, "PARAM|TARGET|LITERAL <7 MUST <3 CHANGED", OTHERS),
    (TAMPERS, "RESULT <3 SIBLING <4 MUST <4 CHANGED", 0),
    (TAMPERS, "+SET <6 PARAM|TARGET|LITERAL <6 INTO <4 LITERAL|QUOTED", OTHERS | CONDITIONAL),
    (TAMPERS, "COND <5 SIBLING <20 +SET|CHANGE <8 PARAM|TARGET|LITERAL|QUOTED", NAMED),
    (TAMPERS, "+CHANGE =8 PARAM|TARGET =4 SIBLING", NAMED),
    (TAMPERS, "+CALL <4 SIBLING <12 LITERAL|QUOTED", OTHERS | CONDITIONAL),
    (TAMPERS, "WHEN <9 SIBLING <26 +CALL|READ <7 SIBLING", NAMED),
    (TAMPERS, "WHEN <25 MUST|FIRST|OBLIGE <4 CALL <5 SIBLING", NAMED | PRETEXT),
    (TAMPERS, "WHEN <25 MUST <14 USE <3 SIBLING", NAMED | PRETEXT),
    (TAMPERS, "MUST <4 CALL <5 SIBLING <20 WHEN", NAMED | PRETEXT),
    (OVERREACHES, "+TAKE|SET|SEND <5 CONTEXT", FRAMED),
    (PRAISES, "PRAISE <3 TOOL <4 WORLD", 0),
    (PRAISES, "+PREFER <4 TOOL <5 REGARDLESS <5 OTHER", 0),
    (PRAISES, "NEG <2 USE <5 TOOL <3 OTHER", 0),
)


class Element(NamedTuple):
    """One step of a pattern."""

    classes: int
    is_command: bool
    is_affirmed: bool
    """Whether the word must not be negated."""
    within: int
    """How many words after the previous element's match it may be."""
    in_clause: bool
    """Whether it must be in the same clause as the previous element's match."""


class Pattern(NamedTuple):
    """A sequence of word classes that is a signal."""

    kind: str
    elements: tuple[Element, ...]
    needs: int
    written: str


@cache
def patterns() -> list[Pattern]:
    """The patterns of the table."""
    bits = lexicon().bits
    found = []
    for kind, written, needs in _TABLE:
        elements, within, in_clause = [], 0, False
        for part in written.split():
            if part[0] in "<=":
                within, in_clause = int(part[1:]), part[0] == "="
                continue
            classes = 0
            for name in part.lstrip("+!").split("|"):
                classes |= bits[name]
            elements.append(Element(classes, part[0] == "+", part[0] == "!", within, in_clause))
        found.append(Pattern(kind, tuple(elements), needs, written))
    return found


class Sentence:
    """The words of a sentence, and which of them command."""

    __slots__ = ("all_classes", "commands", "met", "negated", "words")

    def __init__(self, words: list[Word], met: int) -> None:
        self.words = words
        self.commands, self.negated = _moods(words)
        self.met = met
        self.all_classes = 0
        for word in words:
            self.all_classes |= word.classes

    def fits(self, element: Element, at: int) -> bool:
        """Whether the word there has the mood that an element requires."""
        if element.is_command:
            return self.commands[at]
        return not (element.is_affirmed and self.negated[at])


def _moods(words: list[Word]) -> tuple[list[bool], list[bool]]:
    """For each word, whether a verb there is a command, and whether it is negated."""
    bits = lexicon().bits
    clause, lead, negative = bits["CLAUSE"], bits["LEAD"] | bits["MUST"], bits["NEG"] | bits["WITHOUT"]
    leading, foreign = bits["LEADING"], bits["FOREIGN"]
    commands, negated = [], []
    since_negation = 9
    before: Word | None = None
    for word in words:
        if word.classes & clause:
            since_negation = 9
        if word.classes & foreign:
            leads = True
        elif word.text.endswith("ing"):
            leads = before is not None and bool(before.classes & leading)
        elif before is None or word.classes & clause:
            leads = True
        elif before.text == "to":
            leads = not before.classes & clause
        else:
            leads = bool(before.classes & lead) or before.text.endswith("ly") or before.text.isdigit()
        negated.append(since_negation <= 2)
        commands.append(leads and since_negation > 2)
        since_negation = 0 if word.classes & negative else since_negation + 1
        before = word
    return commands, negated


def match(pattern: Pattern, sentence: Sentence) -> tuple[int, int] | None:
    """The first and the last word of the first match of a pattern."""
    if pattern.needs & ~sentence.met:
        return None
    elements = pattern.elements
    for element in elements:
        if not element.classes & sentence.all_classes:
            return None
    words = sentence.words
    clause, sibling = lexicon().bits["CLAUSE"], lexicon().bits["SIBLING"]
    first = elements[0]
    for start, word in enumerate(words):
        if not word.classes & first.classes or not sentence.fits(first, start):
            continue
        at = start
        named = [word.text]
        for element in elements[1:]:
            found = False
            for step in range(at + 1, min(at + 1 + element.within, len(words))):
                if element.in_clause and words[step].classes & clause:
                    break
                if (
                    words[step].classes & element.classes
                    and sentence.fits(element, step)
                    and not (words[step].classes & sibling and words[step].text in named)
                ):
                    if words[step].classes & sibling:
                        named.append(words[step].text)
                    at = step
                    found = True
                    break
            if not found:
                break
        else:
            return start, at
    return None
