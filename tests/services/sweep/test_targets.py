"""From sources to targets: lists, folders, configurations and registry documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.core.errors import InputError
from mcproof.services.sweep import Permissions
from mcproof.services.sweep.targets import TargetSources

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.services.sweep.registry import SweepTarget

COMMANDS = Permissions(commands=True)


def targets(*sources: object, allowed: Permissions = COMMANDS) -> list[SweepTarget]:
    return list(TargetSources(tuple(map(str, sources)), allowed).targets())


def listed(folder: Path, *lines: Any, allowed: Permissions = COMMANDS) -> list[SweepTarget]:
    file = folder / "servers.txt"
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return targets(file, allowed=allowed)


def words(target: SweepTarget) -> tuple[str, ...]:
    assert isinstance(target.endpoint, CommandEndpoint)
    return target.endpoint.words


def url(target: SweepTarget) -> UrlEndpoint:
    assert isinstance(target.endpoint, UrlEndpoint)
    return target.endpoint


def hindered(target: SweepTarget) -> tuple[str, str]:
    assert target.hindrance is not None
    assert target.endpoint is None
    return target.hindrance.outcome, target.hindrance.message


def test_a_folder_stands_for_the_captures_below_it(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    for name in ("a.json", "deep/b.json", "deep/er/c.json", ".hidden/d.json", "e.txt"):
        (tmp_path / name).write_text("{}")
    found = {each.file for each in targets(tmp_path)}
    assert found == {str(tmp_path / name) for name in ("a.json", "deep/b.json", "deep/er/c.json")}


def test_a_link_that_loops_or_leads_nowhere_hides_nothing(tmp_path: Path) -> None:
    for name in ("a.json", "deep/a.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
        for link, target in (("loop.json", "loop.json"), ("nowhere.json", "gone")):
            (tmp_path / name).with_name(link).symlink_to(target)
    (tmp_path / "folder.json").symlink_to("deep")
    found = {target.file.removeprefix(f"{tmp_path}/") for target in targets(tmp_path)}
    assert found == {f"{folder}{name}" for folder in ("", "deep/") for name in ("a.json", "loop.json", "nowhere.json")}


def test_own_files_are_not_targets(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("{}")
    sources = TargetSources((str(tmp_path),), Permissions(), frozenset([str((tmp_path / "summary.json").resolve())]))
    assert list(sources.targets()) == []


def test_lines_of_a_list(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text("{}")
    found = listed(tmp_path, "# comment", "", "one.json", "https://host/mcp", "-- server", "npx -y it", "gone.json")
    assert found[0].file == str(tmp_path / "one.json")
    assert url(found[1]).url == "https://host/mcp"
    assert found[1].host == "host"
    assert words(found[2]) == ("server",)
    assert words(found[3]) == ("npx", "-y", "it")
    assert found[4].file == "gone.json"
    assert len(found) == 5


def test_json_lines_name_variables_and_not_their_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cret-value")
    lines = (
        {"target": "https://host/mcp", "headers": {"Authorization": {"env": "TOKEN"}}},
        {"url": "https://host/other", "name": "other", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        {"command": ["server", "--flag"], "env": ["TOKEN"]},
        {"target": "server --flag", "env": {"KEY": {"env": "TOKEN"}}},
    )
    found = listed(tmp_path, *lines, allowed=Permissions(commands=True, variables=frozenset(["TOKEN"])))
    assert url(found[0]).headers == {"Authorization": "s3cret-value"}
    assert url(found[1]).headers == {"Authorization": "Bearer s3cret-value"}
    assert found[1].name == "other"
    assert isinstance(found[2].endpoint, CommandEndpoint)
    assert found[2].endpoint.environment == {"TOKEN": "s3cret-value"}
    assert words(found[3]) == ("server", "--flag")
    for target in found:
        assert "s3cret" not in target.label
        assert target.endpoint is not None
        assert "s3cret-value" in target.endpoint.secrets


def test_a_variable_is_filled_in_only_if_its_name_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cret-value")
    lines = (
        "https://host/${TOKEN}",
        {"url": "https://host", "headers": {"X": "${TOKEN}"}},
        {"command": "x", "env": ["TOKEN"]},
    )
    for target in listed(tmp_path, *lines):
        outcome, message = hindered(target)
        assert outcome == "left-out"
        assert "--allow-env TOKEN" in message
    (with_default,) = listed(tmp_path, "https://host/${TOKEN:-none}")
    assert url(with_default).url == "https://host/none"


HEADERS = [{"name": "X", "value": "{TOKEN}"}]
PACKAGES = [{"registryType": "npm", "identifier": "p", "environmentVariables": [{"name": "TOKEN"}]}]
REGISTRY = [
    {"name": "a", "remotes": [{"type": "sse", "url": "https://host/mcp", "headers": HEADERS}]},
    {"name": "b", "remotes": [{"type": "sse", "url": "https://evil.example/{TOKEN}"}]},
    {"name": "c", "remotes": [{"type": "sse", "url": "https://host:x@{TOKEN}.evil.example/"}]},
    {"name": "d", "packages": PACKAGES},
    {"name": "e", "packages": PACKAGES},
]


@pytest.mark.parametrize(
    ("allowed", "names"),
    [(("TOKEN",), []), (("TOKEN=host",), ["a"]), (("TOKEN=d",), ["d"]), (("TOKEN=host", "TOKEN=d"), ["a", "d"])],
)
def test_a_registry_gives_a_variable_only_to_the_places_that_the_user_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: tuple[str, ...], names: list[str]
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret-value")
    file = tmp_path / "registry.json"
    file.write_text(json.dumps(REGISTRY))
    found = targets(file, allowed=Permissions(packages=True, variables=frozenset(allowed)))
    assert [target.name for target in found if "s3cret-value" in repr(target.endpoint)] == names


@pytest.mark.parametrize(
    ("allowed", "count"), [("TOKEN", 3), ("TOKEN=host", 1), ("TOKEN=other", 1), ("TOKEN=elsewhere", 0)]
)
def test_a_list_gets_a_variable_everywhere_or_at_a_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: str, count: int
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret-value")
    elsewhere = ({"url": "https://other", "headers": {"X": "${TOKEN}"}}, {"command": "x", "env": ["TOKEN"]})
    permissions = Permissions(commands=True, variables=frozenset([allowed]))
    found = listed(tmp_path, "https://host/${TOKEN}", *elsewhere, allowed=permissions)
    assert sum("s3cret-value" in repr(target.endpoint) for target in found) == count


def test_identity_does_not_depend_on_the_value_of_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()
    for value in ("one", "two"):
        monkeypatch.setenv("TOKEN", value)
        keys.add(listed(tmp_path, "https://host/${TOKEN}", allowed=Permissions(variables=frozenset(["TOKEN"])))[0].key)
    assert len(keys) == 1


def test_commands_start_only_if_they_are_allowed(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(
        json.dumps({"mcpServers": {"one": {"command": "server", "args": ["x"]}, "two": {"url": "http://h"}}})
    )
    entries = listed(tmp_path, "-- server", "server x", {"command": "server"}, f"{config}#one", allowed=Permissions())
    for target in (*entries, targets(config, allowed=Permissions())[0]):
        assert hindered(target) == ("left-out", "commands start only with --allow-commands")
    one, two = targets(config)
    assert words(one) == ("server", "x")
    assert (one.label, one.name) == (f"{config}#one", "one")
    assert url(two).url == "http://h"


def test_a_registry_document_and_its_lines_are_read(tmp_path: Path) -> None:
    remote = {"name": "a/remote", "remotes": [{"type": "sse", "url": "https://host/sse"}]}
    packaged = {"name": "a/packaged", "packages": [{"registryType": "npm", "identifier": "x", "version": "1"}]}
    document = tmp_path / "registry.json"
    document.write_text(json.dumps({"servers": [{"server": remote}, {"server": packaged}], "metadata": {"count": 2}}))
    lines = tmp_path / "registry.jsonl"
    lines.write_text("".join(json.dumps({"server": each}) + "\n" for each in (remote, packaged)))
    for source in (document, lines):
        first, second = targets(source)
        assert (url(first).url, first.name) == ("https://host/sse", "a/remote")
        assert hindered(second)[0] == "left-out"  # --allow-commands does not allow packages
        _, run = targets(source, allowed=Permissions(packages=True))
        assert words(run) == ("npx", "-y", "x@1")


@pytest.mark.parametrize("line", ["{", '{"target": 3}', "{}", '{"command": {"path": 3}}', "[]", '{"env": 3, "url": 4}'])
def test_a_damaged_line_is_one_target(tmp_path: Path, line: str) -> None:
    (target,) = listed(tmp_path, line)
    assert target.endpoint is None


def test_a_source_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        targets(tmp_path / "gone.txt")


def test_a_json_file_that_is_something_else_is_a_capture(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    for text in ('{"tools": []}', '{"servers": ', "[]"):
        file.write_text(text)
        assert targets(file)[0].file == str(file)


@pytest.mark.parametrize("arguments", [5, None, "word", {"a": 1}])
def test_arguments_that_are_no_list_hinder_one_target(tmp_path: Path, arguments: Any) -> None:
    first, second = listed(tmp_path, {"command": ["x", "y"], "args": arguments}, {"command": ["x", "y"], "args": ["z"]})
    outcome, message = hindered(first)
    assert outcome == "unreadable"
    assert message.endswith("is not a list of strings")
    assert words(second) == ("x", "y", "z")
