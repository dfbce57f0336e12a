"""Findings as a client was told of them, so that what stays true is neither converted nor written out a second time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.text import TextEdit
from merrow_server.positions import Encoding


class PlainDiagnostic(dict[str, Any]):
    """A ``Diagnostic`` of the protocol, as JSON has it."""

    @cached_property
    def text(self) -> str:
        """The JSON itself."""
        return json.dumps(self, separators=(",", ":"))


class PublishedFindings:
    """The findings of a diagram that a client was told of last, with their places as that client counts them."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], PlainDiagnostic] = {}
        self._way: object = None

    def edited(self, edit: TextEdit, lines: Sequence[str], encoding: Encoding) -> None:
        """The diagram, of these lines, is about to change. What may have another place for the client then is forgotten."""
        if not _counts_alike(edit, lines, encoding):
            self._known = {}

    def converted(
        self, findings: Sequence[Diagnostic], way: object, convert: Callable[[Diagnostic], PlainDiagnostic]
    ) -> list[PlainDiagnostic]:
        """All of ``findings`` converted, those that were told before as the same objects; ``way`` is all that `convert` hangs on
        besides the diagram.
        """
        known = self._known if self._way == way else {}
        keys = [_said(finding) for finding in findings]
        shown = [
            plain if (plain := known.get(key)) is not None else convert(finding)
            for key, finding in zip(keys, findings, strict=True)
        ]
        # Places in other files have lines of their own.
        self._known = {
            key: plain
            for key, finding, plain in zip(keys, findings, shown, strict=True)
            if all(part.file is None for part in finding.related)
        }
        self._way = way
        return shown


def _said(diagnostic: Diagnostic) -> tuple[object, ...]:
    """All that a client is told of a finding. Fixes are not, and nobody has asked for them."""
    return (
        diagnostic.code,
        diagnostic.severity,
        diagnostic.message,
        diagnostic.range,
        diagnostic.related,
        diagnostic.tags,
    )


def _counts_alike(edit: TextEdit, lines: Sequence[str], encoding: Encoding) -> bool:
    """Whether an edit stays in one line, of which a client counts the characters as we do before and after it."""
    (first, _), (last, _) = edit.range
    if first != last or first >= len(lines) or (first and not lines[first - 1].endswith("\n")):
        return False
    plain = encoding == "utf-32" or (lines[first].isascii() and edit.new_text.isascii())
    return plain and "\n" not in edit.new_text and "\r" not in edit.new_text


class Encoded(str):
    """The parameters of a notification, or the result of a request, as JSON."""

    __slots__ = ()


def with_items(message: dict[str, Any], name: str, items: Sequence[PlainDiagnostic]) -> Encoded:
    """``message``, which has something in it already, with diagnostics as its part ``name``."""
    start = json.dumps(message, separators=(",", ":"))[:-1]
    return Encoded(f'{start},"{name}":[{",".join([item.text for item in items])}]}}')


def encode(message: dict[str, Any], default: Callable[[Any], Any]) -> bytes:
    """A message as it is sent; ``default`` makes JSON of values that are none."""
    part = next((name for name in ("params", "result") if isinstance(message.get(name), Encoded)), None)
    rest = message if part is None else {name: value for name, value in message.items() if name != part}
    text = json.dumps(rest, separators=(",", ":"), default=default)
    return (text if part is None else f'{text[:-1]},"{part}":{message[part]}}}').encode("ascii")
