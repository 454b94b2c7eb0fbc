"""What a refusal asks for: valid arguments that are changed in the way that its text says.

| text | change |
| --- | --- |
| `Unknown unit: a. Available: km, m`, `must be one of "km", "m"` | the first of the values |
| `missing field "target"`, `month: Required` | the argument is added |
| `expected format YYYY-MM-DD`, `must be absolute`, `at least 3 characters` | a value of that form |

Which argument it is about is known if the text names it or repeats its value, or if there is only one of that kind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from mcproof.core.text.english import words_of
from mcproof.probing.generation.constraints import example_in

_STATED = frozenset({"enum", "const"})
_LONGEST = 4_000
"""How much of a refusal is read."""
_MISSING = re.compile(
    r"missing|required|must (?:be )?(?:provide|specif|suppl|give)|(?:provide|specify|supply|need)\b|at least one"
    r"|(?:is|are|was|were) not (?:provided|specified|set|given)|no \S{1,40} (?:provided|specified|given)|undefined",
    re.IGNORECASE,
)
_VALUES = r"\s{0,3}(?:\n\s{0,8})?(?P<values>[^\s][^\n]{0,300})"
_CHOICES = tuple(
    re.compile(f"{lead}{_VALUES}", re.IGNORECASE)
    for lead in (
        r"\"options\":\s?\[",
        r"\b(?:available|valid|allowed|supported|known|possible|permitted|accepted|existing|registered)\b"
        r"(?:[ _][\w`'\"-]{1,30}){0,4}?\s?(?::|=|\bare\b:?|\bis\b:?|\binclude\b:?)",
        r"\b(?:one|any|either) of\b(?: the)?(?: [a-z]{1,20}){0,2}?\s?:?",
        r"\b(?:input should be|did you mean|expected)\b(?!\"):?\s?(?=[\"'`]\w)",
        r"\bdid you mean\b:?",
        r"\b(?:within|inside|not in|under)\b:?\s?(?=/)",
    )
)
"""What precedes the allowed values, the particular forms first."""
_QUOTED = re.compile(r"([\"'`])([^\"'`\n]{1,100})\1")
_BARE = re.compile(
    r"(/?\w[\w./:+@-]{0,99}(?: [\w.-]{1,30}){0,3})"
    r"(?=\s?(?:[,|;)\]}?]|\.?$|\.\s| or | and | - | \())"
)
_ABOUT_FORM = re.compile(
    r"\b(?:(?:in)?valid|must|should|expect\w*|format|pars\w+|malformed|not an?(?! function)|unrecognized|convert"
    r"|literal)\b",
    re.IGNORECASE,
)
_FORMS: tuple[tuple[str, Any], ...] = (
    (r"\babsolute\b", os.path.abspath),
    (r"\burls?\b|\bhttps?:", "https://example.com"),
    (r"\be-?mail\b", "a@example.com"),
    (r"\buuid\b", "123e4567-e89b-42d3-a456-426614174000"),
    (r"\bjson array\b|\bjson list\b", "[]"),
    (r"\bjson\b", "{}"),
    (r"\biso[ -]?8601\b|\b(?:valid )?date-?time\b", "2024-01-01T00:00:00Z"),
    (r"\bdate\b", "2024-01-01"),
    (r"\btime ?zone\b", "UTC"),
    (r"\bhex(?:adecimal)?\b|\bcolou?r\b", "#336699"),
    (r"\bcidr\b|\bsubnet\b", "192.0.2.0/24"),
    (r"\bip(?:v4)?(?: address)?\b", "192.0.2.1"),
    (r"\bcron\b", "0 0 * * *"),
    (r"\bbase64\b", "YQ=="),
    (r"\b(?:an?|valid) (?:integer|number|float|decimal)\b|\binvalid literal for int|\bstring to float", "1"),
    (r"\bnot a directory\b|\bENOTDIR\b", "."),
)
"""Values of the forms that refusals name, the particular ones first."""
_AT_LEAST = re.compile(
    r"(?:at least|minimum(?: length)?(?: of| is)?|>=|no (?:less|fewer|shorter) than)\s?:?\s?(\d{1,4})\b", re.IGNORECASE
)
_ABOVE = re.compile(r"(?:greater than|more than|larger than|above|>)\s?(-?\d{1,9})\b|\b(positive)\b", re.IGNORECASE)
_BETWEEN = re.compile(r"between (-?\d{1,9}) and -?\d", re.IGNORECASE)


def asked_for(
    schema: dict[str, Any],
    arguments: dict[str, Any],
    text: str,
    sample: Callable[[str], Any],
    accepts: Callable[[Any], bool],
) -> dict[str, Any] | None:
    """Valid arguments as a refusal asks for them, or None; `sample` makes a value of a parameter."""
    text = text[:_LONGEST]
    for name, value in _changes(schema, arguments, text, sample):
        changed = {**arguments, name: value}
        if changed != arguments and accepts(changed):
            return changed
    return None


def _changes(
    schema: dict[str, Any], arguments: dict[str, Any], text: str, sample: Callable[[str], Any]
) -> Iterator[tuple[str, Any]]:
    """What may be changed, the likeliest first: a parameter and its value."""
    properties = schema.get("properties")
    declared = properties if isinstance(properties, dict) else {}
    absent = [name for name in declared if name not in arguments and _names(text, name)]
    choice = _choice(text)
    if absent and _MISSING.search(text):
        for name in absent:
            yield name, sample(name) if choice is None else choice
            yield name, sample(name)
    open_ones = [
        name
        for name, value in arguments.items()
        if not _STATED.intersection(_declared(declared, name)) and not isinstance(value, bool)
    ]
    for name in _meant(text, arguments, open_ones):
        value = arguments[name]
        if choice is not None:
            yield name, [choice] if isinstance(value, list) else choice
        if isinstance(value, str):
            for form in _forms(text, value):
                yield name, form
        elif isinstance(value, (int, float)):
            for number in _numbers(text):
                yield name, number
        elif isinstance(value, list) and not value:
            yield name, sample(name)


def _declared(properties: dict[str, Any], name: str) -> dict[str, Any]:
    schema = properties.get(name)
    return schema if isinstance(schema, dict) else {}


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _meant(text: str, arguments: dict[str, Any], names: list[str]) -> list[str]:
    """The arguments that a refusal may be about: those it names, then those it repeats, or else the only one."""
    named = [name for name in names if _names(text, name)]
    folded = set(words_of(text[:300]))
    spoken = [name for name in names if set(words_of(name)[-1:]) & folded]
    repeated = [name for name in names if isinstance(arguments[name], str) and _repeats(text, arguments[name])]
    meant = list(dict.fromkeys([*named, *repeated, *spoken]))
    texts = [name for name in names if isinstance(arguments[name], str)]
    return meant or (texts if len(texts) == 1 else names if len(names) == 1 else [])


def _repeats(text: str, value: str) -> bool:
    return re.search(rf"[\"'`:] ?{re.escape(value)}(?!\w)", text) is not None


def _choice(text: str) -> str | None:
    """The first of the values that a text lists as allowed."""
    for listed in (match for lead in _CHOICES for match in lead.finditer(text)):
        values = listed["values"].lstrip("[({-*• ")
        if (quoted := _QUOTED.match(values)) is not None:
            return quoted[2]
        if (bare := _BARE.match(values)) is not None:
            return bare[1].strip().rstrip(".")
    return None


def _forms(text: str, value: str) -> Iterator[str]:
    """Values of the form that a text asks for."""
    if (example := example_in(text)) is not None:
        yield example
    is_about_form = _ABOUT_FORM.search(text) is not None
    for words, form in _FORMS:
        if is_about_form and re.search(words, text, re.IGNORECASE):
            yield form(value) if callable(form) else form
    if (least := _AT_LEAST.search(text)) is not None or re.search(r"too short", text, re.IGNORECASE):
        yield (value or "a") * (int(least[1]) if least is not None else 10)


def _numbers(text: str) -> Iterator[int]:
    if (least := _BETWEEN.search(text) or _AT_LEAST.search(text)) is not None:
        yield int(least[1])
    if (above := _ABOVE.search(text)) is not None:
        yield int(above[1] or 0) + 1
