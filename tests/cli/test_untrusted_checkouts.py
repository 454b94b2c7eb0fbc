"""Hostile repositories: mcproof in a stranger's checkout starts nothing, sends nothing and writes nothing.

Every repository tries something. A command that it names would write a canary file, a URL that it names leads to a
listener that must stay without a connection, and every file in and around it is compared before and after.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from client.running import RAW
from mcproof.probing.probes.failures import StoredFailure
from servers import contract

from .running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL, run, write

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")

BROKEN = [sys.executable, "-I", "-S", contract.__file__, "accepts-missing"]
ROOT = Path(__file__).parent.parent.parent
SECRET = "correct-horse-battery"  # noqa: S105


class Stranger(NamedTuple):
    """A stranger's repository, in the middle of the user's files."""

    outside: Path
    """The user's folder, with the repository below it."""
    repo: Path
    port: int
    """The port of the listener."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp?key=${{API_TOKEN}}"

    @property
    def command(self) -> list[str]:
        """A command that leaves a canary."""
        return [sys.executable, "-c", f"open({str(self.outside / 'canary')!r}, 'w').write('started')"]

    def toml(self, text: str, name: str = "mcproof.toml", folder: Path | None = None) -> None:
        ((folder or self.repo) / name).write_text(text, encoding="utf-8")

    def clients(self, name: str = ".mcp.json") -> None:
        """Write a client configuration with a command and a URL."""
        command, *arguments = self.command
        servers = {
            "cmd": {"command": command, "args": arguments, "env": {"X": "${API_TOKEN}"}},
            "web": {"url": self.url, "headers": {"Authorization": "Bearer ${API_TOKEN}"}},
        }
        write(self.repo / name, {"mcpServers": servers})

    def targets(self, *names: str) -> str:
        """`[targets]` with a file and live servers in every form, or those of them that are named."""
        words = json.dumps(self.command)
        entries = {
            "file": '"tools.json"',
            "web": json.dumps(self.url),
            "upper": json.dumps(self.url.replace("http", "HTTP")),
            "headers": f'{{url = {json.dumps(self.url)}, headers = {{A = "${{API_TOKEN}}"}}}}',
            "command": words,
            "table": f'{{command = {words}, env = {{X = "${{API_TOKEN}}"}}}}',
            "entry": '".mcp.json#cmd"',
            "remote": '".mcp.json#web"',
            "clients": '".mcp.json"',
        }
        return "[targets]\n" + "".join(f"{name} = {entries[name]}\n" for name in names or entries)


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    repo = tmp_path / "home" / "work" / "repo"
    repo.mkdir(parents=True)
    (tmp_path / "home" / ".bash_profile").write_text("# mine\n")
    write(tmp_path / "home" / "tools.json", [LOOSE_TOOL])
    write(repo / "tools.json", [FAULTY_TOOL])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        before = Stranger(tmp_path / "home", repo, listener.getsockname()[1])
        yield before
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert not (tmp_path / "home" / "canary").exists()


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder, with its content, or where it links to."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = path.read_text() if path.is_file() else "folder"
    return found


def has_no_effect(stranger: Stranger, *words: str, cwd: Path | None = None, code: int | None = None) -> str:
    """Run mcproof as a visitor with secrets in the environment, and return what it prints."""
    before = tree(stranger.outside)
    done = run(*words, cwd=cwd or stranger.repo, env={"API_TOKEN": SECRET, "XDG_STATE_HOME": str(stranger.outside)})
    assert tree(stranger.outside) == before, words
    shown = done.stdout + done.stderr
    assert SECRET not in shown
    assert code is None or done.returncode == code, done
    return shown


BARE = [
    ["lint"],
    ["grade"],
    ["schema-lint"],
    ["lint", "--all"],
    ["lint", "--header", "Authorization: Bearer ${API_TOKEN}", "--env", "API_TOKEN"],
    ["lint", "--format", "json"],
    ["schema-lint", "--fix"],
]


@pytest.mark.parametrize("words", BARE, ids=" ".join)
def test_live_targets_of_a_configuration_are_not_reached(stranger: Stranger, words: list[str]) -> None:
    stranger.clients()
    stranger.toml(stranger.targets())
    shown = has_no_effect(stranger, *words)
    if words == ["lint"]:
        assert "live servers are left out (web, upper, headers, command, table and 2 more)" in shown
        assert "`mcproof lint NAME` checks one, `--live` all" in shown


@pytest.mark.parametrize("words", BARE, ids=" ".join)
def test_nothing_is_started_for_a_configuration_with_live_targets_only(stranger: Stranger, words: list[str]) -> None:
    stranger.clients()
    stranger.toml(stranger.targets("web", "command", "entry", "remote"))
    assert "mcproof.toml names only live servers (web, command, entry, remote)" in has_no_effect(
        stranger, *words, code=2
    )


def test_a_configuration_above_the_checkout_is_not_trusted_either(stranger: Stranger) -> None:
    stranger.clients()
    above = stranger.targets("command", "web", "file").replace('"tools.json"', '"repo/tools.json"')
    stranger.toml(above, folder=stranger.repo.parent)
    assert "live servers are left out (command, web)" in has_no_effect(stranger, "lint")
    below = stranger.repo / "src"
    below.mkdir()
    has_no_effect(stranger, "grade", cwd=below)


def test_a_table_in_a_pyproject_is_not_trusted_either(stranger: Stranger) -> None:
    text = stranger.targets("command", "file").replace("[targets]", "[tool.mcproof.targets]")
    stranger.toml(text, "pyproject.toml")
    assert "pyproject.toml: live servers are left out (command)" in has_no_effect(stranger, "lint")


def test_a_configuration_that_is_a_link_is_not_trusted_either(stranger: Stranger) -> None:
    stranger.toml(stranger.targets("command", "file"), "real.toml")
    (stranger.repo / "mcproof.toml").symlink_to("real.toml")
    assert "live servers are left out (command)" in has_no_effect(stranger, "lint")


def test_a_configuration_that_the_command_line_names_is_not_asked_what_to_start(stranger: Stranger) -> None:
    stranger.toml(stranger.targets("command", "file"), "other.toml")
    assert "other.toml: live servers are left out (command)" in has_no_effect(
        stranger, "lint", "--config", "other.toml"
    )


@pytest.mark.parametrize("name", ["catalog.json", "server.py", "src/server", "./src", "a.json#b"])
def test_a_missing_file_is_not_replaced_by_a_live_target(stranger: Stranger, name: str) -> None:
    for target in (json.dumps(stranger.command), json.dumps(stranger.url)):
        stranger.toml(f'[targets]\n"{name}" = {target}\n')
        for command in ("lint", "grade", "prove", "init"):
            shown = has_no_effect(stranger, command, name, "--env", "API_TOKEN", code=2)
            assert f"there is no file `{name}`; mcproof.toml:2 gives this name to a live server" in shown


def test_a_name_of_the_configuration_is_not_replaced_silently(stranger: Stranger) -> None:
    stranger.toml('[targets]\nother = "tools.json"\n')
    assert "other: tools.json (mcproof.toml:2)" in has_no_effect(stranger, "lint", "other")


@pytest.mark.parametrize("words", [["lint"], ["grade"], ["capture"], ["init"], ["lint", "--live"]], ids=" ".join)
def test_a_client_configuration_is_only_listed(stranger: Stranger, words: list[str]) -> None:
    stranger.clients()
    shown = has_no_effect(stranger, *words, ".mcp.json", "--env", "API_TOKEN", code=2)
    assert "a client configuration (servers: cmd, web); nothing was started" in shown


def test_a_folder_with_client_configurations_and_suites_is_only_read(stranger: Stranger) -> None:
    stranger.clients()
    stranger.clients("settings.json")
    suite = {"servers": {"a": {"command": stranger.command}}, "tools": [{"name": "x", "server": "a", "tool": "x"}]}
    write(stranger.repo / "mcproof.yaml", suite)
    (stranger.repo / "conftest.py").write_text(f"open({str(stranger.outside / 'canary')!r}, 'w')\n")
    for words in (["lint", "."], ["grade", "."], ["lint", ".", "--all"], ["validate"]):
        has_no_effect(stranger, *words)


def test_source_is_read_and_not_run(stranger: Stranger) -> None:
    canary = f"open({str(stranger.outside / 'canary')!r}, 'w')"
    (stranger.repo / "server.py").write_text(
        "from mcp.server.fastmcp import FastMCP\n"
        f"{canary}\n"
        'mcp = FastMCP("x")\n'
        f"@mcp.tool(description={canary} and '')\n"
        "def find(a: int = __import__('evil').x) -> str: ...\n"
    )
    (stranger.repo / "evil.py").write_text(f"{canary}\nx = 1\n")
    (stranger.repo / "sitecustomize.py").write_text(canary)
    for words in (["lint", "server.py"], ["lint", "."], ["schema-lint", "server.py", "--fix"]):
        has_no_effect(stranger, *words)


FOREIGN = {
    "above": "../../.bash_profile",
    "absolute": "{outside}/new.json",
    "link": "link.json",
    "dangling": "dangling.json",
    "folder": "linked/baseline.json",
    "hook": ".git/hooks/post-checkout",
}


@pytest.mark.parametrize("baseline", FOREIGN.values(), ids=FOREIGN)
def test_a_configuration_writes_no_baseline_outside_its_folder(stranger: Stranger, baseline: str) -> None:
    write(stranger.outside / "valid.json", {"schema_version": 1, "findings": []})
    (stranger.repo / "link.json").symlink_to("../../valid.json")
    (stranger.repo / "dangling.json").symlink_to("../../.profile")
    (stranger.repo / "linked").symlink_to("../..")
    (stranger.repo / ".git" / "hooks").mkdir(parents=True)
    stranger.toml(f'baseline = "{baseline.format(outside=stranger.outside)}"\n')
    for command in ("lint", "schema-lint", "grade"):
        shown = has_no_effect(stranger, command, "tools.json", "--update-baseline", code=2)
        assert "mcproof.toml:1: `baseline` is " in shown


def test_fixes_stay_within_the_folder(stranger: Stranger) -> None:
    stranger.toml('[targets]\na = "../../tools.json"\n')
    assert "outside" in has_no_effect(stranger, "schema-lint", "--fix", "--write", code=2)
    folder = stranger.repo / "catalogs"
    folder.mkdir()
    (folder / "link.json").symlink_to(stranger.outside / "tools.json")
    assert "is a symbolic link to" in has_no_effect(stranger, "schema-lint", "catalogs", "--fix", "--write", code=2)


LINKED = """\
from mcp.server import MCPServer

