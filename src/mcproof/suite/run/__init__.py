"""Running a suite: servers, batches of tests, and checking what is expected."""
