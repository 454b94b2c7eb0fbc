"""One JSON Schema: its tree, references, what it accepts, and how it can be closed."""
