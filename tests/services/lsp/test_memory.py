"""What is kept from one edit to the next never shows: every analysis equals one without memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.services.lsp.analysis import Analyst
from mcproof.services.lsp.documents import OpenDocuments
from services.lsp.random_edits import PROJECT, changes

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.services.lsp.analysis import Analysis

TOOL = '''\
@app.tool()
def find_{number}(title: str, limit: int = {number}) -> str:
    """Find book {number} by words of its title."""
    return title


'''


def checked(analyst: Analyst, folder: Path, file: str, texts: dict[str, str]) -> tuple[object, ...]:
    """What an analysis finds in a file."""
    return shown(analysed(analyst, folder, file, texts))


def analysed(analyst: Analyst, folder: Path, file: str, texts: dict[str, str]) -> Analysis:
    documents = OpenDocuments()
    for name, text in texts.items():
        documents.open((folder / name).as_uri(), 1, text)
    return analyst.analyse(str(folder / file), documents.contents())


def shown(found: Analysis) -> tuple[object, ...]:
    lines = found.catalog.source.lines if found.catalog is not None and found.catalog.source is not None else None
    document = found.catalog.document.value if found.catalog is not None else None
    return found.problems, document, lines


@pytest.mark.parametrize("seed", range(3))
def test_random_edits_show_what_a_fresh_analysis_shows(tmp_path: Path, seed: int) -> None:
    texts = dict(PROJECT)
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    analyst = Analyst()
    for change in changes(seed, 40, texts):
        texts[change.file] = change.applied(texts[change.file])
        for file in dict.fromkeys((change.file, "server.py")):
            kept, fresh = (analysed(each, tmp_path, file, texts) for each in (analyst, Analyst()))
            assert shown(kept) == shown(fresh)
            assert kept.depends >= fresh.depends


EDITS = {
    "a docstring": ("Find book 3 by", "Look for book 3 by"),
    "a parameter": ("limit: int = 3", "limit: str"),
    "a name that another tool has": ("def find_3", "def find_4"),
    "a class that tools use": ("title: str, limit: int = 3", "title: Book, limit: int = 3"),
    "a mention of another tool": ("return title", "return find_5(title)"),
    "a changed constant": ("LIMIT = 3", "LIMIT = 4"),
    "another server": ('FastMCP("many")', 'FastMCP("other")'),
    "a further line": ('"""Find book 3 by', '"""\n    Find book 3 by'),
    "an alias": ("def find_3", "alias = find_2\n\n\n@app.tool()\ndef find_3"),
    "a deleted tool": (TOOL.format(number=3), ""),
    "a default with an effect": ("limit: int = 3", "limit: int = Book.more()"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_many_tools_shows_what_a_fresh_analysis_shows(tmp_path: Path, name: str) -> None:
    head = 'from fastmcp import FastMCP\n\nLIMIT = 3\napp = FastMCP("many")\n\n\nclass Book:\n    pages: int\n\n\n'
    text = head + "".join(TOOL.format(number=number) for number in range(8))
    file = tmp_path / "server.py"
    file.write_text(text, encoding="utf-8")
    analyst = Analyst()
    before = checked(analyst, tmp_path, "server.py", {"server.py": text})
    old, new = EDITS[name]
    assert old in text
    edited = text.replace(old, new, 1)
    after = checked(analyst, tmp_path, "server.py", {"server.py": edited})
    assert after == checked(Analyst(), tmp_path, "server.py", {"server.py": edited})
    assert checked(analyst, tmp_path, "server.py", {"server.py": text}) == before
