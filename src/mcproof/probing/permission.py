"""Permission: may a tool be called? Only if it is clear that it changes nothing, or if the user allows it.

The first match decides:

1. `--deny`, then `--allow` and `--allow-writes`;
2. `destructiveHint`, a name or an undeclared description that says it deletes data, or a word in the name for
   what cannot be undone: no;
3. `readOnlyHint`: yes if true, no if false;
4. a changing verb in the name, a changing first verb of the description, or parameters of such tools: no;
5. a reading or computing verb in the name, else as first verb of the description, else a name that ends in what it
   reports: yes, presumed read-only;
6. otherwise no.

Words are whole words of the name in any notation: `deleteUser`, `delete_user`, `user.delete`, `delete2`.
Why a call needs evidence: docs/decisions/0031-permission-needs-evidence.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from mcproof.checks.behaviour.capability_tables import destruction_of
from mcproof.checks.behaviour.effects import DESTRUCTIVE, effect_of
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.console import listed_names
from mcproof.core.errors import UsageError, nearest
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import ANNOTATION, header_parameters
from mcproof.core.text.english import words_of

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
    if hints.get("destructiveHint"):  # also "true" and 1, whose meaning is clear
        return Permission(tool, False, "`destructiveHint` is true")
    destruction = destruction_of(tool)
    if destruction is not None and (destruction.source == "name" or hints.get("readOnlyHint") is not True):
        return Permission(tool, False, f"it can delete data: {destruction.why}")
    final = next((word for word in words_of(tool.name) if word.strip("0123456789") in DESTRUCTIVE), None)
    if final is not None:
        return Permission(tool, False, f"{MAY_CHANGE}`{final}` in its name")
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


def refuse_unknown_tools(patterns: Iterable[str], names: list[str]) -> None:
    """Raise a UsageError if a name or glob pattern matches no tool."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"unknown tool `{pattern}`{nearest(pattern, names)}; there are {listed_names(names)}")


def permissions_of(
    catalog: Catalog,
    *,
    tools: Sequence[str] = (),
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    allow_writes: bool = False,
) -> list[Permission]:
    """The chosen tools, or all, each with whether it may be called. Tools are chosen by name or glob pattern."""
    drops = catalog.connection is not None and catalog.connection.has_parameter_headers
    own = [
        Permission(tool, False, f"clients must drop it: {problem}")
        if drops and (problem := header_fault(tool)) is not None
        else permission(
            tool, allow_writes=allow_writes, is_allowed=_matches(tool, allow), is_denied=_matches(tool, deny)
        )
        for tool in catalog.tools
        if not tools or _matches(tool, tools)
    ]
    refused = {permitted.tool.name: permitted for permitted in reversed(own) if not permitted.is_granted}
    seen: set[str] = set()
    permissions = []
    for permitted in own:
        name = permitted.tool.name
        granted = permitted
        if name and name in seen:
            granted = Permission(permitted.tool, False, "another tool has the same name")
        elif permitted.is_granted and name in refused:  # which of the two the server would call is unknown
            granted = Permission(permitted.tool, False, f"another tool has the same name: {refused[name].reason}")
        seen.add(name)
        permissions.append(granted)
    return permissions


def header_fault(tool: Tool) -> str | None:
    """Why an `x-mcp-header` of a tool is invalid; None if all are valid."""
    problems = header_parameters(tool.tree).problems if tool.tree is not None else []
    return f"invalid `{ANNOTATION}`: {problems[0].message}" if problems else None


def _matches(tool: Tool, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(tool.name, pattern) for pattern in patterns)
