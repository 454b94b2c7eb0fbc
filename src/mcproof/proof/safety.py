"""Which tools may be called: those that, by their annotations and names, change nothing.

The first match decides: a destructive hint or word, then the hint that a tool only reads, then a mutating word.
Words are whole words of the name, however it is spelt: `deleteUser`, `delete_user`, `user.delete`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog import Tool


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DESTRUCTIVE = _words(
    "abort ban cancel clear delete deprovision destroy discard disconnect drop erase evict expunge flush hdel kill "
    "lrem nuke overwrite purge remove reset revert revoke rm rollback shred shutdown srem terminate trash truncate "
    "unassign unban undeploy uninstall unlink unpublish unregister unsubscribe wipe xdel zrem"
)
MUTATING = _words(
    "accept activate add allocate append apply approve archive assign attach authorize buy change checkin checkout "
    "cherry click clone commit configure confirm connect copy create customize deactivate decline deny deploy detach "
    "disable dismiss dispatch drag duplicate edit enable enqueue enroll eval exec execute fill fork generate give "
    "grant handle hset import increment inject insert install interact invite invoke join launch leave login logout "
    "lpop lpush manage merge migrate modify move mutate mute navigate notify patch pause pay persist populate post "
    "press promote protect provision psubscribe publish pull purchase push put react rebase redeem refund register "
    "reject rename reopen reorder replace replicate reply reschedule reserve resize respond restart restore resume "
    "retry rotate rpop rpush run sadd save schedule sell send set share spawn start stash stop store submit subscribe "
    "switch sync tap toggle trade transact transfer transition trigger tweet unarchive unlock unmute unpin unprotect "
    "update upgrade upload upsert vote withdraw write xack xadd zadd"
)
"""Verbs of tools that change something, or run what they are given; a word too many costs a tool its test, a word too
few may cost somebody their data."""

MUTATING_IN_FRONT = _words(
    "answer batch book build bulk call charge clean close comment compile complete convert dial download draft email "
    "empty evaluate expire export fix format hover init initialize issue link lock log mark message open order pin "
    "place play print process prompt queue record refresh release report request resolve select sign snapshot tag "
    "take touch track type void"
)
"""Words that are verbs only at the beginning of a name: `log_in` does what `git_log` does not."""

_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Permission(NamedTuple):
    """Whether a tool may be called, and why."""

    tool: Tool
    is_granted: bool
    reason: str
    is_presumed: bool = False
    """Whether nothing but the lack of a mutating word says that it only reads."""


def words_of(name: str) -> list[str]:
    """The words of a name, in small letters."""
    return [word.lower() for word in _BOUNDARY.split(name) if word]


def permission(tool: Tool, *, allow_writes: bool) -> Permission:
    """Whether a tool may be called."""
    if not tool.name:
        return Permission(tool, False, "it has no name to call it by")
    refusal = _refusal(tool)
    if refusal is None:
        hints = tool.fields.get("annotations")
        if isinstance(hints, dict) and hints.get("readOnlyHint") is True:
            return Permission(tool, True, "`readOnlyHint` is true")
        return Permission(tool, True, "presumed read-only: nothing in its name or annotations says otherwise", True)
    if allow_writes:
        return Permission(tool, True, f"{refusal}; allowed by --allow-writes")
    return Permission(tool, False, f"{refusal}; --allow-writes calls it")


def _refusal(tool: Tool) -> str | None:
    """Why a tool may change the world; None where nothing says so."""
    given = tool.fields.get("annotations")
    hints = given if isinstance(given, dict) else {}
    words = words_of(tool.name)
    if hints.get("destructiveHint") is True:
        return "`destructiveHint` is true"
    if (word := _first(words, DESTRUCTIVE)) is not None:
        return f"`{word}` in its name is destructive"
    if hints.get("readOnlyHint") is True:
        return None
    if (word := _first(words, MUTATING) or _first(words[:1], MUTATING_IN_FRONT)) is not None:
        return f"`{word}` in its name may change something"
    return None


def _first(words: Iterable[str], known: frozenset[str]) -> str | None:
    return next((word for word in words if word in known), None)
