"""Codes that hide words: simple ciphers, Morse, Braille, invisible characters, lookalike and styled letters.

Decoding is not a judgement: `judge` asks what the decoded text tells a model.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import permutations
from string import ascii_lowercase
from typing import TYPE_CHECKING
from unicodedata import normalize

from mcproof.checks.texts.suspicious import ALPHABETS, ciphers_of
from mcproof.checks.texts.words import COMMANDS, KNOWN, OBJECTS, is_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


_MORSE = dict(
    zip(
        (
            *(".-", "-...", "-.-.", "-..", ".", "..-.", "--.", "....", "..", ".---", "-.-", ".-..", "--", "-.", "---"),
            *(
                ".--.",
                "--.-",
                ".-.",
                "...",
                "-",
                "..-",
                "...-",
                ".--",
                "-..-",
                "-.--",
                "--..",
                "-----",
                ".----",
                "..---",
            ),
            *("...--", "....-", ".....", "-....", "--...", "---..", "----.", ".-.-.-", "--..--", "-..-.", "/", "|"),
        ),
        "abcdefghijklmnopqrstuvwxyz0123456789.,/  ",
        strict=True,
    )
)
# The expressions take linear time on any text: repetitions are bounded or possessive.
# docs/decisions/0050-texts-in-one-pass.md
_morse_run = re.compile(r"(?<![A-Za-z.])[.\-/|](?:[.\-/| \n]{0,4000}[.\-])").findall
_BRAILLE = dict(zip("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵⠀", f"{ascii_lowercase} ", strict=True))
_FLIPPED = dict(zip("ɐqɔpǝɟƃɓɥᴉıɾʞlɯuodbɹsʇnʌʍxʎz", "abcdefgghiijklmnopqrstuvwxyz", strict=True))
_flipped_sign = re.compile("[ɐɔǝɟƃɥɯɹʇʌʍʎ]").findall
_ROTATED = {code: 33 + (code - 33 + 47) % 94 for code in range(33, 127)}
# `1` stands for an i or for an l.
_LEET = str.maketrans("013457@$!", "oieastasi")
_LEET_WITH_L = str.maketrans("013457@$!", "oleastasi")
_leet_word = re.compile(
    r"(?<![\w@$!.-])(?=[0-9@$!]{0,9}[a-zA-Z])(?=[a-zA-Z]{0,30}[0-9@$!])[\w@$!]{2,40}(?![\w.-])"
).findall
_two_leet_signs = re.compile(r"[0-9@$!][^0-9@$!]*+[0-9@$!]").search
_sentences = re.compile(r"[^.?\n]{4,2000}").findall
_segments = re.compile(r"[^.!?\n:;\"'`()\[\]{}<>]{8,2000}").findall
_spaced = re.compile(r"(?<![A-Za-z])[A-Za-z](?:[ .\-_*|,]{1,3}[A-Za-z](?![A-Za-z])){5,}").findall
_separator_sign = re.compile(r"[A-Za-z][.\-_*|,][A-Za-z]").search
_gap_of_words = re.compile(r"[ .\-_*|,]{2,3}")


def _in_alphabet(text: str, alphabet: str) -> str:
    return text.translate(str.maketrans(ascii_lowercase + ascii_lowercase.upper(), alphabet + alphabet.upper()))


DECODERS: dict[str, Callable[[str], str]] = {
    "reversed": lambda text: text[::-1],
    **{code: partial(_in_alphabet, alphabet=alphabet) for code, alphabet in ALPHABETS.items()},
}
"""How to read a sentence, by the name of its code."""


def in_code(text: str, words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The sentences of a text that read as English in a code: the code and the sentences. `words` are its words."""
    counts: dict[str, int] = {}
    for word in words:
        for code in ciphers_of(word.encode()):
            counts[code] = counts.get(code, 0) + 1
    for code in [code for code, count in counts.items() if count >= 2]:
        decode = DECODERS[code]
        decoded = [
            sentence
            for segment in _segments(text)
            if not is_sentence(segment, share=0.3) and is_sentence(sentence := decode(segment), share=0.4)
        ]
        if decoded:
            # A text that is read backwards ends with its first sentence.
            yield code, " ".join(part.strip() for part in (decoded[::-1] if code == "reversed" else decoded))


def in_leet(text: str) -> str:
    """The sentences with digits and signs for letters, in letters; empty if hardly any word becomes a usual one."""
    decoded = []
    for sentence in _sentences(text):
        words = _leet_word(sentence.lower()) if _two_leet_signs(sentence) else ()
        for table in (_LEET, _LEET_WITH_L) if len(words) >= 2 else ():
            usual = sum(_usual(word.translate(table)) for word in words)
            if usual >= max(2, len(words) / 3):
                decoded.append(sentence.translate(table))
                break
    return " ".join(decoded)


def _usual(word: str) -> bool:
    return len(word) >= 3 and (word in KNOWN or word.rstrip("s") in KNOWN)


