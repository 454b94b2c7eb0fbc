"""The suites in `examples/real-servers` and a screen of the README, run on the real servers.

Skipped where those cannot be installed.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "real-servers"
TIME = "mcp-server-time==2026.10.19"
EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
"""The versions that the suites and the README are about; a new one may well answer otherwise."""


def install(*steps: list[str]) -> None:
    """Run what installs a server, or skip the test; CI, where everything is there, does not skip."""
    for words in steps:
        program = shutil.which(words[0])
        done = (
            subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=300, check=False)
            if program is not None
            else None
        )
        if done is None or done.returncode:
            why = f"no {words[0]}" if done is None else f"{words[0]} failed: {done.stderr[-300:]}"
            if os.environ.get("MCPROOF_REQUIRE_SERVERS"):
                pytest.fail(f"the server cannot be installed, and MCPROOF_REQUIRE_SERVERS is set: {why}")
            pytest.skip(f"the server cannot be installed: {why}")


def run_suite(name: str, programs: pathlib.Path) -> str:
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    command = [sys.executable, "-m", "mcproof", "run", name]
    environment = {**os.environ, "PATH": path, "PYTHONUTF8": "1"}
    done = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_suite_of_the_time_server_passes_as_its_page_shows(tmp_path: pathlib.Path) -> None:
    python = str(tmp_path / "bin" / "python")
    install(
        [sys.executable, "-m", "venv", str(tmp_path)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", TIME],
    )
    printed = run_suite("time.yaml", tmp_path / "bin")
    assert f"$ mcproof run time.yaml\n{printed}```" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_suite_of_the_everything_server_passes(tmp_path: pathlib.Path) -> None:
    install(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(tmp_path), EVERYTHING])
    assert "\n14 tests: 14 passed\n" in run_suite("everything.yaml", tmp_path / "node_modules" / ".bin")
