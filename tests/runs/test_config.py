"""The configuration: where it is found, what it says, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from mcproof.checks.findings import _LEVEL_OF
from mcproof.checks.ignores import KINDS, IgnoreFor
from mcproof.checks.rule import RULESETS, all_rules, rules_of
from mcproof.checks.scores.grade import LETTERS
from mcproof.cli import options
from mcproof.core.catalog.model import Item, Prompt, Resource, ResourceTemplate, Server, Tool
from mcproof.core.errors import ConfigError, SettingLocation
from mcproof.runs.config import (
    DEFAULTS,
    Settings,
    SettingsFinder,
    directory_of,
    read_settings,
    settings_for,
)
from mcproof.runs.config_keys import KEYS
from mcproof.targets.client_config import ConfiguredServer
from modules import existing

EVERYTHING = """\
rulesets = ["grade", "trust", "catalog"]
select = ["SCH-001", "grade"]
ignore = ["tool-short-description"]
fail-on = "warning"
min-grade = "b"
max-tokens = 4000
baseline = "mcproof-baseline.json"

[severity]
"SCH-002" = "error"

[[ignore-for]]
tool = "legacy_*"
rules = ["SCH-001", "SCH-002"]
reason = "frozen until v3"

[[ignore-for]]
rules = ["trust"]

[targets]
weather = "catalogs/weather.json"
live = "https://weather.example/mcp"
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str | bytes, name: str = "mcproof.toml") -> Settings:
    data = text.encode() if isinstance(text, str) else text
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(data)
    return read_settings(name)


def refusal(text: str | bytes, name: str = "mcproof.toml") -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        read(text, name)
    return refused.value


# --- what it says -------------------------------------------------------------------------------------------------


def test_every_key_is_read() -> None:
    assert read(EVERYTHING) == Settings(
        rulesets=("grade", "trust", "catalog"),
        select=("SCH-001", "grade"),
        ignore=("tool-short-description",),
        fail_on="warning",
        min_grade="B",
        max_tokens=4000,
        baseline="mcproof-baseline.json",
        severity={"SCH-002": "error"},
        ignores=(
            IgnoreFor(
                "tool",
                "legacy_*",
                frozenset({"SCH-001", "SCH-002"}),
                ("SCH-001", "SCH-002"),
                "frozen until v3",
                SettingLocation("mcproof.toml", 12),
            ),
            IgnoreFor(
                None,
                "*",
                frozenset(rule.id for rule in rules_of("trust")),
                ("trust",),
                None,
                SettingLocation("mcproof.toml", 17),
            ),
        ),
        targets={
            "weather": "catalogs/weather.json",
            "live": ConfiguredServer("live", {"url": "https://weather.example/mcp"}, "mcproof.toml", 22),
        },
        file="mcproof.toml",
        locations={
            "rulesets": SettingLocation("mcproof.toml", 1),
            "select": SettingLocation("mcproof.toml", 2),
            "ignore": SettingLocation("mcproof.toml", 3),
            "fail-on": SettingLocation("mcproof.toml", 4),
            "min-grade": SettingLocation("mcproof.toml", 5),
            "max-tokens": SettingLocation("mcproof.toml", 6),
            "baseline": SettingLocation("mcproof.toml", 7),
            "severity": SettingLocation("mcproof.toml", 9),
            "severity.SCH-002": SettingLocation("mcproof.toml", 10),
            "ignore-for": SettingLocation("mcproof.toml", 12),
            "targets": SettingLocation("mcproof.toml", 20),
            "targets.weather": SettingLocation("mcproof.toml", 21),
            "targets.live": SettingLocation("mcproof.toml", 22),
        },
    )


