"""`mcproof explain clients`, and clients in the configuration and in `lint`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.clients.profiles import known_profiles

from .running import CLEAN_TOOL, document_of, fails, run, write

if TYPE_CHECKING:
    from pathlib import Path

GATEWAY = """\
[client-profiles.our-gateway]
name = "Our gateway"
checked = "2026-11-01"

[[client-profiles.our-gateway.constraints]]
id = "short"
kind = "name.max"
params = { max = 5 }
effect = "tool_dropped"
"""
UNION = {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}


def levels_of(*args: str, cwd: Path) -> dict[str, str]:
    document = document_of(run(*args, "--format", "json", cwd=cwd), "lint")
    return {each["rule"]: each["level"] for each in document["findings"] if each["ruleset"] == "compat"}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    write(tmp_path / "tools.json", [{**CLEAN_TOOL, "inputSchema": UNION}])
    write(tmp_path / "clean.json", [CLEAN_TOOL])
    return tmp_path


def test_the_table_has_every_profile(here: Path) -> None:
    lines = run("clients", cwd=here).stdout.splitlines()
    assert lines[0].split() == ["id", "name", "kind", "facts", "checked", "newest", "fact"]
    assert len(lines) == 1 + len(known_profiles()) + 2


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits(here: Path, width: int) -> None:
    lines = run("clients", cwd=here, env={"COLUMNS": str(width)}).stdout.splitlines()
    assert max(map(len, lines)) <= width


def test_a_client_is_shown_with_its_facts(here: Path) -> None:
    text = run("clients", "cursor", cwd=here).stdout
    profile = known_profiles()["cursor"]
    assert text.startswith(f"Cursor (cursor)\nclient, checked {profile.checked}, {len(profile.constraints)} facts\n")
    for fact in profile.constraints:
        assert fact.sources[0].url in text
        assert f"({fact.status}" in text


def test_the_document_has_every_fact(here: Path) -> None:
    document = document_of(run("clients", "--format", "json", cwd=here), "clients")
    assert [each["id"] for each in document["clients"]] == list(known_profiles())
    (one,) = document_of(run("clients", "claude-code", "--format", "json", cwd=here), "clients")["clients"]
    assert one["sends_to"] == ["anthropic-api"]
    assert one["shipped"] is True


def test_an_unknown_client_is_an_error(here: Path) -> None:
    assert "unknown client `cursr`, did you mean `cursor`" in fails("clients", "cursr", cwd=here).replace(" (", ", ")


# --- lint ---------------------------------------------------------------------------------------------------------


def test_a_finding_is_a_warning_unless_its_client_is_named(here: Path) -> None:
    assert levels_of("lint", "tools.json", "--ruleset", "compat", cwd=here) == {"CMP-023": "warning"}
    assert levels_of("lint", "tools.json", "--client", "cursor", cwd=here) == {"CMP-023": "error"}
    assert levels_of("lint", "tools.json", "--client", "zed", cwd=here) == {"CMP-023": "warning"}


def test_the_configuration_names_clients(here: Path) -> None:
    (here / "mcproof.toml").write_text('clients = ["cursor"]\n', encoding="utf-8")
    assert levels_of("lint", "tools.json", cwd=here) == {"CMP-023": "error"}
    assert levels_of("lint", "tools.json", "--client", "zed", cwd=here) == {"CMP-023": "warning"}


def test_a_version_that_makes_no_difference_is_reported(here: Path) -> None:
    for command in ("lint", "compat"):
        done = run(command, "clean.json", "--client", "cursor@1.0", cwd=here)
        assert "mcproof: cursor: no fact depends on a version; judged as current" in done.stderr


def test_an_unknown_client_in_the_configuration_is_an_error_with_its_line(here: Path) -> None:
    (here / "mcproof.toml").write_text('clients = ["cursr"]\n', encoding="utf-8")
    line = fails("lint", "clean.json", cwd=here)
    assert line.startswith("mcproof: mcproof.toml:1:")
    assert "unknown client `cursr`" in line


# --- profiles of the configuration --------------------------------------------------------------------------------


def test_the_configuration_adds_a_client(here: Path) -> None:
    (here / "mcproof.toml").write_text(GATEWAY, encoding="utf-8")
    done = run("compat", "clean.json", "--client", "our-gateway", cwd=here)
    assert "Our gateway" in done.stdout
    assert "CMP-002" in done.stdout
    assert done.returncode == 1
    assert levels_of("lint", "clean.json", "--client", "our-gateway", cwd=here) == {"CMP-002": "error"}
    assert "from the configuration" in run("clients", "our-gateway", cwd=here).stdout
    document_of(run("clients", "our-gateway", "--format", "json", cwd=here), "clients")


def test_the_configuration_changes_a_fact_of_a_shipped_client(here: Path) -> None:
    """A plain name, which no shipped profile refuses, must be checked in full."""
    fact = """\
