"""Helpers: start servers that break their contract, and run commands on them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from cli.running import validator
from mcproof.cli.main import main
from servers import contract, hostile, small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

CONTRACT = (sys.executable, "-I", "-S", contract.__file__)
SMALL = (sys.executable, "-I", "-S", small.__file__)
PATIENCE = 30
"""Seconds in which a process ends that was told to, on a busy machine."""


def command(fault: str, *arguments: str, **environment: str) -> list[str]:
    """The words of a command line that starts a server with this fault, and these variables besides all others."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    return [*(["env", *variables] if variables else []), *CONTRACT, fault, *arguments]


def small_server(tools: Any, *habits: str) -> list[str]:
    """The end of a command line that starts a server with these tools and habits."""
    return ["--", *SMALL, json.dumps(tools), *habits]


def tool(name: str = "read", **properties: Any) -> dict[str, Any]:
    """A tool with these properties, nothing required and nothing forbidden."""
    return {"name": name, "description": "Read.", "inputSchema": {"type": "object", "properties": properties}}


class Done(NamedTuple):
    """What a run of mcproof came to."""

    code: int
    output: str
    errors: str

    @property
    def document(self) -> Any:
        """What it printed, in JSON."""
        return json.loads(self.output)


def mcproof(*words: str) -> Done:
    """Run mcproof in this process, in the folder that it is in; never a traceback."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    out.flush()
    buffer = out.buffer
    assert isinstance(buffer, io.BytesIO)
    done = Done(code, buffer.getvalue().decode(), err.getvalue())
    assert "Traceback" not in done.errors
    assert "internal error" not in done.output + done.errors
    return done


def tried(command: str, *words: str, code: int | None = None) -> Any:
    """What trying out a server came to, by the schema of its document."""
    done = mcproof(command, "--format", "json", *words)
    assert done.code in ((0, 1) if code is None else (code,)), done.output[:2_000] + done.errors
    validator(command).validate(done.document)
    return done.document


def refused(*words: str) -> str:
    """What mcproof says where it does not do what it was asked to."""
    done = mcproof(*words)
    assert (done.code, done.output) == (2, ""), done
    return done.errors


@contextlib.contextmanager
def silently() -> Iterator[None]:
    """What is printed is dropped."""
    sink = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(io.StringIO()):
        yield


def at_once(run: Callable[[str], Any], names: Iterable[str]) -> dict[str, Any]:
    """What several runs come to, each in a thread: they wait much more than they work. What they print is dropped."""
    names = list(names)
    with silently(), ThreadPoolExecutor(min(10, len(names))) as pool:
        return dict(zip(names, pool.map(run, names), strict=True))


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


def hostile_server(folder: Path, *tools: str) -> list[str]:
    """The end of a command line that starts a server with vulnerable and hardened tools, which serve a folder."""
    return ["--", sys.executable, "-I", "-S", hostile.__file__, str(folder), *tools]
