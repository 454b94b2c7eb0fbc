"""The rules, one module or package per ruleset, and their cases in `cases/`.

A rule yields problems about one subject; it never calls another rule. What several rules ask is in `core.schema`,
`behaviour` or `texts`.
"""
