"""Projects that use the pytest plugin."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpcore2  # noqa: F401 (see below)
import httpx2  # noqa: F401
import jsonschema_rs  # noqa: F401
import pytest
import yaml  # noqa: F401

import mcproof.testing.collection  # noqa: F401
from servers import suited

from .installed import python_path

if TYPE_CHECKING:
    from collections.abc import Iterator

# pytest in this process unloads what it imports. The imports above stay loaded: C extensions cannot be imported twice,
# and importing mcproof for every test is slow. httpx2 keeps the exception classes of the httpcore2 that it first sees.

SERVER = f"{sys.executable} -I -S {Path(suited.__file__)}"
WORKERS = [pytest.param([]), pytest.param(["-n", "2"], marks=pytest.mark.slow)]
CONFIGURATION = """\
[pytest]
addopts = -p no:cacheprovider -p no:hypothesispytest -p no:anyio -p no:schemathesis --strict-markers --strict-config
filterwarnings = error
"""


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[pytest.Pytester]:
    """A project with a configured server, in an environment with the plugin."""
    paths = python_path(tmp_path_factory.mktemp("site"))
    monkeypatch.setenv("PYTHONPATH", paths)  # for other processes
    monkeypatch.syspath_prepend(paths.split(os.pathsep)[0])  # for this process
    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    monkeypatch.setenv("COLUMNS", "200")
    (pytester.path / "pytest.ini").write_text(f"{CONFIGURATION}mcp_server = {SERVER}\n", encoding="utf-8")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield pytester
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    """Run pytest in this process; with xdist workers, in another."""
    if "-n" in words:
        return project.runpytest_subprocess("-q", *words, timeout=60)
    return project.runpytest_inprocess("-q", *words)
