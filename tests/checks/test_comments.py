"""Comments in source that suppress findings, and those that say nothing any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.running import document_of, run
from mcproof.checks.ignores import COMMENTED, IGNORED, IgnoreFor, IgnoreTracker, Suppression
from mcproof.checks.rule import Rule, choose_rules
from mcproof.core.errors import SettingLocation
from mcproof.runs.judging import CatalogFindings, Plan, find_problems
from mcproof.targets.folders import read_source

if TYPE_CHECKING:
    from pathlib import Path

STRICT = choose_rules(["strict"])

SERVER = """\
from mcp.server import Server
from mcp.types import Tool

server = Server("shop")


@server.list_tools()
async def list_tools():
    return [
        Tool(name="buy", inputSchema={"type": "object", "properties": {"n": {"type": "integer"}}}),  # buy
        Tool(  # sell
            name="sell",
            inputSchema={"type": "object", "properties": {"n": {"type": "integer"}}},
        ),  # end
    ]
"""
BUY, SELL, END = 10, 11, 14

DECORATED = """\
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shop")


@mcp.tool()  # decorator
def buy(n: int) -> str:  # def
    return ""  # body


@mcp.prompt()
def ask() -> str:
    return ""
"""

CLEAN = """\
from mcp.server import Server
from mcp.types import Tool

server = Server("shop")


@server.list_tools()
async def list_tools():
    return [
        Tool(  # mcproof: ignore
            name="find_book",
            title="Find a book",
            description="Find a book by words of its title. Use it when you look for a book. Returns its shelf.",
            inputSchema={
                "type": "object",
                "properties": {"title": {"type": "string", "description": "Words of the title.", "maxLength": 100}},
                "required": ["title"],
                "additionalProperties": False,
            },
        ),
    ]
"""


def written(tmp_path: Path, text: str, **comments: str) -> str:
    """A source file in which some of its comments say something else."""
    for mark, comment in comments.items():
        assert text.count(f"# {mark}\n") == 1
        text = text.replace(f"# {mark}\n", f"{comment}\n")
    path = tmp_path / "server.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def judged(
    file: str, rules: list[Rule] = STRICT, tracker: IgnoreTracker | None = None, ignores: tuple[IgnoreFor, ...] = ()
) -> CatalogFindings:
    return find_problems(read_source(file), Plan(rules, "note", ignores), tracker or IgnoreTracker())


def suppressed(found: CatalogFindings) -> set[tuple[str, str]]:
    return {
        (each.rule.id, each.item.label)
        for each, why in zip(found.findings, found.suppressions, strict=True)
        if why is not None
    }


def remarks(file: str, rules: list[Rule] = STRICT) -> list[tuple[str, str, int]]:
    tracker = IgnoreTracker()
    judged(file, rules, tracker)
    return [(each.kind, each.message, each.line) for each in tracker.notices.values() if each is not None]


# --- what is suppressed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "comment",
    [
        "# mcproof: ignore[SCH-001]",
        "# mcproof:ignore[sch-001]",
        "#mcproof: ignore [ SCH-001 , ]",
        "# mcproof: ignore[no-required-list]",
        "# noqa: E501  # mcproof: ignore[SCH-001]",
        "# mcproof: ignore[SCH-001]  # noqa: E501",
        "# mcproof: ignore[SCH-003] # mcproof: ignore[SCH-001]",
    ],
)
def test_a_rule_is_ignored_for_the_tool_on_whose_line_the_comment_stands(tmp_path: Path, comment: str) -> None:
    assert suppressed(judged(written(tmp_path, SERVER, buy=comment))) == {("SCH-001", "buy")}


def test_several_rules_and_whole_rulesets_can_be_named(tmp_path: Path) -> None:
    file = written(tmp_path, SERVER, buy="# mcproof: ignore[SCH-001, SCH-002]", sell="# mcproof: ignore[strict]")
    assert suppressed(judged(file)) == {(rule, tool) for rule in ("SCH-001", "SCH-002") for tool in ("buy", "sell")}


def test_without_brackets_everything_is_ignored_for_that_tool(tmp_path: Path) -> None:
    found = judged(written(tmp_path, SERVER, sell="# mcproof: ignore"), choose_rules(["strict", "grade"]))
    assert {each.item.label for each in found.active} >= {"buy"}
    assert "sell" not in {each.item.label for each in found.active}


@pytest.mark.parametrize("where", ["decorator", "def"])
def test_a_comment_may_stand_on_the_decorator_or_the_def(tmp_path: Path, where: str) -> None:
    file = written(tmp_path, DECORATED, **{where: "# mcproof: ignore[SCH-002]"})
    assert suppressed(judged(file)) == {("SCH-002", "buy")}


HEADER = """\
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shop")


