"""Which suites and tests are run: folders, expressions, single tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cli.running import document_of, fails, run
from mcproof.core.errors import UsageError
from mcproof.testing.suites.model import parse_expression

from .suites import outcomes_of, run_json, small, write_suite

if TYPE_CHECKING:
    from pathlib import Path

STDIO = {"command": small()}


def call(name: str, *tags: str) -> dict[str, object]:
    return {"name": name, "server": "s", "tool": "search", "args": {"query": "rose"}, "tags": list(tags)}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of three tests."""
    tests = [call("search finds"), call("search is fast", "slow"), call("Rejects: a::b", "flaky")]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    return tmp_path


# --- expressions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("search", ["search finds", "search fast slow"]),
        ("SEARCH and not slow", ["search finds"]),
        ("search finds", ["search finds"]),
        ("finds or rejects", ["search finds", "rejects flaky"]),
        ("not (finds or rejects)", ["search fast slow"]),
        ("not not finds", ["search finds"]),
        ("search and finds or flaky", ["search finds", "rejects flaky"]),
        ("flaky or search and finds", ["search finds", "rejects flaky"]),
        ("'fast slow'", ["search fast slow"]),
        ('"and" or rejects', ["rejects flaky"]),
        ("nothing", []),
    ],
)
def test_an_expression_selects_by_substrings(expression: str, matching: list[str]) -> None:
    condition = parse_expression(expression)
    texts = ["search finds", "search fast slow", "rejects flaky"]
    assert [text for text in texts if condition(text)] == matching


@pytest.mark.parametrize("expression", ["", "and", "a and", "or b", "not", "(a", "a)", "a (b)", "not and", "()"])
def test_an_invalid_expression_is_an_error(expression: str) -> None:
    with pytest.raises(UsageError, match="is not an expression"):
        parse_expression(expression)


def test_an_expression_without_end_does_not_exhaust_the_stack() -> None:
    with pytest.raises(UsageError, match="nested more than"):
        parse_expression("not " * 100_000 + "a")
    with pytest.raises(UsageError, match="nested more than"):
        parse_expression("(" * 100_000)


def test_k_selects_tests_by_name_and_tag(suite: Path) -> None:
    assert list(outcomes_of(run_json(suite, "-k", "search and not slow"))) == ["tools/search finds"]
    assert "no tests match" in fails("run", "-k", "nothing", cwd=suite)
    assert "-k: `search and` is not an expression" in fails("run", "-k", "search and", cwd=suite)


# --- single tests -------------------------------------------------------------------------------------------------


def test_one_test_is_run_by_its_name(suite: Path) -> None:
    assert list(outcomes_of(run_json(suite, "mcproof.yaml::search finds"))) == ["tools/search finds"]
    assert list(outcomes_of(run_json(suite, "mcproof.yaml::Rejects: a::b"))) == ["tools/Rejects: a::b"]
    both = run_json(suite, "mcproof.yaml::search finds", "mcproof.yaml::search is fast")
    assert list(outcomes_of(both)) == ["tools/search finds", "tools/search is fast"]
    assert len(outcomes_of(run_json(suite, "mcproof.yaml::search finds", "mcproof.yaml"))) == 3


def test_an_unknown_test_is_an_error_with_the_nearest(suite: Path) -> None:
    said = fails("run", "mcproof.yaml::search find", cwd=suite)
    assert "mcproof.yaml: no test `search find` (did you mean `search finds`?)" in said
    assert "missing.yaml" in fails("run", "missing.yaml::search", cwd=suite)


# --- folders ------------------------------------------------------------------------------------------------------


def test_a_folder_stands_for_every_suite_below_it(suite: Path) -> None:
    inner = suite / "servers" / "weather"
    inner.mkdir(parents=True)
    write_suite(inner, {"s": STDIO}, tools=[call("deep")], name="weather.yml")
    for left_out in ("node_modules", ".hidden", "vendor"):
        (suite / left_out).mkdir()
        write_suite(suite / left_out, {"s": STDIO}, tools=[call("other")])
    (suite / "openapi.yaml").write_text("openapi: 3.1.0\nservers:\n- url: https://host\npaths: {}\n")
    (suite / "compose.yaml").write_text("services: {}\n")
    document = document_of(run_json(suite, "."), "tests")
    names = [[test["name"] for test in each["tests"]] for each in document["targets"]]
    assert [each["target"] for each in document["targets"]] == ["mcproof.yaml", "servers/weather/weather.yml"]
    assert names == [["search finds", "search is fast", "Rejects: a::b"], ["deep"]]


def test_what_a_suite_imports_is_not_a_suite_of_its_own(suite: Path) -> None:
    write_suite(suite, {"s": STDIO}, tools=[call("shared")], name="common.yaml")
    (suite / "mcproof.yaml").write_text(f"imports: [common.yaml]\ntools: {json.dumps([call('own')])}\n")
    assert sorted(outcomes_of(run_json(suite, "."))) == ["tools/own", "tools/shared"]


def test_a_folder_without_a_suite_is_an_error(tmp_path: Path) -> None:
    assert "no suite below this folder" in fails("run", ".", cwd=tmp_path)


def test_validate_takes_folders_too(suite: Path) -> None:
    assert run("validate", ".", cwd=suite).stdout == "✓ mcproof.yaml: 3 tests on 1 server\n"
