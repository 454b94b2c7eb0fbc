"""Patterns of instructions to a model, as sequences of word classes.

`NEG|WITHOUT <3 TELL <3 USER` is a negation, within three words a verb such as "tell", and within three more the
user. `=3` instead of `<3` stays in the clause. `+SEND` is a verb that commands, `!SEND` a word that is not negated.
What follows `if` must be true of the sentence. Matching looks a bounded number of words ahead from each word that
may start a match, so it is linear in the length of a sentence.
Why sentences are sequences of classes: docs/decisions/0053-sentences-as-classes.md.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mcproof.checks.texts.words import Word, class_bits
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


CONCEALS = "conceals-from-user"
OVERRIDES = "overrides-user-or-instructions"
SECRETS = "commands-secret-access"
DESTROYS = "commands-destruction"
SENDS = "sends-to-outside-address"
TAMPERS = "tampers-with-another-tool"
OVERREACHES = "out-of-scope-parameter"
PRAISES = "self-praise"
KINDS = (CONCEALS, OVERRIDES, SECRETS, DESTROYS, SENDS, TAMPERS, OVERREACHES, PRAISES)

FRAMED, CONDITIONAL, OBLIGED, OTHERS, RUINOUS, SHELL, PRETEXT, NAMED, FIRM = (1 << at for at in range(9))
_NEEDS = {
    "framed": FRAMED,  # speaks to a model, or continues a sentence that does
    "conditional": CONDITIONAL,  # has a condition such as "before using this tool"
    "obliged": OBLIGED,  # has a word such as "must"
    "others": OTHERS,  # names another tool
    "ruinous": RUINOUS,  # has a shell or SQL command that destroys
    "shell": SHELL,  # has a shell command
    "pretext": PRETEXT,  # justifies itself by security, compliance or the like, or the next sentence does
    "firm": FIRM,  # speaks to a model by itself, not only by its position in the text
    "named": NAMED,  # belongs to a tool with a name
}

_TABLE: dict[tuple[str, str], str] = {
    (CONCEALS, ""): """
        NEG|WITHOUT <3 TELLU <3 USER ^TO|DET|THEIR|YOUR
        TELL|SAY =2 NOTHING
        +HIDE|DESTROY =3 MENTION
        +HIDE|DESTROY <6 FROM <3 RESULT if firm
        WITHOUT <2 THIS <3 TOLD|SEEN
        +PRETEND
        NEG|WITHOUT <3 TELL <2 THIS
        NEG|WITHOUT <3 TELL|SHOW <3 THIS <3 ACT
        NEG|WITHOUT <3 TELL|SHOW <5 ACT <5 USER
        NEG|WITHOUT <3 SHOW <2 THIS <4 USER
        NEG|WITHOUT <3 LET <3 KNOW
        USER <3 MUST|OBLIGE <2 NEG <4 TOLD|KNOW
        USER <3 NEG <2 MUST|OBLIGE <4 TOLD|KNOW
        THIS <3 MUST <2 NEG <3 TOLD
        MUST <2 NEG <3 TOLD <4 USER
        THIS <2 NEG <1 TO <2 TOLD
        WITHOUT <4 USER <3 KNOW|TOLD|SEEN
        USER <5 UNAWARE
        +HIDE <7 FROM <3 USER
        +HIDE <2 THIS <4 HIDDEN|QUIET
        MUST <3 REMAIN <3 HIDDEN if framed
        STEALTH <2 CALL|READ|SEND|CHANGE|SET|DESTROY if framed
        +CALL|READ|SEND|CHANGE|SET|DESTROY <9 STEALTH if framed
        ASIF <5 NORMAL if framed
        NEG|WITHOUT <3 TRACE if framed
    """,
    (OVERRIDES, "instructions"): """
        +IGNORE|IGNOREW <4 PRIOR|ALL|YOUR <3 INSTR
        +IGNORE <1 DET <3 INSTR|GUARD
        +IGNORE =3 GUARD if framed
        +IGNOREW <4 GUARD if framed
        !PRIORITY <4 OVER <5 USER|INSTR
        !OUTRANK <5 USER|INSTR
        YOUR|PRIOR|ALL|MODEL <3 INSTR|GUARD <4 VOID
        INSTR|GUARD <4 VOID <5 MODEL
        MODEL <3 VOID <5 INSTR|GUARD
        REGARDLESS <3 PRIOR <2 INSTR
        TREAT <9 AS <2 INSTR if framed
        SELF <5 HIGHEST <1 PRIORITY
        NEG <2 OBEY <4 USER|INSTR
        OBLIGE|MUST <4 OBEY <4 STEPS if framed
    """,
    (OVERRIDES, "user"): """
        +IGNORE|IGNOREW <4 USER|THEIR <4 REQUEST
        INSTR|REQUEST <10 MUST <4 IGNORED
        !OVERR <4 USER <3 REQUEST|INSTR
        REGARDLESS <5 USER <4 REQUEST
        REGARDLESS <3 ACTUAL <2 RESULT|REQUEST if framed
        USER <4 MUST <3 CHANGED
        +CHANGE =6 PARAM|TARGET =4 USER =2 REQUEST =2 INTO
        +APPROVE <6 BEHALF
        NEG|WITHOUT <3 ASK <3 CONSENT <4 USER
        NEG|WITHOUT <3 ASK <4 USER <3 CONSENT if framed
        NEG|WITHOUT <3 ASK <3 CONSENT if framed
    """,
    (OVERRIDES, "identity"): """
        BECOME if framed
        MODEL <4 GRANTED <2 ROOT
        NOW <5 ROOT|MODE
        YOUR <2 NEWGOAL <2 GOAL
        ACTAS <4 ROOT
        CLAIM
    """,
    (SECRETS, ""): """
        +READ|CALL|SET|SEND|CHANGE|DESTROY|TAKE <14 PATH if framed
        +TAKE <5 SECRET if firm
        +TAKE <5 SECRET|WEAK =3 FROM if firm
        MUST <4 CALL <5 SIBLING&SECRETIVE if conditional
        MUST <9 CALL <5 SIBLING&SECRETIVE if pretext
        DATA <4 PATH|SECRET <4 MUST <4 ADDED
        PATH <6 ADDED if framed
    """,
    (DESTROYS, ""): """
        +CALL|SET|CHANGE if framed, ruinous
        +CALL if framed, shell
        +DESTROY <4 ALL <4 THINGS if conditional
        ALL <2 THINGS <8 MUST <4 DESTROYED if others
        +CALL <4 STEPS <4 COMMAND if obliged
        +DESTROY <4 LOGS if framed
        +CALL <2 SIBLING&RUINER if obliged, named
        +CALL <3 TOOL <1 SIBLING&RUINER if obliged, named
    """,
    (SENDS, ""): """
        +SEND <14 ADDRESS if framed
        +SEND =3 ALL <8 ADDRESS
        MUST <4 WEAKSEND <9 ADDRESS if framed
        MUST <3 SENT <8 ADDRESS|OUTSIDE if framed
        ADDRESS <4 ADDED if framed
        ALL <4 DATA|TARGET <6 TO <3 ADDRESS if framed
        +SEND <6 DATA <8 OUTSIDE if framed
    """,
    (TAMPERS, ""): """
        +CHANGE =6 PARAM|TARGET|LITERAL =7 INTO if others
        +CHANGE =6 PARAM|TARGET|LITERAL =7 INTO if conditional
        +CHANGE =9 INTO <4 LITERAL|NUMBER|QUOTED|ADDRESS|PATH if conditional
        +CHANGE <2 LITERAL|QUOTED <6 PARAM|TARGET if conditional
        +DIVERT <7 SIBLING if named
        NOMATTER <4 SIBLING if named
        MUST <3 CHANGE <6 SIBLING if framed
        +SET|SEND|TAKE|CHANGE <9 INTO <1 ALL <2 OUTGO if framed
        PARAM|TARGET|LITERAL <7 MUST <3 CHANGED if conditional
        PARAM|TARGET|LITERAL <7 MUST <3 CHANGED if others
        RESULT <3 SIBLING <4 MUST <4 CHANGED
        +SET <6 PARAM|TARGET|LITERAL <6 INTO <4 LITERAL|NUMBER|QUOTED if others, conditional
        COND <5 SIBLING <20 +SET|CHANGE <8 PARAM|TARGET|LITERAL|QUOTED|ADDRESS|PATH if named
        FOR =2 SIBLING <5 +SET|CHANGE <6 PARAM|TARGET|LITERAL if named
        RESULT|ALL|REQUEST|DATA <5 SIBLING <3 MUST <5 CHANGED|FLIPPED if named
        +CHANGE =8 PARAM|TARGET =4 SIBLING if named
        +CALL <4 SIBLING <12 LITERAL|QUOTED if conditional, named
        MUST <4 CALL <4 SIBLING <12 NUMBER if conditional, named
        WHEN <9 SIBLING <26 +CALL|READ <7 SIBLING if named
        WHEN <25 MUST|FIRST|OBLIGE <4 CALL <5 SIBLING if named, pretext
        WHEN <25 MUST <14 USE <3 SIBLING if named, pretext
        MUST <4 CALL <5 SIBLING <20 WHEN if named, pretext
    """,
    (OVERREACHES, ""): """
        +TAKE|SET|SEND <5 CONTEXT if framed
        YOUR <3 PROMPT
        WHOLE <2 CONTEXT <3 SOFAR
        CONTEXT <2 SOFAR
        LATEST <2 MESSAGES <3 USER
        ALL =2 TOOL =2 HAVE
        IDENT <4 MODEL <3 CALLS
    """,
    (PRAISES, ""): """
        PRAISE <3 TOOL <4 WORLD
        +PREFER <4 TOOL <5 REGARDLESS <5 OTHER
        NEG <2 USE <5 TOOL <3 OTHER
    """,
}
"""The patterns of each kind. Those of `OVERRIDES` also have what is overridden."""


class Element(NamedTuple):
    """One step of a pattern."""

    classes: int
    also: int
    """A class that the word must have besides."""
    is_command: bool
    is_affirmed: bool
    within: int
    """How many words after the match of the previous element it may be."""
    in_clause: bool
    """Whether it must be in the clause of the previous one."""


class Pattern(NamedTuple):
    """A sequence of word classes that is a signal."""

    kind: str
    about: str
    elements: tuple[Element, ...]
    not_before: int
    """Classes that the word after the match must not have."""
    needs: int
    written: str


@cache
def patterns() -> list[Pattern]:
    """The patterns of the table."""
    return [
        _pattern(kind, about, line.strip())
        for (kind, about), lines in _TABLE.items()
        for line in lines.splitlines()
        if line.strip()
    ]


def _pattern(kind: str, about: str, written: str) -> Pattern:
    bits = class_bits()
    sequence, _, conditions = written.partition(" if ")
    elements: list[Element] = []
    within, in_clause, not_before = 0, False, 0
    for part in sequence.split():
        if part[0] in "<=":
            within, in_clause = int(part[1:]), part[0] == "="
            continue
        if part[0] == "^":
            not_before = _union(part[1:], bits)
            continue
        alternatives, _, also = part.lstrip("+!").partition("&")
        elements.append(
            Element(
                _union(alternatives, bits),
                bits[also] if also else 0,
                is_command=part[0] == "+",
                is_affirmed=part[0] == "!",
                within=within,
                in_clause=in_clause,
            )
        )
    return Pattern(kind, about, tuple(elements), not_before, needs_of(conditions), written)


def _union(names: str, bits: dict[str, int]) -> int:
    classes = 0
    for name in names.split("|"):
        classes |= bits[name]
    return classes


def needs_of(conditions: str) -> int:
    """What the words after `if` require of a sentence."""
    needs = 0
    for condition in conditions.replace(",", " ").split():
        needs |= _NEEDS[condition]
    return needs


class ReadSentence:
    """The words of a sentence, their moods, and which needs of patterns it meets."""

    __slots__ = ("classes", "commands", "meets", "negated", "words")

    def __init__(self, words: list[Word], meets: int) -> None:
        self.words = words
        self.meets = meets
        self.commands, self.negated = _moods(words)
        self.classes = 0
        for word in words:
            self.classes |= word.classes

    def fits(self, element: Element, at: int) -> bool:
        """Whether a word has a class of an element, and its mood."""
        classes = self.words[at].classes
        if not classes & element.classes or element.also & ~classes:
            return False
        if element.is_command:
            return self.commands[at]
        return not (element.is_affirmed and self.negated[at])


def _moods(words: list[Word]) -> tuple[list[bool], list[bool]]:
    """For each word, whether a verb there is a command, and whether it is negated."""
    bits = class_bits()
    clause, lead, negative = bits["CLAUSE"], bits["LEAD"] | bits["MUST"], bits["NEG"] | bits["WITHOUT"]
    leading = bits["LEADING"]
    commands, negated = [], []
    since_negation = 9
    before: Word | None = None
    for word in words:
        if word.classes & clause:
            since_negation = 9
        if word.text.endswith("ing"):
            leads = before is not None and bool(before.classes & leading)
        elif before is None or word.classes & clause:
            leads = True
        elif before.text == "to":
            leads = not before.classes & clause
        else:
            # After an adverb ("silently send") or the number of a step.
            leads = bool(before.classes & lead) or before.text.endswith("ly") or before.text.isdigit()
        negated.append(since_negation <= 2)
        commands.append(leads and since_negation > 2)
        since_negation = 0 if word.classes & negative else since_negation + 1
        before = word
    return commands, negated


def match(pattern: Pattern, sentence: ReadSentence) -> tuple[int, int] | None:
    """The first and the last word of the first match of a pattern."""
    if pattern.needs & ~sentence.meets:
        return None
    for element in pattern.elements:
        if not element.classes & sentence.classes:
            return None
    first = pattern.elements[0]
    for start in range(len(sentence.words)):
        if sentence.fits(first, start):
            end = _end_of_match(pattern.elements, sentence, start)
            if end is not None and not (
                pattern.not_before
                and end + 1 < len(sentence.words)
                and sentence.words[end + 1].classes & pattern.not_before
            ):
                return start, end
    return None


def _end_of_match(elements: tuple[Element, ...], sentence: ReadSentence, start: int) -> int | None:
    """The last word of a match that starts at a word. Names of other tools must differ from each other."""
    bits = class_bits()
    clause, sibling = bits["CLAUSE"], bits["SIBLING"]
    words = sentence.words
    at, named = start, {words[start].text}
    for element in elements[1:]:
        for step in range(at + 1, min(at + 1 + element.within, len(words))):
            word = words[step]
            if element.in_clause and word.classes & clause:
                return None
            if sentence.fits(element, step) and not (word.classes & sibling and word.text in named):
                named.add(word.text)
                at = step
                break
        else:
            return None
    return at


# Other languages have no word order in common, so their classes only have to be close to each other:
# docs/decisions/0053-sentences-as-classes.md.
_FOREIGN_TABLE = {
    (CONCEALS, ""): """
        NEG TELL USER within 9
        WITHOUT TELL USER within 8
        NEG TELL THIS within 5 if framed
        HIDE USER within 6 if framed
        STEALTH SEND|READ|CHANGE|CALL|DESTROY within 5 if framed
    """,
    (OVERRIDES, "instructions"): """
        IGNORE PRIOR INSTR within 7
        PRIORITY INSTR within 8 if framed
    """,
    (OVERRIDES, "user"): """
        IGNORE USER REQUEST within 7
        PRIORITY USER within 9
        REGARDLESS USER REQUEST within 8
    """,
    (SECRETS, ""): """
        READ|SEND PATH within 10 if framed
        READ|SEND SECRET|SECRETIVE within 5 if obliged, conditional
    """,
    (DESTROYS, ""): """
        DESTROY ALL THINGS within 6 if obliged, conditional
        CALL within 1 if framed, ruinous
    """,
    (SENDS, ""): """
        SEND ADDRESS within 10 if framed
    """,
    (TAMPERS, ""): """
        CHANGE PARAM|LITERAL|NUMBER|ADDRESS within 8 if others, framed
        CALL SIBLING LITERAL within 10 if obliged, conditional
    """,
    (OVERREACHES, ""): """
        SEND|READ CONTEXT within 6 if obliged, conditional
    """,
}


class Cluster(NamedTuple):
    """Word classes that are a signal if they occur close to each other."""

    kind: str
    about: str
    classes: tuple[int, ...]
    within: int
    """How many words the match may span."""
    needs: int
    has_negation: bool
    written: str


@cache
def _clusters() -> list[Cluster]:
    bits = class_bits()
    clusters = []
    for (kind, about), lines in _FOREIGN_TABLE.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            sequence, _, conditions = line.partition(" if ")
            names, _, within = sequence.partition(" within ")
            classes = tuple(sum(bits[name] for name in part.split("|")) for part in names.split())
            negation = names.startswith(("NEG", "WITHOUT"))
            clusters.append(Cluster(kind, about, classes, int(within), needs_of(conditions), negation, line))
    return clusters


def foreign_needs_met(words: list[Word]) -> int:
    """How a sentence speaks to a model, by its words."""
    bits = class_bits()
    classes = 0
    for word in words:
        classes |= word.classes
    meets = 0
    if classes & bits["MUST"]:
        meets |= OBLIGED | FRAMED
    if classes & bits["COND"]:
        meets |= CONDITIONAL | FRAMED
    if classes & bits["SIBLING"]:
        meets |= OTHERS
    return meets


def foreign_matches(words: list[Word], meets: int) -> Iterator[tuple[Cluster, tuple[int, int]]]:
    """The first cluster of each kind that a sentence has, with its first and last word."""
    kinds: set[str] = set()
    for cluster in _clusters():
        if cluster.kind not in kinds and not cluster.needs & ~meets:
            span = _span_of(cluster, words)
            if span is not None:
                kinds.add(cluster.kind)
                if cluster.kind in (CONCEALS, OVERRIDES):
                    meets |= FRAMED
                yield cluster, span


def _span_of(cluster: Cluster, words: list[Word]) -> tuple[int, int] | None:
    bits = class_bits()
    negative = bits["NEG"] | bits["WITHOUT"]
    for start, word in enumerate(words):
        missing = [classes for classes in cluster.classes if not word.classes & classes]
        if len(missing) == len(cluster.classes):
            continue
        end = start
        for at in range(start + 1, min(start + cluster.within, len(words))):
            left = [classes for classes in missing if not words[at].classes & classes]
            if len(left) < len(missing):
                missing, end = left, at
            if not missing:
                break
        if missing:
            continue
        near = words[max(0, start - 3) : end + 3]
        if cluster.has_negation or not any(neighbour.classes & negative for neighbour in near):
            return start, end
    return None
