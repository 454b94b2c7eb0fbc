"""Hard cases: partial catalogs, stray responses, encoded secrets, daemons."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from limits import hang_limit
from mcproof.client.capture import Capture, Captures, capture_all
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint, Endpoint, UrlEndpoint
from mcproof.client.errors import ConnectError
from mcproof.client.redaction import hiding, redacted_command

SERVER = """
import json, os, subprocess, sys
TOOLS = [{"name": "echo", "description": os.environ.get("TEXT", "Say it again."), "inputSchema": {"type": "object"}}]
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    number, method = request.get("id"), request.get("method")
    if number is None:
        continue
    if method == "initialize":
        capabilities = {"tools": {}}
        BEFORE_INITIALIZE
        info = {"name": "hard", "version": "1"}
        send(id=number, result={"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        BEFORE_LIST
        send(id=number, result={"tools": TOOLS})
    else:
        send(id=number, error={"code": -32601, "message": "unknown"})
"""


def server(
    tmp_path: Path, before_initialize: str = "pass", before_list: str = "pass", **environment: str
) -> CommandEndpoint:
    """A good server that does something else before it answers."""
    file = tmp_path / "server.py"
    text = SERVER.replace("BEFORE_INITIALIZE", before_initialize).replace("BEFORE_LIST", before_list)
    file.write_text(text, encoding="utf-8")
    return CommandEndpoint((sys.executable, str(file)), environment)


def asked(*servers: Endpoint) -> Captures:
    return capture_all(servers, ConnectOptions(Limits(start=10, request=5, grace=0.5)), lambda _: None)


def captured(one: Endpoint) -> Capture:
    (result,) = asked(one).results
    assert isinstance(result, Capture), result
    return result


def mcproof(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mcproof", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("fault", ["sys.exit(3)", 'send(id=number, error={"code": 1, "message": "no"}); continue'])
def test_a_part_of_a_catalog_does_not_pass_for_the_whole(tmp_path: Path, fault: str) -> None:
    words = ["--", *server(tmp_path, before_list=fault).words]
    (tmp_path / "old.json").write_text('[{"name": "echo", "inputSchema": {"type": "object"}}]')
    for command in (["capture", "-o", "new.json"], ["grade"], ["diff", "old.json"]):
        done = mcproof(*command, *words, cwd=tmp_path)
        assert done.returncode == 2, done
        assert "not the whole catalog: `tools/list` is not served" in done.stderr
    assert not (tmp_path / "new.json").exists()
    linted = json.loads(mcproof("lint", "--format", "json", *words, cwd=tmp_path).stdout)
    assert [finding["rule"] for finding in linted["findings"]] == ["WIR-005"]


def test_a_server_that_cannot_be_reached_at_all_leaves_the_others_alone(tmp_path: Path) -> None:
    lost, found = asked(UrlEndpoint("http://127.0.0.1:99999/", {}), server(tmp_path)).results
    assert isinstance(lost, ConnectError)
    assert "internal" not in lost.message
    assert isinstance(found, Capture)


STRAY = 'send(id="job-17", error={"code": 1, "message": "a job failed"})'


@pytest.mark.parametrize("early", [True, False], ids=["before the introduction", "before the list"])
def test_a_stray_answer_gives_way_to_the_right_one(tmp_path: Path, early: bool) -> None:
    capture = captured(server(tmp_path, STRAY if early else "pass", "pass" if early else STRAY))
    assert len(json.loads(capture.text)["tools"]) == 1
    assert [each.kind for each in capture.connection.anomalies] == ["unmatched-id"]


@pytest.mark.parametrize("secret", ['ab"cd9XYZ-Key', 'pä"ss\\wörd/x9', "line one of it\nline two of it"])
def test_a_secret_is_hidden_however_it_is_written(secret: str) -> None:
    hide = hiding([secret])
    for written in (secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret)):
        shown = hide(f"it is {written}, as you know")
        assert not any(part in shown for part in ("cd9XYZ", "rd/x9", "line one")), shown


def test_the_parts_of_a_secret_are_hidden_as_well() -> None:
    hide = hiding(["postgres://me:hunter2222@db/x", "session=hunter3333; theme=dark"])
    assert hide("with hunter2222 and hunter3333") == "with *** and ***"


def test_a_setting_is_no_secret_and_stays_in_the_catalog(tmp_path: Path) -> None:
    settings = {"MODE": "production", "AWS_REGION": "us-east-1", "API_TOKEN": "k-12345678"}
    text = "Deploys to production in us-east-1 with k-12345678."
    capture = captured(server(tmp_path, TEXT=text, **settings))
    (tool,) = json.loads(capture.text)["tools"]
    assert tool["description"] == "Deploys to production in us-east-1 with ***."


@pytest.mark.parametrize(
    "words",
    [
        ["--pass", "hunter2"],
        ["--api-key", "-hunter2"],
        ["-H", "Authorization:hunter2"],
        ["Server=x;Password=hunter2"],
        ["--github-pat", "hunter2"],
        ["--passphrase=hunter2"],
        ["--token-value", "hunter2"],
        ["sh", "-c", "export TOKEN=hunter2; FOO=1 API_KEY=hunter2 server"],
    ],
    ids=" ".join,
)
def test_a_secret_among_the_arguments_is_not_shown(words: list[str]) -> None:
    assert "hunter2" not in " ".join(redacted_command(["server", *words]))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system does not tell who inherited what")
def test_a_daemon_that_leaves_its_group_does_not_outlive_the_connection(tmp_path: Path) -> None:
    mark = f"mcproof-daemon-{os.getpid()}"
    sleeper = f"[sys.executable, '-c', 'import time; time.sleep(60)', '{mark}']"
    captured(server(tmp_path, before_list=f"subprocess.Popen({sleeper}, start_new_session=True)"))
    with hang_limit():
        while running(mark):
            time.sleep(0.01)


def running(mark: str) -> list[str]:
    """The processes that have this word in their command line and have not ended."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
            words = Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in words and state != "Z":
            found.append(number)
    return found
