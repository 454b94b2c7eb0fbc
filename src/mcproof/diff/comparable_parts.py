"""What can be compared at all: of source code, the parts that only running it would tell are left out on both sides.

A catalog from source says which parts it does not know. What is missing there is not gone, so neither side is asked
about it. Where the other side has no such place, what is unknown may be written elsewhere in it: then a difference may
come from that, and is not taken for certain.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog.model import CONDITIONAL, Tool
from mcproof.text.pointers import unescape

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog, Item


class Comparable(NamedTuple):
    """Two tools without what is unknown of either."""

    old: Tool
    new: Tool
    in_doubt: frozenset[str] = frozenset()
    """The members in which a difference may come from something unknown."""


def is_conditional(item: Item) -> bool:
    """Whether an item from source is served only under a condition that the source does not settle."""
    meta = item.fields.get("_meta")
    return isinstance(meta, dict) and CONDITIONAL in meta


def may_have_more(catalog: Catalog, list_name: str) -> bool:
    """Whether a catalog from source may lack items of a list, because not all of the source could be followed."""
    source = catalog.source
    return source is not None and (bool(source.problems) or list_name in source.partial)


def served(fields: dict[str, Any]) -> dict[str, Any]:
    """The members of an item that a server would serve: all but the mark that the source is not certain of it."""
    meta = fields.get("_meta")
    if not isinstance(meta, dict) or CONDITIONAL not in meta:
        return fields
    kept = {key: value for key, value in meta.items() if key != CONDITIONAL}
    rest = {key: value for key, value in fields.items() if key != "_meta"}
    return {**rest, "_meta": kept} if kept else rest


def comparable(old: Tool, new: Tool) -> Comparable:
    """Two tools of one name, without what is unknown of either."""
    unknown = {pointer for tool in (old, new) if tool.source is not None for pointer in tool.source.unknown}
    if (old.source is not None or new.source is not None) and _is_one_docstring(old, new):
        new = _made_of(new, {**new.fields, "description": old.fields["description"]})
    if not unknown or not old.is_object or not new.is_object:
        return Comparable(old, new)
    if "" in unknown:
        return Comparable(old, old)
    ordered = sorted(unknown)
    (before, missed), (after, also_missed) = (_without(tool.fields, ordered) for tool in (old, new))
    in_doubt = frozenset(pointer.split("/", 2)[1] for pointer in missed | also_missed)
    return Comparable(_made_of(old, before), _made_of(new, after), in_doubt)


def _is_one_docstring(old: Tool, new: Tool) -> bool:
    """Whether two descriptions differ in indentation alone: from Python 3.13 on, a docstring has none of its own."""
    before, after = old.fields.get("description"), new.fields.get("description")
    if not isinstance(before, str) or not isinstance(after, str) or before == after:
        return False
    return cleandoc(before) == cleandoc(after)


def _made_of(tool: Tool, fields: dict[str, Any]) -> Tool:
    return Tool(fields, tool.pointer, tool.index)


def _without(fields: dict[str, Any], pointers: list[str]) -> tuple[dict[str, Any], set[str]]:
    """A copy of what is known, and the pointers that lead nowhere. A list with a part that is unknown goes as a whole.

    Only what is changed is copied, and that once.
    """
    whole = dict(fields)
    copied = {id(whole)}
    missed: set[str] = set()
    for pointer in pointers:
        tokens = [unescape(token) for token in pointer.split("/")[1:]]
        holder, above = whole, ""
        for token in tokens[:-1]:
            inner = holder.get(token)
            if isinstance(inner, list):
                del holder[token]
                break
            if not isinstance(inner, dict):
                if above != "properties":  # a property that the other side does not have is no riddle
                    missed.add(pointer)
                break
            if id(inner) not in copied:
                inner = holder[token] = dict(inner)
                copied.add(id(inner))
            holder, above = inner, token
        else:
            holder.pop(tokens[-1], None)
    return whole, missed
