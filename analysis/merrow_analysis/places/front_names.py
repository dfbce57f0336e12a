"""The names in a front matter: prompts, operators and types where they are declared, types and nodes where they are used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from merrow_analysis.definitions.settings import WorkflowSettings, read_settings
from merrow_analysis.definitions.types import is_variable
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.places.edge_names import field_symbol, input_symbol
from merrow_analysis.places.symbols import Kind, Occurrence, Role, symbol
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Span

_TYPE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_QUOTES = ("#quot;", "&quot;", "#34;", "#39;", "#apos;", "&apos;", "&#39;", '"', "'")


def scalar_span(text: str, place: Span) -> Span:
    """The place of a value without the quotes around it."""
    start, end = place
    for quote in _QUOTES:
        if text.startswith(quote, start) and text.endswith(quote, start, end) and end - start >= 2 * len(quote):
            return start + len(quote), end - len(quote)
    return place


def type_names(typed: TypedGraph, block: Block, place: Span) -> Iterator[Occurrence]:
    """The types named in a type expression such as ``list[Draft]``."""
    for match in _TYPE_NAME.finditer(block.text, *place):
        name = match[0]
        if name in typed.types.parents and not is_variable(name):
            yield Occurrence(symbol("type", name), "reference", block, match.span(), match.span())


def front_matter_names(typed: TypedGraph, front: FrontMatter, block: Block) -> Iterator[Occurrence]:
    """The names in the ``workflow:`` block of a front matter."""
    return _FrontNames(typed, read_settings(front.body, front.indent), block, front.body_span[0]).all()


class _FrontNames:
    def __init__(self, typed: TypedGraph, own: WorkflowSettings, block: Block, start: int) -> None:
        self.typed, self.own, self.block, self.start = typed, own, block, start

    def all(self) -> Iterator[Occurrence]:
        own = self.own
        for name in own.prompts:
            yield from self._key("prompt", name, "definition", "prompts", name)
        for agent in own.agents.values():
            yield from self._key("agent", agent.name, "definition", "agents", agent.name)
        for validator in own.validators.values():
            yield from self._key("validator", validator.name, "definition", "validators", validator.name)
        for name, meaning in own.types.items():
            if name in self.typed.types.parents:
                yield from self._key("type", name, "declaration", "types", name)
            if isinstance(meaning, str):
                yield from self._types("types", name)
            elif isinstance(meaning, Mapping):
                for field, text in meaning.items():
                    if isinstance(field, str) and field in self.typed.types.records.get(name, ()):
                        yield from self._field(name, field)
                    if isinstance(text, str):
                        yield from self._types("types", name, field)
        for name, body in own.operators.items():
            spec = self.typed.operators.named(str(name))
            if spec is not None and not spec.built_in:
                yield from self._key("operator", name, "declaration", "operators", name)
            if isinstance(body, Mapping):
                yield from self._ports(name, body)
        for key, names in (("inputs", own.inputs), ("outputs", own.outputs)):
            for number, name in enumerate(names or ()):
                place = self._value(key, number) or self._value(key)
                yield from self._named("node", name, "reference", place, place)
        for number, name in enumerate(own.tools):
            place = self._value("tools", number)
            yield from self._named("tool", name, "reference", place, place)
        for name in own.stores:
            yield from self._key("store", name, "definition", "stores", name)
        for name in own.environments:
            yield from self._key("environment", name, "definition", "environments", name)
        for name in own.redo:
            yield from self._redo(name)

    def _redo(self, name: str) -> Iterator[Occurrence]:
        """The node that is made again, behind the items that it is named with."""
        places = self._places("redo", name)
        if places is not None:
            start, end = scalar_span(self.block.text, places[0])
            node = name if name in self.typed.by_id else name.rpartition("/")[2]
            if self.block.text[start:end] == name:
                yield from self._named("node", node, "reference", (end - len(node), end), None)

    def _ports(self, operator: str, body: Mapping[str, object]) -> Iterator[Occurrence]:
        spec = self.typed.operators.named(str(operator))
        for side in ("inputs", "outputs"):
            ports = body.get(side)
            if not isinstance(ports, Mapping):
                continue
            for port, meaning in ports.items():
                if side == "inputs" and spec is not None:
                    yield from self._input(spec.name, port)
                deeper = ("type",) if isinstance(meaning, Mapping) else ()
                yield from self._types("operators", operator, side, port, *deeper)

    def _input(self, operator: str, written: str) -> Iterator[Occurrence]:
        places = self._places("operators", operator, "inputs", written)
        if places is None:
            return
        start, end = scalar_span(self.block.text, places[0])
        if self.block.text[start:end] == written and written == written.strip():
            port = written.removesuffix("?")
            named = input_symbol(operator, port)
            whole = start, max(end, places[1][1])
            yield Occurrence(named, "declaration", self.block, (start, end), whole, suffix=written[len(port) :])

    def _places(self, *path: str | int) -> tuple[Span, Span] | None:
        """Where key and value at a path below ``workflow:`` are in the block."""
        places = self.own.document.places("workflow", *path)
        if places is None:
            return None
        (a, b), (c, d) = places
        return (self.start + a, self.start + b), (self.start + c, self.start + d)

    def _value(self, *path: str | int) -> Span | None:
        places = self._places(*path)
        return None if places is None else places[1]

    def _key(self, kind: Kind, name: str, role: Role, *path: str | int) -> Iterator[Occurrence]:
        places = self._places(*path)
        if places is not None:
            key, value = places
            yield from self._named(kind, name, role, key, (key[0], max(key[1], value[1])))

    def _field(self, record: str, field: str) -> Iterator[Occurrence]:
        places = self._places("types", record, field)
        if places is not None:
            (start, end), value = places
            span = scalar_span(self.block.text, (start, end))
            if self.block.text[slice(*span)] == field:
                whole = start, max(end, value[1])
                yield Occurrence(field_symbol(record, field), "declaration", self.block, span, whole)

    def _named(self, kind: Kind, name: str, role: Role, place: Span | None, whole: Span | None) -> Iterator[Occurrence]:
        """A name, where it is in the source as it is."""
        if place is None:
            return
        span = scalar_span(self.block.text, place)
        if self.block.text[slice(*span)] == name:
            yield Occurrence(symbol(kind, name), role, self.block, span, whole or span)

    def _types(self, *path: str | int) -> Iterator[Occurrence]:
        place = self._value(*path)
        if place is not None:
            yield from type_names(self.typed, self.block, place)
