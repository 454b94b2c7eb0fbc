"""The guide for the first hour in an editor: each of its steps, and what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from services.lsp.editor import Editor

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "first-hour-in-an-editor.md"


def blocks(kind: str) -> list[str]:
    found: list[str] = re.findall(
        rf"^```{kind}\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return found


def shown(editor: Editor, uri: str) -> str:
    return "".join(
        f"{each.range.start.line + 1}:{each.range.start.character + 1} "
        f"{each.severity.name.lower() if each.severity else ''} {each.code}: {each.message}\n"
        for each in editor.diagnostics(uri)
    )


def lenses(editor: Editor, uri: str) -> str:
    found = editor.request("text_document_code_lens", types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    return "".join(f"{each.range.start.line + 1} {each.command.title}\n" for each in found)


def test_the_first_hour_goes_as_the_guide_tells(editor: Editor, tmp_path: Path) -> None:
    first, described = blocks("python server.py")
    marks, costs, better, comment = blocks("text")
    uri = editor.open(tmp_path / "server.py", first)
    assert shown(editor, uri) == marks
    assert lenses(editor, uri) == costs
    editor.change(uri, [types.TextDocumentContentChangeWholeDocument(text=described)])
    assert shown(editor, uri) == ""
    assert lenses(editor, uri) == better
    editor.replace(uri, 'description="How many titles to return.", ', "")
    (found,) = editor.diagnostics(uri)
    titles = {each.title: each for each in editor.actions(uri, found.range)}
    assert "Ignore prop-no-description for tool `find_book` in mcproof.toml" in titles
    editor.apply(titles["Ignore prop-no-description here, with a comment"])
    assert shown(editor, uri) == ""
    assert comment.strip() in editor.texts[uri]
    strict, _ = blocks("toml mcproof.toml")
    editor.open(tmp_path / "mcproof.toml", strict)
    editor.until(uri, lambda codes: "SCH-002" in codes)
