"""Collect what the source of a target shows about its configuration."""

from __future__ import annotations

from mcproof.core.observations.source import SourceConfiguration
from mcproof.discovery.configuration.bound_addresses import open_bindings
from mcproof.discovery.configuration.forwarded_tokens import forwarded_tokens
from mcproof.discovery.configuration.secret_literals import source_secrets
from mcproof.discovery.configuration.syntax_trees import source_trees


def source_configuration(target: str) -> SourceConfiguration:
    """Return the configuration in a file or folder of Python source; nothing is run."""
    trees = source_trees(target)
    return SourceConfiguration(
        bindings=tuple(open_bindings(trees)),
        secrets=tuple(source_secrets(trees)),
        tokens=tuple(forwarded_tokens(trees)),
    )
