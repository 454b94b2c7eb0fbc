"""Targets: from what the user points at to catalogs."""
