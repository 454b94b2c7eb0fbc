"""`check`: one screen and one document about a server as a whole."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from probing.running import CONTRACT, small_server, tool
from servers import small

from .running import CLEAN_TOOL, FAULTY_TOOL, document_of, run, write

GOOD = ("--", *CONTRACT, "good")
WIDE = {"COLUMNS": "100"}


def checked(*words: str, code: int = 0, **options: Any) -> dict[str, Any]:
    """The document of a check."""
    done = run("check", "--format", "json", *words, **options)
    assert done.returncode == code, done
    document: dict[str, Any] = document_of(done, "check")
    return document


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "clean.json", {"tools": [CLEAN_TOOL]})
    write(tmp_path / "faulty.json", {"tools": [FAULTY_TOOL]})
    return tmp_path


def shared(count: int) -> list[dict[str, Any]]:
    """Tools that share a parameter without a description."""
    path = {"type": "string"}
    schema = {"type": "object", "properties": {"path": path}, "required": ["path"]}
    return [{**CLEAN_TOOL, "name": f"find_{number}", "inputSchema": schema} for number in range(count)]


def test_the_first_sentence_is_the_one_edit_that_helps_most(here: Path) -> None:
    write(here / "shared.json", {"tools": shared(12)})
    lines = run("check", "shared.json").stdout.splitlines()
    assert lines[0] == "Fix first: describe `path`, in 12 tools from one definition: D → A"
    assert checked("shared.json")["next"][0] == {
        "what": "describe `path`, in 12 tools from one definition",
        "why": "D → A",
        "place": "tool `find_0`, parameter `path`",
        "snippet": "",
        "rules": ["prop-no-description"],
    }


def test_a_server_without_a_fault_has_nothing_to_fix() -> None:
    lines = run("check", "clean.json").stdout.splitlines()
    assert lines[0].startswith("Nothing to fix in what was judged; ")
    assert lines[-1] == "✓ passed: verdict allow; no findings (gate: errors)"
    assert checked("clean.json")["next"] == []


@pytest.mark.parametrize("count", [1, 60])
def test_whatever_the_server_a_check_is_one_screen(here: Path, count: int) -> None:
    properties = {"a" * 90: {}, "path": {"type": "string"}, "content": {"type": ["string", "null"]}}
    bad = [
        {"name": f"delete {'x' * 70} {number}", "inputSchema": {"type": "object", "properties": properties}}
        for number in range(count)
    ]
    write(here / "bad.json", {"tools": [*bad, *shared(count)]})
    lines = run("check", "bad.json", env=WIDE).stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100


def test_each_part_says_what_its_own_command_says() -> None:
    document, words = checked("--fail-on", "never", *GOOD), ("--format", "json", *GOOD)
    grade, compat, prove = (json.loads(run(name, *words).stdout) for name in ("grade", "compat", "prove"))
    assert document["grade"]["score"] == grade["score"]
    assert document["tokens"] == grade["tokens"]["total"]
    assert document["clients"]["breaks"] == [
        name
        for name, client in compat["clients"].items()
        if client["verdict"] == "breaks" and name not in ("openai-api", "claude-api", "gemini-api")
    ]
    assert document["promises"]["kept"] == prove["promises"]["kept"]
    assert document["promises"]["broken"] == prove["promises"]["broken"] == 0
    assert document["conclusion"]["outcome"] == prove["conclusion"]["outcome"] == "passed"


def test_a_broken_promise_fails_a_check() -> None:
    accepting = small_server([tool(text={"type": "string", "maxLength": 10})])
    document = checked(*accepting, code=1)
    assert document["promises"]["broken"] == 2
    assert document["conclusion"]["outcome"] == "failed"
    assert any(finding["rule"] == "WIR-015" for finding in document["findings"])
    static = checked("--static", *accepting)
    assert static["promises"] is None


@pytest.mark.parametrize(("words", "lists"), [(("--static",), 1), ((), 2)], ids=["static", "calls"])
def test_a_server_is_listed_once_and_once_more_to_prove_how_it_pages(
    here: Path, words: tuple[str, ...], lists: int
) -> None:
    log = here / "called"
    done = run("check", *words, "--trace=t.jsonl", "--env", f"CALLED={log}", *small_server([tool()]))
    assert done.returncode in (0, 1)
    assert log.exists() == (not words)
    traces = [json.loads(line) for line in (here / "t.jsonl").read_text().splitlines()]
    sent = [trace["message"] for trace in traces if trace["direction"] == "sent" and "message" in trace]
    listed = [message for message in sent if isinstance(message, dict) and message.get("method") == "tools/list"]
    assert len([message for message in listed if "cursor" not in message.get("params", {})]) == lists


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        (("--min-grade", "C"), 0),
        (("--min-grade", "A"), 1),
        (("--min-clients", "1"), 0),
        (("--min-clients", "29"), 1),
        (("--fail-on-verdict", "block"), 0),
    ],
)
def test_gates_change_what_fails(gate: tuple[str, ...], code: int) -> None:
    document = checked("faulty.json", "--fail-on", "never", *gate, code=code)
    assert document["conclusion"]["outcome"] == ("failed" if code else "passed")


def test_several_targets_and_folders_have_one_screen_each(here: Path) -> None:
    done = run("check", "clean.json", "faulty.json")
    assert done.returncode == 1
    assert done.stdout.count("  grade     ") == 2
    assert done.stdout.splitlines()[-1].startswith("✗ failed: 1 of 2 targets; ")
    documents = json.loads(run("check", str(here), "--format", "json").stdout)["targets"]
    assert [document["next"] == [] for document in documents] == [True, False]


def test_every_format_shows_a_check(here: Path) -> None:
    done = run(
        "check", "faulty.json", "--output", "a.md", "--output", "a.html", "--output", "a.sarif", "--output", "a.xml"
    )
    assert done.returncode == 1
    assert "Edits that help most" in (here / "a.md").read_text("utf-8")
    page = (here / "a.html").read_text("utf-8")
    assert all(title in page for title in ("Edits that help most", ">Clients<", ">Trust<"))
    assert json.loads((here / "a.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert "<failure" in (here / "a.xml").read_text("utf-8")


def test_a_stored_check_renders_as_the_run_did(here: Path) -> None:
    for words in (("faulty.json",), GOOD):
        done = run("check", "--report", "run.json", *words)
        assert run("report", "run.json").stdout == done.stdout


SHELL = """\
import subprocess

