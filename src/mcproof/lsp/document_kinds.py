"""What a document is for mcproof, by its name and its text."""

from __future__ import annotations

import os
import re
from typing import Literal

from mcproof.runs.config import OWN_FILE, SHARED_FILE
from mcproof.testing.suites.model import DEFAULT_NAMES, has_suite_keys

DocumentKind = Literal["source", "snapshot", "suite", "settings"]

_CATALOG = re.compile(rb'"(?:tools|inputSchema|resources|prompts)"\s*:')
"""A key without which no JSON text is a catalog, except a list of tools that has nothing but names."""


def kind_of_document(path: str, content: bytes) -> DocumentKind | None:
    """The kind of a document; None if mcproof does not check it."""
    name = os.path.basename(path)
    if name in (OWN_FILE, SHARED_FILE):
        return "settings"
    if name.endswith(".py"):
        return "source"
    if name.endswith(".json"):
        return "snapshot" if _CATALOG.search(content) is not None else None
    if name.endswith((".yaml", ".yml")):
        return "suite" if name in DEFAULT_NAMES or has_suite_keys(content) else None
    return None
