"""Arguments for a tool, made from its input schema: valid ones, and ones that are wrong in a known way."""
