"""Hostile source is reported and never run, in bounded time and memory."""

from __future__ import annotations

import os
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from limits import cpu_limit
from mcproof.source.python.files import LARGEST_FILE
from mcproof.source.python.pipeline import discover

from .sources import found, names, write

if TYPE_CHECKING:
    from pathlib import Path

GOOD = 'from fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool\ndef a(): ...\n'


def test_nothing_is_imported_or_run(tmp_path: Path) -> None:
    """A source that would leave a trace, at import, in defaults, annotations, decorators and class bodies."""
    trace = tmp_path / "trace"
    leave = f'open({str(trace)!r}, "w").write("ran")'
    write(
        tmp_path / "target",
        {
            "server.py": f"""
                import helper
                from fastmcp import FastMCP
                {leave}
                mcp = FastMCP({leave})
                __import__("os").system("touch {trace}")
                exec({leave!r})
                class Body:
                    {leave}
                def decorate(fn):
                    {leave}
                    return fn
                @mcp.tool(name="a", description={leave})
                @decorate
                def a(x: {leave} = {leave}): ...
                @mcp.tool(name=eval({leave!r}))
                def b(): ...
                if __name__ == "__main__":
                    {leave}
                """,
            "helper.py": f"{leave}\n",
            "sitecustomize.py": f"{leave}\n",
        },
    )
    assert names(discover(str(tmp_path / "target"))) == ["a"]
    assert not trace.exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [("from fastmcp import FastMCP\ndef broken(:\n", 2), ("from fastmcp import FastMCP\nx = 'unclosed\n", 2)],
)
def test_a_syntax_error_is_reported_and_hides_nothing_else(text: str, line: int, tmp_path: Path) -> None:
    result = found(tmp_path, GOOD, broken=text)
    assert names(result) == ["a"]
    (problem,) = result.problems
    assert problem.file.endswith("broken.py")
    assert problem.line == line
    assert problem.what.startswith("not valid Python: ")


NEWER = pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads it")


@NEWER
@pytest.mark.parametrize(
    "line",
    [
        "type Name = int",
        "type Many[T] = list[T]",
        "def f[T](x: T) -> T: ...",
        "class Box[T]: ...",
        """x = f"{d["a"]}" """,
        r"""x = f"{d['a\n']}" """,
    ],
)
def test_newer_syntax_is_reported_as_such(line: str, tmp_path: Path) -> None:
    result = found(tmp_path, GOOD, newer=f"from fastmcp import FastMCP\n{line}\n")
    (problem,) = result.problems
    assert problem.line == 2
    assert problem.what.startswith(
        f"not valid Python {sys.version_info[0]}.{sys.version_info[1]}, which mcproof runs on: "
    )
    assert problem.what.endswith("; run mcproof with a newer Python")


@pytest.mark.parametrize("line", ["type = = 3", 'x = f"{y"', "print 3", "def f(: ...", "class C(: ...", "except* x:"])
def test_invalid_syntax_is_reported_as_such(line: str, tmp_path: Path) -> None:
    (problem,) = found(tmp_path, GOOD, wrong=f"from fastmcp import FastMCP\n{line}\n").problems
    assert problem.what.startswith("not valid Python: ")


def test_a_hostile_line_takes_little_time(tmp_path: Path) -> None:
    line = 'f"' * 20_000 + "{" + '"' * 40_000
    with cpu_limit():
        (problem,) = found(tmp_path, GOOD, wrong=f"from fastmcp import FastMCP\n{line}\n").problems
        assert problem.line == 2


