"""mcproof proves that an MCP server is fit for agents."""

__version__ = "0.1.0"
