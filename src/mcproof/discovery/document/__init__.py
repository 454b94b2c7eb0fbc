"""The catalog document, independent of the language of the source: items in order, locations, omissions."""
