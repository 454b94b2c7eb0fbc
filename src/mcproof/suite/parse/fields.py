"""The values in a suite's mappings: each of its kind, or a problem with its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.errors import nearest
from mcproof.suite.definition import Place
from mcproof.suite.parse.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.text.yamltext import Node

SHOWN = 60
"""How much of a word is shown."""
LONGEST_WAIT = 3_600_000
"""A time limit, in milliseconds."""


class Fields(NamedTuple):
    """What reads the values of one file."""

    file: str
    problems: list[Problem]
    environment: Mapping[str, str] | None
    """None where nothing will be started: then what only the environment could know is not missed."""
    secrets: list[str]
    """Takes what came from the environment."""

    def complain(self, node: Node, message: str) -> None:
        """Say what is wrong with a value."""
        self.complain_at((node.line, node.column), message)

    def complain_at(self, place: tuple[int, int], message: str) -> None:
        """Say what is wrong somewhere, at a key for example."""
        self.problems.append(Problem(self.file, *place, message))

    def complain_unknown(self, place: tuple[int, int], kind: str, word: str, known: Iterable[str]) -> None:
        """Say that a word is none of those that there are."""
        self.complain_at(place, unknown(kind, word, known))

    def place(self, node: Node) -> Place:
        return Place(self.file, node.line, node.column)

    def is_open(self, text: str) -> bool:
        """Whether only the environment knows what a text will be, and nobody has asked it."""
        return self.environment is None and "${" in text

    def any_mapping(self, node: Node, what: str) -> dict[str, Node]:
        if isinstance(node.value, dict):
            return node.value
        self.complain(node, f"{what} is a mapping, and this is {node.kind}")
        return {}

    def mapping(self, node: Node, what: str, known: Iterable[str], needed: tuple[str, ...] = ()) -> dict[str, Node]:
        """The members of a mapping that are known; what is unknown or missing is said."""
        members, listed = self.any_mapping(node, what), list(known)
        for key in members:
            if key not in listed:
                self.complain_at(node.keys[key], unknown("key", key, listed, f" in {what}"))
        for key in needed:
            if isinstance(node.value, dict) and key not in members:
                self.complain(node, f"{what} lacks `{key}`")
        return {key: member for key, member in members.items() if key in listed}

    def items(self, node: Node, what: str) -> list[Node]:
        if isinstance(node.value, list):
            return node.value
        self.complain(node, f"{what} is a list, and this is {node.kind}")
        return []

    def text(self, node: Node | None, what: str) -> str:
        """A text that is not empty; else "" and a complaint."""
        if node is None:
            return ""
        if isinstance(node.value, str) and node.value:
            return node.value
        if isinstance(node.value, str):
            self.complain(node, f"{what} is empty")
        else:
            quotes = "; put it in quotes" if isinstance(node.value, int | float) else ""
            self.complain(node, f"{what} is a text, and this is {node.kind}{quotes}")
        return ""

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        items = self.items(node, what) if node is not None else []
        return tuple(text for item in items if (text := self.text(item, f"an item of {what}")))

    def number(self, node: Node | None, what: str, least: int, most: int) -> int | None:
        """A whole number, which a variable may hold as a text."""
        if node is None:
            return None
        value = node.value
        if isinstance(value, str) and node.is_substituted and re.fullmatch("[0-9]{1,59}", value):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        if not (isinstance(value, str) and self.is_open(value)):
            self.complain(node, f"{what} is a whole number from {least:,} to {most:,}")
        return None

    def one_of(self, node: Node | None, what: str, kind: str, known: Iterable[str]) -> str:
        """A word that is one of those that there are; else "" and a complaint."""
        word, listed = self.text(node, what), list(known)
        if node is None or not word or word in listed:
            return word
        if not self.is_open(word):
            self.complain_unknown((node.line, node.column), kind, word, listed)
        return ""

    def from_environment(self, node: Node | None, what: str) -> str:
        """The value of the variable that is named."""
        name = self.text(node, what)
        if node is None or not name:
            return ""
        if self.environment is None:
            return f"${{{name}}}"
        value = self.environment.get(name)
        if value is None:
            self.complain(node, f"the environment variable {name[:SHOWN]} is not set")
            return ""
        self.secrets.append(value)
        return value


def unknown(kind: str, word: str, known: Iterable[str], where: str = "") -> str:
    """What to say of a word that is none of those that there are."""
    listed = list(known)
    return f"unknown {kind} `{word[:SHOWN]}`{where}{nearest(word, listed)}; there are {', '.join(listed)}"
