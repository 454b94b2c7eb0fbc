"""Packages of software: what projects declare, lock and install, and how versions compare.

Only metadata is read. Whether a version has a known vulnerability is decided in `checks.advisories`.
"""
