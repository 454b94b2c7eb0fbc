"""Parse ECMAScript regular expressions into a tree. Expressions are never executed here."""

from __future__ import annotations

from typing import Union

from mcproof.core.named_tuple import NamedTuple

Ranges = tuple[tuple[int, int], ...]
"""Code points, as inclusive ranges."""

_MAX_REPETITIONS = 1_000_000
_MAX_DEPTH = 40
_MAX_PATTERN_LENGTH = 5_000
_MAX_CODE_POINT = 0x10FFFF

DIGITS: Ranges = ((48, 57),)
WORD: Ranges = ((97, 122), (48, 57), (65, 90), (95, 95))
SPACE: Ranges = ((32, 32), (9, 13), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029))
SPACE += ((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF))
_LINE_TERMINATORS: Ranges = ((10, 10), (13, 13), (0x2028, 0x2029))
_LETTERS: Ranges = ((97, 122), (65, 90), (0xE0, 0xF6), (0x3B1, 0x3C9))
_PUNCTUATION: Ranges = ((45, 47), (33, 35), (37, 42), (44, 44), (58, 59), (63, 64), (91, 93), (95, 95))
_SYMBOLS: Ranges = ((36, 36), (43, 43), (60, 62), (94, 94), (96, 96), (124, 124), (126, 126))
# For each property only the characters that are likely to be meant: a text of these matches what the pattern allows,
# and the complement of a property is limited to ASCII, where the lists are complete.
_PROPERTIES: dict[str, Ranges] = {
    **dict.fromkeys(("L", "Letter", "Alphabetic", "Alpha"), _LETTERS),
    **dict.fromkeys(("Ll", "Lowercase_Letter", "Lowercase"), ((97, 122),)),
    **dict.fromkeys(("Lu", "Uppercase_Letter", "Uppercase"), ((65, 90),)),
    **dict.fromkeys(("N", "Nd", "Number", "digit", "Decimal_Number"), DIGITS),
    **dict.fromkeys(("P", "Punctuation"), _PUNCTUATION),
    **dict.fromkeys(("S", "Symbol"), _SYMBOLS),
    **dict.fromkeys(("Z", "Zs", "Space_Separator", "White_Space"), ((32, 32),)),
    **dict.fromkeys(("M", "Mn"), ((0x300, 0x36F),)),
    **dict.fromkeys(("C", "Cc"), ((1, 31),)),
    **dict.fromkeys(("Emoji", "Emoji_Presentation", "Extended_Pictographic"), ((0x1F600, 0x1F64F),)),
    "Pd": ((45, 45),),
    "Pc": ((95, 95),),
    "Sc": ((36, 36),),
    "Sm": ((43, 43), (60, 62)),
    "ASCII": ((97, 122), (0, 96), (123, 127)),
    "Any": ((97, 122), (0, 96), (123, 0xD7FF), (0xE000, _MAX_CODE_POINT)),
    "Latin": ((97, 122), (65, 90)),
    "Greek": ((0x3B1, 0x3C9),),
    "Cyrillic": ((0x430, 0x44F),),
    "Han": ((0x4E00, 0x9FA5),),
    "Hiragana": ((0x3042, 0x3093),),
    "Katakana": ((0x30A2, 0x30F3),),
    "Arabic": ((0x621, 0x63A),),
    "Hebrew": ((0x5D0, 0x5EA),),
    "Thai": ((0xE01, 0xE2E),),
    "Hangul": ((0xAC00, 0xD7A3),),
}
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}


class CharacterClass(NamedTuple):
    """Any one of a set of characters."""

    ranges: Ranges


class Concatenation(NamedTuple):
    """Nodes that match one after the other."""

    nodes: tuple[RegexNode, ...]


class Alternation(NamedTuple):
    """Nodes of which one matches: `a|b`."""

    branches: tuple[RegexNode, ...]


class Repetition(NamedTuple):
    """A node that matches several times; `maximum` is None if unbounded."""

    node: RegexNode
    minimum: int
    maximum: int | None


class RegexGroup(NamedTuple):
    """A capturing group."""

    number: int
    node: RegexNode


class BackReference(NamedTuple):
    """The text that a group matched, again."""

    number: int


