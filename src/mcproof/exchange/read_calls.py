"""Calls of read-only tools with arguments that their schemas accept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_RULE = "active_probe_read_tools_honor_their_schema"


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
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        return {_RULE: self.why_none} if self.why_none else {}

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The other rules that could not be judged, with the reason."""
        return {} if self.calls or self.why_none else {_RULE: "the server was not reached again"}
