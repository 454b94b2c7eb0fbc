"""Calls of read-only tools with arguments that their schemas accept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class ReadCall(NamedTuple):
    """One call of a tool."""

    tool: str
    outcome: str
    """`accepted`, `tool_error` (`isError`), `rejected` (a JSON-RPC error) or `no_response`."""
    detail: str = ""
    """The error, without secrets."""


class ReadCalls(NamedTuple):
    """The calls of a deep scan."""

    calls: tuple[ReadCall, ...] = ()
    why_none: str = ""
    """Why no tool was called."""

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be observed, with the reason."""
        reason = self.why_none or "no tool could be called"
        return {} if self.calls else {"active_probe_read_tools_honor_their_schema": reason}
