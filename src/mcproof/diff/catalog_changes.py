"""What changed between two catalogs of a server, and whether it breaks callers.

Items are matched by what callers know them by: tools and prompts by name, resources by their address. A new
name is therefore a removal and an addition. Of several with one name those that are the same belong together,
and then the first with the first; what has no name is matched in the same way.

Changes come in the order of the new catalog: the server, the tools, the resources, the templates, the prompts; what
was removed follows after what is there, in the old order. Within a tool: its texts, its hints, how it runs, the input
schema, the output schema, and whatever else it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from mcproof.catalog.model import Item
from mcproof.diff.comparable_parts import comparable, is_conditional, may_have_more, served
from mcproof.diff.containment import Effort
from mcproof.diff.equality import key_of, same_json
from mcproof.diff.kinds import KINDS, Kind
from mcproof.diff.schema_changes import compare_schemas, quoted, told
from mcproof.diff.value_keywords import shown
from mcproof.text.jsontext import kind_of
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from mcproof.catalog.model import Catalog, Tool
    from mcproof.diff.schema_changes import Direction

__all__ = ["KINDS", "Change", "Kind", "compare"]

Entry = TypeVar("Entry", bound=Item)

_EMPTY_INPUT: dict[str, Any] = {"type": "object", "properties": {}}
"""What a tool without an input schema is taken to accept."""


class Change(NamedTuple):
    """One difference between two catalogs."""

    kind: Kind
    breaking: bool | None
    """Whether callers break; None where nobody can tell."""
    message: str
    """What happened, as a predicate with both values where they are short."""
    item: Item
    """The item that it is about: of the new catalog, or of the old one where `is_old` says so."""
    is_old: bool
    """Whether item and pointer are of the old catalog, as for everything that was removed."""
    pointer: str = ""
    """From the item: `/inputSchema/properties/limit`."""
    parameter: str | None = None


def compare(old: Catalog, new: Catalog) -> list[Change]:
    """What changed between two catalogs, as far as their JSON says it.

    Every member of a tool, a resource, a template or a prompt counts, unless it is malformed before and after. Of the
    server it is its name and version, its instructions, the protocol revision, and which capabilities it offers. What
    a bare list of tools does not speak of is not compared.
    """
    return [
        *_server_changes(old, new),
        *_tool_changes(old, new),
        *_resource_changes(old, new),
        *_template_changes(old, new),
        *_prompt_changes(old, new),
    ]


def _change(
    kind: str, breaking: bool | None, message: str, item: Item, pointer: str = "", *, is_old: bool = False
) -> Change:
    return Change(KINDS[kind], breaking, message, item, is_old, pointer)


# Which items belong together


class _Matches(NamedTuple, Generic[Entry]):
    """The items of two lists: each new one with its old one, if there is one, and the old ones that are left."""

    new: list[tuple[Entry | None, Entry]]
    removed: list[Entry]


def _match(old: Sequence[Entry], new: Sequence[Entry], key: str) -> _Matches[Entry]:
    """Pair items by a member that identifies them; what lacks it is paired with what lacks it."""
    before, after = _grouped(old, key), _grouped(new, key)
    partners = {
        id(item): partner
        for identity, items in after.items()
        for partner, item in _paired(before.get(identity, []), items)
    }
    taken = {id(item) for item in partners.values()}
    return _Matches([(partners.get(id(item)), item) for item in new], [item for item in old if id(item) not in taken])


def _grouped(items: Sequence[Entry], key: str) -> dict[str | None, list[Entry]]:
    """Items by the member that identifies them."""
    groups: dict[str | None, list[Entry]] = {}
    for item in items:
        value = item.fields.get(key)
        groups.setdefault(value if isinstance(value, str) else None, []).append(item)
    return groups


def _paired(old: list[Entry], new: list[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """The items of one name: the same with the same, then the first with the first."""
    if len(old) == len(new) == 1:
        yield old[0], new[0]
        return
    waiting: dict[Hashable, list[Entry]] = {}
    for item in reversed(old):
        waiting.setdefault(key_of(item.raw), []).append(item)
    taken, left = set(), []
    for item in new:
        if equal := waiting.get(key_of(item.raw)):
            taken.add(id(equal[-1]))
            yield equal.pop(), item
        else:
            left.append(item)
    yield from zip((item for item in old if id(item) not in taken), left, strict=False)


# Tools


def _tool_changes(old: Catalog, new: Catalog) -> Iterator[Change]:
    matches = _match(old.tools, new.tools, "name")
    effort = Effort()
    for before, after in matches.new:
        if before is None:
            yield _change("tool-added", False, "was added", after)
        elif not same_json(before.raw, after.raw):
            yield from _changes_of_tool(before, after, effort)
    for tool in matches.removed:
        if new.has_more:
            message = "is not in the new catalog, whose list of tools goes on after what was read"
            yield _change("tool-removed", None, message, tool, is_old=True)
        elif (doubt := _doubtful_removal(tool, new)) is not None:
            yield _change("tool-removed", None, doubt, tool, is_old=True)
        elif not tool.name:
            yield _change("tool-removed", None, "was removed; it had no name to call it by", tool, is_old=True)
        else:
            yield _change("tool-removed", True, "was removed", tool, is_old=True)


def _doubtful_removal(item: Item, new: Catalog) -> str | None:
    """Why nobody can tell whether an item that is not in the new catalog was removed; None where it was."""
    if may_have_more(new, item.list_key):
        return "is not in the new catalog, whose source does not settle all that it serves"
    if is_conditional(item):
        return "was removed; it was there only under a condition"
    return None


def _changes_of_tool(old: Tool, new: Tool, effort: Effort) -> Iterator[Change]:
    """What changed in a tool, as far as both catalogs know it."""
    known = comparable(old, new)
    for change in _known_changes(known.old, known.new, effort):
        is_doubtful = change.breaking and change.pointer[1:].partition("/")[0] in known.in_doubt
        yield change._replace(item=old if change.is_old else new, breaking=None if is_doubtful else change.breaking)


def _known_changes(old: Tool, new: Tool, effort: Effort) -> Iterator[Change]:
    if not old.is_object or not new.is_object:
        message = f"was {kind_of(old.raw)} and is {kind_of(new.raw)}"
        yield _change("constraint-changed", None, message, new)
        return
    yield from _text_changes(old, new)
    yield from _hint_changes(old, new)
    yield from _execution_changes(old, new)
    yield from _schema_changes(old, new, "input", effort)
    yield from _schema_changes(old, new, "output", effort)
    yield from _other_changes(old, new, _TOOL_MEMBERS)


def _text_changes(old: Item, new: Item) -> Iterator[Change]:
    before, after = (_text(item.fields.get("title")) or _text(_hints(item).get("title")) for item in (old, new))
    if before != after:
        yield _change("title-changed", False, told("title", before, after), new, new.pointer_to("title"))
    before, after = (_text(item.fields.get("description")) for item in (old, new))
    if before != after:
        message = told("description", before, after)
        yield _change("description-changed", False, message, new, new.pointer_to("description"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _hints(item: Item) -> dict[str, Any]:
    hints = item.fields.get("annotations")
    return hints if isinstance(hints, dict) else {}


_HINT_DEFAULTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""What a tool that says nothing is taken to be, by the protocol: the worst."""