[[client-profiles.cursor.constraints]]
id = "name"
kind = "name.regex"
params = { pattern = "[a-d]+" }
effect = "call_rejected"
"""
    (here / "mcproof.toml").write_text(fact, encoding="utf-8")
    done = run("compat", "clean.json", "--client", "cursor", "--format", "json", cwd=here)
    hits = document_of(done, "compat")["clients"]["cursor"]["hits"]
    assert [(each["constraint"], each["effect"]) for each in hits] == [("name", "call_rejected")]


def constraint(**members: Any) -> str:
    known: dict[str, Any] = {"id": "x", "kind": "name.max", "params": {"max": 1}, "effect": "tool_dropped"}
    lines = [f"{key} = {_toml(value)}" for key, value in {**known, **members}.items() if value is not None]
    return "[[client-profiles.x.constraints]]\n" + "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


MISTAKES = {
    "kind": (constraint(kind="name.maximum"), "unknown kind `name.maximum`"),
    "effect": (constraint(effect="explodes"), "unknown effect `explodes`"),
    "status": (constraint(status="old"), "unknown status `old`"),
    "key": (constraint(since="2026"), "unknown key `since`"),
    "missing key": (constraint(effect=None), "needs `effect`"),
    "missing parameter": (constraint(params={}), "needs `max` for the kind `name.max`"),
    "unknown parameter": (constraint(params={"max": 1, "least": 2}), "unknown key `least`"),
    "type of a parameter": (constraint(params={"max": "1"}), "must be a whole number"),
    "rule": (constraint(rule="SCH-001"), "unknown rule `SCH-001`"),
    "look-around": (constraint(kind="name.regex", params={"pattern": "(?=a)b"}), "look-around"),
    "pattern": (constraint(kind="name.regex", params={"pattern": "("}), "not a valid regular expression"),
    "long pattern": (constraint(kind="name.regex", params={"pattern": "a" * 501}), "must have 1 to 500 characters"),
    "template": (
        constraint(kind="name.combined", params={"template": "{tool.__class__}", "max": 9}),
        "may only have `{server}` and `{tool}` in braces",
    ),
    "words": (constraint(kind="input.ref", params={"forbid": ["all"]}), "unknown word `all`"),
    "profile kind": ('[client-profiles.x]\nkind = "browser"\n', "unknown kind `browser`"),
    "sends_to": ('[client-profiles.x]\nsends_to = ["nothing"]\n', "unknown client `nothing`"),
    "name": ('[client-profiles."a b"]\nname = "x"\n', "is not a name of a client"),
    "table": ("client-profiles = 3\n", "it must be a table"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_profile_is_one_line_with_its_location(here: Path, name: str) -> None:
    text, message = MISTAKES[name]
    (here / "mcproof.toml").write_text(text, encoding="utf-8")
    line = fails("lint", "clean.json", cwd=here)
    assert line.startswith("mcproof: mcproof.toml:")
    assert message in line


def test_a_catastrophic_pattern_takes_no_time(here: Path) -> None:
    """`(a+)+$` takes exponential time where an engine backtracks; the runner has a time limit."""
    fact = constraint(kind="name.regex", params={"pattern": "(a+)+"})
    (here / "mcproof.toml").write_text(fact, encoding="utf-8")
    write(here / "long.json", [{**CLEAN_TOOL, "name": "a" * 60 + "!"}])
    done = run("compat", "long.json", "--client", "x", cwd=here)
    assert "CMP-001" in done.stdout


@pytest.mark.parametrize("name", ["Amazon Q CLI", "amazon q", "amazon-q-cli"])
def test_clients_are_found_by_the_names_that_people_write(name: str, here: Path) -> None:
    assert run("explain", "clients", name, cwd=here).stdout.startswith("Amazon Q CLI (amazon-q-cli)\n")
    done = run("compat", str(write(here / "clean.json", {"tools": [CLEAN_TOOL]})), "--require", name, cwd=here)
    assert "does not break in amazon-q-cli, as required" in done.stdout
    assert "`claude-code` or `claude-connector-directory`" in fails("explain", "clients", "claude")
