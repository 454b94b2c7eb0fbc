"""JSON pointers: their syntax (RFC 6901), the values they lead to, and their offsets in a text.

`scan` finds all wanted pointers in one pass: it steps into the containers it needs, and the C scanner skips the
rest. Lines and columns are computed in `json_document`.
Why positions are computed on demand: docs/decisions/0016-positions-on-demand.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from json.scanner import make_scanner
from typing import Any

from mcproof.core.named_tuple import NamedTuple

Pointer = str
"""A JSON pointer (RFC 6901): `/tools/0/inputSchema`; the empty string is the whole document."""


def escape(token: str) -> str:
    """Escape a key for use in a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def unescape(token: str) -> str:
    """The key that a pointer token stands for."""
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def resolve(document: Any, pointer: Pointer) -> Any:
    """The value at a pointer. Raises LookupError if there is none."""
    value = document
    for token in pointer.split("/")[1:]:
        if isinstance(value, list):
            if not _is_index(token):
                raise LookupError(pointer)
            value = value[int(token)]
        elif isinstance(value, dict):
            value = value[unescape(token)]
        else:
            raise LookupError(pointer)
    return value


def _is_index(text: str) -> bool:
    """Whether a token is an array index (RFC 6901): decimal digits without a leading zero."""
    return text == "0" or (text[:1] in "123456789" and text.isascii() and text.isdigit() and len(text) < 16)


_space: Callable[[str, int], re.Match[str]] = re.compile(r"[ \t\n\r]*").match  # type: ignore[assignment]
# Nearly all keys have no escapes, and are compared without decoding them.
_plain_key = re.compile(r'[ \t\n\r]*+"([^"\\]*+)"[ \t\n\r]*+:[ \t\n\r]*+').match
_escaped_key: Callable[[str, int], re.Match[str]] = re.compile(  # type: ignore[assignment]
    r'[ \t\n\r]*+"((?:[^"\\]|\\.)*+)"[ \t\n\r]*+:[ \t\n\r]*+'
).match
# Skipped values are discarded, so they are built cheaply, and integers of any length are accepted.
_skip_value = make_scanner(JSONDecoder(object_pairs_hook=len, parse_int=float))  # type: ignore[arg-type]
_new = tuple.__new__
"""Builds a named tuple faster than a call of its class; used where there is one for each finding."""


class Span(NamedTuple):
    """The offsets of a value: of its key (or -1), of its first character, and after its last."""

    key: int
    start: int
    end: int

    @property
    def anchor(self) -> int:
        """The offset to show: a member's key, or the first character of any other value."""
        return self.start if self.key < 0 else self.key


class Member(NamedTuple):
    """A member of an object: its key, and the offsets of key and value."""

    name: str
    key: int
    key_end: int
    start: int
    end: int


class Layout(NamedTuple):
    """The formatting of an object's last member, for writing another like it."""

    before_key: str
    colon: str
    value_end: int
    close: int


class Wanted(dict[str, "Wanted"]):
    """The values a scan looks for, as a tree of pointer tokens; the scan fills in spans and layouts.

    One per finding, so the defaults are class attributes.
    """

    span: Span | None = None
    layout: Layout | None = None
    needs_layout = False
    entered = False

    def child(self, key: str) -> Wanted:
        node = self.get(key)
        if node is None:
            node = self[key] = Wanted()
        return node

    def forget(self) -> None:
        """Drop the results of an earlier member with the same key: the parser keeps the last one."""
        stack = [self]
        while stack:
            node = stack.pop()
            node.span = node.layout = None
            if node.entered:  # otherwise nothing below has been found
                node.entered = False
                stack.extend(node.values())


def wanted_tree(pointers: Iterable[Pointer]) -> dict[Pointer, Wanted]:
    """The node of each pointer, in one tree; its root is the node of the empty pointer."""
    nodes = {"": Wanted()}
    for pointer in pointers:
        missing = []
        at = pointer
        while at not in nodes:
            missing.append(at)
            at = at[: at.rindex("/")]
        node = nodes[at]
        for step in reversed(missing):
            node = nodes[step] = node.child(unescape(step[len(at) + 1 :]))
            at = step
    return nodes


