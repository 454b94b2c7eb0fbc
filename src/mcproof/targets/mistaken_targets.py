"""Targets that cannot be read as they are, and the words that would reach the server behind them.

Nothing is run to find out: only names and `package.json` are read.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from mcproof.source.packages.projects import SUFFIXES, package_in, start_of

_PROGRAMS = frozenset((
    "bash", "bun", "bunx", "cargo", "cmd", "deno", "docker", "dotnet", "go", "hatch", "java", "make", "mise", "node",
    "nodejs", "npm", "npx", "pdm", "php", "pipenv", "pipx", "pixi", "pnpm", "podman", "poetry", "powershell", "pwsh",
    "py", "ruby", "rye", "sh", "ts-node", "tsx", "uv", "uvx", "yarn", "zsh",
))  # fmt: skip
"""Programs that start servers."""
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?")
_OTHER_LANGUAGES = {
    ".go": "Go", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".cs": "C#", ".rb": "Ruby", ".php": "PHP",
    ".swift": "Swift", ".ex": "Elixir", ".exs": "Elixir", ".scala": "Scala", ".lua": "Lua",
}  # fmt: skip
_LONGEST_LOOKED_AT = 1 << 20


class Mistake(NamedTuple):
    """What a target is, and the words that reach its server."""

    what: str
    words: tuple[str, ...]
    """Options and `-- COMMAND ARG...`; empty if they are unknown."""
    note: str = ""


def is_program(word: str) -> bool:
    """Whether a word of the command line starts a server, rather than naming a target."""
    return is_launcher(word) or _is_installed(word)


def is_launcher(word: str) -> bool:
    """Whether a word is the name of a program that starts servers, such as `python`."""
    name = os.path.basename(word).lower().removesuffix(".exe")
    return not os.path.isdir(word) and (name in _PROGRAMS or _PYTHON.fullmatch(name) is not None)


def _is_installed(word: str) -> bool:
    """Whether a word names an executable file that is not a snapshot or source."""
    if os.path.isdir(word) or word.endswith((".json", ".py", *SUFFIXES, *_OTHER_LANGUAGES)):
        return False
    if os.path.exists(word):
        return os.path.isfile(word) and os.access(word, os.X_OK)
    from shutil import which

    return os.sep not in word and which(word) is not None


def quoted_command(word: str) -> tuple[str, ...]:
    """The words of a command that was quoted as one word; empty if it is not a command."""
    if not any(map(str.isspace, word)) or os.path.exists(word):
        return ()
    import shlex

    try:
        words = shlex.split(word)
    except ValueError:
        return ()
    return tuple(words) if len(words) > 1 and is_program(words[0]) else ()


def mistake_of(target: str) -> Mistake | None:
    """The mistake in a file that is the source of a server in an unsupported language; None if it is not one."""
    suffix = os.path.splitext(target)[1].lower()
    if suffix in SUFFIXES:
        what = "TypeScript is not read" if suffix in (".ts", ".mts", ".cts", ".tsx") else "JavaScript is not read"
        start = start_of(target)
        return Mistake(what, start.arguments, f" (after `{start.build}`)" if start.build else "")
    if suffix in _OTHER_LANGUAGES and os.path.isfile(target):
        return Mistake(f"{_OTHER_LANGUAGES[suffix]} is not read", ())
    return None


def node_start(folder: str) -> tuple[str, ...]:
    """Options and `-- COMMAND ARG...` that start the server of a folder with `package.json`; empty if there is none."""
    package = package_in(folder) if os.path.isdir(folder) else None
    return package.start.arguments if package is not None else ()


def python_start(target: str) -> tuple[str, ...]:
    """Options and `-- COMMAND ARG...` that start the server in a Python file or folder; empty if they are unknown."""
    file = target if os.path.isfile(target) else _main_file(target)
    if file is None:
        return ()
    folder, module = _module(file)
    if module and re.search(r"^\s*from \.", _text(file), re.MULTILINE):  # a relative import
        return (*(("--cwd", folder) if folder else ()), "--", "python", "-m", module)
    return "--", "python", file


def _main_file(folder: str) -> str | None:
    """The file in a folder that starts a server; None if there are several or none."""
    from mcproof.source import may_register, python_files

    found = []
    for file in python_files(folder, []):
        text = _text(file)
        if re.search(r"\.run(?:_\w+)?\(|__main__", text) and may_register(text.encode(), file):
            found.append(os.path.normpath(file))
    return found[0] if len(found) == 1 else None


def _module(file: str) -> tuple[str, str]:
    """The folder that a file is imported from and its dotted name; no name if it is not in a package."""
    folder, name = os.path.split(file)
    parts = [] if name == "__main__.py" else [name.removesuffix(".py")]
    is_packaged = False
    while folder and os.path.isfile(os.path.join(folder, "__init__.py")):
        is_packaged = True
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return (folder, ".".join(parts)) if is_packaged else (folder, "")


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read(_LONGEST_LOOKED_AT)
    except OSError:
        return ""
