"""Two catalogs side by side: what changed, and whether it breaks callers."""
