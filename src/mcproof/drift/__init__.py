"""Drift: how a catalog differs from its lock or from an earlier capture."""