def test_a_pyproject_says_the_same_under_its_table() -> None:
    text = re.sub(r"^(\[+)", r"\1tool.mcproof.", EVERYTHING, flags=re.MULTILINE)
    shared = read(f"[project]\nname = 'x'\n[tool.mcproof]\n{text}", "pyproject.toml")
    own = read(EVERYTHING)
    assert shared.locations == {
        key: SettingLocation("pyproject.toml", place.line + 3) for key, place in own.locations.items()
    }
    moved = [
        ignore._replace(location=SettingLocation("pyproject.toml", ignore.location.line + 3)) for ignore in own.ignores
    ]
    live = own.targets["live"]
    assert isinstance(live, ConfiguredServer)
    targets = {**own.targets, "live": live._replace(file="pyproject.toml", line=live.line + 3)}
    assert shared == own._replace(
        file="pyproject.toml", ignores=tuple(moved), locations=shared.locations, targets=targets
    )


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "\ufeff"])
def test_an_empty_file_sets_nothing_and_is_still_the_configuration(text: str) -> None:
    assert read(text) == DEFAULTS._replace(file="mcproof.toml")


def test_a_byte_order_mark_moves_no_column() -> None:
    assert read("\ufefffail-on = 'note'").fail_on == "note"
    error = refusal("\ufefffail = 'note'")
    assert (error.line, error.column) == (1, 1)


def test_all_rulesets_have_a_word_of_their_own() -> None:
    assert read('rulesets = "all"').rulesets == ("all",)
    assert read('rulesets = ["all"]').rulesets == ("all",)


def test_paths_are_relative_to_the_configuration_and_usable_from_the_working_directory(here: Path) -> None:
    text = 'baseline = "b.json"\n[targets]\nx = "../c.json"\ny = "/d.json"\nz = "-"\n'
    below = read(text, "sub/mcproof.toml")
    assert below.file == os.path.join("sub", "mcproof.toml")
    assert below.baseline == os.path.join("sub", "b.json")
    assert below.targets == {
        "x": os.path.join("sub", "../c.json"),
        "y": "/d.json",
        "z": os.path.join("sub", "-"),
    }
    Path("deeper").mkdir()
    os.chdir("deeper")
    above = read(text, "../mcproof.toml")
    assert above.file == str(here / "mcproof.toml")
    assert above.baseline == str(here / "b.json")


def test_a_target_called_dash_is_a_file_and_not_standard_input() -> None:
    assert read('[targets]\nz = "-"').targets == {"z": os.path.join(".", "-")}


def test_a_rule_beats_its_ruleset_whatever_the_order() -> None:
    trust = rules_of("trust")[0].id
    for text in (f"trust = 'note'\n{trust} = 'high'", f"{trust} = 'high'\ntrust = 'note'"):
        settings = read(f"[severity]\nall = 'low'\n{text}\nstrict = 'medium'")
        assert settings.severity[trust] == "high"
        assert {settings.severity[rule.id] for rule in rules_of("strict")} == {"medium"}
        assert {settings.severity[rule.id] for rule in rules_of("grade", "catalog")} == {"low"}
        assert settings.locations[f"severity.{trust}"].line == text.split("\n").index(f"{trust} = 'high'") + 3


def test_rules_are_known_by_id_and_name_in_any_case() -> None:
    for rule in all_rules():
        for word in (rule.id, rule.name, rule.id.upper(), rule.name.lower()):
            assert read(f"[severity]\n'{word}' = 'note'").severity == {rule.id: "note"}
    ignores = read("[[ignore-for]]\nrules = ['sch-001', 'GRADE']").ignores
    assert ignores[0].rules == {"SCH-001", *(rule.id for rule in rules_of("grade"))}
    assert ignores[0].named == ("sch-001", "GRADE")


# --- ignore-for ---------------------------------------------------------------------------------------------------

ITEMS: list[Item] = [
    Server({}, ""),
    Tool({"name": "old_a"}, ""),
    Tool({"name": "Old_b"}, ""),
    Tool({}, "", 3),
    Prompt({"name": "old_a"}, ""),
    Resource({"uri": "old_a://x"}, ""),
    ResourceTemplate({"uriTemplate": "old_a://{x}"}, ""),
]


