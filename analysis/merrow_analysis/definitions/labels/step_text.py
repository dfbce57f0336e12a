"""What a box of a drawing says, as a person reads it: the text of its label without what only draws.

``<br/>`` ends a line. Other tags, backticks, emphasis, icons (``fa:fa-car``) and emoji are left out; entities stand for their
characters.
"""

from __future__ import annotations

import re
from functools import lru_cache

from merrow_analysis.definitions.labels.parameters import decoded_entities

_BREAK = re.compile(r"<br[ \t]*/?[ \t]*>|\r\n|\n|\r", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_ICON = re.compile(r"\b(?:fa[a-z]{0,2}:fa-|(?:fa[a-z]{0,2}|mdi|logos|material-symbols):(?=[a-z]))[\w-]+")
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u200d\u20e3\ufe0e\ufe0f\U000e0020-\U000e007f]")
_STARS = re.compile(r"(\*{1,3})(?=\S)([^*\n]*\S)\1")
_UNDERSCORES = re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_\n]*\S)\1(?!\w)")
_STRUCK = re.compile(r"~~(?=\S)([^~\n]*\S)~~")
_SPACES = re.compile(r"[^\S\n]+")
_LONGEST_TITLE = 60
_WORD = re.compile(r"[A-Za-z]{3}|(?![A-Za-z])[^\W\d_]")
"""Three letters of the Latin alphabet, or one of another: scripts such as Chinese write words with one character."""


@lru_cache(maxsize=8192)
def step_text(label: str) -> str:
    """The text of a label, its lines separated by line feeds; empty where nothing is left. Never raises."""
    text = _BREAK.sub("\n", label)
    if "<" in text:
        text = _TAG.sub("", text)
    if ":" in text:
        text = _ICON.sub(" ", text)
    text = decoded_entities(text).replace("`", "")
    for emphasis in (_STARS, _UNDERSCORES):
        text = emphasis.sub(r"\2", text)
    text = _STRUCK.sub(r"\1", text)
    text = _EMOJI.sub(" ", text)
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def words_of_id(name: str) -> str | None:
    """What a box without a label says: Mermaid shows its id. None where that has no word, as ``A`` and ``n1`` have none."""
    return re.sub(r"[_-]+", " ", name).strip() if _WORD.search(name) else None


def step_title(text: str) -> str:
    """What people call a step with this text: its first line, at most 60 characters of it."""
    first = text.partition("\n")[0]
    return first if len(first) <= _LONGEST_TITLE else first[: _LONGEST_TITLE - 1].rstrip() + "…"
