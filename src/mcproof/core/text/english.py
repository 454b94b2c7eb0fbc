"""English words in names and descriptions: splitting them, finding the verb of a sentence, common word lists.

The word lists are those of rules about prose. They are in one module so that a description is split into words
once.
Why a word list decides only what is certain: docs/decisions/0029-polish-is-certain.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

# Patterns, which `re` compiles on first use: most commands read no prose, and must start fast.
_SENTENCE_END = r"[.!?](?:\s|$)|\n\s*\n|:\s*\n"
_LEAD = r"""(?ix)(?:\[[^\]]{0,40}\]|\W)*
    (?:
        (?:please\s+)? use\s+(?:this|it)\b [^.]{0,60}? \b to\s+
      | (?:this|the|an?)?\s*? (?:[\w-]+\s+){0,2}? (?:tool|function|command|endpoint|method|operation|utility)\s+
        (?:(?:that|which|to|for|will|is|can|be|used|allows?|lets?|helps?|enables?|you|users?|agents?|the)\s+)+
      | (?:allows?|lets?|helps?|enables?)\s+ (?:(?:you|users?|agents?|the|to)\s+)+
      | this\s+(?:tool|function|command|endpoint|method|operation|utility)\s+
    )?
    (?:\w+ly\s+)?"""
"""What stands before the first verb of a description: "Use this tool to"."""


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop, blank line or list."""
    stripped = text.lstrip()
    end = re.search(_SENTENCE_END, stripped)
    return stripped[: end.start()] if end is not None else stripped


def lead_end(sentence: str) -> int:
    """Return the index where the first verb of a sentence may start."""
    match = re.match(_LEAD, sentence)
    return match.end() if match is not None else 0


_NEGATED = (
    r"(?i)\b(?:(?:do|does|did|is|are|will|can|must|should)(?:n't| not)|cannot|won't|never|not|without|nor)\b[^.;:!?\n]*"
)


def without_negations(text: str) -> str:
    """A text without what it denies: "Returns the page. Does not write to disk." says nothing about a disk."""
    return re.sub(_NEGATED, " ", text)


def agent_verb_forms(noun: str) -> Iterator[str]:
    """What the verb of an agent noun may be: `convert` and `converte` for `converter`, `calculate` for `calculator`."""
    if len(noun) > 5 and noun.endswith(("er", "or")):
        base = noun[:-2]
        yield from (base, f"{base}e")
        if base[-1] == base[-2]:  # doubled for the noun only, as in `planner`
            yield base[:-1]


def verb_forms(word: str) -> Iterator[str]:
    """Yield the words that may be the base form of a verb: `lists`, `list`."""
    yield word
    if word.endswith("s"):
        yield word[:-1]
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    if word.endswith("ing"):
        base = word[:-3]
        yield from (base, f"{base}e", base[:-1])


_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(name: str) -> list[str]:
    """The words of a name in lower case: `delete`, `user` for `deleteUser`, `delete_user` and `delete.user`."""
    if name.islower() and name.isascii() and name.isidentifier():  # the common case, with the same result
        return [word for word in name.split("_") if word]
    return [word.lower() for word in _BOUNDARY.split(name) if word]


_WORD_BYTES = bytes(
    ord(chr(code).lower()) if code < 128 and (chr(code).isalnum() or chr(code) == "_") else ord(" ")
    for code in range(256)
)
"""Maps letters to lower case, and everything that is not part of a word to spaces."""


def word_bytes(text: str) -> bytes:
    """A text in lower case, with a space for each character that is not an ASCII letter, a digit or an underscore."""
    # One byte for each character, so that offsets stay the same.
    return text.encode("ascii", "replace").translate(_WORD_BYTES)