@pytest.mark.parametrize(
    ("which", "matched"),
    [
        ("", [item.subject for item in ITEMS]),
        ("tool = 'old_*'", ["tool:old_a"]),
        ("tool = '*'", ["tool:old_a", "tool:Old_b", "tool:tools[3]"]),
        ("tool = '[oO]ld_?'", ["tool:old_a", "tool:Old_b"]),
        ("tool = 'tools[3]'", ["tool:tools[3]"]),
        ("tool = 'old'", []),
        ("prompt = 'old_a'", ["prompt:old_a"]),
        ("resource = 'old_a://*'", ["resource:old_a://x"]),
        ("template = '*'", ["template:old_a://{x}"]),
    ],
)
def test_an_entry_matches_items_of_its_kind_by_name(which: str, matched: list[str]) -> None:
    [ignore] = read(f"[[ignore-for]]\n{which}\nrules = ['SCH-001']").ignores
    assert [item.subject for item in ITEMS if ignore.matches("SCH-001", item)] == matched
    assert not any(ignore.matches("SCH-002", item) for item in ITEMS)


def test_a_pattern_of_many_stars_does_not_take_for_ever() -> None:
    [ignore] = read(f"[[ignore-for]]\ntool = '{'*a' * 200}b'\nrules = ['SCH-001']").ignores
    assert not ignore.matches("SCH-001", Tool({"name": "a" * 10_000}, ""))


# --- where it is found --------------------------------------------------------------------------------------------


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def test_the_nearest_configuration_above_holds(here: Path) -> None:
    write("mcproof.toml", "max-tokens = 1")
    write("a/b/mcproof.toml", "max-tokens = 2")
    Path("a/b/c").mkdir()
    found = {name: settings_for(name).max_tokens for name in (".", "a", "a/b", "a/b/c", "a/missing/x", str(here))}
    assert found == {".": 1, "a": 1, "a/b": 2, "a/b/c": 2, "a/missing/x": 1, str(here): 1}


def test_without_a_configuration_the_defaults_hold() -> None:
    assert settings_for(".") is DEFAULTS


def test_in_one_directory_mcproof_toml_wins() -> None:
    write("mcproof.toml", "max-tokens = 1")
    write("pyproject.toml", "[tool.mcproof]\nmax-tokens = 2")
    assert settings_for(".").file == "mcproof.toml"


@pytest.mark.parametrize(
    "text",
    [
        "[project]\nname = 'x'",
        "[project]\ndependencies = ['mcproof']",
        "tool = 'mcproof'",
        "[tool.other]\nname = 'mcproof'",
        "this is not TOML at all",
    ],
)
def test_a_pyproject_without_the_table_is_passed_over(text: str) -> None:
    write("mcproof.toml", "max-tokens = 1")
    write("sub/pyproject.toml", text)
    assert settings_for("sub").max_tokens == 1


def test_a_pyproject_with_the_table_ends_the_search() -> None:
    write("mcproof.toml", "max-tokens = 1")
    write("sub/pyproject.toml", "[tool.mcproof]\n")
    assert settings_for("sub") == DEFAULTS._replace(file=os.path.join("sub", "pyproject.toml"))


@pytest.mark.parametrize(
    "text",
    [
        "[project]\nname = 'x'\n\n[tool.mcproof]\nmax-tokens = 2",
        "  [ tool . mcproof ]\nmax-tokens = 2",
        "[tool.'mcproof']\nmax-tokens = 2",
        '["tool"."mcproof"]\nmax-tokens = 2',
        "[tool]\nmcproof . max-tokens = 2",
        "[ 'tool' ]\nmcproof = {max-tokens = 2}",
        "tool.mcproof.max-tokens = 2",
        "tool = {mcproof = {max-tokens = 2}}",
        '"tool" = {mcproof = {max-tokens = 2}}',
        '["to\\u006fl".mcproof]\nmax-tokens = 2',
    ],
)
def test_the_table_is_found_however_it_is_written(text: str) -> None:
    write("pyproject.toml", text)
    assert settings_for(".").max_tokens == 2


