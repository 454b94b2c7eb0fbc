"""Read the body of a request, up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import HTTPException

if TYPE_CHECKING:
    from fastapi import Request


async def read_body(request: Request, most: int, what: str) -> bytes:
    """Return the body. Raises an HTTPException (413) once it has more than `most` bytes."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise HTTPException(413, f"{what} may have {most:,} bytes")
    return bytes(body)
