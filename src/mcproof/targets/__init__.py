"""From a TARGET to a catalog: files, folders, standard input, URLs, commands and client configurations.

A target is resolved here and read by `source`, by `client` or as a snapshot. Nothing is judged here, and no server is
started because a file names it.

Public modules: arguments, client_config, folders, snapshots.
"""
