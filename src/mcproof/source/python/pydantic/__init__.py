"""The JSON Schema that Pydantic generates for a type."""
