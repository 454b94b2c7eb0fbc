"""A project that uses the plugin."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from servers import suited

from .installed import python_path

SERVER = f"{sys.executable} -I -S {Path(suited.__file__)}"
CONFIGURATION = """\
[pytest]
addopts = -p no:cacheprovider -p no:hypothesispytest -p no:anyio --strict-markers --strict-config
filterwarnings = error
"""


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> pytest.Pytester:
    """A project with a server that is configured, in an environment that has the plugin."""
    monkeypatch.setenv("PYTHONPATH", python_path(tmp_path_factory.mktemp("site")))
    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    monkeypatch.setenv("COLUMNS", "200")
    (pytester.path / "pytest.ini").write_text(f"{CONFIGURATION}mcp_server = {SERVER}\n", encoding="utf-8")
    return pytester