from fastmcp import FastMCP

mcp = FastMCP("mini")


@mcp.tool
def read_report(name: str) -> str:
    \"\"\"Read a report by its name, as plain text.\"\"\"
    return subprocess.run(f"cat reports/{name}", shell=True, capture_output=True, text=True).stdout
"""
"""What a script that starts the small server looks like to who reads it."""


def _started(here: Path) -> str:
    """A script that starts a server whose source passes an argument to a shell."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    tools = json.dumps([{"name": "read_report", "description": "Read a report by its name.", "inputSchema": schema}])
    serve = f"import sys\nfrom runpy import run_path\n\nif len(sys.argv) < 9:\n    sys.argv = ['small', {tools!r}]\n"
    serve += f"    run_path({small.__file__!r}, run_name='__main__')\n    sys.exit()\n\n"
    script = here / "server.py"
    script.write_text(serve + SHELL, encoding="utf-8")
    return str(script)


@pytest.mark.parametrize("command", ["check", "scan"])
def test_the_source_of_a_started_script_is_read_too(here: Path, command: str) -> None:
    script = _started(here)
    done = run(command, "--format", "json", "--", sys.executable, "-I", script)
    document = document_of(done, command)
    (flow,) = [finding for finding in document["findings"] if finding["rule"] == "TRU-301"]
    assert (flow["file"], flow["level"]) == (script, "error")
    assert (document["server"]["source"] if command == "check" else document["source"]) == script
    if command == "check":
        assert done.returncode == 1
        places = [edit["place"] for edit in document["next"]]
        assert any(place.startswith(f"{script}:") for place in places)


