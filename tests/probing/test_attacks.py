"""Hostile servers and files: hidden crashes, false blame, misleading names, injected output."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from base64 import b64encode, urlsafe_b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import pytest

from cli.running import environment
from client.running import processes
from mcproof.client.peer import RpcResponse
from mcproof.client.redaction import hiding
from mcproof.client.session import Response
from mcproof.core.catalog.model import Tool
from mcproof.core.errors import InputError
from mcproof.probing.fuzz.tool import shrink
from mcproof.probing.permission import permission
from mcproof.probing.probes.failures import StoredFailure, store
from servers import spiteful

from .running import PATIENCE, mcproof, refused, small_server, tool, tried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.client.session import Session

pytestmark = pytest.mark.usefixtures("here")

PATIENT = ("--max-call-ms", "20000")


def server(habit: str) -> list[str]:
    """The end of a command line that starts a server with this habit."""
    return ["--", sys.executable, "-I", "-S", spiteful.__file__, habit, "started"]


def crashes(document: Any) -> list[tuple[str | None, str]]:
    """The tools that are said to crash, and what is said."""
    return [(each["tool"], each["message"]) for each in document["findings"] if each["rule"] == "WIR-017"]


# --- who is to blame ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["probe", "prove", "fuzz"])
def test_a_crash_of_a_server_that_never_starts_again_is_a_crash_all_the_same(name: str) -> None:
    ((blamed, message),) = crashes(tried(name, *PATIENT, *server("dies-once"), code=1))
    assert blamed is None
    assert "exited with code 6" in message
    assert "cannot be restarted" in message


@pytest.mark.slow
def test_a_tool_is_not_blamed_for_what_the_tool_before_it_has_done() -> None:
    document = tried("fuzz", "--processes", "1", "--cases", "1", *PATIENT, *server("dies-later"), code=1)
    ((blamed, message),) = crashes(document)
    assert blamed is None
    assert "exited with code 9" in message
    assert document["failures"] == []


def test_a_case_that_turns_out_to_crash_is_counted_once() -> None:
    document = tried("fuzz", "--processes", "1", "--cases", "40", *PATIENT, *server("dies-after-accepting"), code=1)
    outcomes = document["outcomes"]
    assert outcomes["crash"] > 0
    assert outcomes["clean"] == valid_cases(40)
    assert sum(outcomes.values()) == 40


def valid_cases(number: int) -> int:
    """How many of the first cases of the schema are valid."""
    from itertools import islice

    from mcproof.probing.fuzz.tool import cases_of

    return sum(case.is_valid for case in islice(cases_of(spiteful.SCHEMA, 0, "get_first"), number))


def test_a_crash_is_told_however_much_else_was_wrong_before_it() -> None:
    document = tried("fuzz", "--processes", "1", "--cases", "400", *PATIENT, *server("dies-of-late-types"), code=1)
    assert [blamed for blamed, _ in crashes(document)] == ["get_first"]


# --- limits -------------------------------------------------------------------------------------------------------


class Unanswering(BaseHTTPRequestHandler):
    """An endpoint that answers requests, and leaves whoever sends anything else waiting."""

    protocol_version = "HTTP/1.1"
    end = threading.Event()

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""

    def do_POST(self) -> None:
        try:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        except ValueError:
            self.end.wait(60)
            return
        method = message.get("method")
        answer: dict[str, Any] = {"result": {}}
        if method == "initialize":
            info = {"name": "unanswering", "version": "1.0"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            answer = {"result": result}
        elif method == "tools/list":
            answer = {"result": {"tools": [tool()]}}
        elif method != "ping":
            answer = {"error": {"code": -32601, "message": "Method not found"}}
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **answer}).encode()
        self.send_response(200 if "id" in message else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def unanswering() -> Iterator[str]:
    """The URL of an endpoint that leaves whoever sends no JSON waiting."""
    endpoint = ThreadingHTTPServer(("127.0.0.1", 0), Unanswering)
    endpoint.daemon_threads = True
    thread = threading.Thread(target=endpoint.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{endpoint.server_port}/mcp"
    Unanswering.end.set()
    endpoint.shutdown()
    thread.join()
    endpoint.server_close()


@pytest.mark.slow
def test_an_endpoint_that_never_answers_what_is_not_json_is_not_waited_for(unanswering: str) -> None:
    document = tried("prove", "--checks", "not_json", "--max-call-ms", "1000", unanswering, code=1)
    assert [each["outcome"] for each in document["probes"] if each["probe"] == "not_json"] == ["hang"]


class Counting:
    """A session that only counts what it is asked."""

    asked = 0

    async def send(self, *_: Any) -> Response:
        self.asked += 1
        return Response("crash", None)

    async def close(self, *, at_once: bool) -> None:
        """Nothing is there to be left."""


@pytest.mark.parametrize("minutes", [0, 1])
def test_no_failure_is_made_smaller_when_the_time_is_up(minutes: int) -> None:
    session = Counting()
    arguments = {"a": "long enough", "b": [1, 2, 3]}
    smaller = asyncio.run(
        shrink(
            cast("Session", session),
            "read",
            arguments,
            lambda _: True,
            lambda *_: True,
            is_slow=False,
            is_late=lambda: not minutes,
        )
    )
    assert (session.asked > 0, smaller != arguments) == (bool(minutes), bool(minutes))


# --- which tools are called ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["delete2", "delete2_users", "DELETE", "rm1", "v2_create3", "2drop"])
def test_a_number_beside_a_word_does_not_hide_it(name: str) -> None:
    assert not permission(Tool({"name": name}, "/tools/0"), allow_writes=False).is_granted


@pytest.mark.parametrize("name", ["get_base64", "get_sha256", "search_v2", "list_s3_objects"])
def test_a_number_beside_another_word_changes_nothing(name: str) -> None:
    assert permission(Tool({"name": name}, "/tools/0"), allow_writes=False).is_granted


@pytest.mark.parametrize("name", ["probe", "prove", "fuzz"])
@pytest.mark.parametrize("first", [0, 1])
def test_of_two_tools_with_one_name_neither_is_called_where_one_may_not_be(
    name: str, first: int, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = [tool("read"), {**tool("read"), "annotations": {"destructiveHint": True}}]
    tools = [pair[first], pair[1 - first]]
    calls = here / "calls"
    monkeypatch.setenv("CALLED", str(calls))
    mcproof(name, "--env", "CALLED", *small_server(tools))
    called = [json.loads(line)[0] for line in calls.read_text().splitlines()] if calls.exists() else []
    assert "read" not in called
    mcproof(name, "--env", "CALLED", "--allow-writes", *small_server(tools))
    assert "read" in [json.loads(line)[0] for line in calls.read_text().splitlines()]


# --- failures that a stranger has stored --------------------------------------------------------------------------

FAILURE = StoredFailure(
    "0123456789ab", {"command": ["true"], "env": []}, None, "fuzz", "tools/call", {}, "crash", "nothing", False, "", 1
)
STORED = ".mcproof/failures/0123456789ab.json"


def test_a_stored_failure_goes_by_the_name_of_its_file() -> None:
    store([FAILURE])
    with open(STORED, encoding="utf-8") as file:
        record = json.load(file)
    with open(STORED, "w", encoding="utf-8") as file:
        json.dump({**record, "id": "\x1b[31m\n::error::mine"}, file)
    assert mcproof("replay").output == "0123456789ab  crash  nothing\n"


def test_a_stored_failure_has_an_outcome_that_there_is() -> None:
    store([FAILURE._replace(outcome="\x1b[31m\n::error::mine")])
    assert mcproof("replay").output == ""
    assert "unknown `outcome`" in refused("replay", FAILURE.id)


@pytest.mark.parametrize("link", [".mcproof", ".mcproof/failures", ".mcproof/.gitignore", STORED])
def test_nothing_is_stored_through_a_link(link: str, here: Path) -> None:
    elsewhere = here / "elsewhere"
    (here / link).parent.mkdir(parents=True, exist_ok=True)
    if link.endswith((".mcproof", "failures")):
        elsewhere.mkdir()
    else:
        elsewhere.write_text("mine")
    (here / link).symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a symbolic link"):
        store([FAILURE])
    assert list(elsewhere.iterdir()) == [] if elsewhere.is_dir() else elsewhere.read_text() == "mine"


def test_a_pipe_among_the_stored_failures_is_not_waited_for() -> None:
    store([FAILURE])
    os.unlink(STORED)
    os.mkfifo(STORED)
    assert mcproof("replay").output == ""
    assert "not a regular file" in refused("replay", FAILURE.id)


@pytest.mark.parametrize("name", ["\ud800", "\x00", 5, ["HOME"]])
def test_a_variable_that_is_none_is_refused(name: Any) -> None:
    store([FAILURE._replace(target={"command": ["true"], "env": [name]})])
    assert "an invalid variable name" in refused("replay", FAILURE.id)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_replay_that_is_ended_leaves_no_server_behind(number: signal.Signals, here: Path) -> None:
    os.mkfifo(here / "started")
    store([FAILURE._replace(max_call_ms=60_000, params={"name": "get_first", "arguments": {"q": "a"}})])
    process = subprocess.Popen(
        [sys.executable, "-m", "mcproof", "replay", FAILURE.id, *server("sleeps")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    number_of_server = (here / "started").read_text()  # once it is called
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert not [line for line in processes(spiteful.__file__) if line.startswith(f"{number_of_server}:")]


# --- secrets ------------------------------------------------------------------------------------------------------

SECRET = "tok/9f8e+7d6c ö5b4a"  # noqa: S105


@pytest.mark.parametrize(
    "shown",
    [
        SECRET,
        json.dumps(SECRET),
        quote(SECRET, safe=""),
        b64encode(SECRET.encode()).decode(),
        urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    ],
)
def test_a_secret_is_hidden_however_a_server_writes_it(shown: str) -> None:
    assert shown not in hiding([SECRET])(f"Authorization: {shown} was refused")
    assert hiding([SECRET])("nothing of it is here") == "nothing of it is here"


# --- the same again -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_report_does_not_tell_how_many_requests_came_before() -> None:
    text = {"type": "string", "maxLength": 5}
    tools = [tool(f"read_{letter}", q=text) for letter in "abcdef"]
    documents = [tried("fuzz", "--cases", "30", "--processes", number, *small_server(tools)) for number in ("1", "3")]
    assert documents[0]["findings"] != []
    assert documents[0] == documents[1]


@pytest.mark.parametrize("padding", [0, 5_000])
def test_answers_that_differ_in_their_numbers_alone_are_shown_alike(padding: int) -> None:
    def words(number: int) -> str:
        envelope = {"id": number, "result": {"id": 7, "text": "x" * padding}}
        return Response("accepted", RpcResponse(json.dumps(envelope).encode(), envelope)).text

    assert words(9) == words(12_345)
    assert '"id": 7' in words(9)
