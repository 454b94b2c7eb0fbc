"""The catalog document: its items, their source locations, and what was omitted."""
