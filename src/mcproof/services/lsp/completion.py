"""Completion in suites, configurations and comments of Python source: where the cursor is, and which words fit.

The text is being typed and thus incomplete, so it is read by lines and indentation, not by a parser. The words are
those that the schemas of suites and configurations allow.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from lsprotocol.types import CompletionItem, CompletionItemKind, Position, TextEdit

from mcproof.checks.ignores import IGNORE, IGNORE_FILE
from mcproof.checks.rule import RULESETS, all_rules
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.protocol import REVISIONS
from mcproof.runs.config import TABLE
from mcproof.runs.records import schema_text
from mcproof.testing.suites.entries import targets_at
from mcproof.testing.suites.model import METHODS, suite_schema_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.services.lsp.documents import DocumentKind, TextPositions


ITEM = "[]"
"""The step of a path into a list."""
MOST_PARTS = 200


@cache
def _schema_of(kind: DocumentKind) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(suite_schema_text() if kind == "suite" else schema_text("mcproof-toml"))
    return schema


def keys_at(root: dict[str, Any], path: tuple[str, ...]) -> dict[str, str]:
    """The keys of an object at a path, each with its description."""
    descriptions: dict[str, str] = {}
    for part in _at(root, path):
        for key, value in part.get("properties", {}).items():
            if value is not False:
                about = next((schema["description"] for schema in _parts(root, value) if "description" in schema), "")
                descriptions.setdefault(key, about)
    return descriptions


def values_at(root: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    """The strings and booleans that are allowed at a path, if the schema lists them."""
    values: dict[str, None] = {}
    for part in _at(root, path):
        listed = [*part.get("enum", ()), *([part["const"]] if "const" in part else [])]
        if part.get("type") == "boolean":
            listed += [True, False]
        for value in listed:
            values[json.dumps(value) if isinstance(value, bool) else str(value)] = None
    return list(values)


def is_list_at(root: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Whether the value at a path may be a list."""
    return any("items" in part for part in _at(root, path))


def holds_rules(root: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Whether the value at a path is the name of a rule or ruleset."""
    rule = root.get("definitions", {}).get("rule")
    return rule is not None and any(part is rule for part in _at(root, path))


def _at(root: dict[str, Any], path: tuple[str, ...]) -> list[dict[str, Any]]:
    """All schemas that apply at a path."""
    parts = list(_parts(root, root))
    for step in path:
        below = [schema for part in parts for schema in _below(part, step)]
        parts = [part for schema in below for part in _parts(root, schema)][:MOST_PARTS]
    return parts


def _below(part: dict[str, Any], step: str) -> Iterator[Any]:
    if step == ITEM:
        if isinstance(part.get("items"), dict):
            yield part["items"]
    elif step in part.get("properties", {}):
        yield part["properties"][step]
    elif isinstance(part.get("additionalProperties"), dict):
        yield part["additionalProperties"]


def _parts(root: dict[str, Any], schema: Any) -> Iterator[dict[str, Any]]:
    """A schema, with those that it refers to or combines."""
    waiting, seen = [schema], 0
    while waiting and seen < MOST_PARTS:
        part = waiting.pop()
        seen += 1
        if not isinstance(part, dict):
            continue
        yield part
        if isinstance(reference := part.get("$ref"), str):
            target: Any = root
            for token in reference.removeprefix("#/").split("/"):
                target = target[token]
            waiting.append(target)
        for key in ("anyOf", "oneOf", "allOf"):
            waiting += part.get(key, ())


MOST_LINES = 5_000
"""How many lines above the cursor are read."""
LONGEST_LINE = 1_000
"""How many characters of a line are read; bounds the time for hostile lines."""
_KEY = re.compile(r"""([\w.${}/-]+|"[^"]*"|'[^']*')[ \t]*:(?=[ \t]|$)""")
_TABLE = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\[\]#]+?)[ \t]*\]")
_SETTING = re.compile(r"""[ \t]*([\w-]+|"[^"]*")[ \t]*=[ \t]*(.*)""")
_QUOTED = re.compile(r'"[^"\\]*"|\'[^\']*\'')


class Cursor(NamedTuple):
    """A place in a structured text."""

    path: tuple[str, ...]
    """The keys around it; of a value, its own key too."""
    is_value: bool
    word: str
    """What is typed so far, without an opening quote."""
    is_quoted: bool = False
    """Whether a quote is open."""
    is_header: bool = False
    """Whether it is in the header of a TOML table."""


