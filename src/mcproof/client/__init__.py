"""Talking to a running server: transports, both protocol eras, and the evidence of what it really sent."""
