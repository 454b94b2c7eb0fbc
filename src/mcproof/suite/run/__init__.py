"""Run the tests of a suite against its servers."""
