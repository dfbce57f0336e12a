"""Which port each edge feeds, with what type, and what a node gives: a pure function of one node's facts.

`place` looks at a node's operator and parameters and at its incoming edges (their labels, and what their sources
give), and at nothing else; so its answer can be remembered by value, and one changed node only disturbs those that
consume its types. Labelled edges are placed first, then unlabelled ones in order, at last case edges that name no port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from merrow_analysis.definitions.operators import ASKED_ABOUT, OUTPUT_PORT, InputPort, ports_for
from merrow_analysis.definitions.types import (
    ANY,
    BOOL,
    FEEDBACK,
    NUMBER,
    PROBLEM,
    Type,
    TypeTable,
    innermost,
    is_variable,
    item_of,
    list_of,
)
from merrow_analysis.graph.decisions import ELSE, DecidedBy, read_expression
from merrow_analysis.graph.placing.notation import EdgeLabel, read_label
from merrow_analysis.graph.placing.placement import (
    UNKNOWN,
    Facts,
    Finding,
    Passed,
    PlacedEdge,
    Placement,
    PortFeed,
    Signature,
    passed_as_one,
)
from merrow_analysis.suggest import Guesses

INPUT_OUTPUT = "value"
"""The name of the one output of an input node."""

_FAR = 99
"""Any type fits a type variable, but every named type is a closer match."""
_MOST_MATCHED = 20
"""Edges that found no port for which the port that was probably meant is looked up by type."""


def place(facts: Facts, incoming: tuple[tuple[str | None, Signature], ...], types: TypeTable) -> Placement:
    """Place the edges that enter a node and say what the node gives. Never raises."""
    if facts.kind == "input":
        outputs = ((INPUT_OUTPUT, None if facts.declared_badly else facts.declared or facts.default_type),)
        return Placement(_unplaced(incoming), with_fields(Signature(outputs), types), ())
    if facts.kind == "unknown":
        return Placement(_unplaced(incoming), UNKNOWN, ())
    return _Placer(facts, incoming, types).placement()


def takes_again(facts: Facts, placement: Placement, feed: PortFeed, types: TypeTable) -> Type | None:
    """What an ``again`` edge must bring instead of what it brings, by what the edges of the flat picture bind the type variables
    of a node to; None where it fits, and where nothing is known.
    """
    spec = facts.spec
    port = None if spec is None else spec.ports.get(feed.port)
    if port is None or feed.type is None:
        return None
    wanted, given = port.item if port.many else port.type, feed.type
    if _substitute(wanted, {}) == wanted:
        return None  # there is no variable in it
    bound = variables(spec.ports if spec is not None else {}, [edge.feeds for edge in placement.edges], types)
    if port.many and item_of(given) is not None and item_of(wanted) is None:
        given = item_of(given) or given
    meant = _substitute(wanted, bound)
    if meant is None or meant == wanted or types.fits(given, meant):
        return None
    return meant


def _unplaced(incoming: tuple[tuple[str | None, Signature], ...]) -> tuple[PlacedEdge, ...]:
    return tuple(PlacedEdge((), False, read_label(text, from_decision=sig.decision)) for text, sig in incoming)


def with_fields(signature: Signature, types: TypeTable) -> Signature:
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


class _Placer:
    """The work of `place` for one node that has ports."""

    def __init__(self, facts: Facts, incoming: tuple[tuple[str | None, Signature], ...], types: TypeTable) -> None:
        self.facts = facts
        self.types = types
        self.spec = facts.spec
        self.sources = [signature for _, signature in incoming]
        self.feeds: list[list[PortFeed]] = [[] for _ in incoming]
        self.inferred = [True] * len(incoming)
        self.by_plain: dict[str, int] = {}
        self.by_case: dict[str, int] = {}
        self.lost: list[Type | None] = []
        self.guesses = Guesses()
        self.findings: list[Finding] = []
        if facts.spec is None:
            port = OUTPUT_PORT if facts.declared is None else InputPort(OUTPUT_PORT.name, facts.declared)
            self.ports = {port.name: port}
            self.bulk: str | None = port.name
        else:
            self.ports = {port.name: port for port in ports_for(facts.spec, facts.declared, types)}
            self.bulk = facts.spec.bulk if facts.spec.bulk in self.ports else None
        self.is_decision = facts.kind == "decision"
        self.asks = self.is_decision and facts.asks and not self._is_decided(incoming)
        if self.asks:
            self.ports, self.bulk = {ASKED_ABOUT.name: ASKED_ABOUT}, ASKED_ABOUT.name
        self.labels = [self._label(text, signature) for text, signature in incoming]

    def placement(self) -> Placement:
        edges = range(len(self.sources))
        for edge in edges:
            if self.labels[edge].port is not None:
                self._labelled(edge)
        self._all_unlabelled([e for e in edges if self.labels[e].port is None and not self.sources[e].decision])
        for edge in edges:
            if self.labels[edge].port is None and self.sources[edge].decision:
                self._case_edge(edge)
        when = self._when()
        required = self._required()
        self._missing(required)
        self.findings += [
            Finding("given-twice", None, name) for name in sorted(self.facts.literals) if self._is_fed(self.ports[name])
        ]
        if self.facts.kind == "output":
            self._odd_results()
        self._unordered()
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
            self._signature(),
            tuple(self.findings),
            tuple(crowded),
            tuple(required),
            self._decided_by(when),
            when,
            frozenset((*self.by_plain, *self.by_case)),
        )

    # What labels say, and what asks a model

    def _label(self, text: str | None, source: Signature) -> EdgeLabel:
        """The parts of a label. At plain steps one that names no port is words for people, or all of it is the case."""
        label = read_label(text, from_decision=source.decision)
        if source.decision and source.has_value and source.passes is None:
            label = self._with_field(label, source)
        if label.port is None and (label.output is None or source.decision):
            return label
        if label.port is not None and self._has_port(label.port):
            return label
        if source.decision:
            whole = source.passes is not None or self.facts.plain
            return EdgeLabel(case=text.strip()) if whole and text is not None else label
        if label.port is None and label.output is not None:
            known = self._output_named(source, label.output) is not None
            return label if known or not source.plain else EdgeLabel(words=text)
        words = self.facts.plain or (self.facts.kind == "output" and source.plain)
        return EdgeLabel(words=text) if words else label

    def _with_field(self, label: EdgeLabel, source: Signature) -> EdgeLabel:
        """A label out of a Decision that names a field of the record which its case carries."""
        written = label.case or ""
        if label.after or (label.port is None and not written.endswith(":")):
            return label
        case, _, field = (
            part.strip() for part in written.removesuffix(":" if label.port is None else "").rpartition(":")
        )
        carried = source.kind_of(case) or source.value
        if not case or carried is None or self.types.field_at(carried, field) is None:
            return label
        return EdgeLabel(field, label.port, case)

    def _has_port(self, name: str) -> bool:
        if self.facts.plain and self.is_decision and name in self.facts.spec.ports:  # type: ignore[union-attr]
            return True
        return name in self.ports or any(name in port.variants for port in self.ports.values())

    def _is_decided(self, incoming: tuple[tuple[str | None, Signature], ...]) -> bool:
        """Whether something decides without a model: an expression, a Bool that arrives, or at a plain diamond an enumeration
        or a union whose words or kinds are its ways out.
        """
        if self.facts.expression is not None:
            return True
        given: list[Type | None] = []
        for text, source in incoming:
            if source.decision:
                given += [source.value] if source.passes is None else [passed.type for passed in source.passes]
                continue
            label = read_label(text, from_decision=False)
            outputs = dict(source.outputs)
            named = None if label.output is None else self._output_named(source, label.output)
            if named is not None:
                given.append(named[1])
                continue
            bools = [type_ for type_ in outputs.values() if type_ is not None and self.types.fits(type_, BOOL)]
            given += bools[:1] if len(bools) == 1 else list(outputs.values())[:1]
        if any(type_ is not None and self.types.fits(type_, BOOL) for type_ in given):
            return True
        if not self.facts.plain or None in given:
            return False
        common = self.types.common(type_ for type_ in given if type_ is not None)
        words = self.types.words_of(common) or self.types.kinds_of(common)
        if words is None:
            return False
        ways = {ELSE if way is None else way.partition(":")[0].strip().casefold() for way in self.facts.ways}
        wanted = {word.casefold() for word in words}
        return ways <= wanted | {ELSE} and (ELSE in ways or wanted <= ways)

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
                self.findings.append(Finding("port-variant", edge, port.name, names=(written,)))
        if port is None and self.is_decision and not source.decision and self.facts.expression is not None:
            port = InputPort(written, ANY)
            self.ports[written] = port
        if port is None:
            near = self.guesses.closest(written, self.ports)
            given = output[1] if output is not None else None
            names = (written,) if near is None else (written, near)
            self.findings.append(Finding("unknown-port", edge, written, given, names=names))
            self.lost.append(given)
        elif source.decision and not source.has_value and source.known:
            self.findings.append(Finding("no-value", edge, port.name))
            self._feed(edge, None, port, None)
        elif source.passes is not None:
            for number, passed in enumerate(source.passes):
                self._feed(edge, None, port, passed.type, number)
        else:
            self._feed(edge, output[0] if output else None, port, output[1] if output else None)

    def _all_unlabelled(self, edges: Iterable[int]) -> None:
        """Place edges from nodes that give what they are known to give, whose labels name no port."""
        same_way = self.bulk is not None and (self.asks or not self.is_decision)
        first: dict[tuple[EdgeLabel, int], int] = {}
        for edge in edges:
            # Many voices of an ensemble give the same: these edges go the way of the first of them.
            kind = self.labels[edge], id(self.sources[edge])
            if kind in first:
                self.feeds[edge] = self.feeds[first[kind]]
                for feed in self.feeds[edge]:
                    self.by_plain[feed.port] += 1
                continue
            found = len(self.findings)
            self._unlabelled(edge)
            if same_way and len(self.findings) == found:
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
        """To the open port of the nearest type, with a word about it; a tie is for the author to settle."""
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
            names = tuple(port.name for port in best)
            self.findings.append(Finding("ambiguous", edge, None, given, names=names))
            self.lost.append(given)
            return
        if not best:
            needed = [port for port in open_ports if port.required]
            if not needed:
                best = self._nearest(given, self.ports.values())[:1]
            best = best or needed[:1] or open_ports[:1] or list(self.ports.values())[:1]
        if not best:
            self.findings.append(Finding("unknown-port", edge, None, given))
            return
        if self._feed(edge, name, best[0], given):
            self.findings.append(Finding("missing-label", edge, best[0].name, given, names=(name or "",)))

    def _case_edge(self, edge: int) -> None:
        """A Decision's value goes to the target's only open port that fits, needed ports first; else nowhere."""
        source = self.sources[edge]
        if self.labels[edge].after or not source.has_value:
            return
        if source.passes is None:
            self._case_value(edge, self._carried(edge))
            return
        for number, passed in enumerate(source.passes):
            self._case_value(edge, passed.type, number)

    def _case_value(self, edge: int, value: Type | None, passed: int | None = None) -> None:
        """Where one value of a case edge goes; ``passed`` is its number where an asking Decision passes it on."""
        if passed is not None and self.is_decision and not self.asks:
            decides = (value is not None and self.types.fits(value, BOOL)) or not self._is_fed(self.ports["when"])
            self._feed(edge, None, self.ports["when" if decides else "value"], value, passed)
            return
        if self.bulk is not None:
            open_ports = [self.ports[self.bulk]]
            problem = self.ports.get("problem")
            if problem and self.bulk != "problem" and value and self.types.fits(value, PROBLEM):
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
        carried = source.kind_of(label.case) or source.value
        return carried if label.output is None or carried is None else self.types.field_at(carried, label.output)

    # What a node gives

    def _signature(self) -> Signature:
        if self.asks:
            arriving = [
                Passed(feed.type, self._is_several(edge, feed.passed))
                for edge, feeds in enumerate(self.feeds)
                for feed in feeds
            ]
            passes = tuple([_as_one(arriving, ones) for ones in passed_as_one([passed.type for passed in arriving])])
            known = [passed.type for passed in passes if passed.type is not None]
            value = self.types.common(known) if known and len(known) == len(passes) else None
            return Signature((), True, bool(passes), value, passes=passes)
        if self.is_decision:
            values = [feed.type for feeds in self.feeds for feed in feeds if feed.port == "value"]
            known = [type_ for type_ in values if type_ is not None]
            value = self.types.common(known) if known and len(known) == len(values) else None
            return Signature((), True, bool(values), value, kinds=self._kinds(value))
        if self.spec is None:
            return UNKNOWN
        bound = variables(self.ports, self.feeds, self.types)
        outputs: list[tuple[str, Type | None]] = []
        for number, port in enumerate(self.spec.outputs):
            type_ = _substitute(port.type, bound)
            if number == 0 and self.facts.declared_badly:
                type_ = None
            elif number == 0 and self.facts.declared is not None:
                type_ = self.facts.declared
            outputs.append((port.name, list_of(type_) if self.facts.samples and type_ is not None else type_))
        return with_fields(Signature(tuple(outputs), plain=self.facts.plain), self.types)

    def _is_several(self, edge: int, passed: int | None) -> bool:
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

    def _unordered(self) -> None:
        """Tell of a Select whose items have no number to go by."""
        item = (
            variables(self.ports, self.feeds, self.types).get("T")
            if self.spec is not None and self.spec.is_select
            else None
        )
        if item is None:
            return
        by, fields = self.facts.by, self.types.fields_of(item) or {}
        number = item if by is None else self.types.field_at(item, by)
        if number is None or not self.types.fits(number, NUMBER):
            numbers = tuple(name for name, type_ in fields.items() if self.types.fits(type_, NUMBER))
            self.findings.append(Finding("no-order", None, by, item, number, numbers))

    def _when(self) -> Type | None:
        types = [feed.type for feeds in self.feeds for feed in feeds if feed.port == "when"]
        known = [type_ for type_ in types if type_ is not None]
        return self.types.common(known) if known and len(known) == len(types) else None

    def _decided_by(self, when: Type | None) -> DecidedBy:
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

    # Ports

    def _required(self) -> list[str]:
        if not self.is_decision or self.facts.expression is None:
            return [name for name, port in self.ports.items() if port.required and name not in self.facts.literals]
        expression = read_expression(self.facts.expression)
        if expression.problem is not None:
            self.findings.append(Finding("bad-expression", None, names=(expression.problem,)))
            return []
        fed = dict.fromkeys(feed.port for feeds in self.feeds for feed in feeds)
        for name in expression.names:
            if name not in fed and not self.lost:
                near = self.guesses.closest(name, fed)
                self.findings.append(Finding("unknown-name", None, names=(name,) if near is None else (name, near)))
        for edge, feeds in enumerate(self.feeds):
            # `when` and `value` have a meaning of their own.
            named = not self.inferred[edge] and feeds and feeds[0].port not in ("when", "value")
            if named and feeds[0].port not in expression.names:
                self.findings.append(Finding("unused-input", edge, feeds[0].port))
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
                self.findings.append(Finding("missing-input", None, port.name, wanted=port.type))

    def _odd_results(self) -> None:
        for edge, feeds in enumerate(self.feeds):
            for feed in feeds:
                given = feed.type
                if given is not None and is_odd_result(given, self.types):
                    self.findings.append(Finding("odd-result", edge, feed.port, given, names=(feed.output or "",)))

    def _output(self, edge: int) -> tuple[str, Type | None] | None:
        """The output that an edge starts at; reported where the source has none of that name."""
        label, source = self.labels[edge], self.sources[edge]
        if source.decision:
            return None if not source.has_value else (label.output or "", self._carried(edge))
        if not source.known:
            return None
        if label.output is None:
            return source.outputs[0] if source.outputs else None
        found = self._output_named(source, label.output)
        if found is not None:
            self._hidden(edge, source, label.output)
            return found
        default = source.outputs[0][1] if source.outputs else None
        if default is not None and self.types.is_broken(default):
            return label.output, None
        head, dot, last = label.output.rpartition(".")
        whole = self._output_named(source, head) if dot else None
        if whole is not None and whole[1] is not None:
            meant = self.guesses.closest(last, self.types.fields_of(whole[1]) or ())
            near = None if meant is None else f"{head}.{meant}"
        else:
            near = self.guesses.closest(label.output, (name for name, _ in source.outputs))
        self.findings.append(
            Finding("unknown-output", edge, names=(label.output,) if near is None else (label.output, near))
        )
        return None

    def _output_named(self, source: Signature, name: str) -> tuple[str, Type | None] | None:
        """An output by its name, or a field in one: ``advice``, ``place.city``."""
        first, dot, path = name.partition(".")
        output = next((output for output in source.outputs if output[0] == first), None)
        if not dot or output is None or output[1] is None:
            return output
        type_ = self.types.field_at(output[1], path)
        return None if type_ is None else (name, type_)

    def _hidden(self, edge: int, source: Signature, name: str) -> None:
        """Tell of a field that an output of the same name hides."""
        own = source.outputs[: len(source.outputs) - source.fields]
        record = own[0][1]
        fields = None if record is None else self.types.fields_of(record)
        if fields is not None and name in fields and any(output == name for output, _ in own):
            self.findings.append(Finding("hidden-field", edge, own[0][0], record, names=(name,)))

    def _feed(
        self, edge: int, output: str | None, port: InputPort, given: Type | None, passed: int | None = None
    ) -> bool:
        """Let an edge feed a port; False, with a finding, where the type doesn't fit."""
        self.feeds[edge].append(PortFeed(output or None, port.name, given, passed))
        counts = self.by_case if self.sources[edge].decision else self.by_plain
        counts[port.name] = counts.get(port.name, 0) + 1 + self._is_several(edge, passed)
        if given is not None and self._steps(given, port) is None:
            names = tuple(
                name
                for name, type_ in self.sources[edge].outputs
                if type_ is not None and self._steps(type_, port) is not None
            )
            self.findings.append(Finding("mismatch", edge, port.name, given, port.type, names))
            return False
        return True

    def _steps(self, given: Type, port: InputPort) -> int | None:
        """How far ``given`` is from what a port takes, or None where it doesn't fit; wrapping into a list is a step."""
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

    def _nearest(self, given: Type, ports: Iterable[InputPort]) -> list[InputPort]:
        """The ports of the nearest type; of equally near ones those that must be fed."""
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


