"""Find and read the source files of a target."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
import tokenize

from mcproof.core.observations.source import SourceProblem
from mcproof.core.text.files import LIBRARY_FOLDERS, is_file
from mcproof.discovery.project.boundary import Boundary

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
            if (status.st_dev, status.st_ino) in seen:  # a circular link
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
    except OSError:
        return False


def read_bytes(file: str, problems: list[SourceProblem]) -> bytes | None:
    """The content of a file; None, with a problem, if it cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):  # opening a pipe would block
            problems.append(SourceProblem(file, None, None, "not a regular file; skipped"))
            return None
        with open(file, "rb") as opened:
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
    if any(sys.version_info < since and found(written[:LONGEST_LOOKED_AT]) for since, found in _NEWER):
        running = "{}.{}".format(*sys.version_info)
        what = f"not valid Python {running}, which mcproof runs on: {error.msg}; run mcproof with a newer Python"
    return SourceProblem(file, line, error.offset or None, what)


def mcproof_comments(text: str) -> list[tuple[int, str]]:
    """The comments that mention mcproof, with their lines."""
    if "mcproof" not in text:
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and "mcproof" in token.string:
                found.append((token.start[0], token.string))
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # the parser reports syntax errors
    return found
