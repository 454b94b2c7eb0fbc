"""Rules about the hints that tools declare, compared with what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.capabilities import capability_matches, surface_rule
from mcproof.rules.trust.tool_hits import few, identity, near, tools_that

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.capability_matches import CapabilityMatch
    from mcproof.core.catalog.model import Catalog, Tool

_EFFECTS = ("delete_data", "write_files", "financial_action", "send_message", "admin_control", "execute_code")
"""Capabilities that a read-only tool cannot have, the first found is reported."""
_DESTRUCTIVE = ("delete_data", "write_files", "financial_action")
"""Capabilities of destructive tools; writing counts only if it changes what exists."""


@surface_rule(
    "tool_annotations_consistent",
    name="inconsistent-annotations",
    severity="high",
    weight=6,
    sums_up=identity("hits", "toolName", "kind"),
)
def tool_annotations_consistent(catalog: Catalog) -> Iterator[Problem]:
    """A tool declares a hint that contradicts another hint, or what its name or description states.

    A tool without hints is not reported. Only the name and the verb of the description count here, because clients act
    on hints: a parameter for a file to save in is not enough.

    Why: clients run read-only tools without asking; a wrong hint takes the user's consent away.
    Fix: set `readOnlyHint` only on tools without effects, and `destructiveHint` on those that delete or overwrite.
    """
    by_tool = _matches_by_tool(catalog)
    found: list[tuple[Tool, dict[str, Any]]] = []
    for tool in catalog.tools:
        hints = tool.fields.get("annotations")
        if not isinstance(hints, dict) or not tool.knows_all("/annotations"):
            continue
        hit = _contradiction(hints, by_tool.get(id(tool), []))
        if hit is not None:
            found.append((tool, {"toolName": tool.label, **hit}))
    if found:
        message = tools_that([tool.label for tool, _ in found], "declare hints that contradict what they do")
        if len(found) == 1:
            message = f"{found[0][0].label}: {found[0][1]['annotation']} contradicts {found[0][1]['capabilityKind']}"
        yield Problem(message, evidence={"hits": [hit for _, hit in found]}, near=near(found[0][0]))


def _contradiction(hints: dict[str, Any], matches: list[CapabilityMatch]) -> dict[str, Any] | None:
    if hints.get("readOnlyHint") is True and hints.get("destructiveHint") is True:
        return {
            "kind": "readonly_and_destructive",
            "annotation": "readOnlyHint: true, destructiveHint: true",
            "capabilityKind": None,
        }
    sure = {match.capability: match for match in matches if match.is_sure}
    if hints.get("readOnlyHint") is True:
        effect = next((each for each in _EFFECTS if each in sure), None)
        if effect is not None:
            return {
                "kind": "readonly_but_destructive_capability",
                "annotation": "readOnlyHint: true",
                "capabilityKind": effect,
                "why": sure[effect].why,
            }
    if hints.get("destructiveHint") is False:
        effect = next((each for each in _DESTRUCTIVE if each in sure and _is_destructive(sure[each])), None)
        if effect is not None:
            return {
                "kind": "nondestructive_but_destructive_capability",
                "annotation": "destructiveHint: false",
                "capabilityKind": effect,
                "why": sure[effect].why,
            }
    return None


def _is_destructive(match: CapabilityMatch) -> bool:
    return match.capability == "financial_action" or (match.capability in _DESTRUCTIVE and match.is_overwriting)


def _matches_by_tool(catalog: Catalog) -> dict[int, list[CapabilityMatch]]:
    by_tool: dict[int, list[CapabilityMatch]] = {}
    for tool, match in capability_matches(catalog):
        by_tool.setdefault(id(tool), []).append(match)
    return by_tool


@surface_rule(
    "destructive_tools_declare_destructive_hint",
    name="undeclared-destructive-tools",
    severity="medium",
    weight=4,
    chosen=("severity", "weight"),
    sums_up=identity("hits", "toolName", "capabilityKind"),
)
def destructive_tools_declare_destructive_hint(catalog: Catalog) -> Iterator[Problem]:
    """A tool that deletes, overwrites or pays does not declare `destructiveHint: true`.

    Why: clients that ask before destructive calls rely on the hint; without it, some ask always and others never.
    Fix: set `"destructiveHint": true` in the tool's `annotations`.
    """
    by_tool = _matches_by_tool(catalog)
    found: list[tuple[Tool, str]] = []
    for tool in catalog.tools:
        hints = tool.fields.get("annotations")
        if (isinstance(hints, dict) and hints.get("destructiveHint") is True) or not tool.knows_all("/annotations"):
            continue
        matches = by_tool.get(id(tool), [])
        kinds = [match.capability for match in matches if match.is_sure and _is_destructive(match)]
        if kinds:
            found.append((tool, next(kind for kind in _DESTRUCTIVE if kind in kinds)))
    if found:
        hits = [{"toolName": tool.label, "capabilityKind": kind} for tool, kind in found]
        number = len(found)
        verb = "destructive tool does" if number == 1 else "destructive tools do"
        message = f"{number:,} {verb} not declare `destructiveHint: true`: {few(tool.label for tool, _ in found)}"
        yield Problem(message, evidence={"hits": hits}, near=near(found[0][0]))
