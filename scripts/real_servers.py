"""Try mcproof on real servers from the package indexes.

    python scripts/real_servers.py [FOLDER]

Installs six servers into the folder (a temporary one without it), lints each live, captures it, lints the capture, and
compares: the findings about the catalog must be the same. Then one tool of each is probed, and the answers must be
those that were seen by hand. Needs the network, and npm for three of them. Not part of the tests.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

MCPROOF = (sys.executable, "-m", "mcproof")
PYPI = {"venv": ("mcp-server-time", "mcp-server-git"), "venv-sqlite": ("mcp-server-sqlite", "mcp<2")}
"""What goes into which environment: not every server works with the newest library."""
NPM = tuple(f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem", "memory"))


class Answers(NamedTuple):
    """What is known about one tool: arguments that it takes, and which bad requests are accepted all the same."""

    tool: str
    arguments: dict[str, Any]
    accepted: set[str]


PROBES = ("unknown_tool", "missing_required", "wrong_type", "extra_field", "oversized", "unknown_method")


def known_answers(folder: pathlib.Path) -> dict[str, Answers]:
    """What was seen by hand. No validator of these servers minds a field too many, and few mind a long text."""
    git_log = {"repo_path": str(folder / "repository")}
    read_text_file = {"path": str(folder / "hello.txt")}
    return {
        "time": Answers("get_current_time", {"timezone": "UTC"}, {"extra_field"}),
        "git": Answers("git_log", git_log, {"extra_field"}),
        "sqlite": Answers("read_query", {"query": "SELECT 1"}, {"unknown_tool", "extra_field", "oversized"}),
        "everything": Answers("echo", {"message": "hello"}, {"extra_field", "oversized"}),
        "filesystem": Answers("read_text_file", read_text_file, {"extra_field"}),
        "memory": Answers("search_nodes", {"query": "hello"}, {"extra_field", "oversized"}),
    }


def install(folder: pathlib.Path) -> None:
    for environment, packages in PYPI.items():
        subprocess.run([sys.executable, "-m", "venv", str(folder / environment)], check=True)
        subprocess.run([str(folder / environment / "bin" / "pip"), "install", "--quiet", *packages], check=True)
    (folder / "hello.txt").write_text("hello\n", encoding="utf-8")
    make_repository(folder / "repository")
    if shutil.which("npm"):
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *NPM]
        subprocess.run(words, check=True)


def make_repository(folder: pathlib.Path) -> None:
    """A repository with one commit, so that there is something to log."""
    author = ["-c", "user.name=mcproof", "-c", "user.email=mcproof@example.com"]
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    commit = ["git", "-C", str(folder), *author, "commit", "--quiet", "--allow-empty", "--message", "hello"]
    subprocess.run(commit, check=True)


def commands(folder: pathlib.Path) -> dict[str, list[str]]:
    venv, node = folder / "venv" / "bin", folder / "node_modules" / ".bin"
    listed = {
        "time": [str(venv / "mcp-server-time")],
        "git": [str(venv / "mcp-server-git"), "--repository", str(folder / "repository")],
        "sqlite": [str(folder / "venv-sqlite/bin/mcp-server-sqlite"), "--db-path", str(folder / "test.db")],
        "everything": [str(node / "mcp-server-everything"), "stdio"],
        "filesystem": [str(node / "mcp-server-filesystem"), str(folder)],
        "memory": [str(node / "mcp-server-memory")],
    }
    return {name: words for name, words in listed.items() if pathlib.Path(words[0]).exists()}


def lint(*target: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [*MCPROOF, "lint", "--no-config", "--format", "json", *target], capture_output=True, text=True, check=False
    )
    document = json.loads(done.stdout)
    if "error" in document:
        sys.exit(document["error"]["message"])
    findings: list[dict[str, Any]] = document["findings"]
    return findings


def about_the_catalog(findings: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    kept = [each for each in findings if each["ruleset"] != "wire"]
    return sorted((each["rule"], each["subject"], each["pointer"], each["message"]) for each in kept)


def compare(name: str, folder: pathlib.Path, *target: str) -> bool:
    """Whether a live server and its capture give the same findings."""
    file = str(folder / f"{name}.json")
    start = time.perf_counter()
    live = lint(*target)
    seconds = time.perf_counter() - start
    subprocess.run([*MCPROOF, "capture", "-o", file, *target], check=True, stderr=subprocess.DEVNULL)
    same = about_the_catalog(live) == about_the_catalog(lint(file))
    wire = [f"{each['rule']} {each['message']}" for each in live if each["ruleset"] == "wire"]
    verdict = "same" if same else "DIFFERENT"
    print(
        f"{name:18} {verdict}  {len(about_the_catalog(live)):3} findings  {seconds:4.1f} s  {'; '.join(wire)}",
        flush=True,
    )
    return same


def prove(name: str, folder: pathlib.Path, *target: str) -> bool:
    """Whether the probes of one tool are answered as they were when they were sent by hand."""
    known = known_answers(folder)[name]
    given = ["--tool", known.tool, "--args", json.dumps(known.arguments)]
    words = [*MCPROOF, "prove", "--no-config", "--format", "json", *given, *target]
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    seconds = time.perf_counter() - start
    document = json.loads(done.stdout)
    if "error" in document:
        sys.exit(document["error"]["message"])
    outcomes = {each["probe"]: each["outcome"] for each in document["probes"]}
    expected = {probe: "accepted" if probe in known.accepted else "rejected" for probe in PROBES}
    expected["baseline"] = "accepted"
    other = [
        f"{probe} is {outcomes.get(probe)}" for probe, outcome in expected.items() if outcomes.get(probe) != outcome
    ]
    kept = document["promises"]
    print(
        f"{name:18} {'other answers: ' + ', '.join(other) if other else 'as known'}  {seconds:4.1f} s  "
        f"{known.tool}: {kept['kept']} of {kept['declared']} promises kept",
        flush=True,
    )
    return not other


def over_http(folder: pathlib.Path, transport: str, path: str) -> bool:
    """The server `everything` again, at a URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [commands(folder)["everything"][0], transport]
    with subprocess.Popen(
        words, env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            return compare(f"everything {transport}", folder, f"http://127.0.0.1:{port}{path}")
        finally:
            server.terminate()


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        install(folder)
        results = [compare(name, folder, "--", *words) for name, words in commands(folder).items()]
        results += [prove(name, folder, "--", *words) for name, words in commands(folder).items()]
        if "everything" in commands(folder):
            results += [over_http(folder, "streamableHttp", "/mcp"), over_http(folder, "sse", "/sse")]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
