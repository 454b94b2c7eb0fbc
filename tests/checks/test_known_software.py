"""What is known of a server's software, and what is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.advisories import LISTED_SERVER, advisory_hits, known_software
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.source.packages.installed import command_packages, project_packages
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import Catalog
    from mcproof.core.observations.source import KnownSoftware


def catalog(server: Any = None, info: Any = None) -> Catalog:
    document = {"initialize": {"serverInfo": info or {}}, "tools": [{"name": "a"}]}
    if server is not None:
        document["server"] = server
    return read_snapshot(json.dumps(document).encode(), "case.json")


def named(command: str) -> list[tuple[str, str | None]]:
    return [(each.name, each.version) for each in command_packages(command.split())]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npx -y mcp-remote@0.1.14 https://host/mcp", [("mcp-remote", "0.1.14")]),
        ("npx mcp-remote", [("mcp-remote", None)]),
        ("npx -y mcp-remote@latest", [("mcp-remote", None)]),
        ("npx -y mcp-remote@^0.1.0", [("mcp-remote", None)]),
        ("npx -y mcp-remote@0.1", [("mcp-remote", None)]),
        ("npx -y @scope/Server@2.0.0-beta.1 /data", [("@scope/server", "2.0.0-beta.1")]),
        ("npx --package=@scope/server@2.0.0 run-it", [("@scope/server", "2.0.0")]),
        ("npx -p one@1.0.0 -p two@2.0.0 one", [("one", "1.0.0"), ("two", "2.0.0")]),
        ("/usr/bin/npx -y a@1.2.3", [("a", "1.2.3")]),
        ("cmd /c npx -y a@1.2.3", [("a", "1.2.3")]),
        ("C:\\node\\npx.cmd -y a@1.2.3", [("a", "1.2.3")]),
        ("env TOKEN=x npx a@1.2.3", [("a", "1.2.3")]),
        ("npm exec -y -- a@1.2.3 --flag", [("a", "1.2.3")]),
        ("pnpm dlx a@1.2.3", [("a", "1.2.3")]),
        ("bunx a@1.2.3", [("a", "1.2.3")]),
        ("deno run npm:a@1.2.3", [("a", "1.2.3")]),
        ("npx github:user/repo", []),
        ("npx ./local", []),
        ("uvx mcp-server-git==2025.7.1 --repository .", [("mcp-server-git", "2025.7.1")]),
        ("uvx MCP_Server.Git@2025.7.1", [("mcp-server-git", "2025.7.1")]),
        ("uvx mcp-server-git@latest", [("mcp-server-git", None)]),
        ("uvx --python 3.12 --from mcp-server-git==2025.7.1 git-it", [("mcp-server-git", "2025.7.1")]),
        ("uvx --from=pkg[cli]==1.2 --with mcp==1.9.0 pkg", [("pkg", "1.2"), ("mcp", "1.9.0")]),
        ("uvx --from git+https://host/x pkg", []),
        ("uvx pkg>=1.0", [("pkg", None)]),
        ("uv tool run pkg==1.0", [("pkg", "1.0")]),
        ("pipx run --spec pkg==1.0 cmd", [("pkg", "1.0")]),
        ("pipx run pkg==1.0", [("pkg", "1.0")]),
        ("python server.py", []),
        ("", []),
    ],
)
def test_a_command_names_its_packages(command: str, expected: list[tuple[str, str | None]]) -> None:
    assert named(command) == expected


def hits(software: KnownSoftware, role: str = "server") -> list[str]:
    return [each.advisory.id for each in advisory_hits(software, role)]


def started(command: str, server: Catalog | None = None, directory: str | None = None) -> KnownSoftware:
    return known_software(server or catalog(), endpoint=CommandEndpoint(tuple(command.split()), {}, directory))


def test_a_pinned_command_is_checked() -> None:
    assert hits(started("npx -y mcp-remote@0.1.14 https://host/mcp")) == ["CVE-2025-6514"]
    fixed = started("npx -y mcp-remote@0.1.16 https://host/mcp")
    assert hits(fixed) == []
    assert "TRU-401" not in fixed.unobserved


def test_an_unknown_version_is_not_checked_and_never_passes() -> None:
    software = started("npx -y mcp-remote https://host/mcp", catalog(info={"name": "other", "version": "1.0"}))
    assert software.unobserved["TRU-401"] == "the version of mcp-remote is unknown"
    assert software.unobserved[LISTED_SERVER] == "the version of mcp-remote is unknown"


def test_a_server_that_reports_nothing_is_not_checked() -> None:
    software = known_software(catalog())
    assert set(software.unobserved) == {"TRU-401", "TRU-402", "TRU-403", LISTED_SERVER}
    reported = known_software(catalog(info={"name": "weather", "version": "1.0"}))
    assert set(reported.unobserved) == {"TRU-401", "TRU-402", "TRU-403"}


def test_a_reported_name_that_is_a_package_is_checked() -> None:
    assert hits(known_software(catalog(info={"name": "MCP_Server_Git", "version": "2025.12.18"}))) == ["CVE-2026-27735"]
    assert hits(known_software(catalog(info={"name": "mcp-server-git", "version": "2026.1.14"}))) == []


def test_the_package_of_a_capture_comes_before_what_the_server_reports() -> None:
    server = {"registry": "pypi", "package": "mcp-server-git", "version": "2026.10.19"}
    assert hits(known_software(catalog(server, {"name": "mcp-server-git", "version": "1.2.0"}))) == []
    assert hits(known_software(catalog({**server, "version": "2025.12.18"}))) == ["CVE-2026-27735"]
    assert hits(known_software(catalog({"command": ["uvx", "mcp-server-git==2025.12.18"]}))) == ["CVE-2026-27735"]


def test_an_advisory_about_http_is_judged_where_the_transport_is_known() -> None:
    server = {"registry": "pypi", "package": "mcp-pinot-server", "version": "2.3.0"}
    unknown = known_software(catalog(server))
    assert hits(unknown) == []
    assert unknown.unobserved["TRU-401"].endswith("applies only if the server is served over HTTP")
    assert hits(known_software(catalog(server), endpoint=UrlEndpoint("https://host/mcp", {}))) == ["CVE-2026-49257"]
    over_stdio = started("python x.py", catalog(server))
    assert hits(over_stdio) == []
    assert "TRU-401" not in over_stdio.unobserved


NODE_SDK = {"registry": "npm", "package": "@modelcontextprotocol/sdk"}
DISPATCHER = "CVE-2026-0621"


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ({"resourceTemplates": [{"uriTemplate": "files://{/path*}"}]}, [DISPATCHER]),
        ({"resourceTemplates": [{"uriTemplate": "files://{?tags*}"}, {"uriTemplate": "a://{b}"}]}, [DISPATCHER]),
        ({"resourceTemplates": [{"uriTemplate": "files://{path}"}]}, []),
        ({"resourceTemplates": []}, []),
        ({"initialize": {"capabilities": {"tools": {}}}}, []),
        ({}, None),
        ({"initialize": {"capabilities": {"resources": {}}}}, None),
    ],
)
def test_an_advisory_about_templates_needs_one_with_an_exploded_variable(
    listed: dict[str, Any], expected: list[str] | None
) -> None:
    document = {"server": {**NODE_SDK, "version": "1.21.2", "command": ["x"]}, "tools": [{"name": "a"}], **listed}
    software = known_software(read_snapshot(json.dumps(document).encode(), "case.json"))
    assert hits(software, "framework") == (expected or [])
    assert (DISPATCHER in software.unobserved.get("TRU-402", "")) == (expected is None)


@pytest.mark.parametrize(("version", "expected"), [("1.2.0", []), ("1.3.0", [DISPATCHER]), ("1.25.2", [])])
def test_an_advisory_about_a_part_begins_with_the_version_that_has_it(version: str, expected: list[str]) -> None:
    document: dict[str, Any] = {"server": {**NODE_SDK, "version": version, "command": ["x"]}, "tools": []}
    document["resourceTemplates"] = [{"uriTemplate": "files://{/path*}"}]
    assert hits(known_software(read_snapshot(json.dumps(document).encode(), "case.json")), "framework") == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("mcp = FastMCP.from_openapi(spec, client)\n", ["CVE-2026-32871"]),
        ("mcp = FastMCP('a', auth=GitHubProvider())\n", []),
        ("mcp = FastMCP('a')\n", []),
    ],
)
def test_an_advisory_about_a_part_of_a_framework_needs_source_that_uses_it(
    tmp_path: Path, code: str, expected: list[str]
) -> None:
    write(tmp_path, requirements__txt="fastmcp==2.14.7\n")
    (tmp_path / "server.py").write_text(code)
    software = started("no-such-python server.py", directory=str(tmp_path))
    assert hits(software, "framework") == expected
    assert "CVE-2026-32871" not in software.unobserved.get("TRU-402", "")
    (tmp_path / "server.py").rename(tmp_path / "server.txt")
    unknown = known_software(catalog(), source=str(tmp_path))
    assert hits(unknown, "framework") == []
    assert "generated from an OpenAPI document" in unknown.unobserved["TRU-402"]


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".").replace("0", "-")).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"uv__lock": '[[package]]\nname = "mcp"\nversion = "1.9.0"\n'}, [("mcp", "1.9.0", "uv.lock")]),
        ({"poetry__lock": '[[package]]\nname = "fastmcp"\nversion = "2.1"\n'}, [("fastmcp", "2.1", "poetry.lock")]),
        ({"requirements__txt": "# mcp==0.1\nmcp[cli]==1.9.0 \\\n  --hash=x\n"}, [("mcp", "1.9.0", "requirements.txt")]),
        ({"requirements__txt": "mcp>=1.9.0\nmcp-thing==1.0\n"}, []),
        ({"requirements__txt": "mcp==1.9.*\n"}, []),
        (
            {"pyproject__toml": '[project]\nname = "My_Server"\nversion = "1.2"\ndependencies = ["mcp == 1.9.0"]\n'},
            [("my-server", "1.2", "pyproject.toml"), ("mcp", "1.9.0", "pyproject.toml")],
        ),
        ({"pyproject__toml": "[project\n"}, []),
        (
            {
                "package__json": '{"name": "My-Server", "version": "0.3.0"}',
                "package0lock__json": json.dumps(
                    {"packages": {"node_modules/@modelcontextprotocol/sdk": {"version": "1.23.0"}}}
                ),
            },
            [("my-server", "0.3.0", "package.json"), ("@modelcontextprotocol/sdk", "1.23.0", "package-lock.json")],
        ),
        (
            {"package__json": '{"dependencies": {"@modelcontextprotocol/sdk": "^1.0.0"}}'},
            [("@modelcontextprotocol/sdk", None, "package.json")],
        ),
        (
            {"package__json": "{}", "pnpm0lock__yaml": "  '@modelcontextprotocol/sdk@1.20.1':\n"},
            [("@modelcontextprotocol/sdk", "1.20.1", "pnpm-lock.yaml")],
        ),
    ],
)
def test_a_project_pins_its_frameworks(tmp_path: Path, files: dict[str, str], expected: list[Any]) -> None:
    write(tmp_path, **files)
    assert [(each.name, each.version, each.known_from) for each in project_packages(str(tmp_path))] == expected


def test_a_file_belongs_to_the_project_around_it(tmp_path: Path) -> None:
    write(tmp_path, uv__lock='name = "mcp"\nversion = "1.9.3"\n')
    folder = tmp_path / "src" / "server"
    folder.mkdir(parents=True)
    (folder / "main.py").write_text("")
    software = known_software(catalog(), source=str(folder / "main.py"))
    assert hits(software, "framework") == ["CVE-2025-53366"]
    (tmp_path / "src" / ".git").mkdir()
    assert project_packages(str(folder)) == []


def install(prefix: Path, name: str, version: str, entry_points: str = "") -> None:
    info = prefix / "lib" / "python3.12" / "site-packages" / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"{name.replace('-', '_')}/__init__.py,,\n")
    (info / "entry_points.txt").write_text(entry_points)


def test_what_is_installed_beside_the_interpreter_is_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("python", "git-it"):
        (tmp_path / "bin" / name).write_text("exit 1")
    install(tmp_path, "mcp", "1.9.0")
    install(tmp_path, "mcp-server-git", "2025.12.18", "[console_scripts]\ngit-it = mcp_server_git:main\n")
    install(tmp_path, "other", "1.0")
    for command in ("bin/python -m mcp_server_git", "bin/git-it"):
        software = started(command, directory=str(tmp_path))
        assert sorted((each.name, each.version) for each in software.packages) == [
            ("mcp", "1.9.0"),
            ("mcp-server-git", "2025.12.18"),
        ]
        assert hits(software) == ["CVE-2026-27735"]


def known(command: str, directory: Path) -> list[tuple[str, str | None]]:
    return sorted((each.name, each.version) for each in started(command, directory=str(directory)).packages)


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_program_installed_elsewhere_leads_to_its_environment(tmp_path: Path, is_linked: bool) -> None:
    tool, bin_folder = tmp_path / "tools" / "git", tmp_path / "bin"
    (tool / "bin").mkdir(parents=True)
    bin_folder.mkdir()
    program = f"#!{tool}/bin/python\nimport sys\n"
    (tool / "bin" / "git-it").write_text(program)
    install(tool, "mcp-server-git", "2025.12.18", "[console_scripts]\ngit-it = mcp_server_git:main\n")
    if is_linked:
        (bin_folder / "git-it").symlink_to(tool / "bin" / "git-it")
    else:
        (bin_folder / "git-it").write_text(program)
    assert known("bin/git-it", tmp_path) == [("mcp-server-git", "2025.12.18")]


def test_python_with_a_file_that_is_installed_belongs_to_its_package(tmp_path: Path) -> None:
    install(tmp_path, "mcp", "1.9.0")
    install(tmp_path, "mcp-server-git", "2025.12.18", "[console_scripts]\ngit-it = mcp_server_git:main\n")
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    for file in (site / "mcp_server_git" / "__init__.py", tmp_path / "bin" / "git-it"):
        file.parent.mkdir()
        file.write_text("")
    for script in ("lib/python3.12/site-packages/mcp_server_git/__init__.py", "bin/git-it"):
        assert known(f"no-such-folder/python {script}", tmp_path) == [
            ("mcp", "1.9.0"),
            ("mcp-server-git", "2025.12.18"),
        ]


def test_a_program_of_another_language_has_no_python_packages(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("server", "node"):
        (tmp_path / "bin" / name).write_text("")
    install(tmp_path, "mcp", "1.9.0")
    assert (known("bin/server", tmp_path), known("bin/node server.js", tmp_path)) == ([], [])


SDK = {"dependencies": {"@modelcontextprotocol/sdk": "^1.0.0"}}


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A project with an installed server, the SDK beside it, and a link to its program."""
    folder = tmp_path / "node_modules"
    (folder / ".bin").mkdir(parents=True)
    for name, version, more in (("mcp-remote", "0.1.14", SDK), ("@modelcontextprotocol/sdk", "1.10.0", {})):
        (folder / name / "dist").mkdir(parents=True)
        (folder / name / "dist" / "proxy.js").write_text("")
        (folder / name / "package.json").write_text(json.dumps({"name": name, "version": version, **more}))
    (folder / "mcp-remote" / "dist" / "package.json").write_text('{"type": "module"}')
    (folder / ".bin" / "mcp-remote").symlink_to("../mcp-remote/dist/proxy.js")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "node node_modules/.bin/mcp-remote https://host/mcp",
        "node --no-warnings node_modules/mcp-remote/dist/proxy.js",
        "node node_modules/mcp-remote",
        "node_modules/.bin/mcp-remote",
        "env TOKEN=x node_modules/.bin/mcp-remote",
        "npx mcp-remote",
    ],
)
def test_a_program_in_node_modules_belongs_to_its_package(modules: Path, command: str) -> None:
    software = started(command, directory=str(modules))
    expected = [("@modelcontextprotocol/sdk", "1.10.0"), ("mcp-remote", "0.1.14")]
    assert sorted((each.name, each.version) for each in software.packages) == expected
    assert "CVE-2025-6514" in hits(software)


