"""Parameters that take free text, by the role of their name: a prompt, a command, a path, …

The last word of a name is its role: `shell_command` is a command. Some first words change the role: `search_query` is
a search term and `next_token` a position in a list.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_SINGULAR = {"instructions": "instruction", "urls": "url", "paths": "path", "commands": "command", "prompts": "prompt"}
_ROLES = frozenset(
    ("command", "instruction", "message", "path", "prompt", "query", "secret", "sql", "token", "url", "uri")
)
_ALONE = frozenset({"message"})
"""Roles only if the name has no other word: not `commit_message`."""
_NEEDED = {
    "query": frozenset({"cypher", "database", "db", "graphql", "raw", "sparql", "sql"}),
    "path": frozenset({"dest", "destination", "dir", "directory", "file", "folder", "local", "output", "save", "src"}),
}
"""Words of which one must be before a role, if there are any: `sql_query`, but not `search_query`."""
_OTHER = {"token": frozenset({"continuation", "cursor", "next", "page", "pagination", "previous", "start", "sync"})}
"""Words before which a role is another one: `page_token`."""
_PAGES = re.compile(r"\b(?:pages?|pagination|paginat\w*|cursor|continu\w*|next)\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def role_of(name: str) -> str | None:
    """The role of a parameter: `command` for `command`, `shellCommand` and `shell_command`; None if it has none."""
    words = [word.lower() for word in _BOUNDARY.split(name) if word]
    if not words:
        return None
    role = _SINGULAR.get(words[-1], words[-1])
    before = words[:-1]
    if role not in _ROLES or (before and role in _ALONE):
        return None
    if before and role in _NEEDED and _NEEDED[role].isdisjoint(before):
        return None
    if not _OTHER.get(role, frozenset()).isdisjoint(before):
        return None
    return "url" if role == "uri" else role


def is_page_token(name: str, schema: Any) -> bool:
    """Whether a parameter called `token` is a position in a list, by its description."""
    if role_of(name) != "token" or not isinstance(schema, dict):
        return False
    description = schema.get("description")
    return isinstance(description, str) and _PAGES.search(description[:500]) is not None


def texts_of(schema: Any) -> list[dict[str, Any]]:
    """The schemas by which a property accepts strings: the schema itself, or branches of its union."""
    if type(schema) is not dict:
        return []
    kind = schema.get("type")
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return [schema]
    branches = schema.get("anyOf") or schema.get("oneOf")
    if kind is not None or not isinstance(branches, list):
        return []
    return [each for each in branches if isinstance(each, dict) and each.get("type") == "string"]
