"""Write a first suite for a server: `mcproof init`."""
