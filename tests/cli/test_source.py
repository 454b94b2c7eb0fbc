"""Python source on the command line: read like any other target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .running import CLEAN_TOOL, fails, run

if TYPE_CHECKING:
    from pathlib import Path

SERVER = '''
from fastmcp import FastMCP
mcp = FastMCP("x")
@mcp.tool
def add(a: int, b: int) -> int:
    """Adds."""
'''


def test_a_file_is_captured(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(SERVER)
    (tool,) = json.loads(run("capture", str(file)).stdout)["tools"]
    assert tool["name"] == "add"
    assert tool["inputSchema"]["required"] == ["a", "b"]


def test_a_folder_is_captured_as_one_catalog(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(SERVER)
    (tmp_path / "two.py").write_text("from one import mcp\n@mcp.tool\ndef more(): ...\n")
    captured = json.loads(run("capture", str(tmp_path)).stdout)
    assert [tool["name"] for tool in captured["tools"]] == ["add", "more"]


def test_a_capture_of_source_is_judged_like_the_source(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "captured.json").write_text(run("capture", str(tmp_path)).stdout)
    rules = [
        sorted(
            finding["rule"]
            for finding in json.loads(run("lint", "--ruleset", "grade,polish", "--format", "json", str(target)).stdout)[
                "findings"
            ]
        )
        for target in (tmp_path / "server.py", tmp_path / "captured.json")
    ]
    assert rules[0] == rules[1] != []


WRITTEN = """
from mcp import Tool
TOOL = Tool(
    name="create_ticket",
    description="Use this when the user reports a new bug. Returns the new ticket id.",
    inputSchema={
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Short summary."},
        },
        # required array intentionally missing
    },
)
"""


def test_a_tool_that_no_handler_reaches_is_judged_in_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(WRITTEN)
    (tmp_path / "more.py").write_text(WRITTEN.replace("create_ticket", "close_ticket"))
    printed = run("lint", "tools.py", "more.py", cwd=tmp_path)
    assert "warning[MP004] create_ticket: the input schema declares parameters but no `required` list" in printed.stdout
    assert "warning[MP004] close_ticket: " in printed.stdout
    assert printed.stdout.count("= also: tool-no-required") == 2
    assert printed.returncode == 0


def test_source_has_the_rules_about_written_schemas_unless_rules_are_chosen(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(WRITTEN)
    assert "MP004" not in run("lint", "--ruleset", "grade", "tools.py", cwd=tmp_path).stdout
    assert "MP004" not in run("lint", "--ignore", "MP004", "tools.py", cwd=tmp_path).stdout


def test_source_and_snapshots_have_the_same_findings_by_default_about_what_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    captured = tmp_path / "captured.json"
    captured.write_text(run("capture", str(tmp_path / "server.py")).stdout)
    rules = [
        sorted(
            finding["rule"] for finding in json.loads(run("lint", "--format", "json", str(target)).stdout)["findings"]
        )
        for target in (tmp_path / "server.py", captured)
    ]
    assert rules[0] == rules[1] != []
    assert not any(rule.startswith("MP") for rule in rules[0])


def test_a_finding_stands_at_the_parameter_that_causes_it(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    found = json.loads(run("lint", "--select", "MP002", "--format", "json", str(tmp_path)).stdout)["findings"]
    lines = SERVER.splitlines()
    assert found
    for finding in found:
        name = finding["subject"].removeprefix("parameter:")
        assert lines[finding["line"] - 1][finding["column"] - 1 :].startswith(name)
        assert finding["file"] == str(tmp_path / "server.py")


def test_what_the_source_does_not_settle_is_not_spoken_of(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(
        "import os\nfrom mcp.server.fastmcp import FastMCP\nmcp = FastMCP('x')\n"
        "@mcp.tool(description=os.environ['TEXT'])\ndef find(query: str) -> str: ...\n"
    )
    rules = {
        finding["rule"] for finding in json.loads(run("lint", "--format", "json", str(tmp_path)).stdout)["findings"]
    }
    assert not rules & {"MP001", "MP020", "MP023", "tool-no-description", "tool-short-description"}


def test_what_two_rulesets_say_of_one_place_is_shown_once(tmp_path: Path) -> None:
    lines = ["from mcp.server.fastmcp import FastMCP", "mcp = FastMCP('x')", "@mcp.tool()", "def find(query): ..."]
    (tmp_path / "server.py").write_text("\n".join(lines))
    shown = run("lint", "--ruleset", "grade,polish", "--format", "concise", str(tmp_path)).stdout.splitlines()
    assert sum("has no description" in line for line in shown) == 2
    assert any(line.endswith("[also MP001]") for line in shown)
    assert any(line.endswith("[also MP002]") for line in shown)


def test_the_polish_score_is_shown_where_all_its_rules_ran(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    target = str(tmp_path / "server.py")
    polish = ("lint", "--ruleset", "polish")
    document = json.loads(run(*polish, "--format", "json", "--report", str(tmp_path / "run.json"), target).stdout)
    score = document["summary"]["polish"]
    assert 0 < score < 100
    assert f"polish score {score} of 100" in run(*polish, target).stdout
    for name, said in (
        ("text", "polish score {} of 100"),
        ("markdown", "Polish score: {} of 100."),
        ("html", "<dt>Polish</dt><dd>{} of 100"),
    ):
        assert said.format(score) in run("report", "--format", name, str(tmp_path / "run.json")).stdout
    assert "polish" not in json.loads(run("lint", "--select", "MP001", "--format", "json", target).stdout)["summary"]


def test_a_change_in_source_is_shown_where_it_is_written(tmp_path: Path) -> None:
    head = "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('x')\n@mcp.tool()\n"
    (tmp_path / "server.py").write_text(f"{head}def find(query: str) -> str: ...\n")
    (tmp_path / "old.json").write_text(run("capture", str(tmp_path / "server.py")).stdout)
    (tmp_path / "server.py").write_text(f"{head}def find(query: str, units: str) -> str: ...\n")
    done = run("diff", "--format", "json", str(tmp_path / "old.json"), str(tmp_path / "server.py"))
    (change,) = json.loads(done.stdout)["changes"]
    assert (change["file"], change["line"], change["column"]) == (str(tmp_path / "server.py"), 4, 22)
    assert done.returncode == 1


def test_a_file_with_a_syntax_error_is_a_finding_and_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "broken.py").write_text("from mcp.server.fastmcp import FastMCP\n@mcp.tool()\ndef broken(:\n")
    done = run("lint", "--format", "json", str(tmp_path))
    found = [each for each in json.loads(done.stdout)["findings"] if each["rule"] == "CAT-010"]
    assert [(each["file"], each["line"]) for each in found] == [(str(tmp_path / "broken.py"), 3)]
    assert done.returncode == 1
    assert len(json.loads(run("capture", str(tmp_path)).stdout)["tools"]) == len(
        json.loads(run("capture", str(tmp_path / "server.py")).stdout)["tools"]
    )


def test_a_folder_with_snapshots_only_is_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([CLEAN_TOOL]))
    (tmp_path / "unrelated.py").write_text("print('hello')\n")
    assert run("lint", str(tmp_path)).returncode == 0


def test_source_without_a_server_is_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("print('hello')\n")
    assert "nothing to check" in fails("lint", str(tmp_path / "server.py"))
    assert "nothing to check" in fails("lint", str(tmp_path))


def test_source_that_does_not_parse_says_where(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("from fastmcp import FastMCP\ndef f(:\n")
    assert "server.py:2:7: not valid Python" in fails("lint", str(tmp_path / "server.py"))


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    assert "cannot be read" in fails("lint", str(tmp_path / "nowhere.py"))


def spread(folder: Path) -> Path:
    """A server whose tools are registered by modules: of one file on top, in a function, and of none."""
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").write_text("")
    tool = "def install(m):\n    @m.tool\n    def {0}(a: int): ...\n"
    for name in ("buy", "sell", "never"):
        (folder / "shop" / f"{name}ing.py").write_text(tool.format(name))
    (folder / "shop" / "buying.py").write_text(
        tool.format("buy") + "def debug(m, n):\n    @m.tool\n    def inner(): ...\n"
    )
    file = folder / "shop" / "app.py"
    file.write_text(
        "from fastmcp import FastMCP\nfrom shop import buying\nmcp = FastMCP('x')\nbuying.install(mcp)\n"
        "def main():\n    from . import selling\n    selling.install(mcp)\n    mcp.run()\n"
    )
    return file


def test_the_capture_of_a_file_holds_what_its_modules_register(tmp_path: Path) -> None:
    file = spread(tmp_path)
    captured = json.loads(run("capture", str(file)).stdout)
    assert {tool["name"] for tool in captured["tools"]} == {"buy", "sell"}


def test_a_file_is_compared_by_all_that_it_serves(tmp_path: Path) -> None:
    file = spread(tmp_path)
    (tmp_path / "old.json").write_text(run("capture", str(file)).stdout)
    assert run("diff", str(tmp_path / "old.json"), str(file)).returncode == 0
    (tmp_path / "shop" / "selling.py").write_text("def install(m): ...\n")
    done = run("diff", str(tmp_path / "old.json"), str(file))
    assert done.returncode == 1
    assert "was removed (breaking)" in done.stdout


def test_a_file_is_graded_by_all_that_it_serves(tmp_path: Path) -> None:
    report = json.loads(run("grade", "--format", "json", str(spread(tmp_path))).stdout)
    assert {each["subject"] for each in report["findings"]} >= {"tool:buy", "tool:sell"}


def test_lint_of_a_file_is_about_that_file_and_says_where_its_tools_are(tmp_path: Path) -> None:
    file = spread(tmp_path)
    assert "defined in other files; pass their folder" in fails("lint", str(file))
    file.write_text(file.read_text() + "@mcp.tool\ndef own(): ...\n")
    found = json.loads(run("lint", "--format", "json", str(file)).stdout)["findings"]
    assert {each["file"] for each in found} == {str(file)}


TRACKER = '''
from fastmcp import FastMCP
mcp = FastMCP("tracker", instructions="Track things.")
@mcp.tool
def tracker_create_item(title: str) -> str:
    """Creates an item in the tracker and returns its id; use it when the user reports something new."""
'''


def rules_on(target: Path, *options: str) -> list[str]:
    found = json.loads(run("lint", "--format", "json", "--ruleset", "grade,polish", *options, str(target)).stdout)
    return [finding["rule"] for finding in found["findings"]]


def test_a_name_that_repeats_the_servers_is_found_in_source_and_in_a_capture_of_it(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(TRACKER)
    (tmp_path / "captured.json").write_text(run("capture", str(tmp_path)).stdout)
    assert "MP011" in rules_on(tmp_path / "server.py")
    assert "MP011" in rules_on(tmp_path / "captured.json")


def test_a_version_that_source_leaves_to_the_framework_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(TRACKER)
    (tmp_path / "captured.json").write_text(run("capture", str(tmp_path)).stdout)
    for target in ("server.py", "captured.json"):
        assert not {"server-no-version", "server-no-name"} & set(rules_on(tmp_path / target))
    grades = [
        json.loads(run("grade", "--format", "json", str(tmp_path / target)).stdout)["score"]
        for target in ("server.py", "captured.json")
    ]
    assert grades[0] == grades[1]


def test_what_source_says_of_its_server_is_captured(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(TRACKER)
    captured = json.loads(run("capture", str(tmp_path)).stdout)
    assert list(captured) == ["initialize", "tools", "resources", "resourceTemplates", "prompts"]
    assert captured["initialize"]["serverInfo"] == {"name": "tracker"}
    assert captured["initialize"]["instructions"] == "Track things."


def test_a_file_of_another_encoding_is_not_called_empty(tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_bytes(SERVER.encode("utf-16"))
    assert "wide.py: is UTF-16, which Python cannot read" in fails("lint", str(tmp_path / "wide.py"))
    (tmp_path / "binary.py").write_bytes(bytes(range(256)))
    assert "binary.py:1: contains a null byte" in fails("lint", str(tmp_path / "binary.py"))


def test_a_link_that_leads_nowhere_is_told_from_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "dead.py").symlink_to("gone.py")
    assert "loop.py: cannot be read: circular symbolic link" in fails("lint", str(tmp_path / "loop.py"))
    assert "dead.py: cannot be read: broken link to `gone.py`" in fails("lint", str(tmp_path / "dead.py"))
    assert "none.py: cannot be read: no such file or directory" in fails("lint", str(tmp_path / "none.py"))


REWRITTEN = '''
from mcp.server.fastmcp import FastMCP
mcp = FastMCP("x")

def slim(schema): ...

def add(function):
    mcp.tool()(function)
    slim(mcp._tool_manager.get_tool(function.__name__).parameters)
    return function

@add
def search(query: str) -> str:
    """Find the documents that contain a text."""
'''
"""The program may change the schema after it is registered, so nothing of the schema is certain."""


def test_a_grade_that_unknown_schemas_could_change_is_withheld(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(REWRITTEN)
    printed = run("grade", str(file))
    assert "grade withheld, A at best; not judged: the schema of 1 tool (first `search`), because" in printed.stdout
    assert "grade A" not in printed.stdout
    document = json.loads(run("grade", "--format", "json", str(file)).stdout)
    assert (document["grade"], document["score"], document["not_judged"]["schemas"]) == (None, None, ["search"])
    assert document["descriptions"] == {}


def test_a_withheld_grade_fails_every_required_grade(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(REWRITTEN)
    printed = run("grade", "--min-grade", "F", str(file))
    assert printed.returncode == 1
    assert "grade withheld, at least F required" in printed.stdout


def test_lint_says_which_tools_it_did_not_judge_and_shows_no_tick(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(REWRITTEN)
    printed = run("lint", str(file)).stdout
    assert "not judged: the schema of 1 tool (first `search`)" in printed
    assert "✓" not in printed
    assert "✓ no findings" in run("lint", str(_known(tmp_path))).stdout


def _known(folder: Path) -> Path:
    """A server without findings, all of which is known."""
    file = folder / "known.py"
    file.write_text(
        "from typing import Annotated\nfrom mcp.server.fastmcp import FastMCP\nfrom pydantic import Field\n"
        'mcp = FastMCP("x")\n@mcp.tool()\n'
        'def search(count: Annotated[int, Field(description="Words that a document must contain.")]) -> str:\n'
        '    """Find the documents that contain a text."""\n'
    )
    return file


def test_a_letter_that_nothing_unknown_can_change_is_shown(tmp_path: Path) -> None:
    undescribed = "".join(f"@mcp.tool()\ndef tool_{n}(one, two, three): ...\n" for n in range(5))
    file = tmp_path / "server.py"
    file.write_text(REWRITTEN + undescribed)
    document = json.loads(run("grade", "--format", "json", str(file)).stdout)
    assert document["grade"] == "F"
    assert document["not_judged"]["best"] is None


def test_an_unknown_default_does_not_hide_a_missing_description(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(SERVER.replace("b: int", "b: int = time.time()").replace("from fast", "import time\nfrom fast"))
    found = json.loads(run("grade", "--format", "json", str(file)).stdout)
    assert found["rules"] == {"prop-no-description": 2, "tool-short-description": 1}


def test_a_report_keeps_why_a_grade_was_withheld(tmp_path: Path) -> None:
    file, report = tmp_path / "server.py", tmp_path / "run.json"
    file.write_text(REWRITTEN)
    printed = run("grade", str(file), "--report", str(report)).stdout
    assert run("report", str(report)).stdout == printed
