"""`mcproof completion`: the scripts work in the shells that they are for."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from mcproof.checks.rule import RULESETS, all_rules
from mcproof.cli.main import COMMANDS
from mcproof.report.formats import FORMATS

from .running import TIMEOUT, environment, fails, run

if TYPE_CHECKING:
    from pathlib import Path


def _shell(name: str) -> str:
    """A shell, or else the test is skipped, unless somebody insists that it is there."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("MCPROOF_REQUIRE_SHELLS"):
            pytest.fail(f"{name} is not installed, and MCPROOF_REQUIRE_SHELLS is set")
        pytest.skip(f"{name} is not installed")
    return found


def _script(shell: str) -> str:
    done = run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _output(*words: str, cwd: Path) -> str:
    done = subprocess.run(
        words,
        cwd=cwd,
        env=environment(HOME=str(cwd), XDG_CONFIG_HOME=str(cwd), XDG_DATA_HOME=str(cwd)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


# --- bash ---------------------------------------------------------------------------------------------------------

_ASK_BASH = """\
source ./script
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_mcproof
printf '%s\\n' "${COMPREPLY[@]}"
"""


def _bash(cwd: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    (cwd / "script").write_text(_script("bash"))
    return _output(_shell("bash"), "--norc", "-c", _ASK_BASH, "bash", *words, cwd=cwd).split()


def test_bash_offers_every_command(tmp_path: Path) -> None:
    assert _bash(tmp_path, "mcproof", "") == [*COMMANDS, "--help", "--version"]
    assert _bash(tmp_path, "mcproof", "sch") == ["schema-lint"]


def test_bash_offers_the_options_of_the_command_and_no_others(tmp_path: Path) -> None:
    options = _bash(tmp_path, "mcproof", "grade", "--")
    assert "--min-grade" in options
    assert "--ruleset" not in options
    assert _bash(tmp_path, "mcproof", "schema-lint", "--keep") == ["--keep-optional"]


def test_bash_offers_values_where_they_are_a_closed_list(tmp_path: Path) -> None:
    assert _bash(tmp_path, "mcproof", "lint", "--format", "") == list(FORMATS)
    assert _bash(tmp_path, "mcproof", "lint", "--fail-on", "n") == ["note", "never"]
    assert _bash(tmp_path, "mcproof", "lint", "x.json", "--select", "SCH-") == [
        "SCH-001",
        "SCH-002",
        "SCH-003",
        "SCH-004",
    ]
    assert _bash(tmp_path, "mcproof", "lint", "--ruleset", "") == [*RULESETS, "all"]
    assert set(_bash(tmp_path, "mcproof", "explain", "")) >= {rule.id for rule in all_rules()}
    assert _bash(tmp_path, "mcproof", "completion", "") == ["bash", "zsh", "fish"]
    assert _bash(tmp_path, "mcproof", "completion", "-") == ["-h", "--help"]


def test_bash_leaves_files_to_itself(tmp_path: Path) -> None:
    """Where a file is asked for nothing is offered, and `-o default` makes bash complete files."""
    (tmp_path / "tools.json").write_text("[]")
    assert _bash(tmp_path, "mcproof", "lint", "too") == []
    assert _bash(tmp_path, "mcproof", "lint", "--report", "") == []
    assert "complete -o default -F _mcproof mcproof" in _script("bash")


def test_the_bash_script_parses_and_can_be_read_by_eval(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(_script("bash"))
    bash = _shell("bash")
    _output(bash, "-n", "script", cwd=tmp_path)
    told = _output(bash, "--norc", "-c", 'eval "$(cat script)"; complete -p mcproof', cwd=tmp_path)
    assert told == "complete -o default -F _mcproof mcproof\n"


# --- zsh and fish -------------------------------------------------------------------------------------------------


def test_the_zsh_script_parses(tmp_path: Path) -> None:
    (tmp_path / "_mcproof").write_text(_script("zsh"))
    _output(_shell("zsh"), "-f", "-n", "_mcproof", cwd=tmp_path)


_ASK_ZSH = """\
fpath=($PWD $fpath)
autoload -Uz compinit
compinit -u -d $PWD/dump
print -r -- ${_comps[mcproof]}
# What the script hands to zsh, in the place of zsh.
_describe() { print -rl -- ${(P)2} }
_arguments() { print -rl -- "$@" }
autoload -Uz +X _mcproof
words=(mcproof "$@"); CURRENT=$(( $# + 1 ))
_mcproof
"""


def _zsh(cwd: Path, *words: str) -> list[str]:
    (cwd / "_mcproof").write_text(_script("zsh"))
    return _output(_shell("zsh"), "-f", "-c", _ASK_ZSH, "zsh", *words, cwd=cwd).splitlines()


def test_zsh_is_told_of_every_command_and_its_options(tmp_path: Path) -> None:
    completer, *commands = _zsh(tmp_path, "")
    assert completer == "_mcproof"
    assert [line.partition(":")[0] for line in commands] == list(COMMANDS)
    _, *specs = _zsh(tmp_path, "grade", "")
    assert any(spec.startswith("--min-grade[") for spec in specs)
    assert any(spec.startswith("--format[") and f"({' '.join(FORMATS)})" in spec for spec in specs)
    assert any(spec.startswith("*--output[") for spec in specs)


def test_the_fish_script_parses(tmp_path: Path) -> None:
    (tmp_path / "mcproof.fish").write_text(_script("fish"))
    _output(_shell("fish"), "--no-execute", "mcproof.fish", cwd=tmp_path)


def _fish(cwd: Path, line: str) -> list[str]:
    """What fish offers at the end of a line."""
    (cwd / "mcproof.fish").write_text(_script("fish"))
    asked = f"source mcproof.fish; complete -C '{line}'"
    output = _output(_shell("fish"), "--no-config", "-c", asked, cwd=cwd)
    return [each.partition("\t")[0] for each in output.splitlines()]


def test_fish_offers_commands_options_and_values(tmp_path: Path) -> None:
    assert set(_fish(tmp_path, "mcproof ")) >= set(COMMANDS)
    assert "--min-grade" in _fish(tmp_path, "mcproof grade --min")
    assert "--ruleset" not in _fish(tmp_path, "mcproof grade --")
    assert set(_fish(tmp_path, "mcproof lint --format ")) == set(FORMATS)
    (tmp_path / "tools.json").write_text("[]")
    assert "tools.json" in _fish(tmp_path, "mcproof lint too")


# --- the command --------------------------------------------------------------------------------------------------


def test_a_shell_that_is_not_known_is_refused() -> None:
    assert "powershell" in fails("completion", "powershell")
