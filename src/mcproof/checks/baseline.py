"""The baseline: accepted findings, so that only new ones fail.

An entry is identified by its target and its fingerprint, which contains no line number and no list index: moving
tools or reformatting the file changes nothing. The other fields are for people who read the file.
Why identities have no line: docs/decisions/0006-finding-identity.md.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

from mcproof.checks.findings import Finding, fingerprints
from mcproof.checks.ignores import ACCEPTED, Suppression
from mcproof.checks.subjects import NOTHING, Observed
from mcproof.core.errors import InputError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import ItemProbes
from mcproof.core.stored_form import Text, member, record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.checks.rule import Rule
    from mcproof.core.catalog.model import Catalog

SCHEMA_VERSION = 1
KIND = "baseline"
STDIN = "<stdin>"
"""The only target that is neither a file nor a live server."""
LARGEST = 1 << 28
"""The most characters read, in case the file is endless."""
LIVE = "live:"
"""The prefix of live servers' names."""
_MEMBERS = ("target", "rule", "subject", "pointer", "fingerprint")


@record()
class BaselineEntry(NamedTuple):
    """One accepted finding. Target and fingerprint identify it; the rest is for people."""

    target: Text
    """The file, from the folder of the baseline."""
    rule: Text
    """The rule's id."""
    subject: Text
    """The subject."""
    pointer: str
    """The JSON pointer, relative to the item."""
    fingerprint: Annotated[str, member(pattern="^[0-9a-f]{16}$")]
    """Its identity."""

    @property
    def key(self) -> tuple[str, str]:
        return self.target, self.fingerprint


class StaleEntry(NamedTuple):
    """An accepted finding that no longer occurs."""

    entry: BaselineEntry
    line: int


