"""Suites: tests of MCP servers in YAML. Read, checked before anything starts, run."""