@pytest.mark.parametrize(
    ("imported", "expected"),
    [('import { FastMCP } from "fastmcp";', "1.32.2"), ('import "@modelcontextprotocol/sdk"', "1.10.0")],
)
def test_the_sdk_is_the_one_that_is_imported(modules: Path, imported: str, expected: str) -> None:
    folder = modules / "node_modules"
    (folder / "mcp-remote" / "dist" / "proxy.js").write_text(imported)
    dependencies = {"fastmcp": "^3.0.0", **SDK["dependencies"]}
    package = {"name": "mcp-remote", "version": "0.1.14", "dependencies": dependencies}
    (folder / "mcp-remote" / "package.json").write_text(json.dumps(package))
    nested = folder / "fastmcp" / "node_modules" / "@modelcontextprotocol" / "sdk"
    nested.mkdir(parents=True)
    (folder / "fastmcp" / "package.json").write_text(json.dumps({"name": "fastmcp", "version": "3.0.0", **SDK}))
    (nested / "package.json").write_text(json.dumps({"version": "1.32.2"}))
    assert ("@modelcontextprotocol/sdk", expected) in known("node_modules/.bin/mcp-remote", modules)


@pytest.mark.parametrize(
    "launcher",
    [
        '#!/bin/sh\nexec node "$basedir/../mcp-remote/dist/proxy.js" "$@"\n',
        '@"%~dp0\\node.exe" "%~dp0\\..\\mcp-remote\\dist\\proxy.js" %*\n',
    ],
)
def test_a_launcher_leads_to_its_package(modules: Path, launcher: str) -> None:
    file = modules / "node_modules" / ".bin" / "mcp-remote"
    file.unlink()
    file.write_text(launcher)
    assert ("mcp-remote", "0.1.14") in known("node node_modules/.bin/mcp-remote", modules)


@pytest.mark.parametrize("command", ["npx mcp-remote@latest", "npx -y other", "node node_modules/.bin/none", "node x"])
def test_what_is_not_run_from_node_modules_is_not_known(modules: Path, command: str) -> None:
    assert [version for _, version in known(command, modules)] in ([], [None])


def test_a_script_belongs_to_its_project(tmp_path: Path) -> None:
    write(tmp_path, requirements__txt="fastmcp==2.12.5\n")
    (tmp_path / "server.py").write_text("")
    software = started("no-such-python server.py", directory=str(tmp_path))
    assert [each.name for each in software.packages] == ["fastmcp"]


def test_hostile_files_are_read_within_limits(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("[" * 100_000)
    (tmp_path / "pyproject.toml").write_text("a = " + "[" * 100_000)
    (tmp_path / "uv.lock").write_bytes(b"\xff" * 1000)
    assert project_packages(str(tmp_path)) == []
