"""What a project declares about itself: the scripts that start it, and the versions of its dependencies."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.project.distributions import distributions_in, normalized, text_of
from mcproof.discovery.project.requirements import Version, newest_allowed, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.discovery.project.boundary import Boundary

_MARKERS = frozenset(
    ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "uv.lock", "poetry.lock", "Pipfile")
)
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")
_SOURCE_ROOTS = frozenset(("src", "lib", "python"))
_HIGHEST_CLIMB = 12
LARGEST_TOML = 1 << 18
"""A larger `pyproject.toml` is not parsed."""
_LOCKED = r'name = "{}"\s+version = "([^"]+)"'
_PIPFILE_LOCKED = r'"{}": \{{[^{{}}]*"version": "==([^"]+)"'
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
        if self._installed is not None:
            return self._installed
        folder = self._roots.get(beside := os.path.dirname(path), _UNKNOWN_ROOT)
        if folder is _UNKNOWN_ROOT:
            folder = self._roots[beside] = self._root(beside)
        if folder is None:
            return NOTHING_DECLARED
        if folder not in self._by_folder:
            self._by_folder[folder] = _of_folder(folder, self._dependencies)
        return self._by_folder[folder]

    def _root(self, folder: str) -> str | None:
        """The nearest folder with project files, at or above a folder; not far outside the target."""
        for _ in range(_HIGHEST_CLIMB):
            if any(os.path.isfile(os.path.join(folder, name)) for name in _MARKERS):
                return folder
            parent = os.path.dirname(folder)
            is_inside = folder.startswith(self._top + os.sep)
            is_source = os.path.basename(folder) in _SOURCE_ROOTS
            if not (is_inside or is_source or os.path.isfile(os.path.join(folder, "__init__.py"))):
                return parent if os.path.isfile(os.path.join(parent, "pyproject.toml")) else None
            folder = parent
        return None


def _of_installation(boundary: Boundary, dependencies: tuple[str, ...]) -> ProjectMetadata | None:
    """The metadata of an installed distribution; None if the target is not one."""
    distribution = boundary.distribution
    if distribution is None:
        return None
    beside = {each.name: parsed(each.version) for each in distributions_in(distribution.site)}
    versions = {name: beside[name] for name in dependencies if beside.get(name)}
    for name, specifier in distribution.requirements():
        newest = newest_allowed(specifier) if name in dependencies else None
        if newest is not None:
            versions.setdefault(name, newest)
    return ProjectMetadata(tuple(_console_scripts(distribution.text("entry_points.txt"), "[{}_scripts]")), versions)


def _console_scripts(text: str, heading: str) -> Iterator[str]:
    """The modules of the scripts in a file of sections; `heading` is the heading of their section."""
    for kind in ("console", "gui"):
        _, found, rest = text.partition(heading.format(kind))
        if found:
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
    texts = [*_declared_requirements(declared), setup, script, *_requirement_files(folder)]
    locks = [text_of(os.path.join(folder, name)) for name in _LOCKS]
    pipfile = text_of(os.path.join(folder, "Pipfile.lock"))
    versions = {}
    for name in dependencies:
        pinned = [re.search(_LOCKED.format(re.escape(name)), each) for each in locks]
        pinned.append(re.search(_PIPFILE_LOCKED.format(re.escape(name)), pipfile))
        exact = next((parsed(each[1]) for each in pinned if each is not None), ())
        version = exact or _newest_required(name, texts)
        if version:
            versions[name] = version
    return ProjectMetadata(tuple(dict.fromkeys(scripts)), versions)


def _newest_required(name: str, texts: Iterable[str]) -> Version | None:
    """The newest version of a distribution that all requirements in some texts allow."""
    pattern = re.compile(_REQUIREMENT.format(re.sub("[-_.]+", "[-_.]+", name)))
    limits = (newest_allowed(specifier) for text in texts for specifier in pattern.findall(text))
    return min((each for each in limits if each is not None), default=None)


def _requirement_files(folder: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", name))
    except OSError:
        return []
    return [text_of(os.path.join(folder, name)) for name in names[:20]]


def read_toml(path: str) -> dict[str, Any]:
    """The content of a TOML file; empty if it cannot be read or is too large."""
    text = text_of(path)
    if not 0 < len(text) <= LARGEST_TOML:
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
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
    lists += nested_table(declared, "project", "optional-dependencies").values()
    for each in lists:
        yield from (item for item in each if isinstance(item, str)) if isinstance(each, list) else ()
    for name, value in nested_table(declared, "tool", "poetry", "dependencies").items():
        version = value.get("version") if isinstance(value, dict) else value
        if isinstance(version, str):
            yield f"{normalized(name)}{version if version[:1] in '<>=!~^' else f'=={version}'}"