def spaced_out(text: str) -> str:
    """The words whose letters a text spaces out, `i g n o r e`; empty if there are hardly any."""
    spelled = []
    for run in _spaced(text):
        parts = run.split() if _separator_sign(run) else _gap_of_words.split(run)
        words = [re.sub("[^A-Za-z]", "", part) for part in parts]
        words = [word for word in words if word]
        # All gaps are equally wide, so the words cannot be told apart.
        if len(words) > 1 and all(len(word) == 1 for word in words):
            words = ["".join(words)]
        spelled.append(" ".join(words))
    return "; ".join(spelled)


def in_morse(text: str) -> str:
    """The text in Morse code; empty if there is none."""
    for run in _morse_run(text):
        signs = run.replace("/", " / ").replace("|", " | ").split()
        if len(signs) >= 12 and all(sign in _MORSE for sign in signs):
            return "".join(_MORSE[sign] for sign in signs)
    return ""


def in_other_letters(text: str) -> Iterator[tuple[str, str]]:
    """The text in Braille or upside-down letters, with the name of the code."""
    cells = [character for character in text if "\u2800" <= character <= "\u28ff"]
    if len(cells) >= 8:
        yield (
            "Braille",
            "".join(
                _BRAILLE.get(character, character) for character in text if character in _BRAILLE or character == " "
            ).strip(),
        )
    if len(_flipped_sign(text)) >= 5:
        yield "upside-down letters", "".join(_FLIPPED.get(character, character) for character in reversed(text)).strip()


def is_run_together(text: str) -> bool:
    """Whether a text without spaces contains words of an instruction."""
    lowered = text.lower()
    return len(lowered) >= 12 and any(word in lowered for word in COMMANDS | OBJECTS if len(word) >= 6)


def rotated(text: str) -> str:
    """A text in rot47, which shifts letters, digits and punctuation, in plain."""
    return text.translate(_ROTATED)


MOST_SYMBOLS = 8_192
"""How many characters of a sequence are decoded."""


def text_of_tags(characters: str) -> str:
    """The ASCII letters that tag characters stand for."""
    return "".join(chr(code) for character in characters if 0x20 <= (code := ord(character) - 0xE0000) < 0x7F)


def text_of_selectors(characters: str) -> str:
    """The text whose bytes, or halves of bytes, are written as variation selectors; empty if there is none."""
    values = [selected for character in characters[:MOST_SYMBOLS] if (selected := _selector(character)) is not None]
    candidates = [bytes(values)]
    if len(set(values)) > 2 and max(values, default=0) < 16:
        candidates.append(_joined(values, base=16, width=2))
    texts = (_text(candidate) for candidate in candidates)
    return next((text for text in texts if reads(text)), "") or text_of_symbols(characters)


def _selector(character: str) -> int | None:
    code = ord(character)
    if 0xFE00 <= code <= 0xFE0F:
        return code - 0xFE00
    return code - 0xE0100 + 16 if 0xE0100 <= code <= 0xE01EF else None


def text_of_symbols(characters: str) -> str:
    """The text that a sequence of a few different characters stands for as binary digits; empty if there is none."""
    characters = characters[:MOST_SYMBOLS]
    texts = (_text(data) for data in _readings(characters))
    return next((text for text in texts if reads(text)), "")


def _readings(characters: str) -> Iterator[bytes]:
    """The bytes that a sequence may stand for, the most usual codes first."""
    alphabet = sorted(set(characters))
    if len(alphabet) == 2:
        yield from _bits(characters, alphabet)
    elif len(alphabet) in (3, 4):
        for removed in _separators(characters, alphabet):
            digits = [character for character in alphabet if character not in removed]
            groups = [group for group in _split(characters, removed) if group]
            for zero, one in permutations(digits, 2):
                yield bytes(int("".join("0" if digit == zero else "1" for digit in group), 2) & 255 for group in groups)
                yield from _bits("".join(groups), [zero, one])
        if len(alphabet) == 4:
            for order in permutations(alphabet):
                yield _joined([order.index(character) for character in characters], base=4, width=4)
    elif 5 <= len(alphabet) <= 16:
        values = [alphabet.index(character) for character in characters]
        yield _joined(values, base=8, width=3)
        yield _joined(values, base=16, width=2)


def _separators(characters: str, alphabet: Sequence[str]) -> Iterator[str]:
    """The characters that may separate letters: one of three, or two of four; the rarest first."""
    by_count = sorted(alphabet, key=characters.count)
    if len(alphabet) == 3:
        yield from by_count
    else:
        yield "".join(by_count[:2])


def _split(characters: str, separators: str) -> list[str]:
    for separator in separators[1:]:
        characters = characters.replace(separator, separators[0])
    return characters.split(separators[0])


