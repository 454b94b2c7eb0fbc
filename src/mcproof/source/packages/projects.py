"""What a Python or Node project declares: its name and version, its scripts, its dependencies.

Projects are found from one of their files upwards. How a Node server is started is read from its `package.json`.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import KnownPackage, normalized
from mcproof.core.text.files import open_in_checkout
from mcproof.source.packages.versions import (
    distributions_in,
    newest_allowed,
    npm_package,
    release_of,
    text_of,
)
from mcproof.source.suffixes import JAVASCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packaging.version import Version

    from mcproof.source.python.files import Boundary


_LOCKED = r'(?m)^name = "{}"\s+version = "([^"]+)"'
_LOCKS = {
    "uv.lock": _LOCKED,
    "poetry.lock": _LOCKED,
    "pdm.lock": _LOCKED,
    "Pipfile.lock": r'"{}": \{{[^{{}}]*"version": "==([^"]+)"',
}
"""How each lock file has the version of a distribution."""
PYTHON_MARKERS = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", *_LOCKS, "Pipfile")
"""The files by which the folder of a Python project is known."""
_REQUIREMENT_FILE = re.compile(r"requirements[\w.-]*\.(?:txt|in|lock)")
_MOST_REQUIREMENT_FILES = 20
_SOURCE_ROOTS = frozenset(("src", "lib", "python"))
_HIGHEST_CLIMB = 12
LARGEST_TOML = 1 << 18
"""A larger `pyproject.toml` is not parsed."""
_REQUIREMENT = r"(?im)(?:^|[\"'])[ \t]*{}[ \t]*(?:\[[^\]\n]*\])?[ \t]*((?:[<>=!~^][^\"'\n#;]*)?)(?=[\"'\n#;]|$)"
_ENTRY = re.compile(r"^[ \t]*[\w.-]+[ \t]*=[ \t]*([\w.]+)", re.MULTILINE)
_QUOTED_ENTRY = re.compile(r"[\"'][\w.-]+\s*=\s*([\w.]+)\s*:\s*[\w.]+[\"']")


class ProjectMetadata(NamedTuple):
    """The declarations of one project."""

    scripts: tuple[str, ...]
    """The modules that its scripts start."""
    versions: dict[str, Version]
    """The newest version that it allows, or the one that is installed or locked, of each known dependency."""


_UNKNOWN_ROOT = ""
NOTHING_DECLARED = ProjectMetadata((), {})


class ProjectDeclarations:
    """The metadata of the projects that the files of a target belong to."""

    def __init__(self, target: str, boundary: Boundary, dependencies: Iterable[str]) -> None:
        top = os.path.abspath(target)
        self._top = top if os.path.isdir(top) else os.path.dirname(top)
        self._dependencies = tuple(dependencies)
        """The distributions whose versions matter."""
        self._by_folder: dict[str, ProjectMetadata] = {}
        self._roots: dict[str, str | None] = {}
        self._installed = _of_installation(boundary, self._dependencies)

    def of(self, path: str) -> ProjectMetadata:
        """The metadata of the project that contains a file."""
        # An installed package has no project files: what pip wrote about it counts.
        if self._installed is not None:
            return self._installed
        folder = self._roots.get(beside := os.path.dirname(path), _UNKNOWN_ROOT)
        # None is an answer too, and is kept: most files of a target are in one folder.
        if folder is _UNKNOWN_ROOT:
            folder = self._roots[beside] = self._root(beside)
        if folder is None:
            return NOTHING_DECLARED
        if folder not in self._by_folder:
            self._by_folder[folder] = _of_folder(folder, self._dependencies)
        return self._by_folder[folder]

    def _root(self, folder: str) -> str | None:
        """The nearest folder with project files, at or above a folder; not far outside the target."""
        for above in folders_above(folder, _HIGHEST_CLIMB):
            if has_any(above, PYTHON_MARKERS):
                return above
            # A file in the home directory must not make the whole of it a project.
            is_inside = above.startswith(self._top + os.sep)
            is_source = os.path.basename(above) in _SOURCE_ROOTS
            if not (is_inside or is_source or has_any(above, ("__init__.py",))):
                parent = os.path.dirname(above)
                return parent if has_any(parent, ("pyproject.toml",)) else None
        return None


def folders_above(folder: str, most: int) -> Iterator[str]:
    """A folder and those above it, the nearest first."""
    for _ in range(most):
        yield folder
        # The root of the file system is its own parent.
        if folder == (folder := os.path.dirname(folder)):
            break


def has_any(folder: str, names: Iterable[str]) -> bool:
    """Whether a folder has a file with one of these names."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in names)


