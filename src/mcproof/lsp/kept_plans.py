"""The plans of documents, made again only if a configuration or a baseline changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mcproof.runs.config import OWN_FILE, SHARED_FILE, SettingsFinder
from mcproof.runs.planning import Planner
from mcproof.runs.requests import LintRequest, TargetSelection
from mcproof.targets.arguments import Input

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.runs.judging import Plan

MOST_PLANS = 50

FileState = tuple[str, bytes | tuple[int, int] | None]
"""A file with its unsaved content, or its modification time and size; None if it does not exist."""


class _KeptPlan(NamedTuple):
    plan: Plan
    state: tuple[FileState, ...]
    baseline: FileState | None


class KeptPlans:
    """The plan of each folder."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, bool], _KeptPlan] = {}

    def plan_for(self, path: str, contents: Mapping[str, bytes], *, is_source: bool) -> Plan:
        """The plan for a document, by its nearest configuration. Raises an error if that is invalid."""
        key = os.path.dirname(path), is_source
        state = tuple(_configurations(path, contents))
        known = self._kept.pop(key, None)
        if known is None or known.state != state or known.baseline != _baseline(known.plan):
            planner = Planner(LintRequest(TargetSelection(names=(path,))), SettingsFinder(contents))
            plan = planner.plan_for(Input(path, is_source=is_source))
            known = _KeptPlan(plan, state, _baseline(plan))
        self._kept[key] = known
        if len(self._kept) > MOST_PLANS:  # the oldest first
            del self._kept[next(iter(self._kept))]
        return known.plan


def _configurations(path: str, contents: Mapping[str, bytes]) -> Iterator[FileState]:
    """The states of all files that may configure a document, or the folder in which the server runs."""
    for start in (os.path.dirname(path), os.getcwd()):
        folder = start
        while True:
            for name in (OWN_FILE, SHARED_FILE):
                file = os.path.join(folder, name)
                state = contents.get(file) or _stored(file)
                if state is not None:
                    yield file, state
            if folder == (folder := os.path.dirname(folder)):
                break


def _baseline(plan: Plan) -> FileState | None:
    return None if plan.baseline is None else (plan.baseline.file, _stored(plan.baseline.file))


def _stored(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size
