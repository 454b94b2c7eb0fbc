"""Registrations in every form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.engine import check
from mcproof.checks.rule import all_rules
from mcproof.source.python.pipeline import discover
from mcproof.targets.folders import read_source

from .sources import found, is_conditional, names, tool, write

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import SourceMap

SERVER = """
from mcp.server.fastmcp import FastMCP
mcp = FastMCP("demo")
"""

FORMS = {
    "a decorator with a call": "@mcp.tool()\ndef a(): ...",
    "a decorator without a call": "@mcp.tool\ndef a(): ...",
    "a decorator with a positional name": '@mcp.tool("a")\ndef other(): ...',
    "a decorator with a named name": '@mcp.tool(name="a")\ndef other(): ...',
    "an asynchronous function": "@mcp.tool()\nasync def a(): ...",
    "a call of the decorator": "def a(): ...\nmcp.tool()(a)",
    "a call with the function": "def a(): ...\nmcp.tool(a)",
    "add_tool": "def a(): ...\nmcp.add_tool(a)",
    "add_tool with a name": 'def other(): ...\nmcp.add_tool(other, name="a")',
    "add_tool with a lambda": 'mcp.add_tool(lambda x: x, name="a")',
    "Tool.from_function": """
        from mcp.server.fastmcp.tools import Tool
        def other(): ...
        mcp.add_tool(Tool.from_function(other, name="a"))
        """,
    "FunctionTool": """
        from fastmcp.tools import FunctionTool
        def other(): ...
        mcp.add_tool(FunctionTool.from_function(other, name="a"))
        """,
    "an alias of the decorator": "tool = mcp.tool\n@tool()\ndef a(): ...",
    "an alias of the server": "app = mcp\n@app.tool()\ndef a(): ...",
    "an attribute of an object": """
        class Holder:
            def __init__(self, server):
                self.server = server
        holder = Holder(mcp)
        @holder.server.tool()
        def a(): ...
        """,
    "inside a function": """
        def register(server):
            @server.tool()
            def a(): ...
        register(mcp)
        """,
    "inside a function that nothing calls": """
        def register(server: FastMCP):
            @server.tool()
            def a(): ...
        """,
    "methods of a class": """
        class Tools:
            def __init__(self, mcp):
                self.mcp = mcp
                self.mcp.tool(name="a")(self.method)
            def method(self): ...
        Tools(mcp)
        """,
    "a class that inherits from the server": """
        class Mine(FastMCP):
            def __init__(self):
                super().__init__("mine")
                @self.tool()
                def a(): ...
        Mine()
        """,
    "a loop over a literal list": 'def f(): ...\nfor name, fn in [("a", f)]:\n    mcp.tool(name=name)(fn)',
    "a loop over a registry": """
        REGISTRY = {}
        def known(name):
            def keep(fn):
                REGISTRY[name] = fn
                return fn
            return keep
        @known("a")
        def f(): ...
        for name, fn in REGISTRY.items():
            mcp.add_tool(fn, name=name)
        """,
    "a loop over __all__": """
        __all__ = ["a"]
        def a(): ...
        for name in __all__:
            mcp.tool()(globals()[name])
        """,
    "a helper of the project": """
        def register(name, fn, description=None):
            mcp.tool(name=name, description=description)(fn)
        def f(): ...
        register("a", f)
        """,
    "a decorator factory of the project": """
        def exposed(name):
            def decorate(fn):
                return mcp.tool(name=name)(fn)
            return decorate
        @exposed("a")
        def f(): ...
        """,
    "a bare decorator of the project": """
        def exposed(fn):
            mcp.add_tool(fn)
            return fn
        @exposed
        def a(): ...
        """,
    "a name with a prefix": 'PREFIX = "a"\n@mcp.tool(name=f"{PREFIX}")\ndef f(): ...',
    "a name of an enumeration": """
        from enum import Enum
        class Names(str, Enum):
            A = "a"
        @mcp.tool(name=Names.A)
        def f(): ...
        """,
    "a name of a class": """
        class Base:
            name = None
            def register(self, server):
                server.tool(name=self.name)(self.run)
        class A(Base):
            name = "a"
            def run(self): ...
        for cls in (A,):
            cls().register(mcp)
        """,
    "under if main": 'def a(): ...\nif __name__ == "__main__":\n    mcp.add_tool(a)',
    "in main": """
        import asyncio
        async def main():
            @mcp.tool()
            def a(): ...
            await mcp.run_stdio_async()
        if __name__ == "__main__":
            asyncio.run(main())
        """,
    "in a function with a default server": """
        def setup(server=mcp):
            server.tool()(a)
        def a(): ...
        setup()
        """,
    "behind another decorator": """
        import functools
        def logged(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                return fn(*args, **kwargs)
            return wrapper
        @mcp.tool()
        @logged
        def a(): ...
        """,
    "behind a decorator from outside": "from retry import retry\n@mcp.tool()\n@retry(3)\ndef a(): ...",
    "a partial": """
        from functools import partial
        def f(x, y): ...
        mcp.add_tool(partial(f, 1), name="a")
        """,
    "an object with __call__": """
        class Callable:
            def __call__(self, x: int): ...
        mcp.add_tool(Callable(), name="a")
        """,
    "a global server": """
        server = None
        def main():
            global server
            server = FastMCP("x")
            setup()
        def setup():
            server.tool()(a)
        def a(): ...
        """,
    "the tool manager": "def a(): ...\nmcp._tool_manager.add_tool(a)",
    "a partial of the decorator": "from functools import partial\nt = partial(mcp.tool, name='a')\n@t()\ndef f(): ...",
    "a comprehension": "def a(): ...\n[mcp.add_tool(each) for each in (a,)]",
    "a nested function that is returned": """
        def make(name):
            def inner(x: int): ...
            inner.__name__ = name
            return inner
        mcp.tool()(make("a"))
        """,
    "an object that holds the server": """
        class App:
            def __init__(self):
                self.mcp = FastMCP("x")
                self._register()
            def _register(self):
                for fn in (self.a,):
                    self.mcp.tool()(fn)
            def a(self): ...
        def main():
            App().mcp.run()
        """,
    "a factory": """
        def create():
            server = FastMCP("x")
            _add(server)
            return server
        def _add(server):
            server.tool(name="a")(f)
        def f(): ...
        app = create()
        """,
    "getattr": 'import sys\nclass T:\n    @staticmethod\n    def a(): ...\nmcp.tool()(getattr(T, "a"))',
    "a conditional expression that is settled": '@mcp.tool(name="a" if True else "b")\ndef f(): ...',
    "try and except": "try:\n    import fast\nexcept ImportError:\n    fast = None\n@mcp.tool()\ndef a(): ...",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_is_found_through(form: str, tmp_path: Path) -> None:
    import textwrap

    assert names(found(tmp_path, SERVER + textwrap.dedent(FORMS[form]))) == ["a"]


NOT_TOOLS = {
    "a tool of another library": "from agents import Agent\nagent = Agent()\n@agent.tool()\ndef a(): ...",
    "an unknown name": "import os\n@mcp.tool(name=os.environ['NAME'])\ndef a(): ...",
    "a function that is not registered": "def a(): ...",
    "a branch that is never taken": "if False:\n    @mcp.tool()\n    def a(): ...",
    "a removed tool": '@mcp.tool()\ndef a(): ...\nmcp.remove_tool("a")',
    "a tool that is switched off": "@mcp.tool(enabled=False)\ndef a(): ...",
    "a tool in a string": 'TEXT = """\n@mcp.tool()\ndef a(): ...\n"""',
    "a lambda without a name": "mcp.add_tool(lambda: 1)",
    "another class named Tool": "from langchain import Tool\nTool(name='a', func=print, description='x')",
}


@pytest.mark.parametrize("form", NOT_TOOLS)
def test_other_calls_register_nothing(form: str, tmp_path: Path) -> None:
    assert names(found(tmp_path, SERVER + NOT_TOOLS[form])) == []


@pytest.mark.parametrize(
    "imported",
    [
        "from mcp.server.fastmcp import FastMCP as Server",
        "from mcp.server import FastMCP as Server",
        "from mcp.server.mcpserver import MCPServer as Server",
        "from mcp.server import MCPServer as Server",
        "from fastmcp import FastMCP as Server",
        "from fastmcp.server import FastMCP as Server",
        "import fastmcp\nServer = fastmcp.FastMCP",
        "import mcp.server.fastmcp\nServer = mcp.server.fastmcp.FastMCP",
        "try:\n    from fastmcp import FastMCP as Server\nexcept ImportError:\n    Server = None",
    ],
)
def test_every_server_class_is_known(imported: str, tmp_path: Path) -> None:
    source = f'{imported}\nserver = Server("x")\n@server.tool()\ndef a(): ...\n'
    assert names(found(tmp_path, source)) == ["a"]


def test_tools_come_in_the_order_in_which_they_are_registered(tmp_path: Path) -> None:
    source = SERVER + "def b(): ...\ndef a(): ...\nmcp.add_tool(a)\n@mcp.tool()\ndef c(): ...\nmcp.add_tool(b)\n"
    assert names(found(tmp_path, source)) == ["a", "c", "b"]


def test_a_name_that_is_registered_twice_is_served_once(tmp_path: Path) -> None:
    source = SERVER + "@mcp.tool()\ndef a(): ...\n@mcp.tool(name='a')\ndef b(): ...\n"
    assert names(found(tmp_path, source)) == ["a"]


TWICE = """
@mcp.tool(name="a")
def first(x: int):
    "First."
@mcp.tool()
def b(): ...
"""
SECOND = """
@mcp.tool(name="a")
def second(y: int):
    "Second."
"""


@pytest.mark.parametrize(
    ("server", "kept"),
    [
        ('mcp.server.fastmcp import FastMCP\nmcp = FastMCP("x")', "First."),
        ('mcp.server.mcpserver import MCPServer\nmcp = MCPServer("x")', "First."),
        ('fastmcp import FastMCP\nmcp = FastMCP("x")', "Second."),
        ('fastmcp import FastMCP\nmcp = FastMCP("x", on_duplicate="warn")', "Second."),
        ('fastmcp import FastMCP\nmcp = FastMCP("x", on_duplicate_tools="replace")', "Second."),
        ('fastmcp import FastMCP\nmcp = FastMCP("x", on_duplicate="ignore")', "First."),
        ('fastmcp import FastMCP\nmcp = FastMCP("x", on_duplicate_tools="error")', "First."),
        ('fastmcp import FastMCP\nmcp = FastMCP("x", on_duplicate_prompts="error")', "Second."),
    ],
)
def test_the_framework_decides_between_tools_with_the_same_name(server: str, kept: str, tmp_path: Path) -> None:
    result = found(tmp_path, f"from {server}\n{TWICE}{SECOND}")
    assert names(result) == ["a", "b"]
    assert tool(result, "a")["description"] == kept
    assert not result.tools[0].unknown


@pytest.mark.parametrize(
    ("server", "second"),
    [
        ('mcp = FastMCP("x", on_duplicate=os.environ["X"])', SECOND),
        ('mcp = FastMCP("x")', "if os.environ.get('X'):" + SECOND.replace("\n", "\n    ")),
    ],
)
def test_otherwise_their_differences_are_unknown(server: str, second: str, tmp_path: Path) -> None:
    result = found(tmp_path, f"import os\nfrom fastmcp import FastMCP\n{server}\n{TWICE}{second}")
    assert names(result) == ["a", "b"]
    assert result.tools[0].unknown == {"/description", "/inputSchema"}
    assert not is_conditional(result, "a")


def test_resources_are_identified_by_their_uris(tmp_path: Path) -> None:
    text = '@mcp.resource("a://1", name="r")\ndef f(): ...\n@mcp.resource("a://2", name="r")\ndef g(): ...\n'
    assert [each["uri"] for each in found(tmp_path, SERVER + text).document["resources"]] == ["a://1", "a://2"]


@pytest.mark.parametrize(
    "condition",
    [
        'if os.environ.get("WRITE"):\n    mcp.tool()(a)',
        "if flag():\n    mcp.tool()(a)\nelse:\n    pass",
        "def go():\n    if not flag():\n        return\n    mcp.tool()(a)\ngo()",
        "for each in flag():\n    mcp.tool()(a)",
        "wanted = []\nif flag():\n    wanted.append(a)\nfor each in wanted:\n    mcp.tool()(each)",
        "mcp.tool(enabled=flag())(a)",
        "match flag():\n    case 1:\n        mcp.tool()(a)",
        'mcp.tool()(a)\nif flag():\n    mcp.remove_tool("a")',
        "flag() and mcp.tool()(a)",
        'if os.environ["X"]:\n    mcp.tool()(a)',
        "from elsewhere import settings\nif settings['x']:\n    mcp.tool()(a)",
        "flag() or mcp.tool()(a)",
    ],
)
def test_tools_under_an_unresolved_condition_are_marked(condition: str, tmp_path: Path) -> None:
    source = SERVER + "import os\nfrom somewhere import flag\ndef a(): ...\n" + condition
    assert is_conditional(found(tmp_path, source), "a")


@pytest.mark.parametrize(
    "condition",
    [
        "if True:\n    mcp.tool()(a)",
        "from typing import TYPE_CHECKING\nif not flag():\n    raise SystemExit\nmcp.tool()(a)",
        "try:\n    mcp.tool()(a)\nexcept ValueError:\n    pass",
        "MODE = 'x'\nif MODE == 'x':\n    mcp.tool()(a)",
    ],
)
def test_what_always_happens_is_not_marked(condition: str, tmp_path: Path) -> None:
    source = SERVER + "from somewhere import flag\ndef a(): ...\n" + condition
    assert not is_conditional(found(tmp_path, source), "a")


def test_tools_of_a_module_that_is_imported_under_a_condition_are_marked(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        app="""
            import os
            def main():
                if os.environ.get("KIND") == "one":
                    from one import mcp
                else:
                    from two import mcp
                mcp.run()
            """,
        one='from fastmcp import FastMCP\nmcp = FastMCP("1")\n@mcp.tool()\ndef a(): ...\n',
        two='from fastmcp import FastMCP\nmcp = FastMCP("2")\n@mcp.tool()\ndef b(): ...\n',
    )
    assert names(result) == ["a", "b"]
    assert [is_conditional(result, name) for name in ("a", "b")] == [True, False]


def test_a_registration_that_nothing_reaches_is_left_out_where_others_are_reached(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        SERVER + "@mcp.tool()\ndef a(): ...\n",
        dead="""
            class Dead:
                def __init__(self, mcp):
                    mcp.tool(name="b")(self.run)
                def run(self): ...
            """,
    )
    assert names(result) == ["a"]


def test_sub_servers_bring_their_tools_with_a_prefix(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        """
        from fastmcp import FastMCP
        from weather import weather
        main = FastMCP("main")
        plain = FastMCP("plain")
        @plain.tool()
        def ping(): ...
        async def setup():
            await main.import_server(weather, prefix="weather")
            main.mount(plain)
        """,
        weather="""
            from fastmcp import FastMCP
            weather = FastMCP("weather")
            @weather.tool()
            def today(): ...
            @weather.resource("data://cities")
            def cities(): ...
            """,
    )
    assert names(result) == ["weather_today", "ping"]
    assert result.document["resources"][0]["uri"] == "data://weather/cities"


def test_an_unknown_prefix_makes_names_unknown(tmp_path: Path) -> None:
    source = """
        import os
        from fastmcp import FastMCP
        main, sub = FastMCP("main"), FastMCP("sub")
        @sub.tool()
        def a(): ...
        main.mount(sub, prefix=os.environ["PREFIX"])
        """
    assert names(found(tmp_path, source)) == []


def test_tools_are_found_across_the_modules_of_a_package(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        pkg____init__="",
        pkg__server="""
            from fastmcp import FastMCP
            from pkg.tools import register_all
            mcp = FastMCP("x")
            register_all(mcp)
            """,
        pkg__tools____init__="""
            from .files import register as files
            from . import names
            def register_all(mcp):
                files(mcp)
                mcp.tool(name=names.SECOND, description=names.DESCRIPTION)(second)
            def second(): ...
            """,
        pkg__tools__files="""
            def register(mcp):
                @mcp.tool()
                def first(): ...
            """,
        pkg__tools__names='SECOND = "second_tool"\nDESCRIPTION = "Says" + " it."\n',
    )
    assert names(result) == ["first", "second_tool"]
    assert tool(result, "second_tool")["description"] == "Says it."


def test_modules_that_register_when_they_are_imported_count(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        pkg____init__="",
        pkg__app='from fastmcp import FastMCP\nmcp = FastMCP("x")\n',
        pkg__tools="from .app import mcp\n@mcp.tool\ndef a(): ...\n",
        pkg____main__="from pkg.app import mcp\nimport pkg.tools\nmcp.run()\n",
    )
    assert names(result) == ["a"]


def test_a_file_as_target_has_only_its_own_tools(tmp_path: Path) -> None:
    from mcproof.source.python.pipeline import discover

    found(
        tmp_path,
        pkg____init__="",
        pkg__app='from fastmcp import FastMCP\nmcp = FastMCP("x")\n@mcp.tool\ndef other(): ...\n',
        pkg__tools="from .app import mcp\n@mcp.tool\ndef a(): ...\n",
    )
    assert names(discover(str(tmp_path / "pkg" / "tools.py"))) == ["a"]


def test_imports_by_its_own_dependencies_do_not_make_a_module_conditional(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "server.py": """
                from fastmcp import FastMCP
                import helper
                mcp = FastMCP("x")
                @mcp.tool
                def a(): ...
                def shape(): ...
                """,
            "helper.py": """
                import os
                def draw():
                    if os.environ.get("X"):
                        from server import shape
                        shape()
                draw()
                """,
        },
    )
    assert not is_conditional(discover(str(tmp_path)), "a")


def test_a_conditional_import_makes_tools_conditional(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "app.py": 'from fastmcp import FastMCP\nmcp = FastMCP("x")\n',
            "more.py": "from app import mcp\n@mcp.tool\ndef a(): ...\n",
            "main.py": "import os\nfrom app import mcp\nif os.environ.get('X'):\n    import more\nmcp.run()\n",
        },
    )
    assert is_conditional(discover(str(tmp_path)), "a")


def test_a_helper_that_takes_too_long_costs_only_its_own_value(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "server.py": """
                from fastmcp import FastMCP
                from work import much
                mcp = FastMCP("x")
                @mcp.tool(description=much())
                def a(): ...
                @mcp.tool
                def b(): ...
                """,
            "work.py": """
                def much():
                    total = 0
                    for one in range(2000):
                        for other in range(2000):
                            total = total + one * other
                    return str(total)
                """,
        },
    )
    result = discover(str(tmp_path))
    assert names(result) == ["a", "b"]
    assert "description" not in tool(result, "a")


def test_an_entry_that_only_a_module_without_registrations_names_is_followed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "app.py": """
                from fastmcp import FastMCP
                mcp = FastMCP("x")
                @mcp.tool
                def a(): ...
                """,
            "handlers.py": """
                def serve(arguments):
                    from app import mcp
                    def b(): ...
                    mcp.add_tool(b)
                """,
            "cli.py": "def main(arguments):\n    import handlers\n    handlers.serve(arguments)\n",
        },
    )
    assert names(discover(str(tmp_path))) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("try:\n    import pandas\n    @mcp.tool()\n    def a(): ...\nexcept ImportError:\n    pass", False),
        ("try:\n    import pandas\nexcept ImportError:\n    pass\nelse:\n    @mcp.tool()\n    def a(): ...", False),
        ("try:\n    import json\n    @mcp.tool()\n    def a(): ...\nexcept ImportError:\n    pass", True),
        ("try:\n    import pandas\n    @mcp.tool()\n    def a(): ...\nexcept ValueError:\n    pass", True),
        ("import sys\nif sys.version_info >= (3, 10):\n    @mcp.tool()\n    def a(): ...", True),
        ("import sys\nif sys.version_info >= (3, 13):\n    @mcp.tool()\n    def a(): ...", False),
    ],
)
def test_only_optional_packages_make_tools_conditional(text: str, certain: bool, tmp_path: Path) -> None:
    assert is_conditional(found(tmp_path, SERVER + text), "a") is not certain


PERHAPS = """
try:
    import pandas as pd
    HAS = True
except ImportError:
    pd = None
    HAS = False
"""


@pytest.mark.parametrize(
    "text",
    [
        PERHAPS + "if HAS:\n    mcp.tool()(a)",
        PERHAPS + "if not HAS:\n    mcp.tool()(a)",
        PERHAPS + "if pd is not None:\n    mcp.tool()(a)",
        PERHAPS + "if pd is None:\n    mcp.tool()(a)",
        PERHAPS + "if pd:\n    mcp.tool()(a)",
        "HAS = False\ntry:\n    import pandas\n    HAS = True\nexcept Exception:\n    pass\nif HAS:\n    mcp.tool()(a)",
        "try:\n    import pandas\nexcept:\n    mcp.tool()(a)",
        "def go():\n    try:\n        import pandas\n    except ImportError:\n        return\n    mcp.tool()(a)\ngo()",
        "import os\nextra = a if os.environ.get('X') else None\nif extra is not None:\n    mcp.tool()(extra)",
    ],
)
def test_an_optional_package_stays_optional(text: str, tmp_path: Path) -> None:
    assert is_conditional(found(tmp_path, SERVER + "def a(): ...\n" + text), "a")


@pytest.mark.parametrize(
    "handler",
    [
        "raise",
        "sys.exit('pip install pandas')",
        "if sys.flags.dev_mode:\n        raise\n    else:\n        sys.exit(1)",
    ],
)
def test_a_required_import_is_certain(handler: str, tmp_path: Path) -> None:
    text = f"import sys\ntry:\n    import pandas\n    HAS = True\nexcept ImportError:\n    HAS = False\n    {handler}\n"
    result = found(tmp_path, f"{SERVER}{text}if HAS:\n    @mcp.tool()\n    def a(): ...\n")
    assert not is_conditional(result, "a")


def test_an_import_with_a_fallback_prefers_the_project(tmp_path: Path) -> None:
    text = "try:\n    from elsewhere.kit import a\nexcept ImportError:\n    from kit import a\nmcp.tool()(a)"
    assert names(found(tmp_path, SERVER + text, kit="def a(): ...\n")) == ["a"]


def test_hasattr_knows_the_methods_of_an_object(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        SERVER
        + """
class Kit:
    def saw(self): ...

kit = Kit()
for name in ("saw", "file"):
    if hasattr(kit, name):
        mcp.add_tool(getattr(kit, name))
""",
    )
    assert names(result) == ["saw"]
    assert not is_conditional(result, "saw")


def test_one_of_two_values_is_unknown(tmp_path: Path) -> None:
    source = f"""{SERVER}
import os
from pydantic import BaseModel
class A(BaseModel):
    a: int
class B(BaseModel):
    b: int
Kind = int if os.environ.get("X") else str
Model = A if os.environ.get("X") else B
@mcp.tool()
def of_kind(value: Kind): ...
@mcp.tool()
def of_model(value: Model): ...
"""
    result = found(tmp_path, source)
    for name in ("of_kind", "of_model"):
        value = tool(result, name)["inputSchema"]["properties"]["value"]
        assert not {"type", "$ref"} & value.keys(), name


@pytest.mark.parametrize(
    ("names_of", "expected"),
    [
        ('sorted(["b", "a"], reverse=True)', ["b", "a"]),
        ("sorted([3, 1, 2])", ["1", "2", "3"]),
        ('set(["x", "x", "y"])', ["x", "y"]),
        ('[*copied, "b"]', ["a", "b"]),
        ("range(2001)", []),
    ],
)
def test_loops_iterate_as_in_python(names_of: str, expected: list[str], tmp_path: Path) -> None:
    before = 'import copy\nfirst = ["a"]\ncopied, other = copy.copy(first), copy.copy(first)\nother.append("z")\n'
    source = f"{SERVER}{before}def f(): ...\nfor each in {names_of}:\n    mcp.tool(name=str(each))(f)\n"
    assert names(found(tmp_path, source)) == expected


def test_items_added_under_a_condition_stay_conditional(tmp_path: Path) -> None:
    source = f"""{SERVER}
import os
listed = ["a"]
if os.environ.get("X"):
    listed.append("b")
def f(): ...
for number, name in enumerate(listed):
    mcp.tool(name=name)(f)
"""
    assert is_conditional(found(tmp_path, source), "b")


def server_info(result: SourceMap) -> dict[str, Any]:
    """The server info, without the mark for source."""
    return {key: value for key, value in result.document.get("initialize", {}).items() if key != "_meta"}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ('FastMCP("x")', {"serverInfo": {"name": "x"}}),
        ('FastMCP(name="x", version="1")', {"serverInfo": {"name": "x", "version": "1"}}),
        ('FastMCP("x", "How to use it.")', {"serverInfo": {"name": "x"}, "instructions": "How to use it."}),
        ("FastMCP()", {}),
        ("FastMCP(os.environ['NAME'])", {}),
        ('FastMCP("x" if os.environ.get("A") else "y")', {"serverInfo": {"name": "y"}}),
    ],
)
def test_the_constructor_sets_the_server_info(tmp_path: Path, made: str, expected: dict[str, Any]) -> None:
    source = f"import os\nfrom fastmcp import FastMCP\nmcp = {made}\n@mcp.tool\ndef f(): ..."
    assert server_info(found(tmp_path, source)) == expected


def test_initialization_options_set_the_info_of_a_low_level_server(tmp_path: Path) -> None:
    source = """
        from mcp.server import Server
        from mcp.server.models import InitializationOptions
        from mcp.types import Tool
        async def main():
            server = Server("inner")
            @server.list_tools()
            async def list_tools():
                return [Tool(name="f", inputSchema={})]
            await server.run(InitializationOptions(server_name="outer", server_version="0.1.0"))
    """
    assert server_info(found(tmp_path, source)) == {"serverInfo": {"name": "outer", "version": "0.1.0"}}


def test_instructions_can_be_set_later(tmp_path: Path) -> None:
    source = """
        import os
        from mcp.server.mcpserver import MCPServer
        mcp = MCPServer("x", instructions="First.")
        mcp._lowlevel_server.instructions = "Then."
        @mcp.tool()
        def f(): ...
    """
    assert server_info(found(tmp_path, source))["instructions"] == "Then."
    doubted = source.replace("mcp._low", 'if os.environ.get("A"): mcp._low')
    assert "instructions" not in server_info(found(tmp_path, doubted))


def test_several_servers_report_their_common_info(tmp_path: Path) -> None:
    one = 'from fastmcp import FastMCP\nmcp = FastMCP("one", version="2")\n@mcp.tool\ndef f(): ...'
    two = 'from fastmcp import FastMCP\nmcp = FastMCP("two", version="2")\n@mcp.tool\ndef g(): ...'
    assert server_info(found(tmp_path, one=one, two=two)) == {"serverInfo": {"version": "2"}}


def test_a_mounted_server_does_not_set_the_info(tmp_path: Path) -> None:
    source = """
        from fastmcp import FastMCP
        mcp, sub = FastMCP("whole"), FastMCP("part")
        @sub.tool
        def f(): ...
        mcp.mount(sub, "p")
    """
    assert server_info(found(tmp_path, source)) == {"serverInfo": {"name": "whole"}}


def _served_by(name: str) -> str:
    return f"""
from fastmcp import FastMCP
mcp = FastMCP("{name}")
@mcp.tool
def add_numbers(a: int, b: int) -> int:
    "Adds two numbers, for a sum of two integers that the user of {name} asks for."
@mcp.tool
def list_{name}() -> str:
    "Lists whatever the user wants to see, in no order, a hundred of them at a time."
"""


def test_two_servers_may_have_tools_with_the_same_name(tmp_path: Path) -> None:
    result = found(tmp_path, one__server=_served_by("one"), two__server=_served_by("two"))
    assert names(result) == ["add_numbers", "list_one", "add_numbers", "list_two"]
    assert len({each.server for each in result.tools[:2]} | {each.server for each in result.tools[2:]}) == 2


def test_two_servers_make_one_catalog_with_each_name_once(tmp_path: Path) -> None:
    write(tmp_path, {"one/server.py": _served_by("one"), "two/server.py": _served_by("two")})
    assert names(discover(str(tmp_path), whole=True)) == ["add_numbers", "list_one", "list_two"]


def test_two_low_level_servers_may_have_tools_with_the_same_name(tmp_path: Path) -> None:
    text = """
from mcp.server import Server
from mcp.types import Tool
server = Server("x")
@server.list_tools()
async def listed():
    return [Tool(name="a", description="d", inputSchema={"type": "object"})]
"""
    result = found(tmp_path, one=text, two=text)
    assert names(result) == ["a", "a"]
    assert result.tools[0].server != result.tools[1].server


def test_one_server_that_is_started_in_two_ways_is_found_once(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        kit='def install(mcp):\n    @mcp.tool()\n    def a(): ...\n    @mcp.tool(name="a")\n    def b(): ...\n',
        one='from fastmcp import FastMCP\nfrom kit import install\nmcp = FastMCP("1")\ninstall(mcp)\n',
        two='from fastmcp import FastMCP\nfrom kit import install\nmcp = FastMCP("2")\ninstall(mcp)\n',
    )
    assert names(result) == ["a"]


def test_a_tool_hides_a_mounted_tool_with_the_same_name(tmp_path: Path) -> None:
    source = """
from fastmcp import FastMCP
mcp, sub = FastMCP("x"), FastMCP("sub")
@sub.tool(name="a")
def hidden():
    "Sub."
@mcp.tool(name="a")
def shown():
    "Main."
mcp.mount(sub)
"""
    assert tool(found(tmp_path, source))["description"] == "Main."


def test_tools_of_two_servers_are_not_siblings(tmp_path: Path) -> None:
    write(tmp_path, {"one/server.py": _served_by("one"), "two/server.py": _served_by("two")})
    both = {each.rule.id for each in check(read_source(str(tmp_path)), all_rules())}
    assert not both & {"server-duplicate-tools", "MP033"}


def test_tools_of_one_server_are_siblings_wherever_they_are_written(tmp_path: Path) -> None:
    second = _served_by("two").replace('mcp = FastMCP("two")', "from one import mcp")
    write(tmp_path, {"one.py": _served_by("one"), "two.py": second})
    assert "MP033" in {each.rule.id for each in check(read_source(str(tmp_path)), all_rules())}


def test_arguments_are_closed_after_the_program_forbids_undeclared_ones(tmp_path: Path) -> None:
    imported = "from mcp.server.fastmcp.utilities.func_metadata import ArgModelBase\n"
    config = "ArgModelBase.model_config['extra'] ="
    a, b, c = (f"@mcp.tool()\ndef {name}(x: int): ...\n" for name in "abc")
    source = f"{imported}{SERVER}{a}{config} 'forbid'\n{b}if x:\n    {config} 'allow'\n{c}"
    write(tmp_path, {"server.py": source})
    listed = {each["name"]: each["inputSchema"] for each in discover(str(tmp_path)).document["tools"]}
    assert {name: schema.get("additionalProperties") for name, schema in listed.items()} == {
        "a": None,
        "b": False,
        "c": None,
    }
