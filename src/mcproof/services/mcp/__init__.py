"""mcproof as an MCP server: the static checks as tools for agents that write servers.

The server process speaks MCP, through the official SDK. Catalogs are hostile input, so they are read and checked in
a child process that is confined, bounded in memory and killed when a check takes too long.
Why a child process reads catalogs: docs/decisions/0057-agents-check-in-a-child.md.
"""
