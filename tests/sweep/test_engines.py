"""The contract of engines: each gives the same rows, timings aside, whatever happens to its workers."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from .sweeping import GOOD, capture, killer, lasting, outcomes, sleeper, sweep, write_list

from cli.running import write  # isort: skip

if TYPE_CHECKING:
    from pathlib import Path

ENGINES = [
    pytest.param("local", id="local"),
    pytest.param("ray", id="ray"),
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "ray" and find_spec("ray") is None:
        if os.environ.get("MCPROOF_REQUIRE_RAY"):
            pytest.fail("Ray is not installed, and MCPROOF_REQUIRE_RAY is set")
        pytest.skip("Ray is not installed: `make .venv/.ci-ready`")
    return name


def _targets(folder: Path) -> dict[str, str]:
    """Targets of every kind, each with its outcome."""
    found = {}
    for number in range(40):
        found[write(folder / f"{number}.json", capture(number))] = "checked"
    (folder / "torn.json").write_text('{"tools": [')
    (folder / "other.json").write_text('{"a": 1}')
    return {
        **found,
        str(folder / "torn.json"): "unreadable",
        str(folder / "other.json"): "unreadable",
        str(folder / "gone.json"): "unreadable",
        GOOD: "checked",
        killer(folder / "once", once=True): "checked",
        killer(folder / "always", once=False): "crashed",
        "no-such-program --flag": "unreachable",
        sleeper(): "timed-out",
        "http://127.0.0.1:9/mcp": "unreachable",
        "https://host/${UNKNOWN}": "left-out",
    }


@pytest.mark.slow
def test_every_engine_gives_the_same_rows(engine: str, tmp_path: Path) -> None:
    """Two workers, one of which is killed on the way, and another one twice."""
    folder = tmp_path / "targets"
    folder.mkdir()
    expected = _targets(folder)
    source = write_list(tmp_path / "targets.txt", expected)
    words = ("--allow-commands", "--retries", "0", "--timeout", "8", "--jobs", "2")
    done = sweep(source, *words, "--engine", engine, "--results", "results.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done
    assert outcomes(tmp_path / "results.jsonl") == expected
    reference = tmp_path / "reference.jsonl"
    if engine != "local":
        (folder / "once").unlink()
        (folder / "always").unlink()
        assert sweep(source, *words, "--results", reference.name, cwd=tmp_path).returncode == 0
        assert lasting(tmp_path / "results.jsonl") == lasting(reference)
