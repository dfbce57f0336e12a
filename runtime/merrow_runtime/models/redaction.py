"""Takes secrets out of texts that came from outside before they are shown, logged or kept."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "[hidden]"
_SHORTEST = 4
"""A key shorter than this hides nothing: it would only make holes in ordinary words."""
_LONGEST = 300
_LOOKS_SECRET = (
    re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/*=-]{4,}"),
    re.compile(r"(?i)(authorization|api[-_ ]?key|x-api-key|access[-_]?token)(\"?'?\s*[:=]\s*\"?'?)[^\s\"',;}]+"),
    re.compile(r"\b(sk|pk|rk|gsk|hf|xai|ghp)([-_])[\w*.-]{8,}"),
)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without the given secrets, in any of the forms in which servers echo them, and without what looks like one."""
    for secret in sorted({form for given in secrets for form in _forms(given)}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _LOOKS_SECRET[0].sub(rf"\1 {HIDDEN}", text)
    text = _LOOKS_SECRET[1].sub(rf"\1\2{HIDDEN}", text)
    return _LOOKS_SECRET[2].sub(HIDDEN, text)


def quoted(text: str, secrets: Iterable[str] = ()) -> str:
    """What a server said, fit for one line of an error: without secrets or control characters, cut where it is long."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in redacted(text, secrets)).split())
    return line if len(line) <= _LONGEST else line[:_LONGEST].rstrip() + "..."


def _forms(secret: str) -> list[str]:
    if len(secret) < _SHORTEST:
        return []
    encoded = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode("ascii").rstrip("=")
    return [secret, quote(secret, safe="", errors="replace"), json.dumps(secret)[1:-1], encoded]
