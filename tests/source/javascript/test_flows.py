"""What a client sends is followed to dangerous calls of JavaScript and TypeScript; checks make it silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.source.pipeline import configuration_of, flows_of

from .sources import SERVER, project

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.observations.source import SourceFlow

IMPORTS = """
import { exec, execFile, execSync, spawn } from "node:child_process";
import { promisify } from "node:util";
import fs from "node:fs/promises";
import { readFileSync } from "fs";
import * as path from "node:path";
import vm from "vm";
import dns from "dns";
import axios from "axios";
import { ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Client } from "ssh2";
import { elsewhere, helper, inside, validated } from "./helper.js";
import * as all from "./all.js";
const run = promisify(exec);
const ROOT = path.resolve("data");
const ALLOWED = ["a", "b"];
const db = connect();
class Store {
  async remove(file: string) { await fs.rm(file); }
}
const store = new Store();
async function insideLater(file) {
  return inside(file);
}
function below(root, file) {
  const way = path.relative(root, file);
  if (way.startsWith("..")) { return false; }
  return true;
}
function judged(word) {
  if (!ALLOWED.includes(word)) return { ok: false, reason: "unknown" };
  return { ok: true };
}
"""
HELPER = """
import { spawn } from "child_process";
import fs from "fs/promises";
import path from "path";
const ROOTS = ["/srv"];
export function helper(word: string) { spawn("sh", ["-c", `echo ${word}`]); }
export const inside = (file: string) => ROOTS.some((root) => file === root || file.startsWith(root + path.sep));
export async function validated(file: string): Promise<string> {
  const whole = path.isAbsolute(file) ? path.resolve(file) : path.resolve(process.cwd(), file);
  if (!inside(whole)) throw new Error("outside");
  const real = await fs.realpath(whole);
  if (!inside(real)) throw new Error("outside");
  return real;
}
import { exec } from "child_process";
import { promisify } from "util";
export const elsewhere = promisify(exec);
"""


def tool(body: str, shape: str = "x: z.string()") -> str:
    return f"""{SERVER}{IMPORTS}
