"""Servers over stdio, each with one fault."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client import waiting
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint
from mcproof.client.transports import stdio
from mcproof.core.observations.connection import ProcessEnd
from mcproof.targets.snapshots import read_snapshot
from servers.raw import TOOLS

from .running import PATIENT, captured, command, document, kinds, noted, refused, tool_names

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["find_book", "lend_book"]
ANSWER = '{"jsonrpc": "2.0", "id": 3, "result": {"tools": '


@pytest.mark.parametrize("fault", ["good", "crlf", "blank-lines", "drip", "stderr-flood", "notifies", "never-reads"])
def test_a_good_server_shows_nothing(fault: str) -> None:
    capture = captured(command(fault))
    assert tool_names(capture) == NAMES
    assert capture.connection == capture.connection._replace(
        transport="stdio",
        era="handshake",
        requested="2025-11-25",
        agreed="2025-11-25",
        anomalies=(),
        unserved=(),
        ending=ProcessEnd("by-itself", 0),
    )
    assert 0 < capture.connection.seconds_to_response < PATIENT.start


def test_a_capture_is_a_snapshot() -> None:
    server = command("good")
    capture = captured(server)
    assert document(capture) == {
        "server": {"command": list(server.words)},
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "library", "version": "1.0"},
        },
        "tools": TOOLS,
    }
    assert [tool.raw for tool in read_snapshot(capture.text.encode(), "x").tools] == TOOLS


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("garbage-first", [("not-json", "Library server 1.0"), ("not-json", "listening on stdio")]),
        (
            "garbage-between",
            [("not-json", f"DEBUG {method}") for method in ("server/discover", "initialize", "tools/list")],
        ),
        ("json-logs", [("not-an-object", '{"level":"error","error":"none, really"}')] * 3),
        ("bad-utf8-line", [("not-utf8", "caf\\xe9 \\xff")]),
        ("long-noise", [("not-json", "x" * 200 + "…")]),
        ("wrong-id", [("wrong-id", "4711 for the request 3")]),
        ("text-id", [("wrong-id", '"3" for the request 3')]),
        ("always-text-id", [("wrong-id", f'"{number}" for the request {number}') for number in (1, 2, 3)]),
        ("null-id", [("wrong-id", "null for the request 3")]),
        ("no-id", [("wrong-id", "null for the request 3")]),
        ("duplicate-keys", [("duplicate-key", "name")]),
        ("nan", [("not-a-number", "NaN"), ("not-a-number", "-Infinity")]),
        ("surrogate", []),
    ],
)
def test_a_fault_is_noted_and_the_tools_are_found(fault: str, expected: list[tuple[str, str]]) -> None:
    capture = captured(command(fault))
    assert noted(capture) == expected
    assert tool_names(capture) == NAMES
    assert capture.connection.unserved == ()


@pytest.mark.parametrize(
    ("fault", "kind", "start"),
    [
        ("bad-utf8-answer", "not-utf8", ANSWER),
        ("byte-order-mark", "byte-order-mark", '{"jsonrpc": "2.0", "id": 1, "error": '),
        ("no-jsonrpc", "no-jsonrpc", '{"id": 3, "result": {"tools": '),
        ("batch", "batch", f"[{ANSWER}"),
        ("answers-twice", "unmatched-id", '{"jsonrpc": "2.0", "id": 2, "result": {"protocolVersion"'),
    ],
)
def test_a_faulty_message_is_kept_as_evidence_and_understood(fault: str, kind: str, start: str) -> None:
    capture = captured(command(fault))
    ((noted_kind, detail),) = noted(capture)
    assert (noted_kind, detail[: len(start)]) == (kind, start)
    assert len(detail) <= 201
    assert tool_names(capture) == NAMES


@pytest.mark.parametrize(
    ("fault", "kind", "instead"),
    [
        ("result-and-error", "result-and-error", "error 1: half done"),
        ("neither", "no-result", "neither a result nor an error"),
        ("list-result", "result-not-object", "the result is a list"),
        ("text-code", "malformed-error", "error ENOENT: no books"),
    ],
)
def test_an_answer_that_is_none_serves_nothing(fault: str, kind: str, instead: str) -> None:
    capture = captured(command(fault))
    assert [(each.kind, each.method) for each in capture.connection.anomalies] == [(kind, "tools/list")]
    assert capture.connection.unserved == (("tools/list", instead),)
    assert document(capture)["tools"] == []


def test_numbers_that_json_does_not_have_do_not_reach_the_capture() -> None:
    assert document(captured(command("nan")))["tools"][0]["x"] == [None, sys.float_info.max, None]


def test_a_lone_surrogate_is_written_as_it_came() -> None:
    text = captured(command("surrogate")).text
    assert "ti\\ud800tle" in text
    text.encode()


@pytest.mark.parametrize("depth", [100, 400, 900, 950, 960, 970, 975, 980, 985, 990, 2000, 100_000])
def test_depth_is_listed_or_refused_and_never_more(depth: int) -> None:
    capture = captured(command("deep", str(depth)), PATIENT._replace(request=0.5 if depth >= 900 else 30))
    if capture.connection.unserved:
        assert depth >= 900
        assert kinds(capture) == ["not-json"]
    else:
        assert read_snapshot(capture.text.encode(), "x").tools


def test_a_line_of_twenty_megabytes_is_a_line() -> None:
    capture = captured(command("huge-line"))
    assert len(document(capture)["tools"][0]["description"]) == 20_000_000
    assert capture.connection.anomalies == ()


def test_a_line_beyond_the_limit_is_noted_and_the_next_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LONGEST_LINE", 100_000)
    capture = captured(command("long-noise"))
    assert noted(capture) == [("line-too-long", "more than 100,000 bytes")]
    assert tool_names(capture) == NAMES


def test_a_line_without_end_is_noted_once_and_costs_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LONGEST_LINE", 100_000)
    monkeypatch.setattr(stdio, "GRACE", 0.1)
    monkeypatch.setattr(waiting, "GRACE", 0.1)
    monkeypatch.setattr(waiting, "LONGER_GRACE", 0.1)
    capture = captured(command("endless-line"), PATIENT._replace(request=0.5))
    assert noted(capture) == [("line-too-long", "more than 100,000 bytes")]
    assert capture.connection.unserved == (("tools/list", "no response within 0.5 seconds"),)


def test_a_message_on_several_lines_is_no_message() -> None:
    capture = captured(command("multi-line"), PATIENT._replace(request=0.3))
    assert noted(capture)[:2] == [("not-json", "{"), ("not-json", ' "jsonrpc": "2.0",')]
    assert set(kinds(capture)) <= {"not-json", "not-an-object"}
    assert capture.connection.unserved == (("tools/list", "no response within 0.3 seconds"),)


def test_a_flood_before_the_answer_is_waded_through() -> None:
    capture = captured(command("stdout-flood"))
    assert noted(capture) == [("not-json", "noise")] * 1000
    assert tool_names(capture) == NAMES


def test_a_flood_without_end_is_left_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "GRACE", 0.1)
    monkeypatch.setattr(waiting, "GRACE", 0.1)
    capture = captured(command("endless-flood"), PATIENT._replace(request=0.3))
    assert noted(capture) == [("not-json", "noise")] * 1000
    assert capture.connection.unserved == (("tools/list", "no response within 0.3 seconds"),)
    assert capture.connection.ending == ProcessEnd("by-itself", 0)  # of a second process, which lists nothing


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "exit-at-start",
            "the server exited with code 7; last line of stderr: ModuleNotFoundError: No module named 'library'",
        ),
        ("killed-at-start", "the server was killed by signal SIGKILL"),
        ("grandchild-and-exit", "the server exited with code 4"),
        ("refuses-initialize", "the server refuses `initialize`: error -32000: no licence"),
    ],
)
def test_a_server_that_does_not_come_up_is_refused_at_once(fault: str, message: str) -> None:
    assert refused(command(fault)) == message


def test_a_server_that_hangs_at_its_start_is_given_up_with_its_last_words() -> None:
    assert refused(command("hang-at-start"), PATIENT._replace(start=1.2)) == (
        "no response within 1.2 seconds of the start (--start-timeout); last line of stderr: connecting to the database"
    )


def test_a_server_that_sends_no_message_is_given_up_with_what_it_sends() -> None:
    server = CommandEndpoint((sys.executable, "-I", "-S", "-c", "print('hello', flush=True); input(); input()"), {})
    assert refused(server, PATIENT._replace(start=1.2, grace=0.1)) == (
        "no response within 1.2 seconds of the start (--start-timeout); its output begins: hello, which is not JSON-RPC"
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('hi')", "code 0; its output begins: hi, which is not JSON-RPC"),
        (
            "import sys; sys.exit('usage: server FOLDER\\n\\nTry again')",
            "code 1; stderr begins: usage: server FOLDER; last line of stderr: Try again",
        ),
        (
            "import sys; sys.exit('trace.js:1\\n\\nError: no key\\n    at main\\n\\nNode.js v20.20.2')",
            "code 1; stderr: Error: no key",
        ),
        (
            'import sys; sys.stdout.write(\'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": '
            "\"no vault\\\\nOpen one\"}}'); sys.exit('Try again')",
            "code 1; it reports: no vault Open one",
        ),
    ],
)
def test_a_program_that_is_no_server_is_refused_with_what_it_says(code: str, said: str) -> None:
    message = refused(CommandEndpoint((sys.executable, "-I", "-S", "-c", code), {}))
    assert message == f"the server exited with {said}"


def test_everything_together_has_a_limit() -> None:
    assert refused(command("hang-on-list"), PATIENT._replace(total=0.6)) == "not done within 0.6 seconds"


def test_a_server_that_dies_inside_an_answer_leaves_the_evidence() -> None:
    capture = captured(command("exit-mid-answer"))
    assert noted(capture) == [("truncated", ANSWER + '[{"name": "f')]
    assert capture.connection.unserved == (
        ("tools/list", "the server exited with code 5; last line of stderr: out of books"),
    )
    assert capture.connection.ending == ProcessEnd("died", 5)


def test_a_server_that_dies_between_two_lists_keeps_the_first() -> None:
    capture = captured(command("exit-on-prompts"))
    assert tool_names(capture) == NAMES
    assert capture.connection.unserved == (("prompts/list", "the server exited with code 5"),)
    assert capture.connection.ending == ProcessEnd("died", 5)


def test_a_server_that_closes_its_output_is_not_waited_for() -> None:
    capture = captured(command("closes-output"))
    assert capture.connection.unserved == (("tools/list", "the server closed its output"),)
    assert capture.connection.ending == ProcessEnd("by-itself", 0)


@pytest.mark.parametrize("fault", ["hang-on-list", "late-answer"])
def test_a_request_that_is_given_up_is_taken_back_and_its_late_answer_no_fault(fault: str) -> None:
    capture = captured(command(fault), PATIENT._replace(request=0.5))
    assert capture.connection.unserved == (("tools/list", "no response within 0.5 seconds"),)
    assert document(capture)["prompts"] == [{"name": "cancelled"}]
    assert capture.connection.anomalies == ()


def test_a_server_may_ask_and_gets_an_answer() -> None:
    capture = captured(command("asks-client"))
    refusal = {"code": -32601, "message": "this client has no such method"}
    assert document(capture)["tools"] == [
        {"name": "s0", "reply": {"jsonrpc": "2.0", "id": "s0", "result": {}}},
        {"name": "s1", "reply": {"jsonrpc": "2.0", "id": "s1", "error": refusal}},
        {"name": "s2", "reply": {"jsonrpc": "2.0", "id": "s2", "error": refusal}},
    ]
    assert noted(capture) == [("unexpected-request", "sampling/createMessage"), ("unexpected-request", "roots/list")]


@pytest.mark.parametrize(
    ("fault", "ending"), [("ignores-eof", ProcessEnd("terminated", -15)), ("ignores-sigterm", ProcessEnd("killed", -9))]
)
def test_a_server_that_does_not_end_is_ended(fault: str, ending: ProcessEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "GRACE", 0.2)
    monkeypatch.setattr(waiting, "GRACE", 0.2)
    monkeypatch.setattr(waiting, "LONGER_GRACE", 0.2)
    capture = captured(command(fault))
    assert capture.connection.ending == ending
    assert tool_names(capture) == NAMES


def test_a_process_that_a_server_leaves_behind_does_not_blame_the_server() -> None:
    capture = captured(command("grandchild"))
    assert capture.connection.ending == ProcessEnd("by-itself", 0)
    assert capture.connection.anomalies == ()


# What a process is started with.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("no-such-program-anywhere",), "cannot start `no-such-program-anywhere`: no such file or directory"),
        (("/",), "cannot start `/`: permission denied"),
        (("a\0b",), "cannot start `a\0b`: embedded null byte"),
    ],
)
def test_what_cannot_be_started_is_refused(words: tuple[str, ...], message: str) -> None:
    assert refused(CommandEndpoint(words, {})) == message


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing, file = str(tmp_path / "no"), tmp_path / "file"
    file.touch()
    server = command("good")
    assert refused(server._replace(directory=missing)) == f"cannot start in `{missing}`: no such file or directory"
    assert refused(server._replace(directory=str(file))) == f"cannot start in `{file}`: not a directory"


def test_a_server_starts_in_the_directory_that_was_asked_for(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit(os.getcwd())"
    server = CommandEndpoint((sys.executable, "-I", "-S", "-c", code), {}, str(tmp_path))
    assert refused(server) == f"the server exited with code 1; last line of stderr: {tmp_path}"


def test_a_server_gets_the_least_environment_and_what_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name not in ("PATH", "HOME"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("LANG", "C.UTF-8")
    names = set(tool_names(captured(command("shows-environment", NAMED="1"))))
    assert {"HOME", "LANG", "NAMED", "PATH"} <= names
    assert "AWS_SECRET_ACCESS_KEY" not in names


def test_a_named_variable_wins_over_an_inherited_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "xx")
    code = "import os, sys; sys.exit(os.environ['LANG'])"
    assert refused(CommandEndpoint((sys.executable, "-I", "-S", "-c", code), {"LANG": "C"})).endswith("stderr: C")


# What is never repeated.

VALUE = 'hunter2"-\\-hunter2'


def test_secrets_are_in_no_evidence_and_in_no_capture() -> None:
    capture = captured(command("repeats-environment", SECRET=VALUE))
    everything = f"{capture}{document(capture)}"
    assert "hunt" not in everything
    assert noted(capture)[:2] == [("not-json", "using ***"), ("not-json", "x" * 195 + "***…")]
    assert capture.connection.unserved == (("prompts/list", "error 1: *** is wrong"),)
    assert document(capture)["tools"][0]["description"] == "Uses ***."
    assert document(capture)["tools"][0]["***"] == {"default": "***"}


def test_a_number_that_is_a_secret_leaves_the_capture_whole() -> None:
    capture = captured(command("good", PORT="20251125", WORD="find"))
    assert tool_names(capture) == NAMES


def test_secrets_are_in_no_error() -> None:
    server = command("dies-with-secret", "--token", "hunter3", SECRET=VALUE)
    assert refused(server) == "the server exited with code 3; last line of stderr: bad key *** ***"
    assert server.label.endswith("raw.py dies-with-secret --token '***'")


def test_several_servers_are_asked_at_once_and_come_back_in_order() -> None:
    from mcproof.client.capture import Capture, capture_all
    from mcproof.client.connect import ConnectOptions

    servers = [command("good" if number % 3 else "exit-at-start", f"n{number}") for number in range(12)]
    finished: list[Any] = []
    results, _ = capture_all(servers, ConnectOptions(PATIENT), finished.append)
    assert [isinstance(each, Capture) for each in results] == [number % 3 != 0 for number in range(12)]
    assert sorted(finished) == sorted(servers)
    for server, result in zip(servers, results, strict=True):
        if isinstance(result, Capture):
            assert document(result)["server"] == {"command": list(server.words)}


def test_no_servers_are_no_work() -> None:
    from mcproof.client.capture import capture_all
    from mcproof.client.connect import ConnectOptions

    assert capture_all([], ConnectOptions(Limits()), lambda _: None) == ([], False)
