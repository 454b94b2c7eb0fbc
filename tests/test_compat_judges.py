"""How `scripts/compat_judges.py` compares the client profiles with the verdicts of clients' own code."""

from __future__ import annotations

import importlib
import json
import pathlib
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from types import ModuleType

    from mcproof.core.catalog.model import Catalog

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOOD = {"name": "good", "inputSchema": {"type": "object", "properties": {}}}
EMPTY_ENUM = {"name": "bad", "inputSchema": {"type": "object", "properties": {"kind": {"type": "string", "enum": []}}}}
NO_TYPE = {"name": "bad", "inputSchema": {"properties": {}}}


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("compat_judges")


def catalog(*tools: dict[str, Any]) -> Catalog:
    return read_snapshot(json.dumps({"tools": tools}).encode(), "server")


def compared(judges: ModuleType, name: str, tools: tuple[dict[str, Any], ...], verdict: dict[str, Any]) -> Any:
    judge = next(each for each in judges.JUDGES if each.name == name)
    return judges.compare(judge, "1.0", [catalog(*tools)], [verdict])


def test_a_tool_that_both_refuse_is_no_difference(judges: ModuleType) -> None:
    found = compared(judges, "VS Code JSON language service", (GOOD, EMPTY_ENUM), {"tools": {"1": "too few items"}})
    assert (found.catalogs, found.tools, found.agreed, found.differences) == (1, 2, 1, [])


def test_a_tool_that_only_one_side_refuses_is_a_difference(judges: ModuleType) -> None:
    found = compared(judges, "VS Code JSON language service", (GOOD, EMPTY_ENUM), {"tools": {"0": "strange"}})
    assert [(each.by, each.place, each.reason) for each in found.differences] == [
        ("judge", "server tool 0", "strange"),
        ("mcproof", "server tool 1", "enum-shape"),
    ]
    assert [judges.explained(each) for each in found.differences] == [None, None]


def test_a_tool_that_the_judge_cannot_see_is_left_out(judges: ModuleType) -> None:
    found = compared(judges, "VS Code JSON language service", (EMPTY_ENUM,), {"tools": {}, "unjudged": [0]})
    assert (found.agreed, found.differences) == (0, [])


def test_one_bad_tool_refuses_the_list_once(judges: ModuleType) -> None:
    tools = (GOOD, NO_TYPE, NO_TYPE)
    assert compared(judges, "TypeScript SDK, list", tools, {"list": "no type", "tools": {}}).agreed == 1
    missed = compared(judges, "TypeScript SDK, list", tools, {"tools": {}})
    assert [(each.by, each.place) for each in missed.differences] == [("mcproof", "server")]


def test_a_known_difference_is_explained_in_the_table(judges: ModuleType) -> None:
    verdict = {"list": "Invalid input: expected object, received null", "tools": {}}
    found = compared(judges, "TypeScript SDK, list", (GOOD,), verdict)
    lines = list(judges.table({"Some": [found]}))
    assert "| TypeScript SDK, list | 1.0 | 1 | 1 | lists | 0 | 1 | 0 |" in lines
    assert "`CAT-001` reports it" in lines[-1]


def test_every_constraint_of_a_judge_exists(judges: ModuleType) -> None:
    known = {(profile.id, each.id) for profile in judges.known_profiles().values() for each in profile.constraints}
    assert {(each.profile, one) for each in judges.JUDGES for one in each.constraints} <= known


def test_the_page_has_results_of_every_judge(judges: ModuleType) -> None:
    page = judges.PAGE.read_text(encoding="utf-8")
    results = page[page.index(judges.START) : page.index(judges.END)]
    for judge in judges.JUDGES:
        assert results.count(f"| {judge.name} | ") >= 2
    assert "not explained" not in results
