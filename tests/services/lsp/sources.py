"""Documents to open in an editor."""

from __future__ import annotations

SERVER = '''\
"""A library, as a server."""

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("library")


@mcp.tool()
def find_book(title: str, limit: int = 10) -> str:
    """Find a book by words of its title."""
    return title


@mcp.tool()
def burn(id):
    return id
'''
"""Parameters without descriptions, a tool without a description."""

LOWLEVEL = """\
from mcp import types
from mcp.server.lowlevel import Server

server = Server("library")


@server.list_tools()
async def list_tools():
    return [
        types.Tool(
            name="find_book",
            description="Find a book by words of its title, the newest first.",
            inputSchema={
                "type": "object",
                "properties": {"title": {"type": "string", "description": "Words of the title."}},
            },
        ),
    ]
"""
"""A schema that is written out, so that mcproof can fix it."""

SUITE = """\
servers:
  library: {command: [python, server.py]}
tools:
  - name: finds a book
    server: library
    tool: find_book
    args: {title: Emma}
    expect:
      - target: result.content[0].text
        matcher: {contains: Emma}
"""
