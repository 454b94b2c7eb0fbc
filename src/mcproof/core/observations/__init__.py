"""What was observed of a server besides its catalog: plain values that rules judge.

Each module has the observations of one kind. They are made in `client`, `source` and `probing`, and
judged in `checks`, which gets them beside the catalog.
"""
