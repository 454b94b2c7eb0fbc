"""Small source trees for the tests of discovery."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from mcproof.source.python.pipeline import discover

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import SourceMap


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write a source tree."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def found(folder: Path, source: str = "", **files: str) -> SourceMap:
    """Discover a source tree: `source` is its `server.py`, a keyword `a__b` the file `a/b.py`."""
    named = {f"{_path(name)}.py": text for name, text in files.items()}
    return discover(str(write(folder, {**({"server.py": source} if source else {}), **named})))


def _path(name: str) -> str:
    for special in ("init", "main"):
        name = name.replace(f"____{special}__", f"/<{special}>")
    return name.replace("__", "/").replace("<", "__").replace(">", "__")


def names(result: SourceMap) -> list[str]:
    return [tool["name"] for tool in result.document["tools"]]


def tool(result: SourceMap, name: str | None = None) -> dict[str, Any]:
    """The only tool, or the one of this name."""
    tools: list[dict[str, Any]] = result.document["tools"]
    (only,) = [each for each in tools if name is None or each["name"] == name]
    return only


def is_conditional(result: SourceMap, name: str) -> bool:
    return bool(tool(result, name).get("_meta", {}).get("mcproof/conditional"))