@mcp.tool()  # decorator
def buy(  # def
    a: int,  # first
    b: int, c: int,  # second
) -> str:  # end
    return ""
"""


@pytest.mark.parametrize(
    ("where", "ignored"),
    [("first", "a"), ("second", "bc"), ("def", "abc"), ("decorator", "abc"), ("end", "abc")],
)
def test_a_comment_on_the_line_of_a_parameter_is_about_that_parameter(tmp_path: Path, where: str, ignored: str) -> None:
    file = written(tmp_path, HEADER, **{where: "# mcproof: ignore[prop-no-description]"})
    found, every = judged(file, choose_rules(["grade"])), "/inputSchema/properties/"
    standing = {each.pointer for each in found.active if each.rule.id == "prop-no-description"}
    assert standing == {every + name for name in "abc" if name not in ignored}


@pytest.mark.parametrize("where", ["begin", "within", "last"])
def test_a_parameter_may_take_several_lines(tmp_path: Path, where: str) -> None:
    parameter = "    a: list[  # begin\n        int  # within\n    ] = (),  # last\n"
    text = HEADER.replace("    a: int,  # first\n", "").replace("c: int,  # second\n", f"c: int,\n{parameter}")
    file = written(tmp_path, text, **{where: "# mcproof: ignore[prop-no-description]"})
    standing = {each.pointer[-1] for each in judged(file, choose_rules(["grade"])).active if each.parameter is not None}
    assert standing == {"b", "c"}


def test_a_comment_on_the_line_of_a_parameter_leaves_the_rest_of_the_tool(tmp_path: Path) -> None:
    file, rules = written(tmp_path, HEADER, first="# mcproof: ignore[tool-no-description]"), choose_rules(["grade"])
    assert suppressed(judged(file, rules)) == set()
    assert "tool-no-description" in {each.rule.id for each in judged(file, rules).active}
    assert [message for _, message, _ in remarks(file, rules)] == [
        "unused: `ignore[tool-no-description]` suppressed nothing in this run"
    ]


SPELT_OUT = """\
from mcp.server import Server
from mcp.types import Tool

server = Server("shop")
SELLS = (
    "Sells "  # elsewhere
    "all of it."
)


@server.list_tools()
async def list_tools():
    return [
        Tool(
            name="sell",
            description=SELLS,
            inputSchema={  # schema
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},  # first
                    "m": {  # second
                        "type": "integer",
                    },
                },
            },  # closing
        ),
    ]
"""


@pytest.mark.parametrize(
    ("where", "rule", "ignored"),
    [
        ("first", "MP002", {"/inputSchema/properties/n"}),
        ("second", "MP002", {"/inputSchema/properties/m"}),
        ("schema", "MP002", set()),
        ("schema", "MP004", {"/inputSchema"}),
        ("closing", "MP004", {"/inputSchema"}),
        ("first", "MP004", set()),
        ("elsewhere", "MP020", {"/description"}),
    ],
)
def test_a_comment_on_the_line_of_a_part_is_about_what_is_written_there(
    tmp_path: Path, where: str, rule: str, ignored: set[str]
) -> None:
    found = judged(written(tmp_path, SPELT_OUT, **{where: f"# mcproof: ignore[{rule}]"}), choose_rules(["polish"]))
    assert {
        each.pointer for each, why in zip(found.findings, found.suppressions, strict=True) if why is not None
    } == ignored


def test_a_comment_behind_a_docstring_is_about_it(tmp_path: Path) -> None:
    text = DECORATED.replace('    return ""  # body', '    """Buys.\n\n    More."""  # docstring', 1)
    found = judged(written(tmp_path, text, docstring="# mcproof: ignore[MP020]"), choose_rules(["polish"]))
    assert suppressed(found) == {("MP020", "buy")}


def test_a_comment_on_a_def_counts_where_another_file_registers_it(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text("def f(n: int):  # mcproof: ignore[SCH-002]\n    ...\n")
    file = tmp_path / "server.py"
    file.write_text('from mcp.server.fastmcp import FastMCP\nimport more\nmcp = FastMCP("x")\nmcp.add_tool(more.f)\n')
    assert suppressed(judged(str(tmp_path))) == {("SCH-002", "f")}


OTHERS = """\
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shop")


