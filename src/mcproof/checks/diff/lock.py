"""The lock, `mcproof.lock`: the surface of servers as it was reviewed, with texts and hashes.

`Lock` reads and writes the file; `locked_entry` is what it has of a server. A hash is of the canonical JSON text:
the order of members and items does not matter. A lock has no secrets, and does not depend on the time, the machine
or the order of lists. Which targets are locked is decided in `runs.diff`.
Why the lock has texts: docs/decisions/0044-lock-has-texts.md.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from mcproof.checks.diff.items import instructions_in
from mcproof.core.catalog.model import Catalog, Item, Prompt, Resource, ResourceTemplate, Server, Tool
from mcproof.core.errors import InputError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_document import JsonText
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


OTHER = "other"
"""The part of an item that has all members without a part of their own."""
PARTS = ("description", "title", "inputSchema", "outputSchema", "annotations")
"""The members of an item that are hashed on their own, so that drift can be named."""
_LARGEST_FLOAT = 1.7976931348623157e308


def hash_of(value: Any) -> str:
    """Return the hash of a JSON value."""
    return f"sha256:{sha256(_canonical(value).encode('ascii')).hexdigest()}"


def _canonical(value: Any) -> str:
    """Return the canonical JSON text of a value: sorted members, no whitespace, ASCII."""
    try:
        try:
            return _compact(value)
        except ValueError:  # a number that is too large for a float
            return _compact(finite(value))
    except RecursionError:
        raise InputError("nested too deeply to hash") from None


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def finite(value: Any) -> Any:
    """Return a copy of a JSON value with infinite numbers replaced by the largest finite ones."""
    if isinstance(value, dict):
        return {key: finite(member) for key, member in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    # JSON has no infinity, but Python reads `1e999` as one.
    return max(-_LARGEST_FLOAT, min(value, _LARGEST_FLOAT)) if isinstance(value, float) else value


def parts_of(item: Item) -> dict[str, Any]:
    """Return the parts of an item that are there, by name; the name of the item is in none of them."""
    if not item.is_object:
        return {OTHER: item.raw}
    parts = {key: item.fields[key] for key in PARTS if key in item.fields}
    rest = {key: value for key, value in item.fields.items() if key not in PARTS and key != "name"}
    return {**parts, OTHER: rest} if rest else parts


def part_hashes(item: Item) -> dict[str, str]:
    """Return the hash of each part of an item."""
    return {name: hash_of(value) for name, value in parts_of(item).items()}


def item_hash(item: Item) -> str:
    """Return the hash of an item with its name."""
    return hash_of(item.raw)


def known_parts(catalog: Catalog) -> frozenset[str]:
    """Return what a catalog has of a server: `tools`, other `items`, the `name`, the `instructions`.

    A bare list of tools has nothing else, and source code leaves some of it to the framework.
    """
    parts = {"tools"}
    if catalog.server.raw:
        parts.add("items")
    if catalog.knows_server_info("name"):
        parts.add("name")
    if catalog.describes_server or instructions_in(catalog)[0]:
        parts.add("instructions")
    return frozenset(parts)


def server_name(catalog: Catalog) -> str:
    """Return the name that a server reports; empty if there is none."""
    name = catalog.server_info.get("name")
    return name if isinstance(name, str) else ""


def fingerprint(catalog: Catalog, parts: frozenset[str]) -> str:
    """Return the hash of what a catalog offers, as far as it is in these parts.

    The version of the server is not part of it: a new version with the same surface needs no new review.
    """
    lists: list[Sequence[Item]] = [catalog.tools]
    lists += [catalog.resources, catalog.templates, catalog.prompts] if "items" in parts else []
    name = server_name(catalog) if "name" in parts else None
    instructions = instructions_in(catalog)[0] if "instructions" in parts else None
    return hash_of([name, instructions, *(sorted(map(item_hash, items)) for items in lists)])


LOCK = "mcproof.lock"
KIND = "lock"
LIVE = "live"
"""The kind of an entry that was read from a live server."""
LOCK_VERSION = 1
LARGEST = 1 << 28
"""The most characters read, in case the file is endless."""
_LISTS: dict[str, type[Item]] = {
    "tools": Tool,
    "resources": Resource,
    "resourceTemplates": ResourceTemplate,
    "prompts": Prompt,
}


class ReadFrom(NamedTuple):
    """How a catalog was read when it was locked: information for people, not compared."""

    kind: str
    """`snapshot`, `source` or `live`."""
    transport: str | None = None
    era: str | None = None
    protocol: str | None = None
    frameworks: tuple[str, ...] = ()
    """The frameworks that the server may be written with, as far as they can be recognised."""


class Lock:
    """The locked targets of one file."""

    def __init__(self, file: str, entries: Mapping[str, Any], document: JsonText | None = None) -> None:
        self.file = file
        self.entries = dict(entries)
        """The raw entries, by the names of the targets."""
        self._document = document or JsonText("{}", {})

    @classmethod
    def read(cls, file: str) -> Lock | None:
        """Read a lock; None if there is no such file. Raises an InputError if it cannot be read or is not a lock."""
        try:
            with open(file, encoding="utf-8") as stream:
                text = stream.read(LARGEST + 1)  # one more shows that there is more
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"cannot be read: {reason_of(error)}", file=file) from None
        except UnicodeDecodeError:
            raise InputError("not a lock: not UTF-8", file=file) from None
        if len(text) > LARGEST:
            raise InputError(f"not a lock: larger than {LARGEST:,} characters", file=file)
        document = JsonText.parse(text, file)
        return cls(file, _entries(document.value, file), document)

    def catalog(self, target: str) -> Catalog | None:
        """Return the catalog of a target as it was locked; None if the lock does not have it.

        Raises an InputError if a hash does not belong to its text, as after a bad merge.
        """
        if target not in self.entries:
            return None
        entry = self.entries[target]
        catalog = _catalog(entry, f"/targets/{escape(target)}", self.file, self._document)
        if fingerprint_of(catalog) != entry["hash"]:
            raise InputError(
                f"the hash of `{target}` does not match its texts; `mcproof lock` writes the lock again", file=self.file
            )
        return catalog

    def text(self) -> str:
        """Return the lock as it is written to its file."""
        targets = {name: self.entries[name] for name in sorted(self.entries)}
        document = {"schema_version": LOCK_VERSION, "kind": KIND, "targets": targets}
        try:
            # In ASCII, so that invisible characters of a hostile server are seen in review:
            # docs/decisions/0044-lock-has-texts.md.
            return json.dumps(document, indent=2) + "\n"
        except RecursionError:
            raise InputError("nested too deeply to lock", file=self.file) from None


def fingerprint_of(catalog: Catalog) -> str:
    """Return the hash of all that a catalog has of a server."""
    return fingerprint(catalog, known_parts(catalog))


def locked_entry(catalog: Catalog, read_from: ReadFrom) -> dict[str, Any]:
    """Return the entry of a catalog. What the input does not have is null."""
    is_bare = "items" not in known_parts(catalog)
    info, instructions = catalog.server_info, instructions_in(catalog)[0]
    lists: dict[str, Sequence[Item]] = {
        "tools": catalog.tools,
        "resources": catalog.resources,
        "resourceTemplates": catalog.templates,
        "prompts": catalog.prompts,
    }
    named = {key: info[key] for key in ("name", "version") if isinstance(info.get(key), str)}
    return {
        "hash": fingerprint_of(catalog),
        "server": named if catalog.describes_server or named else None,
        "describes_server": catalog.describes_server,
        "read_from": {**read_from._asdict(), "frameworks": list(read_from.frameworks)},
        "instructions": {"hash": hash_of(instructions), "text": instructions} if instructions else None,
        **{
            key: None if is_bare and key != "tools" else [_locked_item(item) for item in _sorted(items)]
            for key, items in lists.items()
        },
    }


def _sorted(items: Iterable[Item]) -> list[Item]:
    """Return items in an order that does not depend on the server: by name, then by hash."""
    return sorted(items, key=lambda item: (item.given_name, item_hash(item)))


def _locked_item(item: Item) -> dict[str, Any]:
    try:
        return {"hash": item_hash(item), "parts": part_hashes(item), "item": finite(item.raw)}
    except RecursionError:
        raise InputError(f"{item.subject} is nested too deeply to lock") from None


def _catalog(entry: Any, pointer: str, file: str, document: JsonText) -> Catalog:
    """Return the catalog of an entry; its items have their pointers in the lock."""
    lists = {
        key: [
            make(locked_item["item"], f"{pointer}/{key}/{index}/item", index)
            for index, locked_item in enumerate(entry[key] or ())
        ]
        for key, make in _LISTS.items()
    }
    is_bare = entry["resources"] is None
    described: dict[str, Any] = {"serverInfo": entry["server"] or {}}
    if entry["instructions"] is not None:
        described["instructions"] = entry["instructions"]["text"]
    server = Server({} if is_bare else {"initialize": described}, "")
    return Catalog(
        file,
        document,
        tools=[tool for tool in lists["tools"] if isinstance(tool, Tool)],
        resources=[resource for resource in lists["resources"] if isinstance(resource, Resource)],
        templates=[template for template in lists["resourceTemplates"] if isinstance(template, ResourceTemplate)],
        prompts=[prompt for prompt in lists["prompts"] if isinstance(prompt, Prompt)],
        server=server,
        describes_server=entry["describes_server"],
    )


def _entries(value: Any, file: str) -> dict[str, Any]:
    """Return the entries of a lock. Raises an InputError if the value is not one."""
    if not isinstance(value, dict) or value.get("kind") != KIND or not isinstance(value.get("targets"), dict):
        raise InputError("not a lock of mcproof", file=file)
    version = value.get("schema_version")
    if version != LOCK_VERSION:
        raise InputError(f"has version {version!r} of the format; this mcproof reads {LOCK_VERSION}", file=file)
    for name, entry in value["targets"].items():
        if not _is_entry(entry):
            raise InputError(f"the entry of `{name}` is malformed; delete it, then run `mcproof lock`", file=file)
    entries: dict[str, Any] = value["targets"]
    return entries


def _is_entry(entry: Any) -> bool:
    """Whether an entry has the members that are used."""
    if not isinstance(entry, dict) or not isinstance(entry.get("hash"), str):
        return False
    if not isinstance(entry.get("describes_server"), bool) or not isinstance(entry.get("tools"), list):
        return False
    texts = entry.get("instructions")
    if texts is not None and not (isinstance(texts, dict) and isinstance(texts.get("text"), str)):
        return False
    read_from = entry.get("read_from")
    if not _is_server(entry.get("server")) or not isinstance(read_from, dict) or "kind" not in read_from:
        return False
    lists = [entry.get(key) for key in _LISTS]
    return all(
        items is None or (isinstance(items, list) and all(isinstance(item, dict) and "item" in item for item in items))
        for items in lists
    )


def _is_server(value: Any) -> bool:
    """Whether a value is the name and version of a server, each of which may be missing."""
    if value is None:
        return True
    return isinstance(value, dict) and all(isinstance(value.get(key, ""), str) for key in ("name", "version"))


def locked_name(name: str, origin_file: str | None) -> str:
    """Return the name of a target in a lock: a path from the folder of the lock, or a server as it is shown.

    `origin_file` is the client configuration of a server, whose name is `FILE#NAME`.
    """
    if origin_file is not None:
        return f"{_relative(origin_file)}{name.removeprefix(origin_file)}"
    return _relative(name)


def _relative(path: str) -> str:
    way = os.path.relpath(path)
    return way.replace(os.sep, "/")  # the same lock on every system
