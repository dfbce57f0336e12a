"""Texts of others as they may be shown: nothing in them drives a terminal or hides itself."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    """``text`` with its lines and tabs; all else that could drive a terminal or hide text becomes visible characters."""
    if text.isprintable():
        return text
    return "\n".join(map(visible, text.replace("\r\n", "\n").split("\n")))


def visible(text: str) -> str:
    """``text`` with what would move the cursor, change colours or hide itself replaced by what can be seen."""
    return _UNPRINTABLE.sub(_stand_in, text) if not text.isprintable() else text


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"
