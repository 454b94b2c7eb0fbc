"""Probes: bad requests to a live server, who is to blame for harm, and the contract that it keeps.

`cases` has what is sent, `session` sends it, `responses` judge it, and `prove` makes the contract matrix. Failures are
stored in `failures` and sent again by `probing.replay`.
"""
