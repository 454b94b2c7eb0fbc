"""A bounded interpreter of Python source: it evaluates statements to values, and never runs the code."""
