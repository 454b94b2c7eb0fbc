"""Rules on consistency: types with descriptions, and descriptions with each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.core.schema.acceptance import KINDS, kinds_of
from mcproof.core.text.english import words_of
from mcproof.linting.finding import Problem
from mcproof.linting.registry import rule
from mcproof.rules.polish.prose import pointer_of, tool_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Tool

COMPARED_FROM = 20
"""The shortest description, in characters, that is compared with others."""

_BEGINNING = r"(?:\(?optional\)?[:,.]? )?(?:(?:an?|the) )?"
_states_kind = re.compile(
    rf"(?i){_BEGINNING}(?:"
    r"(?P<number>(?:maximum |max\.? |minimum |min\.? |total )?(?:number|count) of (?!the |this |an? )"
    r"|how many |integer\b|float\b)"
    r"|(?P<boolean>whether (?:to|or not|the|this|it)\b|true (?:if|to|when)\b|if true\b|set to true\b|boolean\b)"
    r"|(?P<array>(?:list|array) of |(?:list|array)\b(?= containing| with))"
    r")"
).match
_FIRST_WORDS = frozenset(
    (
        *("optional", "optional.", "optional:", "optional,", "(optional)", "(optional).", "(optional):", "(optional),"),
        *("a", "an", "the", "number", "count", "maximum", "max", "max.", "minimum", "min", "min.", "total", "how"),
        *("integer", "float", "whether", "true", "if", "set", "boolean", "list", "array"),
    )
)
_is_written_as_text = re.compile(
    r"(?i)\bstring|\btext\b|\bjson\b|separated|delimited|\bor\b(?! not)|encoded|serialized|\bformat|\bas an? |[\"'`]"
    r"|\bcsv\b|\byaml\b|per line|\bexpression\b"
).search
_DECIMALS = frozenset(("qty", "quantity", "amount", "price", "notional", "balance", "cost", "fee", "shares", "wei"))
_is_decimal = re.compile(
    r"(?i)\b(?:decimals?|fraction(?:al)?|precision|shares|contracts|currency|money|price|usd|eur|wei)\b"
).search
"""Names and descriptions of quantities that are sent as strings on purpose, to keep every digit."""
_SHOWS_FORM = frozenset(("enum", "const", "pattern", "format"))
"""Keywords that define how a value is written."""
_TYPES = {"number": ("number", "integer"), "boolean": ("boolean",), "array": ("array",)}
_COMPOUND = ("array", "object")


@rule(
    "MP030",
    ruleset="polish",
    name="param-type-mismatch",
    severity="error",
    category="consistency",
)
def param_type_mismatch(tool: Tool) -> Iterator[Problem]:
    """A parameter's description names one kind of value, and its type allows only another.

    Only the beginning of a description is taken for its kind: "Number of results", "Whether to …", "List of …". Nothing
    is reported if it goes on to explain how the value is written as text, nor for decimal quantities such as an amount
    of money, which many APIs take as strings to keep every digit.

    Why: a model follows one or the other, and half of its calls are rejected.
    Fix: correct the type, or explain in the description how the value is written.
    """
    for name, schema, described in tool_words(tool).parameters:
        text = described.lstrip()
        if not text or schema.get("type") in _COMPOUND or text.partition(" ")[0].lower() not in _FIRST_WORDS:
            continue
        stated = _states_kind(text)
        if stated is None or schema.get("type") in _TYPES[expected := str(stated.lastgroup)]:
            continue
        if not _SHOWS_FORM.isdisjoint(schema) or _is_written_as_text(text[:2000]) or tool.tree is None:
            continue
        kinds = kinds_of(schema, tool.tree) - {"null"}
        if expected in kinds or not kinds or kinds == KINDS - {"null"} or not kinds.isdisjoint(_COMPOUND):
            continue
        if expected == "number" and kinds == {"string"} and _is_quantity(name, text):
            continue
        pointer = pointer_of(name)
        if not tool.knows_all(pointer):
            continue
        declared = " or ".join(sorted(kinds))
        yield Problem(f"parameter `{name}` has type {declared} but is described as {_ARTICLE[expected]}", pointer, name)


def _is_quantity(name: str, description: str) -> bool:
    """Whether a number may have more digits than a JSON number keeps."""
    return not _DECIMALS.isdisjoint(words_of(name)) or _is_decimal(description[:2000]) is not None


_ARTICLE = {"number": "a number", "boolean": "a boolean", "array": "a list"}


@rule(
    "MP033",
    ruleset="polish",
    name="duplicate-tool-description",
    severity="error",
    category="consistency",
)
def duplicate_tool_description(catalog: Catalog) -> Iterator[Problem]:
    """Two or more tools with different names have the same description.

    Case and whitespace are ignored; descriptions of fewer than 20 characters are not compared.

    Why: a model can only choose by name, and may choose the wrong tool.
    Fix: describe how each tool differs from the others; if they are one tool under two names, serve one.
    """
    alike: dict[str, list[Tool]] = {}
    for tool in catalog.tools:
        if tool.description and tool.name and tool.knows("/description") and tool.knows("/name"):
            beginning = " ".join(tool.description[:100].split()[:4]).lower()
            alike.setdefault(beginning, []).append(tool)
    for candidates in alike.values():
        if len(candidates) > 1:
            yield from _twins(candidates)


def _twins(candidates: list[Tool]) -> Iterator[Problem]:
    """The problems of tools whose descriptions start with the same text."""
    alike: dict[str, list[Tool]] = {}
    for tool in candidates:
        text = " ".join(tool.description.split()).lower()
        if len(text) >= COMPARED_FROM:
            alike.setdefault(text, []).append(tool)
    for tools in alike.values():
        names = list(dict.fromkeys(tool.name for tool in tools))
        if len(names) < 2:
            continue
        for tool in tools:
            others = [name for name in names[:4] if name != tool.name][:3]
            listed = ", ".join(f"`{name}`" for name in others)
            more = f" and {len(names) - 1 - len(others)} more" if len(names) - 1 > len(others) else ""
            yield Problem(f"the description is the same as that of {listed}{more}", at="/description", item=tool)
