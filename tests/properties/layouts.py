"""JSON documents in every layout that the grammar allows, with the place of each value noted while it is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from mcproof.core.text.json_positions import Span

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

WHITESPACE = ("", "", "", " ", "\n", "\r\n", "\t", "  ", "\n    ", " \r\n\t", "\n\n")
ODD_CHARACTERS = '~/"\\01aZ é\u2028\ufeff\x00\x1f\x7f\b\f\n\r\t{}[],:\ud800\udfff\U0001f600'
SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Object(NamedTuple):
    """An object as it is written: its members in order, a key perhaps more than once."""

    members: tuple[tuple[str, Any], ...]


class Written(NamedTuple):
    """A document, and what was noted while it was written."""

    text: str
    value: Any
    spans: dict[str, Span]
    """Of every value that a parser keeps, by its pointer."""
    repeated: list[tuple[str, str, Span]]
    """Every key that its object already had: the pointer of the object, the key, and where it stands."""


def _paired(text: str) -> str:
    """Two surrogates that make a character are that character, as a parser reads them."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


strings = st.text(st.one_of(st.sampled_from(ODD_CHARACTERS), st.characters()), max_size=4).map(_paired)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), strings)


def documents(*, repeat_keys: bool = False) -> st.SearchStrategy[Any]:
    """Values with their objects as `Object`s, so that keys can stand twice in one."""
    few_keys = st.sampled_from(["", "a", "b/", "~", '"'])
    keys = st.one_of(few_keys, few_keys, strings) if repeat_keys else st.one_of(few_keys, strings)

    def containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        members = st.lists(
            st.tuples(keys, children), max_size=5, unique_by=None if repeat_keys else lambda member: member[0]
        )
        return st.one_of(st.lists(children, max_size=4), members.map(lambda pairs: Object(tuple(pairs))))

    return st.recursive(scalars, containers, max_leaves=25)


@st.composite
def written_documents(draw: st.DrawFn, *, repeat_keys: bool = False) -> Written:
    document = draw(documents(repeat_keys=repeat_keys))
    return write(document, draw(st.randoms(use_true_random=False)))


def as_objects(value: Any) -> Any:
    """A parsed value in the form that `write` takes."""
    if isinstance(value, dict):
        return Object(tuple((key, as_objects(member)) for key, member in value.items()))
    return [as_objects(entry) for entry in value] if isinstance(value, list) else value


def write(document: Any, random: Random) -> Written:
    """The document in a random layout: blanks around every token, every string in a spelling of its own."""
    writer = _Writer(random)
    writer.blank()
    value = writer.value(document, "", -1)
    writer.blank()
    return Written("".join(writer.pieces), value, writer.spans, writer.repeated)


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.pieces: list[str] = []
        self.offset = 0
        self.spans: dict[str, Span] = {}
        self.repeated: list[tuple[str, str, Span]] = []

    def put(self, piece: str) -> None:
        self.pieces.append(piece)
        self.offset += len(piece)

    def blank(self) -> None:
        self.put(self.random.choice(WHITESPACE))

    def value(self, value: Any, pointer: str, key: int) -> Any:
        """Write a value and give it back as a parser would read it."""
        start = self.offset
        result: Any = value
        if isinstance(value, Object):
            result = {}
            self.listed("{}", value.members, lambda _, member: self.member(member, pointer, result))
        elif isinstance(value, list):
            result = []
            self.listed("[]", value, lambda at, entry: result.append(self.value(entry, f"{pointer}/{at}", -1)))
        elif isinstance(value, str):
            self.put(spelled(value, self.random))
        else:
            self.put(json.dumps(value))
        self.spans[pointer] = Span(key, start, self.offset)
        return result

    def listed(self, brackets: str, entries: Any, write_one: Callable[[int, Any], None]) -> None:
        self.put(brackets[0])
        self.blank()
        for at, entry in enumerate(entries):
            if at:
                self.put(",")
                self.blank()
            write_one(at, entry)
            self.blank()
        self.put(brackets[1])

    def member(self, member: tuple[str, Any], holder: str, result: dict[str, Any]) -> None:
        key, value = member
        pointer = f"{holder}/{key.replace('~', '~0').replace('/', '~1')}"
        key_offset = self.offset
        self.put(spelled(key, self.random))
        if key in result:
            self.repeated.append((holder, key, Span(-1, key_offset, self.offset)))
            for gone in [each for each in self.spans if each == pointer or each.startswith(f"{pointer}/")]:
                del self.spans[gone]
        self.blank()
        self.put(":")
        self.blank()
        result[key] = self.value(value, pointer, key_offset)


def spelled(text: str, random: Random) -> str:
    """A string of JSON, each character raw or escaped as chance has it."""
    return '"' + "".join(_character(each, random) for each in text) + '"'


def _character(character: str, random: Random) -> str:
    code = ord(character)
    spellings = [_hexadecimal(character, random)]
    if character in SHORT_ESCAPES:
        spellings.append(SHORT_ESCAPES[character])
    if code >= 0x20 and character not in '"\\' and not 0xD800 <= code <= 0xDFFF:
        spellings += [character, character]
    return random.choice(spellings)


def _hexadecimal(character: str, random: Random) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    digits = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    return "".join("\\u" + (each.upper() if random.random() < 0.5 else each) for each in digits)
