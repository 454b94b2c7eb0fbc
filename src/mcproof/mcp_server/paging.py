"""Pages of long results, with cursors that hold for one state of a result only.

The server keeps no state between calls: a cursor has the offset of the next page and a digest of the whole result.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from mcproof.core.errors import UsageError

CURSOR_PATTERN = "^[0-9]{1,9}-[0-9a-f]{16}$"
DEFAULT_LIMIT, LARGEST_LIMIT = 20, 100
CHUNK = 40_000
"""The characters of a text on one page."""


def paged(document: dict[str, Any], key: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """A document with one page of its long list or text, and `page`, which says where that is."""
    whole = document[key]
    digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]
    offset = _offset(cursor, digest, len(whole))
    stop = min(offset + limit, len(whole))
    page = {
        "offset": offset,
        "total": len(whole),
        "next_cursor": f"{stop}-{digest}" if stop < len(whole) else None,
    }
    return {**document, key: whole[offset:stop], "page": page}


def _offset(cursor: str | None, digest: str, length: int) -> int:
    if cursor is None:
        return 0
    offset, _, of = cursor.partition("-")
    if of != digest:
        raise UsageError("the result has changed since this cursor was returned; call again without `cursor`")
    if int(offset) >= length:
        raise UsageError("there is no such page; call again without `cursor`")
    return int(offset)
