"""Where requests may go when strangers name the URLs: to public addresses, and to networks that the operator allows."""
