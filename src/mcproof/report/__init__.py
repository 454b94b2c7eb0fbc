"""From findings to what people and machines read."""
