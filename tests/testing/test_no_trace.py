"""What the plugin leaves: nothing in a run that does not use it, and no process after one that does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from client.running import assert_nothing_is_left
from modules import existing
from servers import raw
from testing.suites.suites import write_suite

from .conftest import CONFIGURATION, SERVER

pytestmark = pytest.mark.slow

LIMIT = 60.0
WITH_SIGINT = """\
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
"""Starts pytest such that SIGINT reaches it, even where the tests run in the background, which ignores it."""


def test_an_unused_plugin_imports_nothing_of_mcproof(project: pytest.Pytester) -> None:
    (project.path / "pytest.ini").write_text(CONFIGURATION, encoding="utf-8")
    (project.path / "compose.yaml").write_text("services: {}\n", encoding="utf-8")
    write_suite(project.path, {})
    existing("mcproof.pytest_plugin", "yaml", "httpx2", "jsonschema_rs")
    project.makepyfile("""
        import sys, threading

        def test_nothing_is_loaded():
            loaded = {name for name in sys.modules if name.partition(".")[0] == "mcproof"}
            assert loaded == {"mcproof", "mcproof.pytest_plugin"}
            assert not {"yaml", "httpx2", "jsonschema_rs"} & set(sys.modules)
            assert threading.active_count() == 1
    """)
    project.runpytest_subprocess(".", timeout=LIMIT).assert_outcomes(passed=1)


def test_the_plugin_can_be_disabled(project: pytest.Pytester) -> None:
    (project.path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    write_suite(project.path, {}, tools=[])
    project.makepyfile("def test_it(mcp_server): pass")
    result = project.runpytest_subprocess("-p", "no:mcproof", timeout=LIMIT)
    result.stdout.fnmatch_lines(["*fixture 'mcp_server' not found"])


def test_no_server_is_left_when_the_tests_are_done(project: pytest.Pytester, marker: str) -> None:
    stubborn = [sys.executable, "-I", "-S", raw.__file__, "stubborn", marker]
    project.makepyfile(f"""
        import pytest

        @pytest.fixture(autouse=True)
        def quickly(monkeypatch):
            monkeypatch.setattr("mcproof.client.transports.stdio.GRACE", 0.1)

        def test_good(start_mcp_server):
            assert start_mcp_server("{SERVER} {marker}").tools()

        def test_stubborn(start_mcp_server):
            with start_mcp_server({stubborn!r}, env={{"READY": "/dev/null"}}):
                pass

        def test_failing(start_mcp_server):
            start_mcp_server("{SERVER} {marker}").call("die")
    """)
    project.runpytest_subprocess(timeout=LIMIT).assert_outcomes(passed=2, failed=1)
    assert_nothing_is_left(marker)


class Hanging:
    """A run of pytest in which a server hangs."""

    def __init__(self, project: pytest.Pytester, marker: str) -> None:
        self.project = project
        self.pipe = project.path / "pipe"
        os.mkfifo(self.pipe)
        (project.path / "pytest.ini").write_text(f"{CONFIGURATION}mcp_server = {SERVER} {marker}\n", encoding="utf-8")
        self.arguments = {"note": str(self.pipe)}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", WITH_SIGINT, *words],
            cwd=self.project.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def interrupted(self, *words: str) -> str:
        """What pytest says after an interrupt as a terminal makes it: for all processes of its group."""
        process = self.start(*words)
        try:
            self.pipe.read_text(encoding="utf-8")  # which the server opens when it is called
            os.killpg(process.pid, signal.SIGINT)
            output, _ = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == pytest.ExitCode.INTERRUPTED, output
        return output


@pytest.fixture
def hanging(project: pytest.Pytester, marker: str) -> Hanging:
    return Hanging(project, marker)


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "xdist"])
@pytest.mark.parametrize(
    "what", ['mcp_server.call("sleep", {})', 'assert_negative_path(mcp_server, "sleep", {})'], ids=["call", "probes"]
)
def test_an_interrupt_leaves_no_server(hanging: Hanging, marker: str, what: str, workers: list[str]) -> None:
    hanging.project.makepyfile(f"""
        from mcproof.testing import assert_negative_path

        def test_hang(mcp_server):
            {what.format(hanging.arguments)}
    """)
    output = hanging.interrupted("test_an_interrupt_leaves_no_server.py", *workers)
    assert "KeyboardInterrupt" in output
    assert_nothing_is_left(marker)


