"""The words of texts, as an index has them and a query asks for them: in any script, without case and accents.

A run of a script that has no spaces is taken apart into its pairs and triples of characters, so that SQLite's tokenizer finds
them as it finds words.
"""

from __future__ import annotations

import re
import unicodedata

TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* N* Co M*'"
"""How SQLite takes a searchable text apart."""

_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_MOST_WORDS = 64
"""Different words of a query that count."""
_LONGEST_QUERY = 20_000
"""Characters of a query that are looked at."""
_WORD_KINDS = frozenset({"L", "N", "M"})


_SURROGATES = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """A text as a file of SQLite can have it: without halves of characters, which models and file names may have."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def searchable(text: str) -> str:
    """A text as it is indexed: one whose words SQLite finds."""
    if text.isascii():
        return text
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).casefold()
    return _NO_SPACES.sub(_parts, plain)


def words_of(query: str) -> list[str]:
    """The different words of a query in their order, as an index has them."""
    text = searchable(query[:_LONGEST_QUERY]).lower()
    if text.isascii():
        found = re.findall("[0-9a-z]+", text)
    else:
        found = "".join(character if _is_of_word(character) else " " for character in text).split()
    return list(dict.fromkeys(found))


def chosen(counts: dict[str, int], documents: int, wanted: int) -> list[str]:
    """The words of a query that are looked for, the rarest first, by how many of all ``documents`` have each.

    One that is in more than 5 % of them (and in more than a thousand) says little and costs much: it is left out, unless the
    others are in fewer documents than are ``wanted``.
    """
    common = max(documents // 20, 1_000)
    words: list[str] = []
    found = 0
    for word, count in sorted(counts.items(), key=lambda entry: entry[1]):
        if count and (count <= common or found < wanted) and len(words) < _MOST_WORDS:
            words.append(word)
            found += count
    return words


def _parts(run: re.Match[str]) -> str:
    text = run[0]
    pairs = [text[at : at + 2] for at in range(len(text) - 1)]
    triples = [text[at : at + 3] for at in range(len(text) - 2)]
    return f" {' '.join((*pairs, *triples) or (text,))} "


def _is_of_word(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in _WORD_KINDS or category == "Co"
