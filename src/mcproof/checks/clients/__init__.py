"""What MCP clients and model APIs accept of a catalog: profiles as data, and the kinds of constraint they use.

`profiles` has the facts, `hits` finds what breaks them, `verdicts` says what that means for each client, and `fix`
edits schemas. A new client needs only an entry in `profiles.json`.
Why constraints are data: docs/decisions/0042-constraints-are-data.md.
"""
