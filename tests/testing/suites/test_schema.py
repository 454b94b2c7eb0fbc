"""The schema for editors says the same as the reader."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from mcproof.core.text.yaml_document import json_value, parse
from mcproof.testing.suites import model
from mcproof.testing.suites.matchers import NAMES
from mcproof.testing.suites.model import SuiteError
from mcproof.testing.suites.parser import read_suite

from .test_parser import BROKEN

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: dict[str, Any] = json.loads((files("mcproof.testing.suites") / "suite.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)

FULL = """\
variables: {city: Oslo, limit: 3, wait: 500}
servers:
  local: {command: [python, server.py], env: {MODE: test, PORT: 1}, cwd: here, timeout_ms: 100, protocol: "2025-06-18"}
  api:
    url: "https://host/mcp"
    start_timeout_ms: 900
    headers: {Authorization: {env: API_TOKEN}}
    annotations: {search: {readOnlyHint: true, destructiveHint: false}}
  other: {url: "${API_TOKEN}", auth: {bearer_token_env: API_TOKEN}}
setup:
  - run: [./start, --now]
  - {call: {server: local, tool: reset, args: {all: true}}, timeout_ms: 1000}
teardown:
  - call: {server: local, tool: reset}
answers:
  - {kind: roots, reply: ["file:///a", {uri: "file:///b", name: b}]}
  - {kind: sampling, asked: Summarize, reply: In short.}
  - {kind: url, reply: decline}
tools:
  - name: search finds
    server: api
    tool: search
    args: {query: "${city}"}
    tags: [smoke]
    timeout_ms: "${wait}"
    answers:
      - {asked: Which size?, reply: {size: L, count: 2, now: true, extras: [a, b], nick: null}}
      - {kind: form, reply: accept}
    expect:
      assertions:
        - {target: result.isError, matcher: {exact: false}, message: it must not fail}
        - {target: "result.content[0].text", matcher: {contains: anthropic}}
        - {target: "result.content[0].text", matcher: {not: {icontains: ERROR}}}
        - {target: "result.content[0].text", matcher: {contains-all: [a, b]}}
        - {target: "result.content[0].text", matcher: {regex: "^a"}}
        - {target: result, matcher: {snapshot: {name: found, mask: [timestamps, "result.content[*].text"]}}}
        - {target: result, matcher: {snapshot: true}}
        - {target: error, matcher: {exact: null}}
        - {target: "asked[0].message", matcher: {contains: size}}
        - {target: duration_ms, matcher: {schema: {maximum: 100}}}
      max_duration_ms: 2000
  - name: search rejects bad requests
    server: api
    tool: search
    negative_path: {checks: [unknown_tool], expect: [{target: negative_path.failures, matcher: {exact: 0}}]}
    fuzz: {seed: 1, cases: 2, max_call_ms: 3, security: true, expect: [{target: fuzz.crashes, matcher: {exact: 0}}]}
  - {name: lists, server: local, tool: lists, negative_path: , fuzz: }
resources:
  - {name: reads, server: local, uri: "file:///a", expect: [{target: result.contents, matcher: {exact: []}}]}
prompts:
  - {name: asks, server: local, prompt: hello, args: {name: x}}
tool_quality:
  - name: good
    server: local
    expect:
      - {target: min_score, matcher: {schema: {minimum: 0.5}}}
      - {target: 'tool["search"].score', matcher: {schema: {minimum: 0.5}}}
  - {name: usual, server: local}
"""


def test_a_complete_suite_is_valid_for_parser_and_schema(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(FULL, encoding="utf-8")
    suite = read_suite(str(tmp_path / "suite.yaml"), {"API_TOKEN": "https://x"})
    assert len(suite.tests) == 7
    VALIDATOR.validate(json_value(parse(FULL)))


def test_the_schema_has_exactly_the_keys_and_matchers_of_the_parser() -> None:
    assert set(SCHEMA["properties"]) == set(model.KEYS)
    definitions = SCHEMA["$defs"]
    assert set(definitions["matcher"]["properties"]) == {*NAMES, "not"}
    assert set(definitions["negated"]["properties"]) == {*NAMES} - {"snapshot"}


BEYOND_A_SCHEMA = {
    "injections without attacks",
    "nothing to test",
    "an unknown server",
    "no servers",
    "a bad regular expression",
    "a bad schema",
    "an unknown target",
    "a bad path",
    "a target of a block that is not there",
    "an unknown target of a block",
    "an unknown target of quality",
    "a header from nowhere",
    "two tests of one name",
    "an import that is not there",
    "an unknown variable",
    "a mask that leads nowhere",
    "a keyword of a schema that does not exist",
    "a mask of an unknown kind",
    "a gate that says nothing of a number",
    "two snapshots of one name",
    "probes of a list",
    "an invalid header",
    "a mask that is no path",
}
"""What takes more than a look at the shape."""


@pytest.mark.parametrize("name", BROKEN)
def test_the_schema_rejects_structural_problems(name: str) -> None:
    document = json_value(parse(BROKEN[name][0]))
    assert VALIDATOR.is_valid(document) == (name in BEYOND_A_SCHEMA)


def test_the_parser_accepts_nothing_that_the_schema_rejects(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    for number, line in enumerate(FULL.splitlines()):
        text = FULL.replace(line, line.replace(": ", "x: ", 1), 1)
        file.write_text(text, encoding="utf-8")
        try:
            read_suite(str(file), {"API_TOKEN": "https://x"})
        except SuiteError:
            continue
        assert VALIDATOR.is_valid(json_value(parse(text))), (number, line)