_LISTS = """\
const { Server } = require("@modelcontextprotocol/sdk/server/index.js");
const { ListToolsRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
const server = new Server({ name: "small", version: "1.0.0" }, {});
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [
  { name: "look_up", description: "Looks up one word in the dictionary.", inputSchema: {
    type: "object", properties: { word: { type: "string" } }, required: ["word"] } },
] }));
"""


def test_a_snippet_of_several_lines_hides_no_other_form(here: Path) -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    look_up = {"name": "look_up", "description": "Looks up one word in the dictionary.", "inputSchema": schema}
    (here / "python3").write_text(f"#!/bin/sh\nexec {shlex.join(small_server([look_up])[1:])}\n", encoding="utf-8")
    (here / "python3").chmod(0o755)
    document = document_of(run("check", "--static", "--format", "json", "--", "./python3"), "check")
    edit = next(edit for edit in document["next"] if "prop-no-description" in edit["rules"])
    signature = 'word: Annotated[str, Field(description="…")]'
    assert edit["snippet"] == f'{signature}\nor: "word": {{"type": "string", "description": "…"}}'


@pytest.mark.parametrize("has_source", [True, False])
def test_the_snippet_of_a_started_server_has_the_form_of_its_source(here: Path, has_source: bool) -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    look_up = {"name": "look_up", "description": "Looks up one word in the dictionary.", "inputSchema": schema}
    (here / "node").write_text(f"#!/bin/sh\nexec {shlex.join(small_server([look_up])[1:])}\n", encoding="utf-8")
    (here / "node").chmod(0o755)
    (here / "index.js").write_text(_LISTS if has_source else "require('other')\n", encoding="utf-8")
    document = document_of(run("check", "--static", "--format", "json", "--", "./node", "index.js"), "check")
    edit = next(edit for edit in document["next"] if "prop-no-description" in edit["rules"])
    literal = '"word": {"type": "string", "description": "…"}'
    assert edit["snippet"] == (literal if has_source else f'word: z.string().describe("…")\nor: {literal}')


_OPENS = """\
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { exec } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
const server = new McpServer({ name: "notes", version: "1.0.0" });
server.tool("read_note", "Reads one note.", { name: z.string() }, async ({ name }) => {
  exec(`touch ${name}`);
  return { content: [{ type: "text", text: await fs.readFile(path.join("/notes", name), "utf8") }] };
});
"""
_PYTHON_ONLY = ("is_relative_to", "subprocess.run", "shlex.quote")


@pytest.mark.parametrize(("command", "format"), [("check", "text"), ("scan", "text"), ("scan", "github")])
def test_advice_is_in_the_language_of_the_finding(here: Path, command: str, format: str) -> None:
    (here / "server.ts").write_text(_OPENS, encoding="utf-8")
    (here / "server.py").write_text(SHELL, encoding="utf-8")
    shown = " ".join(run(command, "--format", format, "server.ts").stdout.split())
    assert "`execFile(program, [args])`" in shown
    assert "compare with `startsWith(root + path.sep)`" in shown
    assert not any(words in shown for words in _PYTHON_ONLY)
    shown = " ".join(run(command, "--format", format, "server.py").stdout.split())
    assert "`subprocess.run([…])`" in shown
    assert "execFile" not in shown


@pytest.mark.parametrize("columns", range(60, 100, 3))
def test_no_edit_ends_within_a_word(here: Path, columns: int) -> None:
    (here / "server.ts").write_text(_OPENS, encoding="utf-8")
    whole, cropped = (run("check", "server.ts", env={"COLUMNS": width}).stdout for width in ("300", str(columns)))
    words = {word.rstrip(",:;") for word in whole.split()}
    ends = {line.removesuffix("…").split()[-1].rstrip(",:;") for line in cropped.splitlines() if line.endswith("…")}
    assert ends or columns > 60
    assert not ends - words


def test_source_that_cannot_be_read_is_not_observed() -> None:
    document = document_of(run("scan", "--format", "json", *small_server([tool()])), "scan")
    outcomes = {rule["rule"]: rule["outcome"] for rule in document["trust"]["rules"]}
    assert outcomes["TRU-301"] == "not observed"


