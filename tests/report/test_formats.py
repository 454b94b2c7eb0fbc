"""Every format, over runs that have everything a report can have, as files that a person has read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcproof import __version__
from mcproof.cli.main import main
from mcproof.runs.records import listed

from .runs import FORMATS, RUNS, folder
from .test_golden import compare

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

EXTENSIONS = {
    "text": "txt",
    "concise": "concise.txt",
    "gitlab": "gitlab.json",
    "github": "github.txt",
    "junit": "junit.xml",
    "markdown": "md",
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_printed_as_in_the_golden_file(
    folder: Path, name: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    arguments, code = RUNS[name]
    assert main([*arguments, "--format", format]) == code
    printed = capsys.readouterr()
    if name in ("missing", "refused") and format in ("text", "concise"):
        assert printed.out == ""
        assert len(printed.err.splitlines()) == 1
        return
    text = printed.out.replace(f'"{__version__}"', '"VERSION"')
    compare(text, f"formats/{name}.{EXTENSIONS.get(format, format)}")


@pytest.mark.parametrize("name", RUNS)
def test_only_what_people_have_to_do_is_told_beside_the_report(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Notices go to standard error, in every format the same; and nothing else does where a machine reads."""
    told = {}
    for each in FORMATS:
        capsys.readouterr()
        main([*RUNS[name].arguments, "--format", each])
        told[each] = capsys.readouterr().err
    machines = {told[each] for each in FORMATS if each not in ("text", "concise")}
    assert len(machines) == 1
    expected = {"lint": ["broken.json", "stale"], "grade": ["stale", "unused"]}.get(name, [])
    assert len(machines.pop().splitlines()) == len(expected)
    for word in expected:
        assert word in told["sarif"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", RUNS)
def test_two_runs_print_the_same_bytes(
    folder: Path, name: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    printed = []
    for _ in range(2):
        main([*RUNS[name].arguments, "--format", format])
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1]


def test_a_comparison_without_a_change_names_both_catalogs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "same.json").write_bytes((folder / "old.json").read_bytes())
    capsys.readouterr()

    assert main(["diff", "old.json", "same.json"]) == 0

    shown = capsys.readouterr().out
    assert shown.endswith("no changes from old.json to same.json\n✓ passed: no changes (gate: breaking changes)\n")


@pytest.mark.parametrize("entries", [0, 1, 256, 257, 600])
def test_lists_of_any_length_have_one_entry_a_line(entries: int) -> None:
    lines = [f'"##{number}"' for number in range(entries)]
    text = "".join(listed("findings", lines))
    assert json.loads(f"{{{text}}}") == {"findings": [f"##{number}" for number in range(entries)]}
    assert len(text.splitlines()) == (entries + 2 if entries else 1)
    assert "##" not in text
