"""Whether the format of a parameter's value is left open: several spellings are possible and none is shown.

Only kinds of values are judged that callers get wrong without an example: times, colours, codes of languages and
currencies, choices such as a status, and structures such as a cell range or a filter. Everything else is taken to be
free text or copied from elsewhere.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from mcproof.core.text.english import words_of
from mcproof.rules.polish.prose import has_any


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPEN_TYPES = ("string", "object", "array")
_SHOWING_KEYS = _set(
    "example examples enum const format pattern properties patternProperties $ref anyOf oneOf allOf not"
)
_TIMES = _set(
    "date dates datetime time times timestamp timestamps day days month since until deadline duration interval period "
    "timezone expiry expires expiration ttl schedule"
)
"""Words anywhere in a name that make its value a time."""
_FORMATTED = _TIMES | _set(
    # Codes
    "color colors colour colours language languages lang locale country currency "
    # Choices
    "status statuses state states mode modes operation action type types kind category level severity priority order "
    "sort direction unit units format method strategy algorithm visibility granularity frequency resolution role "
    "access encoding "
    # Structures
    "range ranges cell cells coordinates bbox selector filter filters expression dimensions ratio mask cidr"
)
"""Last words of a name whose value has a format or is one of a few."""
_OBJECTS = _set(
    "filter filters options option config configuration settings data metadata payload args arguments params "
    "parameters properties fields criteria conditions where"
)
"""Last words of a name whose object has a structure of its own."""
_time_at = re.compile(r"\b(?:timestamp|date|datetime|time range|given time|duration)\b").search
_SHOWING = (
    *("example", "e.g", "eg.", "eg:", "for instance", "such as", "i.e", "either ", "one of", "options", "values"),
    *("format", "iso ", "iso-", "iso8", "rfc", "unix", "epoch", "yyyy", "separated", "://", "default", "returned by"),
    *("provided by", " from the ", " like ", '"', "'", "`", "“", "_", "=", "{", "[", "<", "|", "→", "->", "..."),
)
"""Signs that a description shows a value or names its format."""
_shows_form = re.compile(
    # A value that has only one spelling, is copied from elsewhere, or is free text.
    r"\b(?:\w*names?|paths?|urls?|uris?|ids?|identifiers?|uids?|uuids?|guids?|arns?|slugs?|regions?|emojis?|e-?mails?"
    r"|json|yaml|xml|html|css|markdown|latex|base64|sql|\w+ql|cron|javascript|code|scripts?|source|reg(?:ular )?ex\w*"
    r"|glob|sentences?|paragraphs?|text|titles?|descriptions?|human-readable|ip|sha|branch(?:es)?|address(?:es)?"
    r"|refs?|cursor|token|placeholder|ignored|unused|any|same|key-value|arbitrary|omit|hex|mime|content type"
    r"|programming)\b"
    r"|(?<!\S)\.[a-z0-9]{2,5}\b|\d"
    # Listed values: "proxy or direct", "(open, closed)", "asc/desc", "up or down".
    r"|[\w-]{1,40}, ?[\w-]{1,40},? ?(?:and |or )?[\w-]{1,40}"
    r"|(?:^|[:(] ?)[\w-]{1,40} or [\w-]{1,40}(?:$|[).])|\b[\w-]{2,30}/[\w-]{2,30}\b"
    r"|\((?!optional|required)[\w.,:; -]{1,60}\)"
).search


def leaves_format_open(name: str, schema: dict[str, Any], description: str) -> bool:
    """Whether a parameter's value has a format that neither its schema nor its description shows."""
    kind = schema.get("type")
    if kind not in OPEN_TYPES or not _is_open(schema):
        return False
    lowered = description.lower()
    if not _has_format(name, kind) and not (kind == "string" and _mentions_time(lowered)):
        return False
    return not has_any(_SHOWING, lowered) and not _shows_form(lowered)


def _mentions_time(lowered: str) -> bool:
    return has_any(("date", "time", "duration"), lowered) and _time_at(lowered) is not None


def _is_open(schema: dict[str, Any]) -> bool:
    """Whether a schema leaves the format of a string, an object or a list open."""
    if not _SHOWING_KEYS.isdisjoint(schema) or schema.get("default") not in (None, "", [], {}):
        return False
    items = schema.get("items")
    return schema.get("type") != "array" or (
        type(items) is dict and items.get("type") in OPEN_TYPES and _is_open(items)
    )


@lru_cache(2048)  # names repeat often
def _has_format(name: str, kind: str) -> bool:
    """Whether a parameter's name tells that its value has a format."""
    words = words_of(name)
    if not words:
        return False
    if kind == "object":
        return words[-1] in _OBJECTS
    return words[-1] in _FORMATTED or (kind == "string" and not _TIMES.isdisjoint(words))
