"""What to write in the code of a server about a finding, for the framework that the server uses."""
