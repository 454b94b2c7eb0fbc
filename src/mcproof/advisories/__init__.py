"""Advisories: known vulnerabilities of MCP servers and frameworks, and what is known of a server's software."""
