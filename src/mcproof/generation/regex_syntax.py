"""ECMAScript regular expressions, read into a tree; nothing here runs one."""

from __future__ import annotations

from typing import NamedTuple, Union

Ranges = tuple[tuple[int, int], ...]
"""Code points, as inclusive ranges."""

MOST_REPEATS = 1_000_000
_MOST_DEPTH = 40
_MOST_PATTERN = 5_000
_LAST = 0x10FFFF

DIGITS: Ranges = ((48, 57),)
WORD: Ranges = ((97, 122), (48, 57), (65, 90), (95, 95))
SPACE: Ranges = ((32, 32), (9, 13), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029))
SPACE += ((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF))
_LINE_ENDS: Ranges = ((10, 10), (13, 13), (0x2028, 0x2029))
_LETTERS: Ranges = ((97, 122), (65, 90), (0xE0, 0xF6), (0x3B1, 0x3C9))
_PUNCTUATION: Ranges = ((45, 47), (33, 35), (37, 42), (44, 44), (58, 59), (63, 64), (91, 93), (95, 95))
_SYMBOLS: Ranges = ((36, 36), (43, 43), (60, 62), (94, 94), (96, 96), (124, 124), (126, 126))
_PROPERTIES: dict[str, Ranges] = {
    "L": _LETTERS,
    "Letter": _LETTERS,
    "Alphabetic": _LETTERS,
    "Alpha": _LETTERS,
    "Ll": ((97, 122),),
    "Lowercase_Letter": ((97, 122),),
    "Lowercase": ((97, 122),),
    "Lu": ((65, 90),),
    "Uppercase_Letter": ((65, 90),),
    "Uppercase": ((65, 90),),
    "N": DIGITS,
    "Nd": DIGITS,
    "Number": DIGITS,
    "digit": DIGITS,
    "Decimal_Number": DIGITS,
    "P": _PUNCTUATION,
    "Punctuation": _PUNCTUATION,
    "Pd": ((45, 45),),
    "Pc": ((95, 95),),
    "S": _SYMBOLS,
    "Symbol": _SYMBOLS,
    "Sc": ((36, 36),),
    "Sm": ((43, 43), (60, 62)),
    "Z": ((32, 32),),
    "Zs": ((32, 32),),
    "Space_Separator": ((32, 32),),
    "White_Space": ((32, 32),),
    "M": ((0x300, 0x36F),),
    "Mn": ((0x300, 0x36F),),
    "C": ((1, 31),),
    "Cc": ((1, 31),),
    "Emoji": ((0x1F600, 0x1F64F),),
    "Emoji_Presentation": ((0x1F600, 0x1F64F),),
    "Extended_Pictographic": ((0x1F600, 0x1F64F),),
    "ASCII": ((97, 122), (0, 96), (123, 127)),
    "Any": ((97, 122), (0, 96), (123, 0xD7FF), (0xE000, _LAST)),
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


class Chars(NamedTuple):
    """One character out of these."""

    ranges: Ranges


class Sequence(NamedTuple):
    """One after the other."""

    parts: tuple[Node, ...]


class Choice(NamedTuple):
    """One of several."""

    options: tuple[Node, ...]


class Repeat(NamedTuple):
    """The same, a number of times; `most` is None where nothing bounds it."""

    part: Node
    least: int
    most: int | None


class Group(NamedTuple):
    """What a back reference can name."""

    number: int
    part: Node


class Back(NamedTuple):
    """What a group matched, again."""

    number: int


class Anchor(NamedTuple):
    """A condition that takes no character: `^`, `$`, or what only a judge can tell (`b`, a look-around)."""

    kind: str


Node = Union[Chars, Sequence, Choice, Repeat, Group, Back, Anchor]  # noqa: UP007


class UnreadableError(Exception):
    """Not an expression that is understood here."""


def parse(pattern: str) -> Node:
    """The tree of an expression. Raises UnreadableError."""
    if len(pattern) > _MOST_PATTERN:
        raise UnreadableError
    return _Parser(pattern).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.names: dict[str, int] = {}

    def whole(self) -> Node:
        tree = self.choice(0)
        if self.at < len(self.text):
            raise UnreadableError
        return tree

    def peek(self, ahead: str) -> bool:
        return self.text.startswith(ahead, self.at)

    def skip(self, ahead: str) -> bool:
        if self.text.startswith(ahead, self.at):
            self.at += len(ahead)
            return True
        return False

    def next(self) -> str:
        if self.at >= len(self.text):
            raise UnreadableError
        self.at += 1
        return self.text[self.at - 1]

    def choice(self, depth: int) -> Node:
        if depth > _MOST_DEPTH:
            raise UnreadableError
        options = [self.sequence(depth)]
        while self.skip("|"):
            options.append(self.sequence(depth))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.at < len(self.text) and not self.peek("|") and not self.peek(")"):
            parts.append(self.repeated(self.atom(depth)))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def repeated(self, part: Node) -> Node:
        while True:
            if self.skip("*"):
                part = Repeat(part, 0, None)
            elif self.skip("+"):
                part = Repeat(part, 1, None)
            elif self.skip("?"):
                part = Repeat(part, 0, 1)
            elif self.peek("{") and (bounds := self.counts()) is not None:
                part = Repeat(part, *bounds)
            else:
                return part
            self.skip("?")  # lazy or greedy, the same texts match

    def counts(self) -> tuple[int, int | None] | None:
        """`{2}`, `{2,}` or `{2,5}`; None where a brace is only a brace."""
        end = self.text.find("}", self.at)
        if end < 0 or end - self.at > 20:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not (low.isascii() and low.isdigit()) or (high and not (high.isascii() and high.isdigit())):
            return None
        self.at = end + 1
        least = min(int(low), MOST_REPEATS)
        if not comma:
            return least, least
        return least, min(int(high), MOST_REPEATS) if high else None

    def atom(self, depth: int) -> Node:
        character = self.next()
        if character == "(":
            return self.group(depth)
        if character == "[":
            return Chars(self.bracket())
        if character == ".":
            return Chars(complement(_LINE_ENDS))
        if character == "^":
            return Anchor("start")
        if character == "$":
            return Anchor("end")
        if character == "\\":
            return self.escape()
        if character in "*+?":
            raise UnreadableError
        return _one(ord(character))

    def group(self, depth: int) -> Node:
        look = next((mark for mark in ("?=", "?!", "?<=", "?<!") if self.skip(mark)), None)
        number = 0
        if look is None and self.skip("?"):
            if self.skip("<") or self.skip("P<"):
                end = self.text.find(">", self.at)
                if end < 0:
                    raise UnreadableError
                self.groups += 1
                number = self.groups
                self.names[self.text[self.at : end]] = number
                self.at = end + 1
            else:
                while not self.skip(":"):
                    if self.next() not in "ims-":
                        raise UnreadableError
                    if self.skip(")"):
                        return Sequence(())
        elif look is None:
            self.groups += 1
            number = self.groups
        part = self.choice(depth + 1)
        if not self.skip(")"):
            raise UnreadableError
        if look is not None:
            return Anchor("look")
        return Group(number, part) if number else part

    def escape(self) -> Node:
        character = self.next()
        if character in "bB":
            return Anchor("b")
        if character == "k" and self.skip("<"):
            end = self.text.find(">", self.at)
            name = self.text[self.at : end] if end > 0 else ""
            if name not in self.names:
                raise UnreadableError
            self.at = end + 1
            return Back(self.names[name])
        if character in "123456789":
            digits = character
            while len(digits) < 3 and self.text[self.at : self.at + 1] in tuple("0123456789"):
                digits += self.next()
            return Back(int(digits))
        return Chars(self.escaped(character))

    def escaped(self, character: str) -> Ranges:
        """What an escape stands for, in a bracket or outside of one."""
        classes = {"d": DIGITS, "w": WORD, "s": SPACE}
        if character.lower() in classes:
            ranges = classes[character.lower()]
            return ranges if character.islower() else complement(ranges)
        if character in "pP" and self.skip("{"):
            end = self.text.find("}", self.at)
            name = self.text[self.at : end].rpartition("=")[2] if end > 0 else ""
            if name not in _PROPERTIES:
                raise UnreadableError
            self.at = end + 1
            return _PROPERTIES[name] if character == "p" else _without(_PROPERTIES[name])
        if character in _CONTROLS:
            return ((_CONTROLS[character],) * 2,)
        if character == "c":
            return ((ord(self.next()) % 32,) * 2,)
        if character == "x":
            return ((self.hexadecimal(2),) * 2,)
        if character == "u":
            if self.skip("{"):
                end = self.text.find("}", self.at)
                code = self.hexadecimal(end - self.at) if 0 < end - self.at <= 6 else -1
                self.at += 1
            else:
                code = self.hexadecimal(4)
                if 0xD800 <= code < 0xDC00 and self.skip("\\u"):
                    code = 0x10000 + (code - 0xD800) * 0x400 + (self.hexadecimal(4) - 0xDC00)
            if not 0 <= code <= _LAST:
                raise UnreadableError
            return ((code, code),)
        return ((ord(character),) * 2,)

    def hexadecimal(self, length: int) -> int:
        digits = self.text[self.at : self.at + length]
        self.at += length
        try:
            return int(digits, 16)
        except ValueError:
            raise UnreadableError from None

    def bracket(self) -> Ranges:
        is_negated = self.skip("^")
        ranges: list[tuple[int, int]] = []
        while not self.skip("]"):
            first = self.member()
            if self.peek("-") and not self.peek("-]") and len(first) == 1 and first[0][0] == first[0][1]:
                self.at += 1
                last = self.member()
                if len(last) == 1 and last[0][0] == last[0][1]:
                    if last[0][0] < first[0][0]:
                        raise UnreadableError
                    first = ((first[0][0], last[0][0]),)
                else:
                    first += ((45, 45), *last)
            ranges += first
        return complement(tuple(ranges)) if is_negated else tuple(ranges)

    def member(self) -> Ranges:
        character = self.next()
        if character == "[" and self.peek(":"):
            raise UnreadableError
        if character != "\\":
            return ((ord(character),) * 2,)
        character = self.next()
        return ((8, 8),) if character == "b" else self.escaped(character)


def _one(code: int) -> Chars:
    return Chars(((code, code),))


def complement(ranges: Ranges) -> Ranges:
    """All other code points, without the surrogates."""
    found = []
    at = 0
    for low, high in sorted((*ranges, (0xD800, 0xDFFF))):
        if low > at:
            found.append((at, low - 1))
        at = max(at, high + 1)
    if at <= _LAST:
        found.append((at, _LAST))
    return tuple(found)


def _without(ranges: Ranges) -> Ranges:
    """ASCII without some of it: for a class whose other members are not all known here."""
    return tuple((low, min(high, 127)) for low, high in complement(ranges) if low < 128)
