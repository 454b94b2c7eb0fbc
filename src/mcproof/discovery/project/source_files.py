"""Which files there are to read, and what is in them, without running any."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
import tokenize
from typing import NamedTuple

LARGEST_FILE = 8 << 20
"""Source files beyond this size are data that somebody generated; they are named and not read."""
MOST_FILES = 20_000
"""Where a walk stops."""
DEEPEST_FOLDER = 40

_SKIPPED_FOLDERS = frozenset(
    ("venv", "env", "__pycache__", "node_modules", "site-packages", "dist-packages", "dist", "build", "tests", "test")
)
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py|noxfile\.py|setup\.py")
_TEST_WORDS = re.compile(rb"^\s*(?:import|from) (?:pytest|unittest|nox|setuptools)\b", re.MULTILINE)
_LINE_END = re.compile(rb"\r\n?|\n")
_DECLARATION = re.compile(rb"(?:[^\r\n]*(?:\r\n?|\n))?[ \t\f]*#[^\r\n]*coding[:=]")
"""An encoding that is declared on one of the first two lines."""
_ENCODINGS = re.compile(
    r"utf-8(?:-sig)?|ascii|(?:iso8859|koi8|mac|hp|tis)-\w+|cp\d+\w*|(?:kz|ptcp)\d+"
    r"|gb\w+|hz|big5\w*|(?:euc|shift|iso2022)_\w+|johab"
)
"""The encodings that are read: those of people's scripts. What some others take grows with the square of a file."""
LONGEST_LOOKED_AT = 400
"""How much of a line is looked at for what a newer Python reads; more takes time where the line is hostile."""
_NEWER = (
    ((3, 12), re.compile(r"[ \t]*type[ \t]+\w+[ \t]*(?:\[.*\])?[ \t]*=").match),
    ((3, 12), re.compile(r"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*\[").match),
    ((3, 12), re.compile(r"\b[fF][rR]?([\"']).*?\{[^{}]*(?:\1|\\)[^{}]*\}").search),
    ((3, 14), re.compile(r"\b[tT][rR]?[\"']|[ \t]*except[ \t]+[\w.]+(?:,[ \t]*[\w.]+)+[ \t]*:").search),
)
"""How lines look that only a newer Python reads: type parameters, quotes within an f-string, templates."""
_SERVER = rb"(?:[(\[.]| as |(?<=\(%b)|(?<=import %b)|(?<=[., ]%b)\):)"
_ACTS = {
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
"""What makes or fills a server, by a word that it needs: a file with none of these registers nothing.

Nearly each starts with its word, as the search for a pattern that starts with fixed letters is fast.
"""


class Problem(NamedTuple):
    """Something that kept a file from being read as it should."""

    file: str
    line: int | None
    column: int | None
    what: str


def python_files(target: str, problems: list[Problem]) -> list[str]:
    """The Python files of a target in a stable order. What is skipped is skipped below the target only."""
    if not os.path.isdir(target):
        return [target]
    files: list[str] = []
    seen: set[tuple[int, int]] = set()
    waiting = [(target, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:  # a link that leads back here
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(Problem(folder, None, None, f"cannot be opened: {error.strerror or error}"))
            continue
        folders = []
        for entry in entries:
            if _is_folder(entry):
                if not (entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS or depth >= DEEPEST_FOLDER):
                    folders.append((entry.path, depth + 1))
            elif entry.name.endswith(".py") and _is_file(entry):
                files.append(entry.path)
                if len(files) >= MOST_FILES:
                    problems.append(
                        Problem(target, None, None, f"more than {MOST_FILES:,} files; the rest is not read")
                    )
                    return files
        waiting.extend(reversed(folders))
    return files


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and not (os.path.exists(os.path.join(entry.path, "pyvenv.cfg")) and entry.name != "src")
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def read_bytes(file: str, problems: list[Problem]) -> bytes | None:
    """What a file holds, or None with a problem that says why not."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):  # to open a pipe is to wait for somebody who writes
            problems.append(Problem(file, None, None, "is no regular file; not read"))
            return None
        with open(file, "rb") as opened:
            data = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        problems.append(Problem(file, None, None, f"cannot be read: {error.strerror or error}"))
        return None
    if len(data) > LARGEST_FILE:
        problems.append(Problem(file, None, None, f"larger than {LARGEST_FILE >> 20} MB; not read"))
        return None
    return data


def may_register(data: bytes, path: str) -> bool:
    """Whether a file holds a word that a registration needs, and is no test."""
    acts = any(word in data and re.search(act, data) is not None for word, act in _ACTS.items())
    return acts and not is_test(path, data)


def is_test(path: str, data: bytes) -> bool:
    """Whether a file is a test or part of the build, by its name and by what it imports."""
    return _TEST_FILE.fullmatch(os.path.basename(path)) is not None and _TEST_WORDS.search(data) is not None


def decoded(data: bytes, file: str, problems: list[Problem]) -> str | None:
    """The text of a source file in the encoding that it declares, or None with a problem."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        problems.append(Problem(file, None, None, "is UTF-16, which Python does not read; save it as UTF-8"))
        return None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        problems.append(Problem(file, line, None, "holds a null byte, so it is no Python source"))
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if not _ENCODINGS.fullmatch(codecs.lookup(encoding).name):
            raise LookupError(f"the encoding {encoding} is not read; save it as UTF-8")
        return io.IncrementalNewlineDecoder(None, translate=True).decode(data.decode(encoding), final=True)
    except UnicodeDecodeError as error:
        line, what = _undecoded(data, error)
    except (SyntaxError, LookupError, ValueError) as error:
        line, what = 1, error.msg if isinstance(error, SyntaxError) else str(error)
        if not _DECLARATION.match(data):
            try:  # what is wrong with it is said before where
                data.decode()
            except UnicodeDecodeError as undecoded:
                line, what = _undecoded(data, undecoded)
    problems.append(Problem(file, line, None, f"cannot be decoded: {what}"))
    return None


def _undecoded(data: bytes, error: UnicodeDecodeError) -> tuple[int, str]:
    """The line of the byte that is no part of a character, and what to say of it."""
    name = "UTF-8" if error.encoding in ("utf-8", "utf8") else error.encoding
    line = len(_LINE_END.findall(data[: error.start])) + 1
    return line, f"byte 0x{data[error.start]:02x} is no {name}"


def unparsed(text: str, file: str, error: SyntaxError) -> Problem:
    """What kept a text from being parsed, which may be that it is written for a newer Python than runs here."""
    what = f"is no valid Python: {error.msg}"
    line = error.lineno or None
    written = text.split("\n")[line - 1] if line is not None and line <= text.count("\n") + 1 else ""
    if any(sys.version_info < since and found(written[:LONGEST_LOOKED_AT]) for since, found in _NEWER):
        running = "{}.{}".format(*sys.version_info)
        what = f"is no Python {running}, which mcproof runs on: {error.msg}; run mcproof with a newer Python"
    return Problem(file, line, error.offset or None, what)


def comments_about_us(text: str) -> list[tuple[int, str]]:
    """The comments that mention mcproof, with their lines."""
    if "mcproof" not in text:
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and "mcproof" in token.string:
                found.append((token.start[0], token.string))
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # what does not parse is reported by the parser
    return found