def test_a_configuration_is_read_once_a_run() -> None:
    write("mcproof.toml", "max-tokens = 1")
    Path("a/b").mkdir(parents=True)
    finder = SettingsFinder()
    first = finder.settings_for("a/b")
    Path("mcproof.toml").write_text("nonsense")
    for name in ("a/b", "a", ".", "c"):
        assert finder.settings_for(name) is first


def test_a_folder_called_pyproject_toml_is_passed_over_and_one_called_mcproof_toml_is_not() -> None:
    Path("pyproject.toml").mkdir()
    assert settings_for(".") is DEFAULTS
    Path("a/mcproof.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"^a.mcproof\.toml: cannot be read: it is not a file$"):
        settings_for("a")


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
@pytest.mark.parametrize("make", [os.mkfifo, lambda name: os.symlink("missing", name)], ids=["pipe", "dead link"])
def test_what_is_called_mcproof_toml_and_cannot_be_one_is_refused_at_once(make: Any) -> None:
    make("mcproof.toml")
    with pytest.raises(ConfigError, match="it is not a file"):
        settings_for(".")


@pytest.mark.parametrize("name", ["mcproof.toml", "pyproject.toml"])
def test_a_file_that_may_not_be_read_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(name, "[tool.mcproof]")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ConfigError) as refused:
        settings_for(".")
    assert str(refused.value) == f"{name}: cannot be read: permission denied"


@pytest.mark.skipif(sys.platform == "win32", reason="a directory in use cannot be deleted there")
def test_a_deleted_working_directory_has_no_configuration(here: Path) -> None:
    write("mcproof.toml", "max-tokens = 1")
    Path("gone").mkdir()
    os.chdir("gone")
    Path(here / "gone").rmdir()
    assert settings_for(".") is DEFAULTS
    assert settings_for(str(here)).file == str(here / "mcproof.toml")
    with pytest.raises(ConfigError, match="cannot be read: no such file"):
        read_settings("mcproof.toml")
    os.chdir(here)


@pytest.mark.parametrize(
    ("target", "directory"),
    [
        ("-", "."),
        ("a.json", "."),
        ("sub/a.json", "sub"),
        ("sub", "sub"),
        ("sub/", "sub/"),
        ("missing/a.json", "missing"),
        ("https://example.com/mcp", "."),
        ("http://example.com/mcp", "."),
    ],
)
def test_the_search_starts_where_the_target_is(target: str, directory: str) -> None:
    Path("sub").mkdir()
    assert directory_of(target) == directory


# --- a file that the user names -----------------------------------------------------------------------------------


def test_a_named_file_may_have_any_name() -> None:
    assert read("max-tokens = 1", "strict.toml").max_tokens == 1


