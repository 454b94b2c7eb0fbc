"""The files of a Python project: which are its own, which are read, and which one an import refers to.

A fast text search leaves out files that cannot register anything before they are parsed.
Why text is searched before it is parsed: docs/decisions/0023-text-before-trees.md.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import tokenize
from contextlib import suppress
from typing import TYPE_CHECKING

from mcproof.core.observations.source import SourceProblem
from mcproof.core.text.files import INSTALL_FOLDERS, LIBRARY_FOLDERS, is_file, open_in_checkout
from mcproof.source.framework_tables import DECORATORS, REGISTERING_NAMES
from mcproof.source.packages.versions import Distribution, distribution_of, distributions_in, roots_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

_HIGHEST_CLIMB = 12
"""How many folders above a file are searched for the root of its project."""


class Boundary:
    """Decides which files and folders belong to the project of a target.

    The source of an installed package is that of its distribution, which lists its files, or else the folder at the
    top. Everywhere else, all source is the project's own, except in folders for libraries.
    """

    def __init__(self, target: str) -> None:
        self._target = os.path.abspath(target)
        self._home: str | None = None
        """The only folder or file that is the project's own, in an installation that does not list its files."""
        self._own: frozenset[str] | None = None
        """The files of the project's distribution, and their folders."""
        self._foreign: frozenset[str] = frozenset()
        """The files of other distributions in the same folder, and their folders."""
        self.distribution: Distribution | None = None
        """The installed distribution that the target is a part of."""
        self._site = _site_above(self._target)
        if self._site is None:
            self._note_installed(_container(self._target))
            return
        self.distribution = distribution_of(self._target, self._site)
        if self.distribution is None:  # installed by copying: without a record, the top folder is the package
            self._home = os.path.join(self._site, os.path.relpath(self._target, self._site).split(os.sep)[0])
        else:
            self._own = _with_folders(self.distribution.python_files(), self._site)

    def owns(self, path: str) -> bool:
        """Whether a file or a folder is part of the project."""
        if path in self._foreign:
            return False
        base = self._target
        if not _is_below(path, base):
            if self._own is not None and path not in self._own:
                return False
            if self._home is not None and not _is_below(path, self._home):
                return False
            base = self._site or os.path.commonpath((path, base))
        folders = os.path.relpath(path, base).split(os.sep)
        return LIBRARY_FOLDERS.isdisjoint(folders[:-1] if path.endswith(".py") else folders)

    def is_foreign(self, path: str) -> bool:
        """Whether a file or folder of the target itself belongs to another distribution."""
        return bool(self._foreign) and os.path.abspath(path) in self._foreign

    def _note_installed(self, folder: str) -> None:
        """Note the distributions in a folder that also holds the target, as `pip install --target` leaves them."""
        every = distributions_in(folder)
        if not every:
            return
        files = {distribution: distribution.python_files() for distribution in every}
        own: list[Distribution] = []
        if self._target != folder:
            self.distribution = distribution_of(self._target, folder)
            own = [self.distribution] if self.distribution is not None else []
        elif os.path.basename(folder) in INSTALL_FOLDERS or not _holds_more(folder, files.values()):
            own = roots_of(every)
            self.distribution = own[0] if len(own) == 1 else None
        others = [paths for distribution, paths in files.items() if distribution not in own]
        ours = _with_folders((path for distribution in own for path in files[distribution]), folder)
        self._foreign = _with_folders((path for paths in others for path in paths), folder) - ours


def _site_above(target: str) -> str | None:
    """The nearest folder for libraries that contains a target; None if there is none."""
    folder = os.path.dirname(target)
    while os.path.dirname(folder) != folder:
        if os.path.basename(folder) in LIBRARY_FOLDERS:
            return folder
        folder = os.path.dirname(folder)
    return None


def _container(target: str) -> str:
    """The folder from which the modules of a target are imported."""
    folder = target if os.path.isdir(target) else os.path.dirname(target)
    for _ in range(_HIGHEST_CLIMB):
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            break
        folder = os.path.dirname(folder)
    return folder


def _with_folders(files: Iterable[str], top: str) -> frozenset[str]:
    """Some files together with the folders that contain them, below `top`."""
    folders: set[str] = set()
    for file in files:
        path = os.path.normpath(file)
        while path not in folders and path != top and _is_below(path, top):
            folders.add(path)
            path = os.path.dirname(path)
    return frozenset(folders)


