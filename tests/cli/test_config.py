"""`mcproof config`: the settings that hold, where each comes from, and the schema for editors."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from mcproof.checks.rule import RULESETS, rules_of
from mcproof.runs.config_keys import KEYS

from .running import document_of, error_of, fails, run, shipped_schema
from .test_json import _subschemas

EVERYTHING = """\
rulesets = ["grade", "strict"]
select = ["SCH-001", "grade"]
fail-on = "warning"
max-tokens = 4000
baseline = "known.json"

[severity]
strict = "low"
SCH-002 = "error"

[[ignore-for]]
tool = "legacy_*"
rules = ["SCH-001", "trust"]
reason = "frozen until v3"

[[ignore-for]]
rules = ["CAT-001"]

[targets]
weather = "catalogs/weather.json"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mcproof.toml").write_text(EVERYTHING)
    (tmp_path / "sub").mkdir()
    return tmp_path


def shown(cwd: Path, *arguments: str) -> Any:
    done = run("config", "--format", "json", *arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return document_of(done, "config")


# --- text ---------------------------------------------------------------------------------------------------------


def test_text_shows_every_setting_and_its_line_in_columns(project: Path) -> None:
    done = run("config", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == """\
configuration: mcproof.toml

  rulesets         grade, strict        mcproof.toml:1
  select           SCH-001, grade       mcproof.toml:2
  ignore           none                 default
  fail-on          warning              mcproof.toml:3
  min-grade        none                 default
  max-tokens       4,000                mcproof.toml:4
  baseline         known.json           mcproof.toml:5
  limits           none                 default
  clients          none                 default
  client-profiles  none                 default
  scan             allow 80, review 50  default
  store            none                 default

severity
  SCH-001  low    mcproof.toml:8
  SCH-002  error  mcproof.toml:9
  SCH-003  low    mcproof.toml:8
  SCH-004  low    mcproof.toml:8

ignore-for
  tool legacy_*  SCH-001, trust  mcproof.toml:11 (frozen until v3)
  everything     CAT-001         mcproof.toml:16

targets
  weather  catalogs/weather.json  mcproof.toml:20
"""
    )


@pytest.mark.parametrize("arguments", [(), ("--no-config",)], ids=["no file", "--no-config"])
def test_without_a_configuration_text_shows_the_defaults(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    if arguments:
        (tmp_path / "mcproof.toml").write_text("this is not TOML")
    default = ", ".join(name for name, ruleset in RULESETS.items() if ruleset.is_default)
    lines = run("config", *arguments, cwd=tmp_path).stdout.splitlines()
    assert lines[0] == "no configuration; these are the defaults"
    rows = [tuple(part.strip() for part in line.split("  ") if part.strip()) for line in lines[2:]]
    assert rows == [
        ("rulesets", default, "default"),
        ("select", "none", "default"),
        ("ignore", "none", "default"),
        ("fail-on", "error", "default (schema-lint: note)"),
        ("min-grade", "none", "default"),
        ("max-tokens", "none", "default"),
        ("baseline", "none", "default"),
        ("limits", "none", "default"),
        ("clients", "none", "default"),
        ("client-profiles", "none", "default"),
        ("scan", "allow 80, review 50", "default"),
        ("store", "none", "default"),
    ]


def test_columns_stay_aligned_beside_wide_letters(tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text('[targets]\n"天気" = "x"\nabcd = "y"\n', encoding="utf-8")
    lines = run("config", cwd=tmp_path).stdout.splitlines()
    assert lines[-2:] == ["  天気  x  mcproof.toml:2", "  abcd  y  mcproof.toml:3"]


def test_what_stands_in_the_file_cannot_act_on_a_terminal_or_a_ci_runner(tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text(
        '[[ignore-for]]\ntool = "\\u001b[31m*"\nrules = ["grade"]\nreason = "a\\n::error::b\\u202e"\n'
        '[targets]\n"::warning::\\n##[x]" = "y\\r\\n"\n'
    )
    done = run("config", cwd=tmp_path)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert not [line for line in done.stdout.splitlines() if line.lstrip().startswith("::") or "##[" in line]
    assert "tool \\x1b[31m*" in done.stdout
    assert shown(tmp_path)["settings"]["ignore-for"]["value"][0]["reason"] == "a\n::error::b\u202e"


def test_long_values_are_cut_and_places_are_not(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 200) / ("e" * 200)
    folder.mkdir(parents=True)
    (folder / "mcproof.toml").write_text(f"select = {['grade'] * 1_000}")
    out = run("config", str(folder), cwd=tmp_path).stdout
    place = f"{folder.relative_to(tmp_path)}/mcproof.toml:1"
    assert any(line.endswith(f"…  {place}") and len(line) < 1_000 for line in out.splitlines())


# --- JSON ---------------------------------------------------------------------------------------------------------


def test_json_shows_every_setting_with_its_file_and_line(project: Path) -> None:
    document = shown(project)
    settings = document["settings"]
    assert document["file"] == "mcproof.toml"
    assert list(settings) == list(KEYS)
    assert settings["fail-on"] == {"value": "warning", "from": "mcproof.toml", "line": 3}
    assert settings["min-grade"] == {"value": None, "from": "default", "line": None}
    assert settings["severity"] == {
        "value": [
            {"rule": "SCH-001", "severity": "low", "line": 8},
            {"rule": "SCH-002", "severity": "error", "line": 9},
            {"rule": "SCH-003", "severity": "low", "line": 8},
            {"rule": "SCH-004", "severity": "low", "line": 8},
        ],
        "from": "mcproof.toml",
        "line": 7,
    }
    assert settings["ignore-for"]["value"][0] == {
        "kind": "tool",
        "glob": "legacy_*",
        "rules": sorted(["SCH-001", *(rule.id for rule in rules_of("trust"))]),
        "named": ["SCH-001", "trust"],
        "reason": "frozen until v3",
        "line": 11,
    }
    assert settings["targets"]["value"] == [{"name": "weather", "target": "catalogs/weather.json", "line": 20}]


def test_json_shows_the_defaults(tmp_path: Path) -> None:
    document = shown(tmp_path)
    assert document["file"] is None
    assert {each["from"] for each in document["settings"].values()} == {"default"}
    assert {each["line"] for each in document["settings"].values()} == {None}
    assert document["settings"]["fail-on"]["value"] == "error"
    assert document["settings"]["severity"]["value"] == []


def test_the_schema_of_the_output_is_strict_and_describes_every_field() -> None:
    schema = shipped_schema("config")
    jsonschema_rs.meta.validate(schema)
    assert schema["$id"] == "urn:mcproof:config:1"
    for each in _subschemas(schema):
        if "properties" in each:
            assert each["additionalProperties"] is False
            assert each["required"] == list(each["properties"])
        for key, field in each.get("properties", {}).items():
            assert field.get("description") or "$ref" in field, key


def test_the_schema_of_the_output_has_the_same_words_as_the_reader() -> None:
    words = shipped_schema("mcproof-toml")["properties"]["severity"]["additionalProperties"]["enum"]
    schema = shipped_schema("config")
    settings = schema["properties"]["settings"]["properties"]
    assert list(settings) == list(KEYS)
    assert settings["rulesets"]["properties"]["value"]["items"]["enum"] == [*RULESETS, "all"]
    assert schema["$defs"]["override"]["properties"]["severity"]["enum"] == words


# --- which configuration ------------------------------------------------------------------------------------------


def test_the_configuration_is_that_of_the_target(project: Path) -> None:
    (project / "sub" / "pyproject.toml").write_text("[tool.mcproof]\nmax-tokens = 7\n")
    for target in ("sub", "sub/tools.json"):
        assert shown(project, target)["settings"]["max-tokens"] == {
            "value": 7,
            "from": str(Path("sub", "pyproject.toml")),
            "line": 2,
        }
    assert shown(project, "-")["file"] == shown(project, "tools.json")["file"] == "mcproof.toml"


def test_paths_of_a_configuration_above_can_be_opened_from_here(project: Path) -> None:
    document = shown(project / "sub")
    assert document["file"] == str(project / "mcproof.toml")
    assert document["settings"]["baseline"]["value"] == str(project / "known.json")


def test_a_named_file_is_read_instead(project: Path) -> None:
    (project / "other.toml").write_text("max-tokens = 9")
    assert shown(project, "--config", "other.toml")["settings"]["max-tokens"]["value"] == 9


# --- what cannot be done ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fail-on = 3", "mcproof: mcproof.toml:1:1: `fail-on` is a number; it must be one of "),
        ("[x", "mcproof: mcproof.toml:1:3: not TOML: "),
        ('"a\\n::error::b" = 1', "mcproof: mcproof.toml:1:1: unknown key `a\\n::error::b`"),
        ("a = " + "[" * 9_999, "mcproof: mcproof.toml: nested too deeply"),
    ],
)
def test_a_mistake_ends_with_exit_code_2_and_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mcproof.toml").write_text(text)
    assert fails("config", cwd=tmp_path).startswith(message)


def test_a_mistake_gives_an_error_document_in_json(tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text("\n  fail-on = 'nope'")
    error = error_of("config", "--format", "json", cwd=tmp_path)
    assert (error["file"], error["line"], error["column"]) == ("mcproof.toml", 2, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--config", "missing.toml"), "missing.toml: cannot be read: no such file"),
        (("--config", "."), "cannot be read: is a directory"),
        (("--config", "x.toml", "--no-config"), "--config and --no-config exclude each other"),
        (("--schema", "tools.json"), "--schema is the same for every target"),
        (("--schema", "--no-config"), "--schema is the same for every target"),
        (("a", "b"), "unrecognized arguments: b"),
    ],
)
def test_a_bad_command_line_ends_with_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in fails("config", *arguments, cwd=tmp_path)


# --- the schema for editors ---------------------------------------------------------------------------------------


def test_schema_prints_the_shipped_schema_whatever_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text("this is not TOML")
    done = run("config", "--schema", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (files("mcproof.runs") / "schemas" / "mcproof-toml.schema.json").read_text(encoding="utf-8")
    assert list(json.loads(done.stdout)["properties"]) == list(KEYS)


def test_the_store_and_the_watched_servers_are_shown_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text("""\
[store]
database = "postgresql://me:${PASSWORD}@host/x"
keep = 100

[[watch]]
name = "books"
target = "https://host.example/mcp?token=hunter2"
every = "15m"
""")
    text = run("config", cwd=tmp_path).stdout
    assert "database postgresql://" in text
    assert "keep 100     mcproof.toml:1" in text
    assert "lint every 900 s  mcproof.toml:5" in text
    document = shown(tmp_path)["settings"]
    assert document["watch"]["value"][0]["every"] == 900
    assert "hunter2" not in text + str(document)
