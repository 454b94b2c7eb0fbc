"""How bytes travel to a server and back: standard streams, Streamable HTTP, HTTP with SSE."""
