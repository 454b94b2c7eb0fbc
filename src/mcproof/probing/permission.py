"""Permission: may a tool be called? Only if it is clear that it changes nothing, or if the user allows it.

The first match decides:

1. `--deny`, then `--allow` and `--allow-writes`;
2. `destructiveHint` or a destructive word in the name: no;
3. `readOnlyHint`: yes if true, no if false;
4. a changing verb in the name, a changing first verb of the description, or parameters of such tools: no;
5. a reading or computing verb in the name, else as first verb of the description: yes, presumed read-only;
6. otherwise no.

Words are whole words of the name in any notation: `deleteUser`, `delete_user`, `user.delete`, `delete2`.
Why a call needs evidence: docs/decisions/0031-permission-needs-evidence.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.behaviour.effects import DESTRUCTIVE, effect_of
from mcproof.core.text.english import words_of

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Tool

HOW_TO_ALLOW = "; --allow TOOL allows it"
"""The end of a refusal that an option can override."""
MAY_CHANGE = "it may change something: "
"""The start of a refusal because of the words of a tool."""


class Permission(NamedTuple):
    """Whether a tool may be called, and why."""

    tool: Tool
    is_granted: bool
    reason: str
    is_presumed: bool = False
    """Whether it is granted only because of its words: no annotation and no user states it."""
    is_forced: bool = False
    """Whether only the user allows it: it may change something."""


def permission(
    tool: Tool, *, allow_writes: bool = False, is_allowed: bool = False, is_denied: bool = False
) -> Permission:
    """Decide whether a tool may be called. `is_allowed` and `is_denied`: the user names it."""
    if not tool.name:
        return Permission(tool, False, "it has no name")
    if is_denied:
        return Permission(tool, False, "denied by --deny")
    judged = _judge(tool)
    if judged.is_granted:
        return judged
    if is_allowed or allow_writes:
        option = "--allow" if is_allowed else "--allow-writes"
        return Permission(tool, True, f"{judged.reason}; allowed by {option}", is_forced=True)
    return judged._replace(reason=f"{judged.reason}{HOW_TO_ALLOW}")


def _judge(tool: Tool) -> Permission:
    """Decide by what the tool declares."""
    given = tool.fields.get("annotations")
    hints = given if isinstance(given, dict) else {}
    destructive = next((word for word in words_of(tool.name) if word.strip("0123456789") in DESTRUCTIVE), None)
    if hints.get("destructiveHint"):  # also "true" and 1, whose meaning is clear
        return Permission(tool, False, "`destructiveHint` is true")
    if destructive is not None:
        return Permission(tool, False, f"`{destructive}` in its name is destructive")
    if hints.get("readOnlyHint") is True:
        return Permission(tool, True, "`readOnlyHint` is true")
    if hints.get("readOnlyHint") is False:
        return Permission(tool, False, "`readOnlyHint` is false")
    effect = effect_of(tool)
    if effect is None:
        return Permission(tool, False, "nothing in its name or description shows that it only reads")
    if effect.changes:
        return Permission(tool, False, f"{MAY_CHANGE}{effect.evidence}")
    return Permission(tool, True, f"presumed read-only: {effect.evidence}", True)
