"""What things are: text with positions, JSON Schema, the catalog of a server, and what was observed of it.

Every other room builds on this one, and it imports none of them. It holds no opinion: whether something is a
problem is decided in `checks`. It reads and writes files, but does not talk to servers; that is `client`.
"""
