"""Installed distributions: what the `.dist-info` folders beside a package record."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST_RECORD = 16 << 20
"""How much is read of one file of a distribution."""
MOST_DISTRIBUTIONS = 5_000
_SUFFIX = ".dist-info"
_REQUIRED = re.compile(r"^Requires-Dist:\s*([\w.-]+)(.*)$", re.MULTILINE | re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_.]+")


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
        return [(normalized(name), rest) for name, rest in _REQUIRED.findall(self.text("METADATA"))]


def normalized(name: str) -> str:
    """The name of a distribution in the form in which names are compared."""
    return _SEPARATORS.sub("-", name).lower()


def text_of(path: str) -> str:
    """The text of a metadata file; empty if it cannot be read or is too large."""
    try:
        if not os.path.isfile(path):  # opening a pipe would block
            return ""
        with open(path, "rb") as opened:
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
    for each in every:
        if each.name == top and each.installs(path):
            return each
    found = [each for each in every if each.installs(path)]
    return found[0] if len(found) == 1 else None


def roots_of(distributions: Iterable[Distribution]) -> list[Distribution]:
    """The distributions that no other one needs."""
    every = list(distributions)
    needed = {name for each in every for name, _ in each.requirements() if name != each.name}
    return [each for each in every if each.name not in needed]