class RegexAssertion(NamedTuple):
    """A condition that consumes no character: `start`, `end`, `boundary` or `lookaround`."""

    kind: str


RegexNode = Union[  # noqa: UP007
    CharacterClass, Concatenation, Alternation, Repetition, RegexGroup, BackReference, RegexAssertion
]


class UnsupportedPatternError(Exception):
    """A pattern that is invalid or uses unsupported syntax."""


def parse_pattern(pattern: str) -> RegexNode:
    """Return the tree of a pattern. Raises UnsupportedPatternError."""
    if len(pattern) > _MAX_PATTERN_LENGTH:
        raise UnsupportedPatternError
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.names: dict[str, int] = {}

    def parse(self) -> RegexNode:
        tree = self.alternation(0)
        if self.at < len(self.text):
            raise UnsupportedPatternError
        return tree

    def peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def accept(self, text: str) -> bool:
        """Skip a text if it comes next."""
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def next(self) -> str:
        if self.at >= len(self.text):
            raise UnsupportedPatternError
        self.at += 1
        return self.text[self.at - 1]

    def alternation(self, depth: int) -> RegexNode:
        if depth > _MAX_DEPTH:
            raise UnsupportedPatternError
        branches = [self.concatenation(depth)]
        while self.accept("|"):
            branches.append(self.concatenation(depth))
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def concatenation(self, depth: int) -> RegexNode:
        nodes: list[RegexNode] = []
        while self.at < len(self.text) and not self.peek("|") and not self.peek(")"):
            nodes.append(self.repetition(self.atom(depth)))
        return nodes[0] if len(nodes) == 1 else Concatenation(tuple(nodes))

    def repetition(self, node: RegexNode) -> RegexNode:
        while True:
            if self.accept("*"):
                node = Repetition(node, 0, None)
            elif self.accept("+"):
                node = Repetition(node, 1, None)
            elif self.accept("?"):
                node = Repetition(node, 0, 1)
            elif self.peek("{") and (bounds := self.quantifier()) is not None:
                node = Repetition(node, *bounds)
            else:
                return node
            self.accept("?")  # lazy or greedy: the same strings match

    def quantifier(self) -> tuple[int, int | None] | None:
        """Parse `{2}`, `{2,}` or `{2,5}`; None for a literal brace."""
        end = self.text.find("}", self.at)
        if end < 0 or end - self.at > 20:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not (low.isascii() and low.isdigit()) or (high and not (high.isascii() and high.isdigit())):
            return None
        self.at = end + 1
        # Bounded before anything is repeated: `a{999999999}` must not take memory.
        minimum = min(int(low), _MAX_REPETITIONS)
        if not comma:
            return minimum, minimum
        return minimum, min(int(high), _MAX_REPETITIONS) if high else None

    def atom(self, depth: int) -> RegexNode:
        character = self.next()
        if character == "(":
            return self.group(depth)
        if character == "[":
            return CharacterClass(self.character_class())
        if character == ".":
            return CharacterClass(complement(_LINE_TERMINATORS))
        if character == "^":
            return RegexAssertion("start")
        if character == "$":
            return RegexAssertion("end")
        if character == "\\":
            return self.escape()
        if character in "*+?":
            raise UnsupportedPatternError
        return _single(ord(character))

    def group(self, depth: int) -> RegexNode:
        lookaround = next((opening for opening in ("?=", "?!", "?<=", "?<!") if self.accept(opening)), None)
        number = 0
        if lookaround is None and self.accept("?"):
            if self.accept("<") or self.accept("P<"):
                end = self.text.find(">", self.at)
                if end < 0:
                    raise UnsupportedPatternError
                self.groups += 1
                number = self.groups
                self.names[self.text[self.at : end]] = number
                self.at = end + 1
            else:
                while not self.accept(":"):
                    if self.next() not in "ims-":
                        raise UnsupportedPatternError
                    if self.accept(")"):
                        return Concatenation(())
        elif lookaround is None:
            self.groups += 1
            number = self.groups
        node = self.alternation(depth + 1)
        if not self.accept(")"):
            raise UnsupportedPatternError
        if lookaround is not None:
            return RegexAssertion("lookaround")
        return RegexGroup(number, node) if number else node

    def escape(self) -> RegexNode:
        character = self.next()
        if character in "bB":
            return RegexAssertion("boundary")
        if character == "k" and self.accept("<"):
            end = self.text.find(">", self.at)
            name = self.text[self.at : end] if end > 0 else ""
            if name not in self.names:
                raise UnsupportedPatternError
            self.at = end + 1
            return BackReference(self.names[name])
        if character in "123456789":
            digits = character
            while len(digits) < 3 and self.text[self.at : self.at + 1] in tuple("0123456789"):
                digits += self.next()
            return BackReference(int(digits))
        return CharacterClass(self.escaped(character))

    def escaped(self, character: str) -> Ranges:
        """The characters of an escape, inside or outside a character class."""
        classes = {"d": DIGITS, "w": WORD, "s": SPACE}
        if character.lower() in classes:
            ranges = classes[character.lower()]
            return ranges if character.islower() else complement(ranges)
        if character in "pP" and self.accept("{"):
            end = self.text.find("}", self.at)
            name = self.text[self.at : end].rpartition("=")[2] if end > 0 else ""
            if name not in _PROPERTIES:
                raise UnsupportedPatternError
            self.at = end + 1
            return _PROPERTIES[name] if character == "p" else _ascii_complement(_PROPERTIES[name])
        if character in _CONTROLS:
            return ((_CONTROLS[character],) * 2,)
        if character == "c":
            return ((ord(self.next()) % 32,) * 2,)
        if character == "x":
            return ((self.hexadecimal(2),) * 2,)
        if character == "u":
            if self.accept("{"):
                end = self.text.find("}", self.at)
                code = self.hexadecimal(end - self.at) if 0 < end - self.at <= 6 else -1
                self.at += 1
            else:
                code = self.hexadecimal(4)
                # Two escapes stand for one character beyond U+FFFF, as in JavaScript.
                if 0xD800 <= code < 0xDC00 and self.accept("\\u"):
                    code = 0x10000 + (code - 0xD800) * 0x400 + (self.hexadecimal(4) - 0xDC00)
            if not 0 <= code <= _MAX_CODE_POINT:
                raise UnsupportedPatternError
            return ((code, code),)
        return ((ord(character),) * 2,)

    def hexadecimal(self, length: int) -> int:
        digits = self.text[self.at : self.at + length]
        self.at += length
        try:
            return int(digits, 16)
        except ValueError:
            raise UnsupportedPatternError from None

    def character_class(self) -> Ranges:
        is_negated = self.accept("^")
        ranges: list[tuple[int, int]] = []
        while not self.accept("]"):
            first = self.class_member()
            if self.peek("-") and not self.peek("-]") and len(first) == 1 and first[0][0] == first[0][1]:
                self.at += 1
                last = self.class_member()
                if len(last) == 1 and last[0][0] == last[0][1]:
                    if last[0][0] < first[0][0]:
                        raise UnsupportedPatternError
                    first = ((first[0][0], last[0][0]),)
                else:
                    first += ((45, 45), *last)
            ranges += first
        return complement(tuple(ranges)) if is_negated else tuple(ranges)

    def class_member(self) -> Ranges:
        character = self.next()
        if character == "[" and self.peek(":"):
            raise UnsupportedPatternError
        if character != "\\":
            return ((ord(character),) * 2,)
        character = self.next()
        return ((8, 8),) if character == "b" else self.escaped(character)


def _single(code: int) -> CharacterClass:
    return CharacterClass(((code, code),))


def complement(ranges: Ranges) -> Ranges:
    """All other code points, except surrogates."""
    others = []
    at = 0
    for low, high in sorted((*ranges, (0xD800, 0xDFFF))):
        if low > at:
            others.append((at, low - 1))
        at = max(at, high + 1)
    if at <= _MAX_CODE_POINT:
        others.append((at, _MAX_CODE_POINT))
    return tuple(others)


def _ascii_complement(ranges: Ranges) -> Ranges:
    """The other ASCII characters, for Unicode properties whose members are only partly listed here."""
    return tuple((low, min(high, 127)) for low, high in complement(ranges) if low < 128)
