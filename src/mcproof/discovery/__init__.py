"""Python source as a target: the catalog that it would serve, read without importing or running it."""

from __future__ import annotations

from mcproof.catalog.model import SourceTool
from mcproof.discovery.discovery import Discovered, discover
from mcproof.discovery.places import Place
from mcproof.discovery.walking import Problem

__all__ = ["Discovered", "Place", "Problem", "SourceTool", "discover"]
