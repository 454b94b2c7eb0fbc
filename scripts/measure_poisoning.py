"""Measure the rules about texts on labelled tools and on clean snapshots.

    python scripts/measure_poisoning.py --labelled FILE … --clean FOLDER …

Labelled tools are JSON Lines with `label` (`poisoned` or `benign`), `tool`, and optionally `author`, `strength` and
`language`. Clean snapshots are files that `mcproof lint` reads. The output has counts only, no text: look at texts only
of sets that you do not want to measure with again.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from mcproof.checks.engine import check
from mcproof.checks.rule import rules_of
from mcproof.core.errors import McproofError
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog

ABOUT_OTHER_THINGS = ("TRU-109", "TRU-112", "TRU-120")
"""Commands about other tools of a server, praise, and names: not manipulation by themselves."""
RULES = [
    rule
    for rule in rules_of("trust")
    if (rule.id.startswith("TRU-1") and rule.id not in ABOUT_OTHER_THINGS)
    or rule.id == "no_tool_description_manipulation"
]
LEVELS = ("error", "warning", "note")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelled", nargs="*", type=Path, default=[], metavar="FILE")
    parser.add_argument("--clean", nargs="*", type=Path, default=[], metavar="FOLDER")
    given = parser.parse_args()
    groups: dict[str, list[int]] = defaultdict(list)
    for group, level in (row for path in given.labelled for row in labelled_levels(path)):
        groups[group].append(level)
    for group in sorted(groups):
        print(f"{group:44} {shares(groups[group])}")
    for folder in given.clean:
        print_clean(folder)


def labelled_levels(path: Path) -> Iterator[tuple[str, int]]:
    """For each tool of a file and each group that it belongs to, the worst level with which it is reported."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        catalog = read_snapshot(json.dumps({"tools": [row["tool"]]}).encode(), path.name)
        level = min(levels(catalog).values(), default=len(LEVELS))
        label = row["label"]
        tongue = "in English" if row.get("language", "en") == "en" else "in other languages"
        for group in (label, f"{label} by {row.get('author', path.stem)}", f"{label}, {tongue}"):
            yield group, level
        if row.get("strength"):
            yield f"{label}, {row['strength']}", level


def levels(catalog: Catalog) -> dict[str, int]:
    """The worst level with which each item is reported, as an index of `LEVELS`."""
    worst: dict[str, int] = {}
    for finding in check(catalog, RULES):
        evidence = finding.evidence or {}
        names = evidence.get("tools") or [hit["toolName"] for hit in evidence.get("hits", ()) if "toolName" in hit]
        for name in names or [finding.item.label]:
            worst[name] = min(worst.get(name, len(LEVELS)), LEVELS.index(finding.level))
    return worst


def shares(worst: list[int]) -> str:
    """How many of some tools are reported as errors, as warnings at least, as notes at least."""
    counts = [sum(level <= limit for level in worst) for limit in range(len(LEVELS))]
    text = ", ".join(
        f"{name} {count:4} ({100 * count / len(worst):5.2f} %)" for name, count in zip(LEVELS, counts, strict=True)
    )
    return f"of {len(worst):5}: {text}"


def print_clean(folder: Path) -> None:
    """Print how many tools and servers of a folder of snapshots are reported, and by which rules."""
    tools: list[int] = []
    servers: list[int] = []
    rules: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.json")):
        try:
            catalog = read_snapshot(path.read_bytes(), path.name)
        except McproofError:
            continue
        worst = levels(catalog)
        tools += [worst.get(tool.label, len(LEVELS)) for tool in catalog.tools]
        servers.append(min(worst.values(), default=len(LEVELS)))
        rules.update(f"{finding.rule.id} ({finding.level})" for finding in check(catalog, RULES))
    print(f"tools of {folder.name:35} {shares(tools)}\nservers of {folder.name:33} {shares(servers)}")
    for rule, count in sorted(rules.items()):
        print(f"  {rule}: {count}")


if __name__ == "__main__":
    main()
