"""Check thousands of targets, on one machine or a cluster, with results that survive a kill."""
