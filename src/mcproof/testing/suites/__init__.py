"""Suites: tests of MCP servers in YAML, validated before any server starts.

`parser` reads one into the `model`, `runner` executes it, and `matchers` compare values. `new_suite` and
`regression` write suites. Reports of a suite are in `report`.
Why suites are checked first: docs/decisions/0020-suites-are-checked-first.md.
"""

from __future__ import annotations
