"""Measurements of the language server."""

from __future__ import annotations

import random
from itertools import count
from typing import TYPE_CHECKING

from measurement import Comparison
from packages import MODELS, function, heading
from timing import best_of

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from measurement import Workspace

TOOLS = 50
SERVER = 'from fastmcp import FastMCP\n\nLIMIT = 20\napp = FastMCP("measured")\n'
IMPORTS = "from typing import Annotated\n\nfrom pydantic import Field\n\nfrom models import Filter\n"


def keystroke(modules: int) -> Callable[[Workspace], Comparison]:
    """An edit of a docstring, analysed by the language server, against a lint of the whole project in one process."""

    def measure(at: Workspace) -> Comparison:
        from mcproof.runs import execute
        from mcproof.runs.requests import LintRequest, TargetSelection
        from mcproof.services.lsp.analysis import Analyst

        folder = _write_project(at.folder / f"project-{modules}", modules)
        file = folder / ("tools_0.py" if modules > 1 else "server.py")
        text = file.read_text(encoding="utf-8")
        middle = text.index('"""', text.index("def find_", len(text) // 2)) + 3
        edits = count()
        analyst = Analyst()

        def edit() -> object:
            content = f"{text[:middle]}{'x' * (next(edits) + 1)}{text[middle:]}".encode()
            return analyst.analyse(str(file), {str(file): content})

        request = LintRequest(targets=TargetSelection(names=(str(folder),)))
        edit()
        edited, linted = best_of(9, edit, lambda: execute(request))
        return Comparison.of(edited, linted, f"{TOOLS} tools in {modules} {'modules' if modules > 1 else 'module'}")

    return measure


def _write_project(folder: pathlib.Path, modules: int) -> pathlib.Path:
    """A server whose tools are in one module or in several, of the size that tools have in published servers."""
    rng = random.Random(5)
    folder.mkdir()
    files = {"models": MODELS, "server": SERVER}
    tools = [function(rng, f"find_{number}", "@app.tool") for number in range(TOOLS)]
    if modules == 1:
        files["server"] = IMPORTS + SERVER + heading(rng, "", "None") + "".join(tools)
    else:
        for number in range(modules):
            start = heading(rng, f"{IMPORTS}from core import LIMIT, app", "None")
            files[f"tools_{number}"] = start + "".join(tools[number::modules])
        files["core"], files["server"] = SERVER, "".join(f"import tools_{number}\n" for number in range(modules))
        files["server"] += "from core import app\n"
    for name, text in files.items():
        ending = "\n\napp.run()\n" if name == "server" else ""
        whole = text.replace("from __future__ import annotations\n", "") + ending  # may only be at the start
        (folder / f"{name}.py").write_text(whole, encoding="utf-8")
    return folder
