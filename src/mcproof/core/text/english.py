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
READING = _set(
    "get gets retrieve retrieves fetch fetches list lists read reads search searches find finds look lookup show shows "
    "display displays view views count counts describe describes identify identifies provide provides tell tells "
    "report reports calculate calculates compute computes summarize summarizes extract extracts enumerate enumerates "
    "download downloads browse browses discover discovers inspect inspects check checks detect detects determine "
    "determines estimate estimates obtain obtains collect collects explain explains include includes capture captures "
    "take takes peek scan scans"
)
"""Verbs whose object is the result of a tool (MP003)."""
CHANGING = _set(
    "delete deletes remove removes clear clears close closes click clicks press presses type types hover hovers drag "
    "drags drop drops scroll scrolls tap taps swipe swipes wait waits set sets rename renames move moves stop stops "
    "cancel cancels kill kills terminate terminates disable disables enable enables toggle toggles add adds update "
    "updates insert inserts write writes format formats apply applies install installs uninstall resize resizes "
    "navigate navigates go goes save saves append appends mark marks assign assigns unassign attach attaches detach "
    "detaches subscribe subscribes unsubscribe unsubscribes archive archives unarchive restore restores reset resets "
    "put puts patch patches lock locks unlock unlocks pause pauses resume resumes fill fills select selects focus "
    "change changes modify modifies edit edits replace replaces hide hides unhide emulate emulates configure "
    "configures switch switches pin pins unpin star stars unstar like follow unfollow refresh refreshes grant grants "
    "revoke revokes tag tags untag copy copies protect protects unprotect merge merges force forces push pushes store "
    "stores open opens handle handles publish publishes purge purges play plays launch launches shut shuts expire "
    "expires flush flushes increment decrement post posts adjust adjusts minimize maximize"
)
"""Verbs of tools that change something and have nothing but success to report (MP003)."""
MAKING = _set(
    "create creates generate generates make makes build builds render renders draw draws execute executes run runs "
    "perform performs process processes analyze analyzes convert converts transform transforms translate translates "
    "export exports import imports submit submits start starts deploy deploys send sends upload "
    "uploads call calls invoke invokes validate validates compare compares query queries test tests register registers"
)
"""Verbs that leave open what a tool returns (MP003)."""
PURPOSES = _set(
    "understand understanding show showing display displaying analyze analyse analyzing analysing compare comparing "
    "investigate investigating troubleshoot troubleshooting debug debugging diagnose diagnosing verify verifying "
    "discover discovering identify identifying explore exploring monitor monitoring visualize visualizing see "
    "illustrate demonstrate auditing inspecting planning deciding finding answering ensure avoid prevent"
)
"""Verbs that explain what a tool is good for, after "to" or "for" (MP023)."""
WHEN = PURPOSES | _set(
    "use used call invoke run prefer prefers choose favor favour try useful helpful appropriate ideal best perfect "
    "great suitable intended designed meant recommended needed only when whenever if not don never avoid must should "
    "before consider deprecated instead rather unlike primary main preferred start help helps"
)
"""First words of phrases about when to use a tool (MP023)."""
USELESS = _set(
    "simply basically essentially obviously really effortlessly awesome amazing convenient powerful very useful "
    "helpful great perfect easy simple just"
)
"""Filler words (MP025)."""
SPEAKING = _set("ignore disregard forget override bypass reveal not don never without you")
"""First words of instructions to a model (MP041)."""

EMPTY = _set(
    "a an the this that these those it its is are be of and or to for with from in into on at by as via about all any "
    "each every some one single new given specific specified certain particular current existing available your you "
    "my our using use used which when can will allows allow lets let enables tool tools function functionality method "
    "api utility stuff thing things data info information detail details something various do does perform performs "
    "get gets retrieve retrieves fetch fetches return returns handle handles basic simple simply useful main general"
)
"""Words that add nothing to a tool's name (MP020)."""
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
