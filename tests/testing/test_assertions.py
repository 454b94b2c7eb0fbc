"""The assertions, and the server without pytest around it."""

from __future__ import annotations

import copy
import json
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL, run
from client.running import RAW, assert_nothing_is_left
from mcproof import testing
from mcproof.testing import McpServer, ServerError, ServerStarter, assert_negative_path, assert_schema_strict
from servers.suited import TOOLS
from testing.suites.suites import small

from .conftest import SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def server() -> Iterator[McpServer]:
    with McpServer(SERVER) as server:
        yield server


def failure(*arguments: Any, **named: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_schema_strict(*arguments, **named)
    return str(caught.value)


def test_strict_schemas_pass_in_every_form() -> None:
    assert_schema_strict([CLEAN_TOOL])
    assert_schema_strict({"tools": [CLEAN_TOOL]})
    assert_schema_strict((CLEAN_TOOL,))
    assert_schema_strict([CLEAN_TOOL, LOOSE_TOOL], "find_book")


def test_a_server_is_checked_by_its_listed_tools(server: McpServer) -> None:
    assert_schema_strict(server, "add")
    assert "error[SCH-003] fail: `x` accepts any value" in failure(server)
    assert failure(server, "fail").count("\n") == 3


def test_findings_are_those_of_schema_lint(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [LOOSE_TOOL, FAULTY_TOOL]}), encoding="utf-8")
    linted = run("schema-lint", "tools.json", "--format", "json", cwd=tmp_path)
    findings = json.loads(linted.stdout)["findings"]
    assert len(findings) > 3
    said = failure([LOOSE_TOOL, FAULTY_TOOL]).splitlines()
    assert said[0] == f"{len(findings)} findings in the input schemas of the tools"
    assert said[1:] == [f"  {each['level']}[{each['rule']}] {each['tool']}: {each['message']}" for each in findings]


def test_rules_can_be_ignored_and_unknown_rules_are_errors() -> None:
    assert_schema_strict([LOOSE_TOOL], ignore=["SCH-001", "open-object", "SCH-004"])
    assert "SCH-002" not in failure([LOOSE_TOOL], ignore=["sch-002"])
    with pytest.raises(ValueError, match="unknown rule `SCH-01`"):
        assert_schema_strict([CLEAN_TOOL], ignore=["SCH-01"])


def test_nothing_to_check_does_not_pass() -> None:
    nothing = "there are no tools to check"
    assert failure([]) == failure({"tools": []}) == nothing
    assert failure([CLEAN_TOOL], "find_books") == "there is no tool `find_books` (did you mean `find_book`?)"
    with McpServer(small(tools=[])) as empty:
        assert failure(empty) == nothing


def test_long_lists_of_findings_are_cropped() -> None:
    tools = [{**copy.deepcopy(LOOSE_TOOL), "name": f"tool_{number}"} for number in range(40)]
    lines = failure(tools).splitlines()
    assert (lines[0].split()[0], len(lines), lines[-1]) == ("80", 52, "  and 30 more")


def test_a_tool_that_rejects_invalid_calls_passes(server: McpServer) -> None:
    assert_negative_path(server, "echo", {"text": "hello"})
    assert_negative_path(server, "add", checks=["unknown_tool", "missing_required", "wrong_type"])


def test_every_accepted_probe_is_reported(server: McpServer) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_negative_path(server, "add", {"a": 1, "b": 2})
    assert str(caught.value).splitlines() == [
        "the negative path of `add`:",
        "  extra_field: accepted, an undeclared `mcproof_unexpected` [FAULT-SCHEMA-UNEXPECTED-FIELD]",
        "    expected an error",
        '    got      {"content": [{"type": "text", "text": "3"}], "structuredContent": {"sum": 3, "of": [1, 2]}}',
    ]


def test_unknown_tools_and_inapplicable_probes_fail(server: McpServer) -> None:
    with pytest.raises(AssertionError, match=r"the server has no tool `ad` \(did you mean `add`\?\)"):
        assert_negative_path(server, "ad")
    with pytest.raises(AssertionError, match="no probe could be evaluated: missing_required"):
        assert_negative_path(server, "clock", checks=["missing_required"])


def test_a_valid_call_that_fails_is_a_warning(server: McpServer) -> None:
    with pytest.warns(UserWarning, match="`refuse`: the valid call fails too") as caught:
        assert_negative_path(server, "refuse", checks=["unknown_tool"])
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        (["wrong_types"], r"unknown check `wrong_types` \(did you mean `wrong_type`\?\); expected one of unknown_tool"),
        ([], "`checks` is empty"),
    ],
)
def test_unknown_checks_are_errors(server: McpServer, checks: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        assert_negative_path(server, "add", checks=checks)


def test_an_unreachable_server_is_not_an_assertion_error() -> None:
    gone = McpServer(["no-such-program-here"])
    said = r"^cannot start `no-such-program-here`"
    with pytest.raises(ServerError, match=said):
        assert_schema_strict(gone)
    with pytest.raises(ServerError, match=said):
        assert_negative_path(gone, "x")


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [
        ("", {}, "the command is empty"),
        ([], {}, "the command is empty"),
        ("python 'x", {}, "cannot split the command"),
        ("python x", {"timeout": 0}, "`timeout` must be a positive number of seconds"),
        ("python x", {"protocol": "2025"}, "unknown protocol revision '2025'; expected one of"),
        ("python x", {"headers": {"A": "b"}}, "`headers` apply only to a URL"),
        ("https://x.test/mcp", {"env": {"A": "b"}}, "`env` and `cwd` apply only to a command"),
    ],
)
def test_invalid_arguments_are_errors_before_anything_starts(arguments: Any, named: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        McpServer(arguments, **named)


def test_a_list_that_fails_is_an_error() -> None:
    said = r"^tools/list: no response within 0\.3 seconds$"
    with McpServer([*RAW, "hang-on-list"], timeout=0.3) as server, pytest.raises(ServerError, match=said):
        server.tools()


def test_a_closed_server_runs_nothing(marker: str) -> None:
    with McpServer([*SERVER.split(), marker]) as server:
        assert server.tools() == TOOLS
    server.close()
    assert_nothing_is_left(marker)


def test_the_starter_has_the_options_of_a_server() -> None:
    assert signature(ServerStarter.__call__).parameters == signature(McpServer.__init__).parameters


def test_everything_public_has_a_docstring() -> None:
    for name in testing.__all__:
        each = getattr(testing, name)
        assert each.__doc__
        assert each.__module__ == "mcproof.testing"
        public = [value for key, value in vars(each).items() if callable(value) and not key.startswith("_")]
        assert all(value.__doc__ for value in public)


def test_malformed_results_have_a_repr() -> None:
    from mcproof.testing import CallResult

    odd = CallResult({"content": [{"type": "text", "text": 3}, "x", {"text": "y"}], "isError": "yes"}, str)
    assert (odd.text, odd.is_error, odd.structured) == ("y", False, None)
    assert CallResult({"content": 3}, str).content == []
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"x": deep}
    assert repr(CallResult(deep, str)) == "CallResult(nested too deeply to show)"
    assert len(repr(CallResult({"x": "y" * 5000}, str))) < 1100
