"""Arguments from a JSON Schema: valid ones, one violation at a time, random ones, and simpler variants of a value."""