from helper import TEXT

server = MCPServer("x")


@server.tool(description=TEXT)
def find(title: str) -> str:
    return title
"""


@pytest.mark.parametrize("words", [["grade"], ["lint"], ["capture", "src"]], ids=" ".join)
def test_what_a_link_leads_to_outside_the_checkout_is_not_read(stranger: Stranger, words: list[str]) -> None:
    (stranger.repo / ".git").mkdir()
    (stranger.repo / "src").mkdir()
    (stranger.repo / "src" / "server.py").write_text(LINKED)
    (stranger.outside / "helper.py").write_text(f"TEXT = {SECRET!r}\n")
    (stranger.repo / "src" / "helper.py").symlink_to(stranger.outside / "helper.py")
    write(stranger.outside / "private.json", [{**LOOSE_TOOL, "name": SECRET}])
    (stranger.repo / "catalogs").mkdir()
    (stranger.repo / "catalogs" / "linked.json").symlink_to(stranger.outside / "private.json")
    has_no_effect(stranger, *words)


@pytest.mark.parametrize("name", ["mcproof.toml", "pyproject.toml"])
def test_a_configuration_outside_the_checkout_is_not_quoted(stranger: Stranger, name: str) -> None:
    (stranger.repo / ".git").mkdir()
    (stranger.outside / "private.toml").write_text(f'[tool.mcproof]\n"{SECRET}" = "{SECRET}"\n')
    (stranger.repo / name).symlink_to(stranger.outside / "private.toml")
    shown = has_no_effect(stranger, "lint", "tools.json", code=2)
    assert f"{name}: cannot be read: a link leads out of its checkout" in shown
    assert SECRET not in shown


def test_an_import_outside_the_checkout_is_not_quoted(stranger: Stranger) -> None:
    (stranger.repo / ".git").mkdir()
    (stranger.outside / "hosts.yml").write_text(f"{SECRET}: {SECRET}\n")
    (stranger.repo / "base.yaml").symlink_to(stranger.outside / "hosts.yml")
    (stranger.repo / "suite.yaml").write_text("imports: [base.yaml]\nservers: {}\ntools: {}\n")
    shown = has_no_effect(stranger, "validate", "suite.yaml", code=2)
    assert "base.yaml: cannot be read: a link leads out of its checkout" in shown
    assert SECRET not in shown


@pytest.mark.parametrize("words", [("validate",), ("validate", "."), ("run",)], ids=" ".join)
def test_a_suite_outside_the_checkout_is_not_quoted(stranger: Stranger, words: tuple[str, ...]) -> None:
    (stranger.repo / ".git").mkdir()
    (stranger.outside / "suite.yaml").write_text(f"servers: [{SECRET}\ntools: {{}}\n")
    (stranger.repo / "mcproof.yaml").symlink_to(stranger.outside / "suite.yaml")
    shown = has_no_effect(stranger, *words, code=2)
    assert "mcproof.yaml: cannot be read: a link leads out of its checkout" in shown
    assert SECRET not in shown


def test_a_link_within_the_checkout_is_followed(stranger: Stranger) -> None:
    (stranger.repo / ".git").mkdir()
    (stranger.repo / "src").mkdir()
    (stranger.repo / "src" / "server.py").write_text(LINKED)
    (stranger.repo / "shared.py").write_text("TEXT = 'Find a book.'\n")
    (stranger.repo / "src" / "helper.py").symlink_to(stranger.repo / "shared.py")
    assert "Find a book." in has_no_effect(stranger, "capture", "src", code=0)


@pytest.mark.parametrize("exists", [True, False], ids=["link", "dangling link"])
@pytest.mark.parametrize(
    "words",
    [
        ["lint", "tools.json", "--output", "sarif:out"],
        ["lint", "tools.json", "--report", "out"],
        ["capture", "tools.json", "-o", "out"],
        ["init", "tools.json", "-o", "out", "--force"],
        ["lint", "tools.json", "--report", "folder/new.json"],
    ],
    ids=" ".join,
)
def test_outputs_do_not_follow_links_out_of_the_checkout(stranger: Stranger, words: list[str], exists: bool) -> None:
    target = stranger.outside / (".bash_profile" if exists else ".zprofile")
    (stranger.repo / "out").symlink_to(target)
    (stranger.repo / "folder").symlink_to(stranger.outside)
    assert "leads out of the working directory" in has_no_effect(stranger, *words, code=2)


def test_a_name_that_looks_like_standard_output_or_an_option_stays_a_file(stranger: Stranger) -> None:
    write(stranger.repo / "-", [CLEAN_TOOL])
    write(stranger.repo / "--live", [CLEAN_TOOL])
    stranger.toml('[targets]\ndash = "-"\nflag = "--live"\n')
    assert has_no_effect(stranger, "lint", code=0).count("no findings in 1 tool") == 2
    stranger.toml('[targets]\n--live = "tools.json"\n')
    assert "is not a target name" in has_no_effect(stranger, "lint", code=2)


def test_a_stored_failure_of_a_stranger_starts_nothing(stranger: Stranger) -> None:
    folder = stranger.repo / ".mcproof" / "failures"
    folder.mkdir(parents=True)
    stranger.clients()
    targets: list[dict[str, Any]] = [
        {"command": stranger.command, "env": ["API_TOKEN"], "complete": True},
        {"url": stranger.url.partition("?")[0], "headers": [], "complete": True},
        {"target": ".mcp.json#cmd"},
        {"target": ".mcp.json#web"},
    ]
    for number, target in enumerate(targets):
        failure = StoredFailure.of(
            target,
            tool=None,
            probe="fuzz",
            method="ping",
            params={},
            outcome="crash",
            what="a ping",
            is_valid=True,
            answer="",
            limit=1,
        )
        name = f"{number:012x}"
        record = {"schema_version": 2, "kind": "failure", **failure._asdict(), "id": name, "seal": "0" * 64}
        write(folder / f"{name}.json", record)
        assert "so nothing is sent to" in has_no_effect(stranger, "replay", name, code=2)
    has_no_effect(stranger, "replay", code=0)


@pytest.mark.parametrize("link", [".mcproof", ".mcproof/failures"])
def test_failures_are_not_stored_through_a_link(stranger: Stranger, link: str) -> None:
    (stranger.repo / ".mcproof").mkdir() if "/" in link else None
    (stranger.repo / link).symlink_to(stranger.outside)
    shown = has_no_effect(stranger, "probe", "--tool", "find_book", "--", *BROKEN)
    assert "is a symbolic link; nothing was stored" in shown


def test_snapshots_of_a_suite_are_not_written_through_a_link(stranger: Stranger) -> None:
    """`run` starts what a suite names, as `make` does; what it writes stays beside the suite."""
    expected = [{"target": "result", "matcher": {"snapshot": True}}]
    test = {"name": "x", "server": "a", "tool": "find_book", "args": {"title": "x"}, "expect": expected}
    suite = {"servers": {"a": {"command": [*BROKEN[:-1], "good"]}}, "tools": [test]}
    write(stranger.repo / "mcproof.yaml", suite)
    (stranger.repo / "mcproof.snapshots.json").symlink_to(stranger.outside / "new.json")
    shown = has_no_effect(stranger, "run", "--update-snapshots")
    assert "is a symbolic link" in shown


def test_no_reference_of_a_schema_is_fetched(stranger: Stranger) -> None:
    url = f"http://127.0.0.1:{stranger.port}/schema.json"
    parameters = {"a": {"$ref": url}, "b": {"$ref": f"{url}#/$defs/x"}}
    schema = {"$schema": url, "$id": url, "type": "object", "properties": parameters, "allOf": [{"$dynamicRef": url}]}
    tool = {"name": "find", "description": "Find.", "inputSchema": schema, "outputSchema": schema}
    write(stranger.repo / "remote.json", [tool])
    for words in (["lint", "--ruleset", "all"], ["grade"], ["schema-lint"], ["schema-lint", "--fix"]):
        has_no_effect(stranger, *words, "remote.json")
    has_no_effect(stranger, "diff", "tools.json", "remote.json")


# --- the action and the promises ----------------------------------------------------------------------------------


def test_the_action_imports_nothing_from_the_checkout_and_names_no_live_server() -> None:
    """`python -m pip` in a checkout with a file `pip.py` would run that file; `-I` prevents it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    modules = re.findall(r"(?i)python\S* (.*?)-m \w+", "\n".join(scripts))
    assert modules == ["-I ", "-I "]
    assert {name: action["inputs"][name]["default"] for name in ("targets", "arguments")} == {
        "targets": "",
        "arguments": "",
    }
    assert not re.search("--live|--all", "\n".join(scripts))


