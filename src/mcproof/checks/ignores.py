"""Ignored findings: `[[ignore-for]]` entries and comments such as `# mcproof: ignore[MP004] why`.

Entries and comments that ignore nothing are reported. Accepted findings are in `baseline`.
Why an ignored finding leaves the score: docs/decisions/0021-suppression-and-scores.md.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Annotated

from mcproof.checks.rule import Rule, all_rules, find_rule, is_ignored, rules_named
from mcproof.checks.subjects import RuleCrash
from mcproof.core.errors import SettingLocation, UsageError, nearest
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import ObservedConnection
from mcproof.core.observations.probes import ItemProbes
from mcproof.core.stored_form import Position, Text, member, record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog, Item, SourceMap


KINDS = ("tool", "prompt", "resource", "template")
"""The kinds of items that an `[[ignore-for]]` entry can name."""
IGNORED, ACCEPTED, COMMENTED = "ignore-for", "baseline", "comment"
"""The sources of suppressions: an entry of the configuration, one of the baseline, a comment in the source."""


class IgnoreFor(NamedTuple):
    """An `[[ignore-for]]` entry: rules that are suppressed for some items."""

    kind: str | None
    """The kind of item; None for everything, the server included."""
    glob: str
    rules: frozenset[str]
    """The ids of the rules."""
    named: tuple[str, ...]
    """The rules and rulesets as written."""
    reason: str | None
    location: SettingLocation

    def matches(self, rule_id: str, item: Item) -> bool:
        """Whether it suppresses findings of this rule about this item."""
        return rule_id in self.rules and self.concerns(item)

    def concerns(self, item: Item) -> bool:
        """Whether it applies to this item. A full name always matches itself."""
        if self.kind is None:
            return True
        return item.kind == self.kind and (item.label == self.glob or _pattern(self.glob)(item.label) is not None)


@cache
def _pattern(glob: str) -> Callable[[str], object]:
    """The compiled matcher of a glob."""
    import re
    from fnmatch import translate

    return re.compile(translate(glob)).match


@record()
class Suppression(NamedTuple):
    """Why a finding does not count."""

    by: Annotated[str, member(enum=["ignore-for", "baseline", "comment"])]
    """An entry of the configuration, one of the baseline, or a comment in the source."""
    reason: str | None
    """The reason that was given, or None."""
    file: Text
    """The location of that."""
    line: Position | None
    """The line there, or None."""


class IgnoreNotice(NamedTuple):
    """A comment that suppresses nothing, or not what its author meant."""

    kind: str
    """`unused-ignore`, or `bad-ignore` for one that cannot be parsed."""
    message: str
    file: str
    line: int


class IgnoreTracker:
    """The entries and comments of a run that suppress findings, and which of them were needed."""

    def __init__(self) -> None:
        self._needed: dict[IgnoreFor, bool] = {}
        self.notices: dict[tuple[str, int, str], IgnoreNotice | None] = {}
        """By a comment's location and text: what is wrong with it; None if it was needed."""

    def apply(
        self, findings: list[Finding], ignores: Iterable[IgnoreFor], running: Iterable[Rule]
    ) -> list[Suppression | None]:
        """The suppression of each finding, or None; the first matching entry counts as needed."""
        entries = list(ignores)
        ids = {rule.id for rule in running}
        for entry in entries:
            if entry.rules <= ids:  # otherwise a rule that did not run may need it
                self._needed.setdefault(entry, False)
        concerned: dict[int, list[IgnoreFor]] = {}
        for finding in findings:  # match each item once, however many findings it has
            if id(finding.item) not in concerned:
                concerned[id(finding.item)] = [entry for entry in entries if entry.concerns(finding.item)]
        return [self._suppression(finding, concerned[id(finding.item)]) for finding in findings]

    def _suppression(self, finding: Finding, entries: Iterable[IgnoreFor]) -> Suppression | None:
        for entry in entries:
            if is_ignored(finding.rule, entry.rules):
                self._needed[entry] = True
                return Suppression(IGNORED, entry.reason, entry.location.file, entry.location.line)
        return None

    def unused(self) -> list[IgnoreFor]:
        """The entries that suppressed nothing although all their rules ran."""
        return [entry for entry, needed in self._needed.items() if not needed]


