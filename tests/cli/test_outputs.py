"""`--output` and `--report`: which file gets which format, and that none is ever half-written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from .running import (
    CLEAN_TOOL,
    COMMAND,
    FAULTY_TOOL,
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

if TYPE_CHECKING:
    from pathlib import Path

BY_EXTENSION = {
    "a.txt": "text",
    "a.json": "json",
    "a.sarif": "sarif",
    "a.sarif.json": "sarif",
    "a.xml": "junit",
    "a.tap": "tap",
    "a.md": "markdown",
    "a.markdown": "markdown",
    "a.JSON": "json",
}
FORMATS = ("text", "concise", "json", "sarif", "junit", "tap", "github", "gitlab", "markdown")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "faulty.json", [FAULTY_TOOL, CLEAN_TOOL])
    write(tmp_path / "clean.json", [CLEAN_TOOL])
    return tmp_path


def _text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


# --- which file gets what -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_EXTENSION)
def test_the_extension_tells_the_format(folder: Path, name: str) -> None:
    printed = run("lint", "faulty.json", "--format", BY_EXTENSION[name], cwd=folder).stdout
    done = run("lint", "faulty.json", "--format", "concise", "--output", name, cwd=folder)
    assert done.returncode == 1
    assert _text(folder, name) == printed


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_in_front_goes_before_the_extension(folder: Path, format: str) -> None:
    printed = run("lint", "faulty.json", "--format", format, cwd=folder).stdout
    run("lint", "faulty.json", "--output", f"{format}:out.bin", "--output", f"{format}:b.txt", cwd=folder)
    assert _text(folder, "out.bin") == _text(folder, "b.txt") == printed


def test_several_outputs_are_written_in_one_run_beside_what_is_printed(folder: Path) -> None:
    outputs = [f"--output={name}" for name in ("a.sarif", "b.xml", "gitlab:c.json", "d.md")]
    done = run("lint", "faulty.json", "--format", "json", *outputs, "--report", "run.json", cwd=folder)
    document_of(done, "lint")
    assert json.loads(_text(folder, "a.sarif"))["version"] == "2.1.0"
    assert ElementTree.parse(folder / "b.xml").getroot().tag == "testsuites"  # noqa: S314 (ours)
    assert json.loads(_text(folder, "c.json"))[0]["fingerprint"]
    assert _text(folder, "d.md").startswith("<!-- mcproof -->")
    validator("run").validate(json.loads(_text(folder, "run.json")))


def test_a_file_has_no_colour_whatever_the_terminal_has(folder: Path) -> None:
    done = run("lint", "faulty.json", "--output", "a.txt", cwd=folder, env={"FORCE_COLOR": "1"})
    assert "\x1b[" in done.stdout
    assert "\x1b[" not in _text(folder, "a.txt")


def test_an_existing_file_is_replaced_and_keeps_its_permissions(folder: Path) -> None:
    old = folder / "a.json"
    old.write_text("x" * 100_000)
    old.chmod(0o640)
    run("lint", "faulty.json", "--output", "a.json", cwd=folder)
    validator("lint").validate(json.loads(_text(folder, "a.json")))
    assert old.stat().st_mode & 0o777 == 0o640


def test_no_line_of_a_file_is_a_command_to_a_runner_that_prints_it(folder: Path) -> None:
    write(folder / "hostile.json", [{"name": "##[error]x"}])
    run("lint", "hostile.json", *(f"--output={each}:{each}.out" for each in FORMATS), cwd=folder)
    for each in FORMATS:
        assert "##[" not in _text(folder, f"{each}.out"), each


# --- what makes no sense ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report.bin"], "unknown extension"),
        (["report"], "FORMAT:report"),
        (["sarf:report"], "did you mean `sarif`?"),
        (["json:"], "names no file"),
        (["a.json", "./a.json"], "same file"),
        (["a.json", "sarif:a.json"], "same file"),
        (["missing/a.json"], "no folder `missing`"),
        (["json:inner"], "is a folder"),
        (["json:faulty.json"], "is what is read"),
        (["./faulty.json"], "is what is read"),
        (["link.json"], "is what is read"),
    ],
    ids=str,
)
def test_an_output_that_makes_no_sense_is_refused_before_anything_is_done(
    folder: Path, words: list[str], said: str
) -> None:
    (folder / "inner").mkdir()
    (folder / "link.json").symlink_to("faulty.json")
    before = _text(folder, "faulty.json")
    outputs = [f"--output={word}" for word in words]
    for arguments in (["lint", "faulty.json"], ["grade", "faulty.json"], ["diff", "clean.json", "faulty.json"]):
        assert said in fails(*arguments, *outputs, cwd=folder)
        assert said in error_of(*arguments, *outputs, "--format", "json", cwd=folder)["message"]
    assert _text(folder, "faulty.json") == before
    assert sorted(os.listdir(folder)) == ["clean.json", "faulty.json", "inner", "link.json"]


def test_the_report_is_refused_like_any_other_output(folder: Path) -> None:
    assert "same file" in fails("lint", "faulty.json", "--output", "a.json", "--report", "a.json", cwd=folder)
    assert "no folder" in fails("lint", "faulty.json", "--report", "missing/a.json", cwd=folder)
    assert "is what is read" in fails("lint", "clean.json", "faulty.json", "--report", "faulty.json", cwd=folder)
    run("lint", "faulty.json", "--report", "run.json", cwd=folder)
    assert "is what is read" in fails("report", "run.json", "--output", "run.json", cwd=folder)


# --- writing ------------------------------------------------------------------------------------------------------


def _readable(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if name not in ("clean.json", "faulty.json")}


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_read_only_file_is_left_alone(folder: Path, format: str) -> None:
    target = folder / "a.sarif"
    target.write_text("precious")
    target.chmod(0o444)
    done = run("lint", "faulty.json", "--format", format, "--output", "a.sarif", cwd=folder)
    assert done.returncode == 2
    assert _text(folder, "a.sarif") == "precious"
    assert _readable(folder) == {"a.sarif"}
    if format == "json":
        # One document, which says what went wrong, and not the findings before it.
        assert "read-only" in document_of(done, "error")["error"]["message"]
        assert done.stderr == ""
    else:
        assert done.stderr == "mcproof: a.sarif: is read-only; nothing was written\n"


_NO_REPLACE = """\
import os, sys
def fail(*_):
    raise OSError(28, "No space left on device")
