"""The fixtures of the pytest plugin."""

from __future__ import annotations

import json
import sys

import pytest

from .conftest import CONFIGURATION, SERVER, WORKERS, run


def test_results_of_calls(project: pytest.Pytester) -> None:
    project.makepyfile("""
        def test_call(mcp_server):
            result = mcp_server.call("add", {"a": 1, "b": 2})
            assert result.text == "3"
            assert result.structured == {"sum": 3, "of": [1, 2]}
            assert result.content == [{"type": "text", "text": "3"}]
            assert result.raw["structuredContent"]["sum"] == 3
            assert not result.is_error
            assert mcp_server.call("fail").is_error

        def test_the_rest(mcp_server):
            assert [tool["name"] for tool in mcp_server.tools()][:2] == ["echo", "add"]
            assert mcp_server.resources() == [{"uri": "note:///a", "name": "a"}]
            assert mcp_server.resource_templates() == []
            assert mcp_server.prompts() == [{"name": "greet"}]
            assert mcp_server.read("note:///a").text == "the note"
            assert mcp_server.read("note:///a").contents[0]["uri"] == "note:///a"
            prompt = mcp_server.prompt("greet", {"who": "Ada"})
            assert (prompt.text, prompt.messages[0]["role"]) == ("Hello Ada", "user")
            assert mcp_server.request("ping") == {}
    """)
    run(project).assert_outcomes(passed=2)


def test_tracebacks_hide_mcproof(project: pytest.Pytester) -> None:
    project.makepyfile("""
        def test_error(mcp_server):
            mcp_server.call("refuse")

        def test_crash(mcp_server):
            mcp_server.call("die")

        def test_hang(mcp_server):
            mcp_server.call("sleep", timeout=0.2)

        def test_arguments(mcp_server):
            mcp_server.call("echo", {"text": object()})

        def test_result(mcp_server):
            assert not mcp_server.call("fail").is_error

        def test_start(start_mcp_server):
            start_mcp_server(["no-such-program-here"])
    """)
    result = run(project)
    result.assert_outcomes(failed=6)
    result.stdout.fnmatch_lines(
        [
            "E       mcproof.testing.McpError: tools/call refuse: error -32000: refused",
            "E       mcproof.testing.ServerError: tools/call die: *the server exited with code 3",
            "E       mcproof.testing.ServerError: tools/call sleep: no response within 0.2 seconds",
            "E       TypeError: not JSON arguments: Object of type object is not JSON serializable",
            "E        +  where True = CallResult(*it failed*).is_error",
            "E       mcproof.testing.ServerError: cannot start `no-such-program-here`: *",
        ]
    )
    assert "src/mcproof" not in result.stdout.str()
    assert "contextlib" not in result.stdout.str()


def test_errors_can_be_expected(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import pytest
        from mcproof.testing import McpError, ServerError

        def test_error(mcp_server):
            with pytest.raises(McpError, match="refused") as caught:
                mcp_server.call("refuse")
            assert (caught.value.code, caught.value.message, caught.value.data) == (-32000, "refused", None)

        def test_crash_and_the_server_is_there_again(mcp_server):
            with pytest.raises(ServerError, match="exited with code 3"):
                mcp_server.call("die")
            assert mcp_server.call("echo", {"text": "again"}).text == "again"

        def test_hang_and_the_next_answer_is_its_own(mcp_server):
            with pytest.raises(ServerError, match="no response within"):
                mcp_server.call("sleep", timeout=0.2)
            assert mcp_server.call("echo", {"text": "again"}).text == "again"

        def test_closed(start_mcp_server, pytestconfig):
            with start_mcp_server(pytestconfig.getini("mcp_server")) as server:
                assert server.call("echo", {"text": "x"}).text == "x"
            with pytest.raises(ServerError, match="was closed"):
                server.call("echo", {"text": "x"})
    """)
    run(project).assert_outcomes(passed=4)


def test_a_crash_after_a_response_fails_only_that_call(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from mcproof.testing import ServerError

        @pytest.mark.parametrize("turn", range(3))
        def test_it(mcp_server, turn):
            with pytest.raises(ServerError, match="^tools/call leave: after the response, the server exited"):
                mcp_server.call("leave")
            assert mcp_server.call("echo", {"text": "hi"}).text == "hi"
        """
    )
    run(project).assert_outcomes(passed=3)


