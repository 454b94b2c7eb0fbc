"""A bounded interpreter of Python source: it evaluates statements to values, and never runs the code.

Read `values` and `containers` first, then `expressions`, `statements` and `interpreter`. It knows Python and its
standard library, and nothing of MCP: `Domain` passes other calls on.
Why source is interpreted instead of matched: docs/decisions/0005-discovery-interprets.md.
"""
