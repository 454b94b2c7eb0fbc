"""Texts that a model reads, and what they tell it to do."""
