from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.testing.suites.model import SuiteError
from mcproof.testing.suites.parser import read_suite

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.testing.suites.model import Suite

SERVERS = "servers:\n  local: {command: [python, server.py]}\n"
TOOLS = f"{SERVERS}tools:\n"


def read(folder: Path, text: str, environment: dict[str, str] | None = None, name: str = "suite.yaml") -> Suite:
    (folder / name).write_text(text, encoding="utf-8")
    return read_suite(str(folder / name), {} if environment is None else environment)


def problems(folder: Path, text: str, environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SuiteError) as error:
        read(folder, text, environment)
    prefix = str(folder / "suite.yaml") + ":"
    return [str(each).removeprefix(prefix) for each in error.value.problems]


def test_a_tool_test_is_parsed(tmp_path: Path) -> None:
    suite = read(
        tmp_path,
        TOOLS
        + """\
  - name: finds
    server: local
    tool: search
    args: {query: no, limit: 3}
    tags: [smoke]
    expect:
      - {target: "result.content[0].text", matcher: {not: {contains: x}}, message: why not}
""",
    )
    (test,) = suite.tests
    assert (test.block, test.name, test.server, test.subject) == ("tools", "finds", "local", "search")
    assert test.arguments == {"query": "no", "limit": 3}
    assert test.tags == ("smoke",)
    assert test.expect is not None
    (assertion,) = test.expect.assertions
    assert assertion.path.text == "result.content[0].text"
    assert (assertion.matcher.name, assertion.matcher.is_negated) == ("contains", True)
    assert assertion.message == "why not"
    assert assertion.location.line == 10


def test_the_long_form_of_expect_has_a_time_limit(tmp_path: Path) -> None:
    text = TOOLS + "  - {name: n, server: local, tool: t, expect: {assertions: [], max_duration_ms: 5}}"
    assert problems(tmp_path, text) == ["4:60: empty `expect`; omit it to use the default"]
    suite = read(tmp_path, TOOLS + "  - {name: n, server: local, tool: t, expect: {max_duration_ms: 5}}")
    assert suite.tests[0].expect is not None
    assert suite.tests[0].expect.max_duration_ms == 5


def test_expectations_for_a_block_belong_to_the_block(tmp_path: Path) -> None:
    (test,) = read(
        tmp_path,
        TOOLS
        + """\
  - name: n
    server: local
    tool: t
    negative_path:
    fuzz: {seed: 1729, cases: 64, max_call_ms: 2000}
    expect:
      - {target: negative_path.failures, matcher: {exact: 0}}
      - {target: fuzz.crashes, matcher: {exact: 0}}
""",
    ).tests
    assert test.expect is None
    assert not test.makes_call
    assert test.negative_path is not None
    assert test.negative_path.expect is not None
    assert [each.path.text for each in test.negative_path.expect.assertions] == ["negative_path.failures"]
    assert test.fuzz is not None
    assert test.fuzz[:3] == (1729, 64, 2000)


def test_variables_are_substituted_and_keep_their_type(tmp_path: Path) -> None:
    text = """\
variables: {limit: 3, city: Oslo}
servers:
  api: {url: "https://${HOST}/mcp", headers: {Authorization: {env: TOKEN}}}
tools:
  - {name: "of ${city}", server: api, tool: t, args: {n: "${limit}", text: "${limit} in ${city}", raw: "$${x}"}}
"""
    suite = read(tmp_path, text, {"HOST": "example.org", "TOKEN": "s3cret"})
    assert suite.servers["api"].url == "https://example.org/mcp"
    assert suite.servers["api"].headers == {"Authorization": "s3cret"}
    assert suite.tests[0].name == "of Oslo"
    assert suite.tests[0].arguments == {"n": 3, "text": "3 in Oslo", "raw": "${x}"}
    assert suite.secrets == ("example.org", "s3cret")


def test_unset_variables_are_problems_only_in_a_run(tmp_path: Path) -> None:
    text = 'servers: {a: {url: "${HOST}"}}\ntools: [{name: n, server: a, tool: t}]'
    assert problems(tmp_path, text) == ["1:20: `${HOST}` is not defined in `variables` or the environment"]
    (tmp_path / "suite.yaml").write_text(text, encoding="utf-8")
    assert read_suite(str(tmp_path / "suite.yaml"), None).servers["a"].url == "${HOST}"


def test_a_default_replaces_an_unset_variable(tmp_path: Path) -> None:
    text = 'servers: {a: {url: "${HOST:-http://localhost}/mcp"}}\ntools: [{name: n, server: a, tool: t}]'
    assert read(tmp_path, text).servers["a"].url == "http://localhost/mcp"