def _hint_changes(old: Tool, new: Tool) -> Iterator[Change]:
    """Hints that say something else now; a tool that loses a harmless one gets more than users agreed to."""
    before, after = _effective_hints(old), _effective_hints(new)
    for hint, assumed in _HINT_DEFAULTS.items():
        if before[hint] == after[hint]:
            continue
        kind, breaking = "annotation-changed", None if after[hint] == assumed else False
        if hint == "readOnlyHint" and not after[hint]:
            kind, breaking = "read-only-lost", True
        elif hint == "destructiveHint" and after[hint]:
            kind, breaking = "destructive-now", not after["readOnlyHint"]
        message = f"`{hint}` changed from {shown(before[hint])} to {shown(after[hint])}"
        if hint not in _hints(new):
            message += ", which is assumed where nothing is said"
        pointer = f"/annotations/{hint}" if hint in _hints(new) else new.pointer_to("annotations")
        yield _change(kind, breaking, message, new, pointer)
    others = [key for key in _changed(_hints(old), _hints(new)) if key not in _HINT_DEFAULTS and key != "title"]
    if others:
        message = f"{quoted(others)} of the annotations changed"
        yield _change("annotation-changed", None, message, new, new.pointer_to("annotations"))


def _effective_hints(tool: Tool) -> dict[str, bool]:
    hints = _hints(tool)
    return {
        hint: hints[hint] if isinstance(hints.get(hint), bool) else assumed for hint, assumed in _HINT_DEFAULTS.items()
    }


def _execution_changes(old: Tool, new: Tool) -> Iterator[Change]:
    """How a tool runs. One that runs only as a task refuses plain calls; absent support is `forbidden`."""
    before, after = (_execution(tool) for tool in (old, new))
    if same_json(before, after):
        return
    support = [each.get("taskSupport") if isinstance(each, dict) else None for each in (before, after)]
    if support[1] == "required" != support[0]:
        message = "can be called only as a task now: `taskSupport` is `required`"
        yield _change("execution-changed", True, message, new, "/execution/taskSupport")
    else:
        yield _change("execution-changed", None, "`execution` changed", new, new.pointer_to("execution"))


