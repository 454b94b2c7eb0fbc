"""What tests of several parts need."""

from __future__ import annotations

import gc
import os
import signal
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from mcproof.checks.findings import Problem
from mcproof.checks.rule import find_rule
from mcproof.client import redaction

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from mcproof.checks.rule import Rule


pytest_plugins = ["pytester"]

_READ_BY_MCPROOF = (
    *("CI", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY", "CI_PROJECT_DIR"),
    *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TERM"),
    *("PYTHONIOENCODING", "PYTHONUTF8", "PYTEST_ADDOPTS"),
)
for _name in _READ_BY_MCPROOF:  # here, before any test, so that no process that a test starts inherits them
    os.environ.pop(_name, None)

_state = TemporaryDirectory(prefix="mcproof-state-")
os.environ["XDG_STATE_HOME"] = _state.name  # for the key of stored failures, which must not go to the user's folder

for _signal in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    # Child processes inherit an ignored signal (`nohup`, a job in the background), but not a handler that does nothing.
    if signal.getsignal(_signal) == signal.SIG_IGN:
        signal.signal(_signal, lambda *_: None)

_SLOW_GENERATORS = (HealthCheck.too_slow, HealthCheck.data_too_large)
_PROFILES = {"quick": 15, "full": 100}
"""Examples of each property; `full` is the default, `make quick` takes the other. Each run sees the same examples."""
for _name, _examples in _PROFILES.items():
    settings.register_profile(
        _name, max_examples=_examples, deadline=None, derandomize=True, suppress_health_check=_SLOW_GENERATORS
    )
settings.register_profile("search", max_examples=2_000, deadline=None, suppress_health_check=_SLOW_GENERATORS)
settings.load_profile("full")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers for `-n auto`: more than cores, as many tests wait for servers."""
    cores = os.cpu_count() or 1
    return cores + cores // 2


def pytest_collection_finish() -> None:
    """Leave what has been imported and collected out of garbage collections: there are many, and the heap is large."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Leave what the tests of a module made out of garbage collections: some helpers search everything after each."""
    result = yield
    if nextitem is None or item.path != nextitem.path:
        gc.collect(1)  # without the oldest, where `source.javascript` puts back what is left out
        gc.freeze()
    return result


@pytest.fixture(autouse=True)
def _no_learned_secrets() -> Iterator[None]:
    """Forget the tokens that a test received: they are hidden for as long as the process lives."""
    yield
    redaction._learned.clear()


@pytest.fixture
def broken_rule(monkeypatch: pytest.MonkeyPatch) -> Rule:
    """A rule that yields one problem and then fails, as long as the test runs."""
    rule = find_rule("SCH-002")

    def fails(tree: object) -> Iterator[Problem]:
        yield Problem("seen before the failure")
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(rule, "check", fails)
    return rule


@pytest.fixture
def marker() -> Iterator[str]:
    """A word on the command line of every process of a test; none may be left."""
    from client.running import processes

    word = f"mcproof-{uuid4().hex[:12]}"
    yield word
    for line in processes(word):  # so that a failure does not last
        os.kill(int(line.partition(":")[0]), signal.SIGKILL)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server; one for each process of the tests."""
    from services.store.postgres import running_postgres, why_not

    if reason := why_not():
        if os.environ.get("MCPROOF_REQUIRE_POSTGRES"):
            pytest.fail(f"{reason}, and MCPROOF_REQUIRE_POSTGRES is set")
        pytest.skip(reason)
    with running_postgres() as url:
        yield url
