"""The protocol revisions that mcproof speaks, by era."""

from __future__ import annotations

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = ("2026-07-28",)
"""The revisions of each era, newest first."""

REVISIONS = (*STATELESS, *HANDSHAKE)
FIRST_STATELESS = STATELESS[-1]
"""Revisions are dates, so `revision >= FIRST_STATELESS` tells the eras apart."""