def test_a_problem_without_a_column_has_none(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, GOOD, wrong=f"from fastmcp import FastMCP\nx = {'1' * 5001}\n").problems
    assert problem[1:3] == (2, None)


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"from fastmcp import FastMCP\n\nx = '\xe4'\n", 3, "byte 0xe4 is not valid UTF-8"),
        (b"# \xe4\nfrom fastmcp import FastMCP\n", 1, "byte 0xe4 is not valid UTF-8"),
        (b"from fastmcp import FastMCP\r\rx = '\xe4'\r", 3, "byte 0xe4 is not valid UTF-8"),
        (b"# coding: ascii\nfrom fastmcp import FastMCP\nx = '\xe4'\n", 3, "byte 0xe4 is not valid ascii"),
        (b"# coding: klingon\nfrom fastmcp import FastMCP\n", 1, "unknown encoding: klingon"),
    ],
)
def test_invalid_bytes_are_reported_with_their_line(data: bytes, line: int, what: str, tmp_path: Path) -> None:
    write(tmp_path, {"server.py": GOOD})
    (tmp_path / "odd.py").write_bytes(data)
    (problem,) = discover(str(tmp_path)).problems
    assert problem[1:] == (line, None, f"cannot be decoded: {what}")


def test_a_file_that_is_too_large_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {"server.py": GOOD})
    (tmp_path / "large.py").write_bytes(b"# fastmcp\n" + b"x = 1\n" * (LARGEST_FILE // 6 + 1))
    result = discover(str(tmp_path))
    assert names(result) == ["a"]
    assert [problem.what for problem in result.problems] == ["larger than 8 MB; skipped"]


@pytest.mark.parametrize(
    "data",
    [
        b"from fastmcp import FastMCP\nx = '\0'\n",
        b"# -*- coding: no-such-thing -*-\nfrom fastmcp import FastMCP\n",
        b"from fastmcp import FastMCP\nx = '\xff\xfe'\n",
        "from fastmcp import FastMCP\n".encode("utf-16"),
        b"# -*- coding: utf-8 -*-\nfrom fastmcp import FastMCP\nx = '\xe4'\n",
    ],
)
def test_a_binary_file_is_reported(data: bytes, tmp_path: Path) -> None:
    write(tmp_path, {"server.py": GOOD})
    (tmp_path / "odd.py").write_bytes(data)
    result = discover(str(tmp_path))
    assert names(result) == ["a"]
    assert len(result.problems) == (1 if b"FastMCP" in data else 0)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "cp1252"])
def test_a_declared_encoding_is_read(encoding: str, tmp_path: Path) -> None:
    cookie = "" if encoding == "utf-8-sig" else f"# -*- coding: {encoding} -*-\n"
    source = f"{cookie}{GOOD}@mcp.tool(description='Grüße')\ndef b(): ...\n"
    (tmp_path / "server.py").write_bytes(source.encode(encoding))
    assert discover(str(tmp_path)).document["tools"][1]["description"] == "Grüße"


