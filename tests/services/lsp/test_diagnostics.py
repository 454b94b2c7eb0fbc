"""Diagnostics in an editor, by a real client: those of `mcproof lint` for the same text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types

from cli.running import FAULTY_TOOL, LOOSE_TOOL, document_of, run, write
from limits import HANG
from services.lsp.sources import LOWLEVEL, SERVER, SUITE

if TYPE_CHECKING:
    from pathlib import Path

    from services.lsp.editor import Editor

LEVELS = {
    types.DiagnosticSeverity.Error: "error",
    types.DiagnosticSeverity.Warning: "warning",
    types.DiagnosticSeverity.Information: "note",
}


def shown(editor: Editor, uri: str) -> list[tuple[Any, ...]]:
    """What an editor shows of each diagnostic."""
    return sorted(
        (
            str(each.code),
            LEVELS[each.severity or types.DiagnosticSeverity.Error],
            each.range.start.line + 1,
            each.message,
        )
        for each in editor.diagnostics(uri)
    )


def linted(file: Path, cwd: Path) -> list[tuple[Any, ...]]:
    """The findings of `mcproof lint`, and what it remarks about the file."""
    document = document_of(run("lint", str(file), "--format", "json", cwd=cwd), "lint")
    found = [(each["rule"], each["level"], each["line"] or 1, each["message"]) for each in document["findings"]]
    return sorted(found)


def catalog(*tools: dict[str, Any]) -> str:
    return json.dumps({"tools": tools}, indent=2, ensure_ascii=False)


CONFIGURED = """\
rulesets = ["grade", "strict"]
ignore = ["tool-no-required"]

[severity]
prop-no-description = "error"

