"""The words that rules look for in descriptions.

They are in one module so that a description is split into words once for all rules: most descriptions contain none of a
rule's words, and then its slow pattern is not tried.
"""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMING_BACK = _set(
    "return returns returned returning yield yields yielded yielding response responses responds output outputs result "
    "results produces producing give gives"
)
"""First words of phrases about what a tool returns (MP003)."""
PURPOSES = _set(
    "understand understanding show showing display displaying analyze analyse analyzing analysing compare comparing "
    "investigate investigating troubleshoot troubleshooting debug debugging diagnose diagnosing verify verifying "
    "discover discovering identify identifying explore exploring monitor monitoring visualize visualizing see "
    "illustrate demonstrate auditing inspecting planning deciding ensure avoid prevent"
)
"""Verbs that explain what a tool is good for, after "to" or "for" (MP023)."""
WHEN = PURPOSES | _set(
    "use used call invoke run prefer prefers choose favor favour try useful helpful appropriate ideal best perfect "
    "great suitable intended designed meant recommended needed only when whenever if not don never avoid must should "
    "before consider deprecated instead in rather unlike primary main preferred start help helps"
)
"""First words of phrases about when to use a tool (MP023)."""
USELESS = _set(
    "simply basically essentially obviously really effortlessly awesome amazing convenient powerful very useful "
    "helpful great perfect easy simple just"
)
"""Filler words (MP025)."""
SPEAKING = _set("ignore disregard forget override bypass reveal not don never without you")
"""First words of instructions to a model (MP041)."""

ENGLISH = _set(
    "the of and to for with from this that these are by or it its be which when all if your you can has have not any "
    "into is in on at as using use used returns return each other only must should"
)
"""English function words."""
FOREIGN = _set(
    # Spanish, Portuguese, Italian
    "el la los las un una unos unas del al de en con por para que su sus como este esta si se lo uma um dos das pelo "
    "pela com ou il gli della delle dei nel nella che di sono "
    # French
    "le les des du et dans pour avec sur par est sont cette ces qui au aux une ou ne pas "
    # German, Dutch
    "der das dem den ein eine einen einer eines und oder mit von vom zum zur ist sind wird werden nicht auf aus bei "
    "nach durch het een van voor naar deze wordt niet "
    # Scandinavian, Polish, Turkish, Indonesian
    "och att som ett til og af av jest nie dla oraz przez ve bir ile dan untuk yang dari dengan"
)
"""Function words of other languages in Latin script, without accents and rare in English."""

WATCHED = COMING_BACK | WHEN | USELESS | SPEAKING | FOREIGN