def test_one_server_is_shared_unless_a_test_starts_its_own(project: pytest.Pytester) -> None:
    test = """
        import pytest

        @pytest.fixture
        def fresh(start_mcp_server, pytestconfig):
            with start_mcp_server(pytestconfig.getini("mcp_server")) as server:
                yield server

        @pytest.mark.parametrize("is_error", {})
        def test_shared(mcp_server, is_error):
            assert mcp_server.call("flaky").is_error is is_error

        @pytest.mark.parametrize("again", [1, 2])
        def test_own(fresh, again):
            assert fresh.call("flaky").is_error
    """
    project.makepyfile(test_a=test.format("[True, False]"), test_b=test.format("[False]"))
    run(project).assert_outcomes(passed=7)


def test_a_conftest_may_override_the_server(project: pytest.Pytester) -> None:
    (project.path / "pytest.ini").write_text(CONFIGURATION, encoding="utf-8")
    project.makeconftest(f"""
        import pytest

        @pytest.fixture(scope="session")
        def mcp_server(start_mcp_server):
            return start_mcp_server({SERVER.split()!r}, env={{"SECRET": "hello"}}, timeout=20)
    """)
    project.makepyfile("""
        def test_environment(mcp_server):
            assert mcp_server.call("secret").text == "the secret is hello"
    """)
    run(project).assert_outcomes(passed=1)


def test_a_server_starts_in_the_root_folder(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    project.makefile(".py", server="import sys, runpy; runpy.run_path(sys.argv[1], run_name='__main__')")
    words = SERVER.split()
    (project.path / "pytest.ini").write_text(
        f"{CONFIGURATION}mcp_server = {sys.executable} server.py {words[-1]}\n", encoding="utf-8"
    )
    folder = project.mkdir("tests")
    (folder / "test_it.py").write_text("def test_it(mcp_server): assert mcp_server.tools()", encoding="utf-8")
    monkeypatch.chdir(folder)
    run(project).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("configured", "said"),
    [
        ("", "no server is configured: set `mcp_server` in the pytest configuration*"),
        ("mcp_server = no-such-program-here x", "mcp_server: cannot start `no-such-*"),
        (f"mcp_server = {sys.executable} -c 'exit(7)'", "mcp_server: cannot reach the server: *exited with code 7*"),
        ("mcp_server = python 'x", "mcp_server: cannot split the command: No closing quotation"),
        ("mcp_server = http://127.0.0.1:1/mcp", "mcp_server: the server cannot be reached: *"),
    ],
)
def test_a_failed_start_is_one_line_for_every_test(project: pytest.Pytester, configured: str, said: str) -> None:
    (project.path / "pytest.ini").write_text(f"{CONFIGURATION}{configured}\n", encoding="utf-8")
    project.makepyfile("def test_a(mcp_server): pass\ndef test_b(mcp_server): pass")
    result = run(project)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*ERROR at setup of test_a*", said, "*ERROR at setup of test_b*", said])
    assert "src/mcproof" not in result.stdout.str()
    assert "another exception" not in result.stdout.str()


