"""One JSON Schema: its tree, its references, what it accepts, and how it can be closed."""
