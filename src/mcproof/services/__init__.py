"""What stays up: the store, the web pages, sweeps, the language server, and the MCP server.

A service checks through `runs` and shows the results in its own way. Web pages and sweeps use the store, and what
reads the input of strangers does so in a process of `workers`; apart from these two, services do not import each
other. The dashboard is `web` over `store`: `web.pages` has the pages, `store.servers` and `store.queries` the SQL. A
visit is a check that somebody asks `web` for. The options of the commands that start a service are in `cli`.

Public modules: lsp.server, mcp.server, store.database, store.queries, store.recording, sweep, web.server.
"""
