"""Find the parameters that a tool's own description documents, as docstrings do."""

from __future__ import annotations

import re
from functools import lru_cache

_entry = re.compile(
    # A bullet, `:param str` or `@param`; one or more names, which may be quoted; a type in brackets; a text.
    r"\s{0,200}(?:[-*•] {0,3}|:param(?:eter)? (?:[\w\[\], |.]{1,60} )?|@param (?:\{[^}\n]{1,60}\} )?)?"
    r"[`*\"']{0,3}(?P<names>[\w$.-]{1,100}(?:, ?[\w$.-]{1,100}){0,9})[`*\"']{0,3}"
    r"(?:\s{0,3}\([^)\n]{0,200}\))?[`*]{0,3}(?:\s{0,3}:|\s{1,3}[-–—]\s)\s{0,200}\S"
).match


def documents_parameter(description: str, name: str) -> bool:
    """Whether a line such as `name: text`, `- name (str): text` or `:param name: text` explains a parameter."""
    return name in description and name in _documented_parameters(description)


@lru_cache(maxsize=1)  # for all parameters of a tool, and for two rules, one after the other
def _documented_parameters(description: str) -> frozenset[str]:
    """The names that lines of a description explain."""
    names: set[str] = set()
    for line in description.splitlines():
        entry = _entry(line)
        if entry is not None:
            names.update(re.split(", ?", entry["names"]))
    return frozenset(names)