def test_windows_line_ends_keep_the_lines(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert discover(str(tmp_path)).locations["/tools/0/name"].line == 4


DEEP = {
    "parentheses": "x = " + "(" * 5000 + ")" * 5000,
    "lists": "x = " + "[" * 90 + "]" * 90,
    "a long sum": "x = "
    + " + ".join(["1"] * 5000)
    + "\n@mcp.tool(description='a' + "
    + " + ".join(["'b'"] * 3000)
    + ")\ndef b(): ...",
    "attributes": "x = y" + ".z" * 3000,
    "calls": "x = f" + "()" * 3000,
    "subscripts": "x = y" + "[0]" * 3000,
    "unary": "x = " + "not " * 3000 + "y",
    "blocks": "\n".join("    " * depth + "if y:" for depth in range(90)) + "\n" + "    " * 90 + "pass",
    "nested annotations": "@mcp.tool\ndef b(x: " + "list[" * 90 + "int" + "]" * 90 + "): ...",
    "a nested schema": "from mcp.types import Tool\nx = Tool(name='b', inputSchema="
    + "{'a': " * 90
    + "1"
    + "}" * 90
    + ")",
    "a function that calls itself": "def f(n):\n    return f(n + 1)\nx = f(0)",
    "functions that call each other": "def f(n):\n    return g(n) + g(n)\ndef g(n):\n    return f(n) + f(n)\nx = f(0)",
    "an endless loop": "while True:\n    x = 1",
    "nested loops": "for a1 in range(10**9):\n    for b1 in range(10**9):\n        for c1 in range(10**9): pass",
    "a nested comprehension": "x = [1 for a1 in range(10**6) for b1 in range(10**6) for c1 in range(10**6)]",
    "doubling": "x = 'a'\n" + "x = x + x\n" * 60,
    "a doubling list": "x = [1]\n" + "x = x + x\n" * 60,
    "a class that is its own base": "class A(A): ...\nclass B(B, A): ...",
    "a model in itself": "from pydantic import BaseModel\nclass M(BaseModel):\n    m: 'M'\n@mcp.tool\ndef b(m: M): ...",
    "an alias of itself": "X = 'X'\n@mcp.tool\ndef b(x: 'X'): ...",
    "a server in itself": "mcp.mount(mcp)\nother = FastMCP('y')\nmcp.mount(other)\nother.mount(mcp, 'z')",
    "a list in itself": "x = []\nx.append(x)\n@mcp.tool(description=x)\ndef b(): ...",
    "a dictionary in itself": "x = {}\nx['x'] = x\n@mcp.tool(meta=x)\ndef b(): ...",
    "a wide format": "x = f'{1:>1000000000}'\ny = '{:>1000000000}'.format(1)\nz = '%1000000000d' % 1",
    "a power": "x = 9 ** 9 ** 9 ** 9\ny = 1 << 10 ** 12\nz = 'a' * 10 ** 12",
    "a decorator of itself": "@d\ndef d(fn):\n    return d(d)\n@d\ndef e(): ...",
}


@pytest.mark.parametrize("form", DEEP)
def test_deep_and_long_source_does_not_crash(form: str, tmp_path: Path) -> None:
    result = found(tmp_path, GOOD, deep=f"from fastmcp import FastMCP\nfrom server import mcp\n{DEEP[form]}\n")
    assert "a" in names(result)


def test_modules_that_import_each_other_are_read(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        one="from two import mcp, B\nA = 'a'\n@mcp.tool(name=A)\ndef f(): ...\n",
        two='from fastmcp import FastMCP\nmcp = FastMCP("x")\nfrom one import A, f\nB = A\nfrom two import B\n',
    )
    assert names(result) == ["a"]


def test_circular_links_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path, {"server.py": GOOD, "inner/x.py": ""})
    (tmp_path / "inner" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "inner" / "gone.py").symlink_to(tmp_path / "nowhere.py")
    assert names(discover(str(tmp_path))) == ["a"]


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"server.py": GOOD, "secret.py": GOOD})
    opened = open

    def refuse(file: str, *arguments: Any, **options: Any) -> Any:
        if str(file).endswith("secret.py"):
            raise PermissionError(13, "Permission denied")
        return opened(file, *arguments, **options)

    monkeypatch.setattr("builtins.open", refuse)
    result = discover(str(tmp_path))
    assert names(result) == ["a"]
    assert result.problems[0].what == "cannot be read: Permission denied"


def test_a_folder_named_like_a_file_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"odd.py/server.py": GOOD})
    assert names(discover(str(tmp_path / "odd.py"))) == ["a"]


def test_discovery_is_deterministic(tmp_path: Path) -> None:
    first = found(tmp_path, GOOD, more="from server import mcp\n@mcp.tool\ndef b(x: int): ...\n")
    assert discover(str(tmp_path))._replace(project=None) == first._replace(project=None)


