"""Writing a first suite for a server."""
