"""Small servers for tests of flows."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TYPE_CHECKING

from mcproof.source.python.pipeline import discover, flows_of

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.observations.source import SourceFlow

IMPORTS = """\
import ast, asyncio, importlib, ipaddress, json, os, pickle, re, shlex, shutil, socket, sqlite3, subprocess, yaml
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlparse

import aiohttp, git, httpx, jinja2, pandas, paramiko, requests, sympy, sys
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel, Field

mcp = FastMCP("demo")
ROOT = Path("data").resolve()
ALLOWED = {"a", "b"}
"""


def tool(body: str, parameters: str = "x: str", before: str = "") -> str:
    """A server with one tool."""
    text = indent(dedent(body).strip("\n"), "    ")
    return f'{IMPORTS}\n{dedent(before)}\n\n@mcp.tool()\nasync def act({parameters}) -> str:\n    """Act."""\n{text}\n'


def flows_in(folder: Path, **files: str) -> tuple[SourceFlow, ...]:
    """The flows of a project with these modules."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    return flows_of(discover(str(folder))).flows


def kinds_in(folder: Path, source: str) -> list[str]:
    """The kinds of the flows of one module."""
    return sorted({flow.kind for flow in flows_in(folder, server=source)})