def locked_versions(folder: str, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The lock file and the version in it, for those of some distributions that a project locks."""
    locked: dict[str, tuple[str, str]] = {}
    for file, pattern in _LOCKS.items():
        text = text_of(os.path.join(folder, file))
        for name in names if text else ():
            # By pattern, as a lock file may have megabytes, of which two lines matter.
            if name not in locked and (match := re.search(pattern.format(re.escape(name)), text)) is not None:
                locked[name] = file, match[1]
    return locked


def requirement_files(folder: str) -> list[str]:
    """The names of the files with requirements in a folder."""
    try:
        names = sorted(name for name in os.listdir(folder) if _REQUIREMENT_FILE.fullmatch(name))
    except OSError:
        return []
    return names[:_MOST_REQUIREMENT_FILES]


def _of_installation(boundary: Boundary, dependencies: tuple[str, ...]) -> ProjectMetadata | None:
    """The metadata of an installed distribution; None if the target is not one."""
    distribution = boundary.distribution
    if distribution is None:
        return None
    beside = {neighbour.name: neighbour.version for neighbour in distributions_in(distribution.site)}
    # What is installed beside it is what it runs with, whatever its metadata allows.
    exact = {name: release_of(beside[name]) for name in dependencies if name in beside}
    versions = {name: version for name, version in exact.items() if version is not None}
    for name, specifier in distribution.requirements():
        newest = newest_allowed(specifier) if name in dependencies else None
        if newest is not None:
            versions.setdefault(name, newest)
    return ProjectMetadata(tuple(_console_scripts(distribution.text("entry_points.txt"), "[{}_scripts]")), versions)


def _console_scripts(text: str, heading: str) -> Iterator[str]:
    """The modules of the scripts in a file of sections; `heading` is the heading of their section."""
    for kind in ("console", "gui"):
        _, separator, rest = text.partition(heading.format(kind))
        if separator:
            # Up to the next section: its entries may look like scripts.
            yield from _ENTRY.findall(re.split(r"^\[", rest, maxsplit=1, flags=re.MULTILINE)[0])


def _of_folder(folder: str, dependencies: tuple[str, ...]) -> ProjectMetadata:
    """The metadata in the project files of a folder."""
    declared = read_toml(os.path.join(folder, "pyproject.toml"))
    setup = text_of(os.path.join(folder, "setup.cfg"))
    script = text_of(os.path.join(folder, "setup.py"))
    scripts = [
        *_declared_scripts(declared),
        *_console_scripts(setup.partition("[options.entry_points]")[2], "{}_scripts"),
        *_QUOTED_ENTRY.findall(script),
    ]
    texts = [*_declared_requirements(declared), setup, script]
    # Not of locks: these are read by their own patterns, with the version that is exact.
    texts += [text_of(os.path.join(folder, name)) for name in requirement_files(folder) if not name.endswith(".lock")]
    locked = locked_versions(folder, dependencies)
    versions = {}
    for name in dependencies:
        version = release_of(locked[name][1]) if name in locked else None
        if version is None:
            # `my-lib`, `my_lib` and `my.lib` are one name for PyPI.
            pattern = re.compile(_REQUIREMENT.format(re.sub("[-_.]+", "[-_.]+", name)))
            limits = (newest_allowed(specifier) for text in texts for specifier in pattern.findall(text))
            version = min((limit for limit in limits if limit is not None), default=None)
        if version is not None:
            versions[name] = version
    return ProjectMetadata(tuple(dict.fromkeys(scripts)), versions)


def read_toml(path: str) -> dict[str, Any]:
    """The content of a TOML file; empty if it cannot be read or is too large."""
    text = text_of(path)
    if not 0 < len(text) <= LARGEST_TOML:
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):  # a file that is no TOML declares nothing that could be relied on
        return {}


def nested_table(value: Any, *keys: str) -> dict[str, Any]:
    """A nested table; empty if it is missing or something else."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _declared_scripts(declared: dict[str, Any]) -> Iterator[str]:
    """The modules of the scripts in a `pyproject.toml`."""
    for keys in (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts")):
        for value in nested_table(declared, *keys).values():
            reference = value.get("reference") or value.get("callable") if isinstance(value, dict) else value
            if isinstance(reference, str):
                yield reference.partition(":")[0].strip()


def _declared_requirements(declared: dict[str, Any]) -> Iterator[str]:
    """The requirements in a `pyproject.toml`, one by one; Poetry's become those of pip."""
    lists = [nested_table(declared, "project").get("dependencies")]
    # An SDK is often an extra, and a server without it would not start.
    lists += nested_table(declared, "project", "optional-dependencies").values()
    for requirements in lists:
        yield from (item for item in requirements if isinstance(item, str)) if isinstance(requirements, list) else ()
    for name, value in nested_table(declared, "tool", "poetry", "dependencies").items():
        version = value.get("version") if isinstance(value, dict) else value
        if isinstance(version, str):
            yield f"{normalized(name)}{version if version[:1] in '<>=!~^' else f'=={version}'}"


_INSTALLED = ("node_modules", "site-packages", "dist-packages")
_MOST_FILES = 2_000


def mentions(path: str, expression: str) -> bool | None:
    """Whether the source in a file's folder, or in a folder, matches an expression; None if not all of it was read."""
    pattern = re.compile(rf"(?<!\w)(?:{expression})")
    count = 0
    for folder, names, files in os.walk(path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))):
        # In place, which keeps `os.walk` out of them.
        names[:] = sorted(name for name in names if name not in _INSTALLED and not name.startswith("."))
        for file in sorted(file for file in files if file.endswith((".py", *SUFFIXES))):
            count += 1
            # None and not False: what was not read may mention it.
            if count > _MOST_FILES:
                return None
            if pattern.search(text_of(os.path.join(folder, file))):
                return True
    return False if count else None