def test_arguments_may_be_empty_but_not_the_program(tmp_path: Path) -> None:
    rest = "\ntools: [{name: n, server: a, tool: t}]"
    suite = read(tmp_path, "servers: {a: {command: [x, '']}}" + rest)
    assert suite.servers["a"].command == ("x", "")
    assert problems(tmp_path, "servers: {a: {command: ['', x]}}" + rest) == [
        "1:25: an item of `command` of the server `a` is empty"
    ]


def test_imports_add_servers_and_tests_with_overridable_variables(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        'variables: {city: Oslo}\nservers: {a: {command: [x, "${city}"]}}\ntools: [{name: one, server: a, tool: t}]',
        encoding="utf-8",
    )
    suite = read(tmp_path, "imports: [base.yaml]\nvariables: {city: Rome}\ntools: [{name: two, server: a, tool: t}]")
    assert [test.name for test in suite.tests] == ["one", "two"]
    assert suite.servers["a"].command == ("x", "Rome")


def test_circular_imports_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("imports: [suite.yaml]\n", encoding="utf-8")
    with pytest.raises(SuiteError) as error:
        read(tmp_path, "imports: [other.yaml]\n" + TOOLS + "  - {name: n, server: local, tool: t}")
    (problem,) = error.value.problems
    assert problem.file == str(tmp_path / "other.yaml")
    assert problem[1:] == (1, 11, "circular import of `suite.yaml`")


TEST = "  - {name: n, server: local, tool: t"

