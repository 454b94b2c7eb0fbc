"""`polish`: how well names, descriptions and schemas serve the model that reads them.

The rules read words, so each says when it can't judge: a text in another language, a part of a tool that its source
code leaves open. Where they differ from the linter that first had these ids, they are quieter.
"""

# In the order of their ids, in which they are listed.
from mcproof.rules.polish import schema_clarity, naming, description, consistency, security  # isort: skip

__all__ = ["consistency", "description", "naming", "schema_clarity", "security"]
