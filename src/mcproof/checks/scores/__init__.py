"""Scores: the grade, polish, trust, descriptions and tokens, as pure functions of a catalog and its findings."""
