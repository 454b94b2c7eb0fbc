"""Words: those of a tool's name, in any naming style, and word lists."""

from __future__ import annotations

import re

_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(name: str) -> list[str]:
    """The words of a name in lower case: `delete`, `user` for `deleteUser`, `delete_user` and `delete.user`."""
    if name.islower() and name.isascii() and name.isidentifier():  # the common case, with the same result
        return [word for word in name.split("_") if word]
    return [word.lower() for word in _BOUNDARY.split(name) if word]


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for word lists that are easier to read without quotes."""
    return frozenset(text.split())