NODE_FRAMEWORK = "@modelcontextprotocol/sdk"
MODULES = "node_modules"
_PNPM_LOCKED = re.compile(r"@modelcontextprotocol/sdk@(\d[\w.+-]*)")
_YARN_LOCKED = re.compile(r'"?@modelcontextprotocol/sdk@[^\n]*:\n\s+version:? "?(\d[\w.+-]*)')
_LAUNCHED = re.compile(r"(?:\$basedir|%~dp0|%dp0%)[\\/]+([^\"'\s]+\.[cm]?[jt]s)\b")
"""The script that a launcher in `node_modules/.bin` starts, as npm and pnpm write it."""
_LONGEST_LAUNCHER = 16_384
_HIGHEST_MODULES_CLIMB = 10


def node_project(folder: str | None) -> Iterator[KnownPackage]:
    """Yield the packages of a Node project: itself, and the SDK that is locked or installed."""
    if folder is None:
        return
    own = _json(os.path.join(folder, "package.json"))
    name, version = own.get("name"), own.get("version")
    if isinstance(name, str) and name:
        yield KnownPackage(name.lower(), "npm", version if isinstance(version, str) else None, "package.json")
    framework = _framework(folder, own)
    if framework is not None:
        yield framework


def module_packages(path: str) -> list[KnownPackage]:
    """Return the package in `node_modules` that a program or script belongs to, and the SDK that it loads."""
    real = os.path.realpath(path)
    # npm links to the script; pnpm writes a shell script that names it.
    if os.path.basename(os.path.dirname(real)) == ".bin":
        launched = _LAUNCHED.search(text_of(real)[:_LONGEST_LAUNCHER])
        if launched is not None:
            real = os.path.realpath(os.path.join(os.path.dirname(real), *re.split(r"[\\/]+", launched[1])))
    parts = real.split(os.sep)
    if MODULES not in parts:
        return []
    start = len(parts) - parts[::-1].index(MODULES)
    # A scope such as `@org` is a folder of its own.
    end = start + (2 if parts[start : start + 1] and parts[start].startswith("@") else 1)
    return list(node_project(os.sep.join(parts[:end]))) if len(parts) >= end else []


def local_module(name: str, folder: str) -> list[KnownPackage]:
    """Return a package that is installed in a project, which `npx NAME` prefers to fetching it."""
    return list(node_project(os.path.join(folder, MODULES, *name.split("/"))))


