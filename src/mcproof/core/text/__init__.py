"""Text with positions: JSON, TOML, YAML and Python; and atomic file writes."""
