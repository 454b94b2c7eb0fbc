"""`${NAME}` in a suite: variables of its own first, then the environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connect import INHERITED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.text.yamltext import Node

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_VARIABLE = re.compile(r"\$(\$)?\{([^{}]*+)\}")
_PARTS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)(?::-(.*))?", re.DOTALL)
FOLDER = "CONFIG_DIR"
"""The folder of the suite, which every suite knows."""
MOST = 4_000_000
"""How many characters may come of filling in, all in all; no suite is larger."""


class Filling:
    """What is known outside of a suite, and how much has come of filling it in."""

    def __init__(self, environment: Mapping[str, str] | None, secrets: list[str]) -> None:
        self.environment = environment
        """None where nothing will be started: then what only the environment could know is left as it is."""
        self.secrets = secrets
        """Takes what came from the environment."""
        self.size = 0


class Filler(NamedTuple):
    """What fills the variables of one file in."""

    variables: Mapping[str, Any]
    """Those of the suite, whose values may be of any simple kind."""
    filling: Filling
    complain: Callable[[Node, str], None]

    def filled(self, root: Node) -> Node:
        """The same tree with every variable filled in; trees are never deep, so this may recurse."""
        return self._filled(root, {})

    def _filled(self, node: Node, done: dict[int, Node]) -> Node:
        value = node.value
        if isinstance(value, str):
            return node._replace(value=self._text(node, value), is_substituted=True) if "${" in value else node
        if not isinstance(value, dict | list):
            return node
        known = done.get(id(value))
        if known is None:
            children: Any
            if isinstance(value, dict):
                children = {key: self._filled(member, done) for key, member in value.items()}
            else:
                children = [self._filled(item, done) for item in value]
            known = done[id(value)] = node._replace(value=children)
        return node._replace(value=known.value)

    def _text(self, node: Node, text: str) -> Any:
        whole = _VARIABLE.fullmatch(text)
        parts = _PARTS.fullmatch(whole[2]) if whole is not None and not whole[1] else None
        if parts is not None and parts[1] in self.variables:
            return self.variables[parts[1]]  # a number stays a number where nothing stands around it
        if self.filling.size > MOST:
            return ""
        filled = _VARIABLE.sub(lambda found: self._value(node, found), text)
        self.filling.size += len(filled)
        if self.filling.size > MOST:
            self.complain(node, f"more than {MOST:,} characters once all variables are filled in")
            return ""
        return filled

    def _value(self, node: Node, found: re.Match[str]) -> str:
        if found[1]:  # `$${NAME}` is how to write what is no variable
            return found[0][1:]
        parts = _PARTS.fullmatch(found[2])
        if parts is None:
            self.complain(node, f"`{found[0][:60]}` is no variable; write `$${{` for a text that only looks like one")
            return found[0]
        name, default = parts[1], parts[2]
        if name in self.variables:
            value = self.variables[name]
            return value if isinstance(value, str) else _spelt(value)
        if self.filling.environment is None:
            return found[0]
        if name in self.filling.environment:
            value = self.filling.environment[name]
            if name not in INHERITED:
                self.filling.secrets.append(value)
            return value
        if default is None:
            self.complain(node, f"`${{{name}}}` is neither among the `variables` nor in the environment")
            return found[0]
        return str(default)


def _spelt(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
