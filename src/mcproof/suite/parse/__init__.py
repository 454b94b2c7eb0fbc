"""Parse YAML files into a suite; report every problem with its location."""
