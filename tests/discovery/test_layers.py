"""The layers of discovery hold for type-only imports too, which the import contracts leave out."""

from __future__ import annotations

import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
CONTAINER = "mcproof.source"


def test_type_only_imports_respect_the_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [
        each for each in settings["tool"]["importlinter"]["contracts"] if each.get("containers") == [CONTAINER]
    ]
    level = {name: number for number, layer in enumerate(contract["layers"]) for name in layer.split(" | ")}
    graph = grimp.build_graph("mcproof", exclude_type_checking_imports=False, cache_dir=None)
    upward = [
        f"{importer} imports {imported}"
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
        if importer.startswith(f"{CONTAINER}.") and imported.startswith(f"{CONTAINER}.")
        if level[imported.split(".")[2]] < level[importer.split(".")[2]]
    ]
    assert not upward
