"""Child processes that do work for a service, with limits."""
