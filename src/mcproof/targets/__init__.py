"""From what the user points at to catalogs."""
