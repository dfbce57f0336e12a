"""Which port each edge feeds, and with what type: a pure function of one node's facts.

`place` looks at a node's operator and parameters and at its incoming edges (their labels, and what their sources
give), and at nothing else. So its answer can be cached by value, and a changed node affects only the
nodes that read its types. Labelled edges are placed first, then unlabelled ones in order, and finally case edges without a port.
"""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.definitions.if_expressions import read_expression
from merrow_analysis.definitions.operators import AFTER_PORT, ASKED_ABOUT, OUTPUT_PORT, InputPort, ports_for
from merrow_analysis.definitions.types import (
    ANY,
    BOOL,
    PROBLEM,
    Type,
    TypeTable,
    is_variable,
    item_of,
)
from merrow_analysis.graph.placing.arrived import Arrived, with_fields
from merrow_analysis.graph.placing.notation import EdgeLabel, read_label
from merrow_analysis.graph.placing.placement import (
    UNKNOWN,
    Facts,
    NodeSignature,
    PlacedEdge,
    Placement,
    PlacementFinding,
    PortFeed,
)
from merrow_analysis.graph.placing.port_labels import field_carried, is_decided, label_of, output_named
from merrow_analysis.suggest import Guesses

INPUT_OUTPUT = "value"
"""The name of the one output of an input node."""

_FAR = 99
"""Any type fits a type variable, but every named type is a closer match."""
_MOST_MATCHED = 20
"""Edges that found no port for which the port that was probably meant is looked up by type."""


def place(facts: Facts, incoming: tuple[tuple[str | None, NodeSignature], ...], types: TypeTable) -> Placement:
    """Place a node's incoming edges and determine its outputs. Never raises."""
    if facts.kind == "input":
        outputs = ((INPUT_OUTPUT, None if facts.declared_badly else facts.declared or facts.default_type),)
        return Placement(_unplaced(incoming), with_fields(NodeSignature(outputs), types), ())
    if facts.kind == "unknown":
        return Placement(_unplaced(incoming), UNKNOWN, ())
    return _Placer(facts, incoming, types).placement()


def _unplaced(incoming: tuple[tuple[str | None, NodeSignature], ...]) -> tuple[PlacedEdge, ...]:
    return tuple(PlacedEdge((), False, read_label(text, from_decision=sig.decision)) for text, sig in incoming)