@pytest.mark.parametrize(
    "text",
    [
        '"%01000000000d" % 3',
        '"%-1000000000d" % 3',
        '"%.1000000000f" % 3',
        '"%(a)1000000000s" % {"a": 3}',
        '"%((a))1000000000s" % {"(a)": 3}',
        'b"%01000000000d" % 3',
        '"{:1000000000}".format(3)',
        '"{:{w}}".format(3, w=10**9)',
        '"{:\uff11\uff10\uff10\uff10\uff10\uff10\uff10\uff10\uff10\uff10}".format(3)',
        '("{0}" * 300000).format("x" * 1000000)',
        '("%(a)s" * 2000) % {"a": "x" * 1000000}',
        '("x" * 1048576).join("a" * 2000)',
        '("\\t" * 1000000).expandtabs(1000)',
        'f"{3:1000000000}"',
        'f"{3:{10**9}}"',
        "doubled",
        "dumped",
        "shown",
        "json.dumps(nested)",
        'f"{shown!r}{shown!r}"',
    ],
)
def test_computed_text_is_bounded(text: str, tmp_path: Path) -> None:
    """Under a memory limit that each of these would exceed."""
    source = f"""
        import json
        doubled = dumped = shown = "a"
        nested = ["a"]
        for i in range(40):
            doubled = f"{{doubled}}{{doubled}}"
            dumped = json.dumps([dumped, dumped])
            shown = repr(shown + "\\\\")
            nested = [nested, nested]
        value = {text}
        from fastmcp import FastMCP
        mcp = FastMCP("x")
        @mcp.tool
        def a(b: str = value): ...
        """
    tracemalloc.start()
    try:
        result = found(tmp_path, source)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert names(result) == ["a"]
    assert result.tools[0].unknown == {"/inputSchema/properties/b/default"}
    assert most < 100 << 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"%s in 2024, %05d" % ("a", 3)', "a in 2024, 00003"),
        ('"%(a)s%(a)s" % {"a": "x"}', "xx"),
        ('"{} in {year:>6}".format("a", year=2024)', "a in   2024"),
        ('", ".join(["a", "b"])', "a, b"),
        ("f\"{3:04}{['a']}\"", "0003['a']"),
        ('json.dumps({"a": [1, None]})', '{"a": [1, null]}'),
    ],
)
def test_a_text_of_ordinary_length_is_followed(text: str, expected: str, tmp_path: Path) -> None:
    server = f'import json\nfrom fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool\ndef a(b: str = {text}): ...\n'
    (tool,) = found(tmp_path, server).document["tools"]
    assert tool["inputSchema"]["properties"]["b"]["default"] == expected


def test_a_generic_model_that_nests_itself_forever_is_bounded(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        """
        from typing import Generic, TypeVar
        from fastmcp import FastMCP
        from pydantic import BaseModel
        mcp = FastMCP("x")
        T = TypeVar("T")
        class Box(BaseModel, Generic[T]):
            one: "Box[list[T]]"
            other: "Box[dict[T, T]]"
        @mcp.tool
        def a(b: Box[int]): ...
        """,
    )
    assert names(result) == ["a"]
    assert result.tools[0].unknown


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_named_like_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "server.py")
    result = discover(str(tmp_path / "server.py"))
    assert names(result) == []
    assert {problem.what for problem in result.problems} == {"cannot be read: not a regular file"}


def test_a_schema_that_doubles_with_each_level_is_bounded(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        """
        from mcp.server import Server
        from mcp.types import Tool
        server = Server("x")
        nested = {"type": "string"}
        for i in range(40):
            nested = {"a": nested, "b": nested}
        @server.list_tools()
        async def list_tools():
            return [Tool(name="a", inputSchema={"type": "object", "properties": nested})]
        """,
    )
    assert names(result) == ["a"]
    assert result.tools[0].unknown


DOUBLED = """
import copy
import os
class K:
    def __init__(self, a, b):
        self.a, self.b = a, b
d, e, l, k = {}, {}, [], None
for i in range(40):
    d, e, l, k = {"a": d, "b": d}, {"a": e, "b": e}, [l, l], K(k, k)
"""


