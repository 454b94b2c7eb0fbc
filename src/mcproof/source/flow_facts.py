"""Flows as facts, in any language: which arguments carry no free text, which tools reach a use, what is one fact."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from mcproof.source.flow_marks import is_strict_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.core.observations.source import SourceFlow

_MINOR_CALLS = frozenset(("mkdir", "makedirs", "listdir", "walk", "glob", "iterdir", "scandir", "mkdirSync", "readdir"))
"""Calls on a path that say less than reading or writing a file."""


def plain_arguments(tools: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The names of arguments that are numbers or choices in every tool that has them."""
    bounded: set[str] = set()
    free: set[str] = set()
    for tool in tools:
        for name, member in _properties(tool).items():
            (bounded if _is_plain(member) else free).add(name)
    return frozenset(bounded - free)


def _properties(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _is_plain(schema: Any) -> bool:
    """Whether a schema allows only numbers, truth values or a choice of constants."""
    if not isinstance(schema, dict):
        return False
    if "enum" in schema or "const" in schema or schema.get("type") in ("integer", "number", "boolean", "null"):
        return True
    if isinstance(schema.get("pattern"), str):
        return is_strict_pattern(schema["pattern"])
    choices = schema.get("anyOf")
    return isinstance(choices, list) and bool(choices) and all(map(_is_plain, choices))


def tools_of(
    cases: Iterable[str], parameter: str, tools: list[Mapping[str, Any]], excluded: Iterable[str] = ()
) -> tuple[str, ...]:
    """The tools of a common handler that reach a use: by the names that it compares, else by the argument."""
    named = set(cases)
    names = [str(tool["name"]) for tool in tools if isinstance(tool.get("name"), str)]
    if chosen := [name for name in names if name in named]:
        return tuple(chosen)
    others = set(excluded)
    with_parameter = (str(tool.get("name")) for tool in tools if parameter in _properties(tool))
    return tuple(name for name in with_parameter if name not in others)


def one_for_each_fact(flows: Iterable[SourceFlow]) -> list[SourceFlow]:
    """Flows in which further calls of the same kind, from a parameter of the same name, are part of the first.

    A server whose tools all open `path` has made one decision, and a maintainer reads about it once.
    """
    groups: dict[Any, list[SourceFlow]] = {}
    for flow in sorted(flows, key=lambda flow: (*flow.location[:3], flow.kind)):
        groups.setdefault((flow.kind, flow.parameters[0], flow.is_used, flow.switch), []).append(flow)
    first_flows = []
    for group in groups.values():
        first = next((flow for flow in group if flow.call.rpartition(".")[2] not in _MINOR_CALLS), group[0])
        ordered = [first, *(flow for flow in group if flow is not first)]
        names = zip(*((flow.parameters, flow.tools, flow.others) for flow in ordered), strict=True)
        parameters, tools, others = (tuple(dict.fromkeys(chain.from_iterable(lists))) for lists in names)
        further = tuple(flow.steps[-1] for flow in ordered[1:])
        first_flows.append(first._replace(parameters=parameters, tools=tools, others=others, further=further))
    return first_flows
