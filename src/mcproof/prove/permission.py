"""Permission: may a tool be called? Only if neither its annotations nor its name suggest that it changes something.

The first match decides: `destructiveHint` or a destructive word, then `readOnlyHint`, then a mutating word.
Words are whole words of the name in any notation: `deleteUser`, `delete_user`, `user.delete`, `delete2`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mcproof.catalog.tool_names import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog.model import Tool


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DESTRUCTIVE = _words(
    "abort ban cancel clear del delete deprovision destroy discard disconnect drop erase evict expunge flush hdel "
    "kill lrem nuke overwrite purge remove reset revert revoke rm rollback shred shutdown srem terminate trash "
    "truncate unassign unban undeploy uninstall unlink unpublish unregister unsubscribe wipe xdel zrem"
)
MUTATING = _words(
    "accept activate add agent allocate append apply approve archive arrappend arrpop arrtrim assign attach authorize "
    "back buy cas change checkin checkout cherry clean click clone commit configure confirm connect copy create curl "
    "customize deactivate decline decr deny deploy detach disable dismiss dispatch drag duplicate edit enable enqueue "
    "enroll eval evaluate exec execute fill fit fork forward generate give grant handle highlight hset import incr "
    "increment init initialize inject insert install interact invite invoke join launch leave login logout lpop lpush "
    "manage merge migrate modify move mutate mute navigate notify opt patch pause pay persist populate post prepend "
    "press promote protect provision psubscribe publish pull purchase push put quit react rebase reconnect redeem "
    "refund register reject rename reopen reorder replace replicate reply reschedule reserve resize respond restart "
    "restore resume retry rotate rpop rpush run sadd save schedule sell send set share spawn start stash stop store "
    "submit subscribe swipe switch sync synthesize tap toggle trade transact transfer transition trigger tweet "
    "unarchive unlock unmute unpin unprotect update updater upgrade upload upsert vote withdraw write xack xadd "
    "xreadgroup zadd"
)
"""Verbs of tools that change something or execute their input. A word too many leaves a tool untested; a missing one
may cost a user their data."""

MUTATING_IN_FRONT = _words(
    "answer batch book build bulk call charge close comment compile complete convert design dial download draft email "
    "empty expire export fix format hover issue link lock log mark message open order pin place play print process "
    "prompt queue receive record refresh release report request resolve say scroll select sign snapshot speak tag take "
    "touch track type void"
)
"""Words that are verbs only at the beginning of a name, or between a product name and an object: `log_in` and
`blog_log_in`, but not `git_log`."""

MUTATING_AT_THE_END = _words(
    "build call close design dial do hover lock open play print refresh say scroll select sign speak touch type"
)
"""Words that are also verbs as the last word after a product name: `browser_type`, but not `git_log` or
`browser_snapshot`."""

MADE = _words("audio image images music song sound speech video voice")
"""Products, costly or large, of tools that name them after `to`: `text_to_speech`."""

READING = _words("analyze check count describe fetch find get has is list lookup query read retrieve search show view")
"""Reading verbs; words after them are nouns (`get_call_status`)."""


HOW_TO_ALLOW = "; --allow-writes allows it"
"""The end of a refusal that an option can override."""


class Permission(NamedTuple):
    """Whether a tool may be called, and why."""

    tool: Tool
    is_granted: bool
    reason: str
    is_presumed: bool = False
    """Whether it is granted only because no word or annotation speaks against it."""


def permission(tool: Tool, *, allow_writes: bool) -> Permission:
    """Decide whether a tool may be called."""
    if not tool.name:
        return Permission(tool, False, "it has no name")
    refusal = _refusal(tool)
    if refusal is None:
        hints = tool.fields.get("annotations")
        if isinstance(hints, dict) and hints.get("readOnlyHint") is True:
            return Permission(tool, True, "`readOnlyHint` is true")
        return Permission(tool, True, "presumed read-only: nothing in its name or annotations says otherwise", True)
    if allow_writes:
        return Permission(tool, True, f"{refusal}; allowed by --allow-writes")
    return Permission(tool, False, f"{refusal}{HOW_TO_ALLOW}")


def _refusal(tool: Tool) -> str | None:
    """Why a tool may change something; None if nothing suggests it."""
    given = tool.fields.get("annotations")
    hints = given if isinstance(given, dict) else {}
    words = words_of(tool.name)
    if hints.get("destructiveHint"):  # also "true" and 1, whose meaning is clear
        return "`destructiveHint` is true"
    if (word := _first(words, DESTRUCTIVE)) is not None:
        return f"`{word}` in its name is destructive"
    if hints.get("readOnlyHint") is True:
        return None
    if hints.get("readOnlyHint") is False:
        return "`readOnlyHint` is false"
    found = (
        _first(words, MUTATING) or _first(_verbs(words), MUTATING_IN_FRONT) or _first(_end(words), MUTATING_AT_THE_END)
    )
    if found is not None:
        return f"`{found}` in its name may change something"
    made = next((each for before, each in pairwise(words) if before == "to" and each in MADE), None)
    return f"`to {made}` in its name may create something" if made is not None else None


def _verbs(words: list[str]) -> list[str]:
    """The words in the position of a verb."""
    has_prefix = len(words) > 2 and words[0] not in READING
    return words[:2] if has_prefix else words[:1]


def _end(words: list[str]) -> list[str]:
    """The last word of a name with only a product name before it."""
    return words[1:] if len(words) == 2 and words[0] not in READING else []


def _first(words: Iterable[str], known: frozenset[str]) -> str | None:
    """The first known word, also with a number: `delete2`."""
    return next((word for word in words if word.strip("0123456789") in known), None)