CAUSES = {
    "text": f'from fastmcp import FastMCP\n\nmcp = FastMCP("two")\n{SHELL.partition(chr(10) * 3)[2]}',
    "query": '''\

@mcp.tool
def find_report(title: Annotated[str, Field(description="A title, such as `May`.")]) -> list:
    """Find reports by their title, as rows."""
    return sqlite3.connect("reports").execute(f"select * from r where title = '{title}'").fetchall()
''',
    "delete": '''\

@mcp.tool
def delete_report(name: Annotated[str, Field(description="A file name, such as `may.txt`.")]) -> str:
    """Delete a report by its file name, and say which."""
    return name
''',
}
IMPORTS = "import sqlite3\nimport subprocess\nfrom typing import Annotated\nfrom pydantic import Field\n"


def _edits(here: Path, *parts: str) -> list[dict[str, Any]]:
    """The edits for a server with these tools in its source."""
    (here / "server.py").write_text(IMPORTS + "".join(CAUSES[part] for part in parts), encoding="utf-8")
    edits: list[dict[str, Any]] = checked("server.py", code=1)["next"]
    return edits


def test_an_edit_claims_a_better_verdict_only_if_it_alone_gains_it(here: Path) -> None:
    shell = next(edit for edit in _edits(here, "text") if edit["rules"] == ["TRU-301"])
    assert shell["why"].startswith("review → allow, trust +")
    edits = _edits(here, "text", "query", "delete")
    assert not any("review → allow" in edit["why"] for edit in edits)
    for rule in ("TRU-301", "TRU-303"):
        why = next(edit["why"] for edit in edits if edit["rules"] == [rule])
        assert why.startswith("removes 1 of 2 causes of `review`")


def test_an_edit_for_rules_about_the_server_names_the_first_tool(here: Path) -> None:
    edits = _edits(here, "text", "delete")
    hint = next(edit for edit in edits if edit["rules"] == ["destructive_tools_declare_destructive_hint"])
    line = (here / "server.py").read_text().splitlines().index(
        'def delete_report(name: Annotated[str, Field(description="A file name, such as `may.txt`.")]) -> str:'
    ) + 1
    assert hint["place"] == f"server.py:{line}, tool `delete_report`"
    assert hint["what"].startswith("`delete_report`: ")


def test_every_error_is_counted_on_the_screen_with_its_rule(here: Path) -> None:
    (here / "server.py").write_text(IMPORTS + CAUSES["text"] + CAUSES["delete"], encoding="utf-8")
    errors = [finding["rule"] for finding in checked("server.py", code=1)["findings"] if finding["level"] == "error"]
    (line,) = [line for line in run("check", "server.py").stdout.splitlines() if line.startswith("  errors ")]
    assert line.split()[2] == f"{len(errors)}:"
    assert errors[0] in line


def test_the_screen_says_why_most_promises_are_not_judged() -> None:
    words = ("check", "--max-time", "0.001", *small_server([tool(text={"type": "string", "maxLength": 10})]))
    assert "- most are not judged: time limit reached\n" in run(*words).stdout


def test_a_line_that_is_printed_at_the_start_and_written_at_the_end_is_among_the_edits(here: Path) -> None:
    """Every request suffers from it, so that it comes before what is wrong with single tools."""
    source = Path(small.__file__).read_text("utf-8").replace("sys.stdout.write", "os.write(1, b'') or SENT.append")
    source = source.replace("sys.stdout.flush()", "os.write(1, SENT.pop().encode())")
    (here / "server.py").write_text(source.replace("import os\n", "import os\nSENT = []\nprint('ready')\n"), "utf-8")
    bad = [{"name": f"tool{number}", "inputSchema": {"type": "object"}} for number in range(30)]
    document = checked("--", sys.executable, "-I", "-S", "server.py", json.dumps(bad), code=1)
    assert "WIR-001" in {finding["rule"] for finding in document["findings"]}
    assert "WIR-001" in [rule for edit in document["next"][:2] for rule in edit["rules"]]


