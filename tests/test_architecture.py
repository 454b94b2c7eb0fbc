"""Names are unique in the whole package, so that a name says which module or class is meant."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "mcproof"
NAMED_AFTER_FEATURES = ("cli/commands", "rules", "scores")
"""Their modules are named after commands, rulesets and schemes, so they may repeat the name of another module."""


def _modules() -> list[Path]:
    return [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py"))]


def _repeated(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_module_name_is_used_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in _modules():
        is_exempt = path.stem in ("__init__", "__main__") or path.as_posix().startswith(NAMED_AFTER_FEATURES)
        if not is_exempt:
            places[path.stem].append(path.as_posix())
    assert _repeated(places) == {}


def test_no_class_name_is_used_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in _modules():
        for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.as_posix()}:{node.lineno}")
    assert _repeated(places) == {}
