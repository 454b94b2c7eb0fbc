"""Python source as a target: the catalog that it would serve, discovered without importing or running it."""

from __future__ import annotations

from mcproof.core.catalog.model import SourceTool
from mcproof.core.observations.source import SourceLocation, SourceProblem
from mcproof.discovery.frameworks.source_prefilter import may_register
from mcproof.discovery.pipeline import discover, discover_servers, flows_of, rediscover
from mcproof.discovery.project.source_files import decoded, python_files, read_bytes

__all__ = [
    "SourceLocation",
    "SourceProblem",
    "SourceTool",
    "decoded",
    "discover",
    "discover_servers",
    "flows_of",
    "may_register",
    "python_files",
    "read_bytes",
    "rediscover",
]
