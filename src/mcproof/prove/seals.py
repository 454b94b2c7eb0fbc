"""Seals: how a stored failure shows that this user stored it, in this folder.

A seal is a keyed hash of a file's content and folder. The key is in the user's state folder, where no checkout can
write. Without it, a `.mcproof` folder in a stranger's checkout could have its commands run with the user's variables.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
from typing import Any

from mcproof.core.text.files import state_folder

_KEY_BYTES = 32


def seal(record: dict[str, Any], folder: str) -> str | None:
    """The seal of a record in a folder; None if there is no key and none can be stored."""
    key = _key(creates=True)
    return None if key is None else _seal(record, folder, key)


def is_sealed(record: dict[str, Any], folder: str, found: Any) -> bool:
    """Whether a seal is this user's, for this record in this folder."""
    key = _key(creates=False)
    if key is None or not isinstance(found, str) or not found.isascii():
        return False
    return hmac.compare_digest(_seal(record, folder, key), found)


def _seal(record: dict[str, Any], folder: str, key: bytes) -> str:
    text = json.dumps([os.path.realpath(folder), record], sort_keys=True)
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def key_file() -> str:
    """The file of the key."""
    return os.path.join(state_folder(), "replay-key")


def _key(*, creates: bool) -> bytes | None:
    file = key_file()
    with contextlib.suppress(OSError):
        if creates:
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                _create(file)
        with open(file, "rb") as opened:
            key = opened.read(_KEY_BYTES + 1)
        return key if len(key) == _KEY_BYTES else None
    return None


def _create(file: str) -> None:
    """Create the key. Raises FileExistsError if another process was faster."""
    temporary = f"{file}-{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as opened:
            opened.write(os.urandom(_KEY_BYTES))
        os.link(temporary, file)
    finally:
        os.unlink(temporary)
