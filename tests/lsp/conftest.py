"""An editor that the tests of a module share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lsp.editor import Editor

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    """A client with its server, for all tests of a module."""
    editor = Editor()
    yield editor
    assert editor.close() == 0
    assert editor.messages == []
