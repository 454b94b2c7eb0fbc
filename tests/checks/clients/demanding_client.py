"""A client that objects to everything that `compat --fix` edits, and to nothing else."""

from __future__ import annotations

from typing import Any

from mcproof.checks.clients.profiles import ClientChoice, NamedClient, profile_from

_DEMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "reference": ("input.ref", {"forbid": ["any"]}),
    "output-reference": ("output.ref", {"forbid": ["any"]}),
    "types": ("input.type_union", {}),
    "keywords": ("input.forbids", {"keywords": ["const", "$schema", "definitions"]}),
    "properties": ("input.root_requires", {"keywords": ["properties"]}),
    "dialect": ("output.dialect", {"allowed": ["2020-12"]}),
}
DEMANDING = profile_from(
    {
        "id": "demanding",
        "name": "Demanding",
        "kind": "client",
        "checked": "2026-01-01",
        "constraints": [
            {
                "id": name,
                "rule": "CMP-030",
                "kind": kind,
                "params": params,
                "effect": "tool_dropped",
                "status": "current",
                "sources": [{"url": "https://example.com", "kind": "documented", "date": "2026-01-01"}],
            }
            for name, (kind, params) in _DEMANDS.items()
        ],
    }
)
DEMANDING_ONLY = ClientChoice({"demanding": DEMANDING}, (NamedClient("demanding"),))
"""The choice of this client, in a world without others."""
