"""The store: servers, runs, findings, scores and catalogs of past runs, in SQLite or PostgreSQL."""
