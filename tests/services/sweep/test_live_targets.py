"""Live servers in a sweep: what is sent to them, what is retried, and what never shows."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cli.running import CLEAN_TOOL, run
from mcproof.services.sweep import conductor, engines
from servers import small, web

from .sweeping import GOOD, outcomes, rows, write_list

SMALL = (sys.executable, "-I", "-S", small.__file__)


class Busy(web.Web, fault="busy"):
    """Returns 429 to the first try, and 503 to both requests of the second one."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses = [429, 503, 503]

    async def handle(self, request: web.Request) -> None:
        if self.statuses and request.verb == "POST":
            await self.respond(self.statuses.pop(0), b"busy", "text/plain", Retry_After="0")
        else:
            await super().handle(request)


class Refusing(web.Web, fault="too-many"):
    """Returns 429 to everything."""

    async def handle(self, request: web.Request) -> None:
        await self.respond(429, b"later", "text/plain", Retry_After="7200")


def swept(folder: Path, lines: list[Any], *words: str, **others: Any) -> list[dict[str, Any]]:
    done = run("sweep", write_list(folder / "list.txt", lines), *words, cwd=folder, **others)
    assert done.returncode == 0, done
    return rows(folder / "sweep.jsonl")


def test_a_busy_server_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "BACKOFF", 0.01)
    with Busy() as server:
        (row,) = swept(tmp_path, [server.url])
    assert (row["outcome"], row["attempts"]) == ("checked", 3)


def test_a_server_that_asks_to_wait_for_hours_gets_one_request(tmp_path: Path) -> None:
    with Refusing() as server:
        (row,) = swept(tmp_path, [server.url])
        assert len(server.requests) == 1
    assert (row["outcome"], row["reason"], row["attempts"]) == ("unreachable", "HTTP 429", 1)


def test_a_server_that_is_not_there_is_tried_as_often_as_the_user_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor, "BACKOFF", 0.01)
    (row,) = swept(tmp_path, ["http://127.0.0.1:9/mcp"], "--retries", "1")
    assert (row["reason"], row["attempts"]) == ("connection refused", 2)


@pytest.mark.slow
@pytest.mark.parametrize(("options", "calls"), [((), False), (("--scan",), False), (("--prove",), True)])
def test_tools_are_called_only_to_prove(tmp_path: Path, options: tuple[str, ...], calls: bool) -> None:
    called = tmp_path / "called"
    tool = {**CLEAN_TOOL, "annotations": {"readOnlyHint": True}}
    entry = {"command": [*SMALL, json.dumps([tool])], "env": {"CALLED": str(called)}}
    (row,) = swept(tmp_path, [entry], "--allow-commands", *options)
    assert row["outcome"] == "checked", row
    assert called.exists() == calls
    assert ("proof" in row) == calls
    assert ("trust" in row) == ("--scan" in options)
    if calls:
        assert row["proof"]["probes"] > 0


def test_the_value_of_a_variable_is_nowhere_in_the_results(tmp_path: Path) -> None:
    secret = "hunter2-hunter2"  # noqa: S105
    lines = [{"target": f"{GOOD} --key=${{TOKEN}}", "env": ["TOKEN"]}, {"url": "http://127.0.0.1:9/${TOKEN}/mcp"}]
    words = (
        "--allow-commands",
        "--allow-env",
        "TOKEN",
        "--retries",
        "0",
        "--output",
        "board.html",
        "--scan",
        "--prove",
    )
    found = swept(tmp_path, lines, *words, "--record", "--database", "s.sqlite", env={"TOKEN": secret})
    assert Counter(row["outcome"] for row in found) == {"checked": 1, "unreachable": 1}
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes(), file


def test_a_file_that_never_ends_is_timed_out_and_the_others_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "GRACE", 0.5)
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "good.json").write_text(json.dumps({"tools": [CLEAN_TOOL]}))
    swept(tmp_path, ["pipe.json", "good.json"], "--timeout", "0.5", "--jobs", "1")
    found = {Path(target).name: outcome for target, outcome in outcomes(tmp_path / "sweep.jsonl").items()}
    assert found == {"pipe.json": "timed-out", "good.json": "checked"}


def test_a_worker_that_cannot_start_is_an_error_and_not_an_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    (tmp_path / "good.json").write_text(json.dumps({"tools": [CLEAN_TOOL]}))
    done = run("sweep", "good.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "a worker process cannot start (exit code 3)" in done.stderr
    assert (tmp_path / "sweep.jsonl").read_bytes() == b""


def test_commands_are_shown_as_they_are_typed(tmp_path: Path) -> None:
    (row,) = swept(tmp_path, [GOOD], "--allow-commands")
    assert row["target"] == GOOD
    assert shlex.split(GOOD)[-1] == "good"