server.registerTool("act", {{ description: "Act.", inputSchema: {{ {shape} }} }}, async ({{ x }}) => {{
{body}
  return {{ content: [] }};
}});
"""


def flows_in(folder: Path, text: str) -> tuple[SourceFlow, ...]:
    files = {"src/index.ts": text, "src/helper.ts": HELPER, "src/all.ts": 'export * from "./helper.js";\n'}
    return flows_of(project(folder, files, bin="src/index.ts")).flows


def kinds_in(folder: Path, text: str) -> list[str]:
    return sorted({flow.kind for flow in flows_in(folder, text)})


DANGEROUS = {
    "exec": ("shell", "exec(`ls ${x}`);"),
    "a constant of another module": ("shell", "await elsewhere(`ls ${x}`);"),
    "exec as a promise": ("shell", "await run('ls ' + x);"),
    "execSync": ("shell", "execSync(['ls', x].join(' '));"),
    "spawn with a shell": ("shell", "spawn('ls', [x], { shell: true });"),
    "a shell by its name": ("shell", "spawn('bash', ['-c', x]);"),
    "a shell in a container": ("shell", "const command = ['sh', '-c', x];\ncontainer.exec(command);"),
    "a program": ("shell", "execFile(x, ['--version']);"),
    "eval": ("eval", "eval(x);"),
    "a function of text": ("eval", "new Function('a', `return ${x}`)(1);"),
    "vm": ("eval", "vm.runInNewContext(x, {});"),
    "a module": ("eval", "await import(x);"),
    "code of an interpreter": ("eval", "spawn('node', ['-e', x]);"),
    "a query": ("sql", "db.query(`SELECT * FROM ${x}`);"),
    "a query in parts": ("sql", "let sql = 'SELECT * FROM t';\nsql += ` WHERE a = '${x}'`;\ndb.prepare(sql).all();"),
    "a file": ("path", "await fs.readFile(x, 'utf8');"),
    "a file below a folder": ("path", "readFileSync(path.join(ROOT, x));"),
    "a resolved file": ("path", "await fs.writeFile(path.resolve(ROOT, x), '');"),
    "a method": ("path", "await store.remove(x);"),
    "an address": ("url", "await fetch(x);"),
    "an address in an object": ("url", "await axios.request({ url: x });"),
    "a host": ("url", "await axios.get(`https://${x}/status`);"),
    "a page": ("url", "await page.goto(x);"),
    "a function of another module": ("shell", "helper(x);"),
    "a function of a namespace": ("shell", "await all.helper(x);"),
    "a command over ssh": ("shell", "const client = new Client();\nclient.exec(`ls ${x}`, done);"),
    "a callback": ("shell", "[x].forEach((word) => exec(`ls ${word}`));"),
    "a table of functions": ("shell", "const table = { [name]: (word) => exec(word) };\nawait table[key](x);"),
    "a condition": ("shell", "const word = x ? x : 'a';\nexec(`ls ${word}`);"),
    "a method with a type that is awaited": ("path", "await store.remove<string>(x);"),
    "after a switch with blocks": (
        "shell",
        "switch (y) {\n  case 'a': {\n    log(y);\n    break;\n  }\n  default: {\n    break;\n  }\n}\nexec(x);",
    ),
    "try": ("shell", "try {\n  exec(`ls ${x}`);\n} catch (error) {\n  log(error);\n}"),
}
HARMLESS = {
    "a list of arguments": "execFile('git', ['log', x]);",
    "spawn": "spawn('git', ['log', x]);",
    "a parameter of a query": "db.query('SELECT * FROM t WHERE a = ?', [x]);",
    "values of a tag": "await sql`SELECT * FROM t WHERE a = ${x}`;",
    "a whole query": "db.query(x);",
    "a fixed host": "await fetch(`https://example.org/${x}`);",
    "the content of a file": "await fs.writeFile(path.join(ROOT, 'a'), x);",
    "a number": "exec(`ls ${Number(x)}`);",
    "the last part of a path": "readFileSync(path.join(ROOT, path.basename(x)));",
    "a module of the project": "await import('./helper.js');",
}
CHECKED = {
    "a list": "if (!ALLOWED.includes(x)) throw new Error(x);\nexec(`ls ${x}`);",
    "a set": "const known = new Set(ALLOWED);\nif (known.has(x)) {\n  exec(`ls ${x}`);\n}",
    "one value": "if (x === 'a') exec(`ls ${x}`);",
    "a switch": "switch (x) {\n  case 'a':\n    exec(`ls ${x}`);\n    break;\n  default:\n    throw new Error(x);\n}",
    "a pattern": "if (!/^[a-z]+$/.test(x)) return { isError: true, content: [] };\nexec(`ls ${x}`);",
    "a separator": "const file = path.resolve(ROOT, x);\nif (!file.startsWith(ROOT + path.sep)) throw new Error(x);\n"
    "await fs.readFile(file);",
    "a relative path": "const file = path.resolve(ROOT, x);\nconst way = path.relative(ROOT, file);\n"
    "if (way.startsWith('..') || path.isAbsolute(way)) throw new Error(x);\nawait fs.readFile(file);",
    "a helper": "await fs.readFile(await validated(x));",
    "a truth value of a helper": "const file = path.resolve(x);\nif (!inside(file)) throw new Error(x);\n"
    "await fs.readFile(file);",
    "the host": "const url = new URL(x);\nif (!ALLOWED.includes(url.hostname)) throw new Error(x);\nawait fetch(url);",
    "the network of an address": "const url = new URL(x);\nconst all = await dns.promises.lookup(url.hostname);\n"
    "for (const found of all) {\n  if (isIP(found) && isPrivateAddress(found)) throw new Error(x);\n}\nawait fetch(x);",
    "a pattern of the host": "if (!x.match(/^https?:\\/\\/[a-z]+\\.example\\.org\\/pages\\//)) throw new Error(x);\n"
    "await fetch(x);",
    "the start of an address": "if (!x.startsWith('https://example.org/')) throw new Error(x);\nawait fetch(x);",
    "neither dots nor a separator": "if (x.includes('..') || x.includes('/')) throw new Error(x);\n"
    "readFileSync(path.join(ROOT, x));",
    "a member of the result of a helper": "const seen = judged(x);\nif (!seen.ok) throw new Error(seen.reason);\n"
    "await fs.readFile(x);",
    "a truth value that a loop sets": "const file = path.resolve(x);\nlet allowed = false;\n"
    "for (const root of roots()) {\n"
    "  if (file.startsWith(root + path.sep)) {\n    allowed = true;\n    break;\n  }\n}\n"
    "if (!allowed) throw new Error(x);\nawait fs.readFile(file);",
    "the first of those that fit": "const file = path.resolve(x);\n"
    "const root = roots().filter((one) => inside(file)).sort()[0];\n"
    "if (!root) throw new Error(x);\nawait fs.readFile(file);",
    "how many fit": "const file = path.resolve(x);\n"
    "const fits = roots().filter((one) => file.startsWith(one + path.sep));\n"
    "if (fits.length === 0) throw new Error(x);\nawait fs.readFile(file);",
    "those that fit": "for (const one of x.filter((file) => ALLOWED.includes(file))) exec(one);",
    "a helper that returns constants, in a callback": "const file = path.resolve(x);\n"
    "if (!roots().some((root) => below(root, file))) throw new Error(x);\nawait fs.readFile(file);",
    "a comparison with false": "const file = path.resolve(x);\nif (inside(file) === false) throw new Error(x);\n"
    "await fs.readFile(file);",
    "a position": "if (ALLOWED.indexOf(x) === -1) throw new Error(x);\nexec(x);",
    "a position from zero": "if (ALLOWED.indexOf(x) >= 0) exec(x);",
    "cases together": "switch (x) {\n  case 'a':\n  case 'b':\n    exec(`ls ${x}`);\n}",
    "the scheme, for a path": "if (new URL(x).protocol !== 'https:') throw new Error(x);\nawait fs.readFile(x);",
    "a folder and a name in it": "const file = path.resolve(x);\n"
    "const real = path.join(await fs.realpath(path.dirname(file)), path.basename(file));\n"
    "if (!inside(real)) throw new Error(x);\nawait fs.readFile(x);",
    "an unseen function": "validatePath(x);\nawait fs.readFile(x);",
}
USELESS = {
    "the extension": ("path", "if (!x.endsWith('.md')) throw new Error(x);\nawait fs.readFile(x);"),
    "a check after the use": ("path", "await fs.readFile(x);\nawait validated(x);"),
    "a member of a result that is ignored": ("path", "const seen = judged(x);\nawait fs.readFile(x);"),
    "a check whose result is ignored": ("path", "inside(path.resolve(x));\nawait fs.readFile(x);"),
    "a check in one branch": (
        "shell",
        "if (x.length > 3) {\n  if (!ALLOWED.includes(x)) throw new Error(x);\n}\nexec(x);",
    ),
    "a check of the scheme": ("url", "if (new URL(x).protocol !== 'https:') throw new Error(x);\nawait fetch(x);"),
    "an asynchronous check that is not awaited": ("path", "validated(x);\nawait fs.readFile(x);"),
    "the promise of an answer": (
        "path",
        "const file = path.resolve(x);\nif (!insideLater(file)) throw new Error(x);\nawait fs.readFile(file);",
    ),
    "a position that is not the first": ("shell", "if (ALLOWED.indexOf(x) === 0) throw new Error(x);\nexec(x);"),
    "a truth value that another loop sets": (
        "path",
        "let allowed = false;\nfor (const one of all()) {\n  allowed = true;\n"
        "  break;\n}\nif (!allowed) throw new Error(x);\nawait fs.readFile(x);",
    ),
    "a pattern of any host": ("url", "if (!x.match(/^https?:\\/\\/.+\\/pages/)) throw new Error(x);\nawait fetch(x);"),
    "a loose pattern": ("shell", "if (!/.*/.test(x)) throw new Error(x);\nexec(`ls ${x}`);"),
    "a prefix without a separator": (
        "prefix",
        "const file = path.resolve(ROOT, x);\nif (!file.startsWith(ROOT)) throw new Error(x);\n"
        "await fs.readFile(file);",
    ),
    "a path below a folder, and the text is opened": (
        "path",
        "const file = path.resolve(ROOT, x);\nif (!file.startsWith(ROOT + path.sep)) throw new Error(x);\n"
        "await fs.readFile(x);",
    ),
}


@pytest.mark.parametrize("name", DANGEROUS)
def test_a_dangerous_use_of_an_argument_is_found(name: str, tmp_path: Path) -> None:
    kind, body = DANGEROUS[name]
    assert kinds_in(tmp_path, tool(body)) == [kind]


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_use_is_silent(name: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(HARMLESS[name])) == []


@pytest.mark.parametrize("name", CHECKED)
def test_a_check_makes_an_argument_safe(name: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(CHECKED[name])) == []


@pytest.mark.parametrize("name", USELESS)
def test_what_is_not_a_check_makes_nothing_safe(name: str, tmp_path: Path) -> None:
    kind, body = USELESS[name]
    assert kinds_in(tmp_path, tool(body)) == [kind]


@pytest.mark.parametrize(
    "shape", ["x: z.number()", "x: z.enum(['a', 'b'])", "x: z.boolean()", "x: z.string().regex(/^[a-z]+$/)"]
)
def test_an_argument_without_free_text_is_harmless(shape: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool("exec(`ls ${x}`);", shape)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "server.resource('r', new ResourceTemplate('n://{name}', {}), async (uri, { name }) => ({ contents: [\n"
            "  { uri: uri.href, text: await fs.readFile(`/srv/${name}`, 'utf8') } ] }));",
            ("name", (), ("resource `r`",)),
        ),
        (
            "server.prompt('p', { topic: z.string() }, ({ topic }) => ({ messages: [readFileSync(topic)] }));",
            ("topic", (), ("prompt `p`",)),
        ),
        (
            "low.setRequestHandler(CallToolRequestSchema, async (request) => {\n  const { name, arguments: given } ="
            " request.params;\n  if (name === 'read') {\n    return { content: [readFileSync(given.file)] };\n  }\n});",
            ("file", ("read",), ()),
        ),
        (
            "low.setRequestHandler(ReadResourceRequestSchema, async (request) => {\n"
            "  return { contents: [readFileSync(request.params.uri)] };\n});",
            ("uri", (), ("any resource",)),
        ),
        (
            "const one = { name: 'one', description: 'One.', parameters: z.object({}), execute: async (given) =>\n"
            "  readFileSync(given.file) };\nlow.addTool(one);",
            ("file", ("one",), ()),
        ),
    ],
)
def test_the_inputs_of_every_handler(
    text: str, expected: tuple[str, tuple[str, ...], tuple[str, ...]], tmp_path: Path
) -> None:
    listed = "[{ name: 'read', inputSchema: { type: 'object', properties: { file: { type: 'string' } } } }]"
    low = (
        "import { CallToolRequestSchema, ReadResourceRequestSchema } from '@modelcontextprotocol/sdk/types.js';\n"
        "const low = new Server({ name: 'low', version: '1' }, {});\n"
        f"low.setRequestHandler(ListToolsRequestSchema, async () => ({{ tools: {listed} }}));\n"
    )
    (flow,) = flows_in(tmp_path, SERVER + IMPORTS + low + text)
    assert (flow.parameters[0], flow.tools, flow.others) == expected


def test_a_function_that_registers_passes_its_parameters_on(tmp_path: Path) -> None:
    text = """
