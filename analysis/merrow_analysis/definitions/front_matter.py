"""The front matter of a workflow file: the YAML between its ``---`` lines, with places.

Mermaid first takes the indentation of the fence off every line and writes double quotes inside HTML tags as single
ones; both are done here too, and places lead back to the text as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

from merrow_analysis.definitions.yaml.yaml_text import YamlProblem, YamlResult, read_bounded_yaml
from merrow_analysis.text import Span

_TAG = re.compile(r"<(\w+)([^>]*)(?:>|\Z)", re.ASCII)
_ATTRIBUTE = re.compile(r'="([^"]*)"')
_CACHED_LENGTH = 1 << 18


@dataclass(slots=True, eq=False)
class FrontMatterDoc:
    """What front matter says. ``values`` are its entries; Mermaid ignores what is not a mapping, and so are they.

    Offsets and spans are those of the body as it is in the file. Shared between equal bodies: don't change it.
    """

    values: dict[str, object]
    value: object = None
    error: YamlProblem | None = None
    _result: YamlResult = field(default_factory=lambda: YamlResult(None), repr=False)
    _starts: tuple[int, ...] = field(default=(0,), repr=False)
    _taken: tuple[int, ...] = field(default=(0,), repr=False)

    def places(self, *path: str | int) -> tuple[Span, Span] | None:
        """The spans of the key and the value at a path; both are the entry's for a list. None where there is none."""
        places = self._result.places(path)
        if places is None:
            return None
        (a, b), (c, d) = places
        return (self._source(a), self._source(b)), (self._source(c), self._source(d))

    def _source(self, offset: int) -> int:
        line = bisect_right(self._starts, offset) - 1
        return offset + self._taken[line]


EMPTY = FrontMatterDoc({})
"""The front matter of a file that has none."""


def read_front_matter(body: str, indent: str = "") -> FrontMatterDoc:
    """Read the text between the fences, which are indented by ``indent``. Never raises; takes linear time."""
    return _read(body, indent) if len(body) > _CACHED_LENGTH else _cached(body, indent)


def _read(body: str, indent: str) -> FrontMatterDoc:
    text, starts, taken = _dedented(_as_mermaid(body), indent)
    result = read_bounded_yaml(text)
    value = result.value
    doc = FrontMatterDoc(value if isinstance(value, dict) else {}, value, None, result, starts, taken)
    if result.error is not None:
        doc.error = YamlProblem(result.error.message, doc._source(result.error.offset))
    return doc


_cached = lru_cache(maxsize=64)(_read)


def _as_mermaid(body: str) -> str:
    """The body with plain line ends and single quotes in HTML tags; as long as before."""
    if "\r" in body:
        body = re.sub(r"\r(?!\n)", "\n", body)
    if "<" in body and '="' in body:
        body = _TAG.sub(lambda tag: _ATTRIBUTE.sub(r"='\1'", tag[0]), body)
    return body


def _dedented(body: str, indent: str) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """The body without ``indent``, and for each of its lines its start and how much was taken away up to it."""
    if not indent:
        return body, (0,), (0,)
    lines: list[str] = []
    starts: list[int] = []
    taken: list[int] = []
    length = gone = 0
    for line in body.split("\n"):
        kept = line.removeprefix(indent)
        gone += len(line) - len(kept)
        lines.append(kept)
        starts.append(length)
        taken.append(gone)
        length += len(kept) + 1
    return "\n".join(lines), tuple(starts), tuple(taken)
