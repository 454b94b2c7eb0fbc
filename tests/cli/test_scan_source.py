"""`mcproof scan` of Python source: where parameters of tools go."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Any

from .running import document_of, run

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
    import subprocess
    from mcp.server.fastmcp import FastMCP

    mcp = FastMCP("demo")

    def run(command):
        return subprocess.run(command, shell=True, capture_output=True, text=True).stdout

    @mcp.tool()
    def ping(host: str) -> str:
        '''Ping a host and report how long it takes.'''
        return run(f"ping -c 1 {host}")

    def main():
        mcp.run(TRANSPORT)

    if __name__ == "__main__":
        main()
"""


def scanned(folder: Path, transport: str) -> dict[str, Any]:
    (folder / "server.py").write_text(dedent(SERVER).replace("TRANSPORT", transport), encoding="utf-8")
    document: dict[str, Any] = document_of(run("scan", str(folder), "--format", "json"), "scan")
    return document


def test_a_shell_command_is_reported_at_the_call_with_its_path(tmp_path: Path) -> None:
    document = scanned(tmp_path, "")
    [finding] = [each for each in document["findings"] if each["rule"] == "TRU-301"]
    file = str(tmp_path / "server.py")
    assert (finding["file"], finding["line"]) == (file, 8)
    assert finding["message"] == "subprocess.run() runs a command that contains `host` (tool `ping`)"
    evidence = finding["evidence"]
    assert (evidence["tools"], evidence["parameters"], evidence["function"]) == (["ping"], ["host"], "run")
    assert [(step["line"], step["code"]) for step in evidence["path"]][:2] == [
        (11, "parameter `host` of ping()"),
        (13, "run()"),
    ]
    assert evidence["sink"]["line"] == 8


def test_a_local_server_is_not_blocked_by_it(tmp_path: Path) -> None:
    trust = scanned(tmp_path, "")["trust"]
    assert trust["hard_fails"] == []
    assert trust["verdict"] == "review"


def test_a_server_that_anyone_can_call_is_blocked_by_it(tmp_path: Path) -> None:
    trust = scanned(tmp_path, "transport='sse', host='0.0.0.0'")["trust"]
    assert trust["hard_fails"] == ["TRU-301"]
    assert trust["verdict"] == "block"


def test_a_method_that_no_tool_calls_is_a_warning(tmp_path: Path) -> None:
    source = """
        from mcp.server.fastmcp import FastMCP

        mcp = FastMCP("demo")

        class Store:
            def size(self, key):
                return len(key)

            def save(self, path):
                open(path, "w")

        store = Store()

        @mcp.tool()
        def size(key: str) -> int:
            '''Return the size of an entry.'''
            return store.size(key)
    """
    (tmp_path / "server.py").write_text(dedent(source), encoding="utf-8")
    document = document_of(run("scan", str(tmp_path), "--format", "json"), "scan")
    [finding] = [each for each in document["findings"] if each["rule"] == "TRU-304"]
    assert finding["severity"] == "medium"
    assert finding["message"].endswith("(no tool calls this method, but tools use its class)")
