"""What a node gives, and what decides at a Decision, by what has reached its ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import BOOL, FEEDBACK, NUMBER, Type, TypeTable, list_of
from merrow_analysis.graph.decisions import DecidedBy
from merrow_analysis.graph.placing.placement import (
    UNKNOWN,
    Facts,
    NodeSignature,
    PassedValue,
    PlacementFinding,
    PortFeed,
    passed_as_one,
)
from merrow_analysis.graph.placing.type_variables import substitute, variables


def with_fields(signature: NodeSignature, types: TypeTable) -> NodeSignature:
    """The signature with the fields of a record that the default output is; an output of the same name stays what it is."""
    default = signature.outputs[0][1] if signature.outputs else None
    fields = None if default is None else types.fields_of(default)
    if fields is None:
        return signature
    own = dict(signature.outputs)
    more = tuple((name, type_) for name, type_ in fields.items() if name not in own)
    return signature._replace(outputs=(*signature.outputs, *more), fields=len(more))


def is_odd_result(type_: Type, types: TypeTable) -> bool:
    """Whether a value of this type is hardly what a workflow is for."""
    return any(types.fits(type_, odd) for odd in (BOOL, FEEDBACK))


@dataclass(frozen=True, slots=True)
class Arrived:
    """What reaches the ``ports`` of a node: ``sources`` and ``feeds`` by the number of the edge. ``asks``: a model decides."""

    facts: Facts
    asks: bool
    ports: Mapping[str, InputPort]
    sources: Sequence[NodeSignature]
    feeds: Sequence[Sequence[PortFeed]]
    types: TypeTable

    def signature(self) -> NodeSignature:
        if self.asks:
            arriving = [
                PassedValue(feed.type, self.is_several(edge, feed.passed))
                for edge, feeds in enumerate(self.feeds)
                for feed in feeds
            ]
            groups = passed_as_one([passed.type for passed in arriving], newest=self.facts.newest)
            if self.facts.newest:
                passes = tuple([PassedValue(self._common([passed.type for passed in arriving])) for _ in groups])
            else:
                passes = tuple([_as_one(arriving, ones) for ones in groups])
            known = [passed.type for passed in passes if passed.type is not None]
            value = self.types.common(known) if known and len(known) == len(passes) else None
            return NodeSignature((), True, bool(passes), value, passes=passes)
        if self.facts.kind == "decision":
            values = [feed.type for feeds in self.feeds for feed in feeds if feed.port == "value"]
            known = [type_ for type_ in values if type_ is not None]
            value = self.types.common(known) if known and len(known) == len(values) else None
            return NodeSignature((), True, bool(values), value, kinds=self._kinds(value))
        if self.facts.spec is None:
            return UNKNOWN
        bound = variables(self.ports, self.feeds, self.types)
        outputs: list[tuple[str, Type | None]] = []
        for number, port in enumerate(self.facts.spec.outputs):
            type_ = substitute(port.type, bound)
            if number == 0 and self.facts.declared_badly:
                type_ = None
            elif number == 0 and self.facts.declared is not None:
                type_ = self.facts.declared
            outputs.append((port.name, list_of(type_) if self.facts.samples and type_ is not None else type_))
        return with_fields(NodeSignature(tuple(outputs), plain=self.facts.plain), self.types)

    def _common(self, given: Sequence[Type | None]) -> Type | None:
        known = [type_ for type_ in given if type_ is not None]
        return self.types.common(known) if len(known) == len(given) else None

    def is_several(self, edge: int, passed: int | None) -> bool:
        """Whether what an edge brings may be several values, by its number where an asking Decision passes it on."""
        passes = self.sources[edge].passes
        return passes is not None and passed is not None and passes[passed].several

    def _kinds(self, value: Type | None) -> tuple[tuple[str, Type], ...]:
        """The kinds of a union that this Decision passes on, where that same value decides."""
        kinds = None if value is None or self.facts.expression is not None else self.types.kinds_of(value)
        if kinds is None or self._arriving("when") != self._arriving("value"):
            return ()
        return tuple((kind.casefold(), kind) for kind in kinds)

    def _arriving(self, port: str) -> list[tuple[int, str | None, int | None]]:
        """What feeds a port: edges, with the output of each and the number of the value that it passes on."""
        return [
            (edge, feed.output, feed.passed)
            for edge, feeds in enumerate(self.feeds)
            for feed in feeds
            if feed.port == port
        ]

    def unordered(self) -> Iterator[PlacementFinding]:
        """Tell of a Select whose items have no number to go by."""
        item = (
            variables(self.ports, self.feeds, self.types).get("T")
            if self.facts.spec is not None and self.facts.spec.is_select
            else None
        )
        if item is None:
            return
        by, fields = self.facts.by, self.types.fields_of(item) or {}
        number = item if by is None else self.types.field_at(item, by)
        if number is None or not self.types.fits(number, NUMBER):
            numbers = tuple(name for name, type_ in fields.items() if self.types.fits(type_, NUMBER))
            yield PlacementFinding("no-order", None, by, item, number, numbers)

    def when(self) -> Type | None:
        types = [feed.type for feeds in self.feeds for feed in feeds if feed.port == "when"]
        known = [type_ for type_ in types if type_ is not None]
        return self.types.common(known) if known and len(known) == len(types) else None

    def decided_by(self, when: Type | None) -> DecidedBy:
        if self.asks:
            return "model"
        if self.facts.expression is not None:
            return "truth"
        if when is None:
            return "unknown"
        if self.types.fits(when, BOOL):
            return "truth"
        if self.types.kinds_of(when) is not None:
            return "kinds"
        return "words" if self.types.words_of(when) is not None else "text"

    def odd_results(self) -> Iterator[PlacementFinding]:
        """Tell of values that reach an output of the workflow and are hardly what it is for."""
        for edge, feeds in enumerate(self.feeds):
            for feed in feeds:
                given = feed.type
                if given is not None and is_odd_result(given, self.types):
                    yield PlacementFinding("odd-result", edge, feed.port, given, names=(feed.output or "",))


def _as_one(arriving: Sequence[PassedValue], numbers: Sequence[int]) -> PassedValue:
    return arriving[numbers[0]] if len(numbers) == 1 else PassedValue(arriving[numbers[0]].type, several=True)
