"""Authorization for servers at a URL: OAuth 2.1 as the MCP specification defines it."""