def place_in_yaml(text: TextPositions, line: int, column: int) -> Cursor | None:
    """The place of a cursor in YAML; None in a comment."""
    before = _line(text, line)[:column]
    if re.search(r"(?:^|\s)#", before):
        return None
    indent, rest, steps = _unlisted(before)
    path = (*_keys_above(text, line, indent), *steps)
    key = _KEY.match(rest)
    while key is not None:
        path = (*path, key[1].strip("\"'"))
        rest = rest[key.end() :].lstrip()
        if not rest.startswith("{"):
            return _value(path, rest)
        key, rest, path = _in_braces(rest, path)
    if rest.startswith("{"):
        _, rest, path = _in_braces(rest, path)
    return Cursor(path, is_value=False, word=rest.lstrip("\"'"), is_quoted=rest[:1] in ("'", '"'))


def _value(path: tuple[str, ...], rest: str) -> Cursor:
    """A value after its key; of a list in brackets, its last item."""
    if rest.startswith("["):
        path, rest = (*path, ITEM), re.split(r"[\[,]", rest)[-1].lstrip()
    return Cursor(path, is_value=True, word=rest.lstrip("\"'"), is_quoted=rest[:1] in ("'", '"'))


def _in_braces(rest: str, path: tuple[str, ...]) -> tuple[re.Match[str] | None, str, tuple[str, ...]]:
    """The last member of a mapping in braces, as far as it is typed."""
    member = re.split(r"[{,]", rest)[-1].lstrip() if rest.count("{") == 1 else rest[1:].lstrip()
    return _KEY.match(member), member, path


def _unlisted(line: str) -> tuple[int, str, tuple[str, ...]]:
    """The column of what follows the indentation and dashes of a line, that text, and a step for each dash."""
    match = re.match(r"[ ]*((?:-[ ]+|-$)*)", line)
    assert match is not None  # noqa: S101 (it matches the empty text)
    dashes = match[1].count("-")
    start = match.start(1) if dashes else match.end()
    return start, line[match.end() :], (ITEM,) * dashes


def _keys_above(text: TextPositions, line: int, indent: int) -> tuple[str, ...]:
    """The keys that a line with this indentation is below."""
    path: list[str] = []
    is_item = _line(text, line)[indent : indent + 1] == "-"
    for number in range(line - 1, max(-1, line - 1 - MOST_LINES), -1):
        written = _line(text, number)
        if not written.strip() or written.lstrip().startswith("#"):
            continue
        start, rest, steps = _unlisted(written)
        column = len(written) - len(rest)
        key = _KEY.match(rest)
        # The dashes of a list may be in the same column as its key.
        if key is not None and (column < indent or (is_item and column <= indent and not steps)):
            path.append(key[1].strip("\"'"))
            indent, is_item = column, False
        if steps and start < indent:
            path.extend(steps)
            indent, is_item = start, True
        if indent <= 0 and not is_item:
            break
    return tuple(reversed(path))


def place_in_toml(text: TextPositions, line: int, column: int) -> Cursor | None:
    """The place of a cursor in TOML; None in a comment or a header that is complete."""
    before = _line(text, line)[:column]
    # A `#` in a string begins no comment.
    bare = _QUOTED.sub("", before)
    if "#" in bare.partition('"')[0]:
        return None
    if re.match(r"[ \t]*\[\[?[\w.\"-]*$", before) and not _open_list(text, line):
        return Cursor((), is_value=False, word=before.strip().lstrip("["), is_header=True)
    table = _table_above(text, line)
    setting = _SETTING.match(before)
    if setting is None:
        key = _open_list(text, line)
        if key is None:
            return Cursor(table, is_value=False, word=before.strip().lstrip('"'))
        return _toml_value((*table, key, ITEM), re.split(r",", before)[-1])
    key, rest = setting[1].strip('"'), setting[2]
    if rest.startswith("["):
        return _toml_value((*table, key, ITEM), re.split(r"[\[,]", rest)[-1])
    return _toml_value((*table, key), rest)


def _toml_value(path: tuple[str, ...], rest: str) -> Cursor:
    rest = rest.lstrip()
    return Cursor(path, is_value=True, word=rest.lstrip("\"'"), is_quoted=rest[:1] in ("'", '"'))


