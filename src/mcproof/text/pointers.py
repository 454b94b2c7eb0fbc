"""JSON pointers (RFC 6901): escape and unescape tokens, resolve a pointer in a document.

`JsonText.spans` locates pointers in a text.
"""

from __future__ import annotations

from typing import Any

Pointer = str
"""A JSON pointer (RFC 6901): `/tools/0/inputSchema`; the empty string is the whole document."""


def escape(token: str) -> str:
    """Escape a key for use in a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def unescape(token: str) -> str:
    """The key that a pointer token stands for."""
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def resolve(document: Any, pointer: Pointer) -> Any:
    """The value at a pointer. Raises LookupError if there is none."""
    value = document
    for token in pointer.split("/")[1:]:
        if isinstance(value, list):
            if not _is_index(token):
                raise LookupError(pointer)
            value = value[int(token)]
        elif isinstance(value, dict):
            value = value[unescape(token)]
        else:
            raise LookupError(pointer)
    return value


def _is_index(text: str) -> bool:
    """Whether a token is an array index (RFC 6901): decimal digits without a leading zero."""
    return text == "0" or (text[:1] in "123456789" and text.isascii() and text.isdigit() and len(text) < 16)
