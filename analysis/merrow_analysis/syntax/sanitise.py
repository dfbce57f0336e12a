"""Labels as Mermaid's HTML sanitiser leaves them.

Mermaid hands every label to DOMPurify, twice, the second time without ``<style>``. A label without ``<`` comes back as
it is; any other is read as HTML, stripped of what may not stay and written out again: ``<br/>`` becomes ``<br>`` and a
bare ``&`` becomes ``&amp;``. What may stay is DOMPurify's default policy; reading and writing HTML is left to ammonia
(nh3).
"""

from __future__ import annotations

import re
from functools import lru_cache

import nh3

from merrow_analysis.syntax.sanitise_policy import (
    ATTRIBUTES,
    MAY_HOLD_DATA,
    REMOVED_WITH_CONTENT,
    SPECIAL_TO_HTML,
    TAGS,
    URL_SCHEMES,
    WORD_ATTRIBUTES,
)

_HARMLESS_ADDRESS = re.compile(
    r"(?:(?:(?:f|ht)tps?|mailto|tel|callto|sms|cid|xmpp|matrix):|[^a-z]|[a-z+.\-]+(?:[^a-z+.\-:]|\Z))", re.IGNORECASE
)
_BLANKS = re.compile("[\0- \xa0\u1680\u180e\u2000-\u2029\u205f\u3000]")
_BREAKS_OUT = re.compile(
    r"(?:--!?|\])>|</(?:style|script|title|xmp|textarea|noscript|iframe|noembed|noframes)", re.IGNORECASE
)

# Reading HTML is not linear in the number of tags (open elements nest, some are reopened): no honest label has so many.
_MOST_TAGS = 200

_KNOWN_TAGS = TAGS | REMOVED_WITH_CONTENT | SPECIAL_TO_HTML

# Marks for the way through the cleaner, from Unicode's private use.
_OPEN, _CLOSE, _UNKNOWN = "\ue000", "\ue001", "\ue002"

_TO_STAND_IN = 0x10F000 - 0xD800
_SURROGATE = re.compile("[\ud800-\udfff]")
_STAND_IN = re.compile("[\U0010f000-\U0010f7ff]")

# Mermaid takes entities such as #quot; out of the way before anything reads the text: "&#39;" is no HTML entity there.
_ENTITY = re.compile(r"#(\w+);", re.ASCII)
_HIDDEN_ENTITY = re.compile(f"{_OPEN}(\\w+){_CLOSE}", re.ASCII)
_TAG_NAME = re.compile(r"(</?)([A-Za-z][^\s/><]*)")

# What a browser drops, or puts into the document's head, as long as the body has not begun.
_BEFORE_BODY = re.compile(
    r"(?:[ \t\n\f]+|</(?!br\b)[a-z][^>]*>|<!--(?:-?>|.*?--!?>)|<(?:!(?!--)|\?)[^>]*>"
    r"|<(title|noscript|noframes|script|style)\b[^>]*>.*?</\1\s*>|<(?:base|link|meta)\b[^>]*>)+",
    re.IGNORECASE | re.DOTALL,
)
_WITH_TARGET = re.compile(r"<a((?: [^\s=<>]+=\"[^\"]*\")*?) target=\"([^\"]*)\"((?: [^\s=<>]+=\"[^\"]*\")*)>")
_REL = re.compile(r" rel=\"[^\"]*\"")


def _keep_attribute(tag: str, name: str, value: str) -> str | None:
    """The value to write for an attribute that the policy knows by name, or None to drop it."""
    if name != "value":
        value = value.strip()
    if _BREAKS_OUT.search(value) or (name == "attributename" and "href" in value):
        return None
    if name == "for" and tag not in ("label", "output"):
        return None
    if not value or name in WORD_ATTRIBUTES or name.startswith(("data-", "aria-")):
        return value
    if _HARMLESS_ADDRESS.match(_BLANKS.sub("", value)):
        return value
    if name in ("src", "href") and value.startswith("data:") and tag in MAY_HOLD_DATA:
        return value
    return None


_CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    clean_content_tags=set(REMOVED_WITH_CONTENT),
    attributes={"*": set(ATTRIBUTES), "a": {"target"}},
    attribute_filter=_keep_attribute,
    generic_attribute_prefixes={"data-", "aria-"},
    url_schemes=set(URL_SCHEMES),
    link_rel=None,
    strip_comments=True,
)


def sanitise_label(text: str) -> str:
    """``text``, a label as it is in the source, trimmed and without its quotes, as Mermaid stores it.

    Entities of Mermaid's own (``#quot;``) come back as they are; so does a label with more than 200 ``<``.
    """
    if "<" not in text or text.count("<") > _MOST_TAGS:
        return text
    return _sanitise(text)


@lru_cache(maxsize=1024)
def _sanitise(text: str) -> str:
    if _SURROGATE.search(text):
        # Half a surrogate pair is not a text to ammonia; for a browser it is a character like any other.
        stand_ins = _SURROGATE.sub(lambda half: chr(ord(half[0]) + _TO_STAND_IN), text)
        return _STAND_IN.sub(lambda mark: chr(ord(mark[0]) - _TO_STAND_IN), _sanitise(stand_ins))
    clean = _clean(_ENTITY.sub(rf"{_OPEN}\1{_CLOSE}", text))
    if "<" in clean:
        clean = _clean(clean)
    return _HIDDEN_ENTITY.sub(r"#\1;", clean)


def _clean(text: str) -> str:
    start = _BEFORE_BODY.match(text)
    if start is not None:
        text = text[: len(text) - len(text.lstrip(" \t\r\n"))] + text[start.end() :]
    clean: str = _CLEANER.clean(_TAG_NAME.sub(_mark_unknown, text)).replace(_UNKNOWN, "")
    return _WITH_TARGET.sub(_target_last, clean) if " target=" in clean else clean


def _mark_unknown(tag: re.Match[str]) -> str:
    """Lengthen the name of an unknown element: ammonia would drop some, such as ``<int>``, with their content."""
    name = tag[2]
    return tag[0] if name.lower() in _KNOWN_TAGS else f"{tag[1]}{name}{_UNKNOWN}"


def _target_last(link: re.Match[str]) -> str:
    """Mermaid sets ``target`` again, after the other attributes, and keeps a new window from reaching its opener."""
    before, target, after = link.groups()
    others = before + after
    if target == "_blank":
        others = _REL.sub("", others) + ' rel="noopener"'
    return f'<a{others} target="{target}">'
