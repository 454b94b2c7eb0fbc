"""Text that a server in JavaScript prints where the protocol is; nothing is reported where that is not certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.source.javascript.pipeline import flows_of
from source.javascript.sources import SERVER, project

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.observations.source import SourceFlows

STDIO = 'import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";\n'
START = "await server.connect(new StdioServerTransport());\n"


def tool(body: str) -> str:
    return f'server.tool("moor", {{ berth: z.string() }}, async ({{ berth }}) => {{ {body} return {{}}; }});\n'


def flows(folder: Path, *parts: str, **files: str) -> SourceFlows:
    texts = {f"{name}.js": text for name, text in files.items()}
    return flows_of(project(folder, {"index.js": STDIO + SERVER + "".join(parts), **texts}))


FIRST = (STDIO + SERVER).count("\n") + 1


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ((tool("console.log(berth);"), START), FIRST),
        ((tool("try { } catch (error) { console.info(error); }"), START), FIRST),
        ((tool(""), 'console.log("ready");\n', START), FIRST + 1),
        ((tool(""), START, 'console.debug("ready");\n'), FIRST + 2),
        ((tool(""), "async function main() {\n", START, 'console.log("ready");\n}\nmain();'), FIRST + 3),
    ],
)
def test_text_that_reaches_the_protocol(tmp_path: Path, parts: tuple[str, ...], line: int) -> None:
    assert [place.line for place in flows(tmp_path, *parts).prints] == [line]


@pytest.mark.parametrize(
    "parts",
    [
        (tool("console.error(berth); console.warn(berth);"), START),
        (tool("if (process.env.DEBUG) { console.log(berth); }"), START),
        (tool("const later = () => { console.log(berth); };"), START),
        (tool(""), "function other() { console.log('never'); }\n", START),
    ],
)
def test_text_that_does_not_reach_it(tmp_path: Path, parts: tuple[str, ...]) -> None:
    found = flows(tmp_path, *parts)
    assert found.prints == ()
    assert "TRU-312" not in found.unobserved


@pytest.mark.parametrize(
    "part",
    [
        'import "express";\n',
        "console.log = console.error;\n",
        'import { createServer } from "node:http"; createServer().listen(80);\n',
    ],
)
def test_a_server_that_may_do_otherwise_is_not_judged(tmp_path: Path, part: str) -> None:
    found = flows(tmp_path, part, tool("console.log(berth);"), START)
    assert found.prints == ()
    assert "TRU-312" in found.unobserved
