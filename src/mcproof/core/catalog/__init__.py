"""What a server offers, as received: the catalog and its items."""
