"""Facts about exchanges with a live server: connection facts, probe records, flaws of responses, leaks."""
