"""Python source as a target: the catalog that it would serve, read without importing or running it."""

from __future__ import annotations

from mcproof.catalog.model import SourceTool
from mcproof.discovery.document.node_locations import Place
from mcproof.discovery.pipeline import Discovered, discover
from mcproof.discovery.project.source_files import Problem

__all__ = ["Discovered", "Place", "Problem", "SourceTool", "discover"]
