"""The findings about tools of an earlier check, for editors that check a catalog after every edit."""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.findings import Finding, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.checks.rule import Rule
    from mcproof.core.catalog.model import SourceTool, Tool

    ToolKey = tuple[bytes, SourceTool | None]


class FindingsOfTool(NamedTuple):
    """The findings about a tool: of rules about every item, and of all other rules."""

    as_item: list[Finding]
    as_tool: list[Finding]


class _Kept(NamedTuple):
    pointer: str
    """The pointer of the tool when it was checked."""
    as_item: tuple[tuple[Rule, Problem], ...]
    as_tool: tuple[tuple[Rule, Problem], ...]


class KeptFindings:
    """The findings of the last check, by the content of each tool."""

    def __init__(self) -> None:
        self._setting: tuple[Any, ...] = ()
        self._last: dict[ToolKey, _Kept] = {}
        self._now: dict[ToolKey, _Kept] = {}

    def begin(self, rules: object, *setting: object) -> None:
        """Start a check with a table of rules and other settings; other ones make all earlier findings useless."""
        is_same = bool(self._setting) and self._setting[0] is rules and self._setting[1:] == setting
        self._setting = (rules, *setting)
        self._last, self._now = self._now if is_same else {}, {}

    def recall(self, tool: Tool) -> FindingsOfTool | None:
        """The findings about a tool, if an equal one was in the last check."""
        key = _key(tool)
        known = self._last.get(key) if key is not None else None
        if key is None or known is None:
            return None
        self._now[key] = known
        return FindingsOfTool(_about(tool, known.as_item, known.pointer), _about(tool, known.as_tool, known.pointer))

    def keep(self, tool: Tool, as_item: Iterable[Finding], as_tool: Iterable[Finding]) -> None:
        """Keep the findings about a tool, unless one of them has a place of its own in the text."""
        key = _key(tool)
        kept = [tuple((each.rule, each.problem) for each in findings) for findings in (as_item, as_tool)]
        if key is not None and all(_can_move(problem, tool) for part in kept for _, problem in part):
            self._now[key] = _Kept(tool.pointer, *kept)


def _key(tool: Tool) -> ToolKey | None:
    """What the findings about a tool depend on; None for a tool without a name, whose number is its name."""
    if not tool.name or (tool.document is not None and tool.document.has_duplicate_keys):
        return None
    try:
        return marshal.dumps(tool.raw, 2), tool.source
    except ValueError:  # too deep
        return None


def _can_move(problem: Problem, tool: Tool) -> bool:
    near = problem.near
    return near is None or (isinstance(near, str) and near.startswith(f"{tool.pointer}/"))


def _about(tool: Tool, kept: tuple[tuple[Rule, Problem], ...], pointer: str) -> list[Finding]:
    return [Finding(rule, tool, _moved(problem, pointer, tool.pointer)) for rule, problem in kept]


def _moved(problem: Problem, before: str, now: str) -> Problem:
    if before == now or not isinstance(problem.near, str):
        return problem
    return problem._replace(near=now + problem.near.removeprefix(before))
