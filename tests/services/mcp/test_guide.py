"""The configurations in the guide for agents start the server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.running import CLEAN_TOOL, write
from mcproof.targets.client_config import read_servers

from .served import agent_of, stdio

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "agents.md"
FILES = dict(re.findall(r"^```json (\S+)\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("file", [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"])
def test_a_configuration_starts_the_server(file: str, tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads(FILES[file])
    servers = read_servers(FILES[file], file)
    assert servers is not None
    assert [each.name for each in servers] == ["mcproof"]
    entry = (document.get("servers") or document["mcpServers"])["mcproof"]
    assert entry["command"] == "mcproof"
    command, *arguments = (word.replace("${workspaceFolder}", str(tmp_path)) for word in entry["args"])
    assert command == "mcp"
    write(tmp_path / "tools.json", {"tools": [CLEAN_TOOL]})
    with agent_of(stdio(tmp_path, *arguments)) as served:
        assert served.document("grade_catalog", target="tools.json")["grade"] == "A"
        assert "outside the allowed folders" in served.error("grade_catalog", target="..")
