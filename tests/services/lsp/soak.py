"""Random edits in an editor: `make soak`. The tests make fewer of them.

python -m services.lsp.soak [EDITS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from services.lsp.editor import Editor
from services.lsp.random_edits import run_edits


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    start = time.monotonic()
    editor = Editor()
    with tempfile.TemporaryDirectory() as folder:
        compared = run_edits(editor, Path(folder).resolve(), seed=1, count=count, compare_every=20)
    code = editor.close()
    seconds = time.monotonic() - start
    print(f"{count:,} edits, {compared} comparisons with fresh analyses, exit code {code}, {seconds:.0f} s")
    assert (code, editor.messages) == (0, []), editor.messages


if __name__ == "__main__":
    main()
