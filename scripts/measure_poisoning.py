"""Measure the rules about sentences on labelled descriptions and on clean snapshots.

    python scripts/measure_poisoning.py --labelled FOLDER … --clean FOLDER …

Labelled descriptions are read from three layouts: JSON lists of objects with `description` and `label` (1 is poisoned),
JSON Lines with the same members and optionally `source`, `style`, `name` and `siblings`, and tasks with
`mcp_server_modifications`. Clean snapshots are files that `mcproof lint` reads. The output has counts only, no text.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.engine import check
from mcproof.checks.rule import all_rules
from mcproof.core.errors import McproofError
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog

RULES = [
    rule
    for rule in all_rules()
    if rule.id in ("TRU-103", "TRU-104", "TRU-105", "TRU-106", "TRU-107", "TRU-108", "TRU-111", "TRU-112")
]


class Row(NamedTuple):
    """A labelled description."""

    source: str
    style: str
    is_poisoned: bool
    name: str
    description: str
    siblings: list[str]


class Share(NamedTuple):
    """How many of how many."""

    hits: int
    total: int

    def __str__(self) -> str:
        return f"{self.hits:5} of {self.total:5}  {100 * self.hits / self.total:6.2f} %"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelled", nargs="*", type=Path, default=[], metavar="FOLDER")
    parser.add_argument("--clean", nargs="*", type=Path, default=[], metavar="FOLDER")
    given = parser.parse_args()
    rows = [row for folder in given.labelled for row in rows_below(folder)]
    for is_poisoned, title in ((True, "poisoned"), (False, "benign")):
        shares: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for row in rows:
            if row.is_poisoned == is_poisoned:
                is_hit = bool(hits(row))
                shares[row.source, "all"].append(is_hit)
                shares[row.source, row.style].append(is_hit)
        for (source, style), found in sorted(shares.items()):
            print(f"{title:9} {source:36} {style:44} {Share(sum(found), len(found))}")
    for folder in given.clean:
        print_clean(folder)


def rows_below(folder: Path) -> Iterator[Row]:
    """The labelled descriptions of all files of a folder."""
    for path in sorted(folder.rglob("*.json*")):
        try:
            text = path.read_text(encoding="utf-8")
            read = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
        except ValueError:
            continue
        if isinstance(read, dict):
            yield from task_rows(read, folder.name)
        elif isinstance(read, list):
            siblings = tools_by_server(read)
            for each in read:
                if isinstance(each, dict) and "description" in each and "label" in each:
                    yield listed_row(each, path.stem, siblings)


def listed_row(each: dict[str, Any], source: str, siblings: dict[str, list[str]]) -> Row:
    """A row from an object with `description` and `label`."""
    return Row(
        each.get("source", source),
        each.get("style", "all"),
        is_poisoned=bool(each["label"]),
        name=each.get("name") or each.get("tool") or "tool_under_test",
        description=each["description"],
        siblings=each.get("siblings", siblings.get(each.get("server", ""), [])),
    )


def tools_by_server(read: list[Any]) -> dict[str, list[str]]:
    """The names of tools by server, where a list has both."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in read:
        if isinstance(each, dict) and "server" in each and "tool" in each:
            found[each["server"]].append(each["tool"])
    return found


def task_rows(task: dict[str, Any], source: str) -> Iterator[Row]:
    """The rows of a task that replaces descriptions."""
    for each in task.get("mcp_server_modifications", ()):
        if isinstance(each, dict) and isinstance(each.get("modification_description"), str):
            name = each.get("tool_name") or "tool_under_test"
            style = str(task.get("attack_category"))
            yield Row(
                source, style, is_poisoned=True, name=name, description=each["modification_description"], siblings=[]
            )


def hits(row: Row) -> set[str]:
    """The ids of the rules that report a description, beside its siblings."""
    others = [{"name": name, "description": ""} for name in row.siblings if name != row.name]
    tools = [{"name": row.name, "description": row.description}, *others]
    return findings(read_snapshot(json.dumps({"tools": tools}).encode(), "row.json")).get(row.name, set())


def findings(catalog: Catalog) -> dict[str, set[str]]:
    """The ids of the rules that report each item."""
    found: dict[str, set[str]] = defaultdict(set)
    for finding in check(catalog, RULES):
        for name in (finding.evidence or {}).get("tools", ()):
            found[name].add(finding.rule.id)
    return found


def print_clean(folder: Path) -> None:
    """Print how many tools and servers of a folder of snapshots are reported, and by which rules."""
    tools = servers = tools_hit = servers_hit = 0
    by_rule: dict[str, int] = defaultdict(int)
    for path in sorted(folder.rglob("*.json")):
        try:
            catalog = read_snapshot(path.read_bytes(), path.name)
        except McproofError:
            continue
        found = findings(catalog)
        servers, tools = servers + 1, tools + len(catalog.tools)
        servers_hit, tools_hit = servers_hit + bool(found), tools_hit + len(found)
        for ids in found.values():
            for rule in ids:
                by_rule[rule] += 1
    if servers:
        print(f"clean     {folder.name}: tools {Share(tools_hit, tools)}, servers {Share(servers_hit, servers)}")
        for rule, count in sorted(by_rule.items()):
            print(f"          {rule}: {count}")


if __name__ == "__main__":
    main()
