"""What MCP clients and model APIs accept of a catalog: profiles as data, and the kinds of constraint they use."""