def test_every_promise_names_tests_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for file in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / file).is_file(), file
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", text)
    assert len(named) >= 4
    assert [name for name in named if f"def {name}(" not in tests] == []


# --- what the user names ------------------------------------------------------------------------------------------


@pytest.fixture
def friend(tmp_path: Path) -> Path:
    """A repository with a working server in every form."""
    command, *arguments = RAW
    write(tmp_path / ".mcp.json", {"mcpServers": {"x": {"command": command, "args": [*arguments, "good"]}}})
    words = json.dumps([*RAW, "good"])
    (tmp_path / "mcproof.toml").write_text(
        f'[targets]\nlisted = {words}\nentry = ".mcp.json#x"\n"odd.json" = {words}\n\n'
        f'[targets.table]\ncommand = {words}\nenv = {{ API_TOKEN = "${{API_TOKEN}}" }}\n'
    )
    return tmp_path


@pytest.mark.parametrize("name", ["listed", "entry", "table"])
def test_a_live_target_runs_if_the_command_line_names_it(friend: Path, name: str) -> None:
    done = run("lint", name, "--fail-on", "never", cwd=friend, env={"API_TOKEN": SECRET})
    assert (done.returncode, "tool" in done.stdout) == (0, True), done
    assert f"mcproof: {name}: " in done.stderr