def _holds_more(folder: str, recorded: Iterable[frozenset[str]]) -> bool:
    """Whether a folder holds Python files or packages that no distribution recorded."""
    recorded_paths = _with_folders((path for paths in recorded for path in paths), folder)
    with os.scandir(folder) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.path not in recorded_paths and not entry.name.startswith((".", "_"))
        ]
    return any(
        name.endswith(".py") or os.path.isfile(os.path.join(folder, name, "__init__.py")) or name == "src"
        for name in names
    )


def _is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or something in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


LARGEST_FILE = 8 << 20
"""Larger source files are generated data; they are reported and skipped."""
MOST_FILES = 20_000
"""The maximum number of files of a target."""
DEEPEST_FOLDER = 40

_SKIPPED_FOLDERS = LIBRARY_FOLDERS | {"venv", "env", "__pycache__", "dist", "build", "tests", "test"}
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py|noxfile\.py|setup\.py")
_TEST_WORDS = re.compile(rb"^\s*(?:import|from) (?:pytest|unittest|nox|setuptools)\b", re.MULTILINE)
_LINE_END = re.compile(rb"\r\n?|\n")
_DECLARATION = re.compile(rb"(?:[^\r\n]*(?:\r\n?|\n))?[ \t\f]*#[^\r\n]*coding[:=]")
"""An encoding declaration on one of the first two lines."""
_ENCODINGS = re.compile(
    r"utf-8(?:-sig)?|ascii|(?:iso8859|koi8|mac|hp|tis)-\w+|cp\d+\w*|(?:kz|ptcp)\d+"
    r"|gb\w+|hz|big5\w*|(?:euc|shift|iso2022)_\w+|johab"
)
"""The supported encodings. Decoding some of the others takes quadratic time."""
LONGEST_LOOKED_AT = 400
"""How many characters of a line are searched for new syntax; bounds the time for hostile lines."""
_NEWER = (
    ((3, 12), re.compile(r"[ \t]*type[ \t]+\w+[ \t]*(?:\[.*\])?[ \t]*=").match),
    ((3, 12), re.compile(r"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*\[").match),
    ((3, 12), re.compile(r"\b[fF][rR]?([\"']).*?\{[^{}]*(?:\1|\\)[^{}]*\}").search),
    ((3, 14), re.compile(r"\b[tT][rR]?[\"']|[ \t]*except[ \t]+[\w.]+(?:,[ \t]*[\w.]+)+[ \t]*:").search),
)
"""Lines that only a newer Python can parse: type parameters, quotes within an f-string, template strings."""


