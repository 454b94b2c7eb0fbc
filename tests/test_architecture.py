"""The shape of the source tree: rooms, doors, and imports that stay few."""

from __future__ import annotations

import subprocess
import sys

from modules import existing


def test_the_lint_of_a_snapshot_loads_nothing_that_only_live_servers_need() -> None:
    """A snapshot is checked in a tenth of a second, most of which is imports."""
    heavy = existing(
        *("dataclasses", "inspect", "asyncio", "sqlalchemy", "packaging"),
        *("mcproof.probing.generation", "mcproof.probing.probes", "mcproof.probing.fuzz", "mcproof.probing.attacks"),
        *("mcproof.testing.suites", "mcproof.services.store"),
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
