"""Fast text search for source that may register something, before any of it is parsed."""

from __future__ import annotations

import re

from mcproof.discovery.frameworks.registration_tables import DECORATORS, REGISTERING_NAMES
from mcproof.discovery.project.source_files import is_test

_SERVER = rb"(?:[(\[.]| as |(?<=\(%b)|(?<=import %b)|(?<=[., ]%b)\):)"
_PATTERNS = {
    b"tool": rb"tool(?:(?<=[.@]tool)\b|(?<=\btool)\(|(?<=add_tool)\(|(?<=register_tool)\()",
    b"_tool(": rb"@[\w.]*_tool\(",
    b"Tool": rb"Tool(?:(?<=\bTool)\(|\.from|(?<=FunctionTool))",
    b"list_tools": rb"list_tools",
    b"resource": rb"resource(?:(?<=\.resource)\(|(?<=add_resource))",
    b"prompt": rb"prompt(?:(?<=\.prompt)[(\n]|(?<=add_prompt))",
    b"FastMCP": rb"FastMCP" + _SERVER % ((b"FastMCP",) * 3),
    b"MCPServer": rb"MCPServer" + _SERVER % ((b"MCPServer",) * 3),
    b"mcp.server": rb"Server" + _SERVER % ((b"Server",) * 3),
    b"import_server": rb"import_server",
}
"""Patterns of code that creates or fills a server, by a word that each of them needs.

A file without a match registers nothing. Most patterns start with their word: fixed prefixes are fast to search.
"""
CALL_PATTERNS = {
    word: re.compile(rf"{word}(?<=\b{word})\b(?:[\s\\)]*\({rf'|(?<=[@.]{word})' if word in DECORATORS else ''})")
    for word in sorted(REGISTERING_NAMES | DECORATORS.keys())
}
"""Calls and decorators that register something. The word comes first, because fixed prefixes are fast to search."""


def may_register(data: bytes, path: str) -> bool:
    """Whether a file contains a word that a registration needs, and is not a test."""
    acts = any(word in data and re.search(pattern, data) is not None for word, pattern in _PATTERNS.items())
    return acts and not is_test(path, data)
