"""What a tool does, by its words: acts, effects and capabilities.

Nothing is called to find out, and words are English. `effects` decides whether a tool reads or changes something
and has the tables of verbs; `acts` and `capabilities` find the risky things that a tool can do.
"""
