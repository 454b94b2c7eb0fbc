"""A first suite can always be read, tests what is there, and has no secret in it."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.test_yamlwriter import TEXTS, VALUES
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.core.text.yaml_document import UnwritableError
from mcproof.probing.generation.values import valid_arguments
from mcproof.probing.permission import permission
from mcproof.targets.snapshots import read_snapshot
from mcproof.testing.suites import new_suite
from mcproof.testing.suites.drafts import MOST, Draft, drafts_of, with_results
from mcproof.testing.suites.new_server import (
    EntryOptions,
    SecretVariables,
    UniqueNames,
    captured_lines,
    entry_lines,
    placeholder_lines,
    server_name,
)
from mcproof.testing.suites.new_suite import FirstServer, FirstSuite, first_suite
from mcproof.testing.suites.parser import read_suite
from probing.generation.random_schemas import input_schemas

from .suites import SEARCH

if TYPE_CHECKING:
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog
    from mcproof.testing.suites.model import ServerEntry, Suite, SuiteTest

READS = {"readOnlyHint": True}
SECRET = "hunter2-hunter2"  # noqa: S105
_TURNED_OFF = re.compile(r"^( *)# (tools:|resources:|prompts:|- name: |expect:|negative_path:|  )", re.MULTILINE)


def catalog_of(tools: list[Any], **others: Any) -> Catalog:
    text = json.dumps({"initialize": {}, "tools": tools, **others})
    return read_snapshot(text.encode(), "tools.json")


def server_of(tools: list[Any], names: UniqueNames | None = None, name: str = "local", **others: Any) -> FirstServer:
    catalog = catalog_of(tools, **others)
    permissions = [permission(tool, allow_writes=False) for tool in catalog.tools]
    drafts = drafts_of(catalog, permissions, names or UniqueNames(), lambda text: text)
    return FirstServer(name, "tools.json", placeholder_lines(), drafts, catalog)


def written(tools: list[Any], **others: Any) -> FirstSuite:
    return first_suite([server_of(tools, **others)], "mcproof run")


def read(text: str, environment: dict[str, str] | None = None) -> Suite:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mcproof.yaml")
        file.write_bytes(text.encode())
        return read_suite(str(file), environment)


def turned_on(text: str) -> str:
    """The suite with everything turned on, as a user does it: by taking the `# ` away."""
    head, servers, rest = text.partition("\nservers:")
    return head + servers + _TURNED_OFF.sub(r"\1\2", rest)


def calls(suite: Suite) -> list[tuple[str, Any]]:
    return [(test.subject, test.arguments or {}) for test in suite.tests if test.block == "tools"]


def found_in(suite: Suite) -> dict[str, SuiteTest]:
    return {test.subject: test for test in suite.tests if test.block == "tools"}


def tool(name: str, schema: Any = None, **others: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"} if schema is None else schema, **others}


def test_a_tool_gets_a_call_and_probes() -> None:
    suite = written([SEARCH])
    assert (suite.tests, suite.commented_out) == (4, 0)
    test = found_in(read(suite.text))["search"]
    assert (test.name, test.server, test.arguments) == ("search responds", "local", {"query": "a"})
    assert test.expect is not None
    assert [(each.path.text, each.matcher.expected) for each in test.expect.assertions] == [("result.isError", False)]
    assert test.negative_path is not None
    checks = ("unknown_tool", "missing_required", "wrong_type", "extra_field", "oversized")
    assert test.negative_path.checks == checks
    assert "args: {query: a}  # generated from the schema: replace with real values\n" in suite.text


def test_a_tool_without_parameters_is_not_probed() -> None:
    suite = written([tool("get_time")])
    assert found_in(read(suite.text))["get_time"].negative_path is None
    assert "args" not in suite.text.partition("- name:")[2]


def test_values_from_the_schema_are_not_marked_as_generated() -> None:
    schema = {"type": "object", "properties": {"unit": {"enum": ["C", "F"]}}, "required": ["unit"]}
    suite = written([tool("get_weather", schema)])
    assert "args: {unit: C}\n" in suite.text


def test_long_arguments_get_a_line_each() -> None:
    names = [f"argument_{number}" for number in range(9)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    suite = written([tool("get_weather", schema)])
    assert "    args:  # generated from the schema: replace with real values\n      argument_0: a\n" in suite.text
    assert calls(read(suite.text)) == [("get_weather", dict.fromkeys(names, "a"))]


def test_a_tool_with_side_effects_is_commented_out_with_the_reason() -> None:
    hints = {"annotations": {"destructiveHint": True}}
    suite = written([SEARCH, tool("delete_book"), tool("books", **hints)])
    assert (suite.tests, suite.commented_out) == (4, 2)
    assert "  # Inactive: it is not called: it can delete data: `delete book` in its name\n" in suite.text
    assert "  # Inactive: it is not called: `destructiveHint` is true\n" in suite.text
    assert "--allow-writes" not in suite.text
    assert [name for name, _ in calls(read(suite.text))] == ["search"]
    assert [name for name, _ in calls(read(turned_on(suite.text)))] == ["search", "delete_book", "books"]


def test_without_read_only_tools_only_the_gates_are_active() -> None:
    suite = written([tool("delete_book"), tool("add_book")])
    assert (suite.tests, suite.commented_out) == (2, 2)
    assert {test.block for test in read(suite.text).tests} == {"tool_quality"}
    assert len(calls(read(turned_on(suite.text)))) == 2


def test_a_failed_call_is_commented_out_with_its_error() -> None:
    server = server_of([SEARCH])
    failed = with_results(
        server.drafts[0], "isError is true: no such\nbook", [("wrong_type", "wrong_type: accepted")], ""
    )
    suite = first_suite([server._replace(drafts=[failed])], "mcproof run")
    assert (suite.tests, suite.commented_out, suite.failed_calls, suite.failed_checks) == (3, 0, 1, 1)
    test = found_in(read(suite.text))["search"]
    assert test.expect is None
    assert not test.makes_call
    assert test.negative_path is not None
    assert test.negative_path.checks == ("unknown_tool", "missing_required", "extra_field", "oversized")
    assert "    # The call fails: isError is true: no such book\n" in suite.text
    assert "    # Left out, does not pass: wrong_type: accepted\n" in suite.text
    assert found_in(read(turned_on(suite.text)))["search"].expect is not None


@pytest.mark.parametrize("path", ["", "no probe could be evaluated"])
def test_a_test_that_fails_completely_is_commented_out(path: str) -> None:
    server = server_of([SEARCH])
    draft = server.drafts[0]
    failed = with_results(
        draft, "gone", [] if path else [(check, f"{check}: accepted") for check in draft.checks], path
    )
    suite = first_suite([server._replace(drafts=[failed])], "mcproof run")
    assert (suite.tests, suite.commented_out) == (2, 1)
    assert "  # Inactive: the call fails: gone\n" in suite.text
    assert calls(read(suite.text)) == []
    once = found_in(read(turned_on(suite.text)))["search"]
    assert once.expect is not None
    assert once.negative_path is None


def test_failed_probes_are_commented_out_beside_a_working_call() -> None:
    server = server_of([SEARCH])
    failed = with_results(server.drafts[0], "", [], "crash: it is gone")
    suite = first_suite([server._replace(drafts=[failed])], "mcproof run")
    test = found_in(read(suite.text))["search"]
    assert test.makes_call
    assert test.negative_path is None
    assert "    # Inactive, does not pass: crash: it is gone\n    # negative_path:\n" in suite.text
    assert found_in(read(turned_on(suite.text)))["search"].negative_path is not None


def test_gates_are_the_defaults_or_the_current_values() -> None:
    loose = written([tool("books", {"type": "object", "properties": {"id": {}}})]).text
    assert "{target: critical_count, matcher: {schema: {maximum: 1}}}  # today's value; the default is" in loose
    assert "# min_score is 0 today, the default gate is 0.5; lowest: books 0.00\n" in loose
    assert "{target: min_score" not in loose
    assert "{target: schema_warnings, matcher: {schema: {maximum: 0}}}" not in loose
    good = written([SEARCH]).text
    assert "{target: critical_count, matcher: {schema: {maximum: 0}}}\n" in good
    assert "{target: schema_criticals, matcher: {schema: {maximum: 0}}}\n" in good


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([{"description": "nameless"}, 7], "No test of tools[0]: it has no name."),
        ([tool("get_a"), tool("get_a")], "No test of get_a: another tool has the same name."),
        ([tool("tools/list")], "No test of tools/list: in suites, this name refers to a list method."),
        ([tool("a\ud800")], "No test of a\\ud800: its name cannot be written to a suite: it contains a lone surrogate"),
        (
            [tool("get_a", {"type": "object", "required": ["b"], "properties": {"b": False}})],
            "no valid arguments found",
        ),
        (
            [tool("get_a", {"type": "object", "required": ["b"], "properties": {"b": {"const": 10**400}}})],
            "its arguments cannot be written to a suite",
        ),
    ],
)
def test_an_impossible_tool_test_is_explained(tools: list[Any], said: str) -> None:
    suite = written(tools)
    assert said in suite.text
    assert len(calls(read(suite.text))) == (1 if len(tools) == 2 and tools[0] == tools[1] else 0)


def test_a_server_without_tools_gets_tests_of_its_lists() -> None:
    suite = written([], resources=[{"uri": "a:b", "name": "n"}], prompts=[{"name": "p"}])
    assert [name for name, _ in calls(read(suite.text))] == ["resources/list", "prompts/list"]


def others_in(suite: Suite, block: str) -> list[tuple[str, Any]]:
    return [(test.subject, test.arguments) for test in suite.tests if test.block == block]


def test_resources_and_prompts_get_tests() -> None:
    topics = [{"name": "topic", "required": True}, {"name": "length"}]
    suite = written(
        [SEARCH],
        resources=[{"uri": "note:///${a}", "name": "a note"}],
        resourceTemplates=[{"uriTemplate": "note:///{id}", "name": "one note"}],
        prompts=[{"name": "greet"}, {"name": "sum_up", "arguments": topics}],
    )
    assert (suite.tests, suite.commented_out) == (7, 1)
    now, later = read(suite.text), read(turned_on(suite.text))
    assert [name for name, _ in calls(now)] == ["search"]
    assert others_in(now, "resources") == [("note:///${a}", None)]
    assert others_in(later, "resources") == [("note:///${a}", None), ("note:///{id}", None)]
    assert others_in(now, "prompts") == [("greet", None), ("sum_up", {"topic": "a"})]
    assert "  # Inactive: replace the parts in braces with values\n  # - name: one note can be read\n" in suite.text


def test_failed_resources_and_prompts_are_commented_out() -> None:
    server = server_of([SEARCH], resources=[{"uri": "a:b"}], prompts=[{"name": "greet"}])
    tried = [draft if draft.block == "tools" else with_results(draft, "gone", [], "") for draft in server.drafts]
    suite = first_suite([server._replace(drafts=tried)], "mcproof run")
    assert (suite.tests, suite.commented_out) == (4, 2)
    assert suite.text.count("# None of these tests is active yet.") == 2
    assert suite.text.count("  # Inactive: the call fails: gone\n") == 2
    later = read(turned_on(suite.text))
    assert (others_in(later, "resources"), others_in(later, "prompts")) == ([("a:b", None)], [("greet", None)])


def test_only_some_of_many_resources_get_tests() -> None:
    resources: list[Any] = [{"uri": f"a:{number}"} for number in range(MOST + 3)]
    suite = written([SEARCH], resources=resources)
    assert len(others_in(read(suite.text), "resources")) == MOST
    assert "# 3 more resources do not fit here;" in suite.text


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"resources": [{"name": "n"}, 7]}, "No test of n: it has no URI."),
        ({"resources": [{"uri": "a:b"}, {"uri": "a:b"}]}, "No test of a:b: another resource has the same URI."),
        ({"resources": [{"uri": f"a:{SECRET}"}]}, "No test of a:***: its URI contains a secret of the server"),
        ({"prompts": [{"arguments": []}]}, "No test of prompts[0]: it has no name."),
        ({"prompts": [{"name": "p"}, {"name": "p"}]}, "No test of p: another prompt has the same name."),
        ({"prompts": [{"name": "p\ud800"}]}, "its name cannot be written to a suite"),
    ],
)
def test_an_impossible_resource_or_prompt_test_is_explained(others: dict[str, Any], said: str) -> None:
    catalog = catalog_of([], **others)
    drafts = drafts_of(catalog, [], UniqueNames(), lambda text: text.replace(SECRET, "***"))
    text = first_suite([FirstServer("local", "x", placeholder_lines(), drafts, catalog)], "mcproof run").text
    assert said in text
    assert SECRET not in text
    read(text)


def test_test_names_are_unique_across_servers() -> None:
    names = UniqueNames()
    servers = [server_of([SEARCH], names, name) for name in ("one", "two: #")]
    servers.append(FirstServer("three", "three", [], trouble="no response\nwithin 2 seconds"))
    suite = first_suite(servers, "mcproof run")
    tests = read(suite.text).tests
    assert [test.name for test in tests if test.block == "tools"] == ["search responds", "search responds (2)"]
    assert {test.server for test in tests} == {"one", "two: #"}
    assert "  # three is omitted: no response within 2 seconds\n" in suite.text


def test_tools_beyond_the_size_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_suite, "_MOST_BYTES", 100_000)
    tools = [{**SEARCH, "name": f"search_{number}"} for number in range(2_000)]
    suite = written(tools)
    found = calls(read(suite.text))
    assert 50 < len(found) < 1_000
    assert 80_000 < len(suite.text) < 110_000
    assert f"# {2_000 - len(found):,} more tools do not fit here" in suite.text
    assert suite.tests == 2 * len(found) + 2


@pytest.mark.slow
def test_huge_names_and_many_nameless_tools_fit_the_limits() -> None:
    huge = [tool("get_" + "x" * 90_000 + str(number)) for number in range(60)]
    assert calls(read(written([*huge, *([7] * 60_000)]).text))


@given(st.lists(st.tuples(TEXTS, st.one_of(st.none(), input_schemas())), min_size=1, max_size=4), st.data())
def test_names_and_arguments_survive(tools: list[tuple[str, Any]], data: st.DataObject) -> None:
    server = server_of(
        [tool(name, schema, annotations=READS) for name, schema in tools], name=server_name(data.draw(TEXTS))
    )
    words = data.draw(TEXTS.filter(str.strip))
    server = server._replace(
        drafts=[
            draft if draft.impossible else with_results(draft, data.draw(TEXTS), [], data.draw(TEXTS))
            for draft in server.drafts
        ],
        label=words,
    )
    text = first_suite([server], words).text
    assert calls(read(text)) == [(each.subject, each.arguments) for each in server.drafts if each.is_active]
    every = [each for each in server.drafts if not each.impossible]
    assert calls(read(turned_on(text))) == [(each.subject, each.arguments) for each in every]
    schemas = dict(reversed(tools))
    for each in every:
        schema = schemas[each.subject]
        assert each.arguments in (valid_arguments(schema or {"type": "object"}).value, {})


@given(st.dictionaries(TEXTS, VALUES, max_size=3))
def test_any_arguments_survive(arguments: dict[str, Any]) -> None:
    draft = Draft("a test", "a tool", arguments, is_generated=True)
    text = first_suite([server_of([SEARCH])._replace(drafts=[draft])], "mcproof run").text
    assert repr(calls(read(text))) == repr([("a tool", arguments)])


# Servers


def entry(
    server: Endpoint, environment: dict[str, str] | None = None, options: EntryOptions | None = None
) -> tuple[str, SecretVariables]:
    variables = SecretVariables(environment or {})
    return "\n".join(entry_lines(server, "local", variables, "", options or EntryOptions())), variables


def entry_read(server: Endpoint, environment: dict[str, str]) -> ServerEntry:
    """The server as the reader of suites finds it, in an environment in which all variables are set."""
    variables = SecretVariables(environment)
    lines = entry_lines(server, "local", variables, "", EntryOptions())
    text = first_suite([server_of([SEARCH])._replace(entry=lines)], "mcproof run").text
    assert SECRET not in text
    return read(text, {**environment, **variables.values}).servers["local"]


def test_a_plain_command_is_written_as_it_is() -> None:
    text, variables = entry(CommandEndpoint(("python", "server.py", "--port", "80", ""), {}))
    assert text == 'command: [python, server.py, --port, "80", ""]'
    assert variables.unset == []


def test_given_connection_settings_are_written() -> None:
    text, _ = entry(UrlEndpoint("https://host/mcp", {}), options=EntryOptions(2.5, "2025-06-18"))
    assert text == 'url: "https://host/mcp"\ntimeout_ms: 2500\nprotocol: "2025-06-18"'


def test_cwd_is_relative_to_the_suite() -> None:
    server = CommandEndpoint(("x",), {}, "servers/one")
    lines = entry_lines(server, "a", SecretVariables({}), "tests", EntryOptions())
    assert lines[1] == 'cwd: "../servers/one"'


@pytest.mark.parametrize(
    ("server", "environment", "expected"),
    [
        (CommandEndpoint(("x",), {"KEY": SECRET}), {}, "env:\n  KEY: {env: KEY}"),
        (CommandEndpoint(("x",), {"KEY": SECRET}), {"KEY": SECRET}, "env:\n  KEY: {env: KEY}"),
        (CommandEndpoint(("x",), {"KEY": SECRET}, None, (SECRET,)), {"TOKEN": SECRET}, "env:\n  KEY: {env: TOKEN}"),
        (CommandEndpoint(("x",), {"KEY": f"a {SECRET} b"}, None, (SECRET,)), {"T": SECRET}, 'env:\n  KEY: "a ${T} b"'),
        (CommandEndpoint(("x", "--api-key", SECRET), {}), {}, 'command: [x, --api-key, "${API_KEY}"]'),
        (CommandEndpoint(("x", f"--token={SECRET}"), {}), {}, 'command: [x, "--token=${TOKEN}"]'),
        (
            CommandEndpoint(("x", "--token", SECRET), {}, None, (SECRET,)),
            {"T": SECRET},
            'command: [x, --token, "${T}"]',
        ),
        (CommandEndpoint(("x", f"--db=pg://me:{SECRET}@host/db"), {}), {}, 'command: [x, "${SECRET}"]'),
        (CommandEndpoint(("x", "--db", f"pg://me:{SECRET}@host/db"), {}), {}, 'command: [x, --db, "${SECRET}"]'),
        (CommandEndpoint(("x", "--token", "***"), {}), {}, 'command: [x, --token, "${TOKEN}"]'),
        (UrlEndpoint("https://host", {"X-Key": SECRET}), {}, "headers:\n  X-Key: {env: X_KEY}"),
        (UrlEndpoint("https://host", {"A": f"Bearer {SECRET}"}, (SECRET,)), {"T": SECRET}, 'A: "Bearer ${T}"'),
        (UrlEndpoint(f"https://host/mcp?key={SECRET}", {}), {}, 'url: "${LOCAL_URL}"'),
        (UrlEndpoint(f"https://me:{SECRET}@host/mcp", {}), {}, 'url: "${LOCAL_URL}"'),
        (
            UrlEndpoint(f"https://host/mcp?key={SECRET}", {}, (SECRET,)),
            {"T": SECRET},
            'url: "https://host/mcp?key=${T}"',
        ),
    ],
)
def test_secrets_become_variables(server: Endpoint, environment: dict[str, str], expected: str) -> None:
    text, variables = entry(server, environment)
    assert expected in text
    assert SECRET not in text
    assert all(environment.get(name) == value for name, value in variables.values.items()) == (not variables.unset)
    found = entry_read(server, environment)
    if isinstance(server, CommandEndpoint):
        assert (found.command, found.environment) == (server.words, server.environment)
    else:
        assert (found.url, found.headers) == (server.url, server.headers)


def test_different_values_get_different_variables() -> None:
    variables = SecretVariables({})
    lines = [
        line
        for name, value in (("one", "first-secret"), ("two", "other-secret"), ("three", "first-secret"))
        for line in entry_lines(CommandEndpoint(("x",), {"KEY": value}), name, variables, "", EntryOptions())
    ]
    assert [line for line in lines if "env: " in line] == [
        "  KEY: {env: KEY}",
        "  KEY: {env: TWO_KEY}",
        "  KEY: {env: KEY}",
    ]
    assert variables.unset == ["KEY", "TWO_KEY"]


def test_invalid_names_are_omitted_with_a_comment() -> None:
    text, _ = entry(CommandEndpoint(("x",), {"A\nB": "1", "\ud800": "2", "C=D": "3"}))
    assert text == (
        "command: [x]\n# A B is omitted: not a valid name in a suite.\n"
        "# \\ud800 is omitted: not a valid name in a suite.\n"
        "# C=D is omitted: not a valid name in a suite."
    )
    text, _ = entry(UrlEndpoint("https://host", {"A B": "1"}))
    assert text.endswith("# A B is omitted: not a valid name in a suite.")


def test_an_unwritable_command_is_refused() -> None:
    with pytest.raises(UnwritableError):
        entry(CommandEndpoint(("x", "\udc80"), {}))


def test_a_capture_provides_the_server_entry() -> None:
    variables = SecretVariables({})
    said = {"command": ["python", "server.py", "--token", "***"]}
    assert captured_lines(said, "local", variables) == [
        "# From the capture: review it before running it.",
        'command: [python, server.py, --token, "${TOKEN}"]',
    ]
    assert variables.unset == ["TOKEN"]
    assert captured_lines({"url": "https://host/mcp"}, "local", variables)[1] == 'url: "https://host/mcp"'


@pytest.mark.parametrize(
    "said", [None, 7, {}, {"command": []}, {"command": "ls"}, {"command": [7]}, {"url": "x"}, {"url": "http://"}]
)
def test_a_capture_without_an_endpoint_gives_no_entry(said: Any) -> None:
    assert captured_lines(said, "local", SecretVariables({})) == []


@given(st.lists(TEXTS.filter(bool), min_size=1, max_size=4), st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_any_command_survives_with_its_variables(words: list[str], pairs: dict[str, str]) -> None:
    clean = {name: value for name, value in pairs.items() if name and "=" not in name}
    clean = {name: value for name, value in clean.items() if f"{name}{value}".isprintable()}
    if any("\0" in word for word in words):
        return
    found = entry_read(CommandEndpoint(tuple(words), clean), {})
    assert (found.command, found.environment) == (tuple(words), clean)