def _framework(folder: str, own: dict[str, Any]) -> KnownPackage | None:
    """Return the SDK that a package imports, or that a framework imports which it depends on."""
    users = [""]
    if mentions(folder, re.escape(NODE_FRAMEWORK)) is False:
        # A server may use the SDK through a framework, which then has its own copy of it.
        users = [*nested_table(own, "dependencies"), ""]
    for file in ("package-lock.json", "npm-shrinkwrap.json"):
        lock = _json(os.path.join(folder, file))
        packages = nested_table(lock, "packages")
        for user in users:
            path = f"{MODULES}/{user}" if user else ""
            if not user or NODE_FRAMEWORK in nested_table(packages, path, "dependencies"):
                entry = nested_table(packages, f"{path}/{MODULES}/{NODE_FRAMEWORK}")
                entry = entry or nested_table(packages, f"{MODULES}/{NODE_FRAMEWORK}")
                # The form of older lock files.
                entry = entry or nested_table(lock, "dependencies", NODE_FRAMEWORK)
                if isinstance(entry.get("version"), str):
                    return KnownPackage(NODE_FRAMEWORK, "npm", entry["version"], file)
    for file, pattern in (("pnpm-lock.yaml", _PNPM_LOCKED), ("yarn.lock", _YARN_LOCKED)):
        match = pattern.search(text_of(os.path.join(folder, file)))
        if match is not None:
            return npm_package(f"{NODE_FRAMEWORK}@{match[1]}", file)
    for user in users:
        installed = _installed_framework(_module_above(user, folder) if user else folder, is_own=not user)
        if installed is not None:
            return installed
    declared = next(_wanted(own), None)
    return None if declared is None else npm_package(f"{NODE_FRAMEWORK}@{declared}", "package.json")


def _wanted(own: dict[str, Any]) -> Iterator[str]:
    for kind in ("dependencies", "devDependencies", "peerDependencies"):
        version = nested_table(own, kind).get(NODE_FRAMEWORK)
        if isinstance(version, str):
            yield version


def _installed_framework(folder: str, *, is_own: bool) -> KnownPackage | None:
    """Return the SDK as Node finds it: in the folder itself, or above it if the package depends on it."""
    is_wanted = any(_wanted(_json(os.path.join(folder, "package.json"))))
    if not (is_wanted or is_own):
        return None
    installed = _module_above(NODE_FRAMEWORK, folder, _HIGHEST_MODULES_CLIMB if is_wanted else 1)
    version = _json(os.path.join(installed, "package.json")).get("version") if installed else None
    return KnownPackage(NODE_FRAMEWORK, "npm", version, MODULES) if isinstance(version, str) else None


def _module_above(name: str, folder: str, most: int = _HIGHEST_MODULES_CLIMB) -> str:
    """Return the folder of a module, as Node finds it from a folder; empty if it is not installed."""
    for above in folders_above(folder, most):
        module = os.path.join(above, MODULES, *name.split("/"))
        if os.path.basename(above) != MODULES and os.path.isfile(os.path.join(module, "package.json")):
            return module
    return ""


def _json(path: str) -> dict[str, Any]:
    try:
        value = json.loads(text_of(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


SUFFIXES = JAVASCRIPT
"""How the names of source files end."""
PACKAGE_FILE = "package.json"
_LARGEST = 1 << 20
"""A larger `package.json` is not read."""
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
        names = [name for key in ("dependencies", "devDependencies") for name in nested_table(self.declared.get(key))]
        return any(name == sdk or (sdk.endswith("/") and name.startswith(sdk)) for name in names for sdk in _SDKS)

    @property
    def start(self) -> NodeStart:
        """How its server is started: by its `bin`, `start` script or `main`, else by what a build usually creates."""
        declared, scripts = self.declared, nested_table(self.declared.get("scripts"))
        bin_ = declared.get("bin")
        named = list(nested_table(bin_).values()) if isinstance(bin_, dict) else [bin_]
        script, main = scripts.get("start"), declared.get("main")
        # A `bin` is what users start, so it comes before scripts for developers.
        for file in filter(_is_path, named):
            return self._node(str(file))
        # Anything that needs a shell could do anything, and is not suggested.
        if isinstance(script, str) and _SIMPLE_SCRIPT.fullmatch(script):
            return NodeStart(tuple(script.split()), self.folder)
        return self._node(str(main) if _is_path(main) else self._built())

    def _node(self, file: str) -> NodeStart:
        path = os.path.normpath(os.path.join(self.folder, file))
        is_missing = not os.path.exists(path) and "build" in nested_table(self.declared.get("scripts"))
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
        with open(file, encoding="utf-8-sig", opener=open_in_checkout) as opened:
            text = opened.read(_LARGEST + 1)
    except (OSError, ValueError):  # what cannot be read declares nothing
        return ""
    return text if len(text) <= _LARGEST else ""


def _is_path(value: Any) -> bool:
    """Whether a value is the path of a file within its package."""
    return isinstance(value, str) and value.isprintable() and bool(value) and ".." not in value.split("/")
