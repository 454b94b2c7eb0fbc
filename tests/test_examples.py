"""The examples and the texts of the docs are what mcproof really prints."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from testing.installed import python_path

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "tool-schema-lint"


def mcproof(*arguments: str, cwd: pathlib.Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "mcproof", *arguments]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **variables}, capture_output=True, timeout=60, check=False
    )


def test_the_loose_example_is_tightened_byte_for_byte() -> None:
    done = mcproof("schema-lint", "loose.json", "--fix", cwd=EXAMPLE)
    assert done.stdout == (EXAMPLE / "tightened.json").read_bytes()
    assert done.stderr.decode().strip() in (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert done.returncode == 1, "findings are left for the author"


def test_the_tightened_example_has_nothing_left_to_fix() -> None:
    done = mcproof("schema-lint", "tightened.json", "--fix", cwd=EXAMPLE)
    assert done.stdout == (EXAMPLE / "tightened.json").read_bytes()
    assert b"fixed 0 findings" in done.stderr


def test_make_demo_checks_the_embedded_server_on_one_screen(tmp_path: pathlib.Path) -> None:
    done = mcproof("demo", cwd=tmp_path)
    assert done.returncode == 0
    assert b"presumed read-only" in done.stderr
    assert len(done.stdout.splitlines()) <= 60
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"
    assert b"6 kept, 18 broken, 0 not judged; 4 tools called" in done.stdout
    assert b"grade     C 63 of 100" in done.stdout


PATH = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
"""Where `python` is this one."""


def test_the_suite_of_the_example_server_passes() -> None:
    folder = ROOT / "examples" / "suite"
    command = [sys.executable, "-m", "mcproof", "run"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": PATH}, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert done.stderr.startswith(b"mcproof: mcproof.yaml:6: weather writes non-protocol text to stdout")
    assert done.stderr.count(b"\n") == 1
    assert done.stdout.decode().endswith("5 tests: 5 passed\n✓ passed: all 5 tests passed\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "outcome"),
    [([], b"9 passed"), (["-n", "2"], b"9 passed"), (["-m", "smoke", "--strict-markers"], b"1 passed, 8 deselected")],
    ids=["plain", "xdist", "tag"],
)
def test_the_project_that_is_tested_with_pytest_passes(
    tmp_path: pathlib.Path, words: list[str], outcome: bytes
) -> None:
    folder = ROOT / "examples" / "pytest"
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *words]
    environment = {**os.environ, "PATH": PATH, "PYTHONPATH": python_path(tmp_path / "site")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout.decode()
    assert outcome in done.stdout
