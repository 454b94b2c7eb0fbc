"""Hostile source costs a bounded amount of work and never ends a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.source.python.flows import engine as flow_engine
from mcproof.source.python.pipeline import discover, flows_of

from .flow_sources import IMPORTS, flows_in, kinds_in, tool

if TYPE_CHECKING:
    from pathlib import Path

BOMBS = {
    "recursion": ("loop(x)", "def loop(value):\n    return loop(value + 'a')\n"),
    "mutual recursion": ("one(x)", "def one(v):\n    return two(v)\ndef two(v):\n    return one(v)\n"),
    "calls that double": (
        "f0(x)",
        "".join(f"def f{n}(v):\n    f{n + 1}(v)\n    f{n + 1}(v + v)\n" for n in range(40)) + "def f40(v):\n    pass\n",
    ),
    "branches that double": ("\n".join(f"if x == '{n}':\n    x = x + '{n}'" for n in range(200)), ""),
    "a long sum": ("y = " + " + ".join(["x"] * 3_000), ""),
    "nested lists": ("y = x\n" + "y = [y, y]\n" * 100, ""),
    "nested dictionaries": ("y = {'a': x}\n" + "y = {'a': y, 'b': y}\n" * 100, ""),
    "a growing list": ("y = []\n" + "y = y + [x] + y\n" * 40, ""),
    "growing text": ("y = x\n" + "y = f'{y}{y}'\n" * 60, ""),
    "shapes of calls": (
        "\n".join(f"f(x, 'a{n}')" for n in range(400)),
        "def f(a, b):\n    return g(b, a)\ndef g(a, b):\n    return b\n",
    ),
    "large lists of large lists": (
        "y = [x] * 1\n" + "y = [" + "x, " * 64 + "]\nz = [" + "y, " * 64 + "]\nw = [" + "z, " * 64 + "]\nf(w)",
        "def f(v):\n    return v\n",
    ),
    "lists in branches": ("y = [x]\n" + "if x:\n    y = [y, y]\nelse:\n    y = [y, 'a']\n" * 60, ""),
    "deep nesting": ("y = " + "(" * 80 + "x" + ")" * 80, ""),
    "a class of itself": (
        "Node(x).next.next.next",
        "class Node:\n    def __init__(self, v):\n        self.next = Node(v)\n",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_bounded(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, before = BOMBS[name]
    counted = []
    count = flow_engine.FlowEngine.count

    def counting(engine: flow_engine.FlowEngine, work: int = 1) -> None:
        counted.append(1)
        count(engine, work)

    monkeypatch.setattr(flow_engine.FlowEngine, "count", counting)
    flows_in(tmp_path, server=tool(body, before=before))
    assert len(counted) <= flow_engine.STEPS_OF_ONE_TOOL + 1


def test_a_tool_that_is_too_large_does_not_hide_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_engine, "STEPS_OF_ONE_TOOL", 400)
    lines = "".join(f"    y = x.strip() + str({number})\n" for number in range(100))
    large = f"@mcp.tool()\ndef large(x: str) -> str:\n{lines}"
    source = f"{IMPORTS}\n{large}\n@mcp.tool()\ndef small(x: str) -> str:\n    eval(x)\n"
    (tmp_path / "server.py").write_text(source, encoding="utf-8")
    found = flows_of(discover(str(tmp_path)))
    assert found.incomplete == ("large",)
    assert "TRU-302" not in found.unobserved
    assert found.unobserved["TRU-301"] == "the source of `large` is too large to follow"
    assert [flow.tools for flow in found.flows] == [("small",)]


def test_source_that_is_not_python_gives_no_flows(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (:", encoding="utf-8")
    assert kinds_in(tmp_path, tool("eval(x)")) == ["eval"]


def test_nothing_is_imported_or_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    body = f"open({str(marker)!r}, 'w').write('')\neval(x)"
    assert kinds_in(tmp_path, tool(body, before=f"open({str(marker)!r}, 'w')\n")) == ["eval"]
    assert not marker.exists()
