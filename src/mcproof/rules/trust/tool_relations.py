"""Rules on what tools say about each other, and on tools of other servers with almost the same names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.text_problems import escaped, quoted
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog


def _pair(evidence: dict[str, Any]) -> str:
    return f"{evidence['source']}\0{evidence['target']}"


@trust_rule(
    "TRU-109",
    name="commands-another-tool",
    severity="info",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    in_lint=True,
    sums_up=_pair,
)
def commands_another_tool(catalog: Catalog) -> Iterator[Problem]:
    """The description of a tool obliges the model to use, or not to use, another tool of the server.

    Workflow hints, such as "use `list_projects` to get the id", are edges of the tool graph and not reported. Only the
    graph of all tools shows whether such commands make sense; they never change the verdict.

    Why: poisoned tools work this way, and so do honest ones that depend on each other; a reviewer should know them.
    Fix: describe what the tool needs, and leave the choice of tools to the model.

    OWASP MCP03; SAFE-T1402.
    """
    from mcproof.poisoning.tool_graph import commanding_edges

    tools = {tool.name: tool for tool in reversed(catalog.tools)}
    for edge in commanding_edges(catalog):
        evidence = {"source": edge.source, "target": edge.target, "kind": edge.kind, "sentence": escaped(edge.sentence)}
        message = f"commands the model about the tool `{escaped(edge.target, 64)}`: {quoted(edge.sentence)}"
        yield Problem(message, edge.pointer, evidence=evidence, item=tools[edge.source])


def _pairs(evidence: dict[str, Any]) -> str:
    names = sorted(f"{pair['toolName']}\0{pair['otherName']}" for pair in evidence["pairs"])
    return "\0\0".join((evidence["server"], *names))


@trust_rule(
    "TRU-120",
    name="shadows-known-tool",
    severity="medium",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    in_lint=True,
    needs="neighbours",
    sums_up=_pairs,
)
def shadows_known_tool(catalog: Catalog) -> Iterator[Problem]:
    """A tool has the name of a tool of another server in the same client configuration, or almost that name.

    Names are compared without case, separators and lookalike letters; long names may differ in one character. Each
    server is compared with those before it in the configuration.

    Why: a model that sees both may call the wrong one; a server can take over calls that are meant for another.
    Fix: remove one of the servers from the configuration, or disable the tool in one of them.

    OWASP MCP03; SAFE-T1001.
    """
    from mcproof.catalog.similar_names import similar_names

    names = [tool.name for tool in catalog.tools if tool.name]
    for neighbour in catalog.neighbours:
        pairs = similar_names(names, neighbour.tools)
        if pairs:
            shown = ", ".join(
                f"`{escaped(name, 64)}`" if name == other else f"`{escaped(name, 64)}` (there `{escaped(other, 64)}`)"
                for name, other in pairs[:3]
            )
            more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
            evidence = {
                "server": neighbour.server,
                "pairs": [{"toolName": name, "otherName": other} for name, other in pairs],
            }
            message = f"has tools named like those of {neighbour.server}: {shown}{more}"
            yield Problem(message, evidence=evidence)
