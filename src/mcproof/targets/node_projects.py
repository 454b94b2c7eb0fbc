"""Servers in JavaScript and TypeScript: their source is not read, but `package.json` shows how they are started."""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple

SUFFIXES = (".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx")
"""How the names of source files end."""
PACKAGE_FILE = "package.json"
_LARGEST = 1 << 20
"""A larger `package.json` is not read."""
_HIGHEST_CLIMB = 12
_SDKS = ("@modelcontextprotocol/", "fastmcp", "mcp-framework", "@mastra/mcp", "mcp-handler", "xmcp", "mcp-use")
"""Packages that servers depend on, or the beginnings of their names."""
_BUILT = ("dist", "build", "lib", "out")
"""Folders that builds write to."""
_SIMPLE_SCRIPT = re.compile(r"(?:node|bun|deno|tsx|ts-node|npx)(?: [\w@./:=-]+)+")
"""A script that is one command, without variables and operators of a shell."""


class NodeStart(NamedTuple):
    """How to start a server."""

    words: tuple[str, ...]
    """The command."""
    folder: str
    """The folder to start it in; empty for the working directory."""
    build: str = ""
    """What creates the file to start, if it does not exist yet."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of mcproof that start it."""
        folder = ("--cwd", self.folder) if self.folder not in ("", os.curdir) else ()
        return (*folder, "--", *self.words)


class NodePackage(NamedTuple):
    """A folder with a `package.json`."""

    folder: str
    declared: dict[str, Any]

    @property
    def is_server(self) -> bool:
        """Whether it depends on a framework for servers."""
        names = [name for key in ("dependencies", "devDependencies") for name in _table(self.declared.get(key))]
        return any(name == sdk or (sdk.endswith("/") and name.startswith(sdk)) for name in names for sdk in _SDKS)

    @property
    def start(self) -> NodeStart:
        """How its server is started: by its `bin`, `start` script or `main`, else by what a build usually creates."""
        declared, scripts = self.declared, _table(self.declared.get("scripts"))
        bin_ = declared.get("bin")
        named = list(_table(bin_).values()) if isinstance(bin_, dict) else [bin_]
        script, main = scripts.get("start"), declared.get("main")
        for file in filter(_is_path, named):
            return self._node(str(file))
        if isinstance(script, str) and _SIMPLE_SCRIPT.fullmatch(script):
            return NodeStart(tuple(script.split()), self.folder)
        return self._node(str(main) if _is_path(main) else self._built())

    def _node(self, file: str) -> NodeStart:
        path = os.path.normpath(os.path.join(self.folder, file))
        is_missing = not os.path.exists(path) and "build" in _table(self.declared.get("scripts"))
        return NodeStart(("node", path), "", "npm run build" if is_missing else "")

    def _built(self) -> str:
        """The usual result of a build, in the folder that exists already or that the compiler writes to."""
        for folder in _BUILT:
            for name in ("index.js", "server.js", "index.mjs"):
                if os.path.isfile(os.path.join(self.folder, folder, name)):
                    return f"{folder}/{name}"
        given = re.search(r'"outDir"\s*:\s*"(?:\./)?([\w./-]+?)/?"', _text(os.path.join(self.folder, "tsconfig.json")))
        return f"{given[1] if given else 'build'}/index.js"


def package_in(folder: str) -> NodePackage | None:
    """The package in a folder; None if there is none that can be read."""
    try:
        declared = json.loads(_text(os.path.join(folder, PACKAGE_FILE)))
    except (ValueError, RecursionError):
        return None
    return NodePackage(folder, declared) if isinstance(declared, dict) else None


def package_of(file: str) -> NodePackage | None:
    """The package that a file belongs to: the nearest one above it."""
    folder = os.path.dirname(file)
    for _ in range(_HIGHEST_CLIMB):
        if (package := package_in(folder)) is not None:
            return package
        if os.path.exists(os.path.join(folder, ".git")):
            break
        above = os.path.dirname(folder) if folder not in ("", os.curdir) else os.pardir
        if os.path.abspath(above) == os.path.abspath(folder) or folder.endswith(os.pardir):
            break
        folder = above
    return None


def start_of(file: str) -> NodeStart:
    """How the server with this source file is started."""
    if not file.endswith((".ts", ".mts", ".cts", ".tsx", ".jsx")):
        return NodeStart(("node", file), "")
    package = package_of(file)
    return package.start if package is not None else NodeStart(("node", "build/index.js"), "")


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8-sig") as opened:
            text = opened.read(_LARGEST + 1)
    except (OSError, ValueError):
        return ""
    return text if len(text) <= _LARGEST else ""


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_path(value: Any) -> bool:
    """Whether a value is the path of a file within its package."""
    return isinstance(value, str) and value.isprintable() and bool(value) and ".." not in value.split("/")