def test_a_named_pyproject_needs_the_table() -> None:
    for text in ("[project]\nname = 'x'", "[tool.other]\nx = 'mcproof'"):
        error = refusal(text, "pyproject.toml")
        assert str(error) == "pyproject.toml: no table `[tool.mcproof]`"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.toml", "missing.toml: cannot be read: no such file or directory"),
        (".", "cannot be read: is a directory"),
        ("nul\0l", "cannot be read: no such file"),
    ],
)
def test_a_named_file_that_cannot_be_read_is_told_in_one_line(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_settings(name)
    assert str(refused.value).endswith(message)


def test_a_huge_file_is_refused() -> None:
    assert refusal("#" * 1_000_001).message == "larger than 1 MB"
    assert read("#" * 1_000_000) == DEFAULTS._replace(file="mcproof.toml")


# --- what it refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fail-on = \n", "1:11: not TOML: invalid value"),
        ("# x\nfail_on = 'note'", "2:1: unknown key `fail_on` (did you mean `fail-on`?); there are rulesets, select, "),
        ("xyz = 1", "1:1: unknown key `xyz`; there are rulesets, "),
        ("fail-on = 3", "1:1: `fail-on` is a number; it must be one of error, warning, note, never"),
        ("fail-on = 'warn'", "1:1: `fail-on` cannot be `warn` (did you mean `warning`?); it must be one of error, "),
        ("fail-on = 2020-01-01", "1:1: `fail-on` is a date or time; it must be one of"),
        ("min-grade = 'E'", "1:1: `min-grade` cannot be `E`; it must be one of A, B, C, D, F"),
        ("min-grade = 1.5", "1:1: `min-grade` is a number; it must be one of A, B, C, D, F"),
        ("max-tokens = '4000'", "1:1: `max-tokens` is a string; it must be a whole number"),
        ("max-tokens = true", "1:1: `max-tokens` is a boolean; it must be a whole number"),
        ("max-tokens = 4.0", "1:1: `max-tokens` is a number; it must be a whole number"),
        ("max-tokens = 0", "1:1: `max-tokens` must be 1 or more"),
        (f"max-tokens = 0x{'f' * 9_000}", "1:1: `max-tokens` must be at most 9223372036854775807"),
        ("rulesets = 'grade'", '1:1: `rulesets` is a string; it must be a list of rulesets, or "all"'),
        ("rulesets = []", "1:1: `rulesets` is empty; name at least one, or leave it out"),
        ("rulesets = [\n 'grade',\n 'strickt']", "3:2: unknown ruleset `strickt` (did you mean `strict`?); there are "),
        ("rulesets = ['grade', 5]", "1:22: `rulesets[1]` is a number; it must be a string"),
        ("select = 'SCH-001'", "1:1: `select` is a string; it must be a list of rules and rulesets"),
        ("select = []", "1:1: `select` is empty"),
        (
            "select = ['SCH-01']",
            "1:11: unknown rule `SCH-01` (did you mean `SCH-001`?); `mcproof explain rules` lists ",
        ),
        ("ignore = [' ']", "1:11: `ignore[0]` is blank"),
        ("ignore = ['grade', 'no-such-thing-here']", "1:20: unknown rule `no-such-thing-here`"),
        ("baseline = ''", "1:1: `baseline` is blank; it must be the path of a file"),
        ("baseline = 1", "1:1: `baseline` is a number; it must be the path of a file"),
        ('baseline = "a\\u0000"', "1:1: `baseline` is not a path: it contains a null character"),
        ("severity = 'error'", "1:1: `severity` is a string; it must be a table: `[severity]`"),
        ("[severity]\nSCH-001 = 'bad'", "2:1: `severity.SCH-001` cannot be `bad`; it must be one of error, warning, "),
        ("[severity]\nSCH-001 = 'never'", "2:1: `severity.SCH-001` cannot be `never`"),
        ("[severity]\nSCH-001 = 1", "2:1: `severity.SCH-001` is a number; it must be one of error, warning, note, "),
        ("[severity]\nSCH-9 = 'note'", "2:1: unknown rule `SCH-9`"),
        ("[severity]\nSCH-001 = 'note'\nsch-001 = 'note'", "3:1: `SCH-001` and `sch-001` are the same rule; keep one"),
        ("[ignore-for]\nrules = ['grade']", "1:2: `ignore-for` is a table; it must be a list of tables, each under "),
        ("ignore-for = [1]", "1:15: `ignore-for[0]` is a number; it must be a table, under `[[ignore-for]]`"),
        ("[[ignore-for]]\ntool = 'x'", "1:3: `ignore-for[0]` names no rules; it needs `rules = [...]`"),
        ("[[ignore-for]]\nrules = []", "2:1: `ignore-for[0].rules` is empty"),
        ("[[ignore-for]]\nrules = 'x'", "2:1: `ignore-for[0].rules` is a string; it must be a list of rules"),
        ("[[ignore-for]]\nrules = ['x']", "2:10: unknown rule `x`"),
        ("[[ignore-for]]\nrule = ['x']", "2:1: unknown key `rule` (did you mean `rules`?); there are tool, prompt, "),
        (
            "[[ignore-for]]\ntool = 'x'\nrules = ['grade']\nprompt = 'y'",
            "4:1: `tool` and `prompt` exclude each other; write two entries",
        ),
        ("[[ignore-for]]\nrules = ['grade']\ntool = ['x']", "3:1: `ignore-for[0].tool` is a list; it must be a name"),
        ("[[ignore-for]]\nrules = ['grade']\ntool = ''", "3:1: `ignore-for[0].tool` is blank"),
        (f"[[ignore-for]]\nrules = ['grade']\ntool = '{'x' * 501}'", "3:1: `ignore-for[0].tool` is longer than 500 "),
        ("[[ignore-for]]\nrules = ['grade']\nreason = ' '", "3:1: `ignore-for[0].reason` is blank"),
        ("[[ignore-for]]\nrules = ['grade']\nreason = 1", "3:1: `ignore-for[0].reason` is a number"),
        ("targets = 1", "1:1: `targets` is a number; it must be a table: `[targets]`"),
        ("[targets]\nx = 1", "2:1: `targets.x` is a number; it must be a path, a URL, a list of words (a c"),
        ("[targets]\nx.json = 'x'", "2:1: `targets.x` is a table; it must be a path, a URL or a command; in "),
        ("[targets]\nx = []", "2:1: `targets.x` is empty"),
        ("[targets]\nx = ['python', 1]", "2:16: `targets.x[1]` is a number; it must be a string"),
        ("[targets]\nx = {command = ['s'], evn = {}}", "2:23: unknown key `evn` (did you mean `env`?)"),
        ("[targets]\nx = {command = 's'}", "2:6: `targets.x.command` is a string; it must be a command: a list"),
        ("[targets]\nx = {env = {}}", "2:1: `targets.x` needs either `command` or `url`"),
        ("[targets]\nx = {url = 'https://x.example', cwd = 'x'}", "2:33: `targets.x.cwd` has no meaning beside `url`"),
        ("[targets]\nx = {url = 'x.json'}", "2:6: `targets.x.url` is not an http:// or https:// URL"),
        ("[targets]\nx = {command = ['s'], env = {A = 1}}", "2:30: `targets.x.env.A` is a number; it must be a str"),
        ("[targets]\nx = ' '", "2:1: `targets.x` is blank"),
        ("[targets]\n' ' = 'x'", "2:1: ` ` is not a target name"),
        ("[targets]\n--x = 'x'", "2:1: `--x` is not a target name"),
        (
            "[tool.mcproof]\nfail-on = 'note'",
            "1:7: `[tool.mcproof]` is for `pyproject.toml`; here settings are top-level",
        ),
        ("a = " + "[" * 5_000, " nested too deeply"),
        (".".join("a" * 9_000) + " = 1", " too many dotted keys"),
        (b"fail-on = '\xff'", "1:12: not UTF-8: invalid byte 0xff (a binary file?)"),
        ("fail-on = 'note'".encode("utf-16"), "1:1: not UTF-8: this is UTF-16; save it as UTF-8"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_would_be_right(text: str | bytes, message: str) -> None:
    told = str(refusal(text))
    assert told.startswith(f"mcproof.toml:{message}")
    assert len(told.splitlines()) == 1
    assert len(told) < 300


@pytest.mark.parametrize(
    "text",
    [
        "{word} = 1",
        "fail-on = '{word}'",
        "rulesets = ['{word}']",
        "select = ['{word}']",
        "[severity]\n{word} = 'error'",
        "[severity]\nSCH-001 = '{word}'",
        "[[ignore-for]]\n{word} = 1",
        "[targets]\n{word} = 1",
    ],
)
def test_an_endless_word_makes_no_endless_message(text: str) -> None:
    assert len(refusal(text.format(word="x" * 100_000)).message) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool]\nmcproof = 1", "2:1: `tool.mcproof` is a number; it must be a table: `[tool.mcproof]`"),
        ("[[tool.mcproof]]", "1:8: `tool.mcproof` is a list; it must be a table: `[tool.mcproof]`"),
        ("[tool.mcproof]\nfail = 1", "2:1: unknown key `fail`"),
        ("[tool.mcproof.severity]\nx = 'note'", "2:1: unknown rule `x`"),
        ("[tool.mcproof]\nseverity = 1", "2:1: `severity` is a number; it must be a table: `[tool.mcproof.severity]`"),
        ("[tool.mcproof.ignore-for]", "1:15: `ignore-for` is a table; it must be a list of tables, each under "),
        ("[project]\nx = \n# mcproof", "2:5: not TOML: invalid value"),
    ],
)
def test_a_mistake_in_a_pyproject_is_told_with_its_place(text: str, message: str) -> None:
    assert str(refusal(text, "pyproject.toml")).startswith(f"pyproject.toml:{message}")


