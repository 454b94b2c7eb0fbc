"""Insert entries into the text of a suite, and keep everything else byte for byte, comments included."""

from __future__ import annotations

from typing import Any

from mcproof.core.text.yaml_document import Node, YamlError, decode, json_value, parse


class InsertionError(ValueError):
    """A text that cannot be extended; the message is the reason."""


def with_entry(text: str, key: str, lines: list[str]) -> str:
    """Return the text with an entry at the end of a top-level list or mapping. Raises InsertionError."""
    newline = "\r\n" if "\r\n" in text else "\n"
    root = _parse(text) if text.strip() else None
    node = root.value.get(key) if root is not None and isinstance(root.value, dict) else None
    every = text.splitlines(keepends=True)
    if every and not every[-1].endswith("\n"):
        every[-1] += newline
    if root is None or node is None:
        indented = [f"  {line}" for line in lines]
        added = [*([""] if every and every[-1].strip() else []), f"{key}:", *indented]
        at = len(every)
    else:
        line, _ = root.keys[key]
        indent, at = _indent(every, line), _end(every, line)
        gap = [""] if isinstance(node.value, list) and len(node.value) > 0 else []
        added = [*gap, *(f"{indent}{each}" for each in lines)]
    result = "".join([*every[:at], *(f"{each}{newline}" for each in added), *every[at:]])
    _check(root, _parse(result), key)
    return result


def _parse(text: str) -> Node:
    try:
        return parse(decode(text.encode("utf-8", "surrogateescape")))
    except YamlError as error:
        raise InsertionError(f"cannot be extended: {error.message}") from None


def _indent(every: list[str], line: int) -> str:
    """The indentation of the entries below a key."""
    for each in every[line:]:
        content = each.lstrip(" ")
        if content.strip() and not content.startswith("#"):
            return each[: len(each) - len(content)]
    return "  "


def _end(every: list[str], line: int) -> int:
    """The number of lines up to the last one that belongs to a key at the left margin."""
    end = line
    for number, each in enumerate(every[line:], start=line + 1):
        if each.startswith((" ", "- ", "-\n", "-\r")) and each.strip():
            end = number
        elif each.strip() and not each.startswith("#"):
            break
    return end


def _check(before: Node | None, after: Node, key: str) -> None:
    """Raise InsertionError unless exactly one entry was added, at the end of the key."""
    old: dict[str, Any] = json_value(before) if before is not None else {}
    new: dict[str, Any] = json_value(after)
    entries, others = new.get(key), {name: value for name, value in new.items() if name != key}
    earlier: Any = old.get(key)
    if others == {name: value for name, value in old.items() if name != key} and isinstance(entries, list | dict):
        if isinstance(entries, list) and entries[:-1] == (earlier or []):
            return
        if isinstance(entries, dict) and dict(list(entries.items())[:-1]) == (earlier or {}):
            return
    raise InsertionError(f"`{key}` cannot be extended; it must be in block style")
