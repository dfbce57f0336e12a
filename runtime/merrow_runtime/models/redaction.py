"""Takes secrets out of texts that came from outside before they are shown, logged or kept."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

HIDDEN = "[hidden]"
_SHORTEST = 4
"""A key shorter than this hides nothing: it would only make holes in ordinary words."""
_SHORTEST_TRANSFORMED = 8
"""A key shorter than this is looked for as it is, not in other cases, spaced or backwards: such words are too common."""
_BETWEEN = r"[\s\u200b]{0,3}"
_BETWEEN_BYTES = r"[\s:,;-]{0,2}(?:%|&#x|\\x|\\u00|0x)?"
_URL_SAFE = str.maketrans("+/", "-_")
_LONGEST = 300
_READ = 20_000
"""How much of a text is looked at for one line of an error, which shows far less."""
_LONGEST_FORM = 9
"""Characters for each of a secret, in the longest form in which it is looked for."""
_LOOKS_SECRET = (
    re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/*=-]{4,}"),
    re.compile(r"(?i)(authorization|api[-_ ]?key|x-api-key|access[-_]?token)(\"?'?\s*[:=]\s*\"?'?)[^\s\"',;}]+"),
    re.compile(r"\b(sk|pk|rk|gsk|hf|xai|ghp)([-_])[\w*.-]{8,}"),
)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    r"""The text without the given secrets, in any of the forms in which servers echo them, and without what looks like one.

    The forms: in either case, with blanks between the letters, backwards, in hexadecimal (also as ``%73``, ``\\x73``,
    ``\\u0073``), in base64 of any text that has the secret in it, as JSON and as part of a URL. A secret that is cut into
    parts, compressed or encrypted is not recognised.
    """
    for secret in sorted(set(secrets), key=len, reverse=True):
        pattern = _pattern(secret)
        if pattern is not None:
            text = pattern.sub(HIDDEN, text)
    text = _LOOKS_SECRET[0].sub(rf"\1 {HIDDEN}", text)
    text = _LOOKS_SECRET[1].sub(rf"\1\2{HIDDEN}", text)
    return _LOOKS_SECRET[2].sub(HIDDEN, text)


def holds(text: str, secret: str) -> bool:
    """Whether a text has a secret in it, in any of the forms that `redacted` knows."""
    pattern = _pattern(secret)
    return pattern is not None and pattern.search(text) is not None


def quoted(text: str, secrets: Iterable[str] = ()) -> str:
    """What a server said, fit for one line of an error: without secrets or control characters, cut where it is long."""
    given = tuple(secrets)
    line = redacted(text[:_READ], given)
    if len(text) > _READ:
        # What was cut off may have been the rest of a key: the longest form of one ends here.
        line = line[: -_LONGEST_FORM * max(map(len, given), default=0) or None]
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in line).split())
    return line if len(line) <= _LONGEST else line[:_LONGEST].rstrip() + "..."


@lru_cache(maxsize=16)
def _pattern(secret: str) -> re.Pattern[str] | None:
    """What a secret looks like in a text, the longest form first; None for one that is too short."""
    if len(secret) < _SHORTEST:
        return None
    exact = [secret, quote(secret, safe="", errors="replace"), json.dumps(secret)[1:-1]]
    forms = [re.escape(form) for form in sorted({*exact, *_base64(secret)}, key=len, reverse=True)]
    if len(secret) >= _SHORTEST_TRANSFORMED:
        data = secret.encode("utf-8", "surrogatepass")
        forms += [
            f"(?i:{_BETWEEN.join(map(re.escape, secret))})",
            f"(?i:{_BETWEEN.join(map(re.escape, reversed(secret)))})",
            f"(?i:{_BETWEEN_BYTES.join(f'{byte:02x}' for byte in data)})",
            f"(?i:{_BETWEEN_BYTES.join(f'{byte:02x}' for byte in reversed(data))})",
        ]
    return re.compile("|".join(forms))


def _base64(secret: str) -> set[str]:
    """The secret in base64, on its own and inside a longer text: at each offset, the letters that it alone decides."""
    data = secret.encode("utf-8", "surrogatepass")
    forms = {base64.b64encode(data).decode("ascii").rstrip("=")}
    if len(data) >= _SHORTEST_TRANSFORMED:
        for offset in range(3):
            first, last = -(-offset * 8 // 6), (offset + len(data)) * 8 // 6
            forms.add(base64.b64encode(bytes(offset) + data).decode("ascii")[first:last])
    return forms | {form.translate(_URL_SAFE) for form in forms}