def ascii_words(text: str) -> list[str]:
    """The words of a text in lower case: runs of ASCII letters, digits and underscores."""
    # Translating bytes and splitting at spaces is ten times as fast as a regular expression for words.
    return word_bytes(text).decode("ascii").split()


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for word lists that are easier to read without quotes."""
    return frozenset(text.split())


COMING_BACK = word_set(
    "return returns returned returning yield yields yielded yielding response responses responds output outputs result "
    "results produces producing give gives"
)
"""First words of phrases about what a tool returns (MP003)."""
READING = word_set(
    "get gets retrieve retrieves fetch fetches list lists read reads search searches find finds look lookup show shows "
    "display displays view views count counts describe describes identify identifies provide provides tell tells "
    "report reports calculate calculates compute computes summarize summarizes extract extracts enumerate enumerates "
    "download downloads browse browses discover discovers inspect inspects check checks detect detects determine "
    "determines estimate estimates obtain obtains collect collects explain explains include includes capture captures "
    "take takes peek scan scans"
)
"""Verbs whose object is the result of a tool (MP003)."""
CHANGING = word_set(
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
MAKING = word_set(
    "create creates generate generates make makes build builds render renders draw draws execute executes run runs "
    "perform performs process processes analyze analyzes convert converts transform transforms translate translates "
    "export exports import imports submit submits start starts deploy deploys send sends upload "
    "uploads call calls invoke invokes validate validates compare compares query queries test tests register registers"
)
"""Verbs that leave open what a tool returns (MP003)."""
PURPOSES = word_set(
    "understand understanding show showing display displaying analyze analyse analyzing analysing compare comparing "
    "investigate investigating troubleshoot troubleshooting debug debugging diagnose diagnosing verify verifying "
    "discover discovering identify identifying explore exploring monitor monitoring visualize visualizing see "
    "illustrate demonstrate auditing inspecting planning deciding finding answering ensure avoid prevent"
)
"""Verbs that explain what a tool is good for, after "to" or "for" (MP023)."""
WHEN = PURPOSES | word_set(
    "use used call invoke run prefer prefers choose favor favour try useful helpful appropriate ideal best perfect "
    "great suitable intended designed meant recommended needed only when whenever if not don never avoid must should "
    "before consider deprecated instead rather unlike primary main preferred start help helps"
)
"""First words of phrases about when to use a tool (MP023)."""
USELESS = word_set(
    "simply basically essentially obviously really effortlessly awesome amazing convenient powerful very useful "
    "helpful great perfect easy simple just"
)
"""Filler words (MP025)."""
EMPTY = word_set(
    "a an the this that these those it its is are be of and or to for with from in into on at by as via about all any "
    "each every some one single new given specific specified certain particular current existing available your you "
    "my our using use used which when can will allows allow lets let enables tool tools function functionality method "
    "api utility stuff thing things data info information detail details something various do does perform performs "
    "get gets retrieve retrieves fetch fetches return returns handle handles basic simple simply useful main general"
)
"""Words that add nothing to a tool's name (MP020)."""
ENGLISH = word_set(
    "the of and to for with from this that these are by or it its be which when all if your you can has have not any "
    "into is in on at as using use used returns return each other only must should"
)
"""English function words."""
FOREIGN = word_set(
    "el la los las un una unos unas del al de en con por para que su sus como este esta si se lo uma um dos das pelo "
    "pela com ou il gli della delle dei nel nella che di sono "
    "le les des du et dans pour avec sur par est sont cette ces qui au aux une ou ne pas "
    "der das dem den ein eine einen einer eines und oder mit von vom zum zur ist sind wird werden nicht auf aus bei "
    "nach durch het een van voor naar deze wordt niet "
    "och att som ett til og af av jest nie dla oraz przez ve bir ile dan untuk yang dari dengan"
)
"""Function words of other languages in Latin script, without accents and rare in English.

In this order: Spanish, Portuguese, Italian; French; German, Dutch; Scandinavian, Polish, Turkish, Indonesian.
"""

WATCHED = COMING_BACK | WHEN | USELESS | FOREIGN


@cache  # compiled on first use: few commands that need words read parameters
def _entry() -> re.Pattern[str]:
    """A line that explains parameters."""
    return re.compile(
        # A bullet, `:param str` or `@param`; one or more names, which may be quoted; a type in brackets; a text.
        r"\s{0,200}(?:[-*•] {0,3}|:param(?:eter)? (?:[\w\[\], |.]{1,60} )?|@param (?:\{[^}\n]{1,60}\} )?)?"
        r"[`*\"']{0,3}(?P<names>[\w$.-]{1,100}(?:, ?[\w$.-]{1,100}){0,9})[`*\"']{0,3}"
        r"(?:\s{0,3}\([^)\n]{0,200}\))?[`*]{0,3}(?:\s{0,3}:|\s{1,3}[-–—]\s)\s{0,200}\S"
    )


def documents_parameter(description: str, name: str) -> bool:
    """Whether a line such as `name: text`, `- name (str): text` or `:param name: text` explains a parameter."""
    return name in description and name in _documented_parameters(description)


@lru_cache(maxsize=1)  # for all parameters of a tool, and for two rules, one after the other
def _documented_parameters(description: str) -> frozenset[str]:
    """The names that lines of a description explain."""
    names: set[str] = set()
    for line in description.splitlines():
        entry = _entry().match(line)
        if entry is not None:
            names.update(re.split(", ?", entry["names"]))
    return frozenset(names)
