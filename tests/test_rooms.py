"""The rooms of the source tree: what one uses of another is a public module of it, and every public module is used.

import-linter holds the order of the rooms and guards their insides; it does not see modules that are named in strings.
"""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
ROOMS = ("core", "source", "client", "targets", "checks", "probing", "testing", "runs", "report", "services", "cli")
BESIDE = {"__init__", "__main__", "api", "demo", "pytest_plugin"}
"""What stands beside the rooms: the public API, the entry points and the example server."""


@cache
def modules() -> dict[str, Path]:
    return {
        ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): file
        for file in sorted(SOURCE.rglob("*.py"))
    }


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def module_of(name: str) -> str:
    """The module that a dotted name is, or is in; empty if there is none."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name


def named_by(file: Path) -> set[str]:
    """The modules of mcproof that a file imports at any level, or names in a string."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= set(re.findall(r"^mcproof(?:\.\w+)+(?=$|:)", node.value))
    return {module_of(name) for name in names if name.split(".")[0] == "mcproof"}


@cache
def used_from_outside() -> dict[str, set[str]]:
    """The modules of each room that something outside it uses."""
    used: dict[str, set[str]] = {room: set() for room in ROOMS}
    for module, file in modules().items():
        for name in named_by(file):
            if room_of(name) in used and room_of(name) != room_of(module):
                used[room_of(name)].add(name)
    return used


def stated_by(room: str) -> set[str]:
    """The public modules that the docstring of a room lists."""
    docstring = ast.get_docstring(ast.parse(modules()[f"mcproof.{room}"].read_text(encoding="utf-8"))) or ""
    listed = re.search(r"^Public modules: ([^;]*?)\.$", docstring, re.MULTILINE | re.DOTALL)
    assert listed is not None, f"the docstring of {room} lists no public modules"
    return {f"mcproof.{room}.{name.strip()}" for name in listed[1].split(",")}


def test_the_tree_has_eleven_rooms() -> None:
    folders = {path.name for path in (SOURCE / "mcproof").iterdir() if (path / "__init__.py").is_file()}
    assert folders == {*ROOMS, "demo"}
    assert {path.stem for path in (SOURCE / "mcproof").glob("*.py")} == BESIDE - {"demo"}


@pytest.mark.parametrize("room", ROOMS)
def test_the_docstring_of_a_room_lists_what_others_use(room: str) -> None:
    assert stated_by(room) == used_from_outside()[room] - {f"mcproof.{room}"}


@pytest.mark.parametrize("room", ROOMS)
def test_the_contract_of_a_room_opens_what_its_docstring_lists(room: str) -> None:
    (contract,) = [contract for contract in CONTRACTS if contract["name"] == f"doors of {room}"]
    opened = {line.removeprefix("mcproof.** -> ") for line in contract["ignore_imports"]}
    assert opened - {f"mcproof.{room}"} == stated_by(room)
    assert contract["protected_modules"] == contract["allowed_importers"] == [f"mcproof.{room}"]


def test_the_rooms_are_in_one_order_and_types_count() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    assert settings["exclude_type_checking_imports"] is False
    (layers,) = [contract for contract in CONTRACTS if contract["name"].startswith("rooms:")]
    ordered = [name for layer in layers["layers"] for name in re.split(r" [|:] ", layer) if name in ROOMS]
    assert sorted(ordered) == sorted(ROOMS)
    assert layers["exhaustive"]


def test_no_module_of_a_string_is_in_a_room_above() -> None:
    """import-linter cannot see these: tables of modules to import on demand, data files, processes to start."""
    level = {room: number for number, room in enumerate(ROOMS)}
    upward = [
        f"{module} names {name}"
        for module, file in modules().items()
        if room_of(module) in level
        for name in named_by(file)
        if room_of(name) in level and level[room_of(name)] > level[room_of(module)]
    ]
    assert upward == []
