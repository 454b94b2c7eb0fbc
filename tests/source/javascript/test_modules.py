"""Modules and packages: which files are followed, and what an import gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from source.javascript.sources import SDK, SERVER, evaluated, names, project, served, tools

if TYPE_CHECKING:
    from pathlib import Path

ADD = 'import { name } from "./names.js";\nserver.tool(name, async () => {});'


@pytest.mark.parametrize(
    "exported",
    [
        'export const name = "moor";',
        'const inner = "moor"; export { inner as name };',
        'export * from "./more.js";',
        'export { other as name } from "./more.js";',
        'exports.name = "moor";',
        'module.exports = { name: "moor" };',
        'Object.defineProperty(exports, "name", { enumerable: true, get: function () { return "moor"; } });',
    ],
)
def test_an_import_gets_what_a_module_exports(tmp_path: Path, exported: str) -> None:
    more = 'export const name = "moor"; export const other = "moor";'
    assert names(served(tmp_path, ADD, names=exported, more=more)) == ["moor"]


def test_commonjs_with_the_helpers_of_a_compiler(tmp_path: Path) -> None:
    text = """
    "use strict";
    var __importDefault = (this && this.__importDefault) || function (mod) {
        return (mod && mod.__esModule) ? mod : { "default": mod };
    };
    var __awaiter = (this && this.__awaiter) || function (thisArg, _arguments, P, generator) {
        return new (P || (P = Promise))(function (resolve, reject) {
            step((generator = generator.apply(thisArg, _arguments || [])).next());
        });
    };
    const mcp_js_1 = require("@modelcontextprotocol/sdk/server/mcp.js");
    const setup_1 = __importDefault(require("./setup"));
    function main() {
        return __awaiter(this, void 0, void 0, function* () {
            const server = new mcp_js_1.McpServer({ name: "harbour", version: "1" });
            yield (0, setup_1.default)(server);
        });
    }
    main().catch(() => process.exit(1));
    """
    setup = """
    "use strict";
    Object.defineProperty(exports, "__esModule", { value: true });
    exports.default = setup;
    function setup(server) { server.tool("moor", async () => {}); }
    """
    assert names(tools(project(tmp_path, {"index.js": text, "setup.js": setup}, type="commonjs"))) == ["moor"]


@pytest.mark.parametrize("chosen", ["", "DISABLED"])
def test_what_a_compiled_module_hides_is_none_of_its_values(tmp_path: Path, chosen: str) -> None:
    text = f"""
    "use strict";
    const index_js_1 = require("@modelcontextprotocol/sdk/server/index.js");
    const types_js_1 = require("@modelcontextprotocol/sdk/types.js");
    const Charts = require("./charts.js");
    const disabled = ({f"process.env.{chosen}" if chosen else '""'} || "").split(",").filter(Boolean);
    const all = Object.values(Charts);
    const shown = disabled.length === 0 ? all : all.filter((chart) => !disabled.includes(chart.tool.name));
    const server = new index_js_1.Server({{ name: "harbour", version: "1" }}, {{}});
    server.setRequestHandler(types_js_1.ListToolsRequestSchema, async () => ({{
        tools: shown.map((chart) => chart.tool),
    }}));
    """
    charts = """
    "use strict";
    Object.defineProperty(exports, "__esModule", { value: true });
    exports.berths = exports.tides = void 0;
    exports.tides = { tool: { name: "tides", inputSchema: { type: "object" } } };
    Object.defineProperty(exports, "berths", {
        enumerable: true, get: function () { return { tool: { name: "berths", inputSchema: { type: "object" } } }; },
    });
    """
    source = project(tmp_path, {"index.js": text, "charts.js": charts}, type="commonjs")
    assert sorted(names(tools(source))) == ["berths", "tides"]
    assert not source.omissions


@pytest.mark.parametrize(
    ("descriptor", "keys"),
    [
        ("{ value: 1 }", "a"),
        ("{ value: 1, enumerable: false }", "a"),
        ("{ value: 1, enumerable: true }", "a,b"),
        ("{ get() { return 1; } }", "a"),
    ],
)
def test_a_member_is_listed_as_its_descriptor_says(tmp_path: Path, descriptor: str, keys: str) -> None:
    before = f"const made = {{ a: 1 }}; Object.defineProperty(made, 'b', {descriptor});"
    assert evaluated(tmp_path, "Object.keys(made).join()", before) == keys


def test_a_known_member_is_listed_after_a_change_as_before(tmp_path: Path) -> None:
    before = "const made = { a: 1, b: 2 }; Object.defineProperty(made, 'b', { value: 3 });"
    assert evaluated(tmp_path, "Object.keys(made).join()", before) == "a,b"


def test_modules_may_import_each_other(tmp_path: Path) -> None:
    first = (
        'import { second } from "./second.js"; export const first = "moor"; export function go() { return second(); }'
    )
    second = 'import { first } from "./first.js"; export function second() { return first; }'
    text = 'import { go } from "./first.js"; server.tool(go(), async () => {});'
    assert names(served(tmp_path, text, first=first, second=second)) == ["moor"]


def test_typescript_is_read_where_the_build_is_missing(tmp_path: Path) -> None:
    text = (
        SDK
        + """
    import { Kind } from "@/kinds";
    interface Options<T> { value: T }
    enum Level { Low = "low", High = "high" }
    class Harbour {
      private readonly server: McpServer;
      constructor(private prefix: string) { this.server = new McpServer({ name: "harbour", version: "1" }); }
      public register<T extends string>(name: T): void {
        this.server.tool(`${this.prefix}_${name as string}_${Level.High}`, async () => ({ content: [] }));
      }
    }
    new Harbour(Kind!).register("moor" satisfies string);
    """
    )
    files = {
        "src/index.ts": text,
        "src/lib/kinds.ts": 'export const Kind: string = "boat";\nexport type Never = never;',
        "src/index.test.ts": SERVER + 'server.tool("test_only", async () => {});',
        "tsconfig.json": '{ // paths\n "compilerOptions": { "paths": { "@/*": ["./src/lib/*"] }, } }',
    }
    assert names(tools(project(tmp_path, files, bin="dist/index.js"))) == ["boat_moor_high"]


def test_packages_of_a_workspace_find_each_other(tmp_path: Path) -> None:
    files = {
        "packages/names/package.json": '{"name": "@harbour/names", "main": "dist/index.js"}',
        "packages/names/src/index.ts": 'export const name = "moor";',
        "packages/server/package.json": '{"name": "@harbour/server", "bin": "index.js"}',
        "packages/server/index.js": SERVER
        + 'import { name } from "@harbour/names"; server.tool(name, async () => {});',
        "node_modules/other/index.js": SERVER + 'server.tool("other", async () => {});',
    }
    assert names(tools(project(tmp_path, files, bin=None))) == ["moor"]


def test_a_folder_of_tool_modules_is_imported(tmp_path: Path) -> None:
    text = """
    import fs from "node:fs";
    import path from "node:path";
    import { fileURLToPath } from "node:url";
    const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "tools");
    for (const file of fs.readdirSync(folder)) {
      const { default: tool } = await import(path.join(folder, file));
      server.tool(tool.name, async () => {});
    }
    """
    files = {"index.js": SERVER + text}
    files |= {f"tools/{name}.js": f'export default {{ name: "{name}" }};' for name in ("cast_off", "moor")}
    assert names(tools(project(tmp_path, files))) == ["cast_off", "moor"]


def test_a_package_description_is_read_like_any_data(tmp_path: Path) -> None:
    text = 'import own from "./package.json" with { type: "json" };\nserver.tool(own.name, async () => {});'
    assert names(served(tmp_path, text)) == ["harbour"]


def test_zod_and_the_sdk_are_recognized_in_a_bundle(tmp_path: Path) -> None:
    text = """
    var d = Object.defineProperty;
    var e = (t, a) => { for (var n in a) d(t, n, { get: a[n], enumerable: true }); };
    var k = {}; e(k, { ZodObject: () => O, ZodString: () => S, object: () => o, string: () => s });
    class O {} class S {}
    function o(shape) { return new O(shape); }
    function s() { return new S(); }
    class q {
      setToolRequestHandlers() { this.server.setRequestHandler("tools/list", () => ({ tools: [{ name: "wrong" }] })); }
      tool() {} registerTool(a, b, c) { this.setToolRequestHandlers(); }
    }
    var srv = new q({ name: "harbour", version: "1" });
    srv.registerTool("moor", { inputSchema: { berth: k.string().describe("Where") } }, async () => {});
    """
    (tool,) = tools(project(tmp_path, {"index.js": text}, dependencies={}))
    assert tool["name"] == "moor"
    assert tool["inputSchema"]["properties"] == {"berth": {"type": "string", "description": "Where"}}


CONTAINER = """
if (typeof Reflect === "undefined" || !Reflect.getMetadata) throw new Error("the container needs reflect-metadata");
const known = new Map();
const registry = new Map();
function injectable() {
  return function (target) {
    const types = Reflect.getMetadata("design:paramtypes", target) || [];
    const tokens = Reflect.getOwnMetadata("tokens", target) || {};
    Object.keys(tokens).forEach((key) => { types[+key] = tokens[key]; });
    known.set(target, types);
  };
}
function inject(token) {
  return function (target, member, index) {
    const tokens = Reflect.getOwnMetadata("tokens", target) || {};
    tokens[index] = token;
    Reflect.defineMetadata("tokens", tokens, target);
  };
}
function resolve(token) {
  if (registry.has(token)) return registry.get(token);
  return new token(...(known.get(token) || []).map((type) => resolve(type)));
}
"""


def test_a_container_creates_classes_with_what_their_metadata_asks_for(tmp_path: Path) -> None:
    text = """
    class Texts { of(name) { return `Knows ${name}.`; } }
    class Harbour {
      constructor(texts, list) { this.texts = texts; this.list = list; }
      registerAll(server) {
        for (const name of this.list) {
          server.registerTool(name, { description: this.texts.of(name) }, async () => ({ content: [] }));
        }
      }
    }
    const decorate = (decorators, target) => decorators.reduceRight((made, one) => one(made) || made, target);
    decorate([
      injectable(),
      (target, key) => inject("list")(target, key, 1),
      Reflect.metadata("design:paramtypes", [Texts, Array]),
    ], Harbour);
    registry.set("list", ["moor", "cast_off"]);
    resolve(Harbour).registerAll(server);
    """
    found = served(tmp_path, CONTAINER + text)
    assert [tool["description"] for tool in found] == ["Knows moor.", "Knows cast_off."]