def test_an_interrupted_suite_leaves_no_server_and_runs_its_teardown(hanging: Hanging, marker: str) -> None:
    servers = {"local": {"command": [*SERVER.split(), marker]}}
    note = {"run": [sys.executable, "-c", "open('torn-down', 'w').close()"]}
    sleep = {"name": "sleep", "server": "local", "tool": "sleep", "args": hanging.arguments}
    write_suite(hanging.project.path, servers, tools=[sleep], teardown=[note])
    hanging.interrupted("mcproof.yaml")
    assert_nothing_is_left(marker)
    assert (hanging.project.path / "torn-down").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("is_suite", [False, True], ids=["test", "suite"])
def test_a_signal_that_ends_pytest_ends_a_stubborn_server(
    hanging: Hanging, marker: str, number: signal.Signals, is_suite: bool
) -> None:
    """One that is in the middle of a call, and heeds neither the end of its input nor a request to end."""
    child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    step = [
        sys.executable,
        "-c",
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}, {marker!r}])",
    ]
    sleep = {"name": "sleep", "server": "local", "tool": "sleep", "args": hanging.arguments}
    servers = {"local": {"command": [*SERVER.split(), "deaf", marker]}}
    write_suite(hanging.project.path, servers, tools=[sleep], setup=[{"run": step}])
    hanging.project.makepyfile(
        test_it=f"""
        def test_hang(start_mcp_server):
            start_mcp_server({servers["local"]["command"]!r}).call("sleep", {hanging.arguments!r})
        """
    )
    process = hanging.start("mcproof.yaml" if is_suite else "test_it.py")
    try:
        hanging.pipe.read_text(encoding="utf-8")
        process.send_signal(number)
        process.communicate(timeout=LIMIT)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -number
    assert_nothing_is_left(marker)


def test_the_end_of_a_forked_process_does_not_end_the_servers(project: pytest.Pytester) -> None:
    done = python(
        project,
        f"""if True:
        import os, signal, time
        from mcproof.testing import McpServer
        with McpServer("{SERVER}") as server:
            reading, writing = os.pipe()
            child = os.fork()
            while child == 0:
                os.write(writing, b"x")  # a signal before this would be lost in the fork
                time.sleep(0.01)
            os.read(reading, 1)
            os.kill(child, signal.SIGTERM)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), server.call("add", {{"a": 1, "b": 2}}).text)
        """,
    )
    assert (done.stdout, done.stderr) == ("-15 3\n", "")


def python(project: pytest.Pytester, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=project.path, capture_output=True, text=True, timeout=LIMIT, check=False)


def test_an_unclosed_server_ends_with_the_process(project: pytest.Pytester, marker: str) -> None:
    done = python(
        project,
        f"""if True:
        from mcproof.testing import McpServer
        print(McpServer("{SERVER} {marker}").call("add", {{"a": 1, "b": 2}}).text)
        """,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
    assert_nothing_is_left(marker)


def test_an_interrupt_during_close_ends_the_server_at_once(project: pytest.Pytester, marker: str) -> None:
    pipe = project.path / "pipe"
    os.mkfifo(pipe)
    stubborn = [sys.executable, "-I", "-S", str(Path(raw.__file__)), "stubborn", marker]
    code = f"""if True:
        import signal, mcproof.client.transports.stdio
        signal.signal(signal.SIGINT, signal.default_int_handler)
        mcproof.client.transports.stdio.GRACE = 1000
        from mcproof.testing import McpServer
        try:
            with McpServer({stubborn!r}, env={{"READY": {str(pipe)!r}}}):
                print("started", flush=True)
        except KeyboardInterrupt:
            print("interrupted")
        """
    process = subprocess.Popen([sys.executable, "-W", "error", "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        assert pipe.read_text(encoding="utf-8") == "ready"  # now because its input was closed
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, output) == (0, "interrupted\n")
    assert_nothing_is_left(marker)
