"""Letters that look like ASCII letters, or are styled forms of them, and the text that they imitate."""

from __future__ import annotations

import re
from unicodedata import normalize

_CYRILLIC = dict(
    zip(
        "аеорсухѕіјһԁӏԛԝьгкмтнвАВЕКМНОРСТУХЅІЈԚԜҮ",
        "aeopcyxsijhdlqwbrkmthbABEKMHOPCTYXSIJQWY",
        strict=True,
    )
)
_GREEK = dict(zip("αονρυικϲϳηΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aovpuikcjnABEZHIKMNOPTYX", strict=True))
_ARMENIAN = dict(zip("օոսհցքզեյՍՕ", "onuhgpqejUO", strict=True))
_CHEROKEE = dict(zip("ᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃ", "ABCDEHJKLMPRSTVWZ", strict=True))
_LATIN = dict(
    zip("ɑɡɩᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "agiabcdefghijklmnoprstuvwyz", strict=True),
)
LOOKALIKES = {**_CYRILLIC, **_GREEK, **_ARMENIAN, **_CHEROKEE, **_LATIN}
_TO_ASCII = str.maketrans(LOOKALIKES)
_OTHER_SCRIPT = re.compile("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff]")
_word = re.compile(r"[^\W\d_]{3,100}").finditer
_lookalike = re.compile(f"[{''.join(LOOKALIKES)}]").search

_STYLED = (
    "\U0001d400-\U0001d7ff"  # mathematical letters and digits
    "\uff21-\uff3a\uff41-\uff5a"  # full width
    "\u24b6-\u24e9\U0001f110-\U0001f129\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"  # enclosed
    "\u2090-\u209c\u1d2c-\u1d6a\u02b0-\u02b8\u2071\u207f"  # raised and lowered
)
_styled_word = re.compile(f"[{_STYLED}]{{3,}}|[{_STYLED}](?:[ .-]?[{_STYLED}]){{4,}}").finditer
_full_width = re.compile("[\uff21-\uff3a\uff41-\uff5a]+").fullmatch
_east_asian = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]").search
_styled = re.compile(f"[{_STYLED}]+")
_OVERLAYS = re.compile("[\u0332-\u0338\u0489\u20d2-\u20eb]+")
"""Marks drawn through or under a letter."""
_overlaid_word = re.compile("(?:[A-Za-z][\u0332-\u0338\u0489\u20d2-\u20eb]{1,9}){3,}").finditer
_ENCLOSED = {
    **{chr(0x1F130 + each): chr(65 + each) for each in range(26)},
    **{chr(0x1F150 + each): chr(65 + each) for each in range(26)},
    **{chr(0x1F170 + each): chr(65 + each) for each in range(26)},
    **{chr(0x1F110 + each): chr(65 + each) for each in range(26)},
}
_FROM_ENCLOSED = str.maketrans(_ENCLOSED)


def imitated(text: str) -> str:
    """A text with ASCII letters in place of all their lookalikes and styled forms."""
    plain = _styled.sub(lambda match: normalize("NFKC", match[0].translate(_FROM_ENCLOSED)), text)
    plain = _OVERLAYS.sub("", plain)
    return _word_sub(plain)


def _word_sub(text: str) -> str:
    """Replace lookalikes in the words that they make look like ASCII words."""
    pieces, at = [], 0
    for start, end, word in lookalike_words(text):
        pieces += [text[at:start], word]
        at = end
    return "".join((*pieces, text[at:])) if pieces else text


def lookalike_words(text: str) -> list[tuple[int, int, str]]:
    """The words that look like ASCII words but have letters of another script: start, end, what they look like.

    A word counts if it mixes ASCII letters with lookalikes, or consists of lookalikes within a text that has no other
    letters of that script: Russian words are Russian words. In a text with such letters, a mixed word must be longer.
    """
    found: list[tuple[int, int, str]] = []
    if _lookalike(text) is None:
        return found
    others: bool | None = None
    for match in _word(text):
        word = match[0]
        plain = word if word.isascii() else word.translate(_TO_ASCII)
        if plain is word or not plain.isascii():
            continue
        if others is None:
            others = _has_other_letters(text)
        if len(plain) >= _least_letters(word, others=others):
            found.append((match.start(), match.end(), plain))
    return found


def _least_letters(word: str, *, others: bool) -> int:
    """How many letters a word with lookalikes needs, to be no symbol, unit or word of another language."""
    foreign = [each for each in word if not each.isascii()]
    if len(foreign) == len(word):
        return 1_000 if others else 4
    if others:
        return 6
    return 4 if all(each in _GREEK for each in foreign) else 3


def _has_other_letters(text: str) -> bool:
    """Whether a text has letters of another script that do not look like ASCII letters."""
    return any(letter not in LOOKALIKES for letter in _OTHER_SCRIPT.findall(text))


def styled_words(text: str) -> list[tuple[int, int, str]]:
    """The words in styled or crossed out letters: start, end, their plain form.

    Full-width words within East Asian text are usual.
    """
    found = []
    if _styled.search(text) is not None:
        for match in _styled_word(text):
            if not (_full_width(match[0]) and _east_asian(text)):
                found.append((match.start(), match.end(), normalize("NFKC", match[0].translate(_FROM_ENCLOSED))))
    if _OVERLAYS.search(text) is not None:
        found += [(match.start(), match.end(), _OVERLAYS.sub("", match[0])) for match in _overlaid_word(text)]
    return found
