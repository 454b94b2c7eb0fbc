"""Versions of packages: in commands such as `uvx pkg==1.2`, in requirements, in installed distributions.

`version_key` and `in_range` order versions as PyPI and npm define it; what is not a version has no order.
Why an unknown version gives no verdict: docs/decisions/0048-advisories-are-data.md.
"""

from __future__ import annotations

import operator
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import KnownPackage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from packaging.version import Version


_LONGEST = 100
_SEMVER = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9a-z.-]+))?(?:\+[0-9a-z.-]+)?")
_RANGE_CLAUSE = re.compile(r"(>=|<=|>|<|==|=)?\s*(\S+)")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "=": operator.eq,
}


def version_key(text: str, ecosystem: str) -> Any:
    """A key that orders versions of an ecosystem, `pypi` or `npm`; None if the text is not a version."""
    if len(text) > _LONGEST:
        return None
    return _npm_key(text.strip().lower()) if ecosystem == "npm" else pypi_version(text)


def pypi_version(text: str) -> Version | None:
    """A version as PyPI orders them; None if the text is not one."""
    from packaging.version import InvalidVersion, Version  # here, as snapshots are checked without it

    try:
        return Version(text)
    except InvalidVersion:
        return None


def _npm_key(text: str) -> tuple[Any, ...] | None:
    found = _SEMVER.fullmatch(text)
    if found is None:
        return None
    major, minor, patch, before = found.groups()
    if before is None:
        return int(major), int(minor or 0), int(patch or 0), (1,)
    # SemVer: a version before the release is smaller, and in its parts numbers come before words
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split("."))
    return int(major), int(minor or 0), int(patch or 0), (0, parts)


def in_range(version: str, allowed: str, ecosystem: str) -> bool | None:
    """Whether a version is in a range such as `>=0.0.5,<0.1.16`; `*` is every version. None if it is not a version.

    A version before a release, such as `1.0rc1`, is smaller than the release, also at the end of a range.
    """
    key = version_key(version, ecosystem)
    if key is None:
        return None
    return all(_meets(key, clause.strip(), ecosystem) for clause in allowed.split(",") if clause.strip() != "*")


def _meets(key: Any, clause: str, ecosystem: str) -> bool:
    found = _RANGE_CLAUSE.fullmatch(clause)
    limit = version_key(found[2], ecosystem) if found is not None else None
    if found is None or limit is None:
        raise ValueError(f"not a range of versions: {clause}")
    return bool(_COMPARISONS[found[1] or "=="](key, limit))


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
    for distribution in every:
        if distribution.name == top and distribution.installs(path):
            return distribution
    found = [distribution for distribution in every if distribution.installs(path)]
    return found[0] if len(found) == 1 else None


def roots_of(distributions: Iterable[Distribution]) -> list[Distribution]:
    """The distributions that no other one needs."""
    every = list(distributions)
    needed = {name for distribution in every for name, _ in distribution.requirements() if name != distribution.name}
    return [distribution for distribution in every if distribution.name not in needed]


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
    **dict.fromkeys(("npx", "bunx", "pnpx"), (_NPM,)),
    "npm": (_NPM._replace(verbs=("exec",)), _NPM._replace(verbs=("x",))),
    **dict.fromkeys(("pnpm", "yarn"), (_NPM._replace(verbs=("dlx",)),)),
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


_REQUIREMENT_CLAUSE = re.compile(r"(===|==|~=|<=|>=|!=|<|>|\^|~)?\s*v?(\d+(?:\.\d+)*)(\.\*)?")


def release_of(text: str) -> Version | None:
    """The release that a version belongs to: `3.4.0` for `3.4.0rc1`; None if the text starts with no number."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text.strip()[:_LONGEST])
    return pypi_version(found[1]) if found is not None else None


def newest_allowed(specifier: str) -> Version | None:
    """The newest version that a specifier such as `>=2.3,<3` allows; None if it sets no upper limit.

    What is allowed up to a release ends with its first development version: with `3.dev0` for `<3`.
    """
    limits = []
    for clause in specifier.partition(";")[0].split(","):
        found = _REQUIREMENT_CLAUSE.match(clause.strip(" ()[]\"'")[:_LONGEST])
        if found is not None:
            limits.append(_upper_limit(found[1] or "==", found[2], is_prefix=found[3] is not None))
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
