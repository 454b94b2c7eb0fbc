"""The protocol revisions that mcproof speaks, by era.

A new revision of MCP starts here. What it demands is in `checks.rules.spec`, whose `demand` names the revisions;
what changes on the wire is in `client.connection` and `client.http.headers`.
"""

from __future__ import annotations

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = ("2026-07-28",)
"""The revisions of each era, newest first."""

REVISIONS = (*STATELESS, *HANDSHAKE)
FIRST_STATELESS = STATELESS[-1]
"""Revisions are dates, so `revision >= FIRST_STATELESS` tells the eras apart."""
