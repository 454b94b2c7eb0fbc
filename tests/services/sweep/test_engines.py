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

WORDS = ("--allow-commands", "--retries", "0", "--timeout", "8", "--jobs", "2")


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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with targets of every kind, in a list."""
    place: Path = tmp_path_factory.mktemp("engines")
    (place / "targets").mkdir()
    write_list(place / "targets.txt", _targets(place / "targets"))
    return place


def _swept(place: Path, engine: str) -> Path:
    """Run the sweep with two workers, one of which is killed on the way, and another one twice."""
    for mark in ("once", "always"):
        (place / "targets" / mark).unlink(missing_ok=True)
    file = place / f"{engine}.jsonl"
    done = sweep("targets.txt", *WORDS, "--engine", engine, "--results", file.name, cwd=place)
    assert done.returncode == 0, done
    return file


@pytest.fixture(scope="module")
def local(place: Path) -> Path:
    return _swept(place, "local")


@pytest.mark.slow
def test_the_local_engine_gives_every_target_its_outcome(place: Path, local: Path) -> None:
    assert outcomes(local) == _targets(place / "targets")


@pytest.mark.slow
def test_ray_gives_the_same_rows(place: Path, local: Path) -> None:
    if find_spec("ray") is None:
        if os.environ.get("MCPROOF_REQUIRE_RAY"):
            pytest.fail("Ray is not installed, and MCPROOF_REQUIRE_RAY is set")
        pytest.skip("Ray is not installed: `make .venv/.ci-ready`")
    assert lasting(_swept(place, "ray")) == lasting(local)