# --- start-up -----------------------------------------------------------------------------------------------------

_LOADED = """\
import __future__, importlib, os, sys, typing
before = set(sys.modules)
{}
print(*sorted(set(sys.modules) - before))
"""


def loaded_by(statement: str) -> set[str]:
    """The modules that a statement imports beyond what every start of mcproof does."""
    script = _LOADED.format(statement)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


HEAVY = {
    *("tomllib", "re", "difflib", "fnmatch", "json", "jsonschema_rs"),
    *("mcproof.runs.toml_document", "mcproof.core.text.json_document"),
}


def test_importing_the_module_imports_little() -> None:
    assert loaded_by("import mcproof.runs.config") == {
        "mcproof",
        *("mcproof.runs", "mcproof.runs.config", "mcproof.runs.events"),
        *("mcproof.core", "mcproof.core.errors", "mcproof.core.named_tuple", "mcproof.core.stored_form"),
    }


def test_a_search_that_finds_nothing_or_a_strange_pyproject_parses_nothing(here: Path) -> None:
    write("pyproject.toml", "[project]\nname = 'x'")
    loaded = loaded_by(f"from mcproof.runs.config import settings_for; settings_for({str(here)!r})")
    assert not loaded.intersection(existing(*HEAVY))


def test_rules_are_imported_only_where_some_are_named(here: Path) -> None:
    def rule_modules(text: str) -> set[str]:
        write("mcproof.toml", text)
        loaded = loaded_by(f"from mcproof.runs.config import settings_for; settings_for({str(here)!r})")
        assert "tomllib" in loaded
        return {name for name in loaded if name.startswith("mcproof.checks.rules.")}

    assert rule_modules("rulesets = ['grade']\nselect = ['strict']\nignore = ['trust']\nfail-on = 'note'") == set()
    assert rule_modules("[severity]\nstrict = 'error'") == {"mcproof.checks.rules.strict"}
    assert "mcproof.checks.rules.strict" in rule_modules("ignore = ['SCH-001']")


