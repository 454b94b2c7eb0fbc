"""Names are unique in the whole package, so that one identifies a module or class; and imports stay few."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from modules import existing

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


def test_the_lint_of_a_snapshot_loads_nothing_that_only_live_servers_need() -> None:
    """A snapshot is checked in a tenth of a second, most of which is imports."""
    heavy = existing(
        *("dataclasses", "inspect", "asyncio", "sqlalchemy"),
        *("mcproof.probing.generation", "mcproof.probing.probes", "mcproof.testing.suites", "mcproof.services.store"),
        *("mcproof.checks.rules.trust.perimeter", "mcproof.checks.rules.trust.capabilities"),
    )
    code = (
        "import sys; from mcproof.cli.main import main; main(['lint', '-']);"
        f"print([name for name in sys.modules if name.startswith({heavy})])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input='{"tools": []}', capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_process_that_serves_visitors_loads_no_rules() -> None:
    """They are loaded by the process that visits are forked from; here they would delay the start of the service."""
    (rules,) = existing("mcproof.checks.rules")
    code = (
        f"import sys, mcproof.services.web.visits; print([name for name in sys.modules if name.startswith({rules!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_process_that_visits_are_forked_from_has_loaded_the_rules() -> None:
    (rules,) = existing("mcproof.checks.rules")
    counting = f"len([name for name in sys.modules if name.startswith({rules!r})])"
    code = f"import sys, mcproof.services.web.visit_warmup; print({counting})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 10
