"""What is checked after an edit, and when."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lsprotocol.types import PublishDiagnosticsParams, TextDocumentContentChangeWholeDocument

from mcproof.services.lsp.server import EditorSession
from services.lsp.sources import SERVER

if TYPE_CHECKING:
    from pathlib import Path


class Watched:
    """A session that records which documents are checked, and what is published."""

    def __init__(self) -> None:
        self.published: list[PublishDiagnosticsParams] = []
        self.checked: list[str] = []
        self.session = EditorSession(self.published.append, pause=0.01)
        analyse = self.session._analyst.analyse

        def record(path: str, contents: Any) -> Any:
            self.checked.append(path.rpartition("/")[2])
            return analyse(path, contents)

        self.session._analyst.analyse = record  # type: ignore[method-assign]

    def change(self, uri: str, version: int, text: str) -> None:
        self.session.change(uri, version, [TextDocumentContentChangeWholeDocument(text=text)])


def test_many_edits_without_a_pause_are_checked_once(tmp_path: Path) -> None:
    async def edit() -> Watched:
        watched = Watched()
        path, uri = str(tmp_path / "server.py"), (tmp_path / "server.py").as_uri()
        watched.session.open(uri, 1, SERVER)
        await watched.session.settled(path)
        for number in range(20):
            watched.change(uri, number + 2, SERVER + "x" * number)
        await watched.session.settled(path)
        watched.session.stop()
        return watched

    watched = asyncio.run(edit())
    assert watched.checked == ["server.py", "server.py"]
    assert [each.version for each in watched.published] == [1, 21]


def test_only_documents_that_an_edit_touches_are_checked(tmp_path: Path) -> None:
    texts = {
        "models.py": "TEXT = 'Find.'\n",
        "uses.py": f"from models import TEXT\n{SERVER}".replace("tool()", "tool(description=TEXT)"),
        "other.py": SERVER,
        "tools.json": "[]",
        "mcproof.toml": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    async def edit(name: str) -> list[str]:
        watched = Watched()
        for number, (each, text) in enumerate(texts.items()):
            watched.session.open((tmp_path / each).as_uri(), number, text)
        for each in texts:
            await watched.session.settled(str(tmp_path / each))
        watched.checked.clear()
        watched.change((tmp_path / name).as_uri(), 99, f"{texts[name]}\n")
        for each in texts:
            await watched.session.settled(str(tmp_path / each))
        watched.session.stop()
        return sorted(watched.checked)

    assert asyncio.run(edit("other.py")) == ["other.py"]
    assert asyncio.run(edit("models.py")) == ["models.py", "uses.py"]
    assert asyncio.run(edit("mcproof.toml")) == sorted(texts)


def test_diagnostics_go_away_with_their_document(tmp_path: Path) -> None:
    async def close() -> list[PublishDiagnosticsParams]:
        watched = Watched()
        uri = (tmp_path / "server.py").as_uri()
        watched.session.open(uri, 1, SERVER)
        await watched.session.settled(str(tmp_path / "server.py"))
        watched.session.close(uri)
        watched.session.stop()
        return watched.published

    first, last = asyncio.run(close())
    assert first.diagnostics
    assert (last.diagnostics, last.version) == ([], None)
