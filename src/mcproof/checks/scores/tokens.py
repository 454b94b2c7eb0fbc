"""Context cost: an estimate of the tokens a catalog's tools take in every request, as the grade defines it.

The grade is defined by a JavaScript program, so its semantics are here: UTF-16 lengths, its whitespace, its idea of
truth, `JSON.stringify`. The rules of `grade` use them, too.
Why JavaScript decides lengths: docs/decisions/0011-javascript-semantics.md.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, record

_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
# A JSON document has no cycles, so the encoder need not look for any.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
# Numbers that JavaScript may write in another way than Python.
_odd_number = re.compile(r"[:\[,]-?(?:\d+[.eE]|\d{16}|[IN])").search
# Possessive, as a catalog may be one string of megabytes.
_strings = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")', re.DOTALL)
_number = re.compile(r"-?\d[\d.eE+-]*|-?Infinity|NaN")

_LONE_SURROGATE = "[\ud800-\udfff]"


def trim(text: str) -> str:
    return text.strip(_BLANKS)


def is_blank(value: Any) -> bool:
    """Whether a description is absent, empty or only whitespace."""
    if type(value) is not str:
        return not truthy(value)
    return not value or ((value.isspace() or "\ufeff" in value) and not trim(value))


def length(text: str) -> int:
    """The length of a text in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def truthy(value: Any) -> bool:
    """Whether a JSON value is truthy in JavaScript."""
    return bool(value) or isinstance(value, (list, dict))


def stringify(value: Any) -> str:
    """A JSON value as `JSON.stringify` writes it, at any depth."""
    try:
        text = _encode(value)
    except RecursionError:  # nested too deep for the encoder
        text = "".join(_pieces(value))
    if _odd_number(text) or isinstance(value, (int, float)):
        pieces = _strings.split(text)  # every second piece is a string
        pieces[::2] = [_number.sub(_in_javascript, piece) if len(piece) > 2 else piece for piece in pieces[::2]]
        text = "".join(pieces)
    if not text.isascii():
        text = re.sub(_LONE_SURROGATE, lambda match: f"\\u{ord(match[0]):04x}", text)
    return text


def bytes_of(value: Any) -> int:
    """The bytes of a JSON value as `JSON.stringify` writes it."""
    return len(stringify(value).encode("utf-8", "surrogatepass"))


def _in_javascript(match: re.Match[str]) -> str:
    """A number as JavaScript prints it: no trailing `.0`, no padded exponent."""
    from math import isfinite  # here, as `lint` needs neither: a library of 300 KB

    number = float(match[0])
    if not isfinite(number):
        return "null"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = whole + fraction
    significant = digits.lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(digits) - len(significant))  # 0.SIGNIFICANT × 10 ** point
    significant = significant.rstrip("0")
    # JavaScript writes exponents from 1e21 on and below 1e-6.
    if 0 < point <= 21:
        if len(significant) <= point:
            return sign + significant.ljust(point, "0")
        return f"{sign}{significant[:point]}.{significant[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{significant}"
    tail = f".{significant[1:]}" if len(significant) > 1 else ""
    return f"{sign}{significant[0]}{tail}e{point - 1:+d}"


def _pieces(value: Any) -> list[str]:
    """Compact JSON of a value that is nested too deep for the standard library's encoder."""
    pieces: list[str] = []
    pending: list[Any] = [value]
    literal = object()
    while pending:
        current = pending.pop()
        if isinstance(current, tuple) and current[0] is literal:
            pieces.append(current[1])
        elif isinstance(current, dict):
            steps: list[Any] = [(literal, "{")]
            for position, (key, member) in enumerate(current.items()):
                steps += [(literal, ("," if position else "") + _encode(key) + ":"), member]
            pending += reversed([*steps, (literal, "}")])
        elif isinstance(current, list):
            steps = [(literal, "[")]
            for position, member in enumerate(current):
                steps += [(literal, ","), member] if position else [member]
            pending += reversed([*steps, (literal, "]")])
        else:
            pieces.append(_encode(current))
    return pieces


CHARACTERS_PER_TOKEN = 3.5


@record()
class TokenCost(NamedTuple):
    """The estimated tokens of the tools in a model's context."""

    total: Count
    """Tokens of all tools."""
    tools: dict[str, Count]
    """Tokens of each tool, by its name."""


def token_cost(catalog: Catalog) -> TokenCost:
    costs: dict[str, int] = {}
    for tool in catalog.tools:
        costs[tool.label] = costs.get(tool.label, 0) + tool_tokens(tool)
    return TokenCost(sum(costs.values()), costs)


def tool_tokens(tool: Tool) -> int:
    """The tokens of one tool: its name, its description as received, and its schema as compact JSON."""
    from math import ceil

    schema = stringify(tool.fields["inputSchema"]) if "inputSchema" in tool.fields else "undefined"
    parts = [tool.name, tool.description, schema] if tool.description else [tool.name, schema]
    return ceil(length(" ".join(parts)) / CHARACTERS_PER_TOKEN)
