"""Prove what schemas promise: permissions, probes, blame, the contract matrix, fuzzing and replay."""
