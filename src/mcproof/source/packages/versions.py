"""Packages and their versions in requirements, specifications such as `pkg==1.2`, and installed distributions.

Why an unknown version gives no verdict: docs/decisions/0048-advisories-are-data.md.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import (
    LONGEST_VERSION,
    KnownPackage,
    normalized,
    pypi_version,
    version_key,
)
from mcproof.core.text.files import open_in_checkout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packaging.version import Version


LARGEST_RECORD = 16 << 20
"""How much is read of one file of a distribution."""
MOST_DISTRIBUTIONS = 5_000
_SUFFIX = ".dist-info"
_REQUIRED = re.compile(r"^Requires-Dist:\s*([\w.-]+)(.*)$", re.MULTILINE | re.IGNORECASE)


class Distribution(NamedTuple):
    """One installed distribution."""

    folder: str
    """Its `.dist-info` folder."""

    @property
    def site(self) -> str:
        """The folder that it is installed in."""
        return os.path.dirname(self.folder)

    @property
    def name(self) -> str:
        """Its name in the normalized form."""
        return normalized(os.path.basename(self.folder).partition("-")[0])

    @property
    def version(self) -> str:
        return os.path.basename(self.folder).removesuffix(_SUFFIX).partition("-")[2]

    def text(self, name: str) -> str:
        """The text of one of its files; empty if it has no such file."""
        return text_of(os.path.join(self.folder, name))

    def python_files(self) -> frozenset[str]:
        """The absolute paths of the Python files that it installed."""
        paths = (line.partition(",")[0].strip('"') for line in self.text("RECORD").splitlines())
        return frozenset(os.path.join(self.site, *path.split("/")) for path in paths if path.endswith(".py"))

    def installs(self, path: str) -> bool:
        """Whether it installed a file, or something below a folder."""
        wanted = os.path.relpath(path, self.site).replace(os.sep, "/")
        wanted += "," if path.endswith(".py") else "/"
        record = self.text("RECORD")
        return record.startswith(wanted) or f"\n{wanted}" in record

    def requirements(self) -> list[tuple[str, str]]:
        """The normalized names of the distributions that it needs, with their version specifiers."""
        return [(normalized(name), requirement) for name, requirement in _REQUIRED.findall(self.text("METADATA"))]


def text_of(path: str) -> str:
    """The text of a metadata file; empty if it cannot be read or is too large."""
    try:
        with open(path, "rb", opener=open_in_checkout) as opened:
            data = opened.read(LARGEST_RECORD + 1)
    except (OSError, ValueError):
        return ""
    return data.decode(errors="replace") if len(data) <= LARGEST_RECORD else ""


def distributions_in(folder: str) -> list[Distribution]:
    """The distributions that are installed in a folder."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIX))
    except (OSError, ValueError):
        return []
    return [Distribution(os.path.join(folder, name)) for name in names[:MOST_DISTRIBUTIONS]]


def distribution_of(path: str, site: str) -> Distribution | None:
    """The distribution that installed a file or folder in `site`; None if none did, or several."""
    top = normalized(os.path.relpath(path, site).split(os.sep)[0].removesuffix(".py"))
    every = distributions_in(site)
    for distribution in every:
        if distribution.name == top and distribution.installs(path):
            return distribution
    owners = [distribution for distribution in every if distribution.installs(path)]
    return owners[0] if len(owners) == 1 else None


def roots_of(distributions: Iterable[Distribution]) -> list[Distribution]:
    """The distributions that no other one needs."""
    every = list(distributions)
    needed = {name for distribution in every for name, _ in distribution.requirements() if name != distribution.name}
    return [distribution for distribution in every if distribution.name not in needed]


_NPM_SPEC = re.compile(r"(?:npm:)?(@?[^@\s]+)(?:@(.*))?", re.DOTALL)
_PYPI_SPEC = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:(===?|@)\s*([^,;\s]+))?(.*)", re.DOTALL)


def npm_package(spec: str, known_from: str) -> KnownPackage | None:
    """Return the package of a specification such as `@scope/name@1.2.3`; its version only if it is exact."""
    match = _NPM_SPEC.fullmatch(spec)
    if match is None or "://" in spec or spec.startswith((".", "/", "git+", "github:", "file:")):
        return None
    return KnownPackage(match[1].lower(), "npm", _exact(match[2], "npm"), known_from)


def pypi_package(spec: str, known_from: str) -> KnownPackage | None:
    """Return the package of a requirement such as `name[extra]==1.2`; its version only if it is exact."""
    match = _PYPI_SPEC.fullmatch(spec.strip())
    if match is None or "://" in spec or spec.startswith((".", "/")):
        return None
    is_exact = match[2] is not None and not match[4].strip().startswith(",")
    return KnownPackage(normalized(match[1]), "pypi", _exact(match[3] if is_exact else None, "pypi"), known_from)


def _exact(version: str | None, ecosystem: str) -> str | None:
    """Return a version if it is one, and not a range or a tag such as `latest`."""
    if version is None or version_key(version, ecosystem) is None:
        return None
    if ecosystem == "npm" and version.count(".") < 2:  # `pkg@1` is the newest 1.x.y
        return None
    return version


_REQUIREMENT_CLAUSE = re.compile(r"(===|==|~=|<=|>=|!=|<|>|\^|~)?\s*v?(\d+(?:\.\d+)*)(\.\*)?")


def release_of(text: str) -> Version | None:
    """The release that a version belongs to: `3.4.0` for `3.4.0rc1`; None if the text starts with no number."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", text.strip()[:LONGEST_VERSION])
    return pypi_version(match[1]) if match is not None else None


def newest_allowed(specifier: str) -> Version | None:
    """The newest version that a specifier such as `>=2.3,<3` allows; None if it sets no upper limit.

    What is allowed up to a release ends with its first development version: with `3.dev0` for `<3`.
    """
    limits = []
    for clause in specifier.partition(";")[0].split(","):
        match = _REQUIREMENT_CLAUSE.match(clause.strip(" ()[]\"'")[:LONGEST_VERSION])
        if match is not None:
            limits.append(_upper_limit(match[1] or "==", match[2], is_prefix=match[3] is not None))
    return min((limit for limit in limits if limit is not None), default=None)


def _upper_limit(comparison: str, version: str, *, is_prefix: bool) -> Version | None:
    """The newest version that one clause allows; `^` and `~` are those of Poetry."""
    release = version.split(".")
    match comparison:
        case "==" | "===":
            return _before_next(release) if is_prefix else pypi_version(version)
        case "<=":
            return pypi_version(version)
        case "<":
            return pypi_version(f"{version}.dev0")
        case "~=":
            return _before_next(release[:-1])
        case "~":
            return _before_next(release[:2])
        case "^":
            return _before_next(release[: 1 if int(release[0]) else 2])
    return None


def _before_next(release: list[str]) -> Version | None:
    """The newest version that starts with these numbers; None if there are none."""
    return pypi_version(".".join([*release[:-1], f"{int(release[-1]) + 1}.dev0"])) if release else None
