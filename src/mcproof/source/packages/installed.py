"""The packages that a command or a project would run: installed ones, else those that its files pin.

Only metadata is read: interpreters, `.dist-info`, `node_modules`, lock files. Nothing is run.
Why an unknown version gives no verdict: docs/decisions/0048-advisories-are-data.md.
"""

from __future__ import annotations

import os
import re
import shutil
from glob import escape, glob
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import KnownPackage, normalized
from mcproof.source.packages.projects import (
    MODULES,
    PYTHON_MARKERS,
    folders_above,
    has_any,
    local_module,
    locked_versions,
    module_packages,
    nested_table,
    node_project,
    read_toml,
    requirement_files,
)
from mcproof.source.packages.versions import (
    Distribution,
    distribution_of,
    distributions_in,
    npm_package,
    pypi_package,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


FROM_COMMAND = "the command"
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


_PREFER_LOCAL = ("npx", "npm", "bunx", "bun")
"""Runners that start an installed package rather than fetching it."""
_NPM_NAME = re.compile(r"(?:@[\w~-][\w.~-]*/)?[\w~-][\w.~-]*", re.ASCII)


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
    # Up to the first word that is no option: the words after it are for the program that is run.
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


PYTHON_FRAMEWORKS = ("mcp", "fastmcp")
_PINNED = r"(?im)(?:^|[\"'])[ \t]*{}[ \t]*(?:\[[^\]\n]*\])?[ \t]*===?[ \t]*([\w.!+-]+)(?=[ \t]*(?:[\"'\n#;\\]|$))"
_HIGHEST_CLIMB = 4


def project_packages(path: str) -> list[KnownPackage]:
    """Return the packages of the project that a file or folder belongs to; nothing is run."""
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or os.curdir)
    packages = [*_python(_root(folder, PYTHON_MARKERS)), *node_project(_root(folder, ("package.json",)))]
    packages += [
        KnownPackage(distribution.name, "pypi", distribution.version, os.path.basename(distribution.folder))
        for distribution in distributions_in(folder)
    ]
    return list(dict.fromkeys(packages))


def _root(folder: str, markers: tuple[str, ...]) -> str | None:
    """Return the nearest folder with one of these files, at or above a folder, inside its repository."""
    for above in folders_above(folder, _HIGHEST_CLIMB):
        if has_any(above, markers):
            return above
        # Above its repository begins somebody else's project.
        if os.path.exists(os.path.join(above, ".git")):
            return None
    return None


def _python(folder: str | None) -> Iterator[KnownPackage]:
    """Yield the packages of a Python project: itself, and pinned frameworks."""
    if folder is None:
        return
    declared = read_toml(os.path.join(folder, "pyproject.toml"))
    for table in (nested_table(declared, "project"), nested_table(declared, "tool", "poetry")):
        name, version = table.get("name"), table.get("version")
        if isinstance(name, str) and name:
            pinned = version if isinstance(version, str) else None
            yield KnownPackage(normalized(name), "pypi", pinned, "pyproject.toml")
            break
    locked = locked_versions(folder, PYTHON_FRAMEWORKS)
    for name in PYTHON_FRAMEWORKS:
        if name in locked:
            file, version = locked[name]
            yield KnownPackage(name, "pypi", version, file)
        # A lock outweighs a pin: it is what was installed.
        elif (package := _pinned(folder, name)) is not None:
            yield package


def _pinned(folder: str, name: str) -> KnownPackage | None:
    """A framework that the requirements of a project pin."""
    for file in (*requirement_files(folder), "pyproject.toml", "setup.cfg", "setup.py"):
        match = re.search(_PINNED.format(re.escape(name)), text_of(os.path.join(folder, file)))
        if match is not None:
            return pypi_package(f"{name}=={match[1]}", file)
    return None


_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?")
_INTERPRETERS = re.compile(rf"{_PYTHON.pattern}|node|nodejs|bun|deno|tsx|ts-node")
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts")
_SITES = ("site-packages", "dist-packages")
_INSTALLED = "what is installed"
_SHEBANG = re.compile(rb"#!\s*(/\S*/(?:python|pypy)[\d.]*)\s")
_LONGEST_SHEBANG = 256
_MOST_WORDS = 20
"""How many words of a command are tried as files."""


