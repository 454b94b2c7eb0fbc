"""Judges: rules and the engine that runs them, scores, verdicts of clients, differences, fixes and advice.

Everything that is an opinion lives here, and nothing here talks to a server: a check gets a catalog and
observations. `engine` runs the rules of `rules` on them, `findings` has what they report, `reporting` gives it a
place in a file. How a result is written is in `report`, which rules a run uses is decided in `runs.planning`.
"""
