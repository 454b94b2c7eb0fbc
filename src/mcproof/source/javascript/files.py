"""The files of a JavaScript project: which are its own, where its servers start, and what an import refers to.

Declaration files, tests and installed packages are left out. A file that a build writes stands for the one that it is
built from, where only that one is there.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.source import SourceProblem
from mcproof.core.text.files import files_below, open_in_checkout

if TYPE_CHECKING:
    from mcproof.source.javascript.syntax import SourceFile

SUFFIXES = (".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx")
LARGEST_FILE = 8 << 20
MOST_FILES = 20_000
MOST_NULLS = 8
"""How many null bytes a text may have at its start: some programs have them in strings, Node runs them."""
LARGEST_PROJECT = 64 << 20
"""How much source is parsed in all."""
LARGEST_DATA = 1 << 20
"""A larger `package.json` or `tsconfig.json` is not read."""
_DECLARATIONS = re.compile(r"\.d\.[cm]?ts$")
_TESTS = re.compile(
    r"\.(?:test|spec|stories|bench|e2e)\.[cm]?[jt]sx?$|(?:^|[\\/])(?:jest|vitest|webpack|rollup|vite|eslint|tsup|gulpfile|playwright)[\w.-]*\.config\.|\.min\.js$"
)
_TEST_FOLDERS = frozenset(("__tests__", "__mocks__", "test", "tests", "e2e", "fixtures", "__fixtures__", "testUtils"))
REGISTERING = (
    b"registerTool", b"registerAppTool", b"registerPrompt", b"registerResource", b"setRequestHandler", b".tool(",
    b"addTool", b"addPrompt", b"addResource", b"createTool", b"defineTool", b"McpServer(", b"MCPServer(", b"FastMCP(",
    b"MCPTool", b"xmcp",
)  # fmt: skip
"""Words of code that registers something with a server."""
_PACKAGES = re.compile(rb"modelcontextprotocol|\bmcp\b|\bMCP|fastmcp|mastra", re.IGNORECASE)


def registers(data: bytes) -> bool:
    """Whether source has a word in it that registers something with a server."""
    return any(word in data for word in REGISTERING)


def is_source(name: str) -> bool:
    """Whether a file is JavaScript or TypeScript that may run, by its name."""
    return name.endswith(SUFFIXES) and not _DECLARATIONS.search(name)


def is_test(path: str, top: str) -> bool:
    """Whether a file belongs to tests or to the configuration of tools, by its path below a folder."""
    relative = os.path.relpath(path, top)
    return _TESTS.search(relative) is not None or not _TEST_FOLDERS.isdisjoint(relative.split(os.sep)[:-1])


class ProjectFiles:
    """The files of a target."""

    def __init__(self, target: str, problems: list[SourceProblem], overrides: dict[str, bytes] | None = None) -> None:
        self._problems = problems
        self._overrides = overrides or {}
        self.target = os.path.abspath(target)
        self._shown = target
        self.is_folder = os.path.isdir(target)
        self.top = self.target if self.is_folder else project_of(self.target)
        self.read_paths: set[str] = set()
        self._parsed = 0
        self._data: dict[str, bytes | None] = {}
        self._packages: dict[str, dict[str, Any]] = {}
        self._known_packages: dict[str, str] | None = None
        self._resolved: dict[tuple[str, str], str | None] = {}
        self._paths: dict[str, list[tuple[str, list[str]]]] = {}

    def shown(self, path: str) -> str:
        """A path as messages show it: relative to the target as it was named."""
        if path == self.target:
            return self._shown
        if path.startswith(self.target + os.sep):
            relative = os.path.relpath(path, self.target)
            return relative if self._shown == os.curdir else os.path.join(self._shown, relative)
        near = os.path.relpath(path)
        return path if near.startswith(os.pardir) else near

    def source_files(self) -> list[str]:
        """The source files of the target, in a stable order."""
        if not self.is_folder:
            return [self.target]
        files = []
        for file in files_below(self.target):
            path = os.path.abspath(file)
            if is_source(path) and self.owns(path) and not is_test(path, self.target):
                files.append(path)
                if len(files) >= MOST_FILES:
                    what = f"more than {MOST_FILES:,} files; the rest is not read"
                    self._problems.append(SourceProblem(self._shown, None, None, what))
                    break
        return files

    def owns(self, path: str) -> bool:
        """Whether a file is part of the project, rather than of a package that it uses."""
        if not path.startswith(self.top + os.sep) and path != self.top:
            return False
        # a project may keep the code of others, and bundles of it, in folders of its own
        return "node_modules" not in os.path.relpath(path, self.top).split(os.sep)[:-1] or path == self.target

    def read(self, path: str) -> bytes | None:
        """The content of a file; None if it cannot be read, which is a problem."""
        if path not in self._data:
            self._data[path] = self._read(path)
        return self._data[path]

    def _read(self, path: str) -> bytes | None:
        self.read_paths.add(path)
        real = os.path.realpath(path)
        if real in self._overrides:
            return self._overrides[real]
        what = ""
        data = b""
        try:
            with open(path, "rb", opener=open_in_checkout) as opened:
                data = opened.read(LARGEST_FILE + 1)
            if len(data) > LARGEST_FILE:
                what = f"larger than {LARGEST_FILE >> 20} MB; skipped"
        except OSError as error:
            what = f"cannot be read: {error.strerror or error}"
        if what:
            self._problems.append(SourceProblem(self.shown(path), None, None, what))
            return None
        return data

    def parse(self, path: str) -> SourceFile | None:
        """The tree of a file; None, with a problem, if it is not source."""
        from mcproof.source.javascript.syntax import SourceFile

        data = self.read(path)
        if data is None:
            return None
        shown = self.shown(path)
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            self._problems.append(SourceProblem(shown, None, None, "is UTF-16, which is not read; save it as UTF-8"))
            return None
        if data.count(b"\0", 0, 4096) > MOST_NULLS:
            self._problems.append(SourceProblem(shown, None, None, "contains null bytes, so it is not source text"))
            return None
        self._parsed += len(data)
        if self._parsed > LARGEST_PROJECT:
            self._problems.append(SourceProblem(shown, None, None, "the project is too large to read as a whole"))
            return None
        source = SourceFile(path, shown, data.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b" "))
        if source.root.type == "ERROR":
            line, column = _first_error(source)
            self._problems.append(SourceProblem(shown, line, column, "not valid JavaScript or TypeScript"))
        return source

    def packages(self) -> list[str]:
        """The folders of the target with a `package.json`, the highest first."""
        if not self.is_folder:
            return [self.top]
        folders = [
            os.path.dirname(os.path.abspath(file))
            for file in files_below(self.target)
            if os.path.basename(file) == "package.json"
        ]
        return sorted(
            (folder for folder in folders if self.owns(os.path.join(folder, "x"))),
            key=lambda folder: (folder.count(os.sep), folder),
        )

    def declared(self, folder: str) -> dict[str, Any]:
        """The `package.json` of a folder; empty if it has none."""
        if folder not in self._packages:
            self._packages[folder] = _json(os.path.join(folder, "package.json"), self.read_paths)
        return self._packages[folder]

    def entries(self, folder: str) -> list[str]:
        """The files that a package starts or exports, the most likely server first."""
        declared = self.declared(folder)
        bin_ = declared.get("bin")
        named: list[Any] = list(bin_.values()) if isinstance(bin_, dict) else [bin_]
        named += _exported_files(declared.get("exports"))
        named += [declared.get("main"), declared.get("module")]
        scripts = declared.get("scripts")
        for script in (scripts.get("start"), scripts.get("dev")) if isinstance(scripts, dict) else ():
            if isinstance(script, str):
                named += re.findall(r"[\w./@-]+\.[cm]?[jt]sx?\b", script)
        entries: dict[str, None] = {}
        for name in named:
            if isinstance(name, str) and len(entries) < 20:
                path = self.file_for(os.path.normpath(os.path.join(folder, name)), folder)
                if path is not None and not is_test(path, folder):
                    entries[path] = None
        if not entries:
            for name in ("src/index", "index", "src/server", "server", "src/main", "main", "src/cli"):
                path = self.file_for(os.path.join(folder, name), folder)
                if path is not None:
                    entries[path] = None
        return list(entries)

    def file_for(self, path: str, folder: str) -> str | None:
        """The file that a path refers to; if a build writes it and it is not there, the one that it is built from."""
        file = self._existing(path)
        if file is not None:
            return file
        first, _, rest = os.path.relpath(path, folder).partition(os.sep)
        stem = os.path.splitext(rest or first)[0]
        if first.startswith(os.pardir):
            return None
        for source in ("src", ".", "source", "lib"):
            if (file := self._existing(os.path.normpath(os.path.join(folder, source, stem)))) is not None:
                return file
        if stem.startswith(("src" + os.sep, "esm" + os.sep, "cjs" + os.sep)):
            return self._existing(os.path.join(folder, "src", stem.partition(os.sep)[2]))
        return None

    def _existing(self, path: str) -> str | None:
        """The file for a path as an import writes it: with another suffix, without one, or a folder."""
        stem, suffix = os.path.splitext(path)
        candidates = []
        if suffix in SUFFIXES or suffix == ".json":
            candidates.append(path)
            typed = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}.get(suffix, ())
            candidates += [stem + other for other in typed]
        candidates += [path + other for other in (*SUFFIXES, ".json")]
        candidates += [os.path.join(path, "index" + other) for other in SUFFIXES]
        for candidate in candidates:
            if (os.path.isfile(candidate) or os.path.realpath(candidate) in self._overrides) and self.owns(candidate):
                return candidate if not _DECLARATIONS.search(candidate) else None
        if os.path.isfile(os.path.join(path, "package.json")) and path != self.top:
            main = self.declared(path).get("main")
            if isinstance(main, str) and self.owns(inner := os.path.normpath(os.path.join(path, main))):
                return self._existing(inner) if inner != path else None
        if os.path.isfile(path) and not suffix and self.owns(path):
            return path  # a script that starts with `#!`
        return None

    def resolve(self, request: str, importer: str) -> str | None:
        """The file of the project that an import refers to; None if it is of another package."""
        folder = os.path.dirname(importer)
        key = (request, folder)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(request, folder)
        return self._resolved[key]

    def _resolve(self, request: str, folder: str) -> str | None:
        if len(request) > 1_000 or "\0" in request:
            return None
        request = request.partition("?")[0]
        if request.startswith((".", "/")):
            return self._existing(os.path.normpath(os.path.join(folder, request)))
        own = self.package_above(folder)
        if request.startswith("#"):
            return self._by_patterns(self.declared(own).get("imports"), request, own)
        for pattern, targets in self._tsconfig(folder):
            prefix, star, suffix = pattern.partition("*")
            if request == pattern or (star and request.startswith(prefix) and request.endswith(suffix)):
                middle = request[len(prefix) : len(request) - len(suffix)] if star else ""
                for target in targets:
                    if (file := self._existing(os.path.normpath(target.replace("*", middle)))) is not None:
                        return file
        return self._in_workspace(request)

    def _in_workspace(self, request: str) -> str | None:
        """A file of another package of the same repository, or of the own one by its name."""
        if self._known_packages is None:
            self._known_packages = {}
            for folder in self.packages():
                name = self.declared(folder).get("name")
                if isinstance(name, str):
                    self._known_packages.setdefault(name, folder)
        parts = request.split("/")
        name = "/".join(parts[: 2 if request.startswith("@") else 1])
        if name not in self._known_packages:
            return None
        folder, subpath = self._known_packages[name], request[len(name) + 1 :]
        file = self._by_patterns(self.declared(folder).get("exports"), f"./{subpath}" if subpath else ".", folder)
        if file is not None:
            return file
        if subpath:
            return self.file_for(os.path.join(folder, subpath), folder) or self._existing(
                os.path.join(folder, "src", subpath)
            )
        return next(iter(self.entries(folder)), None) if not self.declared(folder).get("bin") else self._main(folder)

    def _main(self, folder: str) -> str | None:
        main = self.declared(folder).get("main")
        return self.file_for(os.path.join(folder, main), folder) if isinstance(main, str) else None

    def _by_patterns(self, patterns: Any, request: str, folder: str) -> str | None:
        """The file that `exports` or `imports` of a package names."""
        if isinstance(patterns, str):
            patterns = {".": patterns}
        for pattern, target in patterns.items() if isinstance(patterns, dict) else ():
            prefix, star, suffix = pattern.partition("*")
            if request == pattern or (star and request.startswith(prefix) and request.endswith(suffix)):
                middle = request[len(prefix) : len(request) - len(suffix)] if star else ""
                for file in _exported_files(target):
                    path = os.path.normpath(os.path.join(folder, file.replace("*", middle)))
                    if (resolved := self.file_for(path, folder)) is not None:
                        return resolved
        return None

    def package_above(self, folder: str) -> str:
        while folder.startswith(self.top) and folder != self.top:
            if self.declared(folder):
                return folder
            folder = os.path.dirname(folder)
        return self.top

    def _tsconfig(self, folder: str) -> list[tuple[str, list[str]]]:
        """The `paths` of the nearest `tsconfig.json`, with absolute targets."""
        if folder in self._paths:
            return self._paths[folder]
        self._paths[folder] = []
        patterns: list[tuple[str, list[str]]] = []
        for name in ("tsconfig.json", "jsconfig.json"):
            at = os.path.join(folder, name)
            seen: set[str] = set()
            while at not in seen and os.path.isfile(at) and len(seen) < 5:
                seen.add(at)
                config = _json(at, self.read_paths)
                options = config.get("compilerOptions")
                options = options if isinstance(options, dict) else {}
                base = options.get("baseUrl")
                root = os.path.join(os.path.dirname(at), base if isinstance(base, str) else ".")
                paths = options.get("paths")
                for pattern, targets in paths.items() if isinstance(paths, dict) else ():
                    if isinstance(targets, list):
                        patterns.append(
                            (pattern, [os.path.join(root, path) for path in targets if isinstance(path, str)])
                        )
                if isinstance(base, str):
                    patterns.append(("*", [os.path.join(root, "*")]))
                extended = config.get("extends")
                if not isinstance(extended, str) or not extended.startswith("."):
                    break
                at = os.path.normpath(os.path.join(os.path.dirname(at), extended))
                at = at if at.endswith(".json") else at + ".json"
        if not patterns and folder != self.top and folder.startswith(self.top):
            patterns = self._tsconfig(os.path.dirname(folder))
        self._paths[folder] = patterns
        return patterns

    def lock(self, folder: str) -> str:
        """The text of the lock file of a folder; empty if there is none."""
        for name in ("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return (self.read(path) or b"").decode("utf-8", "replace")
        return ""

    def version_of(self, package: str, folder: str) -> str | None:
        """The version or range of a dependency that the nearest `package.json` declares."""
        while True:
            for kind in ("dependencies", "devDependencies", "peerDependencies"):
                declared = self.declared(folder).get(kind)
                if isinstance(declared, dict) and isinstance(declared.get(package), str):
                    return str(declared[package])
            if folder == self.top or not folder.startswith(self.top):
                return None
            folder = os.path.dirname(folder)


def project_of(file: str) -> str:
    """The folder of the project that a file belongs to: the nearest with a `package.json`, else its own."""
    folder = at = os.path.dirname(file)
    for _ in range(12):
        if os.path.isfile(os.path.join(at, "package.json")):
            return at
        if os.path.exists(os.path.join(at, ".git")) or os.path.dirname(at) == at:
            break
        at = os.path.dirname(at)
    return folder


def _exported_files(value: Any, depth: int = 0) -> list[str]:
    """The files that `exports` names, those for `import` first, without those for types."""
    if isinstance(value, str):
        return [value]
    files: list[str] = []
    if isinstance(value, list):
        for item in value[:20]:
            files += _exported_files(item, depth + 1)
    if isinstance(value, dict) and depth < 6:
        order = sorted(
            value,
            key=lambda key: (
                ("source", "import", "node", "default", "require").index(key)
                if key in ("source", "import", "node", "default", "require")
                else 9
            ),
        )
        for key in order[:50]:
            if key != "types" and not key.endswith(".json"):
                files += _exported_files(value[key], depth + 1)
    return files


_COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def _json(path: str, read: set[str]) -> dict[str, Any]:
    """A configuration file, which may have comments and trailing commas; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig", opener=open_in_checkout) as opened:
            text = opened.read(LARGEST_DATA + 1)
    except (OSError, ValueError):
        return {}
    read.add(path)
    if len(text) > LARGEST_DATA:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # a `tsconfig.json` may have comments
        try:
            value = json.loads(_COMMENTS.sub(lambda match: match[1] or "", text))
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _first_error(source: SourceFile) -> tuple[int | None, int | None]:
    """Line and column of the first place that the parser does not understand."""
    node = source.root
    for child in node.children:
        if child.is_error or child.has_error or child.is_missing:
            location = source.location(child)
            return location.line, location.column
    return 1, 1


def holds_server(folder: str) -> bool:
    """Whether a folder contains source that may register something with an MCP server."""
    files = ProjectFiles(folder, [])
    serves = names_protocol = False
    for path in files.source_files():
        data = files.read(path) or b""
        serves = serves or registers(data)
        names_protocol = names_protocol or _PACKAGES.search(data) is not None
        if serves and names_protocol:
            return True
    return False
