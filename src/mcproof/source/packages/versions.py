"""The packages that a command line names: `npx -y pkg@1.2`, `uvx pkg==1.2`, `pipx run pkg==1.2`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.advisories.version_order import version_key
from mcproof.core.observations.source import KnownPackage
from mcproof.discovery.project.distributions import normalized

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FROM_COMMAND = "the command"
_NPM_SPEC = re.compile(r"(?:npm:)?(@?[^@\s]+)(?:@(.*))?", re.DOTALL)
_PYPI_SPEC = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:(===?|@)\s*([^,;\s]+))?(.*)", re.DOTALL)
_WRAPPERS = ("cmd", "env")


class Runner(NamedTuple):
    """A program that fetches a package and runs it."""

    ecosystem: str
    verbs: tuple[str, ...] = ()
    """The words after the program, as in `npm exec`."""
    package_options: tuple[str, ...] = ()
    """The options that name the package; then the first other word is a program of it."""
    extra_options: tuple[str, ...] = ()
    """The options that name further packages."""
    value_options: tuple[str, ...] = ()
    """Other options with a value."""


_NPM = Runner("npm", (), ("-p", "--package"), (), ("-c", "--call", "--registry", "--cache", "--prefix", "-w"))
_UVX = Runner(
    "pypi",
    (),
    ("--from",),
    ("--with", "-w"),
    (
        *("--python", "-p", "--index", "--default-index", "--index-url", "-i", "--extra-index-url", "--cache-dir"),
        *("--with-editable", "--with-requirements", "--constraints", "-c", "--overrides", "--directory", "--project"),
        *("--env-file", "--config-file", "--color", "--link-mode", "--prerelease", "--resolution"),
    ),
)
RUNNERS: dict[str, tuple[Runner, ...]] = {
    "npx": (_NPM,),
    "bunx": (_NPM,),
    "pnpx": (_NPM,),
    "npm": (_NPM._replace(verbs=("exec",)), _NPM._replace(verbs=("x",))),
    "pnpm": (_NPM._replace(verbs=("dlx",)),),
    "yarn": (_NPM._replace(verbs=("dlx",)),),
    "bun": (_NPM._replace(verbs=("x",)),),
    "deno": (_NPM._replace(verbs=("run",)),),
    "uvx": (_UVX,),
    "uv": (_UVX._replace(verbs=("tool", "run")), _UVX._replace(verbs=("x",))),
    "pipx": (Runner("pypi", ("run",), ("--spec",), ("--with",), ("--python", "--pip-args", "--index-url", "-i")),),
}


def unwrapped(words: Sequence[str]) -> list[str]:
    """Return a command without wrappers such as `env NAME=VALUE` and `cmd /c`."""
    rest = list(words)
    while rest and program_name(rest[0]) in _WRAPPERS:
        rest = rest[1:]
        while rest and (rest[0].lower() in ("/c", "/d", "/s") or "=" in rest[0] or rest[0].startswith("-")):
            rest = rest[1:]
    return rest


def program_of(words: Sequence[str]) -> list[str]:
    """Return a command without wrappers, and with the name of its program instead of the path."""
    rest = unwrapped(words)
    return [program_name(rest[0]), *rest[1:]] if rest else []


def program_name(word: str) -> str:
    """Return the name of a program without its folder and the suffix that Windows needs."""
    name = os.path.basename(word.replace("\\", "/")).lower()
    return re.sub(r"\.(exe|cmd|bat|ps1)$", "", name)


def command_packages(words: Sequence[str]) -> list[KnownPackage]:
    """Return the packages that a command fetches and runs; empty for any other command."""
    program, *rest = program_of(words) or [""]
    for runner in RUNNERS.get(program, ()):
        if tuple(rest[: len(runner.verbs)]) == runner.verbs:
            return list(_named(runner, rest[len(runner.verbs) :]))
    return []


def _named(runner: Runner, rest: Sequence[str]) -> Iterator[KnownPackage]:
    """Yield the packages among the words of a runner: those of options, or else the first word."""
    specs: list[str] = []
    extras: list[str] = []
    waiting = list(rest)
    positional = None
    while waiting and positional is None:
        word = waiting.pop(0)
        option, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            positional = word
        elif word != "--":
            takes = (*runner.package_options, *runner.extra_options, *runner.value_options)
            if option in takes and not equals:
                value = waiting.pop(0) if waiting else ""
            if option in runner.package_options:
                specs.append(value)
            elif option in runner.extra_options:
                extras += value.split(",")
    if not specs and positional is not None:
        specs = [positional]
    parse = npm_package if runner.ecosystem == "npm" else pypi_package
    for spec in (*specs, *extras):
        package = parse(spec, FROM_COMMAND)
        if package is not None:
            yield package


def npm_package(spec: str, known_from: str) -> KnownPackage | None:
    """Return the package of a specification such as `@scope/name@1.2.3`; its version only if it is exact."""
    found = _NPM_SPEC.fullmatch(spec)
    if found is None or "://" in spec or spec.startswith((".", "/", "git+", "github:", "file:")):
        return None
    return KnownPackage(found[1].lower(), "npm", _exact(found[2], "npm"), known_from)


def pypi_package(spec: str, known_from: str) -> KnownPackage | None:
    """Return the package of a requirement such as `name[extra]==1.2`; its version only if it is exact."""
    found = _PYPI_SPEC.fullmatch(spec.strip())
    if found is None or "://" in spec or spec.startswith((".", "/")):
        return None
    is_exact = found[2] is not None and not found[4].strip().startswith(",")
    return KnownPackage(normalized(found[1]), "pypi", _exact(found[3] if is_exact else None, "pypi"), known_from)


def _exact(version: str | None, ecosystem: str) -> str | None:
    """Return a version if it is one, and not a range or a tag such as `latest`."""
    if version is None or version_key(version, ecosystem) is None:
        return None
    if ecosystem == "npm" and version.count(".") < 2:  # `pkg@1` is the newest 1.x.y
        return None
    return version
