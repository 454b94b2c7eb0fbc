"""What the responses of a server tell about valid arguments: the values that its tools returned.

The id that one tool lists is an argument of another. Texts of a stranger are read with limits, and change only the
values of calls that are permitted anyway; the schema has the last word:
docs/decisions/0076-valid-calls-are-learned.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import READING, words_of

_MOST_FACTS, _MOST_NODES, _DEEPEST, _MOST_ITEMS = 200, 2_000, 8, 10
"""How much is kept and read of one response."""
_LONGEST_VALUE, _LONGEST_TEXT = 200, 1_000_000
_MOST_TRIED = 5
"""How many values of a name the schema may reject before the next parameter."""
_LINE = re.compile(
    r"^[ \t\-*•#>`|\d.)]{0,8}([A-Za-z][\w ]{0,30}?)[*_`]{0,3} ?[:=]"
    r"[*_`]{0,3} {0,3}[*_`\"']{0,3}([\w/][^\n*`\"']{0,200})",
    re.MULTILINE,
)
"""A value with its name in a text: `- **ID**: 42`."""
_ITEM = re.compile(
    r"(?:^|(?<=,))[ \t]*(?:[-*•][ \t]*|\d{1,3}[.)][ \t]*)?([\w./@-]{1,80})[ \t]*(?:$|(?=,)|(?= [(–-]|:[ \n]))",
    re.MULTILINE,
)
"""An item of a list: `a, b`, or lines such as `- a (what it is)`."""
_KINDS = ("id", "uuid", "identifier", "key", "slug", "code", "symbol", "name", "title", "path", "file", "uri", "url")
"""Words for a kind of value, whatever it belongs to; those that refer to a thing best come first."""
_HOLDERS = frozenset({"result", "results", "items", "data", "content", "list", "values", "entries", "output"})
"""Names of members that only wrap what is asked for."""
_GIVEN = ("default", "enum", "const")
"""Keywords that state a value."""
_ADDRESSES = frozenset({"path", "file", "uri", "url"})

Words = tuple[str, ...]


class Fact(NamedTuple):
    """A value that a tool returned."""

    name: Words
    """The words of its name, the last in the singular."""
    inside: frozenset[str]
    """The words of what it was found in, and of the tool."""
    value: str | int


def subject_of(tool: str) -> Words:
    """The words of what a tool is about: `project` of `list_projects`."""
    return tuple(word for word in singular(tool) if word not in READING and word != "all")


def singular(name: str) -> Words:
    """The words of a name, the last in the singular."""
    words = words_of(name)
    if words and len(words[-1]) > 2:
        last = words[-1]
        if last.endswith("ies"):
            words[-1] = f"{last[:-3]}y"
        elif last.endswith("s") and not last.endswith(("ss", "us", "is")):
            words[-1] = last[:-1]
    return tuple(words)


def facts_in(tool: str, result: dict[str, Any]) -> list[Fact]:
    """The named values of a result: in its structured content, in JSON that is a text, or in the lines of a text."""
    subject = subject_of(tool)
    blocks = result.get("content")
    facts: list[Fact] = []
    for holder in [result.get("structuredContent"), *(blocks[:_MOST_ITEMS] if isinstance(blocks, list) else ())]:
        block = holder if isinstance(holder, dict) else {}
        text = block.get("text", block.get("result"))
        if isinstance(text, str):
            document = _json(text[:_LONGEST_TEXT])
            facts += islice(_lines(text, subject) if document is None else _walked(document, subject), _MOST_FACTS)
        else:
            facts += islice(_walked(block, subject), _MOST_FACTS)
    return facts[:_MOST_FACTS]


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _lines(text: str, subject: Words) -> Iterator[Fact]:
    """The values of a text that is no JSON: those with a name, and those of a plain list, named by the tool."""
    for name, value in _LINE.findall(text[:_LONGEST_TEXT]):
        yield Fact(singular(name), frozenset(subject), value.strip())
    items = _ITEM.findall(text[:_LONGEST_TEXT]) if subject else []
    if len(items) > 1 or items == [text.strip()]:
        yield from (Fact(subject[-1:], frozenset(subject), item) for item in items[:_MOST_ITEMS])


def _walked(root: Any, subject: Words) -> Iterator[Fact]:
    """The values of a JSON document, outer ones first."""
    waiting = [(root, subject[-1:], frozenset(subject), 0)]
    number = 0
    while number < min(len(waiting), _MOST_NODES):
        value, name, inside, depth = waiting[number]
        number += 1
        if isinstance(value, dict) and depth < _DEEPEST:
            for key, member in value.items():
                wraps = key.lower() in _HOLDERS and isinstance(member, (dict, list))
                own = name if wraps else singular(key)
                waiting.append((member, own, inside.union(name, own), depth + 1))
        elif isinstance(value, list) and depth < _DEEPEST:
            waiting += [(item, name, inside, depth + 1) for item in value[:_MOST_ITEMS]]
        elif name and (type(value) is int or (isinstance(value, str) and 0 < len(value) <= _LONGEST_VALUE)):
            yield Fact(name, inside, value)


def _rank(fact: Fact, wanted: Words, subject: Words) -> int:
    """How well a value fits a parameter of a tool; 0 if it is of something else."""
    owner, last = wanted[:-1], wanted[-1]
    if fact.name == wanted and (owner or last not in _KINDS):
        return 6
    if last in _KINDS:
        # The owner may be the list around a value: `projects[].id` for `project_id`, `tables: ["a"]` for `table_name`.
        if owner:
            return 5 if fact.name == (last,) and fact.inside.issuperset(owner) else 4 * (fact.name == owner[-1:])
        if fact.name == wanted:  # `id` for `id`, of what the tool is about
            return 5 if fact.inside.intersection(subject) else 2 * (last in _ADDRESSES)
        return 2 * (fact.name == ("file",) and last == "path")
    if len(fact.name) == 1 and fact.name[0] in _KINDS and fact.inside.issuperset(wanted):
        return 3  # a parameter is often called as what its id is of: `projects[].id` for `project`
    return 0


class KnownValues:
    """The values that the tools of a server have returned."""

    def __init__(self) -> None:
        self._facts: dict[Fact, None] = {}

    def add(self, facts: list[Fact]) -> None:
        """Remember values; of several that fit, the first is taken."""
        self._facts.update(dict.fromkeys(facts))

    def fill(
        self, tool: str, schema: dict[str, Any], arguments: dict[str, Any], accepts: Callable[[Any], bool]
    ) -> dict[str, Any]:
        """Arguments with known values where the schema states none."""
        properties = schema.get("properties")
        for name, value in arguments.items():
            declared = properties.get(name) if isinstance(properties, dict) else None
            if not isinstance(declared, dict) or any(keyword in declared for keyword in _GIVEN):
                continue
            for value_of_server in self._fitting(singular(name), subject_of(tool))[:_MOST_TRIED]:
                candidate = {
                    **arguments,
                    name: [value_of_server] if isinstance(value, list) else _like(value_of_server, value),
                }
                if accepts(candidate):
                    arguments = candidate
                    break
        return arguments

    def _fitting(self, wanted: Words, subject: Words) -> list[str | int]:
        ranked = [(_rank(fact, wanted, subject), fact) for fact in self._facts] if wanted else []
        kinds = {kind: -number for number, kind in enumerate(_KINDS)}

        def worth(row: tuple[int, Fact]) -> tuple[int, int, int]:
            rank, fact = row
            return rank, len(fact.inside.intersection(subject)), kinds.get(fact.name[-1], 0)

        return [fact.value for _, fact in sorted((row for row in ranked if row[0]), key=worth, reverse=True)]


def _like(reused: str | int, value: Any) -> Any:
    """A known value in the type of a generated one: an id may be a number where it is listed."""
    return str(reused) if isinstance(value, str) else reused
