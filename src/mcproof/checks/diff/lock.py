"""The lock, `mcproof.lock`: the surface of servers as it was reviewed; and how a catalog differs from it.

`Lock` reads and writes the file; `locked_entry` is what it has of a server. A hash is of the canonical JSON text:
the order of members and items does not matter. A lock has no secrets, and does not depend on the time, the machine
or the order of lists. Which targets are locked is decided in `runs.diff`.
Drift, from a lock or an earlier capture, is the observation that the drift rules judge. Hashes decide what changed,
so every difference counts; where `schemas` knows what a change means for callers, its words are used.
Why the lock has texts: docs/decisions/0044-lock-has-texts.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from mcproof.checks.diff.changes import CatalogChange, match_items, names_text
from mcproof.checks.diff.documents import changed_keys
from mcproof.checks.diff.items import compare_catalogs, instructions_in
from mcproof.checks.subjects import CatalogDrift, Difference, DriftKind
from mcproof.core.catalog.model import Catalog, Item, Prompt, Resource, ResourceTemplate, Server, Tool
from mcproof.core.errors import InputError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_document import JsonText
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding


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
        except FileNotFoundError:  # nothing was locked yet
            return None
        except OSError as error:
            raise InputError(f"cannot be read: {reason_of(error)}", file=file) from None
        except UnicodeDecodeError:
            raise InputError("not a lock: not UTF-8", file=file) from None
        if len(text) > LARGEST:
            raise InputError(f"not a lock: larger than {LARGEST:,} characters", file=file)
        document = JsonText.parse(text, file)
        # Of two members the last one counts, which is not the one that a reviewer sees first.
        for _, key, span in document.duplicate_keys()[:1]:
            line = document.text.count("\n", 0, span.start) + 1
            raise InputError(f"not a lock: `{key}` is there twice in one object", file=file, line=line)
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


POISONING = "TRU-1"
"""The prefix of the ids of these rules."""


def newly_fired(new: Catalog, old: Catalog, differences: list[Difference]) -> list[Difference]:
    """Return differences with the ids of the rules that newly fire on them."""
    from mcproof.checks.engine import check
    from mcproof.checks.rule import rules_of

    # A judgement of a sentence never blocks alone, so only rules that are certain count: those of `lint`.
    rules = [
        rule
        for rule in rules_of("trust")
        if rule.id.startswith(POISONING) and rule.severity != "info" and rule.traits.in_lint
    ]
    if not rules:
        return differences
    reported_before = {report[:3] for finding in check(old, rules) for report in _reports(finding)}
    fired: dict[str, list[tuple[str, str]]] = {}
    for finding in check(new, rules):
        for item, rule, message, pointer in _reports(finding):
            if (item, rule, message) not in reported_before:
                fired.setdefault(item, []).append((rule, pointer))
    judged = []
    for difference in differences:
        hits = fired.get(difference.item.label, ()) if difference.current_hash is not None else ()
        part = f"/{difference.part}" if difference.part in PARTS else ""
        fires = {rule for rule, pointer in hits if not pointer or pointer.startswith(part)}
        judged.append(difference._replace(fires=tuple(sorted(fires))))
    return judged


def _reports(finding: Finding) -> Iterator[tuple[str, str, str, str]]:
    """Yield item, rule, message and pointer for each item that a finding concerns; a text may be in several.

    The pointer is that of the first item, and empty for the others.
    """
    # The list of further items is cut off: it changes with every item that has the same text.
    rule, message = finding.rule.id, finding.message.partition(" (also in ")[0]
    yield finding.item.label, rule, message, finding.pointer
    evidence: dict[str, Any] = finding.evidence or {}
    subjects = [subject.partition(":")[2] for subject in _texts(evidence.get("items"))]
    for name in {*_texts(evidence.get("tools")), *subjects} - {finding.item.label, ""}:
        yield name, rule, message, ""


def _texts(value: Any) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


MOST_PLACES = 20
"""How many changed places of a JSON value are shown."""
LONGEST = 2_000
"""How many characters of a changed text are shown."""
_CONTEXT = 40
ABSENT = object()
"""Stands for a member that is not there; null is a value."""


def difference(before: Any, after: Any) -> list[str]:
    """Return what changed between two JSON values; None stands for an absent one."""
    if isinstance(before, str | None) and isinstance(after, str | None):
        return text_difference(before, after)
    lines: list[str] = []
    places = 0
    for pointer, old, new in changed_places(before, after):
        places += 1
        if places <= MOST_PLACES:
            lines += [f"- {pointer}: {_shown(old)}"] if old is not ABSENT else []
            lines += [f"+ {pointer}: {_shown(new)}"] if new is not ABSENT else []
    if places > MOST_PLACES:
        lines.append(f"… {places - MOST_PLACES:,} more")
    return lines


def text_difference(before: str | None, after: str | None) -> list[str]:
    """Return the part of two texts that differs, with a little of what surrounds it."""
    old, new = before or "", after or ""
    start = _common(old, new)
    # The common end must not reach into the common start, as it would for `aa` and `aaa`.
    end = _common(old[start:][::-1], new[start:][::-1])
    first = max(0, start - _CONTEXT)
    lines = []
    for sign, text, is_there in (("-", old, before is not None), ("+", new, after is not None)):
        if is_there:
            last = min(len(text), len(text) - end + _CONTEXT)
            lines.append(f"{sign} {'…' if first else ''}{_cropped(text[first:last])}{'…' if last < len(text) else ''}")
    return lines


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def changed_places(before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the pointer and both values of each changed place, in the order of the new value; not recursive."""
    waiting = [("", ABSENT if before is None else before, ABSENT if after is None else after)]
    while waiting:
        pointer, old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            keys = reversed({**new, **old})  # the last entry of a stack is the next
            waiting += [(f"{pointer}/{escape(key)}", old.get(key, ABSENT), new.get(key, ABSENT)) for key in keys]
        elif isinstance(old, list) and isinstance(new, list):
            entries = enumerate(zip_longest(old, new, fillvalue=ABSENT))
            waiting += reversed([(f"{pointer}/{index}", *pair) for index, pair in entries])
        elif type(old) is not type(new) or old != new:
            yield pointer, old, new


