"""The configuration: `mcproof.toml`, or `[tool.mcproof]` in `pyproject.toml`."""
