"""Random edits by a real client: no crash, and no stale diagnostic after the last one; `lsp.soak` has more edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from services.lsp.random_edits import run_edits

if TYPE_CHECKING:
    from pathlib import Path

    from services.lsp.editor import Editor


def test_diagnostics_are_right_after_random_edits(editor: Editor, tmp_path: Path) -> None:
    assert run_edits(editor, tmp_path, seed=5, count=100, compare_every=50) == 2