def python_files(target: str, problems: list[SourceProblem], boundary: Boundary | None = None) -> list[str]:
    """The Python files of a target in a stable order. Folders are only skipped below the target itself."""
    if not os.path.isdir(target):
        return [target]
    boundary = Boundary(target) if boundary is None else boundary
    files: list[str] = []
    seen: set[tuple[int, int]] = set()
    waiting = [(target, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:  # a link to a folder above would be followed forever
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(SourceProblem(folder, None, None, f"cannot be opened: {error.strerror or error}"))
            continue
        folders = []
        for entry in entries:
            path = entry.name if folder == os.curdir else entry.path
            if boundary.is_foreign(path):
                continue
            if _is_folder(entry):
                if not (entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS or depth >= DEEPEST_FOLDER):
                    folders.append((path, depth + 1))
            elif entry.name.endswith(".py") and is_file(entry):
                files.append(path)
                if len(files) >= MOST_FILES:
                    problems.append(
                        SourceProblem(target, None, None, f"more than {MOST_FILES:,} files; the rest is not read")
                    )
                    return files
        waiting.extend(reversed(folders))
    return files


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and not (os.path.exists(os.path.join(entry.path, "pyvenv.cfg")) and entry.name != "src")
    except OSError:  # a link that leads nowhere, or in a circle
        return False


def read_bytes(file: str, problems: list[SourceProblem]) -> bytes | None:
    """The content of a file; None, with a problem, if it cannot be read."""
    try:
        with open(file, "rb", opener=open_in_checkout) as opened:
            data = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        problems.append(SourceProblem(file, None, None, f"cannot be read: {error.strerror or error}"))
        return None
    if len(data) > LARGEST_FILE:
        problems.append(SourceProblem(file, None, None, f"larger than {LARGEST_FILE >> 20} MB; skipped"))
        return None
    return data


def is_test(path: str, data: bytes) -> bool:
    """Whether a file is a test or a build script, by its name and its imports."""
    return _TEST_FILE.fullmatch(os.path.basename(path)) is not None and _TEST_WORDS.search(data) is not None


def decoded(data: bytes, file: str, problems: list[SourceProblem]) -> str | None:
    """The text of a source file in its declared encoding; None, with a problem, if it cannot be decoded."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        problems.append(SourceProblem(file, None, None, "is UTF-16, which Python cannot read; save it as UTF-8"))
        return None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        problems.append(SourceProblem(file, line, None, "contains a null byte, so it is not Python source"))
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if not _ENCODINGS.fullmatch(codecs.lookup(encoding).name):
            raise LookupError(f"the encoding {encoding} is not supported; save it as UTF-8")
        return io.IncrementalNewlineDecoder(None, translate=True).decode(data.decode(encoding), final=True)
    except UnicodeDecodeError as error:
        line, what = _invalid_byte(data, error)
    except (SyntaxError, LookupError, ValueError) as error:
        line, what = 1, error.msg if isinstance(error, SyntaxError) else str(error)
        if not _DECLARATION.match(data):
            try:  # report an invalid byte rather than the missing declaration
                data.decode()
            except UnicodeDecodeError as undecoded:
                line, what = _invalid_byte(data, undecoded)
    problems.append(SourceProblem(file, line, None, f"cannot be decoded: {what}"))
    return None


def _invalid_byte(data: bytes, error: UnicodeDecodeError) -> tuple[int, str]:
    """The line of an invalid byte, and a message."""
    name = "UTF-8" if error.encoding in ("utf-8", "utf8") else error.encoding
    line = len(_LINE_END.findall(data[: error.start])) + 1
    return line, f"byte 0x{data[error.start]:02x} is not valid {name}"


def syntax_problem(text: str, file: str, error: SyntaxError) -> SourceProblem:
    """The problem of a text that cannot be parsed, possibly because it needs a newer Python."""
    what = f"not valid Python: {error.msg}"
    line = error.lineno or None
    written = text.split("\n")[line - 1] if line is not None and line <= text.count("\n") + 1 else ""
    if any(sys.version_info < since and uses_newer(written[:LONGEST_LOOKED_AT]) for since, uses_newer in _NEWER):
        running = "{}.{}".format(*sys.version_info)
        what = f"not valid Python {running}, which mcproof runs on: {error.msg}; run mcproof with a newer Python"
    return SourceProblem(file, line, error.offset or None, what)


def mcproof_comments(text: str) -> list[tuple[int, str]]:
    """The comments that mention mcproof, with their lines."""
    if "mcproof" not in text:
        return []
    comments = []
    with suppress(tokenize.TokenError, SyntaxError, ValueError):  # the parser reports syntax errors
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and "mcproof" in token.string:
                comments.append((token.start[0], token.string))
    return comments


_SERVER = rb"(?:[(\[.]| as |(?<=\(%b)|(?<=import %b)|(?<=[., ]%b)\):)"
_PATTERNS = {
    b"tool": rb"tool(?:(?<=[.@]tool)\b|(?<=\btool)\(|(?<=add_tool)\(|(?<=register_tool)\()",
    b"_tool(": rb"@[\w.]*_tool\(",
    b"Tool": rb"Tool(?:(?<=\bTool)\(|\.from|(?<=FunctionTool))",
    b"list_tools": rb"list_tools",
    b"resource": rb"resource(?:(?<=\.resource)\(|(?<=add_resource))",
    b"prompt": rb"prompt(?:(?<=\.prompt)[(\n]|(?<=add_prompt))",
    b"FastMCP": rb"FastMCP" + _SERVER % ((b"FastMCP",) * 3),
    b"MCPServer": rb"MCPServer" + _SERVER % ((b"MCPServer",) * 3),
    b"mcp.server": rb"Server" + _SERVER % ((b"Server",) * 3),
    b"import_server": rb"import_server",
}
"""Patterns of code that creates or fills a server, by a word that each of them needs.

A file without a match registers nothing. Most patterns start with their word: fixed prefixes are fast to search.
"""
CALL_PATTERNS = {
    word: re.compile(rf"{word}(?<=\b{word})\b(?:[\s\\)]*\({rf'|(?<=[@.]{word})' if word in DECORATORS else ''})")
    for word in sorted(REGISTERING_NAMES | DECORATORS.keys())
}
"""Calls and decorators that register something. The word comes first, because fixed prefixes are fast to search."""


def may_register(data: bytes, path: str) -> bool:
    """Whether a file contains a word that a registration needs, and is not a test."""
    acts = any(word in data and re.search(pattern, data) is not None for word, pattern in _PATTERNS.items())
    return acts and not is_test(path, data)


class ImportPaths:
    """Finds modules in folders. Each folder is listed once, which is faster than many checks for single files."""

    def __init__(self, files: Container[str], top: str, boundary: Boundary, installed: frozenset[str]) -> None:
        self._files = files
        self._boundary = boundary
        self._installed = installed
        """External packages that are always installed and never part of the project."""
        self._top = top if os.path.isdir(top) else os.path.dirname(top)
        self._found: dict[tuple[str, str, int], str | None] = {}
        self._listed: dict[str, frozenset[str]] = {}

    def find(self, importer: str, name: str, level: int) -> str | None:
        """The file or folder that an import refers to; None if it is not in the project."""
        folder = os.path.dirname(importer)
        key = folder, name, level
        if key not in self._found:
            self._found[key] = self._search(folder, name, level)
        return self._found[key]

    def is_certain(self, importer: str, name: str) -> bool:
        """Whether an import always works: from the project, the standard library or an installed package."""
        first = name.partition(".")[0]
        is_there = first in self._installed or first in sys.stdlib_module_names
        return is_there or self.find(importer, name, 0) is not None

    def in_folder(self, folder: str, name: str) -> str | None:
        """The project's module or package of this name in a folder; the folder itself if the name is empty."""
        path = self._located(folder, name)
        return path if path is not None and self._boundary.owns(path) else None

    def _located(self, folder: str, name: str) -> str | None:
        if not name:
            folder, name = os.path.split(folder)
        *packages, last = name.split(".")
        for package in packages:
            if package not in self._names_in(folder):
                return None
            folder = os.path.join(folder, package)
        names, path = self._names_in(folder), os.path.join(folder, last)
        if f"{last}.py" in names and self._is_file(f"{path}.py"):
            return f"{path}.py"
        if last not in names:
            return None
        if self.is_package(path):
            return os.path.join(path, "__init__.py")
        return path if self._holds_python(path) else None

    def below(self, path: str, name: str) -> str | None:
        """The submodule of this name, if `path` is a package."""
        if path.endswith("__init__.py"):
            return self.in_folder(os.path.dirname(path), name)
        return None if path.endswith(".py") else self.in_folder(path, name)

    def is_package(self, folder: str) -> bool:
        """Whether a folder has an `__init__.py`."""
        return "__init__.py" in self._names_in(folder) and self._is_file(os.path.join(folder, "__init__.py"))

    def packages_of(self, path: str) -> Iterator[str]:
        """The `__init__.py` files of the packages that contain a file, which run first when it is imported."""
        folder = os.path.dirname(path)
        for _ in range(_HIGHEST_CLIMB):
            if not self.is_package(folder):
                break
            yield os.path.join(folder, "__init__.py")
            folder = os.path.dirname(folder)

    def dotted_name(self, path: str) -> str:
        """The dotted name of a file within the project."""
        base = os.path.basename(path)
        parts = [] if base == "__init__.py" else [base.removesuffix(".py")]
        parts += [os.path.basename(os.path.dirname(file)) for file in self.packages_of(path)]
        return ".".join(reversed(parts))

    def _search(self, folder: str, name: str, level: int) -> str | None:
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self.in_folder(folder, name)
        first = name.partition(".")[0]
        if first in self._installed or first in sys.stdlib_module_names:
            return None
        # `sys.path` is not known: the root of the importing file's package, its `src`, then folders above it
        own = folder
        for _ in range(_HIGHEST_CLIMB):
            is_root = not self.is_package(folder)
            if is_root:
                for root in (folder, os.path.join(folder, "src")):
                    if (path := self.in_folder(root, name)) is not None:
                        return path
            parent = os.path.dirname(folder)
            if os.path.basename(folder) == first and (path := self.in_folder(parent, name)) is not None:
                return path
            if parent == folder or (is_root and (folder == self._top or not folder.startswith(self._top + os.sep))):
                break
            folder = parent
        return self.in_folder(own, name)

    def _names_in(self, folder: str) -> frozenset[str]:
        """The names in a folder; empty if it does not exist."""
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(os.listdir(folder))
            except (OSError, ValueError):
                self._listed[folder] = frozenset()
        return self._listed[folder]

    def _is_file(self, path: str) -> bool:
        return path in self._files or os.path.isfile(path)

    def _holds_python(self, folder: str) -> bool:
        """Whether a folder without `__init__.py` can be a package: it contains Python files or folders."""
        names = list(self._names_in(folder))[:200]
        return any(name.endswith(".py") or os.path.isdir(os.path.join(folder, name)) for name in names)


def library_name(name: str) -> str:
    """The name that a vendored module has when it is installed: `app._vendor.fastmcp` is `fastmcp`."""
    parts = name.split(".")
    inside = next((index for index in range(len(parts) - 1, -1, -1) if parts[index] in LIBRARY_FOLDERS), -1)
    return ".".join(parts[inside + 1 :]) or name
