"""Facts about source: the flows from parameters of tools to dangerous calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.discovery.locations import FlowStep, SourceLocation

SHELL, PROGRAM, COMMAND, EVAL, SQL = "shell", "program", "command", "eval", "sql"
PATH, PREFIX, URL, ARGUMENT, ATTRIBUTE = "path", "prefix", "url", "argument", "attribute"
"""The kinds of use. `program` is one that the parameter chooses, `command` a program and its arguments in one text."""

RULES = {
    SHELL: "TRU-301",
    EVAL: "TRU-302",
    SQL: "TRU-303",
    PATH: "TRU-304",
    PREFIX: "TRU-305",
    URL: "TRU-306",
    ARGUMENT: "TRU-307",
    ATTRIBUTE: "TRU-308",
}
"""The rule that reports each kind of use."""


class SourceFlow(NamedTuple):
    """A parameter of a tool that reaches a dangerous call without a check."""

    kind: str
    """The kind of use, such as `shell`."""
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
    is_used: bool = True
    """Whether a tool reaches the call; false for a method that no tool calls, of a class that tools use."""


class SourceFlows(NamedTuple):
    """All flows of one server."""

    flows: tuple[SourceFlow, ...]
    incomplete: tuple[str, ...] = ()
    """Tools whose source was too large to follow."""

    @property
    def unobserved(self) -> Mapping[str, str]:
        """Why single rules do not pass although nothing was found, by their ids."""
        if not self.incomplete:
            return {}
        found = {flow.kind for flow in self.flows}
        why = f"the source of `{self.incomplete[0]}` is too large to follow"
        return {rule: why for kind, rule in RULES.items() if kind not in found}
