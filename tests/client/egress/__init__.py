"""Tests of the network guard."""
