"""Simple ciphers: shifted and mirrored alphabets, reversed text, digits for letters, spaced letters, Morse, Braille."""

from __future__ import annotations

import re
from functools import partial
from string import ascii_lowercase
from typing import TYPE_CHECKING

from mcproof.poisoning.cipher_words import ALPHABETS, ciphers_of
from mcproof.poisoning.prose_signs import is_sentence
from mcproof.poisoning.usual_words import COMMANDS, KNOWN, OBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
_morse_run = re.compile(r"(?<![A-Za-z.])[.\-/|](?:[.\-/| \n]{0,4000}[.\-])").findall
_BRAILLE = dict(zip("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵⠀", f"{ascii_lowercase} ", strict=True))
_FLIPPED = dict(zip("ɐqɔpǝɟƃɓɥᴉıɾʞlɯuodbɹsʇnʌʍxʎz", "abcdefgghiijklmnopqrstuvwxyz", strict=True))
_flipped_sign = re.compile("[ɐɔǝɟƃɥɯɹʇʌʍʎ]").findall
_ROTATED = {code: 33 + (code - 33 + 47) % 94 for code in range(33, 127)}
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
            plain
            for segment in _segments(text)
            if not is_sentence(segment, share=0.3) and is_sentence(plain := decode(segment), share=0.4)
        ]
        if decoded:
            yield code, " ".join(each.strip() for each in (decoded[::-1] if code == "reversed" else decoded))


def in_leet(text: str) -> str:
    """The sentences with digits and signs for letters, in letters; empty if hardly any word becomes a usual one."""
    found = []
    for sentence in _sentences(text):
        words = _leet_word(sentence.lower()) if _two_leet_signs(sentence) else ()
        for table in (_LEET, _LEET_WITH_L) if len(words) >= 2 else ():
            usual = sum(_usual(word.translate(table)) for word in words)
            if usual >= max(2, len(words) / 3):
                found.append(sentence.translate(table))
                break
    return " ".join(found)


def _usual(word: str) -> bool:
    return len(word) >= 3 and (word in KNOWN or word.rstrip("s") in KNOWN)


def spaced_out(text: str) -> str:
    """The words whose letters a text spaces out, `i g n o r e`; empty if there are hardly any."""
    found = []
    for run in _spaced(text):
        parts = run.split() if _separator_sign(run) else _gap_of_words.split(run)
        words = [re.sub("[^A-Za-z]", "", part) for part in parts]
        words = [word for word in words if word]
        if len(words) > 1 and all(len(word) == 1 for word in words):
            words = ["".join(words)]
        found.append(" ".join(words))
    return "; ".join(found)


def in_morse(text: str) -> str:
    """The text in Morse code; empty if there is none."""
    for run in _morse_run(text):
        signs = run.replace("/", " / ").replace("|", " | ").split()
        if len(signs) >= 12 and all(sign in _MORSE for sign in signs):
            return "".join(_MORSE[sign] for sign in signs)
    return ""


def in_other_letters(text: str) -> Iterator[tuple[str, str]]:
    """The text in Braille or upside-down letters, with the name of the code."""
    cells = [each for each in text if "\u2800" <= each <= "\u28ff"]
    if len(cells) >= 8:
        yield "Braille", "".join(_BRAILLE.get(each, each) for each in text if each in _BRAILLE or each == " ").strip()
    if len(_flipped_sign(text)) >= 5:
        yield "upside-down letters", "".join(_FLIPPED.get(each, each) for each in reversed(text)).strip()


def is_run_together(text: str) -> bool:
    """Whether a text without spaces contains words of an instruction."""
    lowered = text.lower()
    return len(lowered) >= 12 and any(word in lowered for word in COMMANDS | OBJECTS if len(word) >= 6)


def rotated(text: str) -> str:
    """A text in rot47, which shifts letters, digits and punctuation, in plain."""
    return text.translate(_ROTATED)
