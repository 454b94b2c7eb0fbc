"""What registers something with a server: the SDK, the frameworks on top of it, and the libraries that they need."""
