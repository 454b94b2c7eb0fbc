"""The checker process: reads requests on standard input, and writes results on standard output.

Each message is a length of eight bytes and a JSON document. The process ends when its input does, or by a signal
when a check takes too long, so that it never outlives the server.
Why a child process reads catalogs: docs/decisions/0057-agents-check-in-a-child.md.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import McproofError, from_exception
from mcproof.services.mcp.checks import run_check
from mcproof.services.workers import Confinement

if TYPE_CHECKING:
    from typing import BinaryIO

HEADER = 8
"""The bytes of a length."""
TIME_LIMIT = 60
"""Seconds for a check."""
MEMORY_LIMIT = 2 << 30
"""Bytes of address space."""


def encoded(message: Any) -> bytes:
    """A message as it is sent. Lone surrogates, which a catalog may contain and MCP cannot send, are replaced."""
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    return len(body).to_bytes(HEADER, "big") + body


def main() -> None:
    """Run checks until the input ends."""
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed by mistake must not be read as a result
    _limit_memory()
    confinement = Confinement()
    confinement.apply()
    while len(header := incoming.read(HEADER)) == HEADER:
        request = json.loads(incoming.read(int.from_bytes(header, "big")))
        confinement.roots = tuple(request["roots"])
        # Later than the limit of the server, which tells the client why; this one also holds when the server is gone.
        _set_alarm(TIME_LIMIT + 5)
        response = _response(request)
        _set_alarm(0)
        _send(outgoing, response)


def _response(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": run_check(request["tool"], request["arguments"], request["roots"])}
    except McproofError as error:
        return {"error": str(error)}
    # A defect of mcproof fails one check, and not the process that serves the next ones.
    except Exception as error:
        return {"error": str(from_exception(error))}


def _send(outgoing: BinaryIO, response: dict[str, Any]) -> None:
    outgoing.write(encoded(response))
    outgoing.flush()


def _limit_memory() -> None:
    with suppress(ImportError, OSError, ValueError):  # not every system has this limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _set_alarm(seconds: int) -> None:
    """Have the process killed after some seconds, even if the server is gone; 0 for never."""
    import signal

    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


if __name__ == "__main__":
    main()
