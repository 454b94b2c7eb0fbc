"""One module for each command: its arguments, and the run that they ask for."""
