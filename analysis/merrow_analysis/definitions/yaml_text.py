"""YAML as Mermaid reads it, with the place of every key and value.

Mermaid reads ``@{ }`` metadata and front matter with js-yaml 4 and the JSON schema. `read_yaml` accepts and refuses the
same texts and gives the same values; a test compares them. It is a reader of its own, since no YAML library for
Python draws the same borders (``{a:b}``, tabs, keys on several lines, repeated keys, numbers), and since places have
to be exact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from merrow_analysis.definitions.yaml_reader import Mark, YamlReader
from merrow_analysis.definitions.yaml_scanner import TAG_HANDLE, YamlError

Path = tuple[str | int, ...]
Span = tuple[int, int]
_VERSION = re.compile(r"[0-9]+\.[0-9]+")
_DIRECTIVE = re.compile(r"%[^ \t\r\n\0]*")
_ARGUMENT = re.compile(r"[^ \t\r\n\0]+")


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """Why a text is no YAML: a sentence for the user, and the offset (code points) of the place it speaks of."""

    message: str
    offset: int


@dataclass(slots=True)
class YamlResult:
    """What a text says. ``value`` is made of dict, list, str, int, float, bool and None; None where ``error`` is set.

    Aliases share what they name, so the value may be far larger than the text when walked as a tree, or endless: look
    at the entries you know, don't walk it. ``is_empty`` tells a text without any document from one whose value is
    null.
    """

    value: object
    error: YamlProblem | None = None
    is_empty: bool = False
    marks: list[Mark] = field(default_factory=list, repr=False)
    shift: int = field(default=0, repr=False)
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
    reader = _Document(text)
    try:
        value = reader.document()
    except YamlError as error:
        offset = min(error.offset, max(0, len(text) - 1 - reader.shift)) + reader.shift
        return YamlResult(None, YamlProblem(error.message, offset))
    return YamlResult(value, None, reader.is_empty, reader.marks, reader.shift)


class _Document(YamlReader):
    """The frame of a text: byte order mark, directives, the marks ``---`` and ``...``."""

    def __init__(self, text: str) -> None:
        if text and text[-1] not in "\r\n":
            text += "\n"
        self.shift = 0
        if text.startswith("\ufeff"):
            text = text[1:]
            self.shift = 1
        super().__init__(text)
        self._length = len(text)
        self.is_empty = True

    def document(self) -> object:
        """The value of the one document. Raises `YamlError` for what is no YAML or more than one document."""
        null = self.text.find("\0", 0, self._length)
        if null != -1:
            self.fail("A NUL character is not allowed here.", null)
        while self.text[self.pos] == " ":
            self.line_indent += 1
            self.pos += 1
        value: object = None
        first_end = -1
        while self.pos < self._length - 1:
            if not self.is_empty and first_end == -1:
                first_end = self.pos
            value = self._one_document()
            self.is_empty = False
        if first_end != -1:
            self.fail("Only one YAML document may stand here.", first_end)
        return value

    def _one_document(self) -> object:
        directives = self._directives()
        self.skip(comments=True)
        if self.line_indent == 0 and self.text.startswith("---", self.pos):
            self.pos += 3
            self.skip(comments=True)
        elif directives:
            self.fail("A line that begins with % is a YAML directive and must be followed by a line ---.")
        value = self.node()
        self.skip(comments=True)
        if self.pos == self.line_start and self.at_document_mark():
            if self.text[self.pos] == ".":
                self.pos += 3
                self.skip(comments=True)
        elif self.pos < self._length - 1:
            if -1 < self.first_tab <= self.pos:
                self.refuse_tab()
            self.fail("This can't follow the value before it; is a comma, a colon or a quote missing?")
        return value

    def _directives(self) -> bool:
        text = self.text
        self.tag_prefixes = {}
        version = found = False
        while text[self.pos] != "\0":
            self.skip(comments=True)
            if self.line_indent > 0 or text[self.pos] != "%":
                break
            found = True
            start = self.pos
            match = _DIRECTIVE.match(text, start)
            assert match is not None  # noqa: S101  the pattern begins with the character just seen
            self.pos = match.end()
            name = match[0][1:]
            if not name:
                self.fail("A line that begins with % is a YAML directive and wants a name.")
            arguments = self._directive_arguments()
            if name == "YAML":
                number = arguments[0] if len(arguments) == 1 else ""
                if version or not _VERSION.fullmatch(number) or number.partition(".")[0].lstrip("0") != "1":
                    self.fail("Write one line %YAML 1.2, or none.", start)
                version = True
            elif name == "TAG":
                self._tag_directive(arguments, start)
            if text[self.pos] != "\0":
                self.line_break()
        return found

    def _directive_arguments(self) -> list[str]:
        text = self.text
        arguments: list[str] = []
        while True:
            while text[self.pos] in " \t":
                self.pos += 1
            if text[self.pos] == "#":
                while text[self.pos] not in "\r\n\0":
                    self.pos += 1
            match = _ARGUMENT.match(text, self.pos)
            if match is None:
                return arguments
            arguments.append(match[0])
            self.pos = match.end()

    def _tag_directive(self, arguments: list[str], start: int) -> None:
        handle, prefix = arguments if len(arguments) == 2 else ("", "")
        if not TAG_HANDLE.fullmatch(handle) or not prefix or handle in self.tag_prefixes:
            self.fail("A %TAG line wants a handle such as !e! and a prefix, each handle once.", start)
        self.tag_prefixes[handle] = self.decoded_tag(prefix)
