"""How a catalog differs from its lock or an earlier capture: the observation that the drift rules judge.

Hashes decide what changed, so every difference counts. Where `schemas` knows what a change means for callers, its
words are used. Differences of texts are shown as lines, and may make rules about poisoned texts fire anew.
Why the lock has texts: docs/decisions/0044-lock-has-texts.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from mcproof.checks.diff.changes import CatalogChange, match_items
from mcproof.checks.diff.documents import changed_keys
from mcproof.checks.diff.items import compare_catalogs, instructions_in
from mcproof.checks.diff.kinds import names_text
from mcproof.checks.diff.lock import OTHER, PARTS, fingerprint, hash_of, item_hash, known_parts, parts_of, server_name
from mcproof.checks.subjects import CatalogDrift, Difference, DriftKind
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog, Item


POISONING = "TRU-1"
"""The prefix of the ids of these rules."""


def newly_fired(new: Catalog, old: Catalog, differences: list[Difference]) -> list[Difference]:
    """Return differences with the ids of the rules that newly fire on them."""
    from mcproof.checks.engine import check
    from mcproof.checks.rule import rules_of

    rules = [rule for rule in rules_of("trust") if rule.id.startswith(POISONING) and rule.severity != "info"]
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
    except (RecursionError, ValueError):
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
    def _changes(self) -> dict[int, list[CatalogChange]]:
        by_item: dict[int, list[CatalogChange]] = {}
        for change in compare_catalogs(*self._catalogs):
            by_item.setdefault(id(change.item), []).append(change)
        return by_item

    def about(self, item: Item, part: str) -> str:
        """Return the first few changes of a schema; empty for other parts."""
        changes = self._changes.get(id(item), ()) if part in _SCHEMAS else ()
        messages = [change.message for change in changes if change.pointer.startswith(f"/{part}")]
        more = f" and {len(messages) - _MOST_REASONS:,} more" if len(messages) > _MOST_REASONS else ""
        return f"{'; '.join(messages[:_MOST_REASONS])}{more}"
