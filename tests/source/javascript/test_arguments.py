"""Arguments of the command, and what a machine answers: a program is followed as if none was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from source.javascript.sources import SERVER, names, project, served, tools

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = """
import yargs from "yargs";
import { program, Command } from "commander";
import minimist from "minimist";
import { parseArgs } from "node:util";
import meow from "meow";
class BundledParser {
  option() { return this; } demandOption() {} parseSync() {} showHelpOnFail() {} strictCommands() {}
}
const bundled = (args) => new BundledParser(args);
"""
PORT = "server.registerTool('moor', { description: `Port ${%s}.` }, async () => ({ content: [] }));"


def described(folder: Path, text: str, **files: str) -> str | None:
    """The description of the tool that a program registers."""
    (tool,) = tools(project(folder, {"index.js": SERVER + PACKAGES + text, **files}))
    found: str | None = tool.get("description")
    return found


@pytest.mark.parametrize(
    ("parsed", "port"),
    [
        ("yargs(process.argv).option('my-port', { default: 80 }).parseSync()", "myPort"),
        ("await yargs(process.argv).options({ port: { default: 80 } }).argv", "port"),
        ("program.option('-p, --port <n>', 'The port', 80).parse() && program.opts()", "port"),
        ("minimist(process.argv.slice(2), { default: { port: 80 } })", "port"),
        ("parseArgs({ options: { port: { type: 'string', default: '80' } } })", "values.port"),
        ("meow('help', { flags: { port: { type: 'number', default: 80 } } })", "flags.port"),
        ("bundled([]).option('port', { default: 80 }).parse()", "port"),
    ],
)
def test_options_have_their_defaults(tmp_path: Path, parsed: str, port: str) -> None:
    assert described(tmp_path, f"const parsed = {parsed}; {PORT % f'parsed.{port}'}") == "Port 80."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("yargs([]).command('$0 [at]', 'Runs', (y) => y.option('port', { default: 80 }), (o) => {", "}).parse();"),
        ("yargs([]).command({ command: '*', builder: { port: { default: 80 } }, handler: (o) => {", "} }).parse();"),
        ("const c = new Command().argument('[at]').option('--port <n>', '', 80).action((at, o) => {", "}); c.parse();"),
    ],
)
def test_the_command_without_a_name_runs(tmp_path: Path, before: str, after: str) -> None:
    assert described(tmp_path, before + PORT % "o.port" + after) == "Port 80."


def test_the_platform_and_files_outside_the_project_have_defaults(tmp_path: Path) -> None:
    text = """
    import os from "node:os"; import fs from "node:fs"; import path from "node:path";
    const where = fs.existsSync("/.dockerenv") ? "a container" : os.platform();
    const kinds = fs.readdirSync(path.join(import.meta.dirname, "docs"), { withFileTypes: true })
      .map((entry) => entry.isDirectory() ? `${entry.name}/` : entry.name);
    server.registerTool("moor", { description: `${where}: ${kinds.join(" ")}` }, async () => ({ content: [] }));
    """
    assert described(tmp_path, text, **{"docs/a.md": "", "docs/deep/b.md": ""}) == "linux: a.md deep/"


def test_an_import_of_nothing_is_unknown(tmp_path: Path) -> None:
    assert described(tmp_path, "import();" + PORT % 1) == "Port 1."


def test_a_call_that_may_have_returned_before_does_not_end_the_program(tmp_path: Path) -> None:
    text = """
    const flags = {};
    for (const word of process.argv.slice(2)) flags[word] = true;
    function check() {
      const old = ["password"].filter((name) => name in flags);
      if (old.length === 0) return;
      throw new Error(old.join());
    }
    check();
    server.registerTool("moor", {}, async () => ({ content: [] }));
    """
    assert names(served(tmp_path, text)) == ["moor"]
