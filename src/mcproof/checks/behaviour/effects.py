"""Tool effect: what the name, the description and the parameters of a tool suggest that it does.

English verbs only. A tool whose effect is not clear is not a reading one.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog import tool_verbs as verbs
from mcproof.core.text.english import first_sentence, lead_end, verb_forms, words_of

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Tool

_LONGEST_DESCRIPTION = 4_000
"""How much of a description is read, in characters."""

_CHANGES = verbs.CHANGING | verbs.CHANGING_OR_NOUN
_READS = verbs.READING | verbs.READING_OR_NOUN | verbs.COMPUTING
_NEVER_NOUNS = verbs.CHANGING | verbs.DESTRUCTIVE
_ALL_CHANGES = _CHANGES | verbs.DESTRUCTIVE | verbs.IN_FRONT | verbs.AT_THE_END
_MAKES = verbs.CONVERTING | verbs.EXTRACTING | verbs.DRAWING
_AFTER_NOUNS = (verbs.READING | verbs.READING_OR_NOUN) - {"read"}
"""Verbs before which `order` or `forward` is not the verb: `order_list`, but not `mark_read`."""
_KNOWN = _ALL_CHANGES | _READS | verbs.READING_IN_DESCRIPTIONS | _MAKES | verbs.GENERIC

_WORD = re.compile(r"[A-Za-z][A-Za-z']*|,")
_READ_ONLY = re.compile(r"(?<!not )(?<!non-)\bread[- ]?only\b(?!.*\bdefault\b)|\bSELECT\b", re.IGNORECASE | re.DOTALL)
_WRITING_SQL = re.compile(r"\b(?:INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|DDL|DML|writes?)\b", re.IGNORECASE)
_WRITES = re.compile(
    r"\b(?:saves?|writes?|stores?)\s+(?:\w+\s+){0,5}?(?:files?|disk|folder|directory)\b"
    r"|\bsaved? (?:it )?(?:to|in|as)\b|\bwill be (?:appended|downloaded|overwritten|saved|written)\b"
    r"|\b(?:directory|file|folder|path)\b[^.]{0,30}\bto (?:save|write)\b",
    re.IGNORECASE,
)


class ToolEffect(NamedTuple):
    """What a tool seems to do, and what shows it."""

    changes: bool
    evidence: str
    """As the end of a sentence: "`create` in its name"."""


def effect_of(tool: Tool) -> ToolEffect | None:
    """Return what a tool seems to do; None if nothing shows it."""
    words = [word.strip("0123456789") or word for word in words_of(tool.name)]
    parameters = _parameters(tool)
    text = _description(tool.fields)
    if _is_arithmetic(words, parameters):
        return ToolEffect(False, "arithmetic by its name and parameters")
    named = _of_name(words, parameters, text)
    if named is not None and named.changes:
        return named
    described = _of_description(words, parameters, text, is_reading=named is not None)
    if described is not None and described.changes:
        return described
    return _of_parameters(words, parameters, text) or named or described


# Names


def _of_name(words: list[str], parameters: dict[str, Any], text: str) -> ToolEffect | None:
    for number, word in enumerate(words):
        rest = words[number + 1 :]
        if rest and (word, rest[0]) in verbs.PHRASES:
            return ToolEffect(True, f"`{word} {rest[0]}` in its name")
        if word in _READS and (rest or not number or word != "query"):  # `query` at the end is a noun
            changing = _second_verb(word, rest, is_first=number == 0)
            return ToolEffect(changing is not None, f"`{changing or word}` in its name")
        if word in _MAKES and verbs.READING.isdisjoint(rest[:1]):
            made = [*words[:number], *(rest or _opening(text))]
            return ToolEffect(not _only_makes(word, made, parameters), f"`{word}` in its name")
        if word in verbs.CHANGING or _is_verb_here(word, number, words):
            return ToolEffect(True, f"`{word}` in its name")
    costly = next((each for before, each in pairwise(words) if before == "to" and each in verbs.COSTLY), None)
    return ToolEffect(True, f"`to {costly}` in its name") if costly is not None else None


def _is_verb_here(word: str, number: int, words: list[str]) -> bool:
    """Whether a word that may be a noun is the verb of a name."""
    is_last = number == len(words) - 1
    if word in verbs.AT_THE_END and is_last and number == 1:
        return True
    if word in verbs.CHANGING_OR_NOUN:
        is_verb = True
    else:
        is_verb = word in verbs.IN_FRONT and (number == 0 or (number == 1 and not is_last))
    is_noun = not is_last and words[number + 1] in _AFTER_NOUNS
    return is_verb and not is_noun


def _second_verb(verb: str, rest: list[str], *, is_first: bool) -> str | None:
    """The changing verb after a reading one: `get_or_create`, `todo_list_add`."""
    after = next(
        (each for before, each in pairwise([verb, *rest]) if before in verbs.CONJUNCTIONS and each in _ALL_CHANGES),
        None,
    )
    if after is not None or verb not in verbs.READING_OR_NOUN:
        return after
    where = rest if not is_first else rest if len(rest) == 1 and verb != "check" else []
    return next((each for each in where if each in verbs.CHANGING and each != "send"), None)


def _only_makes(verb: str, made: list[str], parameters: dict[str, Any]) -> bool:
    """Whether a tool converts, extracts or draws values without another effect."""
    products = verbs.DRAWINGS if verb in verbs.DRAWING else verbs.VALUES
    named = {word for parameter in parameters for word in words_of(parameter)}
    has_units = verb in verbs.CONVERTING and not verbs.UNITS.isdisjoint(named)  # `from_unit`, `to_unit`
    if (products.isdisjoint(made) and not has_units) or not verbs.COSTLY.isdisjoint(made):
        return False
    return verb in verbs.EXTRACTING or (named.isdisjoint(verbs.RECORD_PARAMETERS) and verbs.DOCUMENTS.isdisjoint(made))


def _is_arithmetic(words: list[str], parameters: dict[str, Any]) -> bool:
    """Whether a tool such as `add` only computes: all it takes is numbers that are called so."""
    operators = verbs.ARITHMETIC.intersection(words)
    others = [*words, *(word for name in parameters for word in words_of(name.strip("0123456789")))]
    return (
        bool(operators and parameters)
        and all(word in verbs.NUMBERS or word in operators for word in others)
        and all(_is_number(schema) for schema in parameters.values())
    )


def _is_number(schema: Any, depth: int = 0) -> bool:
    if not isinstance(schema, dict) or depth > 2:
        return False
    if isinstance(branches := schema.get("anyOf"), list):
        return bool(branches) and all(_is_number(each, depth + 1) for each in branches)
    if schema.get("type") == "array":
        return _is_number(schema.get("items"), depth + 1)
    kinds = schema.get("type")
    return bool(kinds) and set(kinds if isinstance(kinds, list) else [kinds]) <= {"number", "integer"}


# Descriptions


def _of_description(words: list[str], parameters: dict[str, Any], text: str, *, is_reading: bool) -> ToolEffect | None:
    """The effect by the first verb of a description."""
    sentence = first_sentence(text)
    found = [word.lower() for word in _WORD.findall(sentence[lead_end(sentence) :])]
    if not found:
        return None
    if found[0] in _ALL_CHANGES - _NEVER_NOUNS and _stem(found[1] if len(found) > 1 else "") in _AFTER_NOUNS:
        found = found[1:]  # "Forward geocode", "Batch get"
    verb = _stem(found[0])
    shown = ToolEffect(True, f"`{found[0]}` as first verb of its description")
    if verb in verbs.EXECUTING:
        if _is_stated_read_only(sentence):
            return shown._replace(changes=False)
        return shown if not is_reading or _code_parameter(words, parameters) is not None else None
    if verb in verbs.GENERIC:
        known = (stem for word in found[1:7] if (stem := _stem(word)) in _ALL_CHANGES | _READS)
        verb = next(known, verb)
    joined = _joined(found)
    second = next((word for word in joined if _stem(word) in _ALL_CHANGES), None) or _conjoined(found)
    if second is not None:
        return ToolEffect(True, f"`{second}` in the first sentence of its description")
    if verb in _READS | verbs.READING_IN_DESCRIPTIONS:
        return shown._replace(changes=False) if all(_stem(word) in _READS | _MAKES for word in joined) else None
    if verb in _MAKES and not is_reading:
        return shown._replace(changes=not _only_makes(verb, found[1:8], parameters))
    return shown if verb in _ALL_CHANGES else None


def _description(fields: Any) -> str:
    description = fields.get("description") if isinstance(fields, dict) else None
    return description[:_LONGEST_DESCRIPTION] if isinstance(description, str) else ""


def _opening(text: str) -> list[str]:
    """The first words of a description."""
    return [word.lower() for word in _WORD.findall(first_sentence(text))[:8]]


def _joined(found: list[str]) -> list[str]:
    """The verbs directly joined to the first one: "Validates and tests", "List, create or close"."""
    joined = []
    separators = verbs.CONJUNCTIONS | {","}
    rest = found[1:]
    while rest and rest[0] in separators:
        following = next((number for number, word in enumerate(rest) if word not in separators), len(rest))
        joined += rest[following : following + 1]
        rest = rest[following + 1 :]
    return joined


def _conjoined(found: list[str]) -> str | None:
    """The changing verb after a conjunction, in the form of the first verb: "Fetches a page and saves it"."""
    is_base = _stem(found[0]) == found[0]
    for before, after in pairwise(found):
        stem = _stem(after)
        is_changing = before in verbs.CONJUNCTIONS and stem in _NEVER_NOUNS
        if is_changing and (stem == after) == is_base and not after.endswith("ing"):
            return after
    return None


def _is_stated_read_only(sentence: str) -> bool:
    return _READ_ONLY.search(sentence) is not None and _WRITING_SQL.search(sentence) is None


def _stem(word: str) -> str:
    """The base form of a verb, if it is a known one: `list` for `lists` and `listing`."""
    return next((form for form in verb_forms(word) if form in _KNOWN), word)


# Parameters


def _of_parameters(words: list[str], parameters: dict[str, Any], text: str) -> ToolEffect | None:
    """A change that the parameters or the description show: a file to write, an action to choose."""
    for name, schema in parameters.items():
        parts = set(words_of(name))
        if (
            parts & verbs.WRITING_PARAMETERS
            or {"dry", "run"} <= parts
            or (parts & verbs.WRITTEN and parts & verbs.FILES)
        ):
            return ToolEffect(True, f"its parameter `{name}`")
        if parts & verbs.ACTION_PARAMETERS and (action := _changing_value(schema)) is not None:
            return ToolEffect(True, f"the value `{action}` of its parameter `{name}`")
    if "method" in parameters and {"url", "path", "body"} & parameters.keys():
        return ToolEffect(True, "its parameter `method`")
    code = _code_parameter(words, parameters)
    if code is not None and _runs_code(words) and not _is_stated_read_only(first_sentence(text)):
        return ToolEffect(True, f"its parameter `{code}`")
    described = [text, *(_description(schema) for schema in parameters.values())]
    written = next((found[0] for each in described if (found := _WRITES.search(each)) is not None), None)
    return ToolEffect(True, f"`{' '.join(written.split())}` in a description") if written is not None else None


def _code_parameter(words: list[str], parameters: dict[str, Any]) -> str | None:
    """The parameter with text to execute, also the `query` of a `sql_query`."""
    if words[-1:] == ["query"] and "query" in parameters:
        return "query"
    return next((name for name in parameters if _is_code(words_of(name))), None)


def _is_code(words: list[str]) -> bool:
    if words[-1:] == ["code"]:
        return len(words) == 1 or words[-2] in verbs.LANGUAGES
    return not verbs.CODE_PARAMETERS.isdisjoint(words[-1:])


def _runs_code(words: list[str]) -> bool:
    """Whether no verb of a name states what else is done with code: `validate_sql`, `get_code`."""
    return not any(word in (_READS | _MAKES) - {"query"} for word in words)


def _changing_value(schema: Any) -> str | None:
    values = schema.get("enum") if isinstance(schema, dict) else None
    texts = [each for each in values if isinstance(each, str)] if isinstance(values, list) else []
    return next((each for each in texts if set(words_of(each)[:1]) & _ALL_CHANGES), None)


def _parameters(tool: Tool) -> dict[str, Any]:
    """The declared properties by name, also those one level down."""
    properties = (tool.schema or {}).get("properties")
    found = dict(properties) if isinstance(properties, dict) else {}
    for schema in list(found.values()):
        nested = schema.get("properties") if isinstance(schema, dict) else None
        found.update(nested if isinstance(nested, dict) else {})
    return found