def installed_packages(words: Sequence[str], directory: str | None) -> list[KnownPackage]:
    """Return the packages that a command runs: beside its interpreter, in `node_modules`, in the folder of a script."""
    program, *rest = program_of(words) or [""]
    folder = directory or os.curdir
    is_module = _PYTHON.fullmatch(program) is not None and "-m" in rest[:-1]
    module = rest[rest.index("-m") + 1] if is_module else ""
    packages: list[KnownPackage] = []
    # A runner fetches what it runs; what is installed beside the runner itself says nothing.
    if program and program not in RUNNERS:
        path = _file_of(unwrapped(words)[0], folder)
        if path is not None:
            packages += [*_beside(path, module, program), *module_packages(path)]
    script = _script(program, rest, folder)
    if script is not None:
        packages += _of_script(script)
    elif program == "uv" and "run" in rest:
        options = (option for option in ("--directory", "--project") if option in rest[:-1])
        below = [rest[rest.index(option) + 1] for option in options]
        packages += project_packages(os.path.join(folder, *below[:1]))
    for package in command_packages(words):
        # `npx name` takes the local package; `npx name@latest` does not.
        if package.ecosystem == "npm" and package.name in words:  # without a version or a tag
            packages += local_module(package.name, folder)
    return list(dict.fromkeys(packages))


def source_of_command(words: Sequence[str], directory: str | None) -> str | None:
    """Return the file or folder with the source that a command starts; None if it is not on this machine.

    It is a script, a module, or the package behind a console script, never more than its own package. Of what `npx`
    names, it is the package in `node_modules` that `npx` prefers to fetching it.
    """
    program, *rest = program_of(words) or [""]
    folder = directory or os.curdir
    script = _script(program, rest, folder)
    if script is not None:
        # A console script has no code but an import: the package behind it is the source.
        return script if script.endswith(_SCRIPTS) else _behind(script, folder)
    if program == "uv" and rest[:1] == ["run"]:
        options = (option for option in ("--directory", "--project") if option in rest[:-1])
        below = [rest[rest.index(option) + 1] for option in options]
        # The first word that is neither an option nor the value of one is what `uv` runs.
        names = [word for word in rest[1:] if not word.startswith("-") and word not in below]
        return _declared(names[0], os.path.join(folder, *below[:1])) if names else None
    if _PYTHON.fullmatch(program) is not None and "-m" in rest[:-1]:
        module = rest[rest.index("-m") + 1]
        interpreter = _file_of(unwrapped(words)[0], folder)
        sites = [] if interpreter is None else _sites_of(interpreter, program)
        return _module_in([folder, os.path.join(folder, "src"), *sites], module)
    if program in _PREFER_LOCAL and rest[:1] != ["dlx"]:
        return _local_package(words, folder)
    # Without a script, these have no source of their own on this machine.
    is_launcher = program in RUNNERS or _INTERPRETERS.fullmatch(program) is not None
    file = None if is_launcher or not program else _file_of(unwrapped(words)[0], folder)
    return None if file is None else _behind(file, folder)


def _local_package(words: Sequence[str], folder: str) -> str | None:
    """Return the installed package that a runner of npm starts; None if it fetches another version."""
    packages = command_packages(words)
    if len(packages) != 1 or _NPM_NAME.fullmatch(packages[0].name) is None:
        return None
    (package,) = packages
    for above in folders_above(os.path.abspath(folder), _HIGHEST_CLIMB):
        path = os.path.join(above, MODULES, *package.name.split("/"))
        if os.path.isfile(os.path.join(path, "package.json")):
            installed = next((known.version for known in node_project(path) if known.name == package.name), None)
            # Without a version or a tag, any that is installed.
            return path if package.name in words or (installed and package.version == installed) else None
    return None


def _file_of(word: str, folder: str) -> str | None:
    """Return the file of a program: as named, or on the path."""
    path = os.path.join(folder, word) if os.path.dirname(word) else shutil.which(word)
    return path if path is not None and os.path.isfile(path) else None


def _sites_of(path: str, program: str) -> list[str]:
    """Return the folders with the packages that a program sees."""
    # Escaped: a folder may be called `[work]`, which is a pattern for `glob`.
    prefixes = [escape(prefix) for prefix in _prefixes(path, program)]
    return [site for prefix in prefixes for name in _SITES for site in glob(f"{prefix}/lib/python3*/{name}")]


def _behind(path: str, folder: str) -> str | None:
    """Return the package behind an installed console script, of Python or of npm."""
    program = program_name(path)
    for site in _sites_of(path, program):
        for distribution in distributions_in(site):
            entry = _entry_of(program, distribution.text("entry_points.txt"))
            if entry and (module := _module_in([site, *editable_folders(distribution)], entry)) is not None:
                return module
    # npm installs a link to the script, whose place tells the package.
    launched = os.path.realpath(path)
    return launched if launched.endswith(_SCRIPTS) else _declared(program, folder)


def _entry_of(program: str, text: str) -> str:
    """Return the module that a script of a distribution runs; empty if it has no such script."""
    scripts = text.partition("[console_scripts]")[2].partition("\n[")[0]
    match = re.search(rf"(?m)^{re.escape(program)}\s*=\s*([\w.]+)", scripts)
    return "" if match is None else match[1]


