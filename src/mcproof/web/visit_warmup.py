"""Import all that visits need, by running each kind once: processes forked later start with it.

mcproof imports on demand, so that importing `visit_jobs` alone would leave the most of it to every process.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from mcproof.web.visit_jobs import COMMANDS, VisitJob, outcome_of


def _ignore(_: Any) -> None:
    """Ignore a step."""


_EXAMPLE = (files("mcproof.demo") / "weather.json").read_bytes()
for _command in COMMANDS:
    _catalogs = (_EXAMPLE, _EXAMPLE) if _command == "diff" else (_EXAMPLE,)
    outcome_of(VisitJob(_command, catalogs=_catalogs, is_whole=_command == "lint"), _ignore)
