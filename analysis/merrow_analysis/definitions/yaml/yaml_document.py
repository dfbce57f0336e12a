"""The frame of a YAML text: byte order mark, directives, and the marks that begin and end its document."""

from __future__ import annotations

import re

from merrow_analysis.definitions.yaml.yaml_reader import YamlReader
from merrow_analysis.definitions.yaml.yaml_scanner import TAG_HANDLE

_VERSION = re.compile(r"[0-9]+\.[0-9]+")
_DIRECTIVE = re.compile(r"%[^ \t\r\n\0]*")
_ARGUMENT = re.compile(r"[^ \t\r\n\0]+")


class YamlDocument(YamlReader):
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
        """The value of the one document. Raises `YamlError` for what is not valid YAML or more than one document."""
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
            self.fail("Only one YAML document is allowed here.", first_end)
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
        version = has_directives = False
        while text[self.pos] != "\0":
            self.skip(comments=True)
            if self.line_indent > 0 or text[self.pos] != "%":
                break
            has_directives = True
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
        return has_directives

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
