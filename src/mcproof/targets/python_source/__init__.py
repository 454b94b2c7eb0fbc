"""Python source as a target: the catalog that it would serve, read without importing or running it."""

from __future__ import annotations

from mcproof.catalog import SourceTool
from mcproof.targets.python_source.discovery import Discovered, discover
from mcproof.targets.python_source.places import Place
from mcproof.targets.python_source.walking import Problem

__all__ = ["Discovered", "Place", "Problem", "SourceTool", "discover"]
