"""Fuzzing: call tools with generated arguments, judge the responses, shrink and store the failures."""
