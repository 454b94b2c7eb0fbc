"""Fuzzing: calls with generated arguments, judged, shrunk and stored."""
