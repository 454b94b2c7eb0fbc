"""Flows of source: which parameter of a tool reaches which dangerous call, and which checks are on the way."""
