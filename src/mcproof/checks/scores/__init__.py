"""Scores: pure functions of a catalog and its findings."""
