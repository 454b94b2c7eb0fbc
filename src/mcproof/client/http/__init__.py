"""HTTP: where requests may go, how they are sent within limits, and the headers that repeat parts of a message."""