@pytest.mark.parametrize(
    "use",
    [
        "z = d if os.environ.get('X') else e",
        "d['own'], e['own'] = d, e\nz = d if os.environ.get('X') else e",
        "z = copy.deepcopy(d)",
        "z = copy.deepcopy(l)",
        "@mcp.tool\ndef t(x: dict = d): ...",
        "@mcp.tool\ndef t(x: list = l): ...",
        "@mcp.tool\ndef t(x: K = k): ...",
    ],
)
def test_data_that_doubles_with_each_level_is_bounded(use: str, tmp_path: Path) -> None:
    result = found(tmp_path, f"{GOOD}{DOUBLED}{use}\n@mcp.tool\ndef last(): ...\n")
    assert {"a", "last"} <= set(names(result))


def test_a_deep_copy_keeps_shared_parts(tmp_path: Path) -> None:
    text = "import copy\nshared = []\nboth = copy.deepcopy([shared, shared])\nboth[0].append('b')\n"
    register = "for each in (*shared, *both[1]):\n    mcp.tool(name=each)(a)\n"
    assert names(found(tmp_path, GOOD + text + register)) == ["a", "b"]


def test_nested_alternatives_are_bounded(tmp_path: Path) -> None:
    """Each iteration doubles the number of alternative lists."""
    choices = "xs = a if flag() else xs; ys = xs if flag() else a; ys.append(str(i)); xs.append(str(i))"
    source = f"{GOOD}from x import flag\na, xs = [], ['q']\nfor i in range(300):\n    {choices}\n"
    with cpu_limit():
        assert names(found(tmp_path, source)) == ["a"]


NOT_READ = ("punycode", "idna", "utf-7", "unicode_escape")


