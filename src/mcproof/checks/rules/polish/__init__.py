"""`polish`: whether names, descriptions and schemas are clear to the model that reads them.

The rules read prose, so each skips what it cannot judge: texts in other languages, and parts of a tool that its
source leaves open. Where they differ from the linter that introduced these ids, they report less.
Why a rule is silent in doubt: docs/decisions/0029-polish-is-certain.md.
"""

from mcproof.checks.rules.polish import descriptions, naming, schemas, security

__all__ = ["descriptions", "naming", "schemas", "security"]
