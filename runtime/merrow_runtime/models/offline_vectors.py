"""The vectors of the embedded offline model: texts are alike in them where they share words, or parts of words. What texts mean
it does not know.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from functools import lru_cache

from merrow_runtime.models.embedding_reader import of_length_one
from merrow_runtime.requests import Vector

NUMBERS = 256
"""How many numbers a vector has."""
_WORD = re.compile(r"\w+")
_PART = 3
"""Characters of a part of a word."""
_LONGEST_WORD = 40


def vector_of(text: str) -> Vector:
    """The vector of a text, the same on every machine."""
    numbers = [0.0] * NUMBERS
    for word, count in Counter(_WORD.findall(text.casefold())).items():
        # Long words tell texts apart better than short ones, and the same word once more says little.
        weight = min(len(word), 8) * math.sqrt(count)
        for place, sign in _places(word[:_LONGEST_WORD]):
            numbers[place] += sign * weight
    return of_length_one(numbers)


@lru_cache(20_000)
def _places(word: str) -> tuple[tuple[int, float], ...]:
    """Where a word counts, and how much: the whole of it as much as all its parts."""
    framed = f"<{word}>"
    parts = [framed[start : start + _PART] for start in range(max(1, len(framed) - _PART + 1))]
    share = 1 / math.sqrt(len(parts))
    return (_place(f"word {word}", 1.0), *(_place(part, share) for part in parts))


def _place(feature: str, size: float) -> tuple[int, float]:
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest[:3], "big") % NUMBERS, size if digest[3] & 1 else -size
