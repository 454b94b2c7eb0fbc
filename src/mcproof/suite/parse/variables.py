"""Substitute `${NAME}` in a suite: its own variables first, then the environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connect import INHERITED
from mcproof.suite.saved_values import WRITTEN, marked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.core.text.yaml_document import Node

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_VARIABLE = re.compile(r"\$(\$)?\{([^{}]*+)\}")
_PARTS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)(?::-(.*))?", re.DOTALL)
FOLDER = "CONFIG_DIR"
"""Predefined variable: the folder of the suite."""
MOST_CHARACTERS = 4_000_000
"""Maximum number of characters after substitution."""


class SubstitutionContext:
    """The environment, and how much text substitution has produced."""

    def __init__(self, environment: Mapping[str, str] | None, secrets: list[str]) -> None:
        self.environment = environment
        """None if nothing will be started; then references to the environment are left as they are."""
        self.secrets = secrets
        """Collects values from the environment."""
        self.size = 0


class Substitution(NamedTuple):
    """Substitutes the variables of one file."""

    variables: Mapping[str, Any]
    """The variables of the suite: strings, numbers, booleans or null."""
    context: SubstitutionContext
    complain: Callable[[Node, str], None]

    def apply(self, root: Node) -> Node:
        """Return the tree with all variables substituted. Recursion is safe: the depth of trees is limited."""
        return self._apply(root, {})

    def _apply(self, node: Node, done: dict[int, Node]) -> Node:
        value = node.value
        if isinstance(value, str):
            return node._replace(value=self._text(node, value), is_substituted=True) if "${" in value else node
        if not isinstance(value, dict | list):
            return node
        known = done.get(id(value))
        if known is None:
            children: Any
            if isinstance(value, dict):
                children = {key: self._apply(member, done) for key, member in value.items()}
            else:
                children = [self._apply(item, done) for item in value]
            known = done[id(value)] = node._replace(value=children)
        return node._replace(value=known.value)

    def _text(self, node: Node, text: str) -> Any:
        whole = _VARIABLE.fullmatch(text)
        parts = _PARTS.fullmatch(whole[2]) if whole is not None and not whole[1] else None
        if parts is not None and parts[1] in self.variables:
            return self.variables[parts[1]]  # a whole-value reference keeps its type
        if self.context.size > MOST_CHARACTERS:
            return ""
        substituted = _VARIABLE.sub(lambda found: self._value(node, found), text)
        self.context.size += len(substituted)
        if self.context.size > MOST_CHARACTERS:
            self.complain(node, f"more than {MOST_CHARACTERS:,} characters after variable substitution")
            return ""
        return substituted

    def _value(self, node: Node, found: re.Match[str]) -> str:
        if found[1]:  # `$${NAME}` is an escaped `${NAME}`
            return found[0][1:]
        if (saved := WRITTEN.fullmatch(found[2])) is not None:
            return marked(saved[1])
        parts = _PARTS.fullmatch(found[2])
        if parts is None:
            self.complain(node, f"invalid variable `{found[0][:60]}`; write `$${{` for a literal `${{`")
            return found[0]
        name, default = parts[1], parts[2]
        if name in self.variables:
            value = self.variables[name]
            return value if isinstance(value, str) else _as_text(value)
        if self.context.environment is None:
            return found[0]
        if name in self.context.environment:
            value = self.context.environment[name]
            if name not in INHERITED:
                self.context.secrets.append(value)
            return value
        if default is None:
            self.complain(node, f"`${{{name}}}` is not defined in `variables` or the environment")
            return found[0]
        return str(default)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