IGNORE, IGNORE_FILE = "ignore", "ignore-file"
MOST_WORDS = 100
"""The most rules read from one comment."""
MOST_NOTICES = 200
"""The most comments reported in one run."""
LONGEST_REASON, LONGEST_WORD = 500, 60

# Compiled when a comment is read: only source has comments.
_START = r"#(?=[ \t]*mcproof:)"
_DIRECTIVE = r"[ \t]*mcproof:[ \t]*([\w-]+)[ \t]*(?:(\[)([^\]]*)(\]?))?"
_NEXT_COMMENT = r"\s#\s"
_NOT_OF_SOURCE = frozenset((ObservedConnection, ItemProbes, RuleCrash))
"""The subjects of rules that cannot apply to source."""


class IgnoreComment(NamedTuple):
    """One comment that suppresses findings."""

    file: str
    line: int
    shown: str
    """Its text without the reason: `ignore[MP004]`."""
    is_for_file: bool
    rules: frozenset[str] | None
    """The ids of the rules; None for all rules."""
    reason: str | None

    @property
    def suppression(self) -> Suppression:
        return Suppression(COMMENTED, self.reason, self.file, self.line)

    def names(self, rule: Rule) -> bool:
        return self.rules is None or is_ignored(rule, self.rules)

    def ran(self, running: set[str]) -> bool:
        """Whether all its rules ran; otherwise one that did not may need it."""
        if self.rules is not None:
            return self.rules <= running
        return all(rule.id in running for rule in all_rules() if rule.subject not in _NOT_OF_SOURCE)


def apply_comments(
    catalog: Catalog,
    findings: list[Finding],
    suppressions: list[Suppression | None],
    running: Iterable[Rule],
    tracker: IgnoreTracker,
) -> list[Suppression | None]:
    """The suppression of each finding, comments included; the tracker records which comments are unused.

    A comment applies to the tool, resource or prompt on whose lines it is, or to its whole file. On a line of
    parameters below the `def`, or of another part, it applies only to what is written there. It also counts as needed
    if the configuration suppresses the same finding.
    """
    comments = list(_read(catalog, tracker))
    source = catalog.source
    if not comments or source is None:
        return suppressions
    about = _comments_by_item(catalog, comments)
    result = list(suppressions)
    needed: set[IgnoreComment] = set()
    for index, finding in enumerate(findings):
        for comment, parts in about.get(finding.item.pointer, ()):
            if comment.names(finding.rule) and (parts is None or _is_about(source, finding, parts)):
                needed.add(comment)
                result[index] = result[index] or comment.suppression
                break
    # A comment at the wrong place is corrected differently from one that is no longer needed.
    located = {comment for scoped in about.values() for comment, _ in scoped}
    ids = {rule.id for rule in running}
    for comment in comments:
        if comment in needed:
            tracker.notices[_key(comment.file, comment.line, comment.shown)] = None
        elif comment not in located and not comment.is_for_file:
            where = "put it on the line of a decorator, a `def`, a constructor or the reported value"
            _notice(
                tracker, comment, f"unused: `{comment.shown}` is not on a line of a tool, resource or prompt; {where}"
            )
        elif comment.ran(ids):
            _notice(tracker, comment, f"unused: `{comment.shown}` suppressed nothing in this run")
    return result


CommentScope = tuple[IgnoreComment, "frozenset[str] | None"]
"""A comment for an item, with the pointers of the parts it applies to; None for the whole item."""
Lines = dict[tuple[str, int], list[str]]
"""The pointers of the values written on each line of a file."""


