"""Secrets that are written in source: by their shape, or random text under the name of a secret."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from mcproof.core.observations.responses import secret_in
from mcproof.core.observations.source import SourceSecret
from mcproof.source.python.flows.source_trees import SourceTree, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAME = re.compile(
    r"(?:^|_)(?:api_?key|secret|secret_?key|client_?secret|access_?key|private_?key|auth_?token|access_?token|password)$",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[A-Za-z0-9+/_=.-]{24,200}")
_WORDS = re.compile(r"[A-Za-z]{6,}|[a-z]+[_.-][a-z]+", re.ASCII)
_INVENTED = re.compile(
    r"example|your|placeholder|change|dummy|fake|test|sample|xxxx|\.\.\.|1234|abcd|todo", re.IGNORECASE
)
_CANDIDATE = re.compile(
    r"(?i:key|secret|token|password)[\"']?\]?[^\n\"']{0,40}[=:,(]\s{0,8}[\"'][A-Za-z0-9+/_=.-]{24,200}[\"']"
)
"""A literal that may be a secret, by its name; parsing every file would take long."""
_PUBLIC = ("phc_", "pk_", "pk-", "pub", "G-", "UA-")
"""The beginnings of keys that are meant to be public, as those of analytics."""
_LEAST_ENTROPY = 3.8
"""Bits for each character; English has less."""
MOST_SECRETS = 20


def source_secrets(trees: Sequence[SourceTree]) -> list[SourceSecret]:
    """Return the secrets in some source, without placeholders, docstrings, tests and examples."""
    found: list[SourceSecret] = []
    for tree in trees:
        found += _in_tree(tree)
        if len(found) >= MOST_SECRETS:
            return found[:MOST_SECRETS]
    return found


def _in_tree(tree: SourceTree) -> Iterator[SourceSecret]:
    if secret_in(tree.text) is None and _CANDIDATE.search(tree.text) is None:
        return
    for node in tree.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or len(node.value) < 16:
            continue
        parent = tree.parents.get(node)
        if isinstance(parent, ast.Expr | ast.JoinedStr | ast.Compare):
            continue
        shown = secret_in(node.value) or _random(node.value, _name_of(node, parent))
        if shown is not None:
            yield SourceSecret(tree.place(node), shown)


def _name_of(node: ast.expr, parent: ast.AST | None) -> str:
    """Return the name that a literal is assigned to, passed as, or listed under; empty if there is none."""
    if isinstance(parent, ast.Assign):
        return last_name(parent.targets[0])
    if isinstance(parent, ast.AnnAssign):
        return last_name(parent.target)
    if isinstance(parent, ast.keyword):
        return parent.arg or ""
    if isinstance(parent, ast.Dict):
        at = next((index for index, value in enumerate(parent.values) if value is node), None)
        key = parent.keys[at] if at is not None else None
        return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    if isinstance(parent, ast.Call) and len(parent.args) > 1 and parent.args[1] is node:  # os.getenv("API_KEY", "…")
        first = parent.args[0]
        return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return ""


def _random(value: str, name: str) -> str | None:
    """Return what may be shown of a literal that is random text under the name of a secret; None for other literals."""
    if (
        value.startswith(_PUBLIC)
        or not _NAME.search(name)
        or _VALUE.fullmatch(value) is None
        or _INVENTED.search(value)
    ):
        return None
    if not any(each.isdigit() for each in value) or not any(each.isalpha() for each in value):
        return None
    longest = max((len(each) for each in _WORDS.findall(value)), default=0)
    if longest > len(value) / 2 or _entropy(value) < _LEAST_ENTROPY:
        return None
    return f"{value[:4]}***"


def _entropy(text: str) -> float:
    """Return the bits of information for each character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
