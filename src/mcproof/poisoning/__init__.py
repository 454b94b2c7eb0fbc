"""Instructions to a model in the texts of a server: what they tell whom to do with whose data."""