def test_a_perfect_grade_promises_no_points(here: Path) -> None:
    described = {
        **CLEAN_TOOL,
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    }
    write(here / "bonus.json", {"initialize": {"serverInfo": {"name": "a", "version": "1"}}, "tools": [described]})
    document = checked("bonus.json")
    assert document["grade"]["score"] == 100
    (why,) = [edit["why"] for edit in document["next"] if edit["rules"] == ["prop-no-description"]]
    assert why == "fixes 1 warning"
    assert "prop-no-description −5, good descriptions +5" in run("check", "bonus.json").stdout


def test_text_of_a_check_stays_within_100_columns_in_a_pipe(here: Path) -> None:
    _edits(here, "text", "query", "delete")
    lines = run("check", "server.py", env={"COLUMNS": ""}).stdout.splitlines()
    assert max(map(len, lines)) <= 100


def test_notes_alone_are_no_edit_unless_they_hold_back_the_letter(here: Path) -> None:
    optional = {"type": "object", "properties": {"q": {"type": "string", "description": "Words."}}}
    tools = [{**CLEAN_TOOL, "name": f"find_{number}", "inputSchema": optional} for number in range(16)]
    info = {"serverInfo": {"name": "a", "version": "1"}}
    write(here / "few.json", {"initialize": info, "tools": tools[:3]})
    assert not any("tool-no-required" in edit["rules"] for edit in checked("few.json")["next"])
    write(here / "many.json", {"initialize": info, "tools": tools})
    (edit,) = [edit for edit in checked("many.json")["next"] if "tool-no-required" in edit["rules"]]
    assert edit["why"] == "B → A"


def test_two_rules_that_ask_for_the_same_are_one_edit(here: Path) -> None:
    tools = [{**CLEAN_TOOL, "name": "find_a", "description": "Find one book. " * 40}]
    tools.append({**CLEAN_TOOL, "name": "find_b", "description": "Find other books. " * 200})
    write(here / "long.json", {"tools": tools})
    whats = [edit["what"] for edit in checked("long.json")["next"]]
    assert sum(what.startswith("shorten") for what in whats) == 1


def test_the_place_of_an_edit_is_cropped_where_it_says_least(here: Path) -> None:
    below = here.joinpath(*["folder_with_a_long_name"] * 4)
    below.mkdir(parents=True)
    (below / "server.py").write_text(IMPORTS + CAUSES["text"], encoding="utf-8")
    lines = run("check", str(below / "server.py"), env=WIDE).stdout.splitlines()
    assert any(re.fullmatch(r"     ….*/server\.py:\d+", line) for line in lines)


@pytest.mark.parametrize("command", ["check", "lint", "compat"])
def test_what_breaks_is_an_error_only_in_a_client_that_is_named(here: Path, command: str) -> None:
    write(here / "dotted.json", {"tools": [{**CLEAN_TOOL, "name": "find.book"}]})

    def levels(*words: str) -> set[str]:
        document = document_of(run(command, "dotted.json", "--format", "json", *words), command)
        return {finding["level"] for finding in document["findings"] if finding["rule"] == "CMP-001"}

    assert levels() == {"warning"}
    assert levels("--client", "cursor") == {"error"}
    (here / "mcproof.toml").write_text('clients = ["cursor"]\n')
    assert levels() == {"error"}


def test_a_client_that_matters_does_not_hide_the_others_from_a_check(here: Path) -> None:
    write(here / "dotted.json", {"tools": [{**CLEAN_TOOL, "name": "find.book"}]})
    assert checked("dotted.json", "--client", "cursor", code=1)["clients"] == checked("dotted.json")["clients"]
    assert "(did you mean `cursor`?)" in run("check", "dotted.json", "--client", "cursr").stderr