[[ignore-for]]
tool = "find_*"
rules = ["prop-no-description"]
"""
TYPESCRIPT = """\
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const server: McpServer = new McpServer({ name: "books", version: "1.0.0" });
server.registerTool("find", { inputSchema: { title: z.string() } }, async () => ({ content: [] }));
"""

EXAMPLES = {
    "TypeScript": ("server.ts", TYPESCRIPT, ""),
    "fastmcp": ("server.py", SERVER, ""),
    "low-level server": ("server.py", LOWLEVEL, ""),
    "source with a configuration": ("server.py", SERVER, CONFIGURED),
    "source with a comment": ("server.py", SERVER.replace("def burn(id):", "def burn(id):  # mcproof: ignore why"), ""),
    "snapshot": ("tools.json", catalog(LOOSE_TOOL, FAULTY_TOOL), ""),
    "snapshot with a configuration": ("tools.json", catalog(LOOSE_TOOL, FAULTY_TOOL), CONFIGURED),
    "a list of tools": ("tools.json", json.dumps([FAULTY_TOOL, LOOSE_TOOL]), ""),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_editor_shows_the_findings_of_lint(editor: Editor, tmp_path: Path, name: str) -> None:
    file, text, settings = EXAMPLES[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    if settings:
        (tmp_path / "mcproof.toml").write_text(settings, encoding="utf-8")
    uri = editor.open(tmp_path / file)
    found = linted(tmp_path / file, tmp_path)
    assert found
    assert shown(editor, uri) == found


def test_source_in_an_editor_is_not_run_and_nothing_is_written(editor: Editor, tmp_path: Path) -> None:
    file, traces = tmp_path / "server.py", tmp_path / "traces"
    run_if_imported = f"import helper\nopen({str(traces)!r}, 'w').close()\n"
    (tmp_path / "helper.py").write_text(f"open({str(traces)!r}, 'w').close()\n", encoding="utf-8")
    file.write_text(run_if_imported + SERVER, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    uri = editor.open(file)
    assert editor.diagnostics(uri)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_findings_of_a_baseline_are_not_shown(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text('baseline = "accepted.json"\n', encoding="utf-8")
    file = tmp_path / "tools.json"
    write(file, {"tools": [FAULTY_TOOL]})
    assert run("lint", "tools.json", "--update-baseline", cwd=tmp_path).returncode == 0
    uri = editor.open(file)
    assert editor.diagnostics(uri) == []
    editor.replace(uri, '"burn_book"', '"burn_all"')
    assert editor.diagnostics(uri) != []


def test_an_edit_changes_the_diagnostics_without_saving(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(SERVER, encoding="utf-8")
    uri = editor.open(file)
    before = shown(editor, uri)
    editor.replace(uri, "def burn(id):\n", 'def burn(id: int):\n    """Burn the book with this id."""\n')
    after = shown(editor, uri)
    assert after != before
    assert file.read_text(encoding="utf-8") == SERVER
    file.write_text(editor.texts[uri], encoding="utf-8")
    assert after == linted(file, tmp_path)


def test_a_file_that_is_not_saved_yet_is_checked(editor: Editor, tmp_path: Path) -> None:
    uri = editor.open(tmp_path / "new.py", SERVER)
    assert "tool-no-description" in editor.codes(uri)


def test_an_edit_of_an_imported_module_updates_its_importers(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text("TEXT = 'Find a book by words of its title.'\n", encoding="utf-8")
    text = SERVER.replace('    """Find a book by words of its title."""\n', "").replace(
        "@mcp.tool()\ndef find", "@mcp.tool(description=TEXT)\ndef find"
    )
    (tmp_path / "server.py").write_text(f"from models import TEXT\n{text}", encoding="utf-8")
    server = editor.open(tmp_path / "server.py")
    assert editor.codes(server).count("tool-no-description") == 1
    models = editor.open(tmp_path / "models.py")
    assert editor.diagnostics(models) == []
    editor.replace(models, "'Find a book by words of its title.'", "''")
    editor.until(server, lambda codes: codes.count("tool-no-description") == 2)
    editor.shut(models)  # the file on disk counts again
    editor.until(server, lambda codes: codes.count("tool-no-description") == 1)


def test_a_module_that_registers_on_an_imported_server_is_checked(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "core.py").write_text("from mcp.server.fastmcp import FastMCP\napp = FastMCP('x')\n", encoding="utf-8")
    file = tmp_path / "books.py"
    file.write_text("from core import app\n\n\n@app.tool()\ndef burn(id):\n    return id\n", encoding="utf-8")
    assert shown(editor, editor.open(file)) == linted(file, tmp_path) != []


@pytest.mark.parametrize("is_checkout", [True, False])
def test_what_a_link_leads_to_outside_the_checkout_is_not_read(
    editor: Editor, tmp_path: Path, *, is_checkout: bool
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    if is_checkout:
        (checkout / ".git").mkdir()
    (tmp_path / "helper.py").write_text("TEXT = ''\n", encoding="utf-8")
    (checkout / "helper.py").symlink_to(tmp_path / "helper.py")
    source = SERVER.replace("@mcp.tool()\ndef burn", "@mcp.tool(description=TEXT)\ndef burn")
    uri = editor.open(checkout / "server.py", f"from helper import TEXT\n{source}")
    assert ("tool-no-description" in editor.codes(uri)) is not is_checkout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["package.json", "tsconfig.json"])
def test_a_pipe_beside_a_document_does_not_block_the_editor(editor: Editor, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    uri = editor.open(tmp_path / "server.ts", TYPESCRIPT)
    assert "tool-no-description" in editor.codes(uri)


def test_an_unsaved_configuration_applies_to_all_documents(editor: Editor, tmp_path: Path) -> None:
    settings = tmp_path / "mcproof.toml"
    settings.write_text("", encoding="utf-8")
    file = tmp_path / "tools.json"
    write(file, {"tools": [FAULTY_TOOL]})
    uri = editor.open(file)
    assert "tool-no-description" in editor.codes(uri)
    config = editor.open(settings)
    assert editor.diagnostics(config) == []
    editor.edit(config, 0, 0, 'ignore = ["tool-no-description"]\n')
    editor.until(uri, lambda codes: "tool-no-description" not in codes)


def test_a_mistake_in_a_configuration_is_shown_where_it_is(editor: Editor, tmp_path: Path) -> None:
    settings = tmp_path / "mcproof.toml"
    settings.write_text('fail-on = "error"\nignroe = []\n', encoding="utf-8")
    (found,) = editor.diagnostics(editor.open(settings))
    assert (found.range.start.line, found.range.start.character) == (1, 0)
    assert found.message.startswith("unknown key `ignroe` (did you mean `ignore`?)")


def test_settings_in_pyproject_are_checked(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\nname = "x"\n\n[tool.mcproof]\nselect = ["nothing"]\n', encoding="utf-8")
    (found,) = editor.diagnostics(editor.open(file))
    assert found.range.start.line == 4


def test_mistakes_in_a_suite_are_shown(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "mcproof.yaml"
    file.write_text(SUITE, encoding="utf-8")
    uri = editor.open(file)
    assert editor.diagnostics(uri) == []
    editor.replace(uri, "contains: Emma", "cotnains: Emma")
    editor.replace(uri, "server: library", "server: libary")
    messages = [each.message for each in editor.diagnostics(uri)]
    assert any(each.startswith("unknown matcher `cotnains`") for each in messages)
    assert any(each.startswith("unknown server `libary`") for each in messages)


def test_other_documents_have_no_diagnostics(editor: Editor, tmp_path: Path) -> None:
    for name, text in {
        "package.json": '{"name": "x", "version": "1"}',
        "broken.json": '{"name": ',
        "data.yaml": "a: [",
        "plain.py": "def f(:\n",
        "notes.md": "# tools",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert editor.diagnostics(editor.open(tmp_path / name)) == [], name


def test_a_syntax_error_in_source_with_tools_is_shown(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    uri = editor.open(tmp_path / "server.py")
    editor.replace(uri, "def burn(id):", "def burn(id:")
    (found,) = editor.diagnostics(uri)
    assert found.message.startswith("not valid Python")
    editor.replace(uri, "def burn(id:", "def burn(id):")
    assert len(editor.diagnostics(uri)) > 1


def test_columns_are_utf_16_units_and_lines_may_end_in_crlf(editor: Editor, tmp_path: Path) -> None:
    assert editor.encoding == "utf-16"
    text = (
        '[{"name": "burn", "title": "\N{FIRE}\N{FIRE}", "inputSchema": {"type": "object", "properties": {"id": {}}}}]'
    )
    uri = editor.open(tmp_path / "tools.json", f"\r\n{text}\r\n")
    found = next(each for each in editor.diagnostics(uri) if each.code == "prop-no-description")
    before = text[: text.index('"id"')]
    assert (found.range.start.line, found.range.start.character) == (1, len(before) + 2)
    editor.replace(uri, '"id"', '"id\N{FIRE}"')
    editor.replace(uri, "burn", "\N{FIRE}")
    found = next(each for each in editor.diagnostics(uri) if each.code == "prop-no-description")
    assert found.range.start.character == len(before) + 2 - 4 + 2
    assert "id\N{FIRE}" in found.message


def test_documents_that_are_not_files_are_ignored(editor: Editor, tmp_path: Path) -> None:
    item = types.TextDocumentItem(uri="untitled:Untitled-1", language_id="python", version=1, text=SERVER)
    editor.notify("text_document_did_open", types.DidOpenTextDocumentParams(text_document=item))
    assert editor.codes(editor.open(tmp_path / "server.py", SERVER))  # still at work
    assert "untitled:Untitled-1" not in editor.published


RISKY = '''\
import subprocess

from fastmcp import FastMCP

mcp = FastMCP("files")


@mcp.tool
def count_words(name: str) -> str:
    """Count the words of a report by its name."""
    return subprocess.run(f"wc -w reports/{name}", shell=True, capture_output=True, text=True).stdout
'''


def test_the_source_rules_of_scan_are_diagnostics(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("# not saved yet\n", encoding="utf-8")
    uri = editor.open(tmp_path / "server.py", RISKY)
    editor.until(uri, lambda codes: "TRU-301" in codes)
    (found,) = [each for each in editor.diagnostics(uri) if each.code == "TRU-301"]
    (tmp_path / "server.py").write_text(RISKY, encoding="utf-8")
    scanned = document_of(run("scan", "server.py", "--format", "json", cwd=tmp_path), "scan")["findings"]
    (expected,) = [each for each in scanned if each["rule"] == "TRU-301"]
    assert (found.message, found.range.start.line + 1) == (expected["message"], expected["line"])
    assert found.severity == types.DiagnosticSeverity.Error


def test_a_diagnostic_of_a_scan_moves_with_its_line_and_goes_with_its_cause(editor: Editor, tmp_path: Path) -> None:
    uri = editor.open(tmp_path / "server.py", RISKY)
    editor.until(uri, lambda codes: "TRU-301" in codes)
    editor.replace(uri, "import subprocess\n", "import shlex\nimport subprocess\n")
    (found,) = [each for each in editor.diagnostics(uri) if each.code == "TRU-301"]
    assert "shell=True" in editor.texts[uri].splitlines()[found.range.start.line]
    # The line is another one, so what was found in it counts no longer, and the next scan finds nothing.
    editor.replace(uri, "{name}", "{shlex.quote(name)}")
    assert "TRU-301" not in editor.codes(uri)
    editor.replace(uri, "{shlex.quote(name)}", "{name}")
    editor.until(uri, lambda codes: "TRU-301" in codes)


def test_what_a_scan_finds_in_code_is_ignored_in_the_configuration_and_not_by_a_comment(
    editor: Editor, tmp_path: Path
) -> None:
    (tmp_path / "mcproof.toml").write_text("", encoding="utf-8")
    uri = editor.open(tmp_path / "server.py", RISKY)
    config = editor.open(tmp_path / "mcproof.toml")
    editor.until(uri, lambda codes: "TRU-301" in codes)
    (found,) = [each for each in editor.diagnostics(uri) if each.code == "TRU-301"]
    titles = [each.title for each in editor.actions(uri, found.range)]
    assert "Ignore TRU-301 in mcproof.toml" in titles
    assert not [title for title in titles if "comment" in title]
    editor.apply(next(each for each in editor.actions(uri, found.range) if "TRU-301 in" in each.title))
    editor.until(uri, lambda codes: "TRU-301" not in codes)
    assert editor.diagnostics(config) == []


def test_a_request_with_a_position_that_cannot_be_has_a_response() -> None:
    position = {"line": -1, "character": -3}
    document = {"textDocument": {"uri": "file:///server.py"}}
    where = {"range": {"start": position, "end": position}, "context": {"diagnostics": []}}
    sent: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "textDocument/hover", "params": {**document, "position": position}},
        {"id": 3, "method": "textDocument/completion", "params": {**document, "position": position}},
        {"id": "four", "method": "textDocument/codeAction", "params": {**document, **where}},
        {"id": 5, "method": "textDocument/hover", "params": {**document, "position": {"line": 0, "character": 0}}},
        {"id": 6, "method": "shutdown"},
        {"method": "exit"},
    ]
    frames = b""
    for message in sent:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        frames += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    command = [sys.executable, "-m", "mcproof", "lsp"]
    done = subprocess.run(command, input=frames, capture_output=True, timeout=HANG, check=False)
    answers = map(json.loads, re.findall(rb"\r\n\r\n(.*?)(?=Content-Length|$)", done.stdout, re.DOTALL))
    codes = {answer["id"]: answer.get("error", {}).get("code") for answer in answers if "id" in answer}
    assert codes == {1: None, 2: -32602, 3: -32602, "four": -32602, 5: None, 6: None}