class _Placer:
    """The work of `place` for one node that has ports."""

    def __init__(self, facts: Facts, incoming: tuple[tuple[str | None, NodeSignature], ...], types: TypeTable) -> None:
        self.facts = facts
        self.types = types
        self.spec = facts.spec
        self.sources = [signature for _, signature in incoming]
        self.feeds: list[list[PortFeed]] = [[] for _ in incoming]
        self.inferred = [True] * len(incoming)
        self.by_plain: dict[str, int] = {}
        self.by_case: dict[str, int] = {}
        self._tie: tuple[Type, tuple[str, ...]] | None = None
        """What was given last to ports that fit alike, and these: as long as none of them is fed, more of it fits them, too."""
        self.lost: list[Type | None] = []
        self.guesses = Guesses()
        self.findings: list[PlacementFinding] = []
        if facts.spec is None:
            port = OUTPUT_PORT if facts.declared is None else InputPort(OUTPUT_PORT.name, facts.declared)
            self.ports = {port.name: port}
            self.bulk: str | None = port.name
        else:
            self.ports = {port.name: port for port in ports_for(facts.spec, facts.declared, types)}
            self.bulk = facts.spec.bulk if facts.spec.bulk in self.ports else None
        self.is_decision = facts.kind == "decision"
        self.asks = self.is_decision and facts.asks and not is_decided(facts, incoming, types)
        if self.asks:
            self.ports, self.bulk = {ASKED_ABOUT.name: ASKED_ABOUT}, ASKED_ABOUT.name
        self.arrived = Arrived(facts, self.asks, self.ports, self.sources, self.feeds, types)
        self.labels = [label_of(text, signature, facts, self.ports, types) for text, signature in incoming]

    def placement(self) -> Placement:
        edges = range(len(self.sources))
        for edge in edges:
            if self.labels[edge].port is not None:
                self._labelled(edge)
        self._all_unlabelled([e for e in edges if self.labels[e].port is None and not self.sources[e].decision])
        for edge in edges:
            if self.labels[edge].port is None and self.sources[edge].decision:
                self._case_edge(edge)
        when = self.arrived.when()
        required = self._required()
        self._missing(required)
        self.findings += [
            PlacementFinding("given-twice", None, name)
            for name in sorted(self.facts.literals)
            if self._is_fed(self.ports[name])
        ]
        if self.facts.kind == "output":
            self.findings += self.arrived.odd_results()
        self.findings += self.arrived.unordered()
        crowded = [
            name
            for name in {**self.by_plain, **self.by_case}
            if self.by_plain.get(name, 0) + self.by_case.get(name, 0) > 1 and not self._port(name).many
        ]
        return Placement(
            tuple(
                PlacedEdge(tuple(feeds), inferred, label)
                for feeds, inferred, label in zip(self.feeds, self.inferred, self.labels, strict=True)
            ),
            self.arrived.signature(),
            tuple(self.findings),
            tuple(crowded),
            tuple(required),
            self.arrived.decided_by(when),
            when,
            frozenset((*self.by_plain, *self.by_case)),
        )

    # Edges, one by one

    def _labelled(self, edge: int) -> None:
        label, source = self.labels[edge], self.sources[edge]
        written = label.port or ""
        self.inferred[edge] = False
        output = self._output(edge)
        port = self.ports.get(written)
        if port is None:
            port = next((port for port in self.ports.values() if written in port.variants), None)
            if port is not None:
                self.findings.append(PlacementFinding("port-variant", edge, port.name, names=(written,)))
        if port is None and self.is_decision and not source.decision and self.facts.expression is not None:
            port = InputPort(written, ANY)
            self.ports[written] = port
        if port is None:
            near = self.guesses.closest(written, self.ports)
            given = output[1] if output is not None else None
            names = (written,) if near is None else (written, near)
            self.findings.append(PlacementFinding("unknown-port", edge, written, given, names=names))
            self.lost.append(given)
        elif source.decision and not source.has_value and source.known:
            self.findings.append(PlacementFinding("no-value", edge, port.name))
            self._feed(edge, None, port, None)
        elif source.passes is not None:
            for number, passed in enumerate(source.passes):
                self._feed(edge, None, port, passed.type, number)
        else:
            self._feed(edge, output[0] if output else None, port, output[1] if output else None)

    def _all_unlabelled(self, edges: Iterable[int]) -> None:
        """Place edges from nodes with known outputs whose labels name no port."""
        same_way = self.bulk is not None and (self.asks or not self.is_decision)
        first: dict[tuple[EdgeLabel, int], int] = {}
        for edge in edges:
            # Many inputs of an ensemble have the same type: these edges are placed like the first of them.
            kind = self.labels[edge], id(self.sources[edge])
            if kind in first:
                self.feeds[edge] = self.feeds[first[kind]]
                for feed in self.feeds[edge]:
                    self.by_plain[feed.port] += 1
                continue
            count = len(self.findings)
            self._unlabelled(edge)
            if same_way and len(self.findings) == count:
                first[kind] = edge

    def _unlabelled(self, edge: int) -> None:
        output = self._output(edge)
        name, given = output if output is not None else (None, None)
        if self.is_decision and not self.asks:
            self._into_decision(edge, name, given)
            return
        if self.bulk is not None:
            aside = self.ports.get("problem")
            to_problem = self.bulk != "problem" and aside is not None and given is not None
            if (
                to_problem
                and self.facts.spec
                and self.facts.spec.is_ensemble
                and self.types.fits(given or ANY, PROBLEM)
            ):
                self._feed(edge, name, self.ports["problem"], given)
            else:
                self._feed(edge, name, self.ports[self.bulk], given)
            return
        self._by_type(edge, name, given)

    def _into_decision(self, edge: int, name: str | None, given: Type | None) -> None:
        source = self.sources[edge]
        if self.labels[edge].output is None and source.known:
            bools = [out for out in source.outputs if out[1] is not None and self.types.fits(out[1], BOOL)]
            if len(bools) == 1:
                self._feed(edge, bools[0][0], self.ports["when"], bools[0][1])
                labelled = any(label.port == "value" for label in self.labels)
                if bools[0] != source.outputs[0] and not labelled:
                    self._feed(edge, name, self.ports["value"], given)
                return
        known = source.known and not (given is not None and self.types.is_broken(given))
        self._feed(edge, name, self.ports["when"], given if known else None)
        if given is not None and self._is_union_alone(given):
            self._feed(edge, name, self.ports["value"], given)
        if not known and not any(label.port == "value" for label in self.labels):
            # It may well have a Bool to decide and a value to carry; what isn't known is not reported.
            self._feed(edge, None, self.ports["value"], None)

    def _is_union_alone(self, given: Type) -> bool:
        """Whether a value that decides is a union, to be passed on by its kind where no edge says what is."""
        return self.types.kinds_of(given) is not None and not any(label.port == "value" for label in self.labels)

    def _by_type(self, edge: int, name: str | None, given: Type | None) -> None:
        """Choose the open port with the nearest type and report it; a tie is left to the author."""
        if self._tie is not None and self._tie[0] == given:
            self._leave_open(edge, given, self._tie[1])
            return
        open_ports = [port for port in self.ports.values() if port.many or not self._is_fed(port)]
        if given is None:
            needed = [port for port in open_ports if port.required]
            if len(needed) == 1:
                self._feed(edge, name, needed[0], given)
            else:
                self.lost.append(None)
            return
        best = self._nearest(given, open_ports)
        if len(best) > 1:
            self._tie = given, tuple(port.name for port in best)
            self._leave_open(edge, *self._tie)
            return
        if not best:
            needed = [port for port in open_ports if port.required]
            if not needed:
                best = self._nearest(given, self.ports.values())[:1]
            best = best or needed[:1] or open_ports[:1] or list(self.ports.values())[:1]
        if not best:
            self.findings.append(PlacementFinding("unknown-port", edge, None, given))
            return
        if self._feed(edge, name, best[0], given):
            self.findings.append(PlacementFinding("missing-label", edge, best[0].name, given, names=(name or "",)))

    def _case_edge(self, edge: int) -> None:
        """A Decision's value goes to the target's only open port that fits, required ports first; else nowhere."""
        source = self.sources[edge]
        if self.labels[edge].after or not source.has_value:
            return
        if source.passes is None:
            self._case_value(edge, self._carried(edge))
            return
        for number, passed in enumerate(source.passes):
            self._case_value(edge, passed.type, number)

    def _case_value(self, edge: int, value: Type | None, passed: int | None = None) -> None:
        """Where one value of a case edge goes; ``passed`` is its number if a Decision that asks a model passes it on."""
        if passed is not None and self.is_decision and not self.asks:
            decides = (value is not None and self.types.fits(value, BOOL)) or not self._is_fed(self.ports["when"])
            self._feed(edge, None, self.ports["when" if decides else "value"], value, passed)
            return
        if self.bulk is not None:
            open_ports = [self.ports[self.bulk]]
            problem = self.ports.get("problem")
            aside = problem is not None and self.bulk != "problem" and not self.facts.words
            if problem and aside and value and self.types.fits(value, PROBLEM):
                open_ports = [problem]
        else:
            open_ports = [port for port in self.ports.values() if port.many or port.name not in self.by_plain]
        fitting = [port for port in open_ports if value is None or self._steps(value, port) is not None]
        choice = [port for port in fitting if port.required] or fitting
        if len(choice) == 1:
            output = self.labels[edge].output
            self._feed(edge, output, choice[0], value, passed)
            if self.is_decision and choice[0].name == "when" and value is not None and self._is_union_alone(value):
                self._feed(edge, output, self.ports["value"], value, passed)

    def _carried(self, edge: int) -> Type | None:
        """The type of what a case edge carries: the Decision's value, the kind that its case is for, or a field of it."""
        source, label = self.sources[edge], self.labels[edge]
        if label.output is None:
            return source.carried(label.case)
        field = field_carried(source, label.case, label.output, self.types)
        return None if field is None else field[1]

    # Ports

    def _required(self) -> list[str]:
        if self.spec is not None and self.spec.is_human:
            # A person is asked about something: where all that a branch would have brought is missing, nobody is asked.
            brought = {feed.port for feeds in self.feeds for feed in feeds}
            return next(([port.name] for port in reversed(self.spec.inputs) if port.name in brought), [])
        if self.spec is not None and self.spec.is_tool:
            # It is not used where what it is to wait for does not come, or all that a branch would have brought is missing.
            brought = {feed.port for feeds in self.feeds for feed in feeds}
            needed = [
                name
                for name, port in self.ports.items()
                if (port.required and name not in self.facts.literals) or (port == AFTER_PORT and name in brought)
            ]
            return needed or [name for name in self.ports if name in brought][:1]
        if not self.is_decision or self.facts.expression is None:
            return [name for name, port in self.ports.items() if port.required and name not in self.facts.literals]
        expression = read_expression(self.facts.expression)
        if expression.problem is not None:
            self.findings.append(PlacementFinding("bad-expression", None, names=(expression.problem,)))
            return []
        fed = dict.fromkeys(feed.port for feeds in self.feeds for feed in feeds)
        for name in expression.names:
            if name not in fed and not self.lost:
                near = self.guesses.closest(name, fed)
                self.findings.append(
                    PlacementFinding("unknown-name", None, names=(name,) if near is None else (name, near))
                )
        for edge, feeds in enumerate(self.feeds):
            # `when` and `value` have a special meaning.
            named = not self.inferred[edge] and feeds and feeds[0].port not in ("when", "value")
            if named and feeds[0].port not in expression.names:
                self.findings.append(PlacementFinding("unused-input", edge, feeds[0].port))
        return [name for name in expression.names if name in fed]

    def _missing(self, required: Iterable[str]) -> None:
        """Report required ports without an edge, unless edges that found no port could be meant for them."""
        if not self.sources:
            return
        first = self.spec.through if self.spec is not None and self.spec.is_ensemble else None
        missing = [self.ports[name] for name in required if not self._is_fed(self.ports[name])]
        for given in self.lost[:_MOST_MATCHED]:
            meant = self._nearest(given, missing) if given is not None else []
            for port in meant[:1] or missing[:1]:
                missing.remove(port)
        del missing[: len(self.lost[_MOST_MATCHED:])]
        for port in missing:
            if first is None or port.name != first.name:
                self.findings.append(PlacementFinding("missing-input", None, port.name, wanted=port.type))

    def _output(self, edge: int) -> tuple[str, Type | None] | None:
        """The output that an edge starts at; reported if the source has no output of that name."""
        label, source = self.labels[edge], self.sources[edge]
        if source.decision:
            return None if not source.has_value else (label.output or "", self._carried(edge))
        if not source.known:
            return None
        if label.output is None:
            return source.outputs[0] if source.outputs else None
        output = output_named(source, label.output, self.types)
        if output is not None:
            self._hidden(edge, source, label.output)
            return output
        default = source.outputs[0][1] if source.outputs else None
        if default is not None and self.types.is_broken(default):
            return label.output, None
        head, dot, last = label.output.rpartition(".")
        whole = output_named(source, head, self.types) if dot else None
        if whole is not None and whole[1] is not None:
            meant = self.guesses.closest(last, self.types.fields_of(whole[1]) or ())
            near = None if meant is None else f"{head}.{meant}"
        else:
            near = self.guesses.closest(label.output, (name for name, _ in source.outputs))
        self.findings.append(
            PlacementFinding("unknown-output", edge, names=(label.output,) if near is None else (label.output, near))
        )
        return None

    def _hidden(self, edge: int, source: NodeSignature, name: str) -> None:
        """Report a field that an output of the same name hides."""
        own = source.outputs[: len(source.outputs) - source.fields]
        record = own[0][1]
        fields = None if record is None else self.types.fields_of(record)
        if fields is not None and name in fields and any(output == name for output, _ in own):
            self.findings.append(PlacementFinding("hidden-field", edge, own[0][0], record, names=(name,)))

    def _feed(
        self, edge: int, output: str | None, port: InputPort, given: Type | None, passed: int | None = None
    ) -> bool:
        """Let an edge feed a port; False, with a finding, where the type doesn't fit."""
        self.feeds[edge].append(PortFeed(output or None, port.name, given, passed))
        self._tie = None
        counts = self.by_case if self.sources[edge].decision else self.by_plain
        counts[port.name] = counts.get(port.name, 0) + 1 + self.arrived.is_several(edge, passed)
        if given is not None and self._steps(given, port) is None:
            names = tuple(
                name
                for name, type_ in self.sources[edge].outputs
                if type_ is not None and self._steps(type_, port) is not None
            )
            self.findings.append(PlacementFinding("mismatch", edge, port.name, given, port.type, names))
            return False
        return True

    def _steps(self, given: Type, port: InputPort) -> int | None:
        """The distance of ``given`` from a port's type, or None if it doesn't fit; wrapping into a list is one step."""
        item = item_of(given)
        if port.many and item is not None:
            wanted = port.item
            steps = _FAR if is_variable(wanted) else self.types.distance(item, wanted)
            if steps is not None:
                return steps
        wanted = port.item if port.many else port.type
        if is_variable(wanted):
            return _FAR
        if item_of(wanted) is not None and is_variable(item_of(wanted) or ""):
            return None if item is None else _FAR
        steps = self.types.distance(given, wanted)
        return None if steps is None else steps + (port.many and item_of(port.type) is not None)

    def _leave_open(self, edge: int, given: Type, names: tuple[str, ...]) -> None:
        self.findings.append(PlacementFinding("ambiguous", edge, None, given, names=names))
        self.lost.append(given)

    def _nearest(self, given: Type, ports: Iterable[InputPort]) -> list[InputPort]:
        """The ports of the nearest type; if several are equally near, the required ones."""
        steps = [(distance, port) for port in ports if (distance := self._steps(given, port)) is not None]
        if not steps:
            return []
        least = min(distance for distance, _ in steps)
        best = [port for distance, port in steps if distance == least]
        return [port for port in best if port.required] or best

    def _is_fed(self, port: InputPort) -> bool:
        return port.name in self.by_plain or port.name in self.by_case

    def _port(self, name: str) -> InputPort:
        return self.ports[name]
