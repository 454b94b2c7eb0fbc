"""Values as YAML that the reader of suites reads back as the same values, on one line each.

Whatever could mean anything else without quotes gets them: to this reader, and to those that keep to YAML 1.1.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from mcproof.text.yamltext import DEEPEST

DEEPEST_VALUE = DEEPEST - 10
"""How deep a value may nest, as it stands somewhere inside a suite."""
LONGEST_TEXT = 100_000
_LONGEST_NUMBER = 300
_LONGEST_KEY = 500
"""Longer ones need a mark of their own; every character may take ten as an escape."""
_PLAIN = re.compile(r"(?:-{1,2}|/|\./)?[A-Za-z_][A-Za-z0-9_./=-]*+(?: [A-Za-z_][A-Za-z0-9_./-]*+)*+")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""What is no text without quotes, here or elsewhere, in any case."""
_VARIABLE = re.compile(r"\$\{[^{}]*+\}")


class UnwritableError(ValueError):
    """A value that no suite can have; the text says why."""


def written(value: Any) -> str:
    """A JSON value as YAML. Raises UnwritableError where no YAML means it."""
    return _written(value, 1)


def _written(value: Any, depth: int) -> str:
    if depth > DEEPEST_VALUE:
        raise UnwritableError("it is nested too deeply")
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key(name)}: {_written(each, depth + 1)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_written(each, depth + 1) for each in value)}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _number(value)


def _number(value: float) -> str:
    if isinstance(value, float) and not isfinite(value):
        raise UnwritableError("a number in it is too large")
    if isinstance(value, int) and value.bit_length() > 3 * _LONGEST_NUMBER:  # three bits make less than a digit
        raise UnwritableError("a number in it is too long")
    return repr(value)


def text(value: str) -> str:
    """A text that means itself, also where it looks like one with variables."""
    return with_variables(literal(value))


def literal(value: str) -> str:
    """A text such that filling in variables gives it back."""
    return _VARIABLE.sub(r"$\g<0>", value) if "${" in value else value


def with_variables(value: str) -> str:
    """A text whose variables are to be filled in."""
    if len(value) > LONGEST_TEXT:
        raise UnwritableError("a text in it is too long")
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return f'"{"".join(map(_escaped, value))}"'


def key(name: str) -> str:
    """The key of a mapping, to be followed by a colon; variables in it are never filled in."""
    spelt = with_variables(name)
    return spelt if len(spelt) <= _LONGEST_KEY else f"? {spelt} "


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise UnwritableError("a text in it has half a character in it (a lone surrogate)")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def remark(said: str, most: int = 200) -> str:
    """Words from outside as a part of a comment: on one line, harmless, and not too long."""
    cropped = said if len(said) <= most else f"{said[: most - 1]}…"
    return "".join(
        each if each.isprintable() else " " if each in "\n\t\r" else each.encode("unicode-escape").decode()
        for each in cropped
    ).strip()


def size(value: Any) -> int:
    """How many values a value consists of, itself included; for what `written` has written."""
    if isinstance(value, dict):
        return 1 + sum(map(size, value.values()))
    return 1 + sum(map(size, value)) if isinstance(value, list) else 1
