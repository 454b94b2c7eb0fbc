"""Personal data: words of a tool that name data about people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.catalog.tool_acts import LONGEST, Source, parameters_of
from mcproof.core.text.english import word_set, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.core.catalog.model import Tool

_WORDS = word_set(
    "birthdate birthday cvv dob email emails ethnicity gender iban passport password passwords patient patients phone "
    "salary ssn surname telephone"
)
_PAIRS = {
    **{(first, "name"): "name" for first in ("first", "full", "given", "last", "middle", "maiden")},
    **{(first, "address"): "address" for first in ("billing", "home", "mailing", "postal", "shipping", "street")},
    ("bank", "account"): "bank account",
    ("birth", "date"): "birth date",
    ("card", "number"): "card number",
    ("credit", "card"): "credit card",
    ("date", "birth"): "birth date",
    ("driver", "license"): "driver license",
    ("drivers", "license"): "driver license",
    ("health", "record"): "health record",
    ("medical", "record"): "medical record",
    ("mobile", "number"): "phone",
    ("national", "id"): "national id",
    ("phone", "number"): "phone",
    ("social", "security"): "social security",
    ("tax", "id"): "tax id",
}
_OTHER_ADDRESSES = word_set(
    "bind block blockchain cell contract crypto endpoint ethereum ip mac memory network range server socket solana "
    "token url wallet web"
)
_PHRASE = re.compile(
    r"\b(?:e-?mail address(?:es)?|phone numbers?|social security(?: numbers?)?|dates? of birth|passport numbers?|"
    r"credit cards?|home address(?:es)?|postal address(?:es)?|bank account numbers?|medical records?|"
    r"personal (?:data|information)|personally identifiable|PII)\b",
    re.IGNORECASE,
)


class PersonalWord(NamedTuple):
    """A word that names personal data."""

    keyword: str
    source: Source
    why: str
    """As a sentence without a full stop."""


def personal_data_in(tool: Tool) -> list[PersonalWord]:
    """Return the words for personal data of a tool, each once."""
    found: dict[str, PersonalWord] = {}
    for word in _personal(words_of(tool.name)):
        found.setdefault(word, PersonalWord(word, "name", f"`{word}` in its name"))
    for name, schema in parameters_of(tool).items():
        words = words_of(name)
        for word in _personal(words):
            found.setdefault(word, PersonalWord(word, "schema", f"its parameter `{name}`"))
        if words[-1:] == ["address"] and len(words) == 1:
            described = schema.get("description") if isinstance(schema, dict) else ""
            about = {*words_of(tool.name), *words_of(described[:300] if isinstance(described, str) else "")}
            if _OTHER_ADDRESSES.isdisjoint(about):
                found.setdefault("address", PersonalWord("address", "schema", f"its parameter `{name}`"))
    phrase = _PHRASE.search(tool.description[:LONGEST])
    if phrase is not None:
        keyword = " ".join(phrase[0].lower().split())
        found.setdefault(keyword, PersonalWord(keyword, "description", f"`{keyword}` in its description"))
    return list(found.values())


def _personal(words: list[str]) -> Iterable[str]:
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in _WORDS:
            yield word
        elif (word, following) in _PAIRS:
            yield _PAIRS[word, following]
