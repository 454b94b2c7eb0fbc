"""What a first suite may test of a server: each tool, what it gives to read, its prompts; and what came of trying.

Reading and prompts change nothing, as the protocol has it; of the tools, only those are tried that change nothing by
their annotations and names.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.exchange.probe_facts import CHECKS
from mcproof.generation.valid_values import valid_arguments
from mcproof.prove.permission import HOW_TO_ALLOW
from mcproof.prove.probes import ProbeCase, probes_of_tool
from mcproof.suite.definition import METHODS
from mcproof.text.yamlwriter import UnwritableError, scalar, to_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcproof.catalog.model import Catalog, Item, Prompt, Tool
    from mcproof.prove.permission import Permission
    from mcproof.suite.scaffold.server_entry import Names

MOST = 20
"""How many resources, templates and prompts of a server have a test, each; tools are what most servers are about."""
_LONGEST_NAME = 100
_LISTS = (
    ("resources", "resources/list", "the resources are listed"),
    ("templates", "resources/templates/list", "the templates of resources are listed"),
    ("prompts", "prompts/list", "the prompts are listed"),
)
_SECRET = "a value that the server is given in secret"  # noqa: S105


class Draft(NamedTuple):
    """A test of one tool, resource or prompt, and what is known of it."""

    name: str
    subject: str
    """The tool or the prompt by its name, or the resource by its URI; or what to call it, where there is no test."""
    arguments: dict[str, Any] = {}  # noqa: RUF012 (nobody writes into the default)
    is_made_up: bool = False
    """Whether somebody should put better arguments there."""
    checks: tuple[str, ...] = ()
    """The probes that apply."""
    off: str = ""
    """Why the test is a comment; empty where it is on."""
    impossible: str = ""
    """Why there is no test at all."""
    failed_call: str = ""
    """What the server says to the call, where it does not work."""
    failed_checks: tuple[tuple[str, str], ...] = ()
    """The probes that do not pass, each with why."""
    failed_path: str = ""
    """Why no probe can be sent."""
    block: str = "tools"
    """The list that it is for."""

    @property
    def passing_checks(self) -> tuple[str, ...]:
        """The probes that the suite sends."""
        failed = {check for check, _ in self.failed_checks}
        return () if self.failed_path else tuple(check for check in self.checks if check not in failed)

    @property
    def is_on(self) -> bool:
        """Whether `mcproof run` will make something of it."""
        return not self.off and not self.impossible and not (self.failed_call and not self.passing_checks)


def drafts_of(
    catalog: Catalog, permissions: Sequence[Permission], names: Names, hide: Callable[[str], str], suffix: str = ""
) -> list[Draft]:
    """A draft for each tool, and for some of all else that there is, without what is to be hidden.

    A server without tools is asked for its lists as well.
    """
    drafting = _Drafting(names, hide, suffix)
    drafts = [drafting.tool(permission) for permission in permissions]
    if not catalog.tools:
        there = [(method, name) for kind, method, name in _LISTS if getattr(catalog, kind)]
        drafts += [Draft(names.unique(f"{name}{suffix}"), method) for method, name in there]
    drafts += map(drafting.resource, islice(catalog.resources, MOST))
    drafts += map(drafting.template, islice(catalog.templates, MOST))
    drafts += map(drafting.prompt, islice(catalog.prompts, MOST))
    return drafts


class _Drafting:
    """Drafts for one server, each of something else."""

    def __init__(self, names: Names, hide: Callable[[str], str], suffix: str) -> None:
        self._names = names
        self._hide = hide
        self._suffix = suffix
        self._seen: set[tuple[str, str]] = set()

    def tool(self, permission: Permission) -> Draft:
        tool = permission.tool
        why = "in a suite, this name stands for the list" if tool.name in METHODS else ""
        draft = self._begun(tool, "tools", tool.name, "answers", why)
        if not draft.impossible:
            draft = self._of_tool(draft, permission)
        tool.release_tree()
        return draft

    def resource(self, resource: Item) -> Draft:
        return self._begun(resource, "resources", resource.fields.get("uri"), "can be read")

    def template(self, template: Item) -> Draft:
        draft = self._begun(template, "resources", template.fields.get("uriTemplate"), "can be read")
        return draft._replace(off="what stands in braces is to be filled in")

    def prompt(self, prompt: Prompt) -> Draft:
        draft = self._begun(prompt, "prompts", prompt.name, "can be fetched")
        schema = _schema_of(prompt)
        return draft if draft.impossible or not schema["required"] else self._with_arguments(draft, schema)

    def _begun(self, item: Item, block: str, subject: Any, does: str, impossible: str = "") -> Draft:
        """A draft that may have to end here."""
        why = impossible or self._impossible(block, subject)
        if why:
            return Draft("", self._hide(item.label), impossible=why, block=block)
        self._seen.add((block, subject))
        label = self._hide(item.label)
        shown = label if len(label) <= _LONGEST_NAME else f"{label[:_LONGEST_NAME]}…"
        return Draft(self._names.unique(f"{shown}{self._suffix} {does}"), subject, block=block)

    def _impossible(self, block: str, subject: Any) -> str:
        """Why nothing can be tested of something."""
        kind, what = ("resource", "address") if block == "resources" else (block.removesuffix("s"), "name")
        if not isinstance(subject, str) or not subject:
            return "it has no address to read it at" if what == "address" else "it has no name to call it by"
        if (block, subject) in self._seen:
            return f"another {kind} has the same {what}"
        if self._hide(subject) != subject:
            return f"its {what} repeats {_SECRET}"
        try:
            scalar(subject)
        except UnwritableError as error:
            return f"its {what} cannot stand in a suite: {error}"
        return ""

    def _of_tool(self, draft: Draft, permission: Permission) -> Draft:
        tool = permission.tool
        if not permission.is_granted:
            draft = draft._replace(off=f"it may change something: {permission.reason.removesuffix(HOW_TO_ALLOW)}")
        draft = self._with_arguments(draft, tool.schema if tool.schema is not None else {})
        return draft if draft.off else draft._replace(checks=_applicable(tool, draft.arguments))

    def _with_arguments(self, draft: Draft, schema: dict[str, Any]) -> Draft:
        made = valid_arguments(schema)
        if made.value is None:
            return draft._replace(off=draft.off or f"no valid arguments were found: {made.problem}", is_made_up=True)
        try:
            line = to_yaml(made.value)
        except UnwritableError as error:
            return draft._replace(off=draft.off or f"the arguments that were found cannot stand in a suite: {error}")
        if self._hide(line) != line:
            return draft._replace(off=draft.off or f"its arguments would repeat {_SECRET}")
        return draft._replace(arguments=made.value, is_made_up=_is_made_up(schema, made.value))


def _schema_of(prompt: Prompt) -> dict[str, Any]:
    """What the arguments of a prompt have to be, as a schema: texts, of which some are required."""
    listed = prompt.fields.get("arguments")
    arguments = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    named = {name: each for each in arguments if isinstance(name := each.get("name"), str)}
    properties = {
        name: {"type": "string", "description": said if isinstance(said := each.get("description"), str) else ""}
        for name, each in named.items()
    }
    required = [name for name, each in named.items() if each.get("required") is True]
    return {"type": "object", "properties": properties, "required": required}


def _applicable(tool: Tool, arguments: dict[str, Any]) -> tuple[str, ...]:
    """The probes that have something to break."""
    if not tool.parameters and not arguments:
        return ()
    asked = probes_of_tool(tool, list(CHECKS), given=arguments, size=1, explores=False)
    applicable = {each.probe for each in asked.cases if isinstance(each, ProbeCase)}
    return tuple(check for check in CHECKS if check == "unknown_tool" or check in applicable)


def _is_made_up(schema: dict[str, Any], arguments: dict[str, Any]) -> bool:
    properties = schema.get("properties")
    declared = properties if isinstance(properties, dict) else {}
    return any(not _is_given(declared.get(name), value) for name, value in arguments.items())


def _is_given(schema: Any, value: Any) -> bool:
    """Whether the author of a schema has written this value down."""
    if not isinstance(schema, dict):
        return False
    given = [schema[each] for each in ("default", "const") if each in schema]
    for each in ("enum", "examples"):
        given += schema[each] if isinstance(schema.get(each), list) else []
    return value in given


def with_results(draft: Draft, call: str, probes: Iterable[tuple[str, str]], path: str) -> Draft:
    """A draft with what came of trying it: what was said to the call, which probes failed, or why all did."""
    return draft._replace(
        failed_call=call,
        failed_checks=tuple(dict.fromkeys([*draft.failed_checks, *probes])),
        failed_path=draft.failed_path or path,
    )