def _is_about(source: SourceMap, finding: Finding, parts: frozenset[str]) -> bool:
    """Whether a finding's value, or the nearest value around it with a location, is one of these parts."""
    near = finding.near if isinstance(finding.near, str) else finding.item.pointer + finding.pointer
    while near and near not in source.locations:
        near = near.rpartition("/")[0]
    return near in parts


def _narrow(item: Item, written: Lines, own: Collection[tuple[str, int]]) -> dict[tuple[str, int], frozenset[str]]:
    """The parts a comment on each line applies to, for lines where it does not apply to the whole item.

    These are the lines of parameters below the `def`, and all lines that are not the item's own.
    """
    parameters = f"{item.pointer}/inputSchema/properties/"
    heads = {item.pointer, f"{item.pointer}/name", f"{item.pointer}/inputSchema"}
    narrow = {}
    for line, pointers in written.items():
        if line not in own:
            narrow[line] = frozenset(pointers)
        elif heads.isdisjoint(pointers) and any(pointer.startswith(parameters) for pointer in pointers):
            narrow[line] = frozenset(pointer for pointer in pointers if pointer.startswith(parameters))
    return narrow


def _comments_by_item(catalog: Catalog, comments: list[IgnoreComment]) -> dict[str, list[CommentScope]]:
    """The comments that apply to each item, by its pointer; those about the item itself first."""
    source = catalog.source
    assert source is not None  # noqa: S101 (only called with source)
    on_line: dict[tuple[str, int], list[IgnoreComment]] = {}
    of_file: dict[str, list[IgnoreComment]] = {}
    for comment in comments:
        if comment.is_for_file:
            of_file.setdefault(comment.file, []).append(comment)
        else:
            on_line.setdefault((comment.file, comment.line), []).append(comment)
    written = _written_on(source, on_line)
    about: dict[str, list[CommentScope]] = {}
    items: list[Item] = [*catalog.tools, *catalog.resources, *catalog.templates, *catalog.prompts]
    for item in items:
        own = source.lines.get(item.pointer, ())
        narrow = _narrow(item, written.get(item.pointer, {}), own)
        scoped: list[CommentScope] = [
            (comment, narrow.get(line))
            for line in {**dict.fromkeys(own), **narrow}
            for comment in on_line.get(line, ())
        ]
        place = source.locations.get(item.pointer) or source.locations.get(f"{item.pointer}/name")
        files = dict.fromkeys([file for file, _ in own] + ([place.file] if place is not None else []))
        scoped += [(comment, None) for file in files for comment in of_file.get(file, ())]
        if scoped:
            about[item.pointer] = scoped
    return about


def _written_on(source: SourceMap, lines: Collection[tuple[str, int]]) -> dict[str, Lines]:
    """The values written on some lines, by item; for lines where no value starts, those that continue there."""
    by_item: dict[str, Lines] = {}
    going_on = {
        item: {at: (at[0], begins) for at, begins in further.items() if at in lines}
        for item, further in source.continuation_lines.items()
        if lines
    }
    for pointer, place in source.locations.items() if lines else ():
        by_item.setdefault("/".join(pointer.split("/", 3)[:3]), {}).setdefault(place[:2], []).append(pointer)
    for item, further in going_on.items():
        written = by_item.get(item, {})
        for line, begins in further.items():
            if line not in written and begins in written:
                written[line] = written[begins]
    return {
        item: {line: pointers for line, pointers in written.items() if line in lines}
        for item, written in by_item.items()
    }


def _read(catalog: Catalog, tracker: IgnoreTracker) -> Iterator[IgnoreComment]:
    """Yield every suppression comment; report malformed ones to the tracker."""
    source = catalog.source
    assert source is not None  # noqa: S101
    rules_of_words: dict[str, frozenset[str] | str] = {}
    for file, comments in source.comments.items():
        for line, text in comments:
            for directive in re.split(_START, text)[1:]:
                comment = _parsed(file, line, directive, rules_of_words, tracker)
                if comment is not None:
                    yield comment


