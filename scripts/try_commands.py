"""Run every command of an installed mcproof once, and every format of those that have formats.

    python scripts/try_commands.py PROGRAM

PROGRAM is the console script of an installation with all extras. What is missing from a wheel (a template, a schema, a
module that is imported on demand) shows when it is needed, and `mcproof demo` needs little. `try_dist.py` runs this.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 180
SOURCE = '''
from fastmcp import FastMCP

app = FastMCP("library")


@app.tool
def find_book(title: str) -> str:
    """Find a book by words of its title."""
    return title
'''
OLDER = '{"tools": [{"name": "find_book", "inputSchema": {"type": "object"}}]}'
FAILURES = ("Traceback", "internal error")


class CommandError(Exception):
    """A command did not do its job."""


def commands(server: Sequence[str], agent: Sequence[str]) -> list[tuple[str, ...]]:
    """At least one line for each command, in an order in which each finds what it needs."""
    store, every = ("--database", "store.db"), ("--allow-writes", "--max-call-ms", "5000")
    live = ("--", *server)
    return [
        ("capture", "-o", "tools.json", *live),
        ("capture", "source"),
        ("lint", "--ruleset", "all", "--record", "--name", "library", *store, "tools.json"),
        ("lint", "--ruleset", "all", "--report", "run.json", *live),
        ("lint", "--fix", "tools.json"),
        ("schema-lint", "tools.json"),
        ("grade", "source"),
        ("compat", "tools.json"),
        ("scan", "--deep", *live),
        ("scan", "source"),
        ("diff", "tools.json", *live),
        ("lock", "tools.json"),
        ("sweep", "tools.json", "--scan", "--output", "leaderboard.html"),
        ("probe", *every, *live),
        ("prove", "--security", *every, *live),
        ("fuzz", "--cases", "20", *every, *live),
        ("replay",),
        ("tools", *live),
        ("call", "lint_catalog", "target=tools.json", "--", *agent),
        ("read", "mcproof://rules/SCH-001", "--", *agent),
        ("prompt", "improve_server", "target=tools.json", "--", *agent),
        ("auth", "status"),
        ("init", *live),
        ("run",),
        ("validate",),
        ("schema",),
        ("history", "library", *store),
        ("store", "export", *store),
        ("serve", "token", "list", *store),
        ("lsp",),
        ("mcp",),
        ("rules",),
        ("advisories",),
        ("clients",),
        ("explain", "SCH-001"),
        ("report", "run.json"),
        ("config", "--schema"),
        ("completion", "bash"),
        ("demo",),
    ]


def formatted(formats: Sequence[str], server: Sequence[str]) -> list[tuple[str, ...]]:
    """Every format of a run of each kind."""
    runs: list[tuple[str, ...]] = [(name, "tools.json") for name in ("lint", "grade", "compat", "scan")]
    runs += [("diff", "older.json", "tools.json"), ("report", "run.json"), ("run",), ("probe", "--", *server)]
    return [(name, "--format", format_name, *words) for name, *words in runs for format_name in formats]


def run(program: str, words: Sequence[str], folder: pathlib.Path) -> str:
    """Return what a command prints, notes included. Raises CommandError."""
    done = subprocess.run(
        [program, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=SECONDS,
    )
    printed = done.stdout + done.stderr
    if done.returncode not in (0, 1) or any(word in printed for word in FAILURES):
        raise CommandError(f"`mcproof {' '.join(words)}` gave {done.returncode}: {printed[-1000:]}")
    return printed


def browse(program: str, folder: pathlib.Path) -> int:
    """Open the first page of `mcproof serve --demo` and all that it links to; return how many pages there are."""
    words = [program, "serve", "--demo", "--port", "0"]
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as service:
        try:
            lines = iter(service.stderr or ())
            address = next(match[0] for line in lines if (match := re.search(r"http://[\d.]+:\d+", line)))
            first = _page(address)
            paths = sorted({path for path in re.findall(r'(?:href|src)="(/[^"#]*)"', first) if path != "/"})
            for path in paths:
                _page(f"{address}{path}")
            return 1 + len(paths)
        finally:
            service.terminate()
            service.communicate()


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as response:  # noqa: S310 (an address of our own service)
        return str(response.read().decode("utf-8", "replace"))


def try_commands(program: str) -> str:
    """Return what was tried. Raises CommandError."""
    python = str(pathlib.Path(program).with_name("python"))
    server, agent = (python, "-m", "mcproof.demo.server"), (program, "mcp")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "source").mkdir()
        (folder / "source" / "server.py").write_text(SOURCE, encoding="utf-8")
        (folder / "older.json").write_text(OLDER, encoding="utf-8")
        overview = run(program, ("--help",), folder).partition("\nUse this when:")[0]
        names = re.findall(r"^  ([a-z][a-z-]*)  +\S", overview, re.MULTILINE)
        tried = commands(server, agent)
        if set(names) != {words[0] for words in tried}:
            raise CommandError(f"other commands than those tried here: {', '.join(names)}")
        listed = re.search(r"how to print: ([a-z, \n]+) \(default", run(program, ("lint", "--help"), folder))
        formats = re.findall(r"[a-z]+", listed[1]) if listed is not None else []
        if "html" not in formats:
            raise CommandError("`mcproof lint --help` lists no formats")
        for words in [*tried, *formatted(formats, server)]:
            if not run(program, words, folder) and words[0] not in ("lsp", "mcp"):
                raise CommandError(f"`mcproof {' '.join(words)}` printed nothing")
        pages = browse(program, folder)
    return f"{len(names)} commands, {len(formats)} formats, {pages} pages"


if __name__ == "__main__":
    try:
        print(try_commands(sys.argv[1]))
    except CommandError as error:
        sys.exit(str(error))