def _as_one(arriving: Sequence[Passed], numbers: Sequence[int]) -> Passed:
    return arriving[numbers[0]] if len(numbers) == 1 else Passed(arriving[numbers[0]].type, several=True)


def variables(
    ports: Mapping[str, InputPort], fed: Iterable[Iterable[PortFeed]], types: TypeTable
) -> dict[Type, Type | None]:
    """What each type variable of an operator stands for at a node, by what feeds its ports."""
    seen: dict[Type, list[Type | None]] = {}
    for name, given in dict.fromkeys((feed.port, feed.type) for feeds in fed for feed in feeds):
        port = ports[name]
        wanted = port.type
        if given is not None and port.many and item_of(wanted) is not None and item_of(given) is None:
            wanted = port.item
        elif given is not None and port.many and item_of(wanted) is None and item_of(given) is not None:
            given = item_of(given)
        if given is not None and port.flat:
            given, wanted = innermost(given), innermost(wanted)
        while given is not None and item_of(wanted) is not None:
            given, wanted = item_of(given), item_of(wanted) or wanted
        while item_of(wanted) is not None:
            wanted = item_of(wanted) or wanted
        if is_variable(wanted):
            seen.setdefault(wanted, []).append(given)
    return {
        name: None if None in found else types.common(type_ for type_ in found if type_ is not None)
        for name, found in seen.items()
    }


def _substitute(type_: Type, bound: dict[Type, Type | None]) -> Type | None:
    if is_variable(type_):
        return bound.get(type_)
    item = item_of(type_)
    if item is None:
        return type_
    inner = _substitute(item, bound)
    return None if inner is None else list_of(inner)
