"""MCP frameworks: their servers, what their calls register, and the schemas that they derive."""
