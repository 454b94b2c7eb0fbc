"""What people and machines see, compared with files that a person has read.

`MCPROOF_UPDATE_GOLDEN=1 pytest tests/report` writes the files anew; read the difference before you keep it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

import pytest

from cli.running import run_bytes, run_process_bytes

from .snapshots import GRADED, SNAPSHOTS

if TYPE_CHECKING:
    import subprocess

GOLDEN = Path(__file__).parent / "golden"
CHECKED = "catalog,strict,grade,tool_input_schemas_well_formed"
"""Rules of every level, few enough to read."""


def printed(*args: str, cwd: Path, encoding: str = "utf-8", **variables: str) -> str:
    """What a run prints on standard output, read in the encoding that it was asked to print in."""
    return _shown(run_bytes(*args, cwd=cwd, encoding=encoding, env=variables), encoding)


def _shown(done: subprocess.CompletedProcess[bytes], encoding: str) -> str:
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == b""
    return done.stdout.decode(encoding)


def compare(text: str, name: str) -> None:
    """Compare with a golden file, or write it where that is asked for."""
    path = GOLDEN / name
    if os.environ.get("MCPROOF_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    assert text == path.read_bytes().decode()


def save(folder: Path, name: str, text: str) -> str:
    (folder / name).write_bytes(text.encode())
    return name


@pytest.mark.parametrize("format", ["text", "concise", "json"])
@pytest.mark.parametrize("snapshot", list(SNAPSHOTS))
def test_findings_are_printed_as_in_the_golden_file(tmp_path: Path, snapshot: str, format: str) -> None:
    name = save(tmp_path, f"{snapshot}.json", SNAPSHOTS[snapshot])
    text = printed("lint", name, "--select", CHECKED, "--format", format, cwd=tmp_path)
    compare(text, f"{snapshot}.{format}.{'json' if format == 'json' else 'txt'}")


@pytest.mark.parametrize(("encoding", "golden"), [("utf-8", "wide.text.txt"), ("ascii", "wide.ascii.txt")])
def test_a_process_prints_what_is_in_the_golden_file(tmp_path: Path, encoding: str, golden: str) -> None:
    name = save(tmp_path, "wide.json", SNAPSHOTS["wide"])
    done = run_process_bytes("lint", name, "--select", CHECKED, cwd=tmp_path, env={"PYTHONIOENCODING": encoding})
    compare(_shown(done, encoding), golden)


@pytest.mark.parametrize("snapshot", ["mixed", "wide"])
def test_findings_are_printed_in_ascii_as_in_the_golden_file(tmp_path: Path, snapshot: str) -> None:
    name = save(tmp_path, f"{snapshot}.json", SNAPSHOTS[snapshot])
    text = printed("lint", name, "--select", CHECKED, cwd=tmp_path, encoding="ascii")
    compare(text, f"{snapshot}.ascii.txt")


@pytest.mark.parametrize("snapshot", list(SNAPSHOTS))
def test_findings_in_a_narrow_terminal_are_as_in_the_golden_file(tmp_path: Path, snapshot: str) -> None:
    name = save(tmp_path, f"{snapshot}.json", SNAPSHOTS[snapshot])
    text = printed("lint", name, "--select", CHECKED, cwd=tmp_path, COLUMNS="60")
    compare(text, f"{snapshot}.narrow.txt")
    assert max(map(_width, text.splitlines())) <= 60


@pytest.mark.parametrize("grade", list(GRADED))
def test_the_grade_card_in_a_narrow_terminal_is_as_in_the_golden_file(tmp_path: Path, grade: str) -> None:
    name = save(tmp_path, f"grade-{grade}.json", json.dumps(GRADED[grade], ensure_ascii=False))
    text = printed("grade", name, "--min-grade", "B", "--max-tokens", "500", cwd=tmp_path, COLUMNS="60")
    compare(text, f"grade-{grade}.narrow.txt")
    assert max(map(_width, text.splitlines())) <= 60


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("grade", list(GRADED))
def test_the_grade_card_is_as_in_the_golden_file(tmp_path: Path, grade: str, encoding: str) -> None:
    name = save(tmp_path, f"grade-{grade}.json", json.dumps(GRADED[grade], ensure_ascii=False))
    text = printed("grade", name, "--min-grade", "B", "--max-tokens", "500", cwd=tmp_path, encoding=encoding)
    if grade in "acf":
        assert f"grade {grade.upper()}" in text
    compare(text, f"grade-{grade}{'.ascii' if encoding == 'ascii' else ''}.txt")


def test_a_list_of_grades_is_as_in_the_golden_file(tmp_path: Path) -> None:
    for grade, value in GRADED.items():
        save(tmp_path, f"grade-{grade}.json", json.dumps(value))
    compare(printed("grade", ".", "--min-grade", "B", cwd=tmp_path), "grade-list.txt")


# --- what must hold of a frame, whatever the golden files say -----------------------------------------------------


def _width(text: str) -> int:
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def _columns(text: str, first: int, end: int) -> str:
    """What stands in these columns of a terminal."""
    picked, at = "", 0
    for each in text:
        if first <= at < end or (first < at <= end and combining(each)):
            picked += each
        at += _width(each)
    return picked


_FRAME = re.compile(r"^ *--> [^\n]*?:(\d+):(\d+)[^\n]*\n *\|\n *\d+ (\|[^\n]*)\n *(\|[^\n]*\^[^\n]*)$", re.MULTILINE)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("snapshot", list(SNAPSHOTS))
def test_the_carets_stand_under_what_the_place_names(tmp_path: Path, snapshot: str, encoding: str) -> None:
    source = SNAPSHOTS[snapshot]
    text = printed(
        "lint",
        save(tmp_path, "x.json", source),
        "--select",
        CHECKED,
        cwd=tmp_path,
        encoding=encoding,
    )
    if encoding == "ascii":
        source = source.encode("ascii", "backslashreplace").decode()
    frames = _FRAME.findall(text)
    assert len(frames) == text.count("-->")
    for line, column, shown, carets in frames:
        underlined = _columns(shown, carets.index("^"), len(carets))
        there = source.split("\n")[int(line) - 1].rstrip("\r").replace("\t", "    ")
        assert underlined[0] in '"{n', (line, column)
        assert underlined[-1] in '"}l{]', (line, column)
        assert underlined in there
        if encoding == "utf-8":
            before = SNAPSHOTS[snapshot].split("\n")[int(line) - 1][: int(column) - 1].replace("\t", "    ")
            assert there[len(before) :].startswith(underlined), (line, column)


@pytest.mark.parametrize("snapshot", list(SNAPSHOTS))
def test_no_line_of_a_frame_is_much_wider_than_a_page(tmp_path: Path, snapshot: str) -> None:
    text = printed("lint", save(tmp_path, "x.json", SNAPSHOTS[snapshot]), "--select", CHECKED, cwd=tmp_path)
    excerpts = [line for line in text.splitlines() if re.match(r" *\d* \|", line)]
    assert excerpts
    assert max(map(_width, excerpts)) <= 125


def test_what_is_printed_for_people_has_no_blank_at_the_end_of_a_line(tmp_path: Path) -> None:
    for snapshot, source in SNAPSHOTS.items():
        name = save(tmp_path, f"{snapshot}.json", source)
        for arguments in (["lint", "--select", CHECKED], ["grade"]):
            for line in printed(*arguments, name, cwd=tmp_path).splitlines():
                assert line == line.rstrip()


def test_ascii_output_is_ascii_and_says_as_much(tmp_path: Path) -> None:
    name = save(tmp_path, "mixed.json", SNAPSHOTS["mixed"])
    for arguments in (["lint", "--select", CHECKED], ["grade"]):
        plain = printed(*arguments, name, cwd=tmp_path, encoding="ascii")
        assert len(plain.splitlines()) == len(printed(*arguments, name, cwd=tmp_path).splitlines())
        assert "\\u" not in plain


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("grade", ["a", "c", "f"])
def test_the_bars_and_numbers_of_the_tools_stand_below_each_other(tmp_path: Path, grade: str, encoding: str) -> None:
    name = save(tmp_path, "x.json", json.dumps(GRADED[grade], ensure_ascii=False))
    text = printed("grade", name, cwd=tmp_path, encoding=encoding)
    block = "█" if encoding == "utf-8" else "#"
    bars = [line for line in text.split("Context cost")[1].splitlines() if f" {block}" in line]
    assert bars
    assert len({_width(line[: line.index(f" {block}")]) for line in bars}) == 1
    assert len({_width(line) for line in bars}) == 1


def test_text_counts_what_documents_count(tmp_path: Path) -> None:
    """Where two rules report one fault it is shown once, and both findings count, as in JSON and in the store."""
    file = save(tmp_path, "x.json", SNAPSHOTS["mixed"])
    text = printed("lint", file, "--select", CHECKED, cwd=tmp_path)
    counted = re.search(r"^(\d+) errors, (\d+) warnings, (\d+) notes? in ", text, re.MULTILINE)
    assert counted is not None
    summary = json.loads(printed("lint", file, "--select", CHECKED, "--format", "json", cwd=tmp_path))["summary"]
    assert [int(number) for number in counted.groups()] == [summary[key] for key in ("errors", "warnings", "notes")]
