"""Modules that are named in strings exist: nothing else notices when one is moved.

A wrong name fails late, in a process of its own or not at all: a module to preload is skipped in silence, and a test of
what is not imported passes. So every dotted name below `mcproof` is looked up, wherever a string has one.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from mcproof import api
from mcproof.checks.rule import RULESETS, rules_of
from mcproof.cli.main import COMMANDS, command_named
from mcproof.core.console import Style
from mcproof.report.formats import FORMATS, harmless, render_target
from mcproof.runs.requests import RUNNERS
from mcproof.runs.results import Kind, RunResult, TargetResult, empty_payload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "mcproof"
NAME = re.compile(r"(?<![\w./@-])mcproof(?:\.[A-Za-z_]\w*)+")
"""A dotted name; one in an address or a path is none."""
NO_MODULES = re.compile(
    r"mcproof\.(?:toml|ya?ml|lock|py|lua|json|sarif|snapshots\.json|schema\.json|example\.com|fish|sqlite|html|openRulePage)(?!\w)"
)
"""Names of files, of a host, and of a command of the language server."""
DYNAMIC = {
    "__getattr__",
    "_in_order",
    "command_named",
    "document_of",
    "execute",
    "imported_function",
    "render",
    "rules_of",
}
"""The functions that build the name of a module; the tests at the end call each with every name of its table."""
CATALOG = {"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def programs(*folders: Path) -> list[Path]:
    return [file for folder in folders for file in sorted(folder.rglob("*.py"))]


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """The strings of a program, docstrings included, each with its line."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def names_in(text: str) -> list[str]:
    return [match[0] for match in NAME.finditer(text) if not NO_MODULES.match(match[0])]


@cache
def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or what a module or a class of it has."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            spec = find_spec(".".join(parts[:length]))
        except ModuleNotFoundError:  # its parent is no package
            continue
        if spec is not None:
            return length == len(parts) or has(import_module(".".join(parts[:length])), parts[length:])
    return False


def has(value: Any, attributes: list[str]) -> bool:
    for name in attributes:
        if not hasattr(value, name):
            return False
        value = getattr(value, name)
    return True


def shown(file: Path, line: int, name: str) -> str:
    return f"{file.relative_to(ROOT).as_posix()}:{line}: {name}"


@pytest.mark.parametrize("folder", ["src", "tests", "scripts", "benchmarks", "examples"])
def test_every_module_that_a_string_names_exists(folder: str) -> None:
    named = [
        (file, line, name)
        for file in programs(ROOT / folder)
        if file != Path(__file__)
        for line, text in texts(file)
        for name in names_in(text)
    ]
    assert len(named) > {"src": 20, "tests": 50}.get(folder, -1)
    assert [shown(*each) for each in named if not resolves(each[2])] == []


def test_every_module_that_a_page_names_exists() -> None:
    named = [
        (page, number, name)
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        for name in names_in(line)
    ]
    assert len(named) > 5
    assert [shown(*each) for each in named if not resolves(each[2])] == []


def test_every_module_in_the_journeys_exists() -> None:
    """ARCHITECTURE.md leaves out the leading `mcproof`."""
    rooms = {file.parent.name for file in SOURCE.glob("*/__init__.py")}
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = [name for name in re.findall(r"`([a-z]+(?:\.\w+)+)`", text) if name.split(".")[0] in rooms]
    assert len(named) > 100
    assert [name for name in named if not resolves(f"mcproof.{name}")] == []


def test_every_file_of_the_project_that_a_page_names_exists() -> None:
    """Only the pages for contributors: in the others, `tests/` and `src/` are those of the reader."""
    pages = [
        *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")),
        *(ROOT / "docs" / "decisions").glob("*.md"),
    ]
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"`((?:src|tests|scripts)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert sorted(each for each in named if not (ROOT / each[1]).exists()) == []


def test_a_name_without_a_module_is_noticed() -> None:
    assert resolves("mcproof.demo.server")
    assert resolves("mcproof.core.errors.UsageError.__init__")
    assert not resolves("mcproof.demo.waiter")
    assert not resolves("mcproof.core.errors.NoSuchError")
    assert not resolves("mcproof.no_such_package.server")
    assert names_in("see `mcproof.toml`, https://x.example/mcproof.web and -m mcproof.services.web.x") == [
        "mcproof.services.web.x"
    ]


def test_the_entry_points_and_contracts_of_the_project_name_what_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    points = [
        *project["project"]["scripts"].values(),
        *(value for group in project["project"]["entry-points"].values() for value in group.values()),
    ]
    assert len(points) >= 2
    assert [point for point in points if not resolves(point.replace(":", "."))] == []
    contracts = project["tool"]["importlinter"]["contracts"]
    named = [
        name
        for contract in contracts
        for value in contract.values()
        if isinstance(value, list)
        for text in value
        for name in names_in(text)
    ]
    assert named
    assert [name for name in named if not resolves(name)] == []


