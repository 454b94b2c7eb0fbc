"""JavaScript and TypeScript source: found, followed by an interpreter, and rendered as the catalog of its servers.

`values` is what expressions evaluate to.
"""
