"""Permissions of 470 tools of public servers without annotations, compared with labels from reading them.

`labelled_tools.tsv` has the name, the label, the parameters that matter and the beginning of the description.
`reads`: calling it changes nothing and costs little; `changes`: it may; `unclear`: not settled by its text.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from mcproof.core.catalog.model import Tool
from mcproof.probing.permission import Permission, permission


def _read() -> dict[str, list[Permission]]:
    labelled: dict[str, list[Permission]] = {"reads": [], "changes": [], "unclear": []}
    with (Path(__file__).parent / "labelled_tools.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            typed = [parameter.partition(":") for parameter in row["parameters"].split()]
            properties = {name: {"type": kind} if kind else {} for name, _, kind in typed}
            fields = {"name": row["name"], "description": row["description"], "inputSchema": {"properties": properties}}
            labelled[row["label"]].append(permission(Tool(fields, "/tools/0")))
    return labelled


LABELLED = _read()


def test_the_list_is_long_enough() -> None:
    assert len(LABELLED["reads"]) > 250
    assert len(LABELLED["changes"]) > 150
    assert sum(map(len, LABELLED.values())) == 470


@pytest.mark.parametrize("tool", LABELLED["changes"], ids=lambda each: each.tool.name)
def test_no_tool_that_changes_something_is_called(tool: Permission) -> None:
    assert not tool.is_granted, tool.reason


def test_most_reading_tools_are_called() -> None:
    called = sum(tool.is_granted for tool in LABELLED["reads"])
    assert called >= 0.93 * len(LABELLED["reads"])
