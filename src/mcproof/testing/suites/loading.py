"""Typed access to the values of a suite: each has the right type, or a problem with its location is recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.errors import nearest
from mcproof.suite.definition import SuiteLocation
from mcproof.suite.parse.problems import SuiteProblem
from mcproof.suite.saved_values import references_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.core.text.yaml_document import Node

SHOWN = 60
"""Maximum length of a word in a message."""
LONGEST_WAIT = 3_600_000
"""Maximum time limit, in milliseconds."""


class Fields(NamedTuple):
    """Reads the values of one file; `what` names a value in messages."""

    file: str
    problems: list[SuiteProblem]
    environment: Mapping[str, str] | None
    """None if nothing will be started; then unset environment variables are not problems."""
    secrets: list[str]
    """Collects values from the environment."""

    def complain(self, node: Node, message: str) -> None:
        """Record a problem with a value."""
        self.complain_at((node.line, node.column), message)

    def complain_at(self, position: tuple[int, int], message: str) -> None:
        """Record a problem at a line and column, such as those of a key."""
        self.problems.append(SuiteProblem(self.file, *position, message))

    def complain_unknown(self, position: tuple[int, int], kind: str, word: str, known: Iterable[str]) -> None:
        """Record a word that is not in `known`."""
        self.complain_at(position, unknown(kind, word, known))

    def location(self, node: Node) -> SuiteLocation:
        return SuiteLocation(self.file, node.line, node.column)

    def is_unresolved(self, text: str) -> bool:
        """Whether a text depends on the environment, and there is none."""
        return self.environment is None and "${" in text

    def any_mapping(self, node: Node, what: str) -> dict[str, Node]:
        if isinstance(node.value, dict):
            return node.value
        self.complain(node, f"{what} must be a mapping, not {node.kind}")
        return {}

    def mapping(self, node: Node, what: str, known: Iterable[str], needed: tuple[str, ...] = ()) -> dict[str, Node]:
        """Return the known members of a mapping; record unknown and missing ones."""
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
        self.complain(node, f"{what} must be a list, not {node.kind}")
        return []

    def text(self, node: Node | None, what: str) -> str:
        """Return a non-empty string; "" if absent or invalid."""
        if node is None:
            return ""
        if isinstance(node.value, str) and (saved := references_in(node.value)):
            self.complain(node, f"`${{steps.{saved[0]}}}` can only be used in `args` and in matchers, not in {what}")
            return ""
        if isinstance(node.value, str) and node.value:
            return node.value
        if isinstance(node.value, str):
            self.complain(node, f"{what} is empty")
        else:
            hint = "; quote it" if isinstance(node.value, int | float) else ""
            self.complain(node, f"{what} must be a string, not {node.kind}{hint}")
        return ""

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        items = self.items(node, what) if node is not None else []
        return tuple(text for item in items if (text := self.text(item, f"an item of {what}")))

    def number(self, node: Node | None, what: str, least: int, most: int) -> int | None:
        """Return an integer in a range; None if absent or invalid. Substituted variables may hold it as text."""
        if node is None:
            return None
        value = node.value
        if isinstance(value, str) and node.is_substituted and re.fullmatch("[0-9]{1,59}", value):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        if not (isinstance(value, str) and self.is_unresolved(value)):
            self.complain(node, f"{what} must be an integer from {least:,} to {most:,}")
        return None

    def flag(self, node: Node | None, what: str) -> bool:
        """Return a boolean; False if absent or invalid. Substituted variables may hold it as text."""
        value = node.value if node is not None else False
        if node is not None and node.is_substituted and value in ("true", "false"):
            value = value == "true"
        if isinstance(value, bool):
            return value
        if node is not None and not (isinstance(value, str) and self.is_unresolved(value)):
            self.complain(node, f"{what} must be true or false")
        return False

    def one_of(self, node: Node | None, what: str, kind: str, known: Iterable[str]) -> str:
        """Return one of the known words; "" if absent or unknown."""
        word, listed = self.text(node, what), list(known)
        if node is None or not word or word in listed:
            return word
        if not self.is_unresolved(word):
            self.complain_unknown((node.line, node.column), kind, word, listed)
        return ""

    def from_environment(self, node: Node | None, what: str) -> str:
        """Return the value of the environment variable named by a node."""
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


_STEPS_SAVE = " (only `steps` can save values: a test has none for other tests)"


def unknown(kind: str, word: str, known: Iterable[str], where: str = "") -> str:
    """Return the message for a word that is not in `known`."""
    listed = list(known)
    hint = _STEPS_SAVE if word == "save" and "steps" in listed else nearest(word, listed)
    return f"unknown {kind} `{word[:SHOWN]}`{where}{hint}; expected one of {', '.join(listed)}"