def test_messages_hide_secrets(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_OUTSIDE", "opensesame-42")
    project.makepyfile("""
        import os

        import pytest

        @pytest.fixture(scope="module")
        def server(start_mcp_server, pytestconfig):
            return start_mcp_server(pytestconfig.getini("mcp_server"), env={"SECRET": os.environ["FROM_OUTSIDE"]})

        def test_result(server):
            assert server.call("secret").is_error

        def test_snapshot(server, mcp_snapshot):
            mcp_snapshot(server.call("secret"))

        def test_error(server):
            server.call("opensesame-42")
    """)
    result = run(project, "--mcproof-update-snapshots")
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*CallResult(*the secret is [*][*][*]*", "*McpError: tools/call [*][*][*]: error*"])
    told = [line for line in result.stdout.lines if "opensesame-42" in line and ">  " not in line]
    assert told == []
    stored = (project.path / "test_messages_hide_secrets.snapshots.json").read_text(encoding="utf-8")
    assert "the secret is ***" in stored


def test_async_tests_and_threads_may_share_a_server(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        def test_within_a_loop(mcp_server):
            async def test():
                assert mcp_server.call("echo", {"text": "x"}).text == "x"
                called = await asyncio.to_thread(mcp_server.call, "echo", {"text": "y"})
                assert called.text == "y"
            asyncio.run(test())

        def test_threads(mcp_server):
            with ThreadPoolExecutor(8) as pool:
                called = list(pool.map(lambda n: mcp_server.call("echo", {"text": str(n)}).text, range(40)))
            assert called == [str(n) for n in range(40)]
    """)
    run(project).assert_outcomes(passed=2)


@pytest.mark.slow
def test_xdist_workers_have_their_own_servers(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", range(10))
        def test_add(mcp_server, number):
            assert mcp_server.call("add", {"a": number, "b": 1}).text == str(number + 1)
    """)
    run(project, "-n", "2").assert_outcomes(passed=10)


SNAPSHOTS = """
    import pytest

    def test_clock(mcp_server, mcp_snapshot):
        mcp_snapshot(mcp_server.call("clock"), mask=["timestamps", "uuids"])
        mcp_snapshot(mcp_server.call("clock"), mask=["result.content[*].text", "result.structuredContent.id"])
        mcp_snapshot([tool["name"] for tool in mcp_server.tools()], "the tools")

    class TestEcho:
        @pytest.mark.parametrize("text", ["a", "b"])
        def test_echo(self, mcp_server, mcp_snapshot, text):
            mcp_snapshot(mcp_server.call("echo", {"text": text}))
"""


@pytest.mark.parametrize("workers", WORKERS, ids=["alone", "xdist"])
def test_snapshots_are_stored_and_compared(project: pytest.Pytester, workers: list[str]) -> None:
    project.makepyfile(test_it=SNAPSHOTS)
    missing = run(project, *workers)
    missing.assert_outcomes(failed=3)
    missing.stdout.fnmatch_lines(["*snapshot `test_clock`: no stored snapshot; use --mcproof-update-snapshots*"])
    assert not (project.path / "test_it.snapshots.json").exists()
    updated = run(project, *workers, "--mcproof-update-snapshots")
    updated.assert_outcomes(passed=3)
    updated.stdout.fnmatch_lines(["mcproof: test_it.snapshots.json: 5 snapshots written"])
    stored = json.loads((project.path / "test_it.snapshots.json").read_text(encoding="utf-8"))
    assert stored["schema_version"] == 1
    keys = ["TestEcho.test_echo[a]", "TestEcho.test_echo[b]", "test_clock", "test_clock 2", "test_clock: the tools"]
    assert list(stored["snapshots"]) == keys
    assert stored["snapshots"]["test_clock"]["content"] == [{"type": "text", "text": "at <timestamp>"}]
    again = run(project, *workers)
    again.assert_outcomes(passed=3)
    assert "written" not in again.stdout.str()


def test_a_changed_snapshot_shows_the_difference(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=SNAPSHOTS)
    run(project, "--mcproof-update-snapshots", "-k", "echo").assert_outcomes(passed=2, deselected=1)
    file = project.path / "test_it.snapshots.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"text": "a"', '"text": "c"'), encoding="utf-8")
    result = run(project, "-k", "echo")
    result.assert_outcomes(passed=1, failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        [
            'E*snapshot `TestEcho.test_echo[[]a]`: differs*: at content[[]0].text: expected "c", got "a"; *',
            "E         expected {*",
            "E         got      {*",
        ]
    )
    file.write_text("{", encoding="utf-8")
    run(project, "-k", "echo").stdout.fnmatch_lines(["E*not a snapshot file: not JSON*"])


def test_snapshot_updates_are_refused_in_ci(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    project.makepyfile(test_it=SNAPSHOTS)
    refused = run(project, "--mcproof-update-snapshots")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["ERROR: --mcproof-update-snapshots is disabled in CI jobs, *--mcproof-allow-update-in-ci*"]
    )
    run(project, "--mcproof-update-snapshots", "--mcproof-allow-update-in-ci").assert_outcomes(passed=3)


def test_invalid_masks_and_values_are_reported(project: pytest.Pytester) -> None:
    project.makepyfile("""
        def test_mask(mcp_snapshot):
            mcp_snapshot({}, mask=["content"])

        def test_value(mcp_snapshot):
            mcp_snapshot(object())

        def test_no_number(mcp_snapshot):
            mcp_snapshot(float("nan"))
    """)
    result = run(project, "--mcproof-update-snapshots")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "E*unknown mask `content`; expected a path from `result`*",
            "E*not JSON serializable",
            "E*not a JSON value: *",
        ]
    )
    assert "src/mcproof" not in result.stdout.str()
