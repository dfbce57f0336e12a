"""Steps that act on the world outside: a model is asked their text, and only plays them."""

from __future__ import annotations

import re

_SAID = """
send email mail page notify alert call phone message post publish tweet deploy release restart reboot delete upload submit book
reserve pay charge refund ship deliver install buy purchase transfer invite subscribe unsubscribe
"""
_ACTS = frozenset(_SAID.split())
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def acts(text: str) -> bool:
    """Whether a text begins with a word that does something outside, and says to what: "Send a Slack message"."""
    words = _WORDS.findall(text[:200])
    return len(words) > 1 and words[0].casefold().replace("-", "") in _ACTS
