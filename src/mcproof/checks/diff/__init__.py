"""Changes between two catalogs, whether they break callers, and how a catalog differs from its lock.

`items` compares catalogs and `schemas` compares schemas; `kinds` has every kind of change. `drift` and `lock`
compare one server with an earlier state of itself.
"""
