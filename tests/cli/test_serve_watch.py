"""`mcproof serve --config`: mistakes before anything starts, and a service from its start to a clean stop."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from typing import TYPE_CHECKING

import httpx2
import pytest

from limits import HANG
from mcproof.client.http.policy import NetworkPolicy
from mcproof.services.web.watcher import WatchPlan, watch_plan

from .running import CLEAN_TOOL, COMMAND, document_of, environment, fails, run, write

if TYPE_CHECKING:
    from pathlib import Path

WEBHOOK = "webhook = {url = 'https://203.0.113.1/x', secret = '${HOOK_SECRET}'}\n"
WATCH = "[store]\ndatabase = 'store.sqlite'\n\n[[watch]]\nname = 'books'\nevery = '1h'\ntarget = "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("['python', 'x']", "watch.toml:4: `books`: the target is a command, which needs --allow-commands"),
        ("{url = 'https://x.example/${NOT_SET}'}", "needs the environment variable NOT_SET, which is not set"),
        (f"'x.json'\n{WEBHOOK}", "watch.toml:4: `books`: the environment variable HOOK_SECRET is not set"),
        (
            f"'x.json'\n{WEBHOOK.replace('HOOK_SECRET', 'HOME').replace('203.0.113.1', '127.0.0.1')}",
            "watch.toml:4: `books`: the webhook is refused: `127.0.0.1` is a loopback address",
        ),
        ("'x.json'\nevry = '1h'", "watch.toml:8:1: unknown key `evry` (did you mean `every`?)"),
    ],
)
def test_a_mistake_is_reported_before_anything_starts(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "watch.toml").write_text(WATCH + text)
    done = run("serve", "--config", "watch.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_commands_are_allowed_for_a_named_file_only() -> None:
    assert "--allow-commands is for the [[watch]] entries of --config FILE" in fails("serve", "--allow-commands")


def test_the_example_has_a_store_of_its_own(tmp_path: Path) -> None:
    for option in ("--database", "--config"):
        assert "leave out --database and --config" in fails("serve", "--demo", option, str(tmp_path / "x"))


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("serve", "--port", port, "--database", str(tmp_path / "store.sqlite"))
    assert done.returncode == 2
    reason = "address already in use; --host and --port name another place"
    assert done.stderr == f"mcproof: cannot listen at 127.0.0.1:{port}: {reason}\n"
    assert "unknown host; --host" in fails("serve", "--host", "no.such.invalid", "--database", str(tmp_path / "x"))


@pytest.mark.slow
def test_a_service_checks_records_and_stops_cleanly(tmp_path: Path) -> None:
    write(tmp_path / "books.json", {"tools": [CLEAN_TOOL]})
    (tmp_path / "watch.toml").write_text(f"{WATCH}'books.json'")
    words = [*COMMAND, "serve", "--config", "watch.toml", "--port", "0", "--log-format", "json"]
    with subprocess.Popen(words, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        started = json.loads(process.stderr.readline())
        checked = json.loads(process.stderr.readline())
        url = started["message"].rpartition(" ")[2]
        metrics = httpx2.get(f"{url}/metrics", timeout=HANG).text
        process.send_signal(signal.SIGTERM)
        ended = [json.loads(line) for line in process.stderr]
        assert process.wait(HANG) == 0
    assert (started["event"], checked["event"]) == ("service.started", "watch.checked")
    assert (checked["server"], checked["grade"], checked["is_reachable"]) == ("books", "A", True)
    assert 'mcproof_watch_checks_total{outcome="checked"} 1' in metrics
    assert [each["event"] for each in ended] == ["request", "service.stopped"]
    history = document_of(
        run("history", "books", "--database", str(tmp_path / "store.sqlite"), "--format", "json"), "history"
    )
    assert history["total"] == 1


def test_nothing_is_watched_unless_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mcproof.toml").write_text(f"{WATCH}'books.json'")
    monkeypatch.chdir(tmp_path)
    assert watch_plan(None, NetworkPolicy("public"), allows_commands=True) == WatchPlan(())
    assert len(watch_plan("mcproof.toml", NetworkPolicy("public"), allows_commands=True).entries) == 1
