"""The catalogs that the golden files are made of, as text: their layout is what is tested."""

from __future__ import annotations

import json
from typing import Any

MIXED = """\
{
  "server": {"package": "library"},
  "initialize": {"protocolVersion": "2025-06-18", "serverInfo": {"name": "library"}},
  "tools": [
    {
      "name": "find_book",
      "description": "Find a book by words of its title.",
      "inputSchema": {
        "type": "object",
        "properties": {
          "title": {"type": "string", "description": "Words of the title."},
          "filter": {
            "description": "What else the book must be, as a long object that does not fit on one line of the frame.",
            "type": "object",
            "properties": {"year": {"type": "integer"}}
          },
          "anything": {}
        }
      }
    },
    {"name": "burn book", "inputSchema": {"type": "object", "properties": {}, "required": ["id"]}},
    {
      "description": "A tool that nobody can call, because it has no name."
    },
    null
  ],
  "prompts": [
    {"name": "recommend", "description": "Recommend a book.", "arguments": [{"name": "mood"}]}
  ]
}
"""
"""An error, warnings, a note, fixable findings, and two rules at one fault."""

_LOOSE: dict[str, Any] = {
    "name": "search",
    "description": "Search the index for documents that match a query in plain words.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "options": {"type": "object", "properties": {"deep": {"type": "boolean", "description": "Search deeper."}}},
        },
        "required": ["query", "nothing"],
    },
}

MINIFIED = json.dumps({"tools": [{**_LOOSE, "name": f"search_{number}"} for number in range(2)]}, separators=(",", ":"))
"""Everything on one line."""

TABS = (
    "{\r\n"
    '\t"tools":\t[\r\n'
    "\t\t{\r\n"
    '\t\t\t"name":\t"a b",\t"description":\t"short",\r\n'
    '\t\t\t"inputSchema":\t{"type": "object",\t"properties": {"q":\t{}}}\r\n'
    "\t\t}\r\n"
    "\t]\r\n"
    "}\r\n"
)
"""Tabs in front of and between the members, and the line ends of Windows."""

WIDE = """\
{"tools": [
  {"name": "検索", "description": "図書館の目録から本を探します。よろしくお願いします。",
   "inputSchema": {"type": "object", "properties": {"書名": {"type": "string"}, "e\u0301te\u0301": {}, "📚": {},\
 "q": {}}}}
]}
"""
"""Ideographs, combining accents and emoji before, in and after what is underlined."""

SNAPSHOTS = {"mixed": MIXED, "minified": MINIFIED, "tabs": TABS, "wide": WIDE}


def _tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "inputSchema": schema}


_TITLE = {"type": "string", "description": "Words of the title."}

GRADED: dict[str, Any] = {
    "a": {
        "initialize": {"serverInfo": {"name": "library", "version": "1.2.3"}},
        "tools": [
            _tool("find_book", "Find a book by words of its title.", title=_TITLE),
            _tool("lend_book", "Lend a book to a reader until the end of the month.", title=_TITLE, reader=_TITLE),
        ],
    },
    "c": {
        "tools": [
            _tool("find_book", "Find a book by words of its title.", **{name: {"type": "string"} for name in "abcdefg"})
        ]
    },
    "f": {
        "initialize": {"serverInfo": {"name": "図書館", "version": ""}},
        "tools": [
            *(
                _tool(f"tool_{number}", "Do.", y={}, **{f"p{each}": {} for each in range(number)})
                for number in range(11)
            ),
            _tool("a_tool_whose_name_is_a_good_deal_longer_than_the_column", "", x=_TITLE),
            _tool("本を探す", "図書館の目録から本を探します。" * 10, x={}),
            None,
        ],
    },
    "empty": {"initialize": {"serverInfo": {"name": "nothing", "version": "1"}}, "tools": []},
}
