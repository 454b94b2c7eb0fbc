"""How the tests start servers that break their contract."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from servers import contract

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTRACT = (sys.executable, "-I", "-S", contract.__file__)
PATIENCE = 30
"""Seconds in which a process ends that was told to, on a busy machine."""


def command(fault: str, *arguments: str, **environment: str) -> list[str]:
    """The words of a command line that starts a server with this fault, and these variables besides all others."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    return [*(["env", *variables] if variables else []), *CONTRACT, fault, *arguments]


@contextlib.contextmanager
def http(fault: str, era: str | None = None, **environment: str) -> Iterator[str]:
    """The URL of a server with this fault, which ends with the context, if it has not by then."""
    arguments = ["--http", *([] if era is None else ["--era", era])]
    process = subprocess.Popen(
        [*CONTRACT, fault, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
    finally:
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