def test_what_the_source_does_not_show_breaks_no_client(here: Path) -> None:
    (here / "server.py").write_text(
        "import os\nfrom fastmcp import FastMCP\n\nmcp = FastMCP('books')\n\n\n"
        "@mcp.tool(description=os.environ['TEXT'])\ndef find_book(title: str) -> str:\n    return title\n",
        encoding="utf-8",
    )
    assert checked("server.py")["clients"]["breaks"] == []
    (here / "bare.py").write_text(
        "from fastmcp import FastMCP\n\nmcp = FastMCP('books')\n\n\n"
        "@mcp.tool\ndef find_book(title: str) -> str:\n    return title\n",
        encoding="utf-8",
    )
    assert checked("bare.py", "--fail-on", "never")["clients"]["breaks"] == ["amazon-q-cli"]


OPTIONAL = {"type": "object", "properties": {"page": {"type": "integer", "default": 1, "description": "Page to show"}}}


def test_an_edit_that_may_be_unwanted_is_advised_by_neither_check_nor_grade(here: Path) -> None:
    tools = [{**CLEAN_TOOL, "name": f"list_{number}", "inputSchema": OPTIONAL} for number in range(16)]
    write(here / "paged.json", {"tools": tools})
    document = checked("paged.json")
    assert document["grade"]["grade"] == "B"
    assert document["next"] == []
    grade = run("grade", "paged.json").stdout
    assert "tool-no-required             16 infos, 16 may be intended" in grade
    assert "What would help most" not in grade
    needed = {**CLEAN_TOOL, "inputSchema": {**OPTIONAL, "properties": {"path": {"type": "string", "description": "P"}}}}
    write(here / "mixed.json", {"tools": [*tools, needed]})
    assert "mark required parameters on 1 tool: +1" in run("grade", "mixed.json").stdout


def test_the_repair_of_the_last_client_is_among_the_edits(here: Path) -> None:
    pattern = {"type": "string", "pattern": "(?=a)b", "description": "Where"}
    found = {"type": "object", "properties": {"path": pattern}, "required": ["path"]}
    own = [{**found, "properties": {"path": {**pattern, "pattern": f"(?=a)b{number}"}}} for number in range(4)]
    # One schema in most tools, which a split would part from the others.
    tools = [{**CLEAN_TOOL, "name": f"find_{number}", "inputSchema": found} for number in range(8)]
    tools += [{**CLEAN_TOOL, "name": f"seek_{number}", "inputSchema": schema} for number, schema in enumerate(own)]
    many: dict[str, Any] = {f"p{number}": {"type": "string"} for number in range(9)}
    many |= {f"q{number}": {"description": "Text"} for number in range(9)}
    tools += [{**CLEAN_TOOL, "name": "many", "inputSchema": {"type": "object", "properties": many, "required": ["p0"]}}]
    tools += [{**CLEAN_TOOL, "name": f"say_{number}", "description": "Say it. " * 70} for number in range(3)]
    tools += [{**CLEAN_TOOL, "name": "short", "description": "Short"}]
    write(here / "one.json", {"tools": tools})
    document = checked("one.json")
    assert document["clients"]["breaks"] == ["lm-studio"]
    assert any("LM Studio" in edit["why"] for edit in document["next"]), document["next"]


@pytest.mark.parametrize("file", ["clean.json", "faulty.json"])
def test_no_heading_of_a_page_is_empty(here: Path, file: str) -> None:
    run("check", file, "--output", "a.html")
    page = (here / "a.html").read_text("utf-8")
    next_to = re.findall(r"</h(\d)>\s*(?:</?(?:section|div)[^>]*>\s*)*<h(\d)", page)
    assert all(inner > outer for outer, inner in next_to), next_to
    run("check", "--static", "--output", "b.html", *GOOD)
    assert ">Promises</h2>" not in (here / "b.html").read_text("utf-8")


INJECTED = """
    import subprocess

    from mcp.server.fastmcp import FastMCP

    mcp = FastMCP("demo")

    @mcp.tool()
    def ping(host: str) -> str:
        '''Ping a host, and return what `ping` prints.'''
        return subprocess.run("ping " + host, shell=True, capture_output=True, text=True).stdout
"""


