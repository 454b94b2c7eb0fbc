"""`polish`: whether names, descriptions and schemas are clear to the model that reads them.

The rules read prose, so each skips what it cannot judge: texts in other languages, and parts of a tool that its source
leaves open. Where they differ from the linter that introduced these ids, they report less.
"""

# In the order of their ids, in which they are listed.
from mcproof.rules.polish import schema_clarity, naming, description, consistency, security  # isort: skip

__all__ = ["consistency", "description", "naming", "schema_clarity", "security"]
