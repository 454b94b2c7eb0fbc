"""How findings become numbers: pure functions of a catalog and its findings."""
