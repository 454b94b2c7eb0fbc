"""Completion in suites, configurations and comments of Python source; the words are those that their readers know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from lsprotocol.types import CompletionItem, CompletionItemKind, Position, TextEdit

from mcproof.checks.ignores import IGNORE, IGNORE_FILE
from mcproof.checks.rule import RULESETS, all_rules
from mcproof.core.protocol import REVISIONS
from mcproof.lsp.cursor_places import LONGEST_LINE, place_in_toml, place_in_yaml
from mcproof.lsp.schema_words import ITEM, holds_rules, is_list_at, keys_at, shipped_schema, values_at
from mcproof.runs.config import TABLE
from mcproof.testing.suites import paths
from mcproof.testing.suites.model import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.lsp.cursor_places import CursorPlace
    from mcproof.lsp.document_kinds import DocumentKind
    from mcproof.lsp.text_positions import TextPositions

TRIGGERS = ("[", '"', ":", ",", "{", " ", ".")
"""Characters after which editors ask for completion."""
_COMMENT = re.compile(r"#[ \t]*mcproof:[ \t]*(?P<word>[\w-]*)$")
_COMMENT_RULES = re.compile(r"#[ \t]*mcproof:[ \t]*ignore(?:-file)?[ \t]*\[(?:[^\]]*,)?[ \t]*(?P<word>[^\],\s]*)$")
_SERVER = re.compile(r"^  ?([\w-]+)[ \t]*:", re.MULTILINE)
_SERVERS = re.compile(r"^servers[ \t]*:[ \t]*\r?\n((?:[ \t]+.*(?:\r?\n|$)|\r?\n)*)", re.MULTILINE)
_PATHS = {
    "result": "the result of the call",
    "result.content[0].text": "the text of the first block of content",
    "result.structuredContent": "the structured result",
    "result.isError": "whether the tool reports an error",
    "error.code": "the code of a JSON-RPC error",
    "error.message": "the message of a JSON-RPC error",
}
"""Paths that most tests use, beside the roots that there are."""


class OfferedWord(NamedTuple):
    """A word to offer."""

    text: str
    about: str = ""
    detail: str = ""
    kind: CompletionItemKind = CompletionItemKind.Value
    after: str = ""
    """What follows it, such as the colon of a key."""


def completions(kind: DocumentKind, text: TextPositions, position: Position) -> list[CompletionItem]:
    """The words that fit at a position."""
    start = text.offset_at(Position(position.line, 0))
    column = text.offset_at(position) - start
    if column > LONGEST_LINE:
        return []
    line = text.line(position.line)[:column]
    if kind == "source":
        typed, words = _in_comment(line)
        return _items(words, typed, text, start + column)
    if kind == "suite":
        place = place_in_yaml(text, position.line, column)
        return [] if place is None else _items(_in_suite(place, text), place.word, text, start + column)
    if kind == "settings":
        place = place_in_toml(text, position.line, column)
        return [] if place is None else _items(_in_settings(place, text), place.word, text, start + column)
    return []


def _items(words: Iterable[OfferedWord], typed: str, text: TextPositions, offset: int) -> list[CompletionItem]:
    """Words as items that replace what is typed so far."""
    where = text.range_of(offset - len(typed), offset)
    return [
        CompletionItem(
            label=each.text,
            kind=each.kind,
            detail=each.detail or None,
            documentation=each.about or None,
            filter_text=each.text,
            text_edit=TextEdit(where, f"{each.text}{each.after}"),
        )
        for each in words
    ]


def _rules(*, after: str = "") -> Iterator[OfferedWord]:
    for rule in all_rules():
        yield OfferedWord(
            rule.id, rule.summary, f"{rule.ruleset} · {rule.severity}", CompletionItemKind.Constant, after
        )
    for name in RULESETS:
        yield OfferedWord(name, "", "ruleset", CompletionItemKind.Module, after)


# --- comments in Python


def _in_comment(line: str) -> tuple[str, Iterable[OfferedWord]]:
    if found := _COMMENT_RULES.search(line):
        return found["word"], _rules()
    if found := _COMMENT.search(line):
        here = OfferedWord(IGNORE, "Suppress rules here, with a reason.", kind=CompletionItemKind.Keyword)
        return found["word"], [
            here,
            OfferedWord(IGNORE_FILE, "Suppress rules in this file, with a reason.", kind=CompletionItemKind.Keyword),
        ]
    return "", ()


# --- suites


def _in_suite(place: CursorPlace, text: TextPositions) -> Iterable[OfferedWord]:
    schema = shipped_schema("mcproof.testing.suites", "suite.schema.json")
    if not place.is_value:
        keys = keys_at(schema, place.path).items()
        listed = values_at(schema, place.path) if place.path[-1:] == (ITEM,) else ()
        named = [OfferedWord(key, about, kind=CompletionItemKind.Property, after=": ") for key, about in keys]
        return [*named, *map(OfferedWord, listed)]
    return [*_suite_values(place.path, text), *map(OfferedWord, values_at(schema, place.path))]


def _suite_values(path: tuple[str, ...], text: TextPositions) -> Iterator[OfferedWord]:
    """The words that a suite's schema does not list."""
    last = path[-1] if path else ""
    if last == "server":
        servers = _SERVERS.search(text.text)
        yield from (
            OfferedWord(name) for name in dict.fromkeys(_SERVER.findall(servers[1] if servers is not None else ""))
        )
    elif last == "target":
        is_quality = path[:1] == ("tool_quality",)
        roots: tuple[str, ...] = paths.QUALITY if is_quality else paths.CALL
        for block, names in paths.BLOCKS.items() if not is_quality else ():
            roots = (*names, *roots) if block in path else (*roots, *(f"{block}.{name}" for name in names))
        yield from (OfferedWord(each, _PATHS.get(each, "")) for each in dict.fromkeys((*roots, *_PATHS)))
    elif last == "tool" and path[:1] == ("tools",):
        yield from map(OfferedWord, METHODS)
    elif last == "protocol":
        yield from map(OfferedWord, REVISIONS)


