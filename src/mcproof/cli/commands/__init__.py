"""One module for each group of commands: their arguments, and the runs that they ask for."""