def _bits(characters: str, alphabet: Sequence[str]) -> Iterator[bytes]:
    first, second = alphabet
    for zero, one in ((first, second), (second, first)):  # which of them is 0 is up to the author
        bits = characters.translate({ord(zero): "0", ord(one): "1"})
        for width in (8, 7, 16):  # the widths in which texts are written: bytes, ASCII, UTF-16
            whole = len(bits) - len(bits) % width
            values = [int(bits[offset : offset + width], 2) for offset in range(0, whole, width)]
            if all(value < 256 for value in values):
                yield bytes(values)


def _joined(digits: Sequence[int], *, base: int, width: int) -> bytes:
    """The bytes that groups of digits stand for, the most significant digit first."""
    values = []
    for offset in range(0, len(digits) - len(digits) % width, width):
        value = 0
        for digit in digits[offset : offset + width]:
            value = value * base + digit
        values.append(value & 255)
    return bytes(values)


def _text(data: bytes) -> str:
    try:
        return data.strip(b"\0").decode()
    except UnicodeDecodeError:  # bits that are no text hide none
        return ""


def reads(text: str) -> bool:
    """Whether a decoded text consists of words rather than of noise."""
    if len(text) < 3 or not (text.isprintable() or "".join(text.split()).isprintable()):
        return False
    letters = sum(character.isalpha() or character == " " for character in text)
    return letters * 4 >= len(text) * 3


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
    "\U0001d400-\U0001d7ff"
    "\uff21-\uff3a\uff41-\uff5a"
    "\u24b6-\u24e9\U0001f110-\U0001f129\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"
    "\u2090-\u209c\u1d2c-\u1d6a\u02b0-\u02b8\u2071\u207f"
)
"""Letters in a style of their own: mathematical, full width, enclosed, raised and lowered."""
_styled_word = re.compile(f"[{_STYLED}]{{3,}}|[{_STYLED}](?:[ .-]?[{_STYLED}]){{4,}}").finditer
_full_width = re.compile("[\uff21-\uff3a\uff41-\uff5a]+").fullmatch
_east_asian = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]").search
_styled = re.compile(f"[{_STYLED}]+")
_OVERLAYS = re.compile("[\u0332-\u0338\u0489\u20d2-\u20eb]+")
"""Marks drawn through or under a letter."""
_overlaid_word = re.compile("(?:[A-Za-z][\u0332-\u0338\u0489\u20d2-\u20eb]{1,9}){3,}").finditer
_ENCLOSED = {
    **{chr(0x1F130 + letter): chr(65 + letter) for letter in range(26)},
    **{chr(0x1F150 + letter): chr(65 + letter) for letter in range(26)},
    **{chr(0x1F170 + letter): chr(65 + letter) for letter in range(26)},
    **{chr(0x1F110 + letter): chr(65 + letter) for letter in range(26)},
}
_FROM_ENCLOSED = str.maketrans(_ENCLOSED)


def imitated(text: str) -> str:
    """A text with ASCII letters in place of all their lookalikes and styled forms."""
    unstyled = _styled.sub(lambda match: normalize("NFKC", match[0].translate(_FROM_ENCLOSED)), text)
    unstyled = _OVERLAYS.sub("", unstyled)
    return _word_sub(unstyled)


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
    words: list[tuple[int, int, str]] = []
    if _lookalike(text) is None:
        return words
    others: bool | None = None
    for match in _word(text):
        word = match[0]
        ascii_word = word if word.isascii() else word.translate(_TO_ASCII)
        if ascii_word is word or not ascii_word.isascii():
            continue
        if others is None:
            others = _has_other_letters(text)
        if len(ascii_word) >= _least_letters(word, others=others):
            words.append((match.start(), match.end(), ascii_word))
    return words


def _least_letters(word: str, *, others: bool) -> int:
    """How many letters a word with lookalikes needs, to be no symbol, unit or word of another language."""
    foreign = [letter for letter in word if not letter.isascii()]
    if len(foreign) == len(word):
        return 1_000 if others else 4
    if others:
        return 6
    return 4 if all(letter in _GREEK for letter in foreign) else 3  # Greek letters are symbols as well, as in `μs`


def _has_other_letters(text: str) -> bool:
    """Whether a text has letters of another script that do not look like ASCII letters."""
    return any(letter not in LOOKALIKES for letter in _OTHER_SCRIPT.findall(text))


def styled_words(text: str) -> list[tuple[int, int, str]]:
    """The words in styled or crossed out letters: start, end, their plain form.

    Full-width words within East Asian text are usual.
    """
    words = []
    if _styled.search(text) is not None:
        for match in _styled_word(text):
            if not (_full_width(match[0]) and _east_asian(text)):
                words.append((match.start(), match.end(), normalize("NFKC", match[0].translate(_FROM_ENCLOSED))))
    if _OVERLAYS.search(text) is not None:
        words += [(match.start(), match.end(), _OVERLAYS.sub("", match[0])) for match in _overlaid_word(text)]
    return words
