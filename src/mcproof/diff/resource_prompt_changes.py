"""Changes of resources, resource templates and prompts.

Only captures contain these lists; a bare list of tools does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.diff.change_wording import names_text, text_change
from mcproof.diff.changes import CatalogChange
from mcproof.diff.equality import changed_keys, same_json
from mcproof.diff.item_changes import as_text, member_changes, removal_doubt, text_changes
from mcproof.diff.item_matching import match_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcproof.core.catalog.model import Catalog, Item

_RESOURCE_MEMBERS = frozenset({"uri", "uriTemplate", "title", "description", "mimeType"})
_PROMPT_MEMBERS = frozenset({"name", "title", "description", "arguments"})


def resource_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    """Yield the changes of all resources."""
    if old.server.fields and new.server.fields:
        yield from _list_changes(new, "resource", "uri", old.resources, new.resources, _changes_of_resource)


def template_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    """Yield the changes of all resource templates."""
    if old.server.fields and new.server.fields:
        yield from _list_changes(new, "template", "uriTemplate", old.templates, new.templates, _changes_of_resource)


def prompt_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    """Yield the changes of all prompts."""
    if old.server.fields and new.server.fields:
        yield from _list_changes(new, "prompt", "name", old.prompts, new.prompts, _changes_of_prompt)


def _list_changes(
    catalog: Catalog,
    noun: str,
    key: str,
    old: Sequence[Item],
    new: Sequence[Item],
    compare: Callable[[Item, Item], Iterator[CatalogChange]],
) -> Iterator[CatalogChange]:
    """Yield the changes of a list of items; `catalog` is the new one."""
    matches = match_items(old, new, key)
    for before, after in matches.new:
        if before is None:
            yield CatalogChange.of(f"{noun}-added", False, "was added", after)
        elif not same_json(before.raw, after.raw):
            yield from text_changes(before, after)
            yield from compare(before, after)
    for item in matches.removed:
        doubt = removal_doubt(item, catalog)
        if doubt is None and not isinstance(catalog.server.fields.get(item.list_key), list):
            doubt = f"is missing: the new catalog has no `{item.list_key}`"
        breaking = True if doubt is None else None
        yield CatalogChange.of(f"{noun}-removed", breaking, doubt or "was removed", item, is_old=True)


def _changes_of_resource(old: Item, new: Item) -> Iterator[CatalogChange]:
    before, after = (as_text(item.fields.get("mimeType")) for item in (old, new))
    if before != after:
        breaking = (True if after else None) if before else False
        message = text_change("type", before, after)
        yield CatalogChange.of("mime-type-changed", breaking, message, new, new.pointer_to("mimeType"))
    yield from member_changes(old, new, _RESOURCE_MEMBERS)


class _PromptArgument(NamedTuple):
    """An argument of a prompt, and its pointer relative to the prompt."""

    fields: dict[str, Any]
    pointer: str

    @property
    def is_required(self) -> bool:
        return self.fields.get("required") is True


def _changes_of_prompt(old: Item, new: Item) -> Iterator[CatalogChange]:
    before, after = _arguments(old), _arguments(new)
    for name, argument in after.items():
        yield from _changes_of_argument(name, before.get(name), argument, new)
    for name, argument in before.items():
        if name not in after:
            yield CatalogChange.of(
                "prompt-argument-removed",
                True,
                f"`{name}` was removed",
                old,
                argument.pointer,
                is_old=True,
                parameter=name,
            )
    yield from member_changes(old, new, _PROMPT_MEMBERS)


def _changes_of_argument(
    name: str, old: _PromptArgument | None, new: _PromptArgument, prompt: Item
) -> Iterator[CatalogChange]:
    is_required = new.is_required
    if old is None:
        kind = "prompt-argument-required" if is_required else "prompt-argument-added"
        message = f"`{name}` was added" + (", and is required" if is_required else "")
        yield CatalogChange.of(kind, is_required, message, prompt, new.pointer, parameter=name)
        return
    if old.is_required != is_required:
        state = "required" if is_required else "optional"
        message = f"`{name}` became {state}"
        yield CatalogChange.of(f"prompt-argument-{state}", is_required, message, prompt, new.pointer, parameter=name)
    others = [key for key in changed_keys(old.fields, new.fields) if key != "required"]
    if others:
        message = f"{names_text(others)} of `{name}` changed"
        yield CatalogChange.of("description-changed", False, message, prompt, new.pointer, parameter=name)


def _arguments(prompt: Item) -> dict[str, _PromptArgument]:
    """The arguments of a prompt; of several with the same name, the first."""
    arguments = prompt.fields.get("arguments")
    found: dict[str, _PromptArgument] = {}
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if isinstance(argument, dict) and isinstance(argument.get("name"), str):
            found.setdefault(argument["name"], _PromptArgument(argument, f"/arguments/{index}"))
    return found
