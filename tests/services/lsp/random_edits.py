"""Random edits of a project, some of which break it and some of which repair it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

from cli.running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL
from mcproof.services.lsp.analysis import Analyst
from mcproof.services.lsp.documents import OpenDocuments, diagnostic_of
from services.lsp.editor import shown_as_text
from services.lsp.sources import LOWLEVEL, SERVER, SUITE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from services.lsp.editor import Editor

MODELS = '''\
from pydantic import BaseModel, Field

TEXT = "Sort the books of a shelf."


class Shelf(BaseModel):
    """A shelf."""

    number: int = Field(description="Its number.", ge=1)
    name: str | None = None
'''
TOOLS = '''

@mcp.tool()
def list_books(shelf: Shelf, order: str = "title") -> list[str]:
    """List the books of a shelf, the newest first. \N{BOOKS}"""
    return []


@mcp.tool(description=TEXT)
def sort_books(shelf: Shelf, limit: Annotated[int, Field(description="How many.", le=9)] = 3) -> None:
    """Sort."""


def helper(x: int) -> int:
    return x


@mcp.resource("book://{id}")
def book(id: str) -> str:
    """A book."""
    return id


@mcp.prompt()
def review(title: str) -> str:
    return title


mcp.add_tool(helper, name="help")
'''
IMPORTS = "from typing import Annotated\nfrom pydantic import Field\nfrom models import TEXT, Shelf\n"
PROJECT = {
    "server.py": IMPORTS + SERVER + TOOLS,
    "models.py": MODELS,
    "lowlevel.py": LOWLEVEL,
    "tools.json": json.dumps({"tools": [CLEAN_TOOL, LOOSE_TOOL, FAULTY_TOOL]}, indent=2),
    "mcproof.yaml": SUITE,
    "mcproof.toml": 'fail-on = "error"\n\n[[ignore-for]]\ntool = "burn*"\nrules = ["prop-no-type"]\n',
}
_COMMON = (
    "x",
    " ",
    "\n",
    "\r\n",
    "    ",
    '"',
    "'",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "#",
    "=",
    "\N{FIRE}",
    "\u2028",
)
_PIECES = {
    ".py": (
        *(*_COMMON, '"""', ", y: int = 1", "# mcproof: ignore[strict] why", "\f", "def ", "None", " = 3", "str"),
        *("\n\n@mcp.tool\ndef again(a: int): ...\n", "@mcp.tool()\n", "del mcp\n", "mcp.tool()(helper)\n"),
        *("find_book", "list_books", "sort_books", "Shelf", "TEXT", 'name="burn"'),
    ),
    ".json": (*_COMMON, '"x": 1, ', "null", "\\u00e9", '"description": "Find.", ', "true"),
    ".yaml": (*_COMMON, "- ", "server: x", "tool: find", "expect:", "&a"),
    ".toml": (*_COMMON, 'ignore = ["strict"]\n', 'select = ["grade"]\n', "[severity]\n"),
}


class Change:
    """One edit of a file."""

    def __init__(self, file: str, start: int, end: int, new: str) -> None:
        self.file, self.start, self.end, self.new = file, start, end, new

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def changes(seed: int, count: int, texts: dict[str, str]) -> Iterator[Change]:
    """Edits of a project; the caller applies each to `texts` before it asks for the next."""
    rng = random.Random(seed)  # noqa: S311 (the same edits every time)
    for _ in range(count):
        file = rng.choice(("server.py", "server.py", *texts))
        text = texts[file]
        if text != PROJECT[file] and rng.random() < 0.25:  # as it was
            yield Change(file, 0, len(text), PROJECT[file])
            continue
        at = rng.randrange(len(text) + 1)
        kind = rng.random()
        if kind < 0.6:
            pieces = _PIECES[file[file.rindex(".") :]]
            yield Change(file, at, at, rng.choice(pieces))
        elif kind < 0.85:
            yield Change(file, at, min(len(text), at + rng.choice((1, 1, 2, 5, 40))), "")
        else:  # a part of the text again, such as a tool of the same name
            start = rng.randrange(len(text) + 1)
            yield Change(file, at, at, text[start : start + rng.choice((5, 50, 200))])


def run_edits(editor: Editor, folder: Path, *, seed: int, count: int, compare_every: int) -> int:
    """Make random edits in an editor, and compare its diagnostics with fresh analyses; return how often."""
    texts = dict(PROJECT)
    uris = {}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        uris[name] = editor.open(folder / name)
    compared = 0
    for number, change in enumerate(changes(seed, count, texts), 1):
        texts[change.file] = change.applied(texts[change.file])
        editor.edit(uris[change.file], change.start, change.end, change.new)
        assert editor.texts[uris[change.file]] == texts[change.file]
        if number % compare_every == 0 or number == count:
            for name, wanted in _fresh(editor, folder, texts).items():
                editor.wait_until_shown(uris[name], wanted)
            compared += 1
    return compared


def _fresh(editor: Editor, folder: Path, texts: dict[str, str]) -> dict[str, list[str]]:
    """What a new session would show of each document."""
    documents = OpenDocuments()
    documents.encoding = editor.encoding
    for name, text in texts.items():
        documents.open((folder / name).as_uri(), 1, text)
    problems = {
        each._replace(finding=None): each
        for name in texts
        for each in Analyst().analyse(str(folder / name), documents.contents()).problems
    }
    found: dict[str, list[str]] = {name: [] for name in texts}
    for each in problems.values():
        name = each.file.rpartition("/")[2]
        found[name].append(shown_as_text(diagnostic_of(each, documents.positions_in(each.file))))
    return {name: sorted(listed) for name, listed in found.items()}
