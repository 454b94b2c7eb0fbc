"""Python source: found, followed by an interpreter, and rendered as the catalog of its servers.

`pipeline` is the entry. `files` and `entry_points` decide what is followed, `interp` follows it, `frameworks` and
`pydantic` know what its calls mean, the `render` modules write the items, `flows` looks for dangerous calls.
"""