def _parsed(
    file: str, line: int, directive: str, rules_of_words: dict[str, frozenset[str] | str], tracker: IgnoreTracker
) -> IgnoreComment | None:
    match = re.match(_DIRECTIVE, directive)
    if match is None:
        return None
    word, opening, listed, closing = match.groups()
    rest = directive[match.end() :]
    shown = _cropped(word if opening is None else f"{word}[{listed}{closing}")
    comment = IgnoreComment(file, line, shown, word == IGNORE_FILE, None, _reason(rest))
    if word not in (IGNORE, IGNORE_FILE):
        # Comments are texts of strangers: whatever is compared or repeated is cropped first.
        hint = nearest(word[:LONGEST_WORD], [IGNORE, IGNORE_FILE])
        if hint or opening or rest.startswith("="):  # otherwise an ordinary sentence that starts with our name
            there_are = f"`{IGNORE}` or `{IGNORE_FILE}`"
            _notice(tracker, comment, f"`{shown}` is unknown{hint}; use {there_are}", kind="bad-ignore")
        return None
    if opening is None:
        first = rest.split(maxsplit=1)[0].strip(",:;") if rest.strip() else ""
        # The usual mistake: it reads like a suppression of one rule, and would suppress all of them.
        if _is_id(first):
            message = f"`{word} {first}` suppresses nothing; rules are named in brackets: `{word}[{first}]`"
            _notice(tracker, comment, message, kind="bad-ignore")
            return None
        return comment
    words = [name.strip() for name in listed.split(",", MOST_WORDS)[:MOST_WORDS] if name.strip()]
    if not closing or not words:
        what = "names no rule" if closing else "has no closing bracket"
        _notice(tracker, comment, f"`{shown}` {what}, so it suppresses nothing", kind="bad-ignore")
        return None
    rules: set[str] = set()
    for name in words:
        meant = _rules_of(name, rules_of_words)
        if isinstance(meant, str):
            _notice(tracker, comment, meant, kind="bad-ignore")
        else:
            rules |= meant
    return comment._replace(rules=frozenset(rules)) if rules else None


def _rules_of(word: str, rules_of_words: dict[str, frozenset[str] | str]) -> frozenset[str] | str:
    """The ids of the rules a word stands for, or an error message."""
    if word not in rules_of_words:
        try:
            rules_of_words[word] = frozenset(rule.id for rule in rules_named([_cropped(word)]))
        except UsageError as error:  # remembered as well: the same word may stand in many comments
            rules_of_words[word] = error.message
    return rules_of_words[word]


def _is_id(word: str) -> bool:
    """Whether a word is a rule's id or name that would not start a sentence."""
    if "-" not in word and not any(map(str.isdigit, word)):
        return False
    try:
        find_rule(word[:LONGEST_WORD])
    except UsageError:
        return False
    return True


def _reason(rest: str) -> str | None:
    """The text after the rules, up to the next comment on the same line."""
    reason = re.split(_NEXT_COMMENT, f" {rest}", maxsplit=1)[0].strip().lstrip(":-–—").strip()
    return reason[:LONGEST_REASON] or None


def _cropped(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}…"


def _key(file: str, line: int, what: str) -> tuple[str, int, str]:
    return os.path.abspath(file), line, what


def _notice(tracker: IgnoreTracker, comment: IgnoreComment, message: str, kind: str = "unused-ignore") -> None:
    """Record what is wrong with a comment, unless another target needs it."""
    if len(tracker.notices) < MOST_NOTICES:
        key = _key(comment.file, comment.line, comment.shown if kind == "unused-ignore" else message)
        # A file can belong to several targets, so the first one that needs a comment clears it for all.
        tracker.notices.setdefault(key, IgnoreNotice(kind, message, comment.file, comment.line))