@pytest.mark.parametrize("encoding", NOT_READ)
def test_an_encoding_with_quadratic_time_is_refused(encoding: str, tmp_path: Path) -> None:
    write(tmp_path, {"server.py": GOOD})
    (tmp_path / "odd.py").write_bytes(
        f"# coding: {encoding}\nfrom fastmcp import FastMCP\n".encode() + b"a" * 4_000_000
    )
    with cpu_limit():
        (problem,) = discover(str(tmp_path)).problems
        assert problem.what == f"cannot be decoded: the encoding {encoding} is not supported; save it as UTF-8"


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-kr", "gb18030", "big5", "koi8-r", "iso-8859-15", "mac-roman"])
def test_common_encodings_are_supported(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_bytes(f"# coding: {encoding}\n{GOOD}".encode(encoding))
    assert names(discover(str(tmp_path))) == ["a"]


MOUNTED = """
from fastmcp import FastMCP
mcp = FastMCP("x")
servers = [FastMCP(str(i)) for i in range(9)]
for i in range(8):
    for j in range(20):
        servers[i].mount(servers[i + 1], f"p{j}")
mcp.mount(servers[0])
@mcp.tool
def a(): ...
"""


@pytest.mark.parametrize("more", ["", "@servers[3].tool(tags={'b'})\ndef b(): ...\nmcp.disable(tags={'b'})\n"])
def test_servers_that_are_mounted_many_times_are_bounded(more: str, tmp_path: Path) -> None:
    with cpu_limit():
        result = found(tmp_path, MOUNTED + more)
    assert "a" in names(result)
    assert "tools" in result.incomplete_lists
    assert {each.what for each in result.omissions} == {
        "this code does too much to follow, so not all that it serves is checked"
    }


@pytest.mark.parametrize("wrappers", [1, 40, 400])
def test_a_function_is_found_under_all_its_wrappers(wrappers: int, tmp_path: Path) -> None:
    wrap = "import functools\ndef d(f):\n    @functools.wraps(f)\n    def w(*a, **k): return f(*a, **k)\n    return w\n"
    decorators = "@d\n" * wrappers
    result = found(tmp_path, f"{wrap}{GOOD}@mcp.tool\n{decorators}def t(b: int):\n    '''T.'''\n")
    assert names(result) == ["a", "t"]
    tool = result.document["tools"][1]
    assert tool["description"] == "T."
    assert list(tool["inputSchema"]["properties"]) == ["b"]


NESTED = "D = {}\nfor i in range(1900):\n    if os.environ.get(str(i)):\n        D = {**D, str(i): D}\n    else:\n"
HEAVY = {
    "a text split and joined": "x = 'a,' * 500000\nfor i in range(1000):\n    y = x.split(',')\n    z = ','.join(y)",
    "a long text looked at": "x = 'a' * 1000000\nfor i in range(900):\n    for j in range(900):\n        x.count('b')",
    "long texts kept": "x = 'a' * 1000000\ny = []\nfor i in range(2000):\n    y.append(f'{x}{i}')",
    "long lists kept": "x = [1]\nfor i in range(14):\n    x = x + x\ny = []\nfor i in range(900):\n    y.append(x + x)",
    "lists gone through": "x = [1]\nfor i in range(14):\n    x = x + x\ny = [x for i in range(1900)]\n"
    "for i in range(1900):\n    list(map(len, y))",
    "nested choices": f"{NESTED}        D = {{'z': D}}",
    "nested copies": "x = [1]\nfor i in range(400):\n    x = [x, copy.deepcopy(x)]",
    "nested JSON": "x = [1]\nfor i in range(40):\n    x = [x, x]\nfor i in range(1900):\n    json.dumps(x)",
    "many names, many choices": "\n".join(f"x{i} = {i}" for i in range(10000))
    + "\nfor i in range(1900):\n    if os.environ.get(str(i)): y = 3",
}


@pytest.mark.parametrize("form", HEAVY)
def test_growing_work_is_cut_and_reported(form: str, tmp_path: Path) -> None:
    """Few steps, each of which processes a lot of data."""
    heavy = f"import copy\nimport json\nimport os\n{GOOD}{HEAVY[form]}\n@mcp.tool\ndef last(): ...\n"
    with cpu_limit():
        result = found(tmp_path, heavy)
    assert names(result) == ["a"]
    assert "tools" in result.incomplete_lists
    assert [each.what for each in result.omissions] == [
        "this code takes too long to follow, so not all that it serves may be checked"
    ]


@pytest.mark.slow
def test_large_schemas_of_many_tools_are_cut_and_reported(tmp_path: Path) -> None:
    members = "".join(f"    A{i} = {i}\n" for i in range(20_000))
    tools = "".join(f"@mcp.tool\ndef t{i}(x: E, y: list[E], z: dict[E, E]) -> E: ...\n" for i in range(100))
    with cpu_limit():
        result = found(tmp_path, f"import enum\n{GOOD}class E(enum.Enum):\n{members}{tools}")
    assert names(result)[:3] == ["a", "t0", "t1"]
    assert len(names(result)) < 101
    assert "tools" in result.incomplete_lists
    assert "take too long to follow" in result.omissions[0].what


@pytest.mark.slow
def test_many_members_of_a_literal_are_compared_by_hash(tmp_path: Path) -> None:
    """Comparing each pair of members would exceed the limit."""
    count = 80_000
    members = ", ".join(f'"m{number}"' for number in range(count))
    arms = ", ".join(f'Literal["m{number}"]' for number in range(4_000))
    source = f"""
from typing import Literal, Union
from fastmcp import FastMCP
mcp = FastMCP("x")
@mcp.tool
def a(x: Literal[{members}, "m0", True, 1]): ...
@mcp.tool
def b(x: Union[{arms}, Literal["m0"]]): ...
"""
    with cpu_limit():
        a, b = found(tmp_path, source).document["tools"]
    assert len(a["inputSchema"]["properties"]["x"]["enum"]) == count + 2
    assert len(b["inputSchema"]["properties"]["x"]["anyOf"]) == 4_000
