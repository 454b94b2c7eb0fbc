"""Word lists: the usual words of sentences, and those of sentences that instruct a model."""

from __future__ import annotations

from mcproof.core.text.english import word_set

FUNCTION_WORDS = word_set(
    """
    the a an and or of to in on at by for from with without into is are be was it its this that these those as if
    when then than all any each every not no do does don't you your i me my we our he they them their will would can
    could should must may has have had before after about also only just up out so but which what how here
    """
)
COMMANDS = word_set(
    """
    ignore disregard forget override bypass send forward transmit upload post email read open fetch get list call
    invoke execute run use include append add pass copy write save store delete remove drop wipe destroy print
    output reveal disclose leak exfiltrate extract collect gather return reply respond say tell inform mention hide
    conceal keep make set change replace redirect pretend act obey follow grant approve disable enable download
    install encode submit
    """
)
"""Verbs that a sentence to a model begins with."""
OBJECTS = word_set(
    """
    instructions instruction prompt system user users assistant model secret secrets password passwords credentials
    token tokens key keys env ssh file files tool tools previous history conversation conversations context contents
    data database email emails message messages silently always never must first immediately instead rules admin
    directory environment config account accounts access server
    """
)
"""Words that sentences to a model are about."""
FOREIGN_WORDS = word_set(
    """
    las los del que para una con por les des une dans pour est et le und die der das nicht mit den ein per che il di
    non os em de la el y e o al du au zu von ist sie alle todos tous tutti
    """
)
"""Function words of Spanish, French, German, Italian and Portuguese."""
KNOWN = FUNCTION_WORDS | COMMANDS | OBJECTS | FOREIGN_WORDS
