"""Hostile arguments: attacks on the string arguments of a tool, proven only by effects that are seen safely."""
