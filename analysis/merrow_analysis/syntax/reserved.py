"""The words that Mermaid's lexer takes for its own where an id is expected."""

from __future__ import annotations

import re

WORDS = "style|linkStyle|interpolate|classDef|class|graph|flowchart-elk|flowchart|swimlane-beta|subgraph|end|href|click"
RESERVED = frozenset(WORDS.split("|"))
_RESERVED = re.compile(rf"(?<![A-Za-z0-9_])(?:{WORDS})\b|^_(?=(?:self|blank|parent|top)\b)", re.ASCII)


def has_reserved(name: str) -> bool:
    """Whether an id has such a word in it, as a word."""
    return _RESERVED.search(name) is not None


def capitalised(name: str) -> str:
    """An id with capital letters, which Mermaid's words don't have."""
    return _RESERVED.sub(lambda match: "N_" if match[0] == "_" else match[0][0].upper() + match[0][1:], name)
