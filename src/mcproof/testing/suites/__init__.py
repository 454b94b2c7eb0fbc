"""Suites: tests of MCP servers in YAML, validated before any server starts."""
