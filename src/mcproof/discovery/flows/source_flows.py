"""Facts about source: the flows from parameters of tools to dangerous calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.discovery.locations import FlowStep, SourceLocation


class SourceFlow(NamedTuple):
    """A parameter of a tool that reaches a dangerous call without a check."""

    kind: str
    """The kind of use, as in `sink_tables`."""
    parameters: tuple[str, ...]
    """The parameters that reach the call, the most direct first."""
    tools: tuple[str, ...]
    """The tools from which the call is reached; empty if unknown."""
    call: str
    """The dangerous call: `subprocess.run`."""
    function: str
    """The function that contains the place to change."""
    location: SourceLocation
    """The place to change: the call, or the text that becomes a query."""
    steps: tuple[FlowStep, ...]
    """From the parameter to the call, which is the last step."""
    further: tuple[FlowStep, ...] = ()
    """More calls of the same kind in the same function, with the same parameters."""
    is_exposed: bool = False
    """Whether the source serves the tool over HTTP without authentication."""


class SourceFlows(NamedTuple):
    """All flows of one server."""

    flows: tuple[SourceFlow, ...]
    unobserved: Mapping[str, str] = {}
    """Why single rules were not checked, by their ids."""
    incomplete: tuple[str, ...] = ()
    """Tools whose source was too large to follow."""
