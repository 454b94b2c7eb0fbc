"""The transports: stdio, Streamable HTTP, and HTTP with SSE."""