def _shown(value: Any) -> str:
    try:
        return _cropped(json.dumps(value, ensure_ascii=False))
    except (RecursionError, ValueError):  # nested too deep to be written
        return "…"


def _cropped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more characters)"


_SCHEMAS = {"inputSchema": "input schema", "outputSchema": "output schema"}
_KIND_OF_PART: dict[str, DriftKind] = {"description": "description", **dict.fromkeys(_SCHEMAS, "schema")}
_MOST_REASONS = 3
_LONGEST_QUOTE = 160


def drift_against(catalog: Catalog, earlier: Catalog) -> CatalogDrift:
    """Return how a catalog differs from an earlier version of it.

    Only what both catalogs have is compared: a bare list of tools has no instructions and no other items.
    """
    parts = known_parts(catalog) & known_parts(earlier)
    differences = [*_server_differences(catalog, earlier, parts), *_item_differences(catalog, earlier, parts)]
    if differences:
        differences = newly_fired(catalog, earlier, differences)
    prior, current = fingerprint(earlier, parts), fingerprint(catalog, parts)
    return CatalogDrift(reference=earlier.name, differences=differences, prior_hash=prior, current_hash=current)


def _server_differences(new: Catalog, old: Catalog, parts: frozenset[str]) -> Iterator[Difference]:
    """Yield changes of the server's name and instructions."""
    (before, _), (after, pointer) = instructions_in(old), instructions_in(new)
    if "instructions" in parts and before != after:
        yield _changed("other", new.server, "instructions", before or None, after or None, pointer=pointer)
    before, after = server_name(old), server_name(new)
    if "name" in parts and before != after:
        pointer = new.server_info_pointer.removeprefix(new.server.pointer)
        yield _changed("other", new.server, "server name", before or None, after or None, pointer=pointer)


def _item_differences(new: Catalog, old: Catalog, parts: frozenset[str]) -> Iterator[Difference]:
    """Yield the differences of tools and, if both catalogs have them, of other items: whole items, or their parts."""
    reasons = _Reasons(old, new)
    lists: list[tuple[str, str, Sequence[Item], Sequence[Item]]] = [("tool", "name", old.tools, new.tools)]
    if "items" in parts:
        lists.append(("resource", "uri", old.resources, new.resources))
        lists.append(("template", "uriTemplate", old.templates, new.templates))
        lists.append(("prompt", "name", old.prompts, new.prompts))
    for noun, key, before, after in lists:
        matches = match_items(before, after, key)
        for earlier, item in matches.new:
            if earlier is None:
                yield _whole("new-tool" if noun == "tool" else "other", item, f"is a new {noun}", is_new=True)
            elif item_hash(earlier) != item_hash(item):
                yield from _part_differences(earlier, item, reasons)
        for item in matches.removed:
            yield _whole("removed-tool" if noun == "tool" else "other", item, "was removed", is_new=False)