def scan(text: str, root: Wanted, *, last_wins: bool) -> None:
    """Fill in every span and layout below `root`. The text must be valid JSON.

    One iteration per member of a container in which something is wanted; any other value is skipped in one call.
    Iterative, so any depth works; the state of the innermost container is in local variables, because runs with many
    findings spend most of their time here.
    """
    # A stack instead of recursion: documents may be nested deeper than calls of Python.
    outer: list[tuple[Wanted, int, int, int, bool, int, re.Match[str] | None, int]] = []
    holder, holder_key, holder_start, index, is_object = Wanted(), -1, -1, 0, False
    wanted: Wanted | None = root
    key_before: re.Match[str] | None = None
    start, separator_end, end = _space(text, 0).end(), 0, -1
    while True:
        if wanted is not None:  # else the value has been skipped already
            if last_wins:
                wanted.forget()
            key = -1 if key_before is None else key_before.start(1) - 1
            if (wanted or wanted.needs_layout) and text[start] in "{[" and _is_filled(text, start):
                outer.append((holder, holder_key, holder_start, index, is_object, separator_end, key_before, start))
                holder, holder_key, holder_start, index, is_object = wanted, key, start, 0, text[start] == "{"
                holder.entered = True
                separator_end = start + 1
                end = -1
            else:
                end = _skip_value(text, start)[1]
                wanted.span = _new(Span, (key, start, end))

        while end >= 0:  # a value has ended, and perhaps the containers around it
            if not outer:
                return
            at = end if text[end] == "," else _space(text, end).end()
            if text[at] == ",":
                separator_end = at + 1
                index += 1
                break
            holder.span = _new(Span, (holder_key, holder_start, at + 1))
            if holder.needs_layout and key_before is not None:
                before_key, colon = text[separator_end : key_before.start(1) - 1], text[key_before.end(1) + 1 : start]
                if not before_key and " " in colon and text[separator_end - 1] == "{":
                    before_key = " "  # a single member does not show the separator
                holder.layout = Layout(before_key, colon, end, at)
            holder, holder_key, holder_start, index, is_object, separator_end, key_before, start = outer.pop()
            end = at + 1

        if is_object:
            while True:  # to the next wanted member, or to the end of a value that no comma follows directly
                key_before = _plain_key(text, separator_end)
                if key_before is not None:
                    token = key_before[1]
                else:
                    key_before = _escaped_key(text, separator_end)
                    token = scanstring(text, key_before.start(1))[0]
                start = key_before.end()
                wanted = holder.get(token)
                if wanted is not None:
                    break
                end = _skip_value(text, start)[1]
                if text[end] != ",":
                    break
                separator_end = end + 1
        else:
            key_before, start = None, _space(text, separator_end).end()
            wanted = holder.get(str(index))
            if wanted is None:
                end = _skip_value(text, start)[1]


def _is_filled(text: str, start: int) -> bool:
    """Whether the container that starts here is not empty."""
    return text[_space(text, start + 1).end()] not in "}]"


def members_at(text: str, start: int) -> list[Member]:
    """The members of the object that starts here, in order."""
    members: list[Member] = []
    at = start + 1
    while _is_filled(text, at - 1):
        member = _escaped_key(text, at)
        name = scanstring(text, member.start(1))[0]
        end = _skip_value(text, member.end())[1]
        members.append(Member(name, member.start(1) - 1, member.end(1) + 1, member.end(), end))
        at = _space(text, end).end() + 1
        if text[at - 1] == "}":
            break
    return members


def repeated_keys(text: str) -> Iterator[tuple[Pointer, str, Span]]:
    """Find repeated keys in a slow pass over the whole text, needed only if the parser has seen one."""
    token = re.compile(r'[ \t\n\r]*(?:([{}\[\],:])|(")|[^ \t\n\r{}\[\],:"]+)')
    at = 0
    path: list[str] = []
    seen: list[set[str]] = []  # the keys of each open object; unused for arrays
    is_array: list[bool] = []
    key_expected = False
    while match := token.match(text, at):
        at = match.end()
        punctuation = match[1]
        if match[2]:
            start = at - 1
            value, at = scanstring(text, at)
            if key_expected:
                if value in seen[-1]:
                    yield "".join("/" + escape(step) for step in path[:-1]), value, Span(-1, start, at)
                seen[-1].add(value)
                path[-1] = value
                key_expected = False
        elif punctuation == "{":
            seen.append(set())
            is_array.append(False)
            path.append("")
            key_expected = True
        elif punctuation == "[":
            seen.append(set())
            is_array.append(True)
            path.append("0")
        elif punctuation in ("}", "]"):
            seen.pop()
            is_array.pop()
            path.pop()
            key_expected = False
        elif punctuation == ",":
            if is_array[-1]:
                path[-1] = str(int(path[-1]) + 1)
            else:
                key_expected = True
