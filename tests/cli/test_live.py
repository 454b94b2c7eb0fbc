"""Live servers on the command line: commands and URLs, options, secrets, failures and interrupts."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pytest

from client.running import RAW, processes

from .running import (
    CLEAN_TOOL,
    COMMAND,
    TIMEOUT,
    document_of,
    environment,
    error_of,
    fails,
    run,
    run_process,
    validator,
    write,
)
from .serving import GOOD, QUICK, SECRET, config, entry, findings, lint, raw, serve

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and processes of POSIX")
FORMATS = ("text", "concise", "json", "sarif", "junit", "html", "markdown", "github", "gitlab", "tap")
WIRE = {
    "WIR-001": "garbage-first",
    "WIR-002": "no-jsonrpc",
    "WIR-003": "wrong-id",
    "WIR-004": "unknown-revision",
    "WIR-005": "not-served",
    "WIR-006": "cursor-loop",
    "WIR-008": "ignores-eof",
    "WIR-009": "asks-client",
}


# --- what is found ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["lint", "grade", "schema-lint"])
def test_a_command_and_a_url_are_judged_alike(command: str) -> None:
    started = run(command, "--format", "json", *GOOD)
    with serve("json") as server:
        reached = run(command, "--format", "json", server.url)
    assert started.returncode == reached.returncode
    assert started.stderr == reached.stderr == ""
    first, second = (document_of(each, command.removeprefix("schema-")) for each in (started, reached))
    assert [each["rule"] for each in first["findings"]] == [each["rule"] for each in second["findings"]]
    assert first["findings"]


def test_no_fix_of_a_file_is_offered_for_a_live_server() -> None:
    shown = run("schema-lint", *GOOD).stdout
    assert "can be fixed by setting `additionalProperties` in the server's code\n" in shown
    assert "--fix" not in run("schema-lint", "--format", "html", *GOOD).stdout


def test_targets_of_all_kinds_go_together(tmp_path: Path) -> None:
    snapshot = write(tmp_path / "tools.json", [CLEAN_TOOL])
    configured = config(tmp_path, here=entry("good"))
    with serve("json") as server:
        document = lint(snapshot, server.url, f"{configured}#here", *GOOD)
    assert [each["target"] for each in document["targets"]] == [
        snapshot,
        server.url,
        f"{configured}#here",
        " ".join(GOOD[1:]),
    ]


def test_two_addresses_that_differ_in_a_secret_are_two_targets() -> None:
    with serve("json") as server:
        document = lint(f"{server.url}?key=first", f"{server.url}?key=second", f"{server.url}?key=first")
    label = f"{server.url}?key=***"
    assert [each["target"] for each in document["targets"]] == [label, f"{label} (2)"]


def test_the_run_report_says_how_the_server_was_spoken_to(tmp_path: Path) -> None:
    report = tmp_path / "run.json"
    with serve("modern") as server:
        run("lint", server.url, "--report", str(report), *raw("old-revision"))
    document = json.loads(report.read_text(encoding="utf-8"))
    validator("run").validate(document)
    assert [(each["connection"], each["protocol"]) for each in document["targets"]] == [
        (
            {"transport": "http", "era": "stateless", "requested": "2026-07-28", "agreed": "2026-07-28"},
            document["targets"][0]["protocol"],
        ),
        (
            {"transport": "stdio", "era": "handshake", "requested": "2025-11-25", "agreed": "2024-11-05"},
            "2024-11-05",
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rule", WIRE)
def test_a_fault_on_the_wire_is_found(rule: str) -> None:
    done = run("lint", "--ruleset", "wire", "--format", "json", *raw(WIRE[rule]))
    assert done.returncode == (1 if rule < "WIR-007" else 0)
    assert {each["rule"] for each in document_of(done, "lint")["findings"]} == {rule}


def test_a_good_server_shows_nothing_on_the_wire() -> None:
    assert lint("--ruleset", "wire", *GOOD)["findings"] == []


def test_faults_on_the_wire_do_not_change_the_grade() -> None:
    good, noisy = (run("grade", "--format", "json", *raw(fault)) for fault in ("good", "garbage-first"))
    assert document_of(good, "grade")["score"] == document_of(noisy, "grade")["score"]


def test_the_rules_of_the_wire_can_be_left_out() -> None:
    assert findings(run("lint", "--ignore", "wire", "--format", "json", *raw("garbage-first")), wire=True) == findings(
        run("lint", "--format", "json", *GOOD), wire=True
    )


# --- formats ------------------------------------------------------------------------------------------------------


def _sarif(*words: str) -> list[Any]:
    done = run("lint", "--format", "sarif", *words)
    results: list[Any] = json.loads(done.stdout)["runs"][0]["results"]
    assert results
    return results


@pytest.mark.parametrize("target", ["command", "url"])
def test_sarif_of_a_server_has_relative_addresses_and_no_fixes(target: str) -> None:
    with serve("json") as server:
        words = GOOD if target == "command" else (server.url,)
        results = _sarif(*words, "--ruleset", "strict") if target == "url" else _sarif("--ruleset", "strict", *words)
    for each in results:
        place = each["locations"][0]
        artifact = place["physicalLocation"]["artifactLocation"]
        uri = artifact["uri"].removeprefix("./")
        assert not uri.startswith("/")
        assert ":" not in uri
        assert "//" not in uri
        assert artifact["uriBaseId"] == "%SRCROOT%"
        assert "region" not in place["physicalLocation"]
        assert place["logicalLocations"][0]["name"] in ("find_book", "lend_book")
        assert "fixes" not in each
    assert unquote(uri).endswith("servers/raw.py" if target == "command" else "/mcp")


def test_sarif_of_a_configured_server_is_about_its_line(tmp_path: Path) -> None:
    configured = config(tmp_path, first=entry("good"), second=entry("good"))
    lines = (tmp_path / ".mcp.json").read_text(encoding="utf-8").splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if '"second"' in text)
    done = subprocess.run(
        [*COMMAND, "lint", ".mcp.json#second", "--format", "sarif"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert configured
    for each in json.loads(done.stdout)["runs"][0]["results"]:
        place = each["locations"][0]
        assert place["physicalLocation"] == {
            "artifactLocation": {"uri": ".mcp.json", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line},
        }
        assert place["logicalLocations"][0]["kind"] == "function"


def test_github_puts_the_findings_of_a_server_on_no_file() -> None:
    done = run("lint", "--format", "github", *raw("garbage-first"))
    first = done.stdout.splitlines()[0]
    assert first.startswith("::error title=WIR-001::sends lines that are not JSON")
    assert "file=" not in done.stdout


def test_markdown_shows_a_command_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").write_text(f"#!{sys.executable}\nimport mcproof.demo.server as demo\ndemo.main()\n")
    (tmp_path / "server.py").chmod(0o755)
    command = (str(tmp_path / "server.py"), "a//b/../c")
    shown = run("lint", "--format", "markdown", "--", *command).stdout
    assert f"| `get_forecast` `{' '.join(command)}` |" in shown


def test_markdown_shows_an_address_as_it_is() -> None:
    with serve("json") as server:
        assert f"`{server.url}`" in run("lint", "--format", "markdown", server.url).stdout


def test_junit_of_a_server_is_a_suite_with_its_name() -> None:
    root = ET.fromstring(run("lint", "--format", "junit", *raw("garbage-first")).stdout)  # noqa: S314
    (suite,) = root
    assert suite.get("name") == " ".join((*RAW, "garbage-first"))
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["WIR-001"]
    assert all(case.get("file") is None for case in suite)


# --- fixes and differences ----------------------------------------------------------------------------------------


def test_fix_prints_the_capture_with_tightened_schemas() -> None:
    done = run("schema-lint", "--fix", *GOOD)
    assert done.returncode == 0
    tools = json.loads(done.stdout)["tools"]
    assert [tool["inputSchema"]["additionalProperties"] for tool in tools] == [False, False]
    assert "fixed 2 findings" in done.stderr


def test_the_difference_of_a_fix_is_shown() -> None:
    done = run("schema-lint", "--diff", *GOOD)
    assert done.returncode == 1
    assert done.stdout.count('+        "additionalProperties": false') == 2


def test_a_server_cannot_be_rewritten_and_is_not_started_for_that(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert "--write needs files" in fails("schema-lint", "--fix", "--write", "--", "touch", str(mark))
    assert not mark.exists()


def test_a_server_is_compared_with_what_it_was(tmp_path: Path) -> None:
    old = str(tmp_path / "old.json")
    assert run("capture", "-o", old, *GOOD).returncode == 0
    assert run("diff", old, *GOOD).returncode == 0
    done = run("diff", old, *raw("odd-tools"), cwd=tmp_path)
    assert done.returncode == 1
    document = document_of(run("diff", "--format", "json", old, *raw("pages")), "diff")
    places = {(each["file"], each["line"] is None) for each in document["changes"]}
    assert places <= {(old, False), (" ".join((*RAW, "pages")), True)}
    assert (" ".join((*RAW, "pages")), True) in places


def test_two_addresses_are_compared() -> None:
    with serve("json") as old, serve("events") as new:
        done = run("diff", old.url, new.url)
    same = f"✓ no changes from {old.url} to {new.url}"
    assert (done.returncode, done.stdout) == (0, f"{same}\n✓ passed: no changes (gate: breaking changes)\n")


@pytest.mark.parametrize("words", [("a.json",), ("a.json", "b.json", *GOOD), ("--all", "a.json", "b.json")])
def test_a_comparison_needs_two_catalogs(words: tuple[str, ...]) -> None:
    fails("diff", *words)


# --- baselines ----------------------------------------------------------------------------------------------------


def test_a_baseline_accepts_what_a_command_shows_until_it_is_gone(tmp_path: Path) -> None:
    accepted = ("--baseline", str(tmp_path / "accepted.json"))
    script = tmp_path / "server.py"
    words = ("--", *RAW[:-1], str(script))
    source = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.dirname(RAW[-1]))!r})\nfrom servers import raw\n"
    script.write_text(f"{source}raw.GarbageFirst().run()\n", encoding="utf-8")
    run("lint", *accepted, "--update-baseline", *words)
    again = run("lint", *accepted, "--format", "json", *words)
    assert (again.returncode, json.loads(again.stdout)["findings"]) == (0, [])
    script.write_text(f"{source}raw.Good().run()\n", encoding="utf-8")
    mended = run("lint", *accepted, *words)
    assert mended.returncode == 1
    assert "stale: WIR-001" in mended.stderr
    run("lint", *accepted, "--update-baseline", *words)
    assert run("lint", *accepted, *words).returncode == 0


def test_a_baseline_knows_a_server_by_its_address(tmp_path: Path) -> None:
    accepted = ("--baseline", str(tmp_path / "accepted.json"))
    with serve("no-content-type") as server:
        run("lint", *accepted, "--update-baseline", server.url)
        assert run("lint", *accepted, server.url).returncode == 0
    with serve("no-content-type") as elsewhere:
        assert elsewhere.url != server.url
        assert run("lint", *accepted, elsewhere.url).returncode == 1


def test_a_baseline_knows_a_configured_server_wherever_mcproof_is_started(tmp_path: Path) -> None:
    config(tmp_path, noisy=entry("garbage-first"))
    folder = tmp_path / "inside"
    folder.mkdir()
    run("lint", ".mcp.json#noisy", "--baseline", "accepted.json", "--update-baseline", cwd=tmp_path)
    done = run("lint", "../.mcp.json#noisy", "--baseline", "../accepted.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_ignores_of_the_configuration_hold_for_servers(tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text('[[ignore-for]]\ntool = "lend_*"\nrules = ["grade"]\n', encoding="utf-8")
    done = run("lint", "--ruleset", "grade", "--format", "json", *GOOD, cwd=tmp_path)
    assert [each["subject"] for each in json.loads(done.stdout)["findings"]] == ["tool:find_book"]


# --- options ------------------------------------------------------------------------------------------------------


def _seen_environment(*words: str, **env: str) -> list[str]:
    done = run("capture", *words, *raw("shows-environment"), env=env)
    tools: list[Any] = json.loads(done.stdout)["tools"]
    return [tool["name"] for tool in tools]


def test_a_server_sees_a_small_environment_and_what_is_named() -> None:
    seen = _seen_environment("--env", "GIVEN", "--env", "WRITTEN=a=b", GIVEN="x", NOT_GIVEN="x")
    assert {"GIVEN", "WRITTEN", "PATH"} <= set(seen)
    assert not {"NOT_GIVEN", "PYTHONUTF8", "PYTHONPATH"} & set(seen)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--env", "MCPROOF_MISSING"), "--env MCPROOF_MISSING: not set here"),
        (("--env", f"={SECRET}"), "--env needs a name"),
        (("--header", SECRET), "--header needs a name and a value"),
        (("--header", f"two words: {SECRET}"), "--header needs a name and a value"),
        (("--header", "X: ${MCPROOF_MISSING}"), "--header X: the environment has no variable MCPROOF_MISSING"),
        (("--header", f"X: {SECRET}\r\nY: 1"), "--header X: the value has a line break"),
        (("--header", f"X: {SECRET}\n"), "--header X: the value has a line break"),
        (("--cwd", "no-such-folder"), "--cwd: there is no folder `no-such-folder`"),
        (("--timeout", "0"), "`0` is not a number of seconds"),
        (("--timeout", "nan"), "`nan` is not a number of seconds"),
        (("--protocol", "2025-06-19"), "unknown protocol revision `2025-06-19` (did you mean `2025-06-18`?)"),
    ],
)
def test_an_option_that_makes_no_sense_is_told_before_anything_is_started(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    line = fails("lint", *words, "--", "touch", "mark", cwd=tmp_path)
    assert said in line
    assert SECRET not in line
    assert not (tmp_path / "mark").exists()


def test_headers_are_sent_with_variables_filled_in() -> None:
    with serve("json") as server:
        run("lint", server.url, "--header", "X-Key: a ${MCPROOF_KEY} b", env={"MCPROOF_KEY": SECRET})
        assert {request.headers["x-key"] for request in server.requests} == {f"a {SECRET} b"}


def test_a_server_is_started_in_the_folder_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "here.py").write_text(f"import runpy; runpy.run_path({RAW[-1]!r}, run_name='__main__')\n")
    document = lint("--cwd", str(tmp_path), "--", *RAW[:-1], "here.py", "good")
    assert document["target"].endswith("here.py good")


@pytest.mark.parametrize("revision", ["2025-06-18", "2024-11-05"])
def test_a_revision_can_be_forced(tmp_path: Path, revision: str) -> None:
    report = tmp_path / "run.json"
    run("lint", "--protocol", revision, "--report", str(report), *GOOD)
    assert json.loads(report.read_text(encoding="utf-8"))["targets"][0]["connection"]["agreed"] == revision


def test_a_revision_that_the_server_does_not_speak_is_a_failure() -> None:
    assert "does not support revision 2026-07-28" in fails("lint", "--protocol", "2026-07-28", *GOOD)
    assert "refuses `initialize`" in fails("lint", "--protocol", "2025-06-18", *raw("modern"))


def test_nothing_after_the_dashes_is_told() -> None:
    assert "`--` needs the command" in fails("lint", "--")
    assert "`mcproof rules` starts no server" in fails("rules", "--", "x")


@pytest.mark.parametrize("words", [GOOD, ("--", "no-such-program"), raw("exit-at-start")])
def test_options_after_the_dashes_are_the_servers(words: tuple[str, ...]) -> None:
    done = run("lint", *words, "--format", "json", "--timeout", "x", "--help")
    assert not done.stdout.startswith("{")
    assert "usage" not in done.stdout
    assert done.returncode in (0, 2)


# --- secrets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["repeats-environment", "dies-with-secret"])
def test_no_output_has_a_value_of_the_environment_or_of_an_argument(tmp_path: Path, fault: str) -> None:
    files = [str(tmp_path / f"out.{name}") for name in FORMATS]
    outputs = [word for name, file in zip(FORMATS, files, strict=True) for word in ("--output", f"{name}:{file}")]
    words = ("--env", "SECRET", "--report", str(tmp_path / "run.json"), *outputs)
    end = raw(fault, "--api-key", f"{SECRET}-argument")
    done = run("lint", *words, *end, env={"SECRET": SECRET})
    capture = run("capture", "--env", "SECRET", *end, env={"SECRET": SECRET})
    written = "".join(each.read_text(encoding="utf-8") for each in tmp_path.iterdir())
    assert "***" in written
    assert SECRET not in written + done.stdout + done.stderr + capture.stdout + capture.stderr


def test_no_output_has_a_secret_of_an_address_or_a_header(tmp_path: Path) -> None:
    words = ("--header", "Authorization: Bearer ${KEY}", "--report", str(tmp_path / "run.json"), "--format", "json")
    for fault in ("repeats-headers", "401", "500", "redirect-other-host"):
        with serve(fault) as server:
            address = server.url.replace("//", f"//me:{SECRET}@") + f"?token={SECRET}"
            done = run("lint", address, *words, env={"KEY": f"{SECRET}-header"})
            assert SECRET not in done.stdout + done.stderr + (tmp_path / "run.json").read_text(encoding="utf-8")
            assert any(SECRET in request.path for request in server.requests)


def test_a_variable_that_is_passed_by_name_is_hidden_in_every_encoding(tmp_path: Path) -> None:
    """Whatever it is called: a name such as DSN does not look secret."""
    value = 'server=db;me="Größe+1";p=hunter2/x'
    files = [tmp_path / name for name in ("run.json", "page.html", "catalog.json")]
    words = ("--env", "DSN", *raw("encodes-environment"))
    outputs = ("--report", str(files[0]), "--output", str(files[1]))
    done = run("lint", "--ruleset", "all", *outputs, *words, env={"DSN": value})
    assert done.returncode in (0, 1), done
    assert run("capture", "-o", str(files[2]), *words, env={"DSN": value}).returncode == 0
    shown = done.stdout + "".join(file.read_text(encoding="utf-8") for file in files)
    assert shown.count("***") > 30
    core = 'e="Größe+1";p=hunter2/'.encode()  # at every offset, without its ends
    parts = {"hunter2", "Größe", core.hex(), quote("Größe"), "Gr\\u00f6"}
    parts |= {b64encode(core[at:])[:-4].decode() for at in range(3)}
    assert [part for part in parts if part in shown] == []


def test_a_variable_that_is_passed_by_value_is_a_setting() -> None:
    done = run("capture", "--env", "DSN=production", *raw("encodes-environment"))
    assert "Uses production." in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("lint", f"HTTP://me:{SECRET}@127.0.0.1:1/"),
        ("lint", f"ftp://me:{SECRET}@127.0.0.1:1/"),
        ("lint", f"--token={SECRET}", "x.json"),
        ("capture", "x.json", f"http://me:{SECRET}@127.0.0.1:1/"),
        ("diff", "x.json", f"http://me:{SECRET}@127.0.0.1:1/?key={SECRET}"),
        ("diff", "--env", "MCPROOF_MISSING", "x.json", f"http://me:{SECRET}@127.0.0.1:1/"),
        ("capture", f"http://me:{SECRET}@127.0.0.1:1/"),
    ],
    ids=lambda words: " ".join(words).replace(SECRET, "SECRET"),
)
def test_a_target_that_fails_gives_no_secret_away(words: tuple[str, ...]) -> None:
    assert SECRET not in fails(*words)


def test_the_configuration_is_shown_without_the_secrets_of_addresses(tmp_path: Path) -> None:
    address = f"https://me:{SECRET}@host/mcp?token={SECRET}"
    (tmp_path / "mcproof.toml").write_text(f'[targets]\nremote = "{address}"\n', encoding="utf-8")
    for form in ("text", "json"):
        done = run("config", "--format", form, cwd=tmp_path)
        assert "https://host/mcp?token=***" in done.stdout
        assert SECRET not in done.stdout


# --- failures -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (raw("exit-at-start"), "exited with code 7; last line of stderr: ModuleNotFoundError"),
        (raw("killed-at-start"), "the server was killed by signal SIGKILL"),
        (("--", "mcproof-no-such-program"), "cannot start `mcproof-no-such-program`: no such file"),
        (("--", "/"), "cannot start `/`: permission denied"),
        (("--", "cat"), "cat: not an MCP server: it echoes its input"),
        (("--", "true"), "the server exited with code 0"),
        ((*QUICK, "--", "yes"), "no response within 1 second of the start (--start-timeout); its output begins: y"),
        ((*QUICK, "--", "sleep", "100"), "sleep 100: no response within 1 second of the start (--start-timeout)"),
        (
            (*QUICK, *raw("hang-at-start")),
            "within 1 second of the start (--start-timeout); last line of stderr: connecting to the",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_server_that_does_not_answer_is_told_in_one_line(words: tuple[str, ...], said: str) -> None:
    assert said in fails("lint", *words)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("401", "needs authorization (WWW-Authenticate: Bearer "),
        ("404", "the server returns HTTP 404"),
        ("500", "the server returns HTTP 500"),
        ("redirect-same-host", "the server redirects (30"),
        ("website", "the response is not JSON-RPC"),
        ("hang", "no response within 1 second"),
    ],
)
def test_an_address_that_is_no_server_is_told_in_one_line(fault: str, said: str) -> None:
    with serve(fault) as server:
        line = fails("lint", server.url, *(QUICK if fault == "hang" else ()))
    assert line.startswith(f"mcproof: {server.url}: ")
    assert said in line


def test_an_address_that_cannot_be_reached_is_told_in_one_line() -> None:
    assert "cannot be reached" in fails("lint", "http://127.0.0.1:1/mcp")
    assert "Errno" not in fails("lint", "http://nothing.invalid/mcp")
    assert "neither http:// nor https://" in fails("lint", "ws://127.0.0.1:1/mcp")


def test_an_error_of_tls_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak_plainly() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=speak_plainly)
        thread.start()
        line = fails("lint", f"https://127.0.0.1:{listening.getsockname()[1]}/mcp", "--timeout", "10")
        thread.join()
    assert "the server cannot be reached: [SSL" in line


def test_a_failure_is_a_document_in_a_machine_format() -> None:
    error = error_of("lint", "--format", "json", *raw("exit-at-start"))
    assert error["message"].startswith("the server exited with code 7")
    assert error["file"] == " ".join((*RAW, "exit-at-start"))


def test_a_server_that_fails_does_not_hide_the_others() -> None:
    with serve("json") as server:
        done = run("lint", "http://127.0.0.1:1/mcp", server.url, "--format", "json", *raw("exit-at-start"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2
    targets = document_of(done, "lint")["targets"]
    assert ["error" in each for each in targets] == [True, False, True]


# --- interrupts and progress --------------------------------------------------------------------------------------

_WITH_SIGINT = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from mcproof.cli.main import run; run()"
)
"""Starts mcproof such that SIGINT reaches it, even where the tests run in the background, which ignores it."""


@pytest.mark.parametrize("command", ["lint", "capture"])
def test_ctrl_c_leaves_no_process_and_keeps_what_was_found(tmp_path: Path, command: str) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    marker = f"interrupted-{command}-{os.getpid()}"
    snapshot = write(tmp_path / "tools.json", [CLEAN_TOOL])
    words = [snapshot, "--format", "json"] if command == "lint" else []
    end = raw("grandchild-and-hang", marker)
    process = subprocess.Popen(
        [sys.executable, "-c", _WITH_SIGINT, command, *words, "--env", f"READY={ready}", *end],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert ready.read_text(encoding="utf-8") == "ready"
        assert processes(marker)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 130
    assert [each for each in processes(marker) if str(process.pid) not in each] == []
    if command == "lint":
        assert [each["target"] for each in json.loads(out)["targets"]] == [snapshot]
        assert err.decode() == "mcproof: interrupted after 1 of 2 targets\n"
    else:
        assert (out, err.decode()) == (b"", "mcproof: interrupted\n")


@pytest.mark.slow
def test_one_of_eight_servers_that_hangs_does_not_hold_up_the_others(tmp_path: Path) -> None:
    marker = f"one-of-eight-{os.getpid()}"
    entries = {f"server{number}": entry("good", marker) for number in range(7)}
    configured = config(tmp_path, **entries, hangs=entry("hang-at-start", marker))
    done = run("lint", configured, "--all", "--timeout", "3", "--start-timeout", "3", "--format", "json")
    assert done.returncode == 2
    targets = document_of(done, "lint")["targets"]
    assert ["error" in each for each in targets] == [False] * 7 + [True]
    assert "server `hangs`: no response within 3 seconds" in done.stderr
    assert processes(marker) == []


def _on_a_terminal(*words: str) -> str:
    """What a run writes to a standard error that is a terminal."""
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words], env=environment(TERM="xterm"), stdout=subprocess.DEVNULL, stderr=follower
    )
    os.close(follower)
    seen = b""
    try:
        while chunk := os.read(leader, 4096):
            seen += chunk
    except OSError:  # how the other end of a terminal says that it is closed
        pass
    finally:
        os.close(leader)
        process.wait(TIMEOUT)
    return seen.decode()


def test_progress_is_shown_on_a_terminal_without_secrets(tmp_path: Path) -> None:
    configured = config(tmp_path, one=entry("good", "--api-key", SECRET), two=entry("good", env={"KEY": SECRET}))
    seen = _on_a_terminal("lint", configured, "--all")
    assert "2/2 of 2 servers have answered" in seen
    assert seen.endswith("\r\x1b[K")
    assert SECRET not in seen


def test_progress_is_never_shown_in_a_pipe(tmp_path: Path) -> None:
    assert run("lint", config(tmp_path, one=entry("good"), two=entry("good")), "--all").stderr == ""


# --- the demonstration --------------------------------------------------------------------------------------------


def test_the_demonstration_works_in_any_folder(tmp_path: Path) -> None:
    for name in ("mcproof.py", "json.py", "asyncio.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')\n", encoding="utf-8")
    (tmp_path / "mcproof.toml").write_text("nonsense", encoding="utf-8")
    done = run_process("demo", cwd=tmp_path, env={"PYTHONSAFEPATH": "1"})
    assert done.returncode == 0
    assert done.stderr.startswith("mcproof: may call 4 tools, presumed read-only: get_forecast")
    assert done.stderr.count("\n") == 1
    assert "Fix first: " in done.stdout


@pytest.mark.parametrize(
    ("words", "listings"),
    [
        (("lint", "--ruleset", "spec"), 2),
        (("lint", "--ruleset", "spec", "--ignore", "SPEC-205"), 1),
        (("grade",), 1),
        (("capture",), 1),
    ],
)
def test_a_second_connection_is_opened_only_for_a_rule_that_compares(words: tuple[str, ...], listings: int) -> None:
    with serve("modern-varying") as server:
        run(words[0], server.url, *words[1:])
        assert len([each for each in server.requests if each.method == "tools/list"]) == listings
