"""The names of tools: the words that they are made of, however they are spelt."""

from __future__ import annotations

import re

_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(name: str) -> list[str]:
    """The words of a name, in small letters: `delete`, `user` for `deleteUser`, `delete_user` and `delete.user`."""
    if name.islower() and name.isascii() and name.isidentifier():  # as most are; the same, sooner
        return [word for word in name.split("_") if word]
    return [word.lower() for word in _BOUNDARY.split(name) if word]