def test_a_check_names_the_command_that_shows_its_findings(here: Path) -> None:
    (here / "server.py").write_text(dedent(INJECTED), encoding="utf-8")
    more = run("check", "server.py", env=WIDE).stdout.partition("\nMore: ")[2]
    assert more.startswith("`mcproof scan server.py` and lint for all findings; grade or compat in its place;")
    assert "[TRU-301]" in run("scan", "server.py").stdout
    more = run("check", "faulty.json", env=WIDE).stdout.partition("\nMore: ")[2]
    assert more.startswith("`mcproof lint faulty.json` and scan for all findings; grade or compat in its place;")
    more = run("check", "clean.json", env=WIDE).stdout.partition("\nMore: ")[2]
    assert more.startswith("`mcproof lint clean.json` for all findings; grade, compat or scan in its place;")


@pytest.mark.parametrize("target", [".", "server.py"])
def test_a_lint_of_source_says_that_it_looks_for_no_injections(here: Path, target: str) -> None:
    source, words = here / "source", ("lint", target, "--baseline", "accepted.json")
    source.mkdir()
    (source / "server.py").write_text(dedent(INJECTED), encoding="utf-8")
    run(*words, "--update-baseline", cwd=source)
    last = run(*words, cwd=source).stdout.splitlines()[-1]
    assert last == "✓ passed: no findings (gate: errors); injections: `scan` looks for them"
    assert "injections" not in run("lint", "clean.json").stdout


@pytest.mark.parametrize("name", ["lint", "check"])
def test_options_of_mcproof_among_the_words_of_a_server_are_noted(name: str) -> None:
    words = ("--fail-on", "note", "--output=x.json", "--fail-on=error", "--port", "8", "--verbose", "--name", "n")
    static = ("--static",) if name == "check" else ()
    done = run(name, *static, *small_server([tool()]), *words, "--min-grade", "F")
    given = "--fail-on, --output, --min-grade" if name == "check" else "--fail-on, --output"
    assert f"mcproof: options after `--` go to the server: {given}; put those of mcproof before `--`\n" in done.stderr
    assert "options after" not in run(name, *static, *small_server([tool()]), "--port", "8").stderr
    assert "options after" not in run(name, *static, "-q", *small_server([tool()]), *words).stderr


def test_gains_that_have_no_room_are_left_out_and_never_cut(here: Path) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path", "x"]}
    named = [{**CLEAN_TOOL, "name": f"find {number}", "inputSchema": schema} for number in range(12)]
    write(here / "bad.json", {"tools": [*named, FAULTY_TOOL]})
    clauses = {clause for edit in checked("bad.json", "--fail-on", "never")["next"] for clause in _clauses(edit)}
    for columns in range(40, 100, 6):
        done = run("check", "bad.json", env={"COLUMNS": str(columns)})
        shown = done.stdout.partition("Edits that help most")[2].partition("More: ")[0]
        edits = re.split(r"\n +\d  ", re.sub(r"\n {5}(?:tool|parameter) [^\n]*", "", shown))[1:]
        ends = [" ".join(edit.split()).rpartition("; ")[2].rpartition(": ")[2] for edit in edits]
        assert len(ends) == 5
        assert clauses.issuperset(ends), columns
        assert len(done.stdout.splitlines()) <= 40 + 8 * (columns < 60)


def _clauses(edit: dict[str, Any]) -> set[str]:
    return {edit["what"], *edit["why"].split("; ")}


def test_an_empty_string_in_an_enum_is_no_repeated_one(here: Path) -> None:
    color = {"type": "string", "description": "The color of the cover.", "enum": ["", "red"]}
    schema = {"type": "object", "properties": {"color": color}, "required": ["color"]}
    write(here / "enum.json", {"tools": [{**CLEAN_TOOL, "inputSchema": schema}]})
    whats = [edit["what"] for edit in checked("enum.json", "--fail-on", "never")["next"]]
    assert "use distinct, non-empty strings in 1 enum" in whats


def test_the_headline_of_a_page_has_no_backticks(here: Path) -> None:
    write(here / "shared.json", {"tools": shared(12)})
    page = run("check", "shared.json", "--format", "html").stdout
    assert "describe <code>path</code>, in 12 tools from one definition" in page
    assert "`" not in page.partition("<title>")[2].partition("</title>")[0]
    assert "describe `path`" not in page
