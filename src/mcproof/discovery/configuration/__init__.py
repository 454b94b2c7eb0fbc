"""How source configures a server: where it listens, whether it authenticates, which secrets it has."""