@mcp.prompt()  # prompt
def ask(topic: str) -> str:  # def
    return ""  # body


@mcp.resource("shop://shelf")  # resource
def shelf() -> str:
    return ""


@mcp.resource("shop://shelf/{number}")  # template
def numbered(number: str) -> str:
    return ""
"""


@pytest.mark.parametrize(
    ("where", "label"),
    [("prompt", "ask"), ("def", "ask"), ("resource", "shelf"), ("template", "numbered")],
)
def test_prompts_and_resources_are_ignored_on_their_own_lines(tmp_path: Path, where: str, label: str) -> None:
    file = written(tmp_path, OTHERS, **{where: "# mcproof: ignore"})
    rules = choose_rules(["grade"])
    assert {name for _, name in suppressed(judged(file, rules))} <= {label}
    assert {each.item.label for each in judged(file, rules).active}.isdisjoint({label})
    assert not [message for _, message, _ in remarks(file, rules) if "is not on a line" in message]


def test_a_rule_named_for_a_prompt_is_ignored_for_that_prompt_only(tmp_path: Path) -> None:
    text = OTHERS + '\n\n@mcp.prompt()\ndef beg(topic: str) -> str:\n    return ""\n'
    file = written(tmp_path, text, prompt="# mcproof: ignore[prompt-no-description]")
    assert suppressed(judged(file, choose_rules(["grade"]))) == {("prompt-no-description", "ask")}
    assert ("prompt-no-description", "beg") in {
        (each.rule.id, each.item.label) for each in judged(file, choose_rules(["grade"])).active
    }


def test_a_comment_in_the_body_of_a_prompt_suppresses_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, OTHERS, body="# mcproof: ignore[prompt-no-description]")
    assert suppressed(judged(file, choose_rules(["grade"]))) == set()


def test_ignore_file_holds_for_everything_in_that_file_and_for_no_other(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(DECORATED.replace("buy", "lend"), encoding="utf-8")
    written(tmp_path, SERVER, end="# mcproof: ignore-file[SCH-002]")
    assert suppressed(judged(str(tmp_path))) == {("SCH-002", "buy"), ("SCH-002", "sell")}


def test_ignore_file_without_brackets_ignores_every_rule_and_every_kind_of_item(tmp_path: Path) -> None:
    file = written(tmp_path, DECORATED, body="# mcproof: ignore-file")
    found = judged(file, choose_rules(["strict", "grade"]))
    assert {each.item.kind for each in found.findings} == {"tool", "prompt"}
    assert found.active == []


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("# mcproof: ignore[SCH-001] frozen until v3", "frozen until v3"),
        ("# mcproof: ignore[SCH-001]: see #12", "see #12"),
        ("# mcproof: ignore[SCH-001] -- the old client  # noqa: E501", "the old client"),
        ("# mcproof: ignore[SCH-001]", None),
        ("# mcproof: ignore[SCH-001]   # noqa", None),
        ("# mcproof: ignore the old client", "the old client"),
        (f"# mcproof: ignore {'x' * 9000}", "x" * 500),
    ],
)
def test_the_reason_and_the_place_of_the_comment_are_kept(tmp_path: Path, comment: str, reason: str | None) -> None:
    file = written(tmp_path, SERVER, buy=comment)
    assert set(judged(file).suppressions) == {None, Suppression(COMMENTED, reason, file, BUY)}


def test_what_a_comment_ignores_does_not_count_for_a_score(tmp_path: Path) -> None:
    found = judged(written(tmp_path, SERVER, buy="# mcproof: ignore[strict]"))
    assert {each.item.name for each in found.scored} == {"sell"}


def test_a_comment_is_needed_even_where_the_configuration_says_the_same(tmp_path: Path) -> None:
    file, tracker = written(tmp_path, SERVER, buy="# mcproof: ignore[SCH-001]"), IgnoreTracker()
    entry = IgnoreFor("tool", "buy", frozenset(["SCH-001"]), ("SCH-001",), None, SettingLocation("mcproof.toml", 1))
    found = judged(file, tracker=tracker, ignores=(entry,))
    assert {why.by for why in found.suppressions if why is not None} == {IGNORED}
    assert list(tracker.notices.values()) == [None]
    assert tracker.unused() == []


def test_a_string_that_looks_like_a_comment_suppresses_nothing(tmp_path: Path) -> None:
    text = SERVER.replace('name="buy",', 'name="buy", description="# mcproof: ignore",')
    assert suppressed(judged(written(tmp_path, text))) == set()
    assert remarks(written(tmp_path, text)) == []


# --- what is not needed -------------------------------------------------------------------------------------------


def test_a_comment_that_suppresses_nothing_is_unused(tmp_path: Path) -> None:
    file = written(tmp_path, SERVER, buy="# mcproof: ignore[SCH-003] why", sell="# mcproof: ignore[SCH-001]")
    assert remarks(file) == [("unused-ignore", "unused: `ignore[SCH-003]` suppressed nothing in this run", BUY)]


@pytest.mark.parametrize("comment", ["# mcproof: ignore[SCH-003, CAT-001]", "# mcproof: ignore[grade]"])
def test_a_comment_with_a_rule_that_did_not_run_is_not_unused(tmp_path: Path, comment: str) -> None:
    assert remarks(written(tmp_path, SERVER, buy=comment)) == []


def test_a_comment_for_everything_is_unused_only_where_everything_ran(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text(CLEAN, encoding="utf-8")
    assert remarks(str(tmp_path / "clean.py")) == []
    unused = "unused: `ignore` suppressed nothing in this run"
    assert [message for _, message, _ in remarks(str(tmp_path / "clean.py"), choose_rules(["all"]))] == [unused]


@pytest.mark.parametrize("where", ["end", "body"])
def test_a_comment_on_no_line_of_a_tool_is_unused_whatever_ran(tmp_path: Path, where: str) -> None:
    text = SERVER if where == "end" else DECORATED
    file = written(tmp_path, text, **{where: "# mcproof: ignore[MP-none, grade]"})
    said = [message for kind, message, _ in remarks(file) if kind == "unused-ignore"]
    assert len(said) == 1
    assert "is not on a line of a tool, resource or prompt; put it on the line of a decorator, " in said[0]


def test_a_comment_that_any_target_needs_is_used(tmp_path: Path) -> None:
    file, tracker = written(tmp_path, SERVER, buy="# mcproof: ignore[SCH-001]"), IgnoreTracker()
    judged(file, choose_rules([], select=["SCH-001"]), tracker)
    judged(str(tmp_path), choose_rules([], select=["SCH-001"]), tracker)
    assert list(tracker.notices.values()) == [None]


def test_a_rule_that_failed_makes_no_comment_unused(tmp_path: Path, broken_rule: Rule) -> None:
    del broken_rule
    (tmp_path / "clean.py").write_text(CLEAN.replace("ignore", "ignore[SCH-002]"), encoding="utf-8")
    tracker = IgnoreTracker()
    judged(str(tmp_path / "clean.py"), STRICT, tracker)
    assert list(tracker.notices.values()) == [None]  # what it said before it failed is suppressed


# --- what cannot be read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore[SHC-001]", "unknown rule `SHC-001` (did you mean `SCH-001`?); `mcproof explain rules` lists them all"),
        ("ignore[]", "`ignore[]` names no rule, so it suppresses nothing"),
        ("ignore-file[ , ]", "`ignore-file[ , ]` names no rule, so it suppresses nothing"),
        ("ignore[SCH-001 why", "`ignore[SCH-001 why` has no closing bracket, so it suppresses nothing"),
        ("ignore SCH-001", "`ignore SCH-001` suppresses nothing; rules are named in brackets: `ignore[SCH-001]`"),
        ("ingore[SCH-001]", "`ingore[SCH-001]` is unknown (did you mean `ignore`?); use `ignore` or "),
        ("disable=SCH-001", "`disable` is unknown; use `ignore` or `ignore-file`"),
    ],
)
def test_a_comment_that_cannot_be_read_is_reported_and_suppresses_nothing(
    tmp_path: Path, comment: str, message: str
) -> None:
    file = written(tmp_path, SERVER, buy=f"# mcproof: {comment}")
    assert suppressed(judged(file)) == set()
    [(kind, said, line)] = remarks(file)
    assert (kind, line) == ("bad-ignore", BUY)
    assert said.startswith(message)


def test_the_known_rules_of_a_comment_hold_where_another_is_unknown(tmp_path: Path) -> None:
    file = written(tmp_path, SERVER, buy="# mcproof: ignore[SCH-0001, SCH-001]")
    assert suppressed(judged(file)) == {("SCH-001", "buy")}
    assert [kind for kind, _, _ in remarks(file)] == ["bad-ignore"]


@pytest.mark.parametrize("comment", ["# mcproof: the graders like this", "# mcproof is happy", "# see mcproof.toml"])
def test_a_sentence_about_mcproof_is_no_mistake(tmp_path: Path, comment: str) -> None:
    assert remarks(written(tmp_path, SERVER, buy=comment)) == []


def test_a_flood_of_bad_comments_is_cut_short(tmp_path: Path) -> None:
    flood = "".join(f"# mcproof: ignore[X{number}]\n" for number in range(2000))
    assert len(remarks(written(tmp_path, SERVER + flood))) == 200


# --- the command line ---------------------------------------------------------------------------------------------


def test_reports_list_what_is_ignored_and_notices_what_is_not_needed(tmp_path: Path) -> None:
    written(
        tmp_path,
        SERVER,
        buy="# mcproof: ignore[strict] bought in bulk",
        sell="# mcproof: ignore[strict, SCH-04]",
        end="# mcproof: ignore",
    )
    done = run("schema-lint", "server.py", "--format", "json", cwd=tmp_path)
    document = document_of(done, "lint")
    assert done.returncode == 0
    assert document["findings"] == []
    assert [(each["kind"], each["file"], each["line"]) for each in document["notices"]] == [
        ("bad-ignore", "server.py", SELL),
        ("unused-ignore", "server.py", END),
    ]
    assert "mcproof: server.py:11: unknown rule `SCH-04` (did you mean `SCH-004`?)" in done.stderr
    assert "mcproof: server.py:14: unused: `ignore` is not on a line of a tool, resource or prompt" in done.stderr


def test_a_stored_run_keeps_comments_as_what_suppresses(tmp_path: Path) -> None:
    written(tmp_path, SERVER, buy="# mcproof: ignore[strict] bought in bulk", sell="# mcproof: ignore[SCH-003]")
    for form in ("sarif", "junit", "tap", "markdown", "html", "gitlab", "github"):
        first = run("schema-lint", "server.py", "--format", form, "--report", "run.json", cwd=tmp_path)
        again = run("report", "run.json", "--format", form, cwd=tmp_path)
        assert again.stdout == first.stdout
        assert form in ("github", "gitlab") or "bought in bulk" in first.stdout
    sarif = run("schema-lint", "server.py", "--format", "sarif", cwd=tmp_path).stdout
    assert '"suppressions": [{"kind": "inSource", "status": "accepted", "justification": "bought in bulk"}]' in sarif


def test_the_grade_counts_findings_that_comments_ignore(tmp_path: Path) -> None:
    written(tmp_path, SERVER, buy="# mcproof: ignore[tool-no-description]")
    assert "1 finding ignored by comments in the source, at no cost" in run("grade", "server.py", cwd=tmp_path).stdout


def test_what_a_comment_ignores_is_not_fixed(tmp_path: Path) -> None:
    file = written(tmp_path, SERVER, buy="# mcproof: ignore", sell="# mcproof: ignore[SCH-001]")
    run("schema-lint", file, "--fix", "--write")
    text = (tmp_path / "server.py").read_text(encoding="utf-8")
    assert text.count("additionalProperties") == 1
    assert "required" not in text


@pytest.mark.parametrize("suffix", ["ts", "js"])
def test_a_comment_in_typescript_or_javascript_suppresses_next_to_its_tool(tmp_path: Path, suffix: str) -> None:
    source = tmp_path / f"server.{suffix}"
    source.write_text(
        'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\n'
        'const server = new McpServer({ name: "shop", version: "1.0.0" });\n'
        'server.tool("buy", async () => ({})); // mcproof: ignore[tool-no-description] known to all\n'
        'server.tool("sell", async () => ({}));\n',
        encoding="utf-8",
    )
    document = document_of(run("lint", str(source), "--format", "json"), "lint")
    missing = [finding["tool"] for finding in document["findings"] if finding["rule"] == "tool-no-description"]
    assert missing == ["sell"]
