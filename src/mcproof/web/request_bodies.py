"""Read the body of a request, up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import HTTPException
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from starlette.requests import Request


async def read_body(request: Request, most: int, what: str) -> bytes:
    """Return the body. Raises an HTTPException: 413 once it has more than `most` bytes, 400 if it ends early."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise HTTPException(413, f"{what} may have {most:,} bytes")
    except ClientDisconnect:  # the response reaches nobody, but it is logged as what it is
        raise HTTPException(400, "the body of the request is not complete") from None
    return bytes(body)
