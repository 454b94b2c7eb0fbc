"""A Python package to measure discovery with: made up, but shaped like real ones, and the same every time.

The shares are those of 56 published servers: a file in five holds tools, and these files are a third of all source;
16 KB a file that holds some, 5 KB of source a tool. The rest is what servers are made of: clients, models, settings,
helpers. Every way to register that there is has a module: decorators, a function that is given the server, a loop over
a table, tools spelt out, methods of an object, and a server mounted in another.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from catalogs import WORDS, sentence

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

MODULES_OF_A_STYLE = 3
BYSTANDERS = 60
TYPES = ("str", "int", "str | None = None", "list[str] | None = None", "bool = False", "float = 1.5", "int = LIMIT")

SERVER = '''"""The server."""
from __future__ import annotations

import argparse

from .app import app, extra
from .settings import load_settings
{imports}

app.mount(extra, prefix="extra")


def main() -> None:
    """Start."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", default="stdio")
    arguments = parser.parse_args()
    settings = load_settings("settings.toml")
    if settings["verbose"]:
        print("starting", arguments.transport)
{calls}
    app.run(arguments.transport)


if __name__ == "__main__":
    main()
'''
APP = '''"""The servers that everything is registered on."""
from fastmcp import FastMCP

from .settings import INSTRUCTIONS

app = FastMCP("measured", instructions=INSTRUCTIONS)
extra = FastMCP("extra")
'''
SETTINGS = '''"""Settings."""
import os

LIMIT = 20
INSTRUCTIONS = "Look things up before you change them."
PREFIX = "item"


def load_settings(path):
    """What the file says, or the defaults."""
    settings = {"verbose": False, "limit": LIMIT, "path": path}
    for name in ("verbose", "limit"):
        if name.upper() in os.environ:
            settings[name] = os.environ[name.upper()]
    return settings
'''


MODELS = '''"""Models."""
from enum import Enum

from pydantic import BaseModel, Field


class Order(str, Enum):
    rising = "rising"
    falling = "falling"


class Range(BaseModel):
    first: int = Field(0, ge=0, description="Where to begin.")
    last: int | None = None


class Filter(BaseModel):
    """What to keep."""

    words: list[str] = Field(default_factory=list, description="All of these must be there.")
    order: Order = Order.rising
    range: Range | None = None
'''
STATEMENTS = (
    '{a}_{c} = client.get_{b}("{c}", limit={n}, strict=True)',
    'if not result.get("{a}"):\n    result["{a}"] = [str(part) for part in "{b} {c}"]',
    'for index, part in enumerate(result.get("{a}", ())):\n    result[f"{b}-{{index}}"] = part * 2',
    'try:\n    result["{a}"] = int(result["{b}"]) + {n}\n'
    'except (KeyError, ValueError) as error:\n    logger.warning("no {c}: %s", error)',
    '# The {a} of the {b} comes before the {c}.\nresult.update(of_{a}="{b}", {c}_count=len(result))',
    '{b}_text = f"{a}: {{len(result)}} of {n}"\nresult["{b}"] = {b}_text.strip()',
)
HEADING = '''"""{summary}"""
from __future__ import annotations

import logging

{imports}

logger = logging.getLogger(__name__)
client = {client}


