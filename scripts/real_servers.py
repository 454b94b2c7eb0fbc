"""Try mcproof on real servers from the package indexes.

    python scripts/real_servers.py [FOLDER]

Installs five servers into the folder (a temporary one without it), lints each live, captures it, lints the capture, and
compares: the findings about the catalog must be the same. Needs the network, and npm for three of them. Not part of the
tests.
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
from typing import Any

MCPROOF = (sys.executable, "-m", "mcproof")
PYPI = ("mcp-server-time", "mcp-server-git")
NPM = tuple(f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem", "memory"))


def install(folder: pathlib.Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    subprocess.run([str(folder / "venv" / "bin" / "pip"), "install", "--quiet", *PYPI], check=True)
    (folder / "repository").mkdir(exist_ok=True)
    subprocess.run(["git", "init", "--quiet", str(folder / "repository")], check=True)
    if shutil.which("npm"):
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *NPM]
        subprocess.run(words, check=True)


def commands(folder: pathlib.Path) -> dict[str, list[str]]:
    venv, node = folder / "venv" / "bin", folder / "node_modules" / ".bin"
    listed = {
        "time": [str(venv / "mcp-server-time")],
        "git": [str(venv / "mcp-server-git"), "--repository", str(folder / "repository")],
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
        if "everything" in commands(folder):
            results += [over_http(folder, "streamableHttp", "/mcp"), over_http(folder, "sse", "/sse")]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