def _table_above(text: TextPositions, line: int) -> tuple[str, ...]:
    for number in range(line - 1, max(-1, line - 1 - MOST_LINES), -1):
        header = _TABLE.match(_line(text, number))
        if header is not None and (header[1] == "[[" or not _open_list(text, number)):
            keys = tuple(part.strip().strip('"') for part in header[2].split("."))
            return (*keys, ITEM) if header[1] == "[[" else keys
    return ()


def _open_list(text: TextPositions, line: int) -> str | None:
    """The key of a list that starts above a line and is not closed there; None if there is none."""
    for number in range(line - 1, max(-1, line - 200), -1):
        written = _QUOTED.sub("", _line(text, number)).partition("#")[0]
        if "]" in written:
            return None
        setting = _SETTING.match(written)
        if setting is not None:
            return setting[1].strip('"') if setting[2].startswith("[") else None
    return None


def _line(text: TextPositions, number: int) -> str:
    return text.line(number)[:LONGEST_LINE]


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
            label=word.text,
            kind=word.kind,
            detail=word.detail or None,
            documentation=word.about or None,
            filter_text=word.text,
            text_edit=TextEdit(where, f"{word.text}{word.after}"),
        )
        for word in words
    ]


def _rules(*, after: str = "") -> Iterator[OfferedWord]:
    for rule in all_rules():
        yield OfferedWord(
            rule.id, rule.summary, f"{rule.ruleset} · {rule.severity}", CompletionItemKind.Constant, after
        )
    for name in RULESETS:
        yield OfferedWord(name, "", "ruleset", CompletionItemKind.Module, after)


def _in_comment(line: str) -> tuple[str, Iterable[OfferedWord]]:
    if match := _COMMENT_RULES.search(line):
        return match["word"], _rules()
    if match := _COMMENT.search(line):
        here = OfferedWord(IGNORE, "Suppress rules here, with a reason.", kind=CompletionItemKind.Keyword)
        return match["word"], [
            here,
            OfferedWord(IGNORE_FILE, "Suppress rules in this file, with a reason.", kind=CompletionItemKind.Keyword),
        ]
    return "", ()


def _in_suite(place: Cursor, text: TextPositions) -> Iterable[OfferedWord]:
    schema = _schema_of("suite")
    if not place.is_value:
        keys = keys_at(schema, place.path).items()
        listed = values_at(schema, place.path) if place.path[-1:] == (ITEM,) else ()
        named = [
            OfferedWord(key, description, kind=CompletionItemKind.Property, after=": ") for key, description in keys
        ]
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
        yield from (OfferedWord(name, _PATHS.get(name, "")) for name in dict.fromkeys((*targets_at(path), *_PATHS)))
    elif last == "tool" and path[:1] == ("tools",):
        yield from map(OfferedWord, METHODS)
    elif last == "protocol":
        yield from map(OfferedWord, REVISIONS)


def _in_settings(place: Cursor, text: TextPositions) -> Iterable[OfferedWord]:
    schema = _schema_of("settings")
    is_shared = re.search(r"^\[(?:project|build-system|tool\.)", text.text, re.MULTILINE) is not None
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
            OfferedWord(key, description, kind=CompletionItemKind.Property, after=" = ")
            for key, description in keys_at(schema, path).items()
        ]
    words = list(_rules() if holds_rules(schema, path) else _setting_values(schema, path))
    return words if place.is_quoted else [word._replace(text=f'"{word.text}"') for word in words]


def _headers(schema: dict[str, Any], above: str, *, is_shared: bool) -> Iterator[OfferedWord]:
    """The tables of a configuration."""
    if is_shared:
        yield OfferedWord(".".join(TABLE), "The settings of mcproof.", kind=CompletionItemKind.Module)
    for key, description in keys_at(schema, ()).items():
        is_list = is_list_at(schema, (key,)) and bool(keys_at(schema, (key, ITEM)))
        if is_list or key in ("severity", "targets", "limits", "client-profiles", "scan"):
            detail = "[[…]], repeatable" if is_list else ""
            yield OfferedWord(f"{above}{key}", description, detail, CompletionItemKind.Module)


def _setting_values(schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[OfferedWord]:
    if path == ("clients", ITEM):
        from mcproof.checks.clients.profiles import known_profiles

        yield from (OfferedWord(name, profile.name) for name, profile in known_profiles().items())
    yield from map(OfferedWord, values_at(schema, path))
