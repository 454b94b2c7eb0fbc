"""The catalog: what a server offers, exactly as received."""
