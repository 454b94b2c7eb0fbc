"""`mcproof call`, `read` and `prompt`: one request, checked first, and its response."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.console import Style, print_lines
from mcproof.report.responses import _call_result, response_document, response_text
from mcproof.runs.results import SingleResponse
from probing.running import CONTRACT, http
from report.readers import acts
from servers import asking, small

from .running import CLEAN_TOOL, document_of, error_of, fails, run, write
from .serving import SECRET, config

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = ("--", *CONTRACT, "good")
BOOKS = {"titles": ["The Name of the Rose"], "total": 1}


def _small(*tools: dict[str, Any], habits: tuple[str, ...] = ()) -> tuple[str, ...]:
    return ("--", sys.executable, "-I", "-S", small.__file__, json.dumps(tools), *habits)


def _library(fault: str) -> tuple[str, ...]:
    return ("--", *CONTRACT, fault)


# --- call ---------------------------------------------------------------------------------------------------------


def test_a_call_shows_structured_content_once() -> None:
    done = run("call", "find_book", "query=rose", "limit=2", *LIBRARY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == json.dumps(BOOKS, indent=2) + "\n"


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["two lines\nof text"], "two lines\nof text"),
        (["one", "two"], ["one", "two"]),
        (["[1, 2]"], [1, 2]),
        (["3"], 3),
    ],
)
def test_a_value_that_an_sdk_wraps_is_shown_once(texts: list[str], value: Any) -> None:
    content = [{"type": "text", "text": text} for text in texts]
    result = {"content": content, "structuredContent": {"result": value}}
    assert "".join(_call_result(result, Style())) == "\n".join(
        [*texts, "[structured content: the same, as `result`]", ""]
    )


def test_structured_content_that_says_more_is_shown_beside_the_text() -> None:
    result = {"content": [{"type": "text", "text": "two"}], "structuredContent": {"result": 3}}
    assert "".join(_call_result(result, Style())) == 'two\n{\n  "result": 3\n}\n'


def test_the_document_of_a_call_has_the_raw_result() -> None:
    done = run("call", "find_book", "query=5", "--format", "json", "limit=2", *LIBRARY)
    document = document_of(done, "call")
    assert document["params"] == {"name": "find_book", "arguments": {"query": "5", "limit": 2}}
    assert document["result"] == {
        "content": [{"type": "text", "text": json.dumps(BOOKS)}],
        "structuredContent": BOOKS,
    }
    assert document["error"] is None


@pytest.mark.parametrize("arguments", ['{"query": "rose"}', "-"])
def test_arguments_are_json_on_the_command_line_or_on_standard_input(arguments: str) -> None:
    done = run("call", "find_book", arguments, "--format", "json", *LIBRARY, stdin='{"query": "rose"}')
    assert document_of(done, "call")["params"]["arguments"] == {"query": "rose"}


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_a_server_at_a_url_or_in_a_client_configuration_is_called(tmp_path: Path, era: str) -> None:
    with http("good", era) as url:
        assert run("call", url, "count_books").stdout == "4711 books\n"
        configured = config(tmp_path, library={"url": url})
        assert run("call", f"{configured}#library", "count_books").stdout == "4711 books\n"


def test_a_name_from_the_configuration_is_a_target(tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text(f"[targets]\nlibrary = {{ command = {json.dumps([*CONTRACT, 'good'])} }}\n")
    done = run("call", "library", "count_books", cwd=tmp_path)
    assert done.stdout == "4711 books\n", done
    assert done.stderr.startswith("mcproof: library: ")
    assert "(mcproof.toml:2)" in done.stderr
    assert "6 tools" in run("tools", "library", cwd=tmp_path).stdout


def test_naming_a_tool_is_permission_to_call_it(tmp_path: Path) -> None:
    called = tmp_path / "called"
    assert run("call", "delete_book", "title=x", "--env", f"CALLED={called}", *LIBRARY).stdout == "Done\n"
    assert called.read_text() == "delete_book\n"


def test_wrong_arguments_are_reported_before_anything_is_sent(tmp_path: Path) -> None:
    called = tmp_path / "called"
    error = fails("call", "find_book", "limit=x", "quary=rose", "--env", f"CALLED={called}", *LIBRARY)
    assert '/limit: "x" is not of type "integer"' in error
    assert "`quary` is not a parameter (did you mean `query`?)" in error
    assert "`query` is missing" in error
    assert "not sent; --unchecked sends it anyway" in error
    nested = fails("call", "list_shelves", "genre=fiction", 'near={"floor": 10}', *LIBRARY)
    assert "/near/floor: 10 is greater than the maximum of 9" in nested
    assert not called.exists()


def test_an_unknown_tool_gives_the_nearest_name() -> None:
    error = error_of("call", "find_bok", "query=rose", "--format", "json", *LIBRARY)
    assert "unknown tool `find_bok` (did you mean `find_book`?)" in error["message"]


def test_unchecked_sends_a_bad_call() -> None:
    done = run("call", "find_book", "limit=x", "--unchecked", *LIBRARY)
    assert done.returncode == 1
    assert done.stdout.startswith("Invalid arguments: ")
    assert done.stderr == "mcproof: the tool reports an error (`isError`)\n"
    done = run("call", "--unchecked", "no_such_tool", "a=1", "--format", "json", *LIBRARY)
    document = document_of(done, "call")
    assert (done.returncode, done.stderr) == (1, "")
    assert document["params"]["arguments"] == {"a": 1}
    assert document["result"] is None
    assert document["error"] == {"code": -32602, "message": "Unknown tool: no_such_tool"}


def test_an_undeclared_argument_of_an_open_schema_is_sent_with_a_hint() -> None:
    tool = {"name": "find", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}}
    done = run("call", "find", "titel=x", "--format", "json", *_small(tool))
    assert document_of(done, "call")["params"]["arguments"] == {"titel": "x"}
    assert done.stderr == "mcproof: `titel` is not a declared parameter (did you mean `title`?)\n"


def test_a_schema_that_cannot_be_used_does_not_prevent_a_call() -> None:
    tool = {"name": "find", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}}
    done = run("call", "find", "a=1", *_small(tool))
    assert done.returncode == 0, done
    assert "the arguments are not checked: it refers to a schema that does not exist" in done.stderr


def test_a_server_that_dies_is_an_error() -> None:
    error = error_of("call", "find_book", "query=rose", "--format", "json", *_library("crash-on-valid"))
    assert "exited with code" in error["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("hang-on-valid", "no response within 2 seconds; `--timeout SECONDS` waits longer"),
        ("answer-not-json", "not JSON-RPC: oops"),
    ],
)
def test_a_server_that_does_not_respond_is_an_error(fault: str, why: str) -> None:
    assert why in fails("call", "find_book", "query=rose", "--timeout", "2", *_library(fault))


def test_a_malformed_response_is_shown_with_its_flaw() -> None:
    done = run("call", "find_book", "query=rose", *_library("no-jsonrpc"))
    assert done.stdout.startswith("{")
    assert "the response is malformed: no jsonrpc" in done.stderr


def test_an_error_flag_that_is_a_text_counts() -> None:
    assert run("call", "find_book", "--unchecked", *_library("is-error-text-true")).returncode == 1


def test_secrets_are_hidden_in_what_a_server_returns() -> None:
    tool = {"name": "find", "inputSchema": {"type": "object"}}
    server = _small(tool, habits=("refuses-everything", "shows-secret"))
    for chosen in ("text", "json"):
        done = run("call", "find", "--format", chosen, "--env", f"SECRET={SECRET}", *server)
        assert done.returncode == 1
        assert SECRET not in done.stdout + done.stderr
        assert "***" in done.stdout


def test_bad_command_lines_are_reported(tmp_path: Path) -> None:
    snapshot = write(tmp_path / "tools.json", [CLEAN_TOOL])
    assert "not a live server" in fails("call", snapshot, "find_book")
    assert "name a TOOL after the TARGET" in fails("call", "https://example.com/mcp")
    assert "name a TOOL before `--`" in fails("call", *LIBRARY)
    assert "`rose` is not an argument: write key=value" in fails("call", "find_book", "rose", *LIBRARY)
    assert "ARGS: arguments are a JSON object" in fails("call", "find_book", "[1]", *LIBRARY)
    assert "ARGS: not JSON" in fails("call", "find_book", "{query: 1}", *LIBRARY)
    assert "`limit` is given 2 times, but it is not a list" in fails("call", "find_book", *["limit=1"] * 2, *LIBRARY)
    assert "--all names several servers" in fails("call", "--all", "x.json", "find_book")
    assert "the server lists no tools" in fails("call", "find_book", *_small(habits=("no-tools",)))


# --- read and prompt ----------------------------------------------------------------------------------------------


def test_a_resource_is_read() -> None:
    assert run("read", "library://hours", *LIBRARY).stdout == "9 to 5\n"
    document = document_of(run("read", "library://hours", "--format", "json", *LIBRARY), "call")
    assert document["params"] == {"uri": "library://hours"}
    assert document["result"]["contents"][0]["text"] == "9 to 5"


def test_an_unknown_resource_gives_the_nearest_uri() -> None:
    done = run("read", "library://hour", *LIBRARY)
    assert done.returncode == 1
    assert json.loads(done.stdout)["message"] == "Resource not found"
    assert "lists no resource `library://hour` (did you mean `library://hours`?)" in done.stderr
    assert done.stderr.endswith("mcproof: the server responds with an error: Resource not found (-32002)\n")


def test_a_resource_has_no_arguments() -> None:
    assert "a resource has no arguments" in fails("read", "library://hours", "a=1", *LIBRARY)


def test_a_prompt_is_got_with_its_arguments_as_text() -> None:
    done = run("prompt", "recommend", "genre=5", *LIBRARY)
    assert (done.returncode, done.stdout) == (0, "user:\nRecommend a book to a reader who likes 5.\n")


def test_the_arguments_of_a_prompt_are_checked() -> None:
    error = fails("prompt", "recommend", "gener=crime", *LIBRARY)
    assert "`genre` is missing; `gener` is not an argument (did you mean `genre`?); not sent" in error
    assert "unknown prompt `recomend` (did you mean `recommend`?)" in fails("prompt", "recomend", *LIBRARY)
    assert run("prompt", "recommend", "--unchecked", *LIBRARY).returncode == 1


# --- rendering ----------------------------------------------------------------------------------------------------


def _response(result: Any, method: Any = "tools/call", error: Any = None) -> SingleResponse:
    return SingleResponse("server", method, {}, result, error, 0.1)


def _text(response: SingleResponse) -> str:
    out = io.StringIO()
    print_lines(response_text(response, Style()), out)
    return out.getvalue()


def test_every_kind_of_content_is_shown() -> None:
    blocks = [
        {"type": "text", "text": "one\r\n\ttwo"},
        {"type": "image", "mimeType": "image/png", "data": "R0lGODlh"},
        {"type": "audio", "data": "R0k="},
        {"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/plain", "text": "three"}},
        {"type": "resource", "resource": {"uri": "a:c", "blob": "R0lG"}},
        {"type": "resource_link", "uri": "a:d", "name": "d"},
        {"type": "hologram"},
        None,
    ]
    assert _text(_response({"content": blocks})) == (
        "one\n\ttwo\n[image: image/png, 6 bytes]\n[audio: unknown type, 2 bytes]\n"
        "[resource: a:b, text/plain]\nthree\n[resource: a:c, unknown type, 3 bytes]\n[resource link: a:d]\n"
        '{\n  "type": "hologram"\n}\nnull\n'
    )


@pytest.mark.parametrize("method", ["tools/call", "resources/read", "prompts/get"])
@pytest.mark.parametrize("result", [None, 5, [], {}, {"content": 1, "contents": [1], "messages": [{"role": 1}]}])
def test_any_result_is_shown(method: str, result: Any) -> None:
    assert _text(_response(result, method))


def test_hostile_text_does_nothing() -> None:
    evil = "a\x1b[31m\n::error::x\r##[group]\u202e"
    block = {"type": "text", "text": evil}
    link = {"type": "resource_link", "uri": evil}
    content = {"content": [block, link, {evil: evil}], "structuredContent": {evil: evil}}
    for response in (
        _response(content),
        _response({"contents": [{"uri": evil, "text": evil}, {"uri": evil, "blob": evil}]}, "resources/read"),
        _response({"messages": [{"role": evil, "content": block}]}, "prompts/get"),
        _response(None, error={"code": 1, "message": evil, "data": {evil: evil}}),
    ):
        assert not acts(_text(response))
        assert not acts("".join(response_document(response)))


# --- questions ----------------------------------------------------------------------------------------------------


def _asking(era: str = "handshake") -> tuple[str, ...]:
    return ("--", sys.executable, "-I", "-S", asking.__file__, "--era", era)


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_a_question_without_an_answer_is_declined_and_reported(era: str) -> None:
    done = run("call", "order_pizza", *_asking(era))
    assert (done.returncode, done.stdout) == (1, "decline\n")
    assert done.stderr == "mcproof: the server asks the user: What pizza? (declined: no answer)\n"
    document = document_of(run("call", "order_pizza", "--format", "json", *_asking(era)), "call")
    (asked,) = document["asked"]
    assert (asked["kind"], asked["message"], asked["reply"]) == ("form", "What pizza?", "decline")
    assert asked["requestedSchema"] == asking.PIZZA


def test_text_of_a_question_is_escaped_and_its_url_never_opened() -> None:
    done = run("call", "script_url", *_asking(), env={"BROWSER": "touch %s"})
    assert "\x1b" not in done.stderr
    assert done.stderr == (
        "mcproof: the server asks the user to open javascript:alert(1)//\\x1b]0;x\\x07: "
        "Click\\x1b[31m here mcproof: all good (declined: no answer)\n"
    )


def test_log_messages_and_progress_are_shown() -> None:
    done = run("call", "chatty", *_asking())
    assert done.stdout == "done\n"
    assert done.stderr == "mcproof: log (warning): low on\\x1b[31m ink\nmcproof: progress: 1 of 2: half\n"


def test_notifications_are_in_the_document() -> None:
    document = document_of(run("call", "chatty", "--format", "json", *_asking()), "call")
    assert [each["method"] for each in document["notifications"]] == [
        "notifications/message",
        "notifications/progress",
        "notifications/tools/list_changed",
    ]


def test_a_list_that_changes_meanwhile_is_read_again() -> None:
    done = run("call", "grown", "title=x", *_asking(), "--grows")
    assert (done.returncode, done.stdout) == (1, "Invalid arguments: title must be a string\n")
    assert "grown" in run("tools", *_asking(), "--grows").stdout
