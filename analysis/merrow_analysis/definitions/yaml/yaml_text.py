"""YAML as Mermaid reads it, with the place of every key and value.

Mermaid reads ``@{ }`` metadata and front matter with js-yaml 4 and the JSON schema. `read_yaml` accepts and refuses the
same texts and gives the same values; a test compares them. It is a reader of its own, since no YAML library for
Python draws the same borders (``{a:b}``, tabs, keys on several lines, repeated keys, numbers), and since places have
to be exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from merrow_analysis.bounded.allowance import Allowance, TooMuchError, size_of
from merrow_analysis.text import Span

if TYPE_CHECKING:
    from merrow_analysis.definitions.yaml.yaml_reader import Mark

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """Why a text is not valid YAML: a sentence for the user, and the offset (code points) of the place it speaks of."""

    message: str
    offset: int


@dataclass(slots=True)
class YamlResult:
    """What a text says. ``value`` is made of dict, list, str, int, float, bool and None; None where ``error`` is set.

    Aliases share what they name, so the value may be far larger than the text when walked as a tree, or endless: look
    at the entries you know, don't walk it, or ask `read_bounded_yaml`. ``alias`` is the offset of the first one.
    ``is_empty`` tells a text without any document from one whose value is null.
    """

    value: object
    error: YamlProblem | None = None
    is_empty: bool = False
    marks: list[Mark] = field(default_factory=list, repr=False)
    shift: int = field(default=0, repr=False)
    alias: int | None = field(default=None, repr=False)
    _places: dict[tuple[int, str | int], Mark] | None = field(default=None, repr=False)

    def place(self, container: object, key: str | int) -> tuple[Span, Span] | None:
        """The spans of key and value of an entry of ``container``, a part of ``value``; in a list both are equal."""
        if self._places is None:
            self._places = {(id(mark.container), mark.key): mark for mark in self.marks}
        mark = self._places.get((id(container), key))
        if mark is None:
            return None
        shift = self.shift
        return (mark.key_start + shift, mark.key_end + shift), (mark.value_start + shift, mark.value_end + shift)

    def places(self, path: Path) -> tuple[Span, Span] | None:
        """The spans of key and value at a path such as ``("prompts", "solver")``; None where there is no such entry."""
        container = self.value
        for key in path[:-1]:
            if self.place(container, key) is None:
                return None
            container = container[key]  # type: ignore[index]
        return self.place(container, path[-1]) if path else None


def read_yaml(text: str) -> YamlResult:
    """Read a text as js-yaml's ``load(text, {schema: JSON_SCHEMA})`` does. Never raises; takes linear time."""
    # Most workflow files have neither front matter nor metadata; so the reader is loaded only now.
    from merrow_analysis.definitions.yaml.yaml_document import YamlDocument
    from merrow_analysis.definitions.yaml.yaml_scanner import YamlError

    reader = YamlDocument(text)
    try:
        value = reader.document()
    except YamlError as error:
        offset = min(error.offset, max(0, len(text) - 1 - reader.shift)) + reader.shift
        return YamlResult(None, YamlProblem(error.message, offset))
    alias = None if reader.first_alias is None else reader.first_alias + reader.shift
    return YamlResult(value, None, reader.is_empty, reader.marks, reader.shift, alias)


_TOO_LARGE = "Its references (*name) make it too large: more than 100,000 values. Write fewer of them."
MOST_PARTS = 100_000
"""Parts of a value as a tree; the largest workflows have some thousands."""


def read_bounded_yaml(text: str) -> YamlResult:
    """Read a text as `read_yaml` does, for use as a tree: one whose aliases make it larger than `MOST_PARTS`, or endless, has an
    ``error`` at its first alias.
    """
    result = read_yaml(text)
    if result.alias is None:
        return result
    allowance = Allowance(MOST_PARTS * 8, _TOO_LARGE)
    try:
        size_of(result.value, allowance, letters=False)
    except TooMuchError as problem:
        return YamlResult(None, YamlProblem(str(problem), result.alias))
    return result
