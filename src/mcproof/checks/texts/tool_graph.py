"""Which tool's texts name which other tool, and whether they command its use, hint at it or mention it.

A name that is an ordinary word counts only if it is marked as a name.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Literal

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, record
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Tool


EdgeKind = Literal["commands", "hint", "mentions"]
KINDS: tuple[EdgeKind, ...] = ("commands", "hint", "mentions")
"""From the strongest to the weakest."""
MOST_EDGES, MOST_PLACES, LONGEST_TEXT, LONGEST_SENTENCE = 2_000, 5, 50_000, 300

_NAME_CHARACTERS = bytes(code if (chr(code).isalnum() and code < 128) or code in b"_-" else 32 for code in range(256))
_END = r"[.!?](?=\s|$)|\n\s*\n|\n\s*[-*•]|\n(?=[A-Z])"
_CALLS = (
    r"(?i)\b(?:call|calling|use|using|run|running|invoke|invoking|execute|try|prefer|switch to|start with|pass"
    r"|follow(?:ed)? (?:up )?(?:with|by))\b"
)
_OBLIGES = (
    r"(?i)\b(?:must|always|never|shall|have to|has to|do not|don't)\s{1,3}(?:\w{1,20},?\s{1,3}){0,4}"
    r"(?:call|use|run|invoke|execute|using|calling)\b[^.;()→:]{0,60}$"
)


@record()
class ToolEdge(NamedTuple):
    """One tool's text names another tool."""

    source: str
    """The tool whose text it is."""
    target: str
    """The tool that it names."""
    kind: EdgeKind
    """Whether it commands the use of the other tool, hints at it or mentions it."""
    sentence: str
    """The sentence."""
    pointer: str
    """The JSON pointer of the text, from the tool."""


@record()
class ToolGraph(NamedTuple):
    """Which tool's description names which other tool."""

    tools: tuple[str, ...]
    """The names of the tools."""
    edges: tuple[ToolEdge, ...]
    """At most one from a tool to another, the strongest."""
    left_out: Count = 0
    """The number of edges beyond the limit."""

    @property
    def isolated(self) -> list[str]:
        """The tools that name no other and that no other names."""
        named = {name for edge in self.edges for name in (edge.source, edge.target)}
        return [name for name in self.tools if name not in named]


def graph_of(catalog: Catalog) -> ToolGraph:
    """The graph of a catalog's tools, from their descriptions and those of their parameters."""
    names = tuple(dict.fromkeys(tool.name for tool in catalog.tools if tool.name))
    edges: dict[tuple[str, str], ToolEdge] = {}
    left_out = 0
    searched = _Names(names)
    for tool in catalog.tools:
        if not tool.name:
            continue
        for edge in _edges_of(tool, searched):
            key = edge.source, edge.target
            earlier = edges.get(key)
            if earlier is None and len(edges) >= MOST_EDGES:
                left_out += 1
            elif earlier is None or KINDS.index(edge.kind) < KINDS.index(earlier.kind):
                edges[key] = edge
    return ToolGraph(names, tuple(edges.values()), left_out)


def commanding_edges(catalog: Catalog) -> list[ToolEdge]:
    """The edges of the graph that command the use of another tool; faster than the whole graph."""
    searched = _Names(tuple(dict.fromkeys(tool.name for tool in catalog.tools if tool.name)))
    edges: dict[tuple[str, str], ToolEdge] = {}
    for tool in catalog.tools:
        if tool.name:
            for edge in _edges_of(tool, searched, only_commands=True):
                if edge.kind == "commands" and len(edges) < MOST_EDGES:
                    edges.setdefault((edge.source, edge.target), edge)
    return list(edges.values())


def graph_lines(graph: ToolGraph) -> list[str]:
    """The graph as lines of text: each tool that names others, with the sentence for each."""
    lines = []
    for name in dict.fromkeys(edge.source for edge in graph.edges):
        lines.append(name)
        for edge in graph.edges:
            if edge.source == name:
                verb = {"commands": "commands", "hint": "suggests", "mentions": "mentions"}[edge.kind]
                lines.append(f"  {verb} {edge.target}: {edge.sentence}")
    if graph.left_out:
        lines.append(f"{graph.left_out} more edges are left out")
    if graph.isolated and graph.edges:
        count = len(graph.isolated)
        lines.append(f"{count} tool{'s' if count != 1 else ''} without a connection")
    return lines


