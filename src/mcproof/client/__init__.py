"""The MCP client: connects to servers over stdio and HTTP, in both eras of the protocol, and lists them.

It also observes what a server shows without a tool call: its URL, TLS, HTTP, authorization and sessions. It judges
nothing (`checks` does) and sends no bad requests (`probing` does). All requests over HTTP start in `client.http`;
secrets are hidden by `client.redaction`.

Public modules: auth.authorizer, auth.tokens, capture, connect, connection, endpoints, errors, http.fetch,
http.policy, listing, perimeter.observe, questions, redaction, session, tracing, transports.processes,
transports.sse, waiting.
"""
