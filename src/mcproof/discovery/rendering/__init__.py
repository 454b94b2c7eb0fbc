"""Registered items as JSON, with the locations of their parts in the source."""
