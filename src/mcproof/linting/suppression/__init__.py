"""Findings that are there and do not count: `[[ignore-for]]`, comments and baselines."""
