"""`mcproof lsp` on the command line; tests/services/lsp has the rest."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cli.running import fails, run, run_process

if TYPE_CHECKING:
    import pytest


def test_help_tells_what_it_is_for() -> None:
    assert "docs/editors.md" in run("lsp", "--help").stdout


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcproof.services.lsp.server", None)
    assert fails("lsp") == "mcproof: `lsp` needs one more package: `pip install 'mcproof[lsp]'`\n"


def test_it_ends_when_the_editor_disconnects() -> None:
    done = run_process("lsp")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
