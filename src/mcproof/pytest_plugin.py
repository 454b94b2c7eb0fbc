"""The pytest plugin: fixtures for MCP servers, snapshots, and suites as tests.

pytest loads this module in every environment with mcproof installed, so it imports the rest of mcproof only when a test
uses a fixture or a suite is collected.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.testing import McpServer, McpSnapshot, ServerStarter
    from mcproof.testing.suites.snapshots import SnapshotStore

PREFIX = "--mcproof-"
_SUITES = pytest.StashKey[frozenset[str]]()
"""Suite files from the configuration."""
_STORES = pytest.StashKey[dict[str, "SnapshotStore"]]()
"""Snapshot stores of this run, by the path of the test module or suite without its extension."""
_SUMMARY = pytest.StashKey[list[str]]()
"""Lines about written snapshots."""
_OUTPUT = "mcproof_snapshots"
"""The key for the snapshots that a pytest-xdist worker hands over."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings."""
    group = parser.getgroup("mcproof", "MCP servers (mcproof)")
    group.addoption(f"{PREFIX}update-snapshots", action="store_true", help="accept the current results as snapshots")
    group.addoption(
        f"{PREFIX}allow-update-in-ci", action="store_true", help=f"allow {PREFIX}update-snapshots in CI jobs"
    )
    parser.addini("mcp_server", "server of the mcp_server fixture: a command, run in rootdir, or a URL")
    parser.addini(
        "mcproof_suites", "mcproof suites to collect: files or glob patterns, relative to rootdir", type="args"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Find the configured suites, and refuse snapshot updates in CI jobs."""
    if config.getoption("mcproof_update_snapshots"):
        from mcproof.core.errors import UsageError
        from mcproof.testing.suites.snapshots import refuse_update

        is_allowed = config.getoption("mcproof_allow_update_in_ci")
        try:
            refuse_update(os.environ, is_allowed=is_allowed, prefix=PREFIX)
        except UsageError as error:
            raise pytest.UsageError(error.message) from None
    patterns = config.getini("mcproof_suites")
    if patterns:
        config.stash[_SUITES] = frozenset(_matching(patterns, str(config.rootpath)))


def _matching(patterns: list[str], root: str) -> Iterator[str]:
    from glob import glob

    for pattern in patterns:
        files = glob(pattern, root_dir=root, recursive=True)
        if not files:
            raise pytest.UsageError(f"mcproof_suites: no file matches `{pattern}` in {root}")
        yield from (os.path.realpath(os.path.join(root, name)) for name in files)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a suite named in the configuration, in `testpaths` or on the command line."""
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    is_configured = os.path.realpath(file_path) in parent.config.stash.get(_SUITES, ())
    if not is_configured and not parent.session.isinitpath(file_path):
        return None
    from mcproof.testing.collection import SuiteFile
    from mcproof.testing.suites.model import looks_like_a_suite

    if not is_configured and not looks_like_a_suite(str(file_path)):
        return None
    return SuiteFile.from_parent(parent, path=file_path, store=_store(parent.config, str(file_path.with_suffix(""))))


@pytest.fixture(scope="session")
def start_mcp_server() -> Iterator[ServerStarter]:
    """Start MCP servers: `start_mcp_server(command, env=..., cwd=...)`; they end with the test session."""
    from mcproof.testing import ServerStarter

    with ServerStarter() as starter:
        yield starter


@pytest.fixture(scope="session")
def mcp_server(start_mcp_server: ServerStarter, pytestconfig: pytest.Config) -> McpServer:
    """The MCP server set by `mcp_server` in the pytest configuration, started once per session."""
    from mcproof.testing import ServerError

    command = pytestconfig.getini("mcp_server").strip()
    if not command:
        pytest.fail(
            "no server is configured: set `mcp_server` in the pytest configuration, for example to "
            "`python server.py`, or define a fixture `mcp_server` that calls `start_mcp_server`",
            pytrace=False,
        )
    is_url = command.lower().startswith(("http://", "https://"))
    try:
        return start_mcp_server(command, cwd=None if is_url else pytestconfig.rootpath)
    except (ServerError, ValueError) as error:
        raise pytest.fail.Exception(f"mcp_server: {error}", pytrace=False) from None


@pytest.fixture
def mcp_snapshot(request: pytest.FixtureRequest, start_mcp_server: ServerStarter) -> McpSnapshot:
    """Compare a result with its stored snapshot: `mcp_snapshot(result, mask=[...])`."""
    from mcproof.testing import McpSnapshot

    owner = f"{request.cls.__qualname__}." if request.cls is not None else ""
    store = _store(request.config, str(request.path.with_suffix("")))
    return McpSnapshot(f"{owner}{request.node.name}", store, start_mcp_server.hide)


def _store(config: pytest.Config, stem: str) -> SnapshotStore:
    """Return the snapshot store beside a test module or suite, given its path without extension."""
    from mcproof.testing.suites.snapshots import SnapshotStore

    stores = config.stash.setdefault(_STORES, {})
    if stem not in stores:
        updates = bool(config.getoption("mcproof_update_snapshots"))
        stores[stem] = SnapshotStore(stem, updates=updates, prefix=PREFIX)
    return stores[stem]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the snapshots of a pytest-xdist worker: only the main process writes files."""
    sent = getattr(node, "workeroutput", {}).get(_OUTPUT)
    if sent is not None:
        import json

        for stem, changed in json.loads(sent).items():
            _store(node.config, stem).changed.update(changed)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write new and changed snapshots, or hand them to the main process."""
    changed = {stem: store for stem, store in session.config.stash.get(_STORES, {}).items() if store.changed}
    output = getattr(session.config, "workeroutput", None)
    if changed and output is not None:
        import json

        output[_OUTPUT] = json.dumps({stem: store.changed for stem, store in changed.items()})
    elif changed:
        session.config.stash[_SUMMARY] = [_save(store, session) for store in changed.values()]


def _save(store: SnapshotStore, session: pytest.Session) -> str:
    """Write one snapshot file; return a line for the summary."""
    from mcproof.core.console import plural
    from mcproof.core.errors import McproofError

    try:
        store.save()
    except McproofError as error:  # the tests have passed, but what they compared with is lost
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return str(error)
    return f"{os.path.relpath(store.file)}: {plural(store.written, 'snapshot')} written"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report written snapshots."""
    for line in config.stash.get(_SUMMARY, ()):
        terminalreporter.write_line(f"mcproof: {line}")