def _part_differences(before: Item, after: Item, reasons: _Reasons) -> Iterator[Difference]:
    """Yield one difference for each part that changed."""
    old, new = parts_of(before), parts_of(after)
    if before.name != after.name:  # a resource, which its URI identifies
        yield _changed("other", after, "name", before.name or None, after.name or None)
    for part in (*PARTS, OTHER):
        if part not in old and part not in new:
            continue
        if part in old and part in new and hash_of(old[part]) == hash_of(new[part]):
            continue
        kind = _KIND_OF_PART.get(part, "other") if after.kind == "tool" else "other"
        yield _changed(kind, after, part, old.get(part), new.get(part), detail=reasons.about(after, part))


def _changed(
    kind: DriftKind, item: Item, part: str, before: Any, after: Any, *, pointer: str | None = None, detail: str = ""
) -> Difference:
    """Return the difference of a part; None stands for an absent one."""
    happened = "changed" if before is not None and after is not None else "removed" if after is None else "added"
    return Difference(
        kind=kind,
        item=item,
        part=part,
        summary=f"{_SCHEMAS.get(part, part) if part != OTHER else _changed_members(before, after)} {happened}",
        detail=": ".join(filter(None, (detail, _quoted(before, after)))),
        pointer=item.pointer_to(part) if pointer is None else pointer,
        prior_hash=None if before is None else hash_of(before),
        current_hash=None if after is None else hash_of(after),
        lines=difference(before, after),
    )


def _whole(kind: DriftKind, item: Item, summary: str, *, is_new: bool) -> Difference:
    """Return the difference of an item that was added or removed."""
    old, new = (None, item.raw) if is_new else (item.raw, None)
    return Difference(
        kind=kind,
        item=item,
        part="",
        summary=summary,
        detail="",
        pointer="",
        prior_hash=None if is_new else item_hash(item),
        current_hash=item_hash(item) if is_new else None,
        lines=difference(_reviewed(old), _reviewed(new)),
    )


def _reviewed(raw: Any) -> Any:
    """Return what a reviewer reads first of a whole item: its description; the item itself if it has none."""
    return raw["description"] if isinstance(raw, dict) and isinstance(raw.get("description"), str) else raw


def _quoted(before: Any, after: Any) -> str:
    """Return the differing parts of two texts on one line; empty unless exactly one text changed."""
    if not isinstance(before, str | None) or not isinstance(after, str | None):
        places = list(islice(changed_places(before, after), 2))
        texts = [None if value is ABSENT else value for value in places[0][1:]] if len(places) == 1 else []
        return _quoted(*texts) if texts and all(isinstance(text, str | None) for text in texts) else ""
    shown = [" ".join(line[2:].split()) for line in difference(before, after)]
    cropped = [text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…" for text in shown]
    return " → ".join(f'"{text}"' for text in cropped)


def _changed_members(before: Any, after: Any) -> str:
    """Return the names of the members that differ between two versions of the part for the others."""
    if not isinstance(before, dict | None) or not isinstance(after, dict | None):
        return "definition"
    return names_text(changed_keys(before or {}, after or {})[:_MOST_REASONS])


class _Reasons:
    """What changes of schemas mean for callers, computed only if there is one."""

    def __init__(self, old: Catalog, new: Catalog) -> None:
        self._catalogs = old, new

    @cached_property
    def _changes(self) -> dict[str, list[CatalogChange]]:
        # By subject, as what was removed belongs to the item of the old catalog; it comes first, as in a rename.
        by_item: dict[str, list[CatalogChange]] = {}
        for change in sorted(compare_catalogs(*self._catalogs), key=lambda change: not change.is_old):
            by_item.setdefault(change.item.subject, []).append(change)
        return by_item

    def about(self, item: Item, part: str) -> str:
        """Return the first few changes of a schema; empty for other parts."""
        changes = self._changes.get(item.subject, ()) if part in _SCHEMAS else ()
        messages = [change.message for change in changes if change.pointer.startswith(f"/{part}")]
        more = f" and {len(messages) - _MOST_REASONS:,} more" if len(messages) > _MOST_REASONS else ""
        return f"{'; '.join(messages[:_MOST_REASONS])}{more}"
