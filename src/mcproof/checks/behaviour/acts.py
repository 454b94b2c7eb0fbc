"""Acts: the verbs of a tool with the words that follow them, from its name, description and schema.

`similar_names` answers one more question about these words: which names are easily taken for each other.
Why a capability is a verb with its object: docs/decisions/0049-capabilities-are-verbs.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from mcproof.checks.behaviour import effects as verbs
from mcproof.core.catalog.model import Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import first_sentence, lead_end, verb_forms, without_negations, word_set, words_of

LEAST_LETTERS, LONGEST_COMPARED_NAME, MOST_PAIRS = 8, 100, 200
"""The least length of names that may differ in one character; the longest name and the most pairs considered."""

_separators = re.compile(r"[^0-9a-z]+")
_digits = re.compile(r"\d+")


class SimilarNames(NamedTuple):
    """Two names, each from one of two lists."""

    name: str
    other: str


def similar_names(names: Iterable[str], others: Iterable[str]) -> list[SimilarNames]:
    """The pairs of names that are easily taken for each other; names that differ only in a number are a series."""
    by_key: dict[str, list[str]] = {}
    for other in dict.fromkeys(others):
        for key in _keys(other):
            by_key.setdefault(key, []).append(other)
    pairs: dict[SimilarNames, None] = {}
    for name in dict.fromkeys(names):
        for key in _keys(name):
            for other in by_key.get(key, ())[:MOST_PAIRS]:
                is_series = name != other and _digits.sub("0", name) == _digits.sub("0", other)
                if len(pairs) < MOST_PAIRS and not is_series:
                    pairs[SimilarNames(name, other)] = None
    return list(pairs)


def _keys(name: str) -> Iterator[str]:
    """A name without case and separators, and, if it is long, every form of it with one character less."""
    letters = _separators.sub("", name[:LONGEST_COMPARED_NAME].lower().translate(_LOOKALIKES))
    if letters:
        yield letters
    if len(letters) >= LEAST_LETTERS:
        # Two names that differ in one character have a key in common.
        for index in range(len(letters)):
            yield letters[:index] + letters[index + 1 :]


_LOOKALIKES = str.maketrans("аеорсухіјѕԁ", "aeopcyxijsd")
"""Cyrillic letters that look like Latin ones, in names the most usual ones."""


Source = Literal["name", "description", "schema", "source"]

LONGEST = 2_000
"""How much of a description is read, in characters."""
LONGEST_NAME = 200
"""The longest names of tools and parameters that are read."""
_SENTENCES = 4
"""How many sentences are tried until one begins with a verb."""
_MOST_PARAMETERS = 300
_OBJECT_WORDS = 9
"""How many words after the verb of a sentence are read."""

MORE_VERBS = word_set(
    "access broadcast browse chmod chown cleanup compose cordon crawl decrypt demote deposit dial disable donate "
    "download drain drop dump elevate email halt impersonate initiate issue load log mail make map mint mkdir mv "
    "notify perform pipe post power process prune reboot refund reveal rmdir scrape screenshot shut sms spawn stake "
    "stage unstage sudo suspend swap text toot touch transmit unzip upload use visit wget wipe wire work"
)
"""Verbs that only matter for capabilities."""
_NOUNS_TOO = (
    verbs.CHANGING_OR_NOUN
    | verbs.IN_FRONT
    | word_set("broadcast drop email mail map pay power process refund reply screenshot sell shut sms text work")
)
_PLAIN = (verbs.CHANGING | verbs.DESTRUCTIVE | MORE_VERBS) - _NOUNS_TOO
_MAKES = verbs.CONVERTING | verbs.EXTRACTING | verbs.DRAWING | verbs.COMPUTING
_READS = verbs.READING | verbs.READING_OR_NOUN
_KNOWN = _PLAIN | _NOUNS_TOO | _MAKES | _READS | verbs.READING_IN_DESCRIPTIONS | verbs.AT_THE_END | verbs.GENERIC

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9'._-]*[A-Za-z0-9]|[A-Za-z]|[,(/;:]|[–—]|(?<=\s)-(?=\s)")
_END = word_set("( ; : – — -")
PREPOSITIONS = word_set(
    "about across against as at before by during for from if in inside into like on onto over through to towards under "
    "until upon using via when where which while with within without"
)
"""Words that end the object of a verb."""
_AFTER_NOUNS = word_set(
    "analysis analyzer checker count counter details gap guide history id info log logs metrics options parser point "
    "policy rate rates report schedule stats statistics status summary template through tracker type types validator"
)
"""Words before which a word that may be a noun is one: `purchase_history`."""
_JOINS = frozenset({"and", "or", "then", ",", "/"})


class Act(NamedTuple):
    """A verb with the words that follow it."""

    verb: str
    """The base form, in lower case."""
    words: tuple[str, ...]
    """The words after the verb; in a name without any, the words before it."""
    source: Source
    shown: str = ""
    """The verb and its object as the name has them; empty for the verb alone."""

    @property
    def object(self) -> tuple[str, ...]:
        """The words up to the first preposition: `message` of `send_message_to_channel`."""
        end = next((index for index, word in enumerate(self.words) if index and word in PREPOSITIONS), len(self.words))
        return self.words[:end]

    @property
    def head(self) -> str:
        """The last noun of the object before "of", which is what the verb acts on."""
        words = self.object
        if "of" in words[1:]:
            words = words[: words.index("of", 1)]
        return words[-1] if words else ""

    @property
    def target(self) -> tuple[str, ...]:
        """The words after the first preposition."""
        return self.words[len(self.object) + 1 :]

    @property
    def is_reading(self) -> bool:
        return self.verb in _READS or self.verb in verbs.READING_IN_DESCRIPTIONS

    @property
    def keyword(self) -> str:
        return self.shown or self.verb


class ToolText(NamedTuple):
    """What is read of a tool to tell what it does."""

    words: list[str]
    """The words of its name."""
    acts: list[Act]
    """Those of its name first, then of its description, then of the values of its parameters."""
    sentences: list[str]
    """The first sentences of its description, in lower case."""
    opening: str
    """The first of them as written, without its first word."""
    parameters: dict[str, Any]
    """The declared properties by name, also those one level down, in objects and in lists of objects."""
    read_only: bool
    """Whether `readOnlyHint` is true."""
    destructive: bool
    """Whether `destructiveHint` is true."""
    closed: bool = False
    """Whether `openWorldHint` is false: it reaches nothing outside of its own data."""

    @property
    def name_act(self) -> Act | None:
        return self.acts[0] if self.acts and self.acts[0].source == "name" else None

    @property
    def parameter_words(self) -> frozenset[str]:
        """The words of the names of its parameters."""
        return frozenset(word for name in self.parameters for word in words_of(name))

    @property
    def first_words(self) -> frozenset[str]:
        """The words of the name and of the first sentence."""
        return frozenset(self.words).union(re.findall(r"[a-z0-9]+", self.sentences[0] if self.sentences else ""))


def text_of(tool: Tool) -> ToolText:
    """Read the name, the description and the schema of a tool."""
    words = [word.strip("0123456789") or word for word in words_of(tool.name[:LONGEST_NAME])]
    sentences = _sentences(tool.description)
    parameters = parameters_of(tool)
    named = _act_of_name(words)
    acts = [named] if named is not None else []
    acts += [*_acts_of_description(sentences), *_acts_of_values(parameters, words)]
    hints = tool.fields.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    return ToolText(
        words=words,
        acts=acts,
        sentences=[without_negations(sentence).lower() for sentence in sentences],
        opening=" ".join(sentences[:1]).partition(" ")[2],
        parameters=parameters,
        read_only=hints.get("readOnlyHint") is True,
        destructive=hints.get("destructiveHint") is True,
        closed=hints.get("openWorldHint") is False,
    )


def parameters_of(tool: Tool) -> dict[str, Any]:
    """The declared properties by name, also those one level down."""
    parameters: dict[str, Any] = {}
    level = [tool.parameters]
    for _ in range(2):
        below = []
        for properties in level:
            for name, schema in properties.items():
                if len(parameters) < _MOST_PARAMETERS and len(name) <= LONGEST_NAME and name not in parameters:
                    parameters[name] = schema
                    items = schema.get("items") if isinstance(schema, dict) else None
                    nested = [part.get("properties") for part in (schema, items) if isinstance(part, dict)]
                    below += [members for members in nested if isinstance(members, dict)]
        level = below
    return parameters


def _act_of_name(words: list[str]) -> Act | None:
    """The verb of a name; words after a reading verb are nouns."""
    for number, word in enumerate(words):
        rest = words[number + 1 :]
        if word in verbs.READING:
            joined = _joined_change(rest)
            return joined or _name_act(words, number)
        if word in verbs.READING_OR_NOUN:
            if number and any(other in _PLAIN for other in rest):  # a noun, as in `todo_list_add`
                continue
            return _joined_change(rest) or _name_act(words, number)
        if word in _PLAIN or word in _MAKES or _is_verb(word, number, words):
            return _name_act(words, number)
    return None


def _joined_change(rest: list[str]) -> Act | None:
    """The second verb of `get_or_create_user`."""
    for number, word in enumerate(rest[:-1]):
        if word in verbs.CONJUNCTIONS and rest[number + 1] in _PLAIN | _NOUNS_TOO:
            return _name_act(rest, number + 1)
    return None


def _is_verb(word: str, number: int, words: list[str]) -> bool:
    """Whether a word that may be a noun is the verb of a name: first, or between a product name and an object."""
    is_last = number == len(words) - 1
    if word in verbs.AT_THE_END and is_last and number == 1:
        return True
    if word not in _NOUNS_TOO:
        return False
    following = words[number + 1] if not is_last else ""
    if following in _READS - {"read"} or following in _AFTER_NOUNS or following in _PLAIN:
        return False
    if word in verbs.CHANGING_OR_NOUN:
        return True
    return number == 0 or (number == 1 and not is_last)


def _name_act(words: list[str], number: int) -> Act:
    following = tuple(words[number + 1 :])
    if not following or following[0] in PREPOSITIONS:
        return Act(words[number], (*words[:number], *following), "name")
    shown = Act(words[number], following, "name").object
    return Act(words[number], following, "name", "_".join((words[number], *shown[:3])))


def _sentences(description: str) -> list[str]:
    rest = description[:LONGEST].strip()
    sentences: list[str] = []
    while rest and len(sentences) < _SENTENCES:
        sentence = first_sentence(rest)
        rest = rest[len(sentence) :].lstrip(" \t\r\n.!?:")
        if sentence.strip():
            sentences.append(" ".join(sentence.split()))
    return sentences


def _acts_of_description(sentences: list[str]) -> list[Act]:
    """The verbs of the first sentence that begins with one."""
    for sentence in sentences:
        tokens = _TOKEN.findall(sentence[lead_end(sentence) :])
        acts = list(_acts_of_tokens([token.lower() for token in tokens]))
        if acts:
            return acts
    return []


def _acts_of_tokens(tokens: list[str]) -> Iterator[Act]:
    """The first verb, those joined to it, and changing verbs after a conjunction."""
    if not tokens or stem(tokens[0]) not in _KNOWN:
        return
    starts = [0]
    index = 1
    while index < len(tokens) and tokens[index] in _JOINS:
        while index < len(tokens) and tokens[index] in _JOINS:
            index += 1
        if index < len(tokens) and stem(tokens[index]) in _KNOWN:
            starts.append(index)
        index += 1
    # Only in the form of the first verb: after "List", "updates" is a noun.
    is_base = stem(tokens[0]) == tokens[0]
    for number in range(starts[-1] + 1, min(len(tokens), 40) - 1):
        after = tokens[number + 1]
        base = stem(after)
        if tokens[number] in verbs.CONJUNCTIONS and base in _PLAIN and (base == after) == is_base:
            starts.append(number + 1)
    # The acts may follow a colon: "Manage tags: list, create".
    listed = tokens.index(":") + 1 if ":" in tokens[:12] else len(tokens)
    if stem("".join(tokens[listed : listed + 1])) in _KNOWN:
        starts += [
            index
            for index in range(listed, min(len(tokens), listed + 40))
            if (index == listed or tokens[index - 1] in _JOINS) and stem(tokens[index]) in _KNOWN
        ]
    # In "Create, update or delete issues", all verbs share the object of the last one.
    last = starts[-1] if len(starts) > 1 and starts[-1] <= 2 * len(starts) + 2 else None
    for start in starts:
        shares = last is not None and start < last and tokens[start + 1 : start + 2] in ([","], ["or"], ["and"], ["/"])
        begin = last if last is not None and shares else start
        words = []
        for token in tokens[begin + 1 : begin + 1 + _OBJECT_WORDS]:
            if token in _END:
                break
            if token not in {",", "/"}:
                words.append(token)
        yield Act(stem(tokens[start]), tuple(words), "description")


def stem(word: str) -> str:
    """The base form of a known verb: `list` for `lists` and `listing`."""
    return next((form for form in verb_forms(word) if form in _KNOWN), word)


def _acts_of_values(parameters: dict[str, Any], words: list[str]) -> Iterator[Act]:
    """The verbs among the values of a parameter that chooses the operation."""
    for name, schema in parameters.items():
        if verbs.ACTION_PARAMETERS.isdisjoint(words_of(name)):
            continue
        values = _values(schema)[:100]
        if "GET" in values and {"create", "update", "add", "edit"} & set(words):  # methods of a request that is stored
            continue
        for value in values:
            act = _act_of_name(words_of(value))
            if act is not None:
                yield Act(act.verb, act.words or tuple(words), "schema")


def _values(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    values = schema.get("enum")
    if not isinstance(values, list):
        branches = schema.get("anyOf") or schema.get("oneOf")
        nested = branches if isinstance(branches, list) else []
        branches = [branch for branch in nested if isinstance(branch, dict)]
        values = [value for branch in branches for value in (branch.get("enum") or [branch.get("const")])]
    return [value for value in values if isinstance(value, str)]