class Baseline:
    """The accepted findings of one baseline file, applied to a run."""

    def __init__(
        self, file: str, entries: Iterable[BaselineEntry] = (), lines: Iterable[int] = (), *, accepts_all: bool = False
    ) -> None:
        self.file = file
        self._accepts_all = accepts_all
        self._entries = {entry.key: (entry, line) for entry, line in zip(entries, lines, strict=True)}
        self._current: dict[tuple[str, str], BaselineEntry] = {}
        self._suppressed_elsewhere: set[tuple[str, str]] = set()
        """Current findings that something else suppresses: neither stale nor accepted."""
        self._judged: set[tuple[str, str]] = set()
        """The targets and rules checked in this run."""
        self._tried: set[tuple[str, str, str]] = set()
        """The targets, rules and subjects that were probed, though perhaps not completely."""

    @classmethod
    def read(cls, file: str, *, accepts_all: bool = False) -> Baseline:
        """Read a baseline. Raises an InputError if the file cannot be read or is not a baseline.

        With `accepts_all` it accepts every finding, because it will be rewritten.
        """
        from mcproof.core.text.json_document import JsonText

        try:
            with open(file, encoding="utf-8-sig") as stream:
                # One more than allowed, so that a file that is too large is noticed.
                text = stream.read(LARGEST + 1)
        except FileNotFoundError:
            raise InputError("no such baseline; `--update-baseline` creates it", file=file) from None
        except OSError as error:
            raise InputError(f"cannot be read: {reason_of(error)}", file=file) from None
        except UnicodeDecodeError:
            raise InputError("not a baseline: not UTF-8", file=file) from None
        if len(text) > LARGEST:
            raise InputError(f"not a baseline: larger than {LARGEST:,} characters", file=file)
        document = JsonText.parse(text, file)
        entries = _entries(document.value, file)
        spans = document.spans([f"/entries/{number}" for number in range(len(entries))])
        offsets = [spans[f"/entries/{number}"].start for number in range(len(entries))]
        lines = [position.line for position in document.positions(offsets)]
        return cls(file, entries, lines, accepts_all=accepts_all)

    def accept(
        self,
        catalog: Catalog,
        findings: list[Finding],
        suppressions: list[Suppression | None],
        running: Iterable[Rule],
        observed: Observed = NOTHING,
    ) -> list[Suppression | None]:
        """Suppress accepted findings that nothing else suppresses, and record all current ones."""
        where = self._known_as(catalog)
        for rule in running:
            if rule.subject is ItemProbes:
                self._tried.update((where, rule.id, probes.item.subject) for probes in observed.of(ItemProbes))
            else:
                self._judged.add((where, rule.id))
        result = list(suppressions)
        for number, (finding, fingerprint) in enumerate(zip(findings, fingerprints(findings), strict=True)):
            entry = BaselineEntry(where, finding.rule.id, finding.item.subject, finding.pointer, fingerprint)
            if suppressions[number] is not None:
                # An ignored finding stays in the baseline: the ignore may go again.
                self._suppressed_elsewhere.add(entry.key)
                continue
            self._current[entry.key] = entry
            if self._accepts_all or entry.key in self._entries:
                _, line = self._entries.get(entry.key, (entry, None))
                result[number] = Suppression(ACCEPTED, None, self.file, line)
        return result

    def stale(self) -> list[StaleEntry]:
        """The entries that no longer occur, although their rule checked their target.

        Entries of probes are never stale: another probe, tool or case may have found them.
        """
        seen = self._current.keys() | self._suppressed_elsewhere
        return [
            StaleEntry(entry, line)
            for key, (entry, line) in self._entries.items()
            if key not in seen and (entry.target, entry.rule) in self._judged
        ]

    def update(self) -> tuple[int, int, int]:
        """Rewrite the file; return the numbers of accepted findings, of new ones among them, and of removed entries.

        Entries that this run did not check are kept, unless their target no longer exists.
        """
        from mcproof.core.text.files import write_file

        is_gone = {target: self._is_gone(target) for target in {entry.target for entry, _ in self._entries.values()}}
        unchecked = {
            key: entry
            for key, (entry, _) in self._entries.items()
            if not self._was_looked_at(entry) and not is_gone[entry.target]
        }
        accepted = {**unchecked, **self._current}
        write_file(self.file, _document(accepted.values()).encode())
        return len(accepted), len(accepted.keys() - self._entries.keys()), len(self._entries.keys() - accepted.keys())

    def _was_looked_at(self, entry: BaselineEntry) -> bool:
        return (entry.target, entry.rule) in self._judged or (entry.target, entry.rule, entry.subject) in self._tried

    def _known_as(self, catalog: Catalog) -> str:
        """A catalog's name in this file. A configured server is named together with the file that configures it."""
        origin = catalog.origin
        if origin is None:
            return self._relative(catalog.name)
        if origin.line is None:
            return f"{LIVE}{catalog.name}"
        return f"{LIVE}{self._relative(origin.file)}{catalog.name.removeprefix(origin.file)}"

    def _relative(self, target: str) -> str:
        """A target's path relative to this file, independent of the working directory."""
        if target == STDIN or target.startswith(LIVE):
            return target
        folder, (above, name) = os.path.dirname(self.file) or os.curdir, os.path.split(target)
        way = _way(folder, target)
        if os.pardir in way.split("/"):  # perhaps only because one of the paths goes through a symlink
            real = _way(os.path.realpath(folder), os.path.join(os.path.realpath(above), name))
            way = min(way, real, key=lambda path: path.split("/").count(os.pardir))
        return way

    def _is_gone(self, target: str) -> bool:
        """Whether a target certainly no longer exists; one that cannot be reached may come back."""
        if target == STDIN or target.startswith(LIVE):
            return False
        try:
            os.lstat(os.path.join(os.path.dirname(self.file), target))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return True
        except OSError:
            return False
        return False


def _way(folder: str, target: str) -> str:
    """The relative path from a folder to a target; the absolute path if it is on another drive."""
    try:
        return os.path.relpath(target, folder).replace(os.sep, "/")
    except ValueError:
        return os.path.abspath(target).replace(os.sep, "/")


def _entries(value: Any, file: str) -> list[BaselineEntry]:
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise InputError("not a baseline; to create one, name another file with `--update-baseline`", file=file)
    version = value.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        stated = f"version {version}" if type(version) is int else "an unknown version"
        raise InputError(f"baseline of {stated}; this mcproof reads version {SCHEMA_VERSION}", file=file)
    listed = value.get("entries")
    entries = []
    for number, entry in enumerate(listed if isinstance(listed, list) else [None]):
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _MEMBERS):
            what = f"entry {number + 1} is not an object with {', '.join(_MEMBERS)}"
            raise InputError(
                f"damaged baseline: {what}; fix it, or delete it and create it with `--update-baseline`", file=file
            )
        entries.append(BaselineEntry(*(entry[key] for key in _MEMBERS)))
    return entries


def _document(entries: Iterable[BaselineEntry]) -> str:
    """The text of a baseline: one entry per line, sorted for small diffs."""
    # Sorted, with one line for each: so that two branches that accept findings can be merged.
    lines = ",\n".join(json.dumps(entry._asdict()) for entry in sorted(entries))
    listed = f"[\n{lines}\n]" if lines else "[]"
    return f'{{"schema_version": {SCHEMA_VERSION}, "kind": "{KIND}",\n"entries": {listed}}}\n'
