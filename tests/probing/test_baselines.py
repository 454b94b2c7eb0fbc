"""Baselines of probe findings: accepted, kept by narrower runs, removed by updates."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .running import mcproof, small_server, tool

BASELINE = ("--baseline", "accepted.json")
TEXT = {"type": "string"}
LENIENT = small_server([tool("read", a=TEXT), tool("list", b=TEXT)])

pytestmark = pytest.mark.usefixtures("here", "hurried", "impatient")


def accepted() -> list[tuple[str, str]]:
    """The rules and subjects that the baseline has of what was tried."""
    entries = json.loads(Path("accepted.json").read_text(encoding="utf-8"))["entries"]
    return sorted((entry["rule"], entry["subject"]) for entry in entries if entry["rule"].startswith("WIR-"))


def test_what_was_tried_is_accepted() -> None:
    assert mcproof("prove", *LENIENT).code == 1
    mcproof("prove", *BASELINE, "--update-baseline", *LENIENT)
    assert ("WIR-013", "tool:read") in accepted()
    assert mcproof("prove", *BASELINE, *LENIENT).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("prove", "--tool", "list"),
        ("prove", "--skip", "read"),
        ("prove", "--checks", "unknown_tool"),
        ("probe", "--checks", "missing_required"),
        ("fuzz", "--cases", "1"),
        ("lint", "--ruleset", "wire"),
    ],
)
def test_a_narrower_run_calls_nothing_stale(words: tuple[str, ...]) -> None:
    mcproof("prove", *BASELINE, "--update-baseline", *LENIENT)
    before = accepted()
    done = mcproof(*words, *BASELINE, *LENIENT)
    assert "stale" not in done.errors
    assert accepted() == before


def test_an_update_keeps_what_it_did_not_try() -> None:
    mcproof("prove", *BASELINE, "--update-baseline", *LENIENT)
    before = accepted()
    mcproof("prove", *BASELINE, "--update-baseline", "--tool", "list", *LENIENT)
    assert accepted() == before
    mcproof("lint", *BASELINE, "--update-baseline", *LENIENT)
    assert accepted() == before


def test_an_update_takes_out_what_it_tried_and_did_not_find() -> None:
    server = Path("server.py")
    words = ["--", sys.executable, "-I", "-S", "server.py"]
    source = f"import runpy, sys\nsys.argv = {LENIENT[4:]!r}"
    server.write_text(f"{source}\nrunpy.run_path({LENIENT[4]!r}, run_name='__main__')\n", encoding="utf-8")
    mcproof("prove", *BASELINE, "--update-baseline", *words)
    assert set(accepted()) == {("WIR-013", "tool:list"), ("WIR-013", "tool:read")}
    mended = f"{source} + ['refuses-everything']"
    server.write_text(f"{mended}\nrunpy.run_path({LENIENT[4]!r}, run_name='__main__')\n", encoding="utf-8")
    assert mcproof("prove", *BASELINE, *words).code == 0
    mcproof("prove", *BASELINE, "--update-baseline", "--tool", "list", *words)
    assert set(accepted()) == {("WIR-013", "tool:read")}
