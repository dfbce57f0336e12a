"""What is in the ``@{ ... }`` of a node or an edge."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from merrow_analysis.definitions.yaml.yaml_scalars import plain_value
from merrow_analysis.definitions.yaml.yaml_text import YamlProblem, YamlResult, read_bounded_yaml
from merrow_analysis.entities import hide_entities, show_entities
from merrow_analysis.text import Span

_CACHED_LENGTH = 1 << 16
"""Bodies longer than this are read again each time, so that the cache stays small."""
_ENTRY = r"""([A-Za-z_][A-Za-z0-9_-]*):[ ]+
    (?: "([^"\\\x00-\x1f]*)" | ([A-Za-z0-9_][A-Za-z0-9_./()+-]*(?:[ ][A-Za-z0-9_./()+-]+)*) )[ \t]*"""
_PAIR = re.compile(rf"[ \t]*{_ENTRY}(?:,|\Z)[ \t]*", re.VERBOSE)
_LINE = re.compile(_ENTRY, re.VERBOSE)


@dataclass(slots=True, eq=False)
class MetaDoc:
    """The metadata of one ``@{ body }``; spans are offsets into the body. Shared between equal bodies: don't change it.

    ``values`` are its entries, none where it is not a mapping or no YAML. ``value`` is what Mermaid gets: None may be a
    null, or nothing at all where ``is_empty``.
    """

    body: str
    values: dict[str, object]
    value: object
    error: YamlProblem | None = None
    is_empty: bool = False
    _result: YamlResult | None = field(default=None, repr=False)

    def key_span(self, key: str) -> Span:
        """Where a key stands; the whole body for a key that is not there."""
        return self.places(key)[0]

    def value_span(self, key: str) -> Span:
        """Where the value of a key stands, with its quotes."""
        return self.places(key)[1]

    @property
    def key_spans(self) -> dict[str, Span]:
        return {key: self.key_span(key) for key in self.values}

    @property
    def value_spans(self) -> dict[str, Span]:
        return {key: self.value_span(key) for key in self.values}

    def places(self, *path: str | int) -> tuple[Span, Span]:
        """The spans of the key and the value at a path of keys; the whole body where there is no such entry."""
        if self._result is None:
            self._result = read_bounded_yaml(_as_document(hide_entities(self.body))[0])
        length = len(self.body)
        places = self._result.places(path)
        if places is None:
            return (0, length), (0, length)
        shift = _as_document(self.body)[1]
        (a, b), (c, d) = places
        return (_clamp(a - shift, length), _clamp(b - shift, length)), (
            _clamp(c - shift, length),
            _clamp(d - shift, length),
        )


def parse_metadata(body: str) -> MetaDoc:
    """Read the text between ``@{`` and ``}`` as Mermaid does. Never raises; equal bodies share one answer."""
    return _parse(body) if len(body) > _CACHED_LENGTH else _cached(body)


def _parse(body: str) -> MetaDoc:
    simple = _simple_lines(body) if "\n" in body else _simple(body)
    if simple is not None:
        return MetaDoc(body, simple, simple)
    return read_fully(body)


_cached = lru_cache(maxsize=4096)(_parse)


def read_fully(body: str) -> MetaDoc:
    """`parse_metadata` without its short cut for simple bodies and without its memory."""
    # Mermaid's YAML sees no "#" of an entity, which after a space would begin a comment.
    hidden = hide_entities(body)
    document, shift = _as_document(hidden)
    result = read_bounded_yaml(document)
    value = result.value if hidden is body else _shown(result.value)
    error = result.error
    if error is not None:
        error = YamlProblem(show_entities(error.message), _clamp(error.offset - shift, len(body)))
    return MetaDoc(body, value if isinstance(value, dict) else {}, value, error, result.is_empty, result)


def _shown(value: object) -> object:
    """A value with its entities as in the source. Lists and mappings are changed in place, shared ones once."""
    root = [value]
    waiting: list[list[object] | dict[object, object]] = [root]
    seen: set[int] = set()
    while waiting:
        container = waiting.pop()
        if id(container) in seen:
            continue
        seen.add(id(container))
        if isinstance(container, dict):
            entries = [(_shown_text(key), _shown_text(item)) for key, item in container.items()]
            container.clear()
            container.update(entries)
            items = [item for _, item in entries]
        else:
            container[:] = items = [_shown_text(item) for item in container]
        waiting += [item for item in items if isinstance(item, list | dict)]
    return root[0]


def _shown_text(value: object) -> object:
    return show_entities(value) if isinstance(value, str) else value


def _as_document(body: str) -> tuple[str, int]:
    """The YAML that Mermaid makes of a body, and how many characters it puts before it."""
    return (body + "\n", 0) if "\n" in body else ("{\n" + body + "\n}", 2)


def _simple(body: str) -> dict[str, object] | None:
    """The entries of ``key: word, key: "text"``, the commonest form by far; None where the body has any other form."""
    values: dict[str, object] = {}
    position, length = 0, len(body)
    while position < length:
        match = _PAIR.match(body, position)
        if match is None:
            return None
        key, quoted, word = match.groups()
        if key in values or plain_value(key) is not key:
            return None
        values[str(key)] = quoted if word is None else plain_value(word)
        position = match.end()
    return values


def _simple_lines(body: str) -> dict[str, object] | None:
    """The entries of a body of lines ``key: word`` and ``key: "text"``, all indented alike; None for any other form."""
    lines = body.split("\n")
    if lines[0].strip(" "):
        return None
    values: dict[str, object] = {}
    indent: int | None = None
    for line in lines:
        content = line.lstrip(" ")
        if not content:
            continue
        match = _LINE.fullmatch(content)
        depth = len(line) - len(content)
        if match is None or (indent is not None and depth != indent):
            return None
        indent = depth
        key, quoted, word = match.groups()
        if key in values or plain_value(key) is not key:
            return None
        values[str(key)] = quoted if word is None else plain_value(word)
    return values or None


def _clamp(offset: int, length: int) -> int:
    return max(0, min(offset, length))
