"""What a server answered, for tests to look at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN = 1_000


class _Result:
    """An answer as it came; shown without the secrets that the server was given."""

    __slots__ = ("hide", "raw")

    def __init__(self, raw: dict[str, Any], hide: Callable[[str], str]) -> None:
        self.raw = raw
        """The whole `result` of the JSON-RPC answer."""
        self.hide = hide
        """What hides the secrets of the server in a text."""

    def __repr__(self) -> str:
        try:
            shown = self.hide(json.dumps(self.raw, ensure_ascii=False))
        except (RecursionError, ValueError):
            shown = "nested too deeply to be shown"
        return f"{type(self).__name__}({shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}…'})"

    def _list(self, key: str) -> list[Any]:
        found = self.raw.get(key)
        return found if isinstance(found, list) else []


class CallResult(_Result):
    """What a tool gave back."""

    __slots__ = ()

    @property
    def content(self) -> list[Any]:
        """The blocks of content."""
        return self._list("content")

    @property
    def text(self) -> str:
        """The texts in the content, a line each."""
        return _texts(self.content)

    @property
    def structured(self) -> Any:
        """The structured content; None where there is none."""
        return self.raw.get("structuredContent")

    @property
    def is_error(self) -> bool:
        """Whether the tool says that it failed."""
        return self.raw.get("isError") is True


class ReadResult(_Result):
    """What a resource holds."""

    __slots__ = ()

    @property
    def contents(self) -> list[Any]:
        """The contents, each with its URI."""
        return self._list("contents")

    @property
    def text(self) -> str:
        """The texts in the contents, a line each."""
        return _texts(self.contents)


class PromptResult(_Result):
    """What a prompt comes to."""

    __slots__ = ()

    @property
    def messages(self) -> list[Any]:
        """The messages, each with its role."""
        return self._list("messages")

    @property
    def text(self) -> str:
        """The texts in the messages, a line each."""
        return _texts([each.get("content") for each in self.messages if isinstance(each, dict)])


def _texts(blocks: list[Any]) -> str:
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
