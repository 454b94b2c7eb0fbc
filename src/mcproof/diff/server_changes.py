"""Changes of the server itself: name, version, instructions, protocol revision, capabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.text.json_positions import escape
from mcproof.diff.change_wording import text_change
from mcproof.diff.changes import CatalogChange
from mcproof.diff.item_changes import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog


def server_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    """Yield the changes of the server."""
    yield from _identity_changes(old, new)
    yield from _instructions_changes(old, new)
    yield from _protocol_changes(old, new)
    if old.describes_server and new.describes_server:
        yield from _capability_changes(old, new)


def _identity_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    pointer = new.server_info_pointer.removeprefix(new.server.pointer)
    for key in ("name", "version"):
        if not (old.knows_server_info(key) and new.knows_server_info(key)):
            continue
        before, after = (as_text(catalog.server_info.get(key)) for catalog in (old, new))
        if before != after:
            at = f"{pointer}/{key}" if key in new.server_info else pointer
            message = text_change(key, before, after)
            yield CatalogChange.of(f"server-{key}-changed", False, message, new.server, at)


def _instructions_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    (before, _), (after, pointer) = instructions_in(old), instructions_in(new)
    is_known = all(catalog.describes_server or text for catalog, text in ((old, before), (new, after)))
    if is_known and before != after:
        message = text_change("text of the instructions", before, after)
        yield CatalogChange.of("instructions-changed", False, message, new.server, pointer)


def instructions_in(catalog: Catalog) -> tuple[str, str]:
    """The instructions of a server and their pointer; both empty if it has none."""
    for era in ("initialize", "discover"):
        result = catalog.server.fields.get(era)
        if isinstance(result, dict) and (text := as_text(result.get("instructions"))):
            return text, f"/{era}/instructions"
    return "", ""


def _protocol_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    if old.protocol and new.protocol and old.protocol != new.protocol:
        result = new.server.fields.get("initialize")
        is_written = isinstance(result, dict) and "protocolVersion" in result
        pointer = "/initialize/protocolVersion" if is_written else ""
        message = text_change("protocol revision", old.protocol, new.protocol)
        yield CatalogChange.of("protocol-changed", None, message, new.server, pointer)


def _capability_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    before, after = _capabilities(old), _capabilities(new)
    for name, pointer in after.items():
        if name not in before:
            yield CatalogChange.of("capability-added", False, f"offers `{name}` now", new.server, pointer)
    for name, pointer in before.items():
        if name not in after:
            message = f"does not offer `{name}` any more"
            yield CatalogChange.of("capability-removed", None, message, old.server, pointer, is_old=True)


def _capabilities(catalog: Catalog) -> dict[str, str]:
    """The capabilities of a server, as `tools` or `resources.subscribe`, with their pointers."""
    found: dict[str, str] = {}
    for era in ("initialize", "discover"):
        result = catalog.server.fields.get(era)
        offered = result.get("capabilities") if isinstance(result, dict) else None
        for name, details in (offered if isinstance(offered, dict) else {}).items():
            if details is None or details is False:
                continue
            pointer = f"/{era}/capabilities/{escape(name)}"
            found.setdefault(name, pointer)
            for detail, value in (details if isinstance(details, dict) else {}).items():
                if value is not None and value is not False:
                    found.setdefault(f"{name}.{detail}", f"{pointer}/{escape(detail)}")
    return found
