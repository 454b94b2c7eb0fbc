"""Configuration files of clients: every shape is read, every variable filled in, and what is wrong has a place."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.core.errors import InputError
from mcproof.targets.client_config import ConfiguredServer, pick, read_servers, server_of

FILES = CommandEndpoint(("npx", "-y", "files", "/data"), {"DEBUG": "1"})
REMOTE = UrlEndpoint("https://host/mcp", {"X-Team": "a"})
FILES_ENTRY = {"command": "npx", "args": ["-y", "files", "/data"], "env": {"DEBUG": "1"}}
REMOTE_ENTRY = {"url": "https://host/mcp", "headers": {"X-Team": "a"}}

SHAPES: dict[str, Any] = {
    "Claude Desktop": {"mcpServers": {"files": FILES_ENTRY, "remote": REMOTE_ENTRY}, "globalShortcut": ""},
    ".mcp.json": {
        "mcpServers": {"files": {"type": "stdio", **FILES_ENTRY}, "remote": {"type": "http", **REMOTE_ENTRY}}
    },
    ".vscode/mcp.json": {
        "inputs": [{"type": "promptString", "id": "x"}],
        "servers": {"files": {"type": "stdio", **FILES_ENTRY}, "remote": {"type": "sse", **REMOTE_ENTRY}},
    },
    "Cursor": {"mcpServers": {"files": {**FILES_ENTRY, "disabled": False}, "remote": REMOTE_ENTRY}},
    "Zed": {
        "theme": "One",
        "context_servers": {
            "files": {
                "source": "custom",
                "command": {"path": "npx", "args": FILES_ENTRY["args"], "env": {"DEBUG": "1"}},
            },
            "remote": REMOTE_ENTRY,
        },
    },
    "Zed, newer": {"context_servers": {"files": {"source": "custom", **FILES_ENTRY}, "remote": REMOTE_ENTRY}},
    "settings of VS Code": {
        "editor.tabSize": 2,
        "mcp": {"inputs": [], "servers": {"files": FILES_ENTRY, "remote": REMOTE_ENTRY}},
    },
    "Windsurf": {
        "mcpServers": {"files": FILES_ENTRY, "remote": {"serverUrl": "https://host/mcp", "headers": {"X-Team": "a"}}}
    },
    "Gemini": {
        "mcpServers": {"files": FILES_ENTRY, "remote": {"httpUrl": "https://host/mcp", "headers": {"X-Team": "a"}}}
    },
}


def servers(text: str, file: str = "mcp.json") -> list[ConfiguredServer]:
    found = read_servers(text, file)
    assert found is not None
    return found


def server(entry: Any, file: str = "mcp.json") -> CommandEndpoint | UrlEndpoint:
    (configured,) = servers(json.dumps({"mcpServers": {"x": entry}}), file)
    return server_of(configured)


def refusal(entry: Any) -> str:
    with pytest.raises(InputError) as caught:
        server(entry)
    return str(caught.value)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_names_the_same_servers(shape: str) -> None:
    found = servers(json.dumps(SHAPES[shape], indent=2))
    assert [each.name for each in found] == ["files", "remote"]
    assert [server_of(each) for each in found] == [FILES, REMOTE]


@pytest.mark.parametrize(
    "text", ["{}", "[]", "7", '{"tools": []}', '{"mcpServers": []}', '{"mcp": 1}', '{"server": {"x": {}}}']
)
def test_other_json_is_no_configuration(text: str) -> None:
    assert read_servers(text, "x.json") is None


def test_comments_and_commas_too_many_are_allowed_and_lines_stay_where_they_are() -> None:
    text = """{
  // the servers, "quoted" and /* all
  "mcpServers": {
    /* one
       of two, */
    "a//b": {"command": "x", "args": ["http://host/*", "},", "\\"//",],},
    "c": {"url": "https://host/a,]",  // a remark
    },
  },
}
"""
    first, second = servers(text)
    assert (first.name, first.line, second.name, second.line) == ("a//b", 6, "c", 7)
    assert server_of(first) == CommandEndpoint(("x", "http://host/*", "},", '"//'), {})
    assert server_of(second) == UrlEndpoint("https://host/a,]", {})


@pytest.mark.parametrize(
    ("text", "line"), [('{"mcpServers": {\n]}', 2), ('{"mcpServers": {}\n/* no end', 2), ('{"a": "no end\n', 1)]
)
def test_what_is_broken_is_reported_with_its_line(text: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        read_servers(text, "mcp.json")
    assert (caught.value.file, caught.value.line) == ("mcp.json", line)


@pytest.mark.parametrize("piece", ["/*", '"\\', "//", ",", ", /**/", '\\"', "[", "/**", ",\n"])
def test_hostile_text_costs_no_square(piece: str) -> None:
    with pytest.raises(InputError):
        read_servers('{"a": ' + piece * 300_000, "mcp.json")


def test_servers_come_in_the_order_of_the_file() -> None:
    assert [each.name for each in servers('{"mcpServers": {"z": {}, "a": {}, "m/n~": {}}}')] == ["z", "a", "m/n~"]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${MCPROOF_A}", "first"),
        ("${env:MCPROOF_A}", "first"),
        ("x${MCPROOF_A}-${env:MCPROOF_B}y", "xfirst-${MCPROOF_A}y"),
        ("${MCPROOF_MISSING:-else}", "else"),
        ("${MCPROOF_MISSING:-}", ""),
        ("${env:MCPROOF_MISSING:-else}", "else"),
        ("${MCPROOF_A:-else}", "first"),
        ("$MCPROOF_A $ {} $1 %MCPROOF_A%", "$MCPROOF_A $ {} $1 %MCPROOF_A%"),
        ("a${/}b", f"a{os.sep}b"),
        ("${userHome}/x", f"{os.path.expanduser('~')}/x"),
    ],
)
def test_variables_are_filled_in_everywhere(text: str, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPROOF_A", "first")
    monkeypatch.setenv("MCPROOF_B", "${MCPROOF_A}")
    monkeypatch.delenv("MCPROOF_MISSING", raising=False)
    started = server({"command": text or "x", "args": [text], "env": {"E": text}, "cwd": text})
    assert started._replace(filled=()) == CommandEndpoint((filled, filled), {"E": filled}, filled)
    assert server({"url": text, "headers": {"H": text}})._replace(filled=()) == UrlEndpoint(filled, {"H": filled})


def test_a_value_of_the_environment_is_a_secret_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPROOF_A", "plain-word")
    monkeypatch.setenv("HOME", "/home/someone")
    started = server({"command": "x", "args": ["${MCPROOF_A}", "y=${MCPROOF_A}", "${HOME}/z", "${NO_SUCH:-default}"]})
    assert started.described == {"command": ["x", "***", "y=***", "/home/someone/z", "default"]}
    assert "plain-word" in started.secrets
    assert server({"url": "https://host/${MCPROOF_A}/mcp"}).label == "https://host/***/mcp"


def test_the_workspace_is_the_folder_of_the_file_and_not_that_of_the_editor() -> None:
    assert server({"command": "${workspaceFolder}/x"}, "/home/me/app/.mcp.json") == CommandEndpoint(
        ("/home/me/app/x",), {}
    )
    assert server({"command": "${workspaceFolder}/x"}, "/home/me/app/.vscode/mcp.json") == CommandEndpoint(
        ("/home/me/app/x",), {}
    )


def test_a_missing_variable_is_named_with_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCPROOF_MISSING", raising=False)
    expected = "mcp.json:1: the server `x` needs the environment variable MCPROOF_MISSING, which is not set"
    assert refusal({"command": "x", "env": {"KEY": "${MCPROOF_MISSING}"}}) == expected


@pytest.mark.parametrize("text", ["${input:token}", "${HOME} ${input:token}", "${input:token}${HOME}"])
def test_what_only_a_client_can_fill_in_is_refused_wherever_it_stands(text: str) -> None:
    assert refusal({"command": "x", "args": [text]}) == (
        "mcp.json:1: the server `x` uses `${input:token}`, which only its client can fill in; "
        "use an environment variable instead"
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"command": "x", "args": "y"}, "`args` of the server `x` is not a list of strings"),
        ({"command": "x", "args": [1]}, "`args` of the server `x` is not a list of strings"),
        ({"command": "x", "args": None}, "`args` of the server `x` is not a list of strings"),
        ({"command": "x", "env": ["A=1"]}, "`env` of the server `x` is not an object of strings"),
        ({"command": "x", "env": {"A": None}}, "`env` of the server `x` is not an object of strings"),
        ({"command": "x", "env": {"A": {}}}, "`env` of the server `x` is not an object of strings"),
        ({"command": "x", "cwd": 7}, "`cwd` of the server `x` is not a string"),
        ({"url": "http://x", "headers": "A: b"}, "`headers` of the server `x` is not an object of strings"),
        ({}, "the server `x` has neither a `command` nor a `url`"),
        ({"command": ["x"]}, "the server `x` has neither a `command` nor a `url`"),
        ({"command": {"args": []}}, "the server `x` has neither a `command` nor a `url`"),
        ({"command": ""}, "the server `x` has neither a `command` nor a `url`"),
        ("npx x", "the server `x` is a string, not an object"),
        (None, "the server `x` is null, not an object"),
    ],
)
def test_a_member_of_the_wrong_type_is_refused(entry: Any, message: str) -> None:
    assert refusal(entry) == f"mcp.json:1: {message}"


def test_numbers_and_booleans_of_an_environment_are_written_as_people_mean_them() -> None:
    assert server({"command": "x", "env": {"A": 1, "B": True, "C": 1.5}}) == CommandEndpoint(
        ("x",), {"A": "1", "B": "true", "C": "1.5"}
    )


def test_a_directory_is_kept() -> None:
    assert server({"command": "x", "cwd": "/srv"}) == CommandEndpoint(("x",), {}, "/srv")
    assert server({"command": "x", "cwd": None}) == CommandEndpoint(("x",), {})


def test_a_server_is_picked_by_its_name() -> None:
    found = servers('{"mcpServers": {"files": {}, "mail": {}}}')
    assert pick(found, "mail", "mcp.json").name == "mail"
    with pytest.raises(InputError) as caught:
        pick(found, "fils", "mcp.json")
    assert str(caught.value) == (
        "mcp.json: no server `fils` in this configuration (did you mean `files`?); there are: files, mail"
    )


def test_an_empty_configuration_has_no_server_to_pick() -> None:
    with pytest.raises(InputError, match=r"there are: none$"):
        pick(servers('{"mcpServers": {}}'), "x", "mcp.json")
