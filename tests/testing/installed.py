"""Install the plugin for a test, whatever this environment has installed."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def python_path(folder: Path) -> str:
    """Return a PYTHONPATH on which pytest finds the plugin by its entry point."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = [f"{name} = {module}" for name, module in project["entry-points"]["pytest11"].items()]
    metadata = folder / "mcproof_plugin-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mcproof-plugin\nVersion: 0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *entries, ""]), encoding="utf-8")
    return os.pathsep.join([str(folder), str(ROOT / "src")])
