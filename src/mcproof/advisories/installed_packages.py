"""The packages that are installed where a command would run, read from metadata; nothing is run."""

from __future__ import annotations

import os
import re
import shutil
from glob import escape, glob
from typing import TYPE_CHECKING

from mcproof.advisories.command_packages import program_of
from mcproof.advisories.known_software import KnownPackage
from mcproof.advisories.project_packages import PYTHON_FRAMEWORKS, project_packages
from mcproof.discovery.project.distributions import distributions_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.discovery.project.distributions import Distribution

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts")


def installed_packages(words: Sequence[str], directory: str | None) -> list[KnownPackage]:
    """Return the packages that a command runs: beside its interpreter, and in the folder of a script."""
    if not words:
        return []
    program, *rest = program_of(words)
    found = list(_beside(words[0], directory, _module(program, rest), program))
    script = next((word for word in rest if word.endswith(_SCRIPTS)), None)
    if script is not None:
        path = os.path.join(directory or os.curdir, script)
        found += project_packages(path) if os.path.isfile(path) else []
    elif program == "uv" and "run" in rest:
        found += project_packages(_project_folder(rest, directory))
    return list(dict.fromkeys(found))


def _module(program: str, rest: Sequence[str]) -> str:
    """Return the module of `python -m MODULE`; empty for anything else."""
    if _PYTHON.fullmatch(program) is None or "-m" not in rest[:-1]:
        return ""
    return rest[rest.index("-m") + 1]


def _project_folder(rest: Sequence[str], directory: str | None) -> str:
    """Return the folder of the project that `uv run` uses."""
    for option in ("--directory", "--project"):
        if option in rest[:-1]:
            return os.path.join(directory or os.curdir, rest[rest.index(option) + 1])
    return directory or os.curdir


def _beside(word: str, directory: str | None, module: str, program: str) -> Iterator[KnownPackage]:
    """Yield the package of a module or script, and the frameworks, installed beside an interpreter."""
    named = os.path.join(directory or os.curdir, word) if os.path.dirname(word) else shutil.which(word)
    if named is None or not os.path.isfile(named):
        return
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(named)))
    for site in (*glob(os.path.join(escape(prefix), "lib", "python3*", "site-packages")), _windows_site(prefix)):
        for each in distributions_in(site):
            is_framework = each.name in PYTHON_FRAMEWORKS
            if is_framework or _provides(each, module, program):
                yield KnownPackage(each.name, "pypi", each.version, "what is installed")


def _windows_site(prefix: str) -> str:
    return os.path.join(prefix, "Lib", "site-packages")


def _provides(distribution: Distribution, module: str, program: str) -> bool:
    """Whether a distribution has installed a module, or a script with the name of a program."""
    if module:
        top = module.partition(".")[0]
        return distribution.name == top.replace("_", "-").lower() or distribution.installs(
            os.path.join(distribution.site, top)
        )
    if _PYTHON.fullmatch(program):
        return False
    return re.search(rf"(?m)^{re.escape(program)}\s*=", distribution.text("entry_points.txt")) is not None
