"""Texts that a model reads, and what they tell it to do.

`model_texts` finds them, `hidden` and `encodings` bring out what is not seen, `signals` and `patterns` read
sentences, `judge` says how certain it is. Which of this is a finding is decided in `checks.rules.trust`.
"""
