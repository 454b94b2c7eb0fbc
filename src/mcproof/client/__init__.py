"""The MCP client: connects to servers over stdio and HTTP, in both eras of the protocol, and lists them.

It also observes what a server shows without a tool call, in `perimeter`: its URL, TLS, HTTP, authorization and
sessions. It judges nothing (`checks` does) and sends no bad requests (`probing` does).

All requests over HTTP start in `http`: `headers` has every header that mcproof sends by itself, `policy` which
addresses may be reached, `fetch` limits such as that on redirects. `redaction` masks secrets in whatever is shown.
The two eras are the handshake with `initialize`, and requests without one; `eras` finds out which a server speaks.

Public modules: auth.authorizer, capture, connect, connection, endpoints, errors, http.fetch, http.policy,
perimeter.observe, questions, redaction, session, tracing, transports.processes, waiting.
"""
