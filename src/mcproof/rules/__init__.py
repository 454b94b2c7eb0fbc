"""The rules, one module a ruleset, and their cases as data in `cases/`."""