def test_live_runs_all_targets(friend: Path) -> None:
    done = run("lint", "--live", "--format", "json", cwd=friend, env={"API_TOKEN": SECRET})
    assert done.returncode in (0, 1), done
    assert len(json.loads(done.stdout)["targets"]) == 3  # two have the same command and environment
    assert run("lint", "odd.json", "--live", "--fail-on", "never", cwd=friend).returncode == 0


def test_variables_are_needed_only_for_what_runs(friend: Path) -> None:
    done = run("lint", "table", cwd=friend)
    assert done.returncode == 2
    assert "mcproof.toml:6: the server `table` needs the environment variable API_TOKEN" in done.stderr
    assert run("lint", "listed", "--fail-on", "never", cwd=friend).returncode == 0


def test_a_command_of_a_configuration_starts_in_its_folder(friend: Path) -> None:
    script = "import os; open('here', 'w').write(os.getcwd())"
    (friend / "mcproof.toml").write_text(f"[targets]\nx = {json.dumps([sys.executable, '-c', script])}\n")
    below = friend / "below"
    below.mkdir()
    assert run("lint", "x", cwd=below).returncode == 2
    assert Path((friend / "here").read_text()) == friend


def test_a_baseline_that_the_command_line_names_is_written_anywhere(stranger: Stranger) -> None:
    stranger.toml('baseline = "../../known.json"\n')
    done = run("lint", "tools.json", "--update-baseline", "--baseline", "../../known.json", cwd=stranger.repo)
    assert done.returncode == 0
    assert (stranger.outside / "known.json").exists()


