"""What a run saw, as values, and their stored form."""
