"""Second servers: those that no entry point of their project starts are conditional.

Declared scripts and `__main__.py` are the entry points of a project; without any, the files that start something when
they are run. If none is known, or none reaches a server, every server counts.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.discovery.frameworks.mcp_domain import McpDomain
    from mcproof.discovery.frameworks.servers import ServerValue

LOADS_BY_NAME = re.compile(rb"\b(?:import_module|iter_modules|walk_packages|__import__|spec_from_file_location)\b")
"""Imports of modules whose names are not in the text."""
_IS_RUN = re.compile(rb"^if __name__\s*==\s*[\"']__main__[\"']", re.MULTILINE)


def doubt_unstarted(domain: McpDomain) -> None:
    """Mark the items of servers that no entry point of their project starts for certain."""
    by_scripts: dict[tuple[str, ...], list[ServerValue]] = {}
    for server in domain.servers:
        serves = server.items or server.handlers or server.mounts
        if serves and server.module is not None and not (server.mounted or server.is_given):
            scripts = domain.declarations.of(server.module.path).scripts
            by_scripts.setdefault(scripts, []).append(server)
    for scripts, servers in by_scripts.items():
        if len({server.module.path for server in servers if server.module is not None}) > 1:
            _doubt_others(domain, scripts, servers)


def _doubt_others(domain: McpDomain, scripts: tuple[str, ...], servers: list[ServerValue]) -> None:
    """Mark the items of the servers of one project that its entry points do not reach."""
    paths = [server.module.path for server in servers if server.module is not None]
    for entries in (_declared(domain, scripts, paths), _run_files(domain)):
        possible = _reached(domain, entries, certain=False)
        if possible.isdisjoint(paths):
            continue
        data = domain.run.modules.data
        if any(LOADS_BY_NAME.search(data(path) or b"") for path in possible):
            return
        certain = _reached(domain, entries, certain=True)
        for server in servers:
            if server.module is not None and server.module.path not in certain:
                server.doubt_everything()
        return


def _declared(domain: McpDomain, scripts: Iterable[str], importers: list[str]) -> set[str]:
    """The files of declared scripts, and those that `python -m` starts."""
    modules = domain.run.modules
    found = {modules.import_paths.find(importer, name, 0) for name in scripts for importer in importers}
    mains = {path for path in modules.files if os.path.basename(path) == "__main__.py"}
    return mains | {path for path in found if path is not None and path.endswith(".py")}


def _run_files(domain: McpDomain) -> set[str]:
    """The files that start something when they are run."""
    modules = domain.run.modules
    return {path for path in modules.files if _IS_RUN.search(modules.data(path) or b"")}


def _reached(domain: McpDomain, entries: set[str], *, certain: bool) -> set[str]:
    """The files that entry points import, directly or indirectly; if `certain`, under no condition."""
    modules, importers = domain.run.modules, domain.run.import_graph.importers
    found = {each for entry in entries for each in (entry, *modules.import_paths.packages_of(entry))}
    waiting = list(found)
    while waiting:
        path = waiting.pop()
        for each in modules.imported_by(path):
            known = importers.get(each, set())
            is_conditional = (path, True) in known and (path, False) not in known
            if each not in found and not (certain and is_conditional):
                found.add(each)
                waiting.append(each)
    return found
