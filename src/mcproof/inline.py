"""Comments in Python source that suppress findings: `# mcproof: ignore[MP004] why`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.catalog import Tool
from mcproof.errors import UsageError, nearest
from mcproof.jsontext import escape
from mcproof.registry import all_rules, find_rule, rules_named
from mcproof.suppress import COMMENTED, Remark, Suppression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.catalog import Catalog, Item
    from mcproof.finding import Finding
    from mcproof.registry import Rule
    from mcproof.suppress import IgnoreLedger

IGNORE, IGNORE_FILE = "ignore", "ignore-file"
MOST_WORDS = 100
"""Where the list of one comment stops being read."""
MOST_REMARKS = 200
"""How many comments are complained about in one run; whoever has more has one reason for all of them."""
LONGEST_REASON, LONGEST_WORD = 500, 60

_START = re.compile(r"#(?=[ \t]*mcproof:)")
_DIRECTIVE = re.compile(r"[ \t]*mcproof:[ \t]*([\w-]+)[ \t]*(?:(\[)([^\]]*)(\]?))?")
_NEXT_COMMENT = re.compile(r"\s#\s")
_NOT_OF_SOURCE = frozenset(("Wire", "Trials", "RuleCrash"))
"""The scopes of rules that have nothing to look at in source."""


class Comment(NamedTuple):
    """One comment that suppresses."""

    file: str
    line: int
    shown: str
    """What it says, without the reason: `ignore[MP004]`."""
    is_for_file: bool
    rules: frozenset[str] | None
    """The ids of the rules; None for all there are."""
    reason: str | None

    @property
    def suppression(self) -> Suppression:
        return Suppression(COMMENTED, self.reason, self.file, self.line)

    def names(self, rule: Rule) -> bool:
        return self.rules is None or rule.id in self.rules

    def ran(self, running: set[str]) -> bool:
        """Whether all of its rules ran; else one that did not may be why it is there."""
        if self.rules is not None:
            return self.rules <= running
        return all(rule.id in running for rule in all_rules() if rule.looks_at not in _NOT_OF_SOURCE)


def heed_comments(
    catalog: Catalog,
    findings: list[Finding],
    suppressions: list[Suppression | None],
    running: Iterable[Rule],
    ledger: IgnoreLedger,
) -> list[Suppression | None]:
    """What suppresses each finding, comments included; the ledger learns which of them are not needed.

    A comment is about the tool, resource or prompt on whose lines it stands, or about everything in its file; on a
    line of parameters below the `def`, about those only. It is needed as well where the configuration suppresses the
    same finding.
    """
    comments = list(_read(catalog, ledger))
    if not comments:
        return suppressions
    about = _concerned(catalog, comments)
    result = list(suppressions)
    needed: set[Comment] = set()
    for at, finding in enumerate(findings):
        for comment, parameters in about.get(finding.item.pointer, ()):
            if comment.names(finding.rule) and (parameters is None or _is_about(finding, parameters)):
                needed.add(comment)
                result[at] = result[at] or comment.suppression
                break
    placed = {comment for heeded in about.values() for comment, _ in heeded}
    ids = {rule.id for rule in running}
    for comment in comments:
        if comment in needed:
            ledger.remarks[_key(comment.file, comment.line, comment.shown)] = None
        elif comment not in placed and not comment.is_for_file:
            where = "it belongs on the line of a decorator, a `def` or a constructor"
            _remark(
                ledger, comment, f"unused: `{comment.shown}` stands on no line of a tool, resource or prompt; {where}"
            )
        elif comment.ran(ids):
            _remark(ledger, comment, f"unused: `{comment.shown}` suppressed nothing in this run")
    return result


Heeded = tuple[Comment, "list[str] | None"]
"""A comment about an item, with the pointers of the parameters that it is about; None for all of the item."""


def _is_about(finding: Finding, parameters: list[str]) -> bool:
    """Whether a finding stands at one of these parameters, or inside of it."""
    near = finding.near if isinstance(finding.near, str) else finding.item.pointer + finding.pointer
    return any(near == each or near.startswith(f"{each}/") for each in parameters)


def _parameters(catalog: Catalog, item: Item) -> dict[int, list[str]]:
    """The parameters of a tool by the line that they stand on, but for those beside its name or where it begins."""
    source = catalog.source
    if source is None or not isinstance(item, Tool):
        return {}
    found: dict[int, list[str]] = {}
    for name in item.parameters:
        pointer = f"{item.pointer}/inputSchema/properties/{escape(name)}"
        if (place := source.places.get(pointer)) is not None:
            found.setdefault(place.line, []).append(pointer)
    for below in ("", "/name", "/inputSchema"):
        if (place := source.places.get(item.pointer + below)) is not None:
            found.pop(place.line, None)
    for line, first in source.continued.get(item.pointer, {}).items():
        if first in found:
            found.setdefault(line, found[first])
    return found


def _concerned(catalog: Catalog, comments: list[Comment]) -> dict[str, list[Heeded]]:
    """The comments about each item, by its pointer; what is said of the item itself first."""
    source = catalog.source
    assert source is not None  # noqa: S101 (whoever asks knows)
    on_line: dict[tuple[str, int], list[Comment]] = {}
    of_file: dict[str, list[Comment]] = {}
    for comment in comments:
        if comment.is_for_file:
            of_file.setdefault(comment.file, []).append(comment)
        else:
            on_line.setdefault((comment.file, comment.line), []).append(comment)
    about: dict[str, list[Heeded]] = {}
    items: list[Item] = [*catalog.tools, *catalog.resources, *catalog.templates, *catalog.prompts]
    for item in items:
        place = source.places.get(item.pointer) or source.places.get(f"{item.pointer}/name")
        if place is None:
            continue
        lines = source.lines.get(item.pointer, ())
        said = [comment for line in lines for comment in on_line.get((place.file, line), ())]
        narrow = _parameters(catalog, item) if said else {}
        heeded: list[Heeded] = [(comment, narrow.get(comment.line)) for comment in said]
        heeded += [(comment, None) for comment in of_file.get(place.file, ())]
        if heeded:
            about[item.pointer] = heeded
    return about


def _read(catalog: Catalog, ledger: IgnoreLedger) -> Iterator[Comment]:
    """Every comment that suppresses; what is wrong with one goes to the ledger."""
    source = catalog.source
    assert source is not None  # noqa: S101
    known: dict[str, frozenset[str] | str] = {}
    for file, found in source.comments.items():
        for line, text in found:
            for said in _START.split(text)[1:]:
                comment = _parsed(file, line, said, known, ledger)
                if comment is not None:
                    yield comment


def _parsed(
    file: str, line: int, said: str, known: dict[str, frozenset[str] | str], ledger: IgnoreLedger
) -> Comment | None:
    found = _DIRECTIVE.match(said)
    if found is None:
        return None
    word, opening, listed, closing = found.groups()
    rest = said[found.end() :]
    shown = _cropped(word if opening is None else f"{word}[{listed}{closing}")
    comment = Comment(file, line, shown, word == IGNORE_FILE, None, _reason(rest))
    if word not in (IGNORE, IGNORE_FILE):
        hint = nearest(word[:LONGEST_WORD], [IGNORE, IGNORE_FILE])
        if hint or opening or rest.startswith("="):  # else it is a sentence that happens to begin with our name
            there_are = f"`{IGNORE}` and `{IGNORE_FILE}`"
            _remark(ledger, comment, f"`{shown}` is not understood{hint}; there are {there_are}", kind="bad-ignore")
        return None
    if opening is None:
        first = rest.split(maxsplit=1)[0].strip(",:;") if rest.strip() else ""
        if _is_id(first):
            message = f"`{word} {first}` suppresses nothing; rules are named in brackets: `{word}[{first}]`"
            _remark(ledger, comment, message, kind="bad-ignore")
            return None
        return comment
    words = [each.strip() for each in listed.split(",", MOST_WORDS)[:MOST_WORDS] if each.strip()]
    if not closing or not words:
        what = "names no rule" if closing else "has no closing bracket"
        _remark(ledger, comment, f"`{shown}` {what}, so it suppresses nothing", kind="bad-ignore")
        return None
    rules: set[str] = set()
    for each in words:
        meant = _rules_of(each, known)
        if isinstance(meant, str):
            _remark(ledger, comment, meant, kind="bad-ignore")
        else:
            rules |= meant
    return comment._replace(rules=frozenset(rules)) if rules else None


def _rules_of(word: str, known: dict[str, frozenset[str] | str]) -> frozenset[str] | str:
    """The ids of the rules that a word stands for, or why it stands for none."""
    if word not in known:
        try:
            known[word] = frozenset(rule.id for rule in rules_named([_cropped(word)]))
        except UsageError as error:
            known[word] = error.message
    return known[word]


def _is_id(word: str) -> bool:
    """Whether a word is a rule's id or name that no sentence would begin with."""
    if "-" not in word and not any(map(str.isdigit, word)):
        return False
    try:
        find_rule(word[:LONGEST_WORD])
    except UsageError:
        return False
    return True


def _reason(rest: str) -> str | None:
    """What is said after the rules, up to a comment for another tool on the same line."""
    reason = _NEXT_COMMENT.split(f" {rest}", maxsplit=1)[0].strip().lstrip(":-–—").strip()
    return reason[:LONGEST_REASON] or None


def _cropped(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}…"


def _key(file: str, line: int, what: str) -> tuple[str, int, str]:
    return os.path.abspath(file), line, what


def _remark(ledger: IgnoreLedger, comment: Comment, message: str, kind: str = "unused-ignore") -> None:
    """Note what is wrong with a comment, unless another target needs it."""
    if len(ledger.remarks) < MOST_REMARKS:
        key = _key(comment.file, comment.line, comment.shown if kind == "unused-ignore" else message)
        ledger.remarks.setdefault(key, Remark(kind, message, comment.file, comment.line))
