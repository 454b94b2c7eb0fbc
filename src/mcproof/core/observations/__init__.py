"""What was observed of a server besides its catalog: plain values that rules judge.

Each module has the observations of one kind. They are made in `client`, `source` and `probing`, judged in `checks`,
and never written into the catalog.
"""
