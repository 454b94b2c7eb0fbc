"""Rules about drift: what changed since a catalog was locked or captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import trust_rule
from mcproof.checks.subjects import CatalogDrift, DriftKind

if TYPE_CHECKING:
    from mcproof.checks.rule import Check
    from mcproof.core.observations.perimeter import Exposure

_MOST_NAMES = 5


def _fires_now(evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """Whether a rule about poisoned texts newly fires on the changed text."""
    return bool(evidence.get("firesNow"))


def _identity(evidence: dict[str, Any]) -> str:
    """The new version of the part, so that accepting one change does not accept the next."""
    return f"{evidence['item']}\0{evidence['part']}\0{evidence['currentHash']}"


_rule = partial(
    trust_rule, CatalogDrift, severity="medium", category="drift", dimension="Metadata transparency", phase="drift"
)


def _drift_rule(id: str, *, name: str, counted_by: str) -> Callable[[Check[CatalogDrift]], Check[CatalogDrift]]:
    """Register a rule about single differences, which count in the rules about the last scan."""
    return _rule(id, name=name, hard_fail=_fires_now, counted_by=counted_by, sums_up=_identity)


_last_scan_rule = partial(_rule, weight=4)
"""Registers a rule about all differences of a kind."""


@_drift_rule("TRU-201", name="new-tool", counted_by="no_new_tools_since_last_scan")
def new_tool(drift: CatalogDrift) -> Iterator[Problem]:
    """A tool is there that was not there when the catalog was locked or captured.

    Why: users approved the tools that they saw; a server can add one after the approval.
    Fix: review the new tool, then accept it: run `mcproof lock` again, or write a new capture for `--against`.

    The severity is high, and the verdict `block`, if a rule about poisoned texts reports the new tool.
    OWASP MCP03 and MCP04; SAFE-T1001.
    """
    yield from _problems(drift, "new-tool")


@_drift_rule("TRU-202", name="tool-description-drift", counted_by="tool_descriptions_unchanged_since_last_scan")
def description_drift(drift: CatalogDrift) -> Iterator[Problem]:
    """The description of a tool differs from the one that was locked or captured.

    Why: a description is an instruction to the model. A server that was harmless when users approved it can change its
    descriptions at any time, which is known as a rug pull.
    Fix: read the difference, then accept it: run `mcproof lock` again, or write a new capture for `--against`.

    The severity is high, and the verdict `block`, if a rule about poisoned texts newly reports the description.
    OWASP MCP03 and MCP04; SAFE-T1001.
    """
    yield from _problems(drift, "description")


@_drift_rule("TRU-203", name="tool-schema-drift", counted_by="tool_surface_unchanged_since_last_scan")
def schema_drift(drift: CatalogDrift) -> Iterator[Problem]:
    """The input or output schema of a tool differs from the one that was locked or captured.

    Why: a new parameter can ask the model for data that users never agreed to pass on, and the descriptions of
    parameters are instructions like any other text.
    Fix: read the difference, then accept it: run `mcproof lock` again, or write a new capture for `--against`.
    `mcproof diff` shows what breaks callers.

    The severity is high, and the verdict `block`, if a rule about poisoned texts newly reports a text of the schema.
    OWASP MCP03 and MCP04.
    """
    yield from _problems(drift, "schema")


@_drift_rule("TRU-204", name="surface-drift", counted_by="tool_surface_unchanged_since_last_scan")
def surface_drift(drift: CatalogDrift) -> Iterator[Problem]:
    """Annotations, instructions or another part of the surface differs from what was locked or captured.

    Why: clients decide by annotations whether to ask the user, and every model reads the instructions.
    Fix: read the difference, then accept it: run `mcproof lock` again, or write a new capture for `--against`.

    Other parts are titles, resources, prompts, the name of the server, and tools that were removed. The version of the
    server is not one. The severity is high, and the verdict `block`, if a rule about poisoned texts newly reports a
    changed text.
    OWASP MCP03 and MCP04.
    """
    yield from _problems(drift, "other", "removed-tool")


def _problems(drift: CatalogDrift, *kinds: DriftKind) -> Iterator[Problem]:
    for difference in drift.of_kind(*kinds):
        item = difference.item
        is_old = difference.current_hash is None and not difference.part
        subject = f"{item.kind} `{item.label}` " if is_old else ""
        detail = f": {difference.detail}" if difference.detail else ""
        fires = f"; now reported by {', '.join(difference.fires)}" if difference.fires else ""
        yield Problem(
            f"{subject}{difference.summary} since {drift.reference}{detail}{fires}",
            at=difference.pointer if not is_old else "",
            evidence=difference.evidence,
            item=item if not is_old and item.kind != "server" else None,  # what is gone has no place of its own
            severity="high" if difference.fires else None,
        )


@_last_scan_rule("no_new_tools_since_last_scan", name="new-tools")
def no_new_tools_since_last_scan(drift: CatalogDrift) -> Iterator[Problem]:
    """The server has tools that it did not have at the last scan.

    Why: users approved the tools that they saw.
    Fix: review the new tools, then accept them: run `mcproof lock` again, or write a new capture for `--against`.

    The last scan is the lock (`--locked`) or an earlier capture (`--against`).
    """
    names = [difference.item.label for difference in drift.of_kind("new-tool")]
    if names:
        evidence = {"newTools": [{"toolName": name} for name in names]}
        yield Problem(f"new tools since {drift.reference}: {_few(names)}", evidence=evidence)


@_last_scan_rule("tool_descriptions_unchanged_since_last_scan", name="changed-descriptions")
def tool_descriptions_unchanged_since_last_scan(drift: CatalogDrift) -> Iterator[Problem]:
    """The descriptions of tools differ from those of the last scan.

    Why: descriptions are instructions to the model, and can change after users approved them.
    Fix: read the differences, then accept them: run `mcproof lock` again, or write a new capture for `--against`.

    The last scan is the lock (`--locked`) or an earlier capture (`--against`).
    """
    names = [difference.item.label for difference in drift.of_kind("description")]
    if names:
        evidence = {"changedDescriptions": [{"toolName": name} for name in names]}
        yield Problem(f"descriptions changed since {drift.reference}: {_few(names)}", evidence=evidence)


@_last_scan_rule("tool_surface_unchanged_since_last_scan", name="changed-surface", chosen=("severity", "weight"))
def tool_surface_unchanged_since_last_scan(drift: CatalogDrift) -> Iterator[Problem]:
    """The hash of the surface differs from that of the last scan.

    Why: whatever was reviewed at the last scan is not what the server offers now.
    Fix: read the differences, then accept them: run `mcproof lock` again, or write a new capture for `--against`.

    The hash is of all tools with their schemas and annotations, the other items, the name of the server and its
    instructions. The last scan is the lock (`--locked`) or an earlier capture (`--against`).
    """
    if drift.differences:
        evidence = {"changed": True, "currentHash": drift.current_hash, "priorHash": drift.prior_hash}
        yield Problem(f"the surface changed since {drift.reference}: {drift.summary}", evidence=evidence)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"
