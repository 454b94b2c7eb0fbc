"""The order of rules, which follows from the order of imports and definitions: no run may show another one.

Each command runs in a process of its own, in which no other test has imported anything.

To accept a new order: `MCPROOF_UPDATE_GOLDEN=1 pytest tests/checks/rules/test_order.py`, then look at the difference.
"""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

from cli.running import run_process

DEMO = str(files("mcproof.demo") / "weather.json")


def compare(name: str, rules: list[str]) -> None:
    file = Path(__file__).with_name(name)
    text = "".join(f"{rule}\n" for rule in rules)
    if os.environ.get("MCPROOF_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_rules_are_listed_in_the_known_order() -> None:
    listed = json.loads(run_process("rules", "--format", "json").stdout)["rules"]
    compare("order_of_rules.txt", [f"{rule['ruleset']} {rule['id']}" for rule in listed])


def test_a_scan_has_its_rules_in_the_known_order() -> None:
    trust = json.loads(run_process("scan", "--format", "json", DEMO).stdout)["trust"]
    compare("order_of_scan.txt", [rule["rule"] for rule in trust["rules"]])


def test_findings_of_an_item_are_in_the_known_order() -> None:
    found = json.loads(run_process("lint", "--ruleset", "all", "--format", "json", DEMO).stdout)["findings"]
    compare("order_of_findings.txt", [f"{finding['subject']}: {finding['rule']}" for finding in found])