def test_every_module_can_be_imported_without_a_warning() -> None:
    names = [
        ".".join(("mcproof", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        for file in programs(SOURCE)
        if file.name != "__main__.py" and "migrations" not in file.parts  # Alembic runs these
    ]
    script = f"import importlib\nfor name in {names!r}:\n    importlib.import_module(name)\nprint('done')"
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")


# --- data files, and modules that are started ---------------------------------------------------------------------


def calls(name: str, *files: Path) -> Iterator[tuple[Path, ast.Call]]:
    for file in files or programs(SOURCE):
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Call):
                function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if function == name:
                    yield file, node


def constants(nodes: Iterable[ast.expr]) -> list[str]:
    """The leading strings among expressions."""
    values: list[str] = []
    for node in nodes:
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            break
        values.append(node.value)
    return values


def folder_of(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None, package
    assert spec.submodule_search_locations, f"{package} is not a package"
    return Path(next(iter(spec.submodule_search_locations)))


def joined(node: ast.expr) -> list[ast.expr]:
    """The parts of `a / b / c`, or of `os.path.join(a, b, c)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*joined(node.left), node.right]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        return list(node.args) or [node]
    return [node]


def data_files() -> Iterator[Path]:
    """The data files that the source names, or their folders where the name of the file is computed."""
    for file in programs(SOURCE):
        for node in ast.walk(tree(file)):
            if not isinstance(node, ast.BinOp | ast.Call):
                continue
            first, *rest = joined(node)
            if not rest:
                continue
            if isinstance(first, ast.Call) and getattr(first.func, "id", "") == "files" and constants(first.args):
                yield folder_of(constants(first.args)[0]).joinpath(*constants(rest))
            elif any(isinstance(part, ast.Name) and part.id == "__file__" for part in ast.walk(first)):
                yield file.parent.joinpath(*constants(rest))
    for _, call in calls("schema_text"):
        if names := constants(call.args):
            yield folder_of("mcproof.runs") / "schemas" / f"{names[0]}.schema.json"
    for _, call in calls("PackageLoader"):
        package, *folder = constants(call.args)
        if package != "mcproof":  # a default that is never used, for the type checker
            yield folder_of(package) / (folder[0] if folder else "templates")


def test_every_data_file_that_the_source_names_exists() -> None:
    named = list(data_files())
    assert len(named) > 12
    assert [file for file in named if not file.exists()] == []


def test_alembic_finds_the_migrations() -> None:
    [(_, call)] = [(file, call) for file, call in calls("set_main_option") if "script_location" in constants(call.args)]
    package, _, folder = constants(call.args)[1].partition(":")
    assert (folder_of(package) / folder / "env.py").is_file()
    assert list((folder_of(package) / folder / "versions").glob("*.py"))


def started_modules() -> list[str]:
    """The modules that are started with `-m`, in a list of words or by a constant that such a list has."""
    started = []
    for file in programs(SOURCE):
        values = {
            target.id: value
            for node in tree(file).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            for value in constants([node.value])
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.List | ast.Tuple):
                words = [word for item in node.elts for word in unpacked(item)]
                for option, module in pairwise(words):
                    if isinstance(option, ast.Constant) and option.value == "-m":
                        started += [values[module.id]] if isinstance(module, ast.Name) and module.id in values else []
                        started += constants([module])
    return [name for name in started if name.startswith("mcproof")]


def unpacked(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List):
        return node.value.elts
    return [node]


def test_every_module_that_is_started_is_a_program_of_its_own() -> None:
    """Merged into a library its classes would be those of `__main__`, and nobody else's."""
    names = started_modules()
    assert names
    for name in names:
        spec = find_spec(name)
        assert spec is not None, name
        assert spec.origin is not None, name
        last = tree(Path(spec.origin)).body[-1]
        assert isinstance(last, ast.If), name
        assert ast.unparse(last.test) == "__name__ == '__main__'", name


def test_the_functions_of_workers_exist() -> None:
    """A worker process imports them by name, and its standard error is closed."""
    names = {
        node.value
        for file in programs(SOURCE / "services")
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"mcproof\.[\w.]+:[a-z_]+", node.value) and not node.value.endswith(":migrations")
    }
    assert len(names) >= 5
    for name in names:
        module, _, function = name.partition(":")
        assert callable(getattr(import_module(module), function)), name


def test_the_watchdog_starts_with_nothing_but_the_standard_library() -> None:
    """It runs by its path with `-I -S`, and its standard error is closed: no message would be seen."""
    from mcproof.client.transports import watchdog

    script = f"import runpy; runpy.run_path({watchdog.__file__!r}, run_name='started'); print('runs')"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("runs\n", "")


# --- names that are built from tables -----------------------------------------------------------------------------


def test_only_known_functions_build_the_names_of_modules() -> None:
    """A new one needs a test here that calls it with every name of its table."""
    builders = {
        function.name
        for file in programs(SOURCE)
        for function in ast.walk(tree(file))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module"
        if not constants(node.args)
    }
    assert builders == DYNAMIC


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_module(name: str) -> None:
    assert command_named(name).parser().prog == f"mcproof {name}"


@pytest.mark.parametrize("runner", sorted(set(RUNNERS.values())))
def test_every_request_has_a_function(runner: str) -> None:
    module, _, function = runner.partition(":")
    assert list(signature(getattr(import_module(module), function)).parameters)[:2] == ["request", "listen"]


@pytest.mark.parametrize("name", RULESETS)
def test_every_ruleset_has_a_module_with_rules(name: str) -> None:
    assert rules_of(name)


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_renders_every_kind_of_run(kind: str, format: str) -> None:
    style = Style()
    if kind == "grade":
        result = api.grade(CATALOG)
    elif kind == "scan":
        result = api.scan(CATALOG)
    else:
        result = TargetResult("server", payload=empty_payload(kind))
    assert "".join(harmless(RunResult(kind, "0", [result]), format, style)) is not None
    if FORMATS[format].is_text:
        for is_single in (True, False):
            assert "".join(render_target(result, format, style, is_single=is_single)) is not None
