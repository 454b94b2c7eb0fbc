"""`mcproof serve`: a web page and a REST API over the store.

`server` puts it together; `pages` and `rest` are for people and programs, the `visit` modules for strangers, and
the `watch` modules check servers at intervals. SQL is in `services.store`.
"""
