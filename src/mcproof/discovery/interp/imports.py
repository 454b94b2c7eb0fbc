"""Imports of project files and of external names."""

from __future__ import annotations

import os
import typing
from typing import TYPE_CHECKING

from mcproof.discovery.interp.builtin_values import items_of
from mcproof.discovery.interp.values import UNKNOWN, External, Scope
from mcproof.discovery.project.import_paths import library_name

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.interp.interpreter import Interpreter


class LazyImport:
    """An imported name that is resolved when it is read."""

    __slots__ = ("name", "path")

    def __init__(self, path: str, name: str | None) -> None:
        self.path = path
        self.name = name


class ModuleValue:
    """A module or package of the project as a value."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


def import_modules(run: Interpreter, node: ast.Import, scope: Scope) -> None:
    for alias in node.names:
        path = run.modules.import_paths.find(scope.module.path, alias.name, 0)
        if path is None:
            first = alias.name.partition(".")[0]
            scope.names[alias.asname or first] = External(library_name(alias.name) if alias.asname else first)
            continue
        run.import_file(path, scope.module)
        if alias.asname is not None:
            scope.names[alias.asname] = LazyImport(path, None)
            continue
        first = alias.name.partition(".")[0]
        top = run.modules.import_paths.find(scope.module.path, first, 0)
        scope.names[first] = LazyImport(top, None) if top is not None else UNKNOWN


def import_from(run: Interpreter, node: ast.ImportFrom, scope: Scope) -> None:
    name = node.module or ""
    path = run.modules.import_paths.find(scope.module.path, name, node.level)
    if path is None:
        prefix = library_name(name if not node.level else f"{scope.module.name}.{name}")
        for alias in node.names:
            if alias.name != "*":
                scope.names[alias.asname or alias.name] = External(library_name(f"{prefix}.{alias.name}"))
            elif prefix in ("typing", "typing_extensions"):
                scope.names.update((each, External(f"typing.{each}")) for each in typing.__all__)
            else:
                scope.module.stars.append(prefix)
        return
    run.import_file(path, scope.module)
    for alias in node.names:
        if alias.name == "*":
            _import_all(run, path, scope)
            continue
        below = run.modules.import_paths.below(path, alias.name)
        if below is not None:
            run.import_file(below, scope.module)
        is_own = below is not None and scope.module.path == path
        scope.names[alias.asname or alias.name] = (
            LazyImport(below, None) if is_own and below else LazyImport(path, alias.name)
        )


def _import_all(run: Interpreter, path: str, scope: Scope) -> None:
    module = run.module(path) if not os.path.isdir(path) else None
    if module is None:
        return
    public = items_of(module.scope.names.get("__all__"))
    names = public if public is not None else [name for name in module.scope.names if not name.startswith("_")]
    for name in names:
        if isinstance(name, str):
            scope.names[name] = LazyImport(path, name)
