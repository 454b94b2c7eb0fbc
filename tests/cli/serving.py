"""Servers for the tests of the command line, and how those name them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from client.running import RAW
from servers import web

from .running import document_of, run, write

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

GOOD = ("--", *RAW, "good")
QUICK = ("--timeout", "1", "--start-timeout", "1")
SECRET = "hunter2-hunter2"  # noqa: S105


def raw(fault: str, *arguments: str) -> tuple[str, ...]:
    """The end of a command line that starts a server with this fault."""
    return ("--", *RAW, fault, *arguments)


def serve(fault: str) -> web.Web:
    """A server over HTTP with this fault, to be used as a context."""
    return web.FAULTS[fault]()


def entry(fault: str, *arguments: str, **others: Any) -> dict[str, Any]:
    """A server as a client configuration has it."""
    return {"command": RAW[0], "args": [*RAW[1:], fault, *arguments], **others}


def config(folder: Path, **servers: Any) -> str:
    return write(folder / ".mcp.json", {"mcpServers": servers})


def findings(done: subprocess.CompletedProcess[str], *, wire: bool = False) -> list[tuple[str, str, str, str]]:
    """What a run in JSON found, without the places, which differ between a server and its capture."""
    return [
        (each["rule"], each["subject"], each["pointer"], each["message"])
        for each in json.loads(done.stdout)["findings"]
        if wire or not each["rule"].startswith("WIR-")
    ]


def lint(*words: str, **others: Any) -> Any:
    """The document of a run that did its job."""
    done = run("lint", "--format", "json", *words, **others)
    assert done.returncode in (0, 1), done
    return document_of(done, "lint")
