"""Arguments from a JSON Schema: valid ones, one violation at a time, random ones, and simpler variants.

`constraints` and `resolver` read the schema, `values` makes one valid value, `scalars` and `regex` its parts. From
there `mutations`, `boundaries` and `violations` change it, and `cases` puts them in order.
"""
