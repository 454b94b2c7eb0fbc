"""What a live server did, as facts: its connection, its responses, and what came of each probe."""
