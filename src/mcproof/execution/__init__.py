"""Runs: a request goes in, the checks run, a result comes out."""
