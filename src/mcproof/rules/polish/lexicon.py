"""The words that rules look for in descriptions.

They stand together so that a description is split into words once for all rules: most have none of a rule's words, and
then its pattern, which is slow, need not be tried.
"""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMING_BACK = _set(
    "return returns returned returning yield yields yielded yielding response responses responds output outputs result "
    "results produces producing give gives"
)
"""How a word on what a tool returns begins (MP003)."""
WHEN = _set(
    "use used call invoke run prefer choose try useful helpful appropriate ideal best perfect suitable intended "
    "designed meant recommended only when whenever if not don never avoid must should before"
)
"""How a word on when to use a tool begins (MP023)."""
USELESS = _set(
    "simply basically essentially obviously really effortlessly awesome amazing convenient powerful very useful "
    "helpful great perfect easy simple just"
)
"""What praises or belittles (MP025)."""
SPEAKING = _set("ignore disregard forget override bypass reveal not don never without you")
"""How a sentence begins that tells a model what to do (MP041)."""

WATCHED = COMING_BACK | WHEN | USELESS | SPEAKING
