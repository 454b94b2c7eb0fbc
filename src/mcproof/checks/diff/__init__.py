"""Changes between two catalogs, and whether they break callers."""
