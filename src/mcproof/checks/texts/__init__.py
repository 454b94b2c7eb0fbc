"""Texts that a model reads, and what they tell it to do.

`model_texts` finds them, `hidden` and `encodings` bring out what is not seen, `suspicion` scores sentences,
`directives` finds those that are certain, `judge` says how certain a hidden text is. Which of this is a finding is
decided in `checks.rules`.
"""
