"""`mcproof serve`: a web page and a REST API over the store."""