BROKEN: dict[str, tuple[str, list[str]]] = {
    "an unknown block": (
        SERVERS + "tool_qualty: []\n",
        [
            "3:1: unknown key `tool_qualty` in a suite (did you mean `tool_quality`?); expected one of "
            "servers, variables, imports, setup, teardown, answers, tools, resources, prompts, tool_quality",
        ],
    ),
    "an answer to an unknown kind of question": (
        TOOLS + "  - {name: a, server: local, tool: t, answers: [{kind: frm, reply: accept}]}\n",
        ["4:56: unknown kind `frm` (did you mean `form`?); expected one of form, url, sampling, roots"],
    ),
    "an answer that is not a reply": (
        TOOLS + "  - {name: a, server: local, tool: t, answers: [{reply: sure}]}\n",
        ["4:57: `reply` must be accept, decline or cancel, or a mapping with fields, not `sure`"],
    ),
    "roots with a text": (
        "answers: [{kind: roots, asked: x, reply: []}]\n" + TOOLS + "  - {name: a, server: local, tool: t}\n",
        ["1:32: `asked` cannot be combined with `kind: roots`, which has no text"],
    ),
    "nothing to test": (
        SERVERS,
        [
            "1:1: no tests; add one of tools, resources, prompts, tool_quality",
        ],
    ),
    "no mapping at all": (
        "- a\n",
        [
            "1:1: a suite must be a mapping with servers, variables, imports, setup, teardown, answers, tools, "
            "resources, prompts, tool_quality, not a list",
        ],
    ),
    "annotations": (
        "servers:\n  local:\n    command: [x]\n    annotations:\n      serch: {readOnlyHint: true}\n"
        "      search: {readOnly: true, destructiveHint: no thanks}\n"
        "tools:\n  - {name: n, server: local, tool: search}\n",
        [
            "5:14: no test of the server `local` names the tool `serch` (did you mean `search`?)",
            "6:16: unknown key `readOnly` in the annotations of `search` (did you mean `readOnlyHint`?); expected one "
            "of readOnlyHint, destructiveHint",
            "6:49: `destructiveHint` in the annotations of `search` must be true or false, not a string",
        ],
    ),
    "an unknown server": (
        TOOLS + "  - {name: n, server: locl, tool: t}\n",
        [
            "4:23: unknown server `locl` (did you mean `local`?); expected one of local",
        ],
    ),
    "no servers": (
        "tools:\n" + TEST + "}\n",
        [
            "2:23: unknown server `local`; there is no `servers` block",
        ],
    ),
    "an unknown key in a test": (
        TOOLS + TEST + ", arguments: {}}\n",
        [
            "4:39: unknown key `arguments` in the test `n` (did you mean `args`?); expected one of name, "
            "server, tool, args, steps, answers, expect, tags, timeout_ms, negative_path, fuzz",
        ],
    ),
    "a test without its tool": (
        TOOLS + "  - {name: n, server: local}\n",
        [
            "4:5: the test `n` lacks `tool`",
        ],
    ),
    "a test without anything": (
        TOOLS + "  - {}\n",
        [
            "4:5: a test in `tools` lacks `name`",
            "4:5: a test in `tools` lacks `server`",
            "4:5: a test in `tools` lacks `tool`",
        ],
    ),
    "an unknown matcher": (
        TOOLS + TEST + ", expect: [{target: error, matcher: {contain: x}}]}\n",
        [
            "4:74: unknown matcher `contain` (did you mean `contains`?); expected one of exact, contains, "
            "icontains, contains-all, regex, schema, snapshot, not",
        ],
    ),
    "two matchers at once": (
        TOOLS + TEST + ", expect: [{target: error, matcher: {exact: 1, contains: x}}]}\n",
        [
            "4:73: a matcher must be a mapping with one key, such as {contains: text}, not 2 keys",
        ],
    ),
    "a bad regular expression": (
        TOOLS + TEST + ", expect: [{target: error, matcher: {regex: '(a'}}]}\n",
        [
            "4:81: `(a` is not a valid regular expression",
        ],
    ),
    "a bad schema": (
        TOOLS + TEST + ", expect: [{target: error, matcher: {schema: {type: nubmer}}}]}\n",
        [
            '4:82: `schema` is invalid: it is not a valid schema: "nubmer" is not valid under any of '
            "the schemas listed in the 'anyOf' keyword",
        ],
    ),
    "an unknown target": (
        TOOLS + TEST + ", expect: [{target: results.content, matcher: {exact: 1}}]}\n",
        [
            "4:57: unknown target `results.content` (did you mean `result`?); expected one of "
            "result, error, rejected, duration_ms, asked",
        ],
    ),
    "a bad path": (
        TOOLS + TEST + ", expect: [{target: 'result.content[x]', matcher: {exact: 1}}]}\n",
        [
            "4:57: the target `result.content[x]` has a syntax error at `[x]`; a path looks like "
            "`result.content[0].text`",
        ],
    ),
    "a target of a block that is not there": (
        TOOLS + TEST + ", expect: [{target: fuzz.crashes, matcher: {exact: 0}}]}\n",
        [
            "4:57: the target `fuzz.crashes` needs a `fuzz` block in the same test",
        ],
    ),
    "an unknown target of a block": (
        TOOLS + TEST + ", fuzz: {expect: [{target: fuzz.crash, matcher: {exact: 0}}]}}\n",
        [
            "4:64: unknown target `fuzz.crash` (did you mean `fuzz.crashes`?); expected one of "
            "fuzz.cases_run, fuzz.crashes, fuzz.hangs, fuzz.protocol_violations, fuzz.leaks, "
            "fuzz.injections, fuzz.accepted, fuzz.gate_passed",
        ],
    ),
    "injections without attacks": (
        TOOLS + TEST + ", fuzz: {expect: [{target: fuzz.injections, matcher: {exact: 0}}]}}\n",
        [
            "4:45: the target `fuzz.injections` needs `security: true` in the `fuzz` block",
        ],
    ),
    "security that is not a boolean": (
        TOOLS + TEST + ", fuzz: {security: much}}\n",
        [
            "4:56: `security` must be true or false",
        ],
    ),
    "an unknown check": (
        TOOLS + TEST + ", negative_path: {checks: [unknown_tol]}}\n",
        [
            "4:64: unknown check `unknown_tol` (did you mean `unknown_tool`?); expected one of unknown_tool, "
            "missing_required, wrong_type, extra_field, oversized",
        ],
    ),
    "an unknown target of quality": (
        SERVERS
        + "tool_quality:\n  - {name: q, server: local, expect: [{target: schema_critical, matcher: {exact: 0}}]}\n",
        [
            "4:48: unknown target `schema_critical` (did you mean `schema_criticals`?); expected one of "
            "min_score, mean_score, critical_count, warning_count, schema_criticals, schema_warnings, "
            'tool["NAME"].score',
        ],
    ),
    "a command for a shell": (
        "servers: {local: {command: python server.py}}\ntools:\n" + TEST + "}\n",
        [
            "1:28: `command` of the server `local` must be a list, such as [python, server.py]; no shell is used",
        ],
    ),
    "both a command and a URL": (
        "servers: {local: {command: [x], url: 'http://x'}}\ntools:\n" + TEST + "}\n",
        [
            "1:18: the server `local` has both a `command` and a `url`; exactly one is required",
        ],
    ),
    "neither a command nor a URL": (
        "servers: {local: {env: {A: b}}}\ntools:\n" + TEST + "}\n",
        [
            "1:18: the server `local` has neither a `command` nor a `url`; exactly one is required",
        ],
    ),
    "an invalid address": (
        "servers: {local: {url: 'ftp://x'}}\ntools:\n" + TEST + "}\n",
        [
            "1:24: `url` of the server `local` must be a URL such as https://host/mcp",
        ],
    ),
    "a variable that is a list": (
        "servers: {local: {url: 'http://x', auth: {bearer_token_env: [A]}}}\ntools:\n" + TEST + "}\n",
        [
            "1:61: `bearer_token_env` of the server `local` must be a string, not a list",
        ],
    ),
    "a header from nowhere": (
        "servers: {local: {url: 'http://x', headers: {A: {env: NOT_SET}}}}\ntools:\n" + TEST + "}\n",
        [
            "1:55: the environment variable NOT_SET is not set",
        ],
    ),
    "two tests of one name": (
        f"{TOOLS}{TEST}}}\n{TEST}}}\n",
        [
            "5:12: duplicate test name in `tools`; first used at FOLDER/suite.yaml:4",
        ],
    ),
    "a number for a name": (
        TOOLS + "  - {name: 3, server: local, tool: t}\n",
        [
            "4:12: `name` of a test in `tools` must be a string, not a number; quote it",
        ],
    ),
    "a time limit in words": (
        TOOLS + TEST + ", timeout_ms: soon}\n",
        [
            "4:51: `timeout_ms` of the test `n` must be an integer from 1 to 3,600,000",
        ],
    ),
    "an import that is not there": (
        "imports: [gone.yaml]\n" + TOOLS + TEST + "}\n",
        [
            "1:11: cannot import `FOLDER/gone.yaml`: no such file",
        ],
    ),
    "an unknown variable": (
        TOOLS + "  - {name: '${NOBODY}', server: local, tool: t}\n",
        [
            "4:12: `${NOBODY}` is not defined in `variables` or the environment",
        ],
    ),
    "a mask that leads nowhere": (
        TOOLS + TEST + ", expect: [{target: result, matcher: {snapshot: {mask: [content]}}}]}\n",
        [
            "4:93: unknown mask `content`; expected a path from `result` or `error`, or `timestamps` or `uuids`",
        ],
    ),
    "a mask that is no path": (
        TOOLS + TEST + ", expect: [{target: result, matcher: {snapshot: {mask: ['result[']}}}]}\n",
        [
            "4:93: `result[` has a syntax error at `[`; a path looks like `result.content[0].text`",
        ],
    ),
    "a step that does nothing": (
        TOOLS + TEST + "}\nsetup: [{timeout_ms: 3}]\n",
        [
            "5:9: a step must have either `run` or `call`",
        ],
    ),
    "a keyword of a schema that does not exist": (
        TOOLS + TEST + ", expect: [{target: result, matcher: {schema: {maximun: 0}}}]}\n",
        [
            "4:83: unknown keyword `maximun` in `schema` (did you mean `maximum`?)",
        ],
    ),
    "a gate that says nothing of a number": (
        SERVERS
        + "tool_quality:\n"
        + "  - {name: q, server: local, expect: [{target: min_score, matcher: {schema: {maxLength: 3}}}]}\n",
        [
            "4:77: `min_score` is a number; its schema needs one of const, enum, exclusiveMaximum, exclusiveMinimum, "
            "maximum, minimum, multipleOf",
        ],
    ),
    "a mask of an unknown kind": (
        TOOLS + TEST + ", expect: [{target: result, matcher: {snapshot: {mask: [uuids, timestamp]}}}]}\n",
        [
            "4:100: unknown mask `timestamp` (did you mean `timestamps`?); expected a path from `result` or `error`, "
            "or `timestamps` or `uuids`",
        ],
    ),
    "two snapshots of one name": (
        TOOLS
        + TEST
        + ", expect: [{target: result, matcher: {snapshot: x}}, {target: error, matcher: {snapshot: x}}]}\n",
        [
            "4:126: duplicate snapshot name; first used at FOLDER/suite.yaml:4",
        ],
    ),
    "not of not": (
        TOOLS + TEST + ", expect: [{target: result, matcher: {not: {not: {exact: 1}}}}]}\n",
        [
            "4:81: `not` cannot be combined with `not`",
        ],
    ),
    "probes of a list": (
        TOOLS + "  - {name: n, server: local, tool: tools/list, negative_path: }\n",
        [
            "4:63: `tools/list` is not a tool, so `negative_path` cannot be used with it",
        ],
    ),
    "an invalid header": (
        "servers: {local: {url: 'http://x', headers: {bad name: x}}}\ntools:\n" + TEST + "}\n",
        [
            "1:56: `bad name` in `headers` of the server `local` is not a valid header name",
        ],
    ),
    "several mistakes at once": (
        "server: {}\ntools:\n  - {name: n, sever: local, tol: t}\n",
        [
            "1:1: unknown key `server` in a suite (did you mean `servers`?); expected one of servers, "
            "variables, imports, setup, teardown, answers, tools, resources, prompts, tool_quality",
            "3:5: the test `n` lacks `server`",
            "3:5: the test `n` lacks `tool`",
            "3:15: unknown key `sever` in the test `n` (did you mean `server`?); expected one of name, "
            "server, tool, args, steps, answers, expect, tags, timeout_ms, negative_path, fuzz",
            "3:29: unknown key `tol` in the test `n` (did you mean `tool`?); expected one of name, server, "
            "tool, args, steps, answers, expect, tags, timeout_ms, negative_path, fuzz",
        ],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_problem_messages(name: str, tmp_path: Path) -> None:
    text, messages = BROKEN[name]
    assert [each.replace(str(tmp_path), "FOLDER") for each in problems(tmp_path, text)] == messages


def test_the_number_of_reported_problems_is_limited(tmp_path: Path) -> None:
    assert len(problems(tmp_path, TOOLS + "  - {}\n" * 1_000)) == 50


def test_the_error_is_the_first_problem_and_counts_the_others(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as error:
        read(tmp_path, TOOLS + "  - {}\n")
    assert error.value.message == "a test in `tools` lacks `name` (and 2 more)"
    assert (error.value.line, error.value.column) == (4, 5)


EVERYWHERE = """\
variables: {limit: 3, wait: "${WAIT:-5000}", who: "${WHO:-bob} and ${limit}"}
servers:
  local: {command: [python, server.py], protocol: "${PROTO}", timeout_ms: "${wait}"}
tools:
  - name: n
    server: "${SERVER:-local}"
    tool: t
    args: {a: "${limit:-5}", b: "${who}"}
    timeout_ms: "${WAIT:-5000}"
    expect: [{target: "${TARGET}", matcher: {regex: "${PATTERN}"}}]
    negative_path: {checks: ["${CHECK}"]}
    fuzz: {cases: "${limit}"}
"""
VALUES = {"PROTO": "2025-06-18", "TARGET": "result.isError", "PATTERN": "^a", "CHECK": "wrong_type", "WAIT": "700"}


def test_environment_variables_are_allowed_everywhere(tmp_path: Path) -> None:
    suite = read(tmp_path, EVERYWHERE, VALUES)
    (test,) = suite.tests
    entry = suite.servers["local"]
    assert (entry.protocol, entry.timeout_ms, test.timeout_ms, test.server) == ("2025-06-18", 700, 700, "local")
    assert test.arguments == {"a": 3, "b": "bob and 3"}
    assert test.expect is not None
    assert [each.path.text for each in test.expect.assertions] == ["result.isError"]
    assert test.negative_path is not None
    assert test.negative_path.checks == ("wrong_type",)
    assert test.fuzz is not None
    assert test.fuzz.cases == 3


def test_environment_variables_are_not_needed_for_validation(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(EVERYWHERE, encoding="utf-8")
    assert len(read_suite(str(tmp_path / "suite.yaml"), None).tests) == 1


def test_the_size_after_substitution_is_limited(tmp_path: Path) -> None:
    text = f"variables: {{a: {'x' * 100_000}}}\n" + TOOLS
    text += "".join(f"  - {{name: n{number}, server: local, tool: '${{a}}${{a}}${{a}}'}}\n" for number in range(100))
    (said,) = {each.partition(": ")[2] for each in problems(tmp_path, text) if "characters" in each}
    assert said == "more than 4,000,000 characters after variable substitution"


def test_snapshots_of_one_target_get_unique_names(tmp_path: Path) -> None:
    assertion = "{target: result, matcher: {snapshot: true}}"
    text = f"{TOOLS}{TEST}, expect: [{assertion}, {assertion}]}}\n"
    text += f"resources:\n  - {{name: n, server: local, uri: 'x:y', expect: [{assertion}]}}\n"
    suite = read(tmp_path, text)
    names = [each.snapshot for test in suite.tests if test.expect for each in test.expect.assertions]
    assert names == ["tools/n: result", "tools/n: result (2)", "resources/n: result"]


def test_a_file_that_is_not_a_suite_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("password: hunter2\n", encoding="utf-8")
    (said,) = problems(tmp_path, f"imports: [secret.txt]\n{TOOLS}{TEST}}}\n")
    assert "it must end in .yaml or .yml" in said
