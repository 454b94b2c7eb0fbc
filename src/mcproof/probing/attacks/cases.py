"""The attacks and the calls that carry them: each call has one attack in one string argument of a valid call.

Texts contain placeholders, so that reports and stored failures have no random values; `traps` fills them in when a
call is sent. No attack changes anything: SQL attacks only leave a quote open, and commands only print a product, at
most to a file in the temporary folder of mcproof. `ServerFolders` is where a server may read.
Why harm is excluded: docs/decisions/0030-injections-are-seen.md.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args
from urllib.parse import urlsplit
from zlib import crc32

from mcproof.client.endpoints import CommandEndpoint, Endpoint
from mcproof.core.addresses import is_this_machine
from mcproof.core.catalog.model import Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.validation import Oracle
from mcproof.core.text.english import words_of
from mcproof.core.text.json_positions import escape
from mcproof.probing.attacks.traps import NESTED
from mcproof.probing.generation.mutations import MutationPoint, Path, label_of, mutation_points, value_at, with_value
from mcproof.probing.generation.values import ValueBuilder

AttackFamily = Literal[
    "path_traversal", "command_injection", "sql_injection", "template_injection", "request_forgery", "hostile_text"
]
FAMILIES: tuple[AttackFamily, ...] = get_args(AttackFamily)
"""The families, in the order in which they are sent; each is the `probe` of its records."""

FAMILY_NAMES: dict[str, str] = {
    "path_traversal": "path traversal",
    "command_injection": "command injection",
    "sql_injection": "SQL injection",
    "template_injection": "template injection",
    "request_forgery": "server-side request forgery",
    "hostile_text": "hostile text",
}


class Attack(NamedTuple):
    """One text for an argument."""

    family: AttackFamily
    description: str
    """What the text is, after the name of the argument: "with an open quote"."""
    text: str
    is_thorough: bool = False
    """Whether it is sent only to arguments that suggest its family."""


def _table(family: AttackFamily, *rows: tuple[str, str]) -> tuple[Attack, ...]:
    return tuple(Attack(family, description, text) for description, text in rows)


CHAIN_LENGTHS = (24, 12, 8, 6, 4)
"""How many `..` a path has; the longest that the schema allows is sent. Too many do no harm: `/..` is `/`."""
MOST_FOLDERS = 5
"""How many folders of the server are used in paths."""

_ECHO = "echo mcp$((41*<factor>))proof"
"""The shell computes the product, so that an echo of the text itself proves nothing."""
_PRODUCT = "41*<factor>"

COMMANDS = _table(
    "command_injection",
    ("with a command after `;`", f"<value>; {_ECHO}"),
    ("with `$(…)`", f"<value>$({_ECHO})"),
    ("with a command after `|`", f"<value> | {_ECHO}"),
    ("with a command after `&&`", f"<value> && {_ECHO}"),
    ("with a command after `||`", f"<value> || {_ECHO}"),
    ("with a command after a line break", f"<value>\n{_ECHO}\n"),
    ("with backticks", f"<value>`{_ECHO}`"),
    ("with a closed `'` and a command", f"<value>'; {_ECHO}; '"),
    ('with a closed `"` and a command', f'<value>"; {_ECHO}; "'),
    ("with a command that prints to a file", f"<value>; {_ECHO} | tee <proof file>"),
    ("as a Python expression that starts a shell", f"__import__('os').popen('{_ECHO}').read()"),
    ("as a JavaScript expression that starts a shell", f"require('child_process').execSync('{_ECHO}').toString()"),
)
QUOTES = _table(
    "sql_injection",
    ("with an open `'`", "<value>'"),
    ('with an open `"`', '<value>"'),
    ("with an open `'` and a closed parenthesis", "<value>')"),
    ("with an open backtick", "<value>`"),
    ("with a backslash before the closing quote", "<value>\\"),
)
"""Texts that break the syntax of a statement and are never executed."""
TEMPLATES = tuple(
    Attack("template_injection", f"with `{shown}`", f"mcp{text}proof")
    for shown, text in (
        ("{{…}}", f"{{{{{_PRODUCT}}}}}"),
        ("${…}", f"${{{_PRODUCT}}}"),
        ("<%= … %>", f"<%= {_PRODUCT} %>"),
        ("#{…}", f"#{{{_PRODUCT}}}"),
        ("{…}", f"{{{_PRODUCT}}}"),
        ("@(…)", f"@({_PRODUCT})"),
    )
)
URLS = _table(
    "request_forgery",
    ("as a URL of 127.0.0.1", "http://<listener>/<token>"),
    ("as a URL of localhost", "http://localhost:<listener port>/<token>"),
    ("as a URL of 127.1", "http://127.1:<listener port>/<token>"),
    ("as a URL of 2130706433, which is 127.0.0.1", "http://2130706433:<listener port>/<token>"),
    ("as a URL of an IPv6 address for 127.0.0.1", "http://[::ffff:127.0.0.1]:<listener port>/<token>"),
    ("as a URL of 127.0.0.1 after a user name", "http://example.com@<listener>/<token>"),
    ("as a host and a path", "<listener>/<token>"),
)
HOSTILE_TEXTS = _table(
    "hostile_text",
    ("with a NUL", "<value>\x00"),
    ("with control characters", "<value>\x01\x07\x08\x0b\x0c\x1b[2J\x7f\x85\u2028\u202e"),
    ("with format directives", "%s%n%x{0}{}%(a)s$1"),
    ("with 10,000 characters on a line", "a" * 10_000),
)


TABLES: dict[AttackFamily, tuple[Attack, ...]] = {
    "command_injection": COMMANDS,
    "sql_injection": QUOTES,
    "template_injection": TEMPLATES,
    "request_forgery": URLS,
    "hostile_text": HOSTILE_TEXTS,
}
"""The attacks that are the same for every argument."""


def path_attacks(endings: list[str], valid_folder: str, folders: int, depth: int) -> list[Attack]:
    """The paths out of any folder, with chains of `depth` times `..`.

    They name a file with the first of the endings. Some start at the folder of the valid value, or at one of the
    server's folders.
    """

    def up(step: str, last: str) -> str:
        return step * (depth - 1) + last

    chain, extension = up("../", ".."), endings[0]
    file = f"<marker>{extension}"
    rows = [
        ("as an absolute path", file, False),
        ("with a chain of `../`", f"{chain}{file}", False),
        ("with a chain of `../` after a valid value", f"<value>/{chain}{file}", False),
        ("with a URL-encoded chain of `../`", up("%2e%2e%2f", f"%2e%2e<encoded marker>{extension}"), False),
        ("as a `file:` URI", f"file://{file}", True),
        ("with a chain of `/../`", f"/{chain}{file}", True),
        ("with a chain of `....//`", up("....//", f"..../{file}"), True),
        ("with a chain of `..\\`", up("..\\", f"..<marker with backslashes>{extension}"), True),
        (
            "with a chain of `../` encoded twice",
            up("%252e%252e%252f", f"%252e%252e<marker encoded twice>{extension}"),
            True,
        ),
        ("as an absolute path of a folder", "<marker folder>", True),
        ("with a chain of `../` to a folder", f"{chain}<marker folder>", True),
    ]
    if valid_folder:
        rows.append(("with a chain of `../` after the folder of a valid value", f"{valid_folder}/{chain}{file}", False))
    for end in endings[1:]:
        rows += [
            (f"with a chain of `../` to a `{end}` file", f"{chain}{file}{end}", True),
            (f"as an absolute path of a `{end}` file", f"{file}{end}", True),
        ]
    for number in range(1, folders + 1):
        rows += [
            ("with a chain of `../` after a folder of the server", f"<folder {number}>/{chain}{file}", True),
            ("as a path that begins like a folder of the server", f"<beside folder {number}>{extension}", True),
            (
                "as a relative path that begins like a folder of the server",
                f"../<name beside folder {number}>{extension}",
                True,
            ),
        ]
    return [Attack("path_traversal", *row) for row in rows]


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
_PATH_WORDS = frozenset(
    {"dir", "directories", "directory", "file", "filename", "filenames", "filepath", "files", "folder", "folders"}
    | {"path", "paths", "subfolder"}
)
"""The words of a name that promise a path."""
_NAME_WORDS = _FILE_WORDS | {"id", "key", "name", "slug", "title"}
"""The words of a name whose value may be joined to a folder."""
_ENDING = re.compile(r"\.(?:md|txt|json|ya?ml|csv|html?|xml|log|rst|toml|ini|sql|py|js|ts)\b")
MOST_PAIRS = 4
"""How many pairs of a folder and a name are attacked together."""
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
    def names_path(self) -> bool:
        """Whether its name says that it is a path, or a part of one."""
        return bool(_PATH_WORDS & self.name_words)

    @property
    def name_words(self) -> set[str]:
        """The words of its own name."""
        return set(words_of(next((token for token in reversed(self.path) if isinstance(token, str)), "")))

    @property
    def endings(self) -> list[str]:
        """How a path may have to end: like the valid value, else with nothing or what its description names."""
        extension = os.path.splitext(os.path.basename(self.value))[1]
        if _EXTENSION.fullmatch(extension):
            return [extension]
        return list(dict.fromkeys(["", *_ENDING.findall(self.about[:1_000])[:2], ".txt", ".md"]))

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
        value: Any = self.arguments
        for token in self.argument.path:
            value = value[token]
        return str(value)

    def with_text(self, text: str) -> dict[str, Any]:
        """The valid arguments with another text for the argument."""
        changed: dict[str, Any] = with_value(self.base, self.argument.path, text)
        return changed


class ToolAttacks:
    """The hostile calls of one tool that its schema allows."""

    def __init__(
        self,
        tool: Tool,
        base: dict[str, Any],
        fill: Callable[[Any], Any],
        folders: int,
        fullest: dict[str, Any] | None = None,
    ) -> None:
        """`fullest` are valid arguments for the places that `base` has no value for."""
        self._tool = tool
        self._fill = fill
        self._folders = folders
        schema = tool.schema if tool.schema is not None else {}
        self._oracle = Oracle(schema)
        self._points = (
            [] if self._oracle.problem is not None else mutation_points(ValueBuilder(schema, self._oracle), base)
        )
        if fullest is not None and fullest != base and self._points:
            present = {point.path for point in self._points if has_value(base, point.path)}
            deeper = mutation_points(ValueBuilder(schema, self._oracle), fullest)
            self._points = [point for point in self._points if point.path in present]
            self._points += [point for point in deeper if point.path not in present]
        # The first point of each path is used: further ones are other branches of a union.
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
                allowed = [self._first_allowed(group, argument, point) for group in self._attacks(family, argument)]
                distinct = {case.text: case for case in allowed if case is not None}
                if distinct:
                    yield list(distinct.values())
        yield from self._pairs()
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

    def _pairs(self) -> Iterator[list[HostileCase]]:
        """Paths that are split over two arguments: a folder outside, and the name of a file in it."""
        points = [point for point in self._strings[:MOST_ARGUMENTS] if len(point.path) == 1]
        arguments = {point.path: self._argument(point) for point in points}
        pairs = [
            (point, arguments[point.path], file)
            for point in points
            for file in arguments.values()
            if file.path != point.path and arguments[point.path].names_path and file.name_words & _NAME_WORDS
        ]
        for point, folder, file in pairs[:MOST_PAIRS]:
            cases = []
            for ending in file.endings:
                both = point._replace(arguments=with_value(point.arguments, file.path, f"<marker name>{ending}"))
                inside = f"to a folder, and `{file.label}` in it"
                tables = [
                    [
                        Attack("path_traversal", f"with a chain of `../` {inside}", f"{chain}<marker folder>"),
                        Attack("path_traversal", f"as an absolute path {inside}", "<marker folder>"),
                        Attack("path_traversal", f"after a valid value {inside}", f"<value>/{chain}<marker folder>"),
                    ]
                    for chain in ("../" * (depth - 1) + ".." for depth in CHAIN_LENGTHS)
                ]
                cases += [self._first_allowed(rows, folder, both) for rows in zip(*tables, strict=True)]
            if group := [case for case in cases if case is not None]:
                yield group

    def _paths(self, argument: StringArgument) -> list[tuple[Attack, ...]]:
        folder, endings = os.path.dirname(argument.value), argument.endings
        is_likely = bool(argument.words & _FILE_WORDS) or "/" in argument.value or bool(endings[0])
        tables = [path_attacks(endings, folder, self._folders, depth) for depth in CHAIN_LENGTHS]
        # Each group has one attack with every length of the chain, the longest first.
        return [rows for rows in zip(*tables, strict=True) if is_likely or not rows[0].is_thorough]

    def _first_allowed(
        self, attacks: tuple[Attack, ...], argument: StringArgument, point: MutationPoint
    ) -> HostileCase | None:
        """The case of the first attack that the schema allows."""
        for attack in attacks:
            # Not random, so that the same attack has the same text in every run.
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
        # What is sent in the end is nested more deeply; `NESTED` is only its placeholder.
        shallow: Any = [[[[[[]]]]]]
        for point in self._points:
            if point.path and self._oracle.accepts(with_value(point.arguments, point.path, shallow)):
                arguments = with_value(point.arguments, point.path, NESTED)
                argument = self._argument(point)
                yield HostileCase("hostile_text", argument, arguments, point.arguments, f"{point.label} nested deeply")
                return


def has_value(arguments: dict[str, Any], path: Path) -> bool:
    """Whether arguments have a value at a path."""
    try:
        value_at(arguments, path)
    except (LookupError, TypeError):
        return False
    return True


def path_parameters(tool: Tool) -> list[str]:
    """The parameters of a tool whose names promise a path."""
    return [name for name in tool.parameters if _PATH_WORDS.intersection(words_of(name))]


def _is_sql(argument: StringArgument) -> bool:
    """Whether an argument is SQL on purpose, so that an error about its syntax shows nothing."""
    return "sql" in words_of(argument.label) or bool(_SQL.search(argument.about) or _SQL.match(argument.value))


def _is_address(argument: StringArgument) -> bool:
    return bool(argument.words & _URL_WORDS or _URL_FORMATS.intersection(argument.formats)) or "://" in argument.value


def _takes_text(point: MutationPoint) -> bool:
    """Whether a value may be any text, as opposed to one of a list."""
    return bool(point.path) and "string" in point.constraints.types and point.constraints.values is None


_PLACES = ("/var/tmp", "/dev/shm")  # noqa: S108 (a name there is random)
"""Places for files of our own that servers rarely serve; the usual temporary folder comes last."""

_CODE = frozenset({"bin", "build", "dist", "lib", "node_modules", "src", "target", "test", "tests", "venv"})


class ServerFolders(NamedTuple):
    """Where a server may read, and where it may not."""

    is_local: bool
    """Whether the server runs on this machine, as far as its command or URL tells."""
    folders: tuple[str, ...] = ()
    """The folders that its command line and variables name, its working directory, and the folders in it."""
    outside: str | None = None
    """A writable folder outside all of them; None if there is none."""


def folders_of(server: Endpoint) -> ServerFolders:
    """The folders of a server."""
    if not isinstance(server, CommandEndpoint):
        is_local = _is_loopback(server.url)
        return ServerFolders(is_local, (), _outside(()) if is_local else None)
    own = os.path.realpath(server.directory or os.getcwd())
    root = os.path.join(os.path.splitdrive(own)[0], os.sep)
    named = list(_named(server, own))
    likely = [
        *named,
        own,
        *_below(own),
        *(folder for script in _scripts(server, own) for folder in (script, *_below(script))),
    ]
    folders = tuple(folder for folder in dict.fromkeys(likely) if folder != root)
    return ServerFolders(True, folders[:MOST_FOLDERS], None if root in named else _outside(folders))


def _named(server: CommandEndpoint, own: str) -> Iterator[str]:
    """The folders in the words and the variables of a command."""
    texts = [part for word in server.words[1:] for part in (word, word.partition("=")[2])]
    texts += [part for value in server.environment.values() for part in value.split(os.pathsep)]
    for text in texts:
        if text and "\0" not in text and os.path.isdir(path := os.path.join(own, os.path.expanduser(text))):
            yield os.path.realpath(path)


def _scripts(server: CommandEndpoint, own: str) -> Iterator[str]:
    """The folders of the files in the words of a command."""
    for word in server.words[1:]:
        if word and "\0" not in word and os.path.isfile(path := os.path.join(own, word)):
            yield os.path.dirname(os.path.realpath(path))


def _below(folder: str) -> list[str]:
    """The folders in a folder, as far as a server may serve them: its data rather than its code."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name[0] not in "._" and name not in _CODE][:MOST_FOLDERS]


def _outside(folders: tuple[str, ...]) -> str | None:
    for place in (*_PLACES, tempfile.gettempdir()):
        path = os.path.realpath(place)
        is_inside = any(os.path.commonpath((path, folder)) == folder for folder in folders)
        if not is_inside and os.path.isdir(path) and os.access(path, os.W_OK):
            return path
    return None


def _is_loopback(url: str) -> bool:
    try:
        return is_this_machine(urlsplit(url).hostname or "")
    except ValueError:
        return False
