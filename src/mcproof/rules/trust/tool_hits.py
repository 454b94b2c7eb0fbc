"""Problems of a server that list the tools concerned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcproof.core.catalog.model import Tool

_NAMED = 3


def few(names: Iterable[str], quote: str = "`") -> str:
    """The first names, and how many more there are: "`a`, `b`, `c` and 2 more"."""
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return ", ".join(f"{quote}{name}{quote}" for name in distinct[:_NAMED]) + more


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number != 1 else f"1 {noun}"


def tools_that(tools: Sequence[str], what: str) -> str:
    """A sentence about tools: "2 tools can run code: `a`, `b`"."""
    number = len(dict.fromkeys(tools))
    return f"{counted(number, 'tool' if number == 1 else 'tools')} {what}: {few(tools)}"


def near(tool: Tool) -> str:
    """The pointer of a tool's name in the document, or of the tool if it has none."""
    return tool.pointer + tool.pointer_to("name")


def identity(key: str, *parts: str) -> Callable[[Mapping[str, Any]], str]:
    """Return a function for the identity of a finding: every entry of a list in its evidence, in any order.

    One more tool changes the identity, so that a baseline does not hide it.
    """

    def of(evidence: Mapping[str, Any]) -> str:
        entries = evidence.get(key) or ()
        texts = {"\0".join(str(each[part]) for part in parts) if parts else str(each) for each in entries}
        return "\0\0".join(sorted(texts))

    return of