os.replace = fail
from mcproof.cli.main import run
run()
"""


@pytest.mark.parametrize("exists", [True, False])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(folder: Path, exists: bool) -> None:
    if exists:
        (folder / "a.json").write_text("precious")
    done = subprocess.run(
        [sys.executable, "-c", _NO_REPLACE, "lint", "faulty.json", "--output", "a.json"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "mcproof: a.json: cannot be written: no space left on device\n"
    assert _readable(folder) == ({"a.json"} if exists else set())
    if exists:
        assert _text(folder, "a.json") == "precious"


posix = pytest.mark.skipif(sys.platform == "win32", reason="devices and pipes of POSIX")


@posix
def test_standard_output_can_be_named_as_a_file(folder: Path) -> None:
    printed = run("lint", "faulty.json", "--format", "concise", cwd=folder).stdout
    document = run("lint", "faulty.json", "--format", "json", cwd=folder).stdout
    arguments = ("lint", "faulty.json", "--format", "concise", "--output", "json:/dev/stdout")
    assert run_process(*arguments, cwd=folder).stdout == printed + document
    with open(folder / "out", "wb") as stream:
        subprocess.run(
            [*COMMAND, *arguments], cwd=folder, env=environment(), stdout=stream, timeout=TIMEOUT, check=False
        )
    assert _text(folder, "out") == printed + document


@posix
def test_a_device_and_a_named_pipe_are_written_to_and_not_replaced(folder: Path) -> None:
    assert run("lint", "clean.json", "--output", "json:/dev/null", cwd=folder).returncode == 0
    assert not os.path.isfile("/dev/null")
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    done = run("lint", "faulty.json", "--output", "json:pipe", cwd=folder)
    reader.join(TIMEOUT)
    assert done.returncode == 1
    validator("lint").validate(json.loads(got[0]))
    assert pipe.is_fifo()


# --- however the run ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("lint", "clean.json"), 0),
        (("lint", "faulty.json"), 1),
        (("lint", "missing.json"), 2),
        (("lint", "clean.json", "missing.json"), 2),
        (("grade", "missing.json"), 2),
        (("diff", "clean.json", "clean.json"), 0),
        (("diff", "faulty.json", "clean.json"), 1),
        (("diff", "clean.json", "missing.json"), 2),
        (("diff", "missing.json", "clean.json"), 2),
    ],
    ids=str,
)
def test_outputs_are_written_whatever_the_exit_code(folder: Path, arguments: tuple[str, ...], code: int) -> None:
    printed = run(*arguments, "--format", "sarif", cwd=folder).stdout
    done = run(*arguments, "--output", "a.sarif", "--report", "run.json", cwd=folder)
    assert done.returncode == code
    assert _text(folder, "a.sarif") == printed
    report = json.loads(_text(folder, "run.json"))
    validator("run").validate(report)
    assert report["exit_code"] == code


_WITH_SIGINT = """\
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from mcproof.cli.main import run
run()
"""


@posix
def test_what_was_found_before_an_interrupt_is_written(folder: Path) -> None:
    outputs = ("--output", "a.json", "--output", "a.sarif", "--output", "a.md", "--report", "run.json")
    process = subprocess.Popen(
        [sys.executable, "-c", _WITH_SIGINT, "lint", "faulty.json", "-", "--format", "concise", *outputs],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"[" + b" " * 4_000_000)  # more than a pipe holds: the run is reading by now
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 130
    document = json.loads(_text(folder, "a.json"))
    validator("lint").validate(document)
    assert [entry["target"] for entry in document["targets"]] == ["faulty.json"]
    (invocation,) = json.loads(_text(folder, "a.sarif"))["runs"][0]["invocations"]
    assert invocation == {"executionSuccessful": False, "exitCode": 130}
    assert "# mcproof lint: interrupted" in _text(folder, "a.md")
    report = json.loads(_text(folder, "run.json"))
    validator("run").validate(report)
    assert report["exit_code"] == 130


@pytest.mark.parametrize("word", ["sarfi:x.json", "foo:x.txt", "jsn:report.html"])
def test_a_misspelt_format_is_not_taken_for_a_part_of_the_name(folder: Path, word: str) -> None:
    before = sorted(os.listdir(folder))
    assert f"unknown format `{word.partition(':')[0]}`" in fails("lint", "clean.json", "--output", word, cwd=folder)
    assert sorted(os.listdir(folder)) == before


def test_a_page_of_a_huge_catalog_is_capped_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcproof.report.html.page.MOST", 5)
    write(tmp_path / "one.json", [{**FAULTY_TOOL, "name": f"burn_{number}"} for number in range(20)])
    write(tmp_path / "two.json", [FAULTY_TOOL])
    arguments = ("lint", "one.json", "two.json")
    page = run(*arguments, "--format", "html", cwd=tmp_path).stdout
    assert page.count('<li class="finding') == 5
    left_out = re.findall(r"(\d+) more findings? left out: a page shows 5", page)
    monkeypatch.undo()
    whole = run(*arguments, "--format", "html", cwd=tmp_path).stdout
    assert "left out" not in whole
    assert sum(map(int, left_out)) == whole.count('<li class="finding') - 5
    assert len(left_out) == 2
