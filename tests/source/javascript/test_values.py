"""What expressions evaluate to: in descriptions, names and lists of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from source.javascript.sources import evaluated, names, served

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('"a" + 1 + true', "a1true"),
        ("`${1 + 2} of ${[1, 2].length}\\n`", "3 of 2\n"),
        ("'\\u0041\\x42'", "AB"),
        ("String(0.1 + 0.2)", "0.30000000000000004"),
        ("`${1e21} ${-0} ${1 / 0} ${2 ** 10} ${7 % 3}`", "1e+21 0 Infinity 1024 1"),
        ("String(null ?? undefined ?? 'x')", "x"),
        ("typeof null + typeof (() => 1) + typeof []", "objectfunctionobject"),
        ("['b', 'a'].sort().join()", "a,b"),
        ("[3, 1, 2].sort((a, b) => b - a).map((n) => n * 2).join('-')", "6-4-2"),
        ("[1, 2, 3].filter((n) => n > 1).reduce((sum, n) => sum + n, '')", "23"),
        ("Object.entries({ a: 1, b: 2 }).map(([k, v]) => `${k}=${v}`).join('&')", "a=1&b=2"),
        ("JSON.stringify({ a: [1, null], b: undefined })", '{"a":[1,null]}'),
        ("'a-b-c'.replace(/-/g, '+').split('+').at(-1)", "c"),
        ("'one two'.replace(/^(\\w+) (\\w+)$/, '$2 $1')", "two one"),
        ("[...new Set(['a', 'b', 'a'])].join('')", "ab"),
        ("new Map([['k', 'v']]).get('k')", "v"),
        ("(({ a, ...rest }) => Object.keys(rest).join())({ a: 1, b: 2, c: 3 })", "b,c"),
        ("((a, b = a + 'y', ...c) => a + b + c.length)('x', undefined, 1, 2)", "xxy2"),
        ("'%s'.padStart(4, '*').toUpperCase().slice(1)", "*%S"),
        ("process.env.TITLE ?? 'Default'", "Default"),
        ("process.env.TITLE ? 'set' : 'not set'", "not set"),
        ("String.raw`a\\n${1}`", "a\\n1"),
        ("void 0 === undefined ? 'same' : 'other'", "same"),
        ("await Promise.resolve('later')", "later"),
        ("[[1, [2]], [3]].flat().length + ''", "3"),
        ("'é'.length + '' + '😀'.length", "12"),
    ],
)
def test_an_expression_has_the_value_that_node_gives_it(tmp_path: Path, expression: str, value: str) -> None:
    assert evaluated(tmp_path, expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "Math.random() + ''",
        "new Date().toISOString()",
        "fetch('https://example.com')",
        "unheardOf.text",
        "'x'.repeat(1e9)",
        "(function f(n) { return f(n + 1) + f(n + 2); })(1)",
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.replace(/^(a+)+$/, 'x')",
    ],
)
def test_what_the_source_does_not_settle_is_not_guessed(tmp_path: Path, expression: str) -> None:
    assert evaluated(tmp_path, expression) is None


@pytest.mark.parametrize(
    ("before", "expression", "value"),
    [
        ("class A { static kind = 'a'; get name() { return this.constructor.kind; } }\n"
         "class B extends A { static kind = 'b'; constructor() { super(); this.x = super.name; } }",
         "new B().name + new B().x", "bb"),
        ("class P { #secret = 's'; read() { return this.#secret; } }", "new P().read()", "s"),
        ("function* pair() { yield 'a'; yield* ['b', 'c']; }", "[...pair()].join('')", "abc"),
        ("let text = ''; for (const [i, c] of ['x', 'y'].entries()) text += i + c;", "text", "0x1y"),
        ("let n = 0; while (true) { n++; if (n === 2) continue; if (n > 3) break; }", "`${n}`", "4"),
        ("let out; switch (2) { case 1: out = 'one'; case 2: out = 'two'; break; default: out = ''; }", "out", "two"),
        ("let caught; try { throw new Error('no'); } catch (e) { caught = e.message; } finally { caught += '!'; }",
         "caught", "no!"),
        ("const a = []; for (let i = 0; i < 2; i++) a.push(() => i);", "a.map((f) => f()).join()", "0,1"),
        ("outer: for (const x of [1, 2]) { for (const y of [1, 2]) { if (y) continue outer; } }", "'done'", "done"),
        ("function Old(n) { this.n = n; } Old.prototype.get = function () { return this.n; };",
         "new Old('o').get()", "o"),
        ("var lazy = (() => { let made; return () => (made ??= 'once'); })();", "lazy() + lazy()", "onceonce"),
    ],
)  # fmt: skip
def test_statements_do_what_node_does(tmp_path: Path, before: str, expression: str, value: str) -> None:
    assert evaluated(tmp_path, expression, before) == value


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for (const name of ['a', 'b']) add(name);", ["a", "b"]),
        ("['a', 'b'].forEach(add);", ["a", "b"]),
        ("const on = process.env.TOOLS?.split(',') ?? ['a'];\n['a', 'b'].filter((n) => on.includes(n)).forEach(add);",
         ["a", "b?"]),
        ("const list = ['a']; if (process.env.MORE) list.push('b'); list.forEach(add);", ["a", "b?"]),
        ("const list = [...(process.env.A ? ['a'] : []), 'b']; for (const n of list) add(n);", ["a?", "b"]),
        ("function go() { if (process.env.OFF) return; add('a'); } add('b'); go();", ["b", "a"]),
        ("for (const n of ['a', 'b']) { if (process.env[n]) continue; add(n); }", ["a", "b"]),
        ("for (const n of ['a', 'b'].filter((n) => (process.env.ON || 'b').includes(n))) add(n);", ["a?", "b"]),
        ("add(`${process.env.PREFIX || 'x'}_a`);", ["x_a"]),
    ],
)  # fmt: skip
def test_tools_of_lists_and_conditions(tmp_path: Path, code: str, expected: list[str]) -> None:
    before = "const add = (name) => server.tool(name, async () => ({ content: [] }));\n"
    assert names(served(tmp_path, before + code)) == expected
