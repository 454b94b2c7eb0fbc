"""The packages of Node projects and of programs in `node_modules`, read from metadata; nothing is run."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.advisories.command_packages import npm_package
from mcproof.core.observations.source import KnownPackage
from mcproof.discovery.project.distributions import text_of
from mcproof.discovery.project.project_metadata import nested_table

if TYPE_CHECKING:
    from collections.abc import Iterator

NODE_FRAMEWORK = "@modelcontextprotocol/sdk"
MODULES = "node_modules"
_PNPM_LOCKED = re.compile(r"@modelcontextprotocol/sdk@(\d[\w.+-]*)")
_YARN_LOCKED = re.compile(r'"?@modelcontextprotocol/sdk@[^\n]*:\n\s+version:? "?(\d[\w.+-]*)')
_LAUNCHED = re.compile(r"(?:\$basedir|%~dp0|%dp0%)[\\/]+([^\"'\s]+\.[cm]?[jt]s)\b")
"""The script that a launcher in `node_modules/.bin` starts, as npm and pnpm write it."""
_LONGEST_LAUNCHER = 16_384
_HIGHEST_MODULES_CLIMB = 10


def node_project(folder: str | None) -> Iterator[KnownPackage]:
    """Yield the packages of a Node project: itself, and the SDK that is locked or installed."""
    if folder is None:
        return
    own = _json(os.path.join(folder, "package.json"))
    name, version = own.get("name"), own.get("version")
    if isinstance(name, str) and name:
        yield KnownPackage(name.lower(), "npm", version if isinstance(version, str) else None, "package.json")
    framework = _framework(folder, own)
    if framework is not None:
        yield framework


def module_packages(path: str) -> list[KnownPackage]:
    """Return the package in `node_modules` that a program or script belongs to, and the SDK that it loads."""
    real = os.path.realpath(path)
    if os.path.basename(os.path.dirname(real)) == ".bin":
        real = _launched(real)
    parts = real.split(os.sep)
    if MODULES not in parts:
        return []
    start = len(parts) - parts[::-1].index(MODULES)
    end = start + (2 if parts[start : start + 1] and parts[start].startswith("@") else 1)
    return list(node_project(os.sep.join(parts[:end]))) if len(parts) >= end else []


def local_module(name: str, folder: str) -> list[KnownPackage]:
    """Return a package that is installed in a project, which `npx NAME` prefers to fetching it."""
    return list(node_project(os.path.join(folder, MODULES, *name.split("/"))))


def _launched(launcher: str) -> str:
    """Return the script that a launcher starts; the launcher itself if that is unknown."""
    found = _LAUNCHED.search(text_of(launcher)[:_LONGEST_LAUNCHER])
    if found is None:
        return launcher
    return os.path.realpath(os.path.join(os.path.dirname(launcher), *re.split(r"[\\/]+", found[1])))


def _framework(folder: str, own: dict[str, Any]) -> KnownPackage | None:
    for file in ("package-lock.json", "npm-shrinkwrap.json"):
        lock = _json(os.path.join(folder, file))
        entry = nested_table(lock, "packages", f"{MODULES}/{NODE_FRAMEWORK}")
        entry = entry or nested_table(lock, "dependencies", NODE_FRAMEWORK)
        if isinstance(entry.get("version"), str):
            return KnownPackage(NODE_FRAMEWORK, "npm", entry["version"], file)
    for file, pattern in (("pnpm-lock.yaml", _PNPM_LOCKED), ("yarn.lock", _YARN_LOCKED)):
        found = pattern.search(text_of(os.path.join(folder, file)))
        if found is not None:
            return npm_package(f"{NODE_FRAMEWORK}@{found[1]}", file)
    wanted = [nested_table(own, kind).get(NODE_FRAMEWORK) for kind in ("dependencies", "devDependencies")]
    wanted.append(nested_table(own, "peerDependencies").get(NODE_FRAMEWORK))
    installed = _installed_framework(folder, is_wanted=any(isinstance(each, str) for each in wanted))
    if installed is not None:
        return installed
    declared = next((each for each in wanted if isinstance(each, str)), None)
    return None if declared is None else npm_package(f"{NODE_FRAMEWORK}@{declared}", "package.json")


def _installed_framework(folder: str, *, is_wanted: bool) -> KnownPackage | None:
    """Return the SDK as Node finds it: in the folder itself, or above it if the package depends on it."""
    for _ in range(_HIGHEST_MODULES_CLIMB if is_wanted else 1):
        if os.path.basename(folder) != MODULES:
            installed = _json(os.path.join(folder, MODULES, *NODE_FRAMEWORK.split("/"), "package.json"))
            if isinstance(installed.get("version"), str):
                return KnownPackage(NODE_FRAMEWORK, "npm", installed["version"], MODULES)
        folder = os.path.dirname(folder)
    return None


def _json(path: str) -> dict[str, Any]:
    try:
        value = json.loads(text_of(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
