"""What users see of sessions that expire, streams that are resumed, and tools with invalid parameter headers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from servers.streams import BadHeaders, Expiring, Headers, Resumable

from .running import run

if TYPE_CHECKING:
    from pathlib import Path

EXPIRED = "the server has ended a session in use (HTTP 404), so another was started"
FAULT = "invalid `x-mcp-header`: `share` has a header, so its `type` must be string, integer or boolean, not number"


class ShortSessions(Expiring, fault="short-sessions"):
    lifetime = 1


class LessShortSessions(Expiring, fault="less-short-sessions"):
    lifetime = 8


def test_call_reports_a_session_that_has_expired() -> None:
    with ShortSessions() as web:
        done = run("call", web.url, "find_book")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr == f"mcproof: {EXPIRED}\n"


def test_prove_reports_sessions_that_have_expired() -> None:
    with ShortSessions() as web:
        done = run("prove", web.url, "--tool", "find_book", "--no-config", "--format", "json", "--fail-on", "never")
    (notice,) = json.loads(done.stdout)["notices"]
    assert notice["kind"] == "session-expired"
    assert notice["level"] == "note"
    assert notice["message"].startswith("the server has ended ")
    assert notice["file"] == web.url


def test_a_suite_reports_a_session_that_has_expired(tmp_path: Path) -> None:
    tests = "".join(
        f"\n  - {{name: call {number}, server: library, tool: find_book, expect: {{}}}}" for number in range(9)
    )
    suite = tmp_path / "suite.yaml"
    with LessShortSessions() as web:
        suite.write_text(f"servers:\n  library: {{url: {web.url}}}\ntools:{tests}\n", encoding="utf-8")
        done = run("run", str(suite))
    assert done.returncode == 0, done.stdout + done.stderr
    assert EXPIRED.replace("the server", "library") in done.stdout + done.stderr


def test_call_waits_for_a_stream_that_is_resumed() -> None:
    with Resumable() as web:
        done = run("call", web.url, "find_book")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_call_sends_parameter_headers() -> None:
    with Headers() as web:
        done = run("call", web.url, "find_region", "region=us-west1", "limit=3")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert web.requests[-1].headers["mcp-param-region"] == "us-west1"


def test_call_refuses_a_tool_that_clients_must_drop() -> None:
    with BadHeaders() as web:
        done = run("call", web.url, "find_share")
        expected = f"clients must drop the tool `find_share`: {FAULT}; not sent; --unchecked sends it anyway"
        assert (done.returncode, done.stderr) == (2, f"mcproof: {web.url}: {expected}\n")
        assert run("call", web.url, "find_share", "--unchecked").returncode == 0


def test_prove_does_not_call_a_tool_that_clients_must_drop() -> None:
    with BadHeaders() as web:
        done = run("prove", web.url, "--no-config", "--allow-writes", "--fail-on", "never")
    assert f"find_share: clients must drop it: {FAULT}" in " ".join(done.stdout.split())
    assert "mcproof: does not call 1 tool: find_share\n" in done.stderr
    called = {each.message["params"]["name"] for each in web.requests if each.method == "tools/call"}
    assert "find_share" not in called
    assert "find_region" in called


def test_lint_reports_the_tool() -> None:
    with BadHeaders() as web:
        done = run("lint", web.url, "--no-config", "--select", "spec", "--format", "concise")
    assert done.returncode == 1
    assert "SPEC-070" in done.stdout
    assert "`share` has a header, so its `type` must be string, integer or boolean, not number" in done.stdout