function add(name, shape, run) {
  server.registerTool(name, { description: "Acts.", inputSchema: shape }, async (given) => {
    const result = await run(given);
    return { content: [{ type: "text", text: result }] };
  });
}
add("safe", { word: z.string() }, async ({ word }) => word);
add("save", { file: z.string() }, async ({ file }) => fs.writeFile(file, ""));
for (const one of [{ name: "drop", run: (given) => fs.rm(given.file) }]) add(one.name, { file: z.string() }, one.run);
"""
    (flow,) = flows_in(tmp_path, SERVER + IMPORTS + text)
    assert (flow.call, flow.tools, len(flow.further)) == ("fs.promises.writeFile", ("save", "drop"), 1)


def test_a_declared_check_of_a_tool_names_what_is_safe(tmp_path: Path) -> None:
    described = """
const one = { name: "one", description: "One.", schema: { file: z.string(), copy: z.string() },
  verifiedFiles: { file: true },
  handler: async (request) => { readFileSync(request.params.file); fs.rm(request.params.copy); } };
server.registerTool(one.name, one, async (params) => one.handler(await checkFiles(one, { params })));
"""
    assert {flow.parameters for flow in flows_in(tmp_path, SERVER + IMPORTS + described)} == {("copy",)}


def test_the_path_has_every_step_with_its_line(tmp_path: Path) -> None:
    (flow,) = flows_in(tmp_path, tool("const word = x.trim();\nhelper(word);"))
    assert [step.what for step in flow.steps] == [
        "arguments of act()",
        "word = x.trim()",
        "helper(word)",
        'spawn("sh", ["-c", `echo ${word}`])',
    ]
    assert (flow.function, flow.location.file.endswith("helper.ts"), flow.location.line) == ("helper", True, 6)


def test_commonjs_as_compilers_write_it_is_followed(tmp_path: Path) -> None:
    text = (
        'const mcp_js_1 = require("@modelcontextprotocol/sdk/server/mcp.js");\n'
        'const child_process_1 = require("child_process");\nconst util_1 = require("util");\n'
        'const zod_1 = require("zod");\nconst run = (0, util_1.promisify)(child_process_1.exec);\n'
        'const server = new mcp_js_1.McpServer({ name: "x", version: "1" });\n'
        'server.tool("act", "Act.", { x: zod_1.z.string() }, async (given) => {\n'
        "  await run(`ls ${given.x}`);\n  (0, child_process_1.execSync)(given.x);\n});\n"
    )
    (flow,) = flows_of(project(tmp_path, {"index.cjs": text}, bin="index.cjs", type="commonjs")).flows
    assert (flow.call, len(flow.further)) == ("child_process.exec", 1)


def test_what_is_not_read_is_said_to_be_unobserved(tmp_path: Path) -> None:
    found = project(tmp_path, {"src/index.ts": tool(""), "src/helper.ts": HELPER}, bin="src/index.ts")
    assert set(flows_of(found).unobserved) == {"TRU-307", "TRU-308", "TRU-312"}
    assert set(configuration_of(found, str(tmp_path)).unobserved) == {"TRU-309", "TRU-310", "TRU-311"}


def test_functions_that_call_each_other_end(tmp_path: Path) -> None:
    source = "\n".join(f"function f{n}(a) {{ f{n + 1}(a); f{n + 1}(a); f{n + 1}(a); }}" for n in range(30))
    project_map = project(tmp_path, {"index.ts": tool("f0(x);") + source + "\nfunction f30(a) { f0(a); }"})
    flows = flows_of(project_map)
    assert flows.flows == ()
    assert flows.incomplete in ((), ("act",))


def test_a_tool_of_tmcp_gets_arguments(tmp_path: Path) -> None:
    text = """
import { McpServer } from "tmcp";
import { exec } from "child_process";
const server = new McpServer({ name: "harbour" }, {});
server.tool({ name: "moor", description: "Moors.", schema: Berth }, async ({ berth }) => exec(`moor ${berth}`));
"""
    (flow,) = flows_in(tmp_path, text)
    assert (flow.kind, flow.parameters) == ("shell", ("berth",))
