"""The store: servers, runs, findings, scores and catalogs of past runs, in SQLite or PostgreSQL.

`tables` has the tables, `recording` writes, `queries` and `servers` read; `migrations` bring older stores up to
date.
"""
