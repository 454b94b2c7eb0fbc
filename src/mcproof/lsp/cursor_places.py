"""Where a cursor is in YAML or TOML that is being typed: in which key or value, with which word before it.

The text is incomplete by nature, so it is read by lines and indentation, not by a parser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.lsp.schema_words import ITEM

if TYPE_CHECKING:
    from mcproof.lsp.text_positions import TextPositions

MOST_LINES = 5_000
"""How many lines above the cursor are read."""
LONGEST_LINE = 1_000
"""How many characters of a line are read; bounds the time for hostile lines."""
_KEY = re.compile(r"""([\w.${}/-]+|"[^"]*"|'[^']*')[ \t]*:(?=[ \t]|$)""")
_TABLE = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\[\]#]+?)[ \t]*\]")
_SETTING = re.compile(r"""[ \t]*([\w-]+|"[^"]*")[ \t]*=[ \t]*(.*)""")
_QUOTED = re.compile(r'"[^"\\]*"|\'[^\']*\'')


class CursorPlace(NamedTuple):
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


def place_in_yaml(text: TextPositions, line: int, column: int) -> CursorPlace | None:
    """The place of a cursor in YAML; None in a comment."""
    before = _line(text, line)[:column]
    if re.search(r"(?:^|\s)#", before):
        return None
    indent, rest, steps = _unlisted(before)
    path = (*_keys_above(text, line, indent), *steps)
    found = _KEY.match(rest)
    while found is not None:
        path = (*path, found[1].strip("\"'"))
        rest = rest[found.end() :].lstrip()
        if not rest.startswith("{"):
            return _value(path, rest)
        found, rest, path = _in_braces(rest, path)
    if rest.startswith("{"):
        _, rest, path = _in_braces(rest, path)
    return CursorPlace(path, is_value=False, word=rest.lstrip("\"'"), is_quoted=rest[:1] in ("'", '"'))


def _value(path: tuple[str, ...], rest: str) -> CursorPlace:
    """A value after its key; of a list in brackets, its last item."""
    if rest.startswith("["):
        path, rest = (*path, ITEM), re.split(r"[\[,]", rest)[-1].lstrip()
    return CursorPlace(path, is_value=True, word=rest.lstrip("\"'"), is_quoted=rest[:1] in ("'", '"'))


def _in_braces(rest: str, path: tuple[str, ...]) -> tuple[re.Match[str] | None, str, tuple[str, ...]]:
    """The last member of a mapping in braces, as far as it is typed."""
    member = re.split(r"[{,]", rest)[-1].lstrip() if rest.count("{") == 1 else rest[1:].lstrip()
    return _KEY.match(member), member, path


def _unlisted(line: str) -> tuple[int, str, tuple[str, ...]]:
    """The column of what follows the indentation and dashes of a line, that text, and a step for each dash."""
    found = re.match(r"[ ]*((?:-[ ]+|-$)*)", line)
    assert found is not None  # noqa: S101 (it matches the empty text)
    dashes = found[1].count("-")
    start = found.start(1) if dashes else found.end()
    return start, line[found.end() :], (ITEM,) * dashes


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
        if key is not None and (column < indent or (is_item and column <= indent and not steps)):
            path.append(key[1].strip("\"'"))
            indent, is_item = column, False
        if steps and start < indent:
            path.extend(steps)
            indent, is_item = start, True
        if indent <= 0 and not is_item:
            break
    return tuple(reversed(path))


def place_in_toml(text: TextPositions, line: int, column: int) -> CursorPlace | None:
    """The place of a cursor in TOML; None in a comment or a header that is complete."""
    before = _line(text, line)[:column]
    bare = _QUOTED.sub("", before)
    if "#" in bare.partition('"')[0]:
        return None
    if re.match(r"[ \t]*\[\[?[\w.\"-]*$", before) and not _open_list(text, line):
        return CursorPlace((), is_value=False, word=before.strip().lstrip("["), is_header=True)
    table = _table_above(text, line)
    setting = _SETTING.match(before)
    if setting is None:
        key = _open_list(text, line)
        if key is None:
            return CursorPlace(table, is_value=False, word=before.strip().lstrip('"'))
        return _toml_value((*table, key, ITEM), re.split(r",", before)[-1])
    key, rest = setting[1].strip('"'), setting[2]
    if rest.startswith("["):
        return _toml_value((*table, key, ITEM), re.split(r"[\[,]", rest)[-1])
    return _toml_value((*table, key), rest)


def _toml_value(path: tuple[str, ...], rest: str) -> CursorPlace:
    rest = rest.lstrip()
    return CursorPlace(path, is_value=True, word=rest.lstrip("\"'"), is_quoted=rest[:1] in ("'", '"'))


def _table_above(text: TextPositions, line: int) -> tuple[str, ...]:
    for number in range(line - 1, max(-1, line - 1 - MOST_LINES), -1):
        found = _TABLE.match(_line(text, number))
        if found is not None and (found[1] == "[[" or not _open_list(text, number)):
            keys = tuple(part.strip().strip('"') for part in found[2].split("."))
            return (*keys, ITEM) if found[1] == "[[" else keys
    return ()


def _open_list(text: TextPositions, line: int) -> str | None:
    """The key of a list that starts above a line and is not closed there; None if there is none."""
    for number in range(line - 1, max(-1, line - 200), -1):
        written = _QUOTED.sub("", _line(text, number)).partition("#")[0]
        if "]" in written:
            return None
        found = _SETTING.match(written)
        if found is not None:
            return found[1].strip('"') if found[2].startswith("[") else None
    return None


def _line(text: TextPositions, number: int) -> str:
    return text.line(number)[:LONGEST_LINE]
