"""The hostile calls of one tool: each puts one attack into one string argument of a valid call."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from mcproof.core.schema.validation import Oracle
from mcproof.core.text.english import words_of
from mcproof.core.text.json_positions import escape
from mcproof.generation.mutation_points import Path, label_of, mutation_points, with_value
from mcproof.generation.valid_values import ValueBuilder
from mcproof.prove.hostile.attacks import CHAIN_LENGTHS, FAMILIES, TABLES, path_attacks
from mcproof.prove.hostile.traps import NESTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.core.catalog.model import Tool
    from mcproof.generation.mutation_points import MutationPoint
    from mcproof.prove.hostile.attacks import Attack, AttackFamily

MOST_ARGUMENTS = 12
"""How many string arguments of a tool are attacked."""
_LONGEST_PREFIX = 200
"""The longest valid value that attacks are appended to."""
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}")
_FILE_WORDS = frozenset(
    {"attachment", "config", "dir", "directories", "directory", "doc", "docs", "document", "documents", "file"}
    | {"filename", "filenames", "filepath", "files", "folder", "folders", "image", "images", "location", "log", "logs"}
    | {"markdown", "note", "notes", "page", "pages", "path", "paths", "project", "report", "resource", "root"}
    | {"script", "source", "template", "templates", "uri", "url", "workspace"}
)
_URL_WORDS = frozenset(
    {"address", "api", "callback", "domain", "endpoint", "feed", "host", "hostname", "href", "hook", "image", "link"}
    | {"origin", "page", "proxy", "server", "site", "source", "target", "uri", "url", "urls", "web", "webhook"}
    | {"webpage", "website"}
)
_URL_FORMATS = frozenset({"uri", "uri-reference", "iri", "iri-reference", "url", "hostname", "idn-hostname"})
_SQL = re.compile(r"(?i)\bsql\b|\bselect\b.{0,200}\bfrom\b|^\s{0,9}(?:select|with|insert|update|delete|create)\b")


class StringArgument(NamedTuple):
    """A string inside the arguments of a call."""

    path: Path
    value: str
    """Its valid value."""
    label: str
    """Its name in messages: `filter.names[0]`."""
    words: frozenset[str]
    """The words of its name, its description and the name of the tool."""
    about: str
    """Its description."""
    formats: tuple[str, ...]

    @property
    def schema_pointer(self) -> str:
        """The pointer, inside the tool, to the top-level parameter."""
        return f"/inputSchema/properties/{escape(str(self.path[0]))}"


class HostileCase(NamedTuple):
    """One hostile call, with placeholders."""

    family: AttackFamily
    argument: StringArgument
    arguments: dict[str, Any]
    base: dict[str, Any]
    """The valid arguments that contain the argument."""
    description: str

    @property
    def text(self) -> str:
        """What the argument is, with placeholders."""
        found: Any = self.arguments
        for token in self.argument.path:
            found = found[token]
        return str(found)

    def with_text(self, text: str) -> dict[str, Any]:
        """The valid arguments with another text for the argument."""
        changed: dict[str, Any] = with_value(self.base, self.argument.path, text)
        return changed


class ToolAttacks:
    """The hostile calls of one tool that its schema allows."""

    def __init__(self, tool: Tool, base: dict[str, Any], fill: Callable[[Any], Any], folders: int) -> None:
        self._tool = tool
        self._fill = fill
        self._folders = folders
        schema = tool.schema if tool.schema is not None else {}
        self._oracle = Oracle(schema)
        self._points = (
            [] if self._oracle.problem is not None else mutation_points(ValueBuilder(schema, self._oracle), base)
        )
        strings = {point.path: point for point in reversed(self._points) if _takes_text(point)}
        self._strings = [point for point in self._points if strings.get(point.path) is point]
        self.left_out = max(0, len(self._strings) - MOST_ARGUMENTS)
        """How many string arguments are too many to be attacked."""

    @property
    def problem(self) -> str | None:
        """Why there are no cases; None if there may be some."""
        return self._oracle.problem

    def cases(self) -> Iterator[list[HostileCase]]:
        """Yield the cases of each argument and family, as far as the schema allows them."""
        for point in self._strings[:MOST_ARGUMENTS]:
            argument = self._argument(point)
            for family in FAMILIES:
                found = [self._first_allowed(group, argument, point) for group in self._attacks(family, argument)]
                distinct = {case.text: case for case in found if case is not None}
                if distinct:
                    yield list(distinct.values())
        yield from ([case] for case in self._nested())

    def _argument(self, point: MutationPoint) -> StringArgument:
        value = point.value if isinstance(point.value, str) else ""
        name = next((token for token in reversed(point.path) if isinstance(token, str)), "")
        schema = self._tool.parameters.get(str(point.path[0]))
        description = schema.get("description") if isinstance(schema, dict) else None
        about = description if isinstance(description, str) else ""
        words = {*words_of(name), *words_of(about[:1_000]), *words_of(self._tool.name)}
        return StringArgument(
            path=point.path,
            value=value[:_LONGEST_PREFIX],
            label=label_of(point.path),
            words=frozenset(words),
            about=about,
            formats=tuple(point.constraints.string.formats),
        )

    def _attacks(self, family: AttackFamily, argument: StringArgument) -> list[tuple[Attack, ...]]:
        """The attacks of a family; of those in one tuple the first that the schema allows is sent."""
        if family == "path_traversal":
            return self._paths(argument)
        if family == "sql_injection" and _is_sql(argument):
            return []
        if family == "request_forgery" and not _is_address(argument):
            return []
        return [(attack,) for attack in TABLES[family]]

    def _paths(self, argument: StringArgument) -> list[tuple[Attack, ...]]:
        folder, name = os.path.split(argument.value)
        extension = os.path.splitext(name)[1]
        extension = extension if _EXTENSION.fullmatch(extension) else ""
        is_likely = bool(argument.words & _FILE_WORDS) or "/" in argument.value or bool(extension)
        tables = [path_attacks(extension, folder, self._folders, depth) for depth in CHAIN_LENGTHS]
        return [rows for rows in zip(*tables, strict=True) if is_likely or not rows[0].is_thorough]

    def _first_allowed(
        self, attacks: tuple[Attack, ...], argument: StringArgument, point: MutationPoint
    ) -> HostileCase | None:
        """The case of the first attack that the schema allows."""
        for attack in attacks:
            factor = 10_000 + crc32(f"{self._tool.name}\n{argument.label}\n{attack.text}".encode()) % 90_000
            text = attack.text.replace("<value>", argument.value).replace("<factor>", str(factor))
            arguments = with_value(point.arguments, point.path, text)
            try:
                is_allowed = self._oracle.accepts(self._fill(arguments))
            except LookupError:  # there is no such trap
                return None
            if is_allowed:
                description = f"`{argument.label}` {attack.description}"
                return HostileCase(attack.family, argument, arguments, point.arguments, description)
        return None

    def _nested(self) -> Iterator[HostileCase]:
        """Deeply nested lists, for the first value that allows them."""
        shallow: Any = [[[[[[]]]]]]
        for point in self._points:
            if point.path and self._oracle.accepts(with_value(point.arguments, point.path, shallow)):
                arguments = with_value(point.arguments, point.path, NESTED)
                argument = self._argument(point)
                yield HostileCase("hostile_text", argument, arguments, point.arguments, f"{point.label} nested deeply")
                return


def _is_sql(argument: StringArgument) -> bool:
    """Whether an argument is SQL on purpose, so that an error about its syntax shows nothing."""
    return "sql" in words_of(argument.label) or bool(_SQL.search(argument.about) or _SQL.match(argument.value))


def _is_address(argument: StringArgument) -> bool:
    return bool(argument.words & _URL_WORDS or _URL_FORMATS.intersection(argument.formats)) or "://" in argument.value


def _takes_text(point: MutationPoint) -> bool:
    """Whether a value may be any text, as opposed to one of a list."""
    return bool(point.path) and "string" in point.constraints.types and point.constraints.values is None
