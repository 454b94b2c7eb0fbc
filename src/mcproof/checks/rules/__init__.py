"""The rules, one module or package per ruleset, and their cases in `cases/`."""
