"""Source that is meant to do harm: nothing of it runs, and it ends in bounded time with a clear message."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from limits import cpu_limit
from mcproof.core.errors import InputError
from mcproof.source.javascript.pipeline import discover
from mcproof.targets.folders import read_source
from source.javascript.hostile_files import REAL, hostile_file, read_hostile
from source.javascript.sources import SERVER, names, project, served, tools

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import SourceMap

TOOL = '\nserver.tool("moor", async () => {});'


def test_code_that_writes_a_file_and_never_ends_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    text = f"""
    import {{ writeFileSync }} from "node:fs";
    writeFileSync({str(ran)!r}, "ran");
    function forever(n) {{ return forever(n + 1) + forever(n + 2); }}
    const names = [];
    while (names.length < 1e12) {{ names.push("x".repeat(1e9)); if (globalThis.never) break; }}
    const other = new McpServer({{ name: "canary", version: forever(1) }});
    other.tool("moor", async () => {{}});
    """
    assert names(served(tmp_path / "package", text)) == ["moor"]
    assert not ran.exists()


@pytest.mark.parametrize(
    "text",
    [
        "while (true) {}",
        "for (;;) { for (;;) {} }",
        "let a = []; for (let i = 0; i < 1e9; i++) a.push(a);",
        "let s = 'x'; for (let i = 0; i < 100; i++) s += s;",
        "const f = () => f(); f();",
        "const g = (n) => unknown() ? g(n + 1) : g(n + 2) + g(n + 3); g(0);",
        "class A extends A {}",
        "const o = {}; o.self = o; JSON.stringify(o); structuredClone(o);",
        "Object.setPrototypeOf(Object.prototype, Object.prototype); ({}).missing;",
        "let l = [1, 2]; for (let i = 0; i < 40; i++) l = [...l, ...l];",
        "let d = {}; for (let i = 0; i < 60; i++) d = { a: d, b: d }; JSON.stringify(d);",
        "/(a+)+$/.test('a'.repeat(50) + '!');",
        "let x = unknown(); " + "if (x.a) { x = [x, x]; } " * 200,
        "const t = " + "`${" * 300 + "1" + "}`" * 300 + ";",
    ],
)
def test_what_never_ends_hides_nothing_else(tmp_path: Path, text: str) -> None:
    assert names(served(tmp_path, text + TOOL)) == ["moor"]


@pytest.mark.parametrize(
    "text",
    [
        "f(" * 20_000 + ")" * 20_000,
        "[" * 20_000 + "]" * 20_000,
        "x = " + "1 + " * 20_000 + "1;",
        "a" + ".b" * 20_000 + ";",
        "{" * 20_000,
        "if (a) {} else " * 5_000 + "{}",
    ],
)
def test_deep_nesting_ends(tmp_path: Path, text: str) -> None:
    project(tmp_path, {"index.js": SERVER + text + TOOL})


def test_random_bytes_are_an_error_with_a_place(tmp_path: Path) -> None:
    generator = random.Random(1)  # noqa: S311
    for number in range(50):
        file = tmp_path / f"{number}.ts"
        file.write_bytes(bytes(generator.choices(range(1, 256), k=2_000)))
        with pytest.raises(InputError) as error:
            read_source(str(file))
        assert error.value.file == str(file)
        assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfea\0", "is UTF-16, which is not read; save it as UTF-8"),
        (b"const a = 1;" + bytes(20), "contains null bytes, so it is not source text"),
        (b" " * ((8 << 20) + 1), "larger than 8 MB; skipped"),
    ],
)
def test_a_file_that_is_not_source_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "server.js").write_bytes(data)
    with pytest.raises(InputError) as error:
        read_source(str(tmp_path / "server.js"))
    assert error.value.message == said


def test_a_long_line_is_read_like_any_other(tmp_path: Path) -> None:
    text = "const data = [" + "1," * 200_000 + "];" + TOOL.strip()
    assert names(tools(project(tmp_path, {"index.js": SERVER + text}))) == ["moor"]


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.js").write_text('export const name = "secret";', encoding="utf-8")
    package = tmp_path / "package"
    project(package, {"index.js": SERVER + 'import { name } from "../secret.js"; server.tool(name, async () => {});'})
    assert tools(discover(str(package), whole=True)) == []


COSTLY = """
function hash(text) { let made = 5381; for (let i = 0; i < 900; i++) made = (made * 33) ^ text.length; return made; }
function parse(words) { return words.map((word) => words.map((other) => hash(word + other))); }
const words = Array.from({ length: 40 }, (_, n) => `w${n}`);
"""


def _steps(source: SourceMap) -> int:
    followed: Any = source.project
    steps: int = followed.run.steps
    return steps


def test_a_call_in_a_bundle_takes_few_steps_and_what_registers_has_its_own(tmp_path: Path) -> None:
    start = f"function create() {{ {TOOL} }}\nfunction main() {{ const parsed = parse(words); create(); }}\nmain();"
    source = project(tmp_path, {"index.js": f"{SERVER}{COSTLY}{start}\n//{'x' * 500_000}"})
    assert names(tools(source)) == ["moor"]
    assert _steps(source) < 40_000


def test_a_function_that_is_applied_to_each_character_of_a_long_text_takes_few_steps(tmp_path: Path) -> None:
    table = f'const table = new Uint16Array("{"x" * 20_000}".split("").map((c) => c.charCodeAt(0)));'
    source = project(tmp_path, {"index.js": f"{SERVER}{table}{TOOL}"})
    assert names(tools(source)) == ["moor"]
    assert _steps(source) < 20_000


def test_a_search_that_may_have_ended_goes_on_for_a_few_rounds_only(tmp_path: Path) -> None:
    search = """
    import { readdirSync, statSync } from "node:fs";
    function above(folder, accepts) {
      for (;;) {
        const found = accepts(folder, readdirSync(folder).length);
        if (found) return found;
        folder = unknown(folder);
        if (statSync(folder).isRoot) break;
      }
    }
    const root = above("/", (folder, count) => count > 5 && folder);
    """
    source = project(tmp_path, {"index.js": f"{SERVER}{search}{TOOL}"})
    assert names(tools(source)) == ["moor"]
    assert _steps(source) < 1_500


def test_random_mutated_and_endless_files_raise_nothing_but_errors_for_the_user(tmp_path: Path) -> None:
    real = [text.encode() for text in REAL]
    with cpu_limit():
        for seed in range(150):
            read_hostile(tmp_path / "hostile", hostile_file(seed, real), (".ts", ".js", ".tsx")[seed % 3])


def test_modules_that_export_all_of_each_other_end(tmp_path: Path) -> None:
    text = (
        SERVER + 'export * from "./other.js"; import * as all from "./other.js"; all.missing; server.tool("moor", all);'
    )
    other = 'export * from "./index.js"; import * as all from "./index.js"; all.missing;'
    with cpu_limit():
        assert names(tools(project(tmp_path, {"index.js": text, "other.js": other}))) == ["moor"]
