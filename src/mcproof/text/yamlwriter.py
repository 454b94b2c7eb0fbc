"""Write JSON values as one-line YAML for suites.

Strings are quoted if any YAML 1.1 or 1.2 parser could read them as something else.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from mcproof.text.yamltext import DEEPEST

DEEPEST_VALUE = DEEPEST - 10
"""Maximum nesting depth of a value; a suite adds levels of its own."""
LONGEST_TEXT = 100_000
_LONGEST_NUMBER = 300
_LONGEST_KEY = 500
"""Longer keys need the explicit `? key` form; an escape takes up to ten characters."""
_PLAIN = re.compile(r"(?:-{1,2}|/|\./)?[A-Za-z_][A-Za-z0-9_./=-]*+(?: [A-Za-z_][A-Za-z0-9_./-]*+)*+")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that are not strings unless quoted, in YAML 1.1 or 1.2, whatever their case."""
_VARIABLE = re.compile(r"\$\{[^{}]*+\}")


class UnwritableError(ValueError):
    """A value that cannot be written to a suite; the message is the reason."""


def to_yaml(value: Any) -> str:
    """Return a JSON value as YAML. Raises UnwritableError."""
    return _to_yaml(value, 1)


def _to_yaml(value: Any, depth: int) -> str:
    if depth > DEEPEST_VALUE:
        raise UnwritableError("nested too deeply")
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key(name)}: {_to_yaml(each, depth + 1)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_to_yaml(each, depth + 1) for each in value)}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _number(value)


def _number(value: float) -> str:
    if isinstance(value, float) and not isfinite(value):
        raise UnwritableError("it contains a number that is too large")
    if isinstance(value, int) and value.bit_length() > 3 * _LONGEST_NUMBER:  # a digit takes over three bits
        raise UnwritableError("it contains a number that is too long")
    return repr(value)


def scalar(value: str) -> str:
    """Return a string as YAML, with everything that looks like a variable escaped."""
    return with_variables(escape_variables(value))


def escape_variables(value: str) -> str:
    """Return a string that variable substitution turns back into `value`."""
    return _VARIABLE.sub(r"$\g<0>", value) if "${" in value else value


def with_variables(value: str) -> str:
    """Return a string as YAML, with its variables left for substitution."""
    if len(value) > LONGEST_TEXT:
        raise UnwritableError("it contains a string that is too long")
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return f'"{"".join(map(_escaped, value))}"'


def key(name: str) -> str:
    """Return a mapping key as YAML, without its colon. Variables in keys are not substituted."""
    quoted = with_variables(name)
    return quoted if len(quoted) <= _LONGEST_KEY else f"? {quoted} "


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise UnwritableError("it contains a lone surrogate")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def comment_text(untrusted: str, most: int = 200) -> str:
    """Return untrusted text for a comment: one line, printable, cropped."""
    cropped = untrusted if len(untrusted) <= most else f"{untrusted[: most - 1]}…"
    return "".join(
        each if each.isprintable() else " " if each in "\n\t\r" else each.encode("unicode-escape").decode()
        for each in cropped
    ).strip()


def count_values(value: Any) -> int:
    """Count the values in a JSON value, itself included. Recursive: only for values that `to_yaml` accepts."""
    if isinstance(value, dict):
        return 1 + sum(map(count_values, value.values()))
    return 1 + sum(map(count_values, value)) if isinstance(value, list) else 1
