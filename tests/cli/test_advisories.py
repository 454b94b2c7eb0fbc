"""`mcproof explain advisories`, and what `scan` makes of the software of a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .running import CLEAN_TOOL, document_of, run, write

if TYPE_CHECKING:
    from pathlib import Path


def test_the_table_is_listed_with_its_date() -> None:
    done = run("advisories")
    assert (done.returncode, done.stderr) == (0, "")
    document = document_of(run("advisories", "--format", "json"), "advisories")
    assert done.stdout.splitlines()[-1].endswith(f"checked {document['checked']}")
    assert all(each["id"] in done.stdout for each in document["advisories"])


def test_one_package_is_listed() -> None:
    done = run("advisories", "MCP-Remote")
    assert "CVE-2025-6514 critical, command injection: >=0.0.5,<0.1.16, fixed in 0.1.16" in done.stdout
    assert "mcp-server-git" not in done.stdout


def test_a_package_without_an_advisory_is_not_an_error() -> None:
    done = run("advisories", "mcp-remot")
    assert done.returncode == 0
    assert "no advisory about mcp-remot is in the table (did you mean `mcp-remote`?)" in done.stderr
    document = document_of(run("advisories", "nothing", "--format", "json"), "advisories")
    assert document["advisories"] == []


def scanned(folder: Path, server: dict[str, Any]) -> Any:
    capture = {"server": server, "initialize": {"serverInfo": {"name": "git", "version": "1"}}, "tools": [CLEAN_TOOL]}
    return json.loads(run("scan", write(folder / "capture.json", capture), "--format", "json").stdout)


def test_scan_blocks_a_server_with_a_known_advisory(tmp_path: Path) -> None:
    server = {"registry": "pypi", "package": "mcp-server-git", "version": "2025.12.18"}
    document = scanned(tmp_path, server)
    assert {"TRU-401", "serverInfo_not_in_known_advisory_list"} <= set(document["trust"]["hard_fails"])
    (finding,) = [each for each in document["findings"] if each["rule"] == "serverInfo_not_in_known_advisory_list"]
    (hit,) = finding["evidence"]["hits"]
    assert hit == {
        "advisoryId": "CVE-2026-27735",
        "serverName": "git",
        "serverVersion": "2025.12.18",
        "reference": "https://nvd.nist.gov/vuln/detail/CVE-2026-27735",
    }
    fixed = scanned(tmp_path, {**server, "version": "2026.1.14"})
    assert fixed["trust"]["hard_fails"] == []


def test_scan_does_not_block_where_an_advisory_may_not_apply(tmp_path: Path) -> None:
    document = scanned(tmp_path, {"registry": "pypi", "package": "ha-mcp", "version": "3.5.1"})
    assert document["trust"]["hard_fails"] == []
    assert not any(finding["rule"] == "TRU-401" for finding in document["findings"])
    reasons = json.dumps(document["trust"])
    assert (
        "CVE-2026-32111 in ha-mcp 3.5.1 applies only if the server is served over HTTP and the server runs" in reasons
    )