'''
IMPORTS = """from typing import Annotated

from pydantic import Field

from .models import Filter
from .settings import LIMIT, PREFIX"""
LISTED = """server = Server("own-{number}")


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [
        {tools},
    ]


@server.call_tool()
async def call_tool(name, arguments):
{body}
"""
SPELT_OUT = """types.Tool(
            name="read_{number}_{each}",
            description="{text}",
            inputSchema={{
                "type": "object",
                "properties": {{"query": {{"type": "string", "description": "{about}"}}}},
                "required": ["query"],
            }},
        )"""


def code(rng: random.Random, lines: int, indent: str = "    ") -> str:
    """The body of a function: ordinary statements, worth so many lines."""
    made = ["result = {}"]
    while len(made) < lines:
        a, b, c = rng.sample(WORDS, 3)
        made += rng.choice(STATEMENTS).format(a=a, b=b, c=c, n=rng.randint(1, 99)).split("\n")
    return "\n".join(indent + line for line in [*made, "return result"])


def heading(rng: random.Random, imports: str, client: str) -> str:
    return HEADING.format(summary=sentence(rng, 60), imports=imports, client=client)


def holder(rng: random.Random, imports: str) -> str:
    """The start of a module that holds tools: it uses a client, and its client others."""
    part = rng.randrange(BYSTANDERS // 2)
    return heading(rng, f"{imports}\nfrom .part_{part} import Client{part}", f"Client{part}(20)")


def function(rng: random.Random, name: str, decorator: str = "", indent: str = "", first: tuple[str, ...] = ()) -> str:
    """One function that is a tool: parameters, a docstring, and a body."""
    names = rng.sample(WORDS, rng.choice((1, 2, 3, 3, 4, 8)))
    kinds = sorted((rng.choice((*TYPES, "Filter", "Annotated")) for _ in names), key=lambda kind: "=" in kind)
    said = [
        f'Annotated[str, Field(description="{sentence(rng, 60)}", max_length=200)]' if kind == "Annotated" else kind
        for kind in kinds
    ]
    parameters = ", ".join([*first, *(f"{each}_: {kind}" for each, kind in zip(names, said, strict=True))])
    inner = indent + "    "
    docstring = f'{inner}"""{sentence(rng, 60)}\n\n{inner}{sentence(rng, 190)}\n{inner}"""'
    head = f"{indent}{decorator}\n" if decorator else ""
    return f"{head}{indent}def {name}({parameters}) -> dict[str, str]:\n{docstring}\n{code(rng, 105, inner)}\n\n"


def decorated(rng: random.Random, number: int) -> str:
    tools = [function(rng, f"find_{number}_{each}", "@app.tool") for each in range(3)]
    return holder(rng, f"{IMPORTS}\nfrom .app import app") + "\n".join(tools)


def given(rng: random.Random, number: int) -> str:
    tools = [function(rng, f"make_{number}_{each}", "@server.tool()", "    ") for each in range(3)]
    return holder(rng, IMPORTS) + "\ndef register(server):\n" + "\n".join(tools)


def looped(rng: random.Random, number: int) -> str:
    tools = [function(rng, f"list_{number}_{each}") for each in range(3)]
    table = ", ".join(f"list_{number}_{each}" for each in range(3))
    loop = f'for each in ({table}):\n    app.add_tool(Tool.from_function(each, name=f"{{PREFIX}}_{{each.__name__}}"))\n'
    return holder(rng, f"{IMPORTS}\nfrom fastmcp.tools import Tool\n\nfrom .app import app") + "\n".join(tools) + loop


def methods(rng: random.Random, number: int) -> str:
    tools = [function(rng, f"edit_{number}_{each}", "", "    ", ("self",)) for each in range(3)]
    registers = "\n".join(f"        server.tool()(self.edit_{number}_{each})" for each in range(3))
    start = f"class Editor:\n    def __init__(self, server):\n        self.server = server\n{registers}\n\n"
    return holder(rng, f"{IMPORTS}\nfrom .app import app") + start + "\n".join(tools) + "\nEditor(app)\n"


def mounted(rng: random.Random, number: int) -> str:
    tools = [function(rng, f"sort_{number}_{each}", f'@extra.tool(name="sort_{number}_{each}")') for each in range(3)]
    return holder(rng, f"{IMPORTS}\nfrom .app import extra") + "\n".join(tools)


def spelt_out(rng: random.Random, number: int) -> str:
    texts = [(each, sentence(rng, 190), sentence(rng, 60)) for each in range(4)]
    tools = [SPELT_OUT.format(number=number, each=each, text=text, about=about) for each, text, about in texts]
    listed = LISTED.format(number=number, tools=",\n        ".join(tools), body=code(rng, 300))
    return holder(rng, "from mcp import types\nfrom mcp.server.lowlevel import Server") + listed


def bystander(rng: random.Random, number: int) -> str:
    """A module that registers nothing. Those of the first half use one of the second."""
    used = number + BYSTANDERS // 2
    imports, called = "from .settings import LIMIT", "limit"
    if used < BYSTANDERS:
        imports, called = f"{imports}\nfrom .part_{used} import helper_{used}_0", f"helper_{used}_0(limit)"
    start = f"class Client{number}:\n    def __init__(self, limit):\n        self.settings = {called}\n\n"
    methods = [f"    def of_{each}(self, client):\n{code(rng, 24, ' ' * 8)}\n\n" for each in range(5)]
    functions = [f"def helper_{number}_{each}(client):\n{code(rng, 30)}\n\n" for each in range(4)]
    return "\n".join([heading(rng, imports, "None"), start, *methods, *functions])


STYLES: tuple[Callable[[random.Random, int], str], ...] = (decorated, given, looped, methods, mounted, spelt_out)


def write_package(folder: pathlib.Path) -> pathlib.Path:
    """A package with tools in every style, and much else; the folder that holds it."""
    rng = random.Random(11)
    package = folder / "measured"
    package.mkdir(parents=True)
    modules = {"__init__": "", "app": APP, "settings": SETTINGS, "models": MODELS}
    held = [(f"{style.__name__}_{each}", style(rng, each)) for style in STYLES for each in range(MODULES_OF_A_STYLE)]
    modules |= dict(held)
    modules |= {f"part_{number}": bystander(rng, number) for number in range(BYSTANDERS)}
    imports = "\n".join(f"from . import {name}" for name, _ in held)
    calls = "\n".join(f"    {name}.register(app)" for name, _ in held if name.startswith("given"))
    modules["server"] = SERVER.format(imports=imports, calls=calls)
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    return folder
