"""The MCP client: transports, both protocol eras, sessions, captures, and the redaction of secrets."""
