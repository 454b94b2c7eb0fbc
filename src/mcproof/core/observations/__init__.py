"""What was observed of a server besides its catalog: plain values that rules judge.

Each module has the observations of one kind. They are made in `client`, `source` and `probing`, and
judged in `checks`. Those of a connection and of calls still travel as attributes of the catalog.
"""
