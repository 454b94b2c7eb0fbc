"""Results of calls, for use in tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN = 1_000


class _Result:
    """A result; its repr hides the secrets of the server."""

    __slots__ = ("hide", "raw")

    def __init__(self, raw: dict[str, Any], hide: Callable[[str], str]) -> None:
        self.raw = raw
        """The `result` of the JSON-RPC response."""
        self.hide = hide
        """Hides the secrets of the server in a text."""

    def __repr__(self) -> str:
        try:
            shown = self.hide(json.dumps(self.raw, ensure_ascii=False))
        except (RecursionError, ValueError):
            shown = "nested too deeply to show"
        return f"{type(self).__name__}({shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}…'})"

    def _list(self, key: str) -> list[Any]:
        found = self.raw.get(key)
        return found if isinstance(found, list) else []


class CallResult(_Result):
    """The result of a tool call."""

    __slots__ = ()

    @property
    def content(self) -> list[Any]:
        """The content blocks."""
        return self._list("content")

    @property
    def text(self) -> str:
        """The text of the content, one line per block."""
        return _texts(self.content)

    @property
    def structured(self) -> Any:
        """The structured content, or None."""
        return self.raw.get("structuredContent")

    @property
    def is_error(self) -> bool:
        """Whether the tool reported an error."""
        return self.raw.get("isError") is True


class ReadResult(_Result):
    """The contents of a resource."""

    __slots__ = ()

    @property
    def contents(self) -> list[Any]:
        """The contents, each with its URI."""
        return self._list("contents")

    @property
    def text(self) -> str:
        """The text of the contents, one line per item."""
        return _texts(self.contents)


class PromptResult(_Result):
    """The messages of a prompt."""

    __slots__ = ()

    @property
    def messages(self) -> list[Any]:
        """The messages, each with its role."""
        return self._list("messages")

    @property
    def text(self) -> str:
        """The text of the messages, one line per message."""
        return _texts([each.get("content") for each in self.messages if isinstance(each, dict)])


def _texts(blocks: list[Any]) -> str:
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


for _public_result in (CallResult, PromptResult, ReadResult):
    _public_result.__module__ = "mcproof.testing"  # the module that users import from, in tracebacks and reprs
