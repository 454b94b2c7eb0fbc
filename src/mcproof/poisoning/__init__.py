"""Instructions to a model in the texts of a server: hidden, encoded, or in plain words.

`model_texts` collects every string that a model may read; the other modules analyse them. Descriptions are untrusted
text in a model's context, so every analysis is linear in the length of a text.
"""
