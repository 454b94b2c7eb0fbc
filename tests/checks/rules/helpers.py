"""How the tests of the rules ask: a document or a schema in, findings out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.checks.engine import check
from mcproof.checks.rule import all_rules, find_rule
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog


def catalog_of(document: Any) -> Catalog:
    """A document as if it had been read from a file."""
    return read_snapshot(json.dumps(document).encode(), "case.json")


def findings_in(document: Any, *rules: str) -> list[Finding]:
    """What these rules, or else all, find in a document."""
    return check(catalog_of(document), [find_rule(rule) for rule in rules] or all_rules())


def findings_on_tool(tool: Any, *rules: str) -> list[Finding]:
    return findings_in({"tools": [tool]}, *rules)


def findings_on_schema(schema: Any, *rules: str) -> list[Finding]:
    """What these rules, or else all, find in a tool with this input schema."""
    return findings_on_tool({"name": "search", "description": "Find tickets by text.", "inputSchema": schema}, *rules)


def pointers(findings: list[Finding]) -> list[str]:
    return [finding.pointer for finding in findings]