@pytest.mark.parametrize(
    ("command", "text", "keys"),
    [
        ("lint", 'ignore = ["SCH-001"]\n[severity]\ngrade = "note"\n', "ignore, severity"),
        ("lint", 'select = ["SCH-001"]\n', "select"),
        ("schema-lint", '[[ignore-for]]\nrules = ["strict"]\n', "ignore-for"),
        ("grade", 'fail-on = "never"\nmin-grade = "F"\n', "fail-on, min-grade"),
    ],
)
def test_the_text_names_a_configuration_that_changes_what_is_checked(
    stranger: Stranger, command: str, text: str, keys: str
) -> None:
    stranger.toml(text, folder=stranger.repo.parent)
    file = stranger.repo.parent / "mcproof.toml"
    assert f"settings: {file} ({keys})\n" in has_no_effect(stranger, command, "tools.json")
    assert "settings:" not in has_no_effect(stranger, command, "tools.json", "--no-config")
    assert "settings:" not in has_no_effect(stranger, command, "tools.json", "--format", "json")


def test_a_configuration_that_changes_nothing_is_not_named(stranger: Stranger) -> None:
    stranger.toml('min-grade = "A"\nrulesets = "all"\n[targets]\na = "tools.json"\n')
    assert "settings:" not in has_no_effect(stranger, "schema-lint", "tools.json")