class _Names:
    """The names to search for. A name that is an ordinary word counts only if it is marked as a name."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._ordinary = {
            name.encode("latin-1", "replace")
            for name in names
            if name.isascii() and name.isalpha() and (name[1:] or name).islower()
        }
        self._all = frozenset(name.encode("latin-1", "replace") for name in names)
        # An empty sign is in every text, so nothing is skipped.
        self._sign, self._other_sign = ("", "") if self._ordinary else _common_signs(self._all)

    def may_be_in(self, text: str) -> bool:
        """Whether a text may have one of the names, by a character that they all have."""
        return self._sign in text or self._other_sign in text

    def in_text(self, text: str) -> Iterator[tuple[str, int]]:
        """The names in a text and the first places of each, in the order of the text."""
        if not self.may_be_in(text):
            return
        words = text.encode("latin-1", "replace").translate(_NAME_CHARACTERS).split()
        hits = []
        for word in self._all.intersection(words):
            name = word.decode("latin-1")
            written = re.escape(name) if word not in self._ordinary else _marked(name)
            places = (match.start() for match in re.finditer(written, text))
            hits += [(offset, name) for offset in islice(places, MOST_PLACES)]
        for offset, name in sorted(hits):
            yield name, offset


def _common_signs(names: frozenset[bytes]) -> tuple[str, str]:
    """Two characters of which every name has one, and most words have none; empty if there are none."""
    for sign, other in (("_", "_"), ("-", "-"), ("_", "-")):
        if all(sign.encode() in name or other.encode() in name for name in names):
            return sign, other
    return "", ""


def _marked(name: str) -> str:
    """An expression for an ordinary word that is marked as the name of a tool, as in `search` or "the search tool"."""
    return rf"[`\"']{name}[`\"'(]|\b{name}\(\)|\b{name} tool\b|\btool {name}\b"


def _edges_of(tool: Tool, names: _Names, *, only_commands: bool = False) -> Iterator[ToolEdge]:
    for parameter, text in _texts_of(tool):
        if not names.may_be_in(text) or (only_commands and not _may_oblige(text)):
            continue
        pointer = "/description" if parameter is None else f"/inputSchema/properties/{escape(parameter)}/description"
        for name, offset in names.in_text(text[:LONGEST_TEXT]):
            if name != tool.name and tool.knows(pointer):
                sentence = _sentence_at(text, offset)
                yield ToolEdge(tool.name, name, _kind_of(sentence, name), sentence, pointer)


def _may_oblige(text: str) -> bool:
    """Whether a text has what `_OBLIGES` matches; written out because every description is tested."""
    lowered = text.lower()
    return (
        "must" in lowered
        or "always" in lowered
        or "never" in lowered
        or "o not" in lowered
        or "on't" in lowered
        or "shall" in lowered
        or "ave to" in lowered
        or "as to" in lowered
    ) and (
        "use" in lowered
        or "using" in lowered
        or "call" in lowered
        or "run" in lowered
        or "invoke" in lowered
        or "execute" in lowered
    )


def _texts_of(tool: Tool) -> list[tuple[str | None, str]]:
    """The description of a tool, and those of its parameters with their names."""
    texts: list[tuple[str | None, str]] = [
        (name, text)
        for name, schema in tool.parameters.items()
        if type(schema) is dict and type(text := schema.get("description")) is str
    ]
    return [(None, tool.description), *texts] if tool.description else texts


def _sentence_at(text: str, at: int) -> str:
    """The sentence around a position, on one line, cut off at a limit."""
    start = max(0, at - LONGEST_SENTENCE)
    end_of_sentence = re.compile(_END)
    for match in end_of_sentence.finditer(text, start, at):
        start = match.end()
    match_after = end_of_sentence.search(text, at, at + LONGEST_SENTENCE)
    end = match_after.start() + 1 if match_after is not None else min(len(text), at + LONGEST_SENTENCE)
    return " ".join(text[start:end].split())


def _kind_of(sentence: str, name: str) -> EdgeKind:
    """How a sentence refers to a tool: obliging the model to use or avoid it, suggesting it, or only naming it."""
    before = sentence[: sentence.find(name)]
    if not re.search(_CALLS, before) and not re.search(_CALLS, sentence[len(before) + len(name) :][:40]):
        return "mentions"
    return "commands" if re.search(_OBLIGES, before[-200:]) else "hint"
