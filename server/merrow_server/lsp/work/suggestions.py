"""Suggestions as an editor has them: those that were asked for, kept until one is applied."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from lsprotocol import types

from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.host import Host

Json = dict[str, Any]
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Kept:
    """A suggestion that can be applied: to which version of which document, and what it changes there."""

    uri: str
    version: int | None
    title: str
    effect: str
    edits: tuple[types.TextEdit, ...]


@dataclass(frozen=True, slots=True)
class Last:
    """How many suggestions a text had, and what ``merrow.suggest`` was asked for them: asked again, it costs nothing."""

    text: str
    count: int
    asked: Json


class Suggestions:
    """The suggestions of one server."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._last: WeakKeyDictionary[OpenDiagram, Last] = WeakKeyDictionary()

    def remember(self, diagram: OpenDiagram, last: Last) -> None:
        """What was suggested for a diagram, for its lens."""
        self._last[diagram] = last
        if self._server.supports.refresh_code_lenses:
            self._server.protocol.send_request(types.WORKSPACE_CODE_LENS_REFRESH)

    def last(self, diagram: OpenDiagram) -> Last | None:
        """What was suggested last for a diagram as it is."""
        last = self._last.get(diagram)
        return last if last is not None and last.text == diagram.text else None

    def keep(self, name: str, suggestion: Kept) -> None:
        """Keep one until others have come."""
        self._kept.pop(name, None)
        self._kept[name] = suggestion
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def kept(self, name: str) -> Kept | None:
        """The suggestion with an id."""
        return self._kept.get(name)
