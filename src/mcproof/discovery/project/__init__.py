"""The files of a Python project: which to read, and which file an import refers to."""
