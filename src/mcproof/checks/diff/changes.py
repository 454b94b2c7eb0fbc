"""The parts of two tools that can be compared: those that are known in both.

A catalog from source code lists the parts that only running the code would reveal. They are left out of both tools,
because a missing part is not a removed one. If the other tool lacks the location of an unknown part, that part may be
written elsewhere in it: a difference may come from there, and is not certain.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.catalog.model import CONDITIONAL, Tool
from mcproof.core.text.json_positions import unescape

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog, Item


class ComparableTools(NamedTuple):
    """Two tools without the parts that are unknown in either."""

    old: Tool
    new: Tool
    doubtful_members: frozenset[str] = frozenset()
    """Members in which a difference may come from an unknown part."""


def is_conditional(item: Item) -> bool:
    """Whether an item from source code is served only under an unknown condition."""
    meta = item.fields.get("_meta")
    return isinstance(meta, dict) and CONDITIONAL in meta


def may_be_incomplete(catalog: Catalog, list_key: str) -> bool:
    """Whether a catalog from source code may lack items of a list."""
    source = catalog.source
    return source is not None and (bool(source.problems) or list_key in source.partial)


def served_members(item: Item) -> dict[str, Any]:
    """The members that a server would send: without the mark of conditional items."""
    fields = item.fields
    meta = fields.get("_meta")
    if not isinstance(meta, dict) or CONDITIONAL not in meta:
        return fields
    kept = {key: value for key, value in meta.items() if key != CONDITIONAL}
    others = {key: value for key, value in fields.items() if key != "_meta"}
    return {**others, "_meta": kept} if kept else others


def comparable_tools(old: Tool, new: Tool) -> ComparableTools:
    """Remove the parts of two tools that are unknown in either."""
    unknown = {pointer for tool in (old, new) if tool.source is not None for pointer in tool.source.unknown}
    if (old.source is not None or new.source is not None) and _is_reindented(old, new):
        new = _with_fields(new, {**new.fields, "description": old.fields["description"]})
    if not unknown or not old.is_object or not new.is_object:
        return ComparableTools(old, new)
    if "" in unknown:
        return ComparableTools(old, old)
    pointers = sorted(unknown)
    (before, old_missing), (after, new_missing) = (_without(tool.fields, pointers) for tool in (old, new))
    doubtful = frozenset(pointer.split("/", 2)[1] for pointer in old_missing | new_missing)
    return ComparableTools(_with_fields(old, before), _with_fields(new, after), doubtful)


def _is_reindented(old: Tool, new: Tool) -> bool:
    """Whether two descriptions differ in indentation only: Python 3.13 strips it from docstrings."""
    before, after = old.fields.get("description"), new.fields.get("description")
    if not isinstance(before, str) or not isinstance(after, str) or before == after:
        return False
    return cleandoc(before) == cleandoc(after)


def _with_fields(tool: Tool, fields: dict[str, Any]) -> Tool:
    return Tool(fields, tool.pointer, tool.index)


def _without(fields: dict[str, Any], pointers: list[str]) -> tuple[dict[str, Any], set[str]]:
    """Return a copy without the values at some pointers, and the pointers that do not exist.

    A list that contains such a value is removed as a whole. Only changed objects are copied.
    """
    root = dict(fields)
    copied = {id(root)}
    missing: set[str] = set()
    for pointer in pointers:
        tokens = [unescape(token) for token in pointer.split("/")[1:]]
        parent, parent_key = root, ""
        for token in tokens[:-1]:
            child = parent.get(token)
            if isinstance(child, list):
                del parent[token]
                break
            if not isinstance(child, dict):
                if parent_key != "properties":  # a property that the other tool lacks is not doubtful
                    missing.add(pointer)
                break
            if id(child) not in copied:
                child = parent[token] = dict(child)
                copied.add(id(child))
            parent, parent_key = child, token
        else:
            parent.pop(tokens[-1], None)
    return root, missing
