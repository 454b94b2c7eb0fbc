"""Suppressed findings: `[[ignore-for]]` entries, comments and baselines."""
