r"""Character classes as JavaScript's regular expressions have them, since Mermaid's lexer is written with those.

``\s`` is spelled out because Python's differs (it has U+001C to U+001F and U+0085, and lacks U+FEFF); ``\w`` and ``\b`` are
ASCII in JavaScript: compile with ``re.ASCII``.
"""

from __future__ import annotations

WHITE = "\\t\\n\\x0b\\x0c\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
"""The inside of a character class that matches JavaScript's white space."""

SPACE = f"[{WHITE}]"
NOT_LINE_END = "[^\\n\\r\\u2028\\u2029]"
"""JavaScript's ``.``."""

WHITE_CHARACTERS = (
    "\t\n\x0b\x0c\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def trim(text: str) -> str:
    """JavaScript's ``String.prototype.trim``."""
    if text and text[0] > " " and text[-1] > " " and text.isascii():
        return text
    return text.strip(WHITE_CHARACTERS)
