"""From YAML files to a suite, or to every mistake in it with its location."""
