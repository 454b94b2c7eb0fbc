"""Alphabets of simple ciphers, and what usual words look like in them."""

from __future__ import annotations

from string import ascii_lowercase

from mcproof.poisoning.usual_words import KNOWN

_SIGNS = """
    the and you user this that with from all not must send read file tool ignore instructions previous system before
    always never call your tell key when secret password token execute contents data message email use then first
    delete into keys copy for are any without about files run include forward output las los que les des une und die
    der nicht instrucciones usuario anteriores mot passe para dans pour
"""
"""Words of which a sentence to a model has two."""

ALPHABETS = {
    "atbash": ascii_lowercase[::-1],
    **{
        "rot13" if by == 13 else f"shift by {by}": ascii_lowercase[by:] + ascii_lowercase[:by]
        for by in range(1, len(ascii_lowercase))
    },
}
"""What the letters from a to z stand for, by the name of the cipher."""


def _markers() -> dict[str, frozenset[bytes]]:
    """Encoded forms of usual words, for each cipher."""
    signs, letters = _SIGNS.encode(), ascii_lowercase.encode()
    encoded = {"reversed": signs[::-1]}
    for cipher, alphabet in ALPHABETS.items():
        encoded[cipher] = signs.translate(bytes.maketrans(alphabet.encode(), letters))
    known = frozenset(" ".join(KNOWN).encode().split())
    return {cipher: frozenset(words.split()) - known for cipher, words in encoded.items()}


_MARKERS = _markers()
MARKER_WORDS: frozenset[bytes] = frozenset().union(*_MARKERS.values())
"""Words that are usual ones in some cipher."""


def ciphers_of(word: bytes) -> list[str]:
    """The ciphers in which a usual word looks like this."""
    return [cipher for cipher, words in _MARKERS.items() if word in words]
