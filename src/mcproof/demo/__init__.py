"""The example that `mcproof demo` shows: a weather server and its catalog."""
