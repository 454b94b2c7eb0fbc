"""An editor that all tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from services.lsp.editor import Editor

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def started_editor() -> Iterator[Editor]:
    """A client with its server, which start once."""
    editor = Editor()
    yield editor
    assert editor.close() == 0


@pytest.fixture
def editor(started_editor: Editor) -> Iterator[Editor]:
    """The client, without documents of earlier tests."""
    yield started_editor
    for uri in list(started_editor.texts):
        started_editor.shut(uri)
    assert started_editor.messages == []