def _execution(tool: Tool) -> Any:
    execution = tool.fields.get("execution", {})
    return {"taskSupport": "forbidden", **execution} if isinstance(execution, dict) else execution


_TOOL_MEMBERS = frozenset({"name", "title", "description", "annotations", "execution", "inputSchema", "outputSchema"})
_RESOURCE_MEMBERS = frozenset({"uri", "uriTemplate", "title", "description", "mimeType"})
_PROMPT_MEMBERS = frozenset({"name", "title", "description", "arguments"})
_HARMLESS = frozenset({"_meta", "icons", "annotations", "size", "name"})
"""Members that say something about an item and change nothing about its use."""


def _other_changes(old: Item, new: Item, compared: frozenset[str]) -> Iterator[Change]:
    """Members that nothing else compares: one change for those that break nobody, one for those that nobody knows."""
    changed = [key for key in _changed(served(old.fields), served(new.fields)) if key not in compared]
    for keys, breaking in (
        ([key for key in changed if key in _HARMLESS], False),
        ([key for key in changed if key not in _HARMLESS], None),
    ):
        if keys:
            pointer = f"/{escape(keys[0])}" if keys[0] in new.fields else ""
            yield _change("metadata-changed", breaking, f"{quoted(keys)} changed", new, pointer)


def _changed(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The members that differ."""
    return [key for key in {**new, **old} if (key in old) != (key in new) or not same_json(old[key], new[key])]


def _schema_changes(old: Tool, new: Tool, direction: Direction, effort: Effort) -> Iterator[Change]:
    key = f"{direction}Schema"
    before, after = old.fields.get(key), new.fields.get(key)
    if same_json(before, after):
        return
    if direction == "output" and (before is None or after is None):
        if before is None:
            yield _change("output-schema-added", False, "describes its result now", new, f"/{key}")
        else:
            message = "does not describe its result any more"
            yield _change("output-schema-removed", True, message, old, f"/{key}", is_old=True)
        return
    before, after = (_EMPTY_INPUT if schema is None else {} if schema is True else schema for schema in (before, after))
    if not isinstance(before, dict) or not isinstance(after, dict):
        message = f"`{key}` was {kind_of(before)} and is {kind_of(after)}"
        yield _change("constraint-changed", None, message, new, new.pointer_to(key))
        return
    for found in compare_schemas(before, after, direction, effort):
        item, pointer = (old, found.pointer) if found.is_old else (new, found.pointer if key in new.fields else "")
        yield Change(KINDS[found.kind], found.breaking, found.message, item, found.is_old, pointer, found.parameter)


# Resources, templates and prompts


def _resource_changes(old: Catalog, new: Catalog) -> Iterator[Change]:
    if old.server.fields and new.server.fields:
        yield from _listed_changes("resources", "resource", "uri", (old, old.resources), (new, new.resources))


def _template_changes(old: Catalog, new: Catalog) -> Iterator[Change]:
    if old.server.fields and new.server.fields:
        lists = (old, old.templates), (new, new.templates)
        yield from _listed_changes("resourceTemplates", "template", "uriTemplate", *lists)


def _prompt_changes(old: Catalog, new: Catalog) -> Iterator[Change]:
    if old.server.fields and new.server.fields:
        yield from _listed_changes("prompts", "prompt", "name", (old, old.prompts), (new, new.prompts))


Listed = tuple["Catalog", "Sequence[Item]"]


def _listed_changes(list_name: str, word: str, key: str, old: Listed, new: Listed) -> Iterator[Change]:
    """What changed in a list of a capture. A bare list of tools says nothing about the others, so it is not asked."""
    matches = _match(old[1], new[1], key)
    is_listed = isinstance(new[0].server.fields.get(list_name), list)
    for before, after in matches.new:
        if before is None:
            yield _change(f"{word}-added", False, "was added", after)
        elif not same_json(before.raw, after.raw):
            yield from _text_changes(before, after)
            if word == "prompt":
                yield from _argument_changes(before, after)
                yield from _other_changes(before, after, _PROMPT_MEMBERS)
            else:
                yield from _type_changes(before, after)
                yield from _other_changes(before, after, _RESOURCE_MEMBERS)
    for item in matches.removed:
        doubt = _doubtful_removal(item, new[0])
        if doubt is None and not is_listed:
            doubt = f"is gone: the new catalog has no `{list_name}` at all"
        yield _change(f"{word}-removed", True if doubt is None else None, doubt or "was removed", item, is_old=True)


def _type_changes(old: Item, new: Item) -> Iterator[Change]:
    before, after = (_text(item.fields.get("mimeType")) for item in (old, new))
    if before != after:
        breaking = (True if after else None) if before else False
        yield _change("mime-type-changed", breaking, told("type", before, after), new, new.pointer_to("mimeType"))


class _Argument(NamedTuple):
    """An argument of a prompt, and where it stands."""

    fields: dict[str, Any]
    pointer: str

    @property
    def is_required(self) -> bool:
        return self.fields.get("required") is True


def _argument_changes(old: Item, new: Item) -> Iterator[Change]:
    before, after = _arguments(old), _arguments(new)
    for name, argument in after.items():
        kind, breaking, message = "", False, ""
        is_required = argument.is_required
        if name not in before:
            kind = "prompt-argument-required" if is_required else "prompt-argument-added"
            breaking, message = is_required, f"`{name}` was added" + (", and is required" if is_required else "")
        elif before[name].is_required != is_required:
            state = "required" if is_required else "optional"
            kind, breaking, message = f"prompt-argument-{state}", is_required, f"`{name}` became {state}"
        if kind:
            yield Change(KINDS[kind], breaking, message, new, False, argument.pointer, name)
        if name in before:
            others = [key for key in _changed(before[name].fields, argument.fields) if key != "required"]
            if others:
                message = f"{quoted(others)} of `{name}` changed"
                yield Change(KINDS["description-changed"], False, message, new, False, argument.pointer, name)
    for name, argument in before.items():
        if name not in after:
            message = f"`{name}` was removed"
            yield Change(KINDS["prompt-argument-removed"], True, message, old, True, argument.pointer, name)


def _arguments(prompt: Item) -> dict[str, _Argument]:
    """The arguments of a prompt; of several with one name the first."""
    listed = prompt.fields.get("arguments")
    found: dict[str, _Argument] = {}
    for at, argument in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(argument, dict) and isinstance(argument.get("name"), str):
            found.setdefault(argument["name"], _Argument(argument, f"/arguments/{at}"))
    return found


# The server


def _server_changes(old: Catalog, new: Catalog) -> Iterator[Change]:
    pointer = new.server_info_pointer.removeprefix(new.server.pointer)
    for key in ("name", "version"):
        if not (old.knows_server_info(key) and new.knows_server_info(key)):
            continue
        before, after = (_text(catalog.server_info.get(key)) for catalog in (old, new))
        if before != after:
            at = f"{pointer}/{key}" if key in new.server_info else pointer
            yield _change(f"server-{key}-changed", False, told(key, before, after), new.server, at)
    yield from _introduction_changes(old, new)
    if not (old.describes_server and new.describes_server):
        return
    offered_before, offered = _capabilities(old), _capabilities(new)
    for name, at in offered.items():
        if name not in offered_before:
            yield _change("capability-added", False, f"offers `{name}` now", new.server, at)
    for name, at in offered_before.items():
        if name not in offered:
            message = f"does not offer `{name}` any more"
            yield _change("capability-removed", None, message, old.server, at, is_old=True)


def _introduction_changes(old: Catalog, new: Catalog) -> Iterator[Change]:
    """What a server says about itself before it lists anything."""
    before, after = _instructions(old), _instructions(new)
    is_told = all(catalog.describes_server or text for catalog, (text, _) in ((old, before), (new, after)))
    if is_told and before[0] != after[0]:
        message = told("text of the instructions", before[0], after[0])
        yield _change("instructions-changed", False, message, new.server, after[1])
    if old.protocol and new.protocol and old.protocol != new.protocol:
        handshake = new.server.fields.get("initialize")
        is_written = isinstance(handshake, dict) and "protocolVersion" in handshake
        pointer = "/initialize/protocolVersion" if is_written else ""
        message = told("protocol revision", old.protocol, new.protocol)
        yield _change("protocol-changed", None, message, new.server, pointer)


def _instructions(catalog: Catalog) -> tuple[str, str]:
    """What a server tells agents about itself, and where."""
    for era in ("initialize", "discover"):
        answer = catalog.server.fields.get(era)
        if isinstance(answer, dict) and (text := _text(answer.get("instructions"))):
            return text, f"/{era}/instructions"
    return "", ""


def _capabilities(catalog: Catalog) -> dict[str, str]:
    """What a server says that it can do, as `tools` or `resources.subscribe`, with the place where it says so."""
    found: dict[str, str] = {}
    for era in ("initialize", "discover"):
        answer = catalog.server.fields.get(era)
        offered = answer.get("capabilities") if isinstance(answer, dict) else None
        for name, details in (offered if isinstance(offered, dict) else {}).items():
            if details is None or details is False:
                continue
            pointer = f"/{era}/capabilities/{escape(name)}"
            found.setdefault(name, pointer)
            for detail, value in (details if isinstance(details, dict) else {}).items():
                if value is not None and value is not False:
                    found.setdefault(f"{name}.{detail}", f"{pointer}/{escape(detail)}")
    return found