# --- the schema for editors ---------------------------------------------------------------------------------------

SCHEMA = json.loads((files("mcproof.runs") / "schemas" / "mcproof-toml.schema.json").read_text(encoding="utf-8"))
IGNORE_FOR_KEYS = (*KINDS, "rules", "reason")
MAX_NUMBER = 2**63 - 1
"""The largest integer that every TOML parser must support."""
VALIDATOR = jsonschema_rs.Draft7Validator(SCHEMA)
DOCS = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


def test_the_schema_is_valid_and_describes_every_key() -> None:
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    jsonschema_rs.meta.validate(SCHEMA)
    entry = SCHEMA["properties"]["ignore-for"]["items"]
    for field in (*SCHEMA["properties"].values(), *entry["properties"].values()):
        assert field["description"]


def test_the_schema_has_the_same_keys_and_words_as_everybody_else() -> None:
    properties = SCHEMA["properties"]
    assert tuple(properties) == tuple(KEYS)
    assert tuple(properties["ignore-for"]["items"]["properties"]) == IGNORE_FOR_KEYS
    assert properties["rulesets"]["anyOf"][0]["items"]["enum"] == [*RULESETS, "all"]
    assert tuple(properties["fail-on"]["enum"]) == options.FAIL_ON
    assert properties["min-grade"]["enum"] == [*LETTERS, *map(str.lower, LETTERS)]
    assert set(properties["severity"]["additionalProperties"]["enum"]) == set(_LEVEL_OF)
    assert properties["max-tokens"]["maximum"] == MAX_NUMBER
    assert set(KINDS) == {item.kind for item in ITEMS} - {"server"}
    assert {field for field, _ in KEYS.values()} == set(Settings._fields) - {"file", "locations"}


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (EVERYTHING, True),
        ("", True),
        ("rulesets = 'all'", True),
        ("ignore = []", True),
        ("min-grade = 'f'", True),
        ("ignore-for = []", True),
        ("[targets]\n'weather.live' = 'https://x.example'", True),
        ("[targets]\nx = ['python', 'server.py']", True),
        ("[targets.x]\ncommand = ['s']\nenv = {A = '${A}'}\ncwd = 'x'", True),
        ("[targets.x]\nurl = 'https://x.example'\nheaders = {A = '${A}'}", True),
        ("[targets]\nx = []", False),
        ("[targets]\nx = ['']", False),
        ("[targets.x]\ncommand = ['s']\nurl = 'https://x.example'", False),
        ("[targets.x]\ncommand = ['s']\nheaders = {A = 'a'}", False),
        ("[targets.x]\nenv = {A = 'a'}", False),
        ("[targets.x]\nurl = 'ftp://x.example'", False),
        ("rulesets = 'grade'", False),
        ("rulesets = []", False),
        ("rulesets = ['Grade']", False),
        ("select = []", False),
        ("select = [1]", False),
        ("select = [' ']", False),
        ("fail-on = 'Error'", False),
        ("fail-on = 1", False),
        ("min-grade = 'E'", False),
        ("max-tokens = 0", False),
        ("max-tokens = true", False),
        ("max-tokens = 0x8000000000000000", False),
        ("max-tokens = '1'", False),
        ("baseline = ' '", False),
        ('baseline = "a\\u0000b"', False),
        ("baseline = []", False),
        ("[severity]\nSCH-001 = 'never'", False),
        ("severity = []", False),
        ("[ignore-for]\nrules = ['grade']", False),
        ("[[ignore-for]]\ntool = 'x'", False),
        ("[[ignore-for]]\nrules = []", False),
        ("[[ignore-for]]\nrules = ['grade']\ntool = ''", False),
        (f"[[ignore-for]]\nrules = ['grade']\ntool = '{'x' * 501}'", False),
        ("[[ignore-for]]\nrules = ['grade']\nreason = ''", False),
        ("[[ignore-for]]\nrules = ['grade']\ntool = 'x'\ntemplate = 'x'", False),
        ("[[ignore-for]]\nrules = ['grade']\nresource = 'x'\nprompt = 'x'", False),
        ("[[ignore-for]]\nrules = ['grade']\nserver = 'x'", False),
        ("[targets]\nx = 1", False),
        ("[targets]\nx = ''", False),
        ("[targets]\n-x = 'x'", False),
        ("[targets]\n'' = 'x'", False),
        ("more = 1", False),
    ],
)
def test_the_schema_and_the_reader_agree(text: str, valid: bool) -> None:
    assert VALIDATOR.is_valid(tomllib.loads(text)) == valid
    if valid:
        read(text)
    else:
        refusal(text)


def examples() -> list[str]:
    pages = [page.read_text(encoding="utf-8") for page in (DOCS, DOCS.with_name("serve.md"))]
    return re.findall(r"^```toml(?: \S+)?\n(.*?)^```$", "\n".join(pages), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", examples())
def test_every_example_of_the_docs_is_read_and_valid(text: str) -> None:
    document = tomllib.loads(text)
    if "tool" in document:
        read(text, "pyproject.toml")
        VALIDATOR.validate(document["tool"]["mcproof"])
    else:
        read(text)
        VALIDATOR.validate(document)


def test_the_docs_name_every_key_and_have_an_example_of_most() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for key in (*KEYS, *IGNORE_FOR_KEYS):
        assert re.search(rf"`\[*{key}\]*`|^{key} = ", text, re.MULTILINE), key
    assert len(examples()) >= 5