def _declared(program: str, folder: str) -> str | None:
    """Return the package behind a script that the project of a folder declares."""
    project = read_toml(os.path.join(folder, "pyproject.toml"))
    entry = nested_table(project, "project", "scripts").get(program)
    module = entry.partition(":")[0] if isinstance(entry, str) else ""
    return _module_in([folder, os.path.join(folder, "src")], module) if module else None


def _module_in(folders: Iterable[str], module: str) -> str | None:
    """Return the package of a module, or its file if it is in none, in the first folder that has it."""
    top = module.partition(".")[0]
    for folder in folders:
        package = os.path.join(folder, top)
        if os.path.isdir(package):
            return package
        if os.path.isfile(f"{package}.py"):
            return f"{package}.py"
    return None


def editable_folders(distribution: Distribution) -> list[str]:
    """Return the folders that an editable installation adds to the path, of its project alone."""
    match = re.search(r'"url":\s*"file://([^"]+)"', distribution.text("direct_url.json"))
    return [] if match is None else [match[1], os.path.join(match[1], "src")]


def _script(program: str, rest: Sequence[str], folder: str) -> str | None:
    """Return the script that a command runs: a source file, or for an interpreter any file or Node package."""
    is_interpreter = _INTERPRETERS.fullmatch(program) is not None
    for word in rest[:_MOST_WORDS]:
        path = os.path.join(folder, word)
        if word.endswith(_SCRIPTS) and os.path.isfile(path):
            return path
        if is_interpreter and not word.startswith("-"):
            # `node path/to/package` starts the `main` of a package.
            is_package = MODULES in path and os.path.isfile(os.path.join(path, "package.json"))
            if os.path.isfile(path) or is_package:
                return path
    return None


def _of_script(path: str) -> list[KnownPackage]:
    """Return the packages of a script: those it is installed with, else those of its project."""
    packages = module_packages(path)
    parts = os.path.abspath(path).split(os.sep)
    site = next((name for name in _SITES if name in parts), None)
    if site is not None:
        folder = os.sep.join(parts[: parts.index(site) + 1])
        owner = distribution_of(os.path.abspath(path), folder)
        packages += [] if owner is None else [_known(owner)]
        packages += _frameworks(distributions_in(folder))
    elif not path.endswith(_SCRIPTS):
        packages += _beside(path, "", program_name(path))
    return packages or project_packages(path)


def _known(distribution: Distribution) -> KnownPackage:
    return KnownPackage(distribution.name, "pypi", distribution.version, _INSTALLED)


def _frameworks(installed: Iterable[Distribution]) -> list[KnownPackage]:
    return [_known(distribution) for distribution in installed if distribution.name in PYTHON_FRAMEWORKS]


def _beside(path: str, module: str, program: str) -> Iterator[KnownPackage]:
    """Yield the package of a module or program, and the frameworks, installed for the same interpreter."""
    is_python = _PYTHON.fullmatch(program) is not None
    for prefix in _prefixes(path, program):
        sites = [path for name in _SITES for path in glob(os.path.join(escape(prefix), "lib", "python3*", name))]
        # The second is how Windows lays out an environment.
        for site in (*sites, os.path.join(prefix, "Lib", "site-packages")):
            installed = distributions_in(site)
            owners = [distribution for distribution in installed if _provides(distribution, module, program)]
            yield from map(_known, owners)
            if owners or is_python:
                yield from _frameworks(installed)


def _prefixes(path: str, program: str) -> list[str]:
    """Return where the interpreter of a program is installed.

    An interpreter of a virtual environment is a link to another one, whose packages it does not see. A program is often
    a link into an environment of its own, or names its interpreter in its first line.
    """
    files = [os.path.abspath(path)]
    if _PYTHON.fullmatch(program) is None:
        # As named first: the link may be in the environment, and the file outside of it.
        files.append(os.path.realpath(path))
        try:
            with open(path, "rb") as opened:
                match = _SHEBANG.match(opened.read(_LONGEST_SHEBANG))
        except OSError:
            match = None
        if match is not None:
            files.append(os.path.abspath(os.fsdecode(match[1])))
    return list(dict.fromkeys(os.path.dirname(os.path.dirname(file)) for file in files))


def _provides(distribution: Distribution, module: str, program: str) -> bool:
    """Whether a distribution has installed a module, or a script with the name of a program."""
    if module:
        top = module.partition(".")[0]
        # By its name first, as a record of thousands of files is slow to search.
        return distribution.name == top.replace("_", "-").lower() or distribution.installs(
            os.path.join(distribution.site, top)
        )
    if _PYTHON.fullmatch(program):
        return False
    return re.search(rf"(?m)^{re.escape(program)}\s*=", distribution.text("entry_points.txt")) is not None