# --- configurations


def _in_settings(place: CursorPlace, text: TextPositions) -> Iterable[OfferedWord]:
    schema = shipped_schema("mcproof.runs", "schemas/mcproof-toml.schema.json")
    is_shared = _is_shared(text)
    if place.is_header:
        return _headers(schema, ".".join(TABLE) + "." if is_shared else "", is_shared=is_shared)
    path = place.path
    if is_shared:
        if path[: len(TABLE)] != TABLE:
            return []
        path = path[len(TABLE) :]
    if not place.is_value:
        if path == ("severity",):
            return _rules(after=" = ")
        return [
            OfferedWord(key, about, kind=CompletionItemKind.Property, after=" = ")
            for key, about in keys_at(schema, path).items()
        ]
    words = list(_rules() if holds_rules(schema, path) else _setting_values(schema, path))
    return words if place.is_quoted else [each._replace(text=f'"{each.text}"') for each in words]


def _is_shared(text: TextPositions) -> bool:
    return re.search(r"^\[(?:project|build-system|tool\.)", text.text, re.MULTILINE) is not None


def _headers(schema: dict[str, Any], above: str, *, is_shared: bool) -> Iterator[OfferedWord]:
    """The tables of a configuration."""
    if is_shared:
        yield OfferedWord(".".join(TABLE), "The settings of mcproof.", kind=CompletionItemKind.Module)
    for key, about in keys_at(schema, ()).items():
        is_list = is_list_at(schema, (key,)) and bool(keys_at(schema, (key, ITEM)))
        if is_list or key in ("severity", "targets", "limits", "client-profiles", "scan"):
            detail = "[[…]], repeatable" if is_list else ""
            yield OfferedWord(f"{above}{key}", about, detail, CompletionItemKind.Module)


def _setting_values(schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[OfferedWord]:
    if path == ("clients", ITEM):
        from mcproof.checks.clients.profiles import known_profiles

        yield from (OfferedWord(name, profile.name) for name, profile in known_profiles().items())
    yield from map(OfferedWord, values_at(schema, path))
