"""Runs in thought of workflows with Loops and Maps: everything that may come of a node, and what must arrive at it."""

from __future__ import annotations

from collections import Counter
from random import Random

from merrow_analysis.definitions.types import item_of
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_runtime.errors import NodeFailure
from merrow_runtime.frontier import (
    Chose,
    Closes,
    Consequence,
    Failed,
    Frontier,
    Gave,
    Inputs,
    Judged,
    JudgeTurn,
    Opens,
    Outcome,
    Skip,
    Start,
)
from merrow_runtime.operators.formats.shapes import ValueShape, is_of, shape_of
from merrow_runtime.program.definitions import meanings_of
from merrow_runtime.values import Outputs, Value


class NestedRun:
    """One run, in which what comes of each visit is drawn by what it is, so that the order of outcomes makes no difference.

    ``failing`` of a hundred visits fail. ``variety`` is how many texts a node may give.
    """

    variety = 1000

    def __init__(self, graph: TypedGraph, random: Random, failing: int = 0) -> None:
        self.graph, self.failing = graph, failing
        self.random = random
        self.seed = random.random()
        self.seen: Counter[str] = Counter()
        self.told: list[Outcome] = []
        self.opened: list[Opens] = []
        self.frontier = Frontier(graph, parallel=random.choice([1, 2, 3, 100]), defaults=self.defaults)
        self._drawn: dict[str, Outputs] = {}

    def finish(self) -> None:
        """Run to the end; every value that arrives is looked at."""
        pending = self.frontier.begin()
        running: list[Start | JudgeTurn] = []
        visits: set[str] = set()
        while True:
            for one in pending:
                self._note(one)
                if isinstance(one, Start):
                    assert str(one.visit) not in visits, f"{one.visit} begins twice"
                    visits.add(str(one.visit))
                    if self.frontier.failure is None and self.frontier.counts(one.visit):
                        self.check(one.node, one.inputs)
                    running.append(one)
                elif isinstance(one, JudgeTurn):
                    running.append(one)
            if not running:
                break
            start = running.pop(self.random.randrange(len(running)))
            outcome = self.outcome(start)
            self.told.append(outcome)
            pending = self.frontier.tell(outcome)
        assert self.frontier.is_over, "nothing runs, and it is not over"
        if self.frontier.failure is not None:
            self.seen["failed"] += 1
            said = str(self.frontier.failure)
            assert any(
                word in said for word in ("failed on purpose", "stays empty", "items arrived", "came out of", "no item")
            ), said
            return
        reached = set(self.frontier.results)
        assert reached == {node.id for node in self.graph.outputs}, f"only {reached} were reached"
        self.seen["finished"] += 1

    def _note(self, one: Consequence) -> None:
        if isinstance(one, Opens):
            self.seen["turns" if one.composite.kind == "loop" and one.number > 1 else "frames"] += 1
            self.seen["items"] += one.composite.kind == "map" and one.number > 1
            self.seen["nested"] += bool(one.path)
        elif isinstance(one, Skip):
            self.seen["skipped"] += 1
        elif isinstance(one, Closes):
            self.seen["closed"] += 1

    def outcome(self, one: Start | JudgeTurn) -> Outcome:
        if isinstance(one, JudgeTurn):
            drawn = Random(f"{self.seed} {one.path}")
            score = drawn.choice([1.0, 2.0, 3.0]) if one.settings.best is not None else None
            return Judged(one.path, one.settings.until is not None and drawn.random() < 0.4, score)
        node, visit = one.node, one.visit
        drawn = Random(f"{self.seed} {visit}")
        if node.kind in ("operator", "decision") and drawn.randrange(100) < self.failing:
            said = node.resolution.parameters.get("on_error")
            return Failed(visit, NodeFailure(f"{node.id} failed on purpose"), said is None or said.value == "fail")
        if node.cases is not None:
            value = one.inputs.get("value", ())
            case = drawn.randrange(len(node.cases.keys))
            if node.placement.signature.kinds:
                union = value[0].value
                assert isinstance(union, dict)
                case = node.cases.keys.index(str(union["kind"]).casefold())
            return Chose(visit, case, value)
        if node.kind == "output":
            return Gave(visit, {"result": one.inputs["result"][0].value})
        return Gave(visit, self.given(node, drawn))

    def given(self, node: TypedNode, drawn: Random) -> Outputs:
        return {
            port: self.value(type_ or "Any", drawn, f"{node.id}.{port}") for port, type_ in node.own_outputs.items()
        }

    def defaults(self, handle: int) -> Outputs:
        return self.given(self.graph.node(handle), Random(handle))

    def value(self, type_: str, drawn: Random, name: str) -> Value:
        inner = item_of(type_)
        if inner is not None:
            count = drawn.choice([0, 1, 2, 3])
            self.seen["no items"] += count == 0
            return [self.value(inner, drawn, name) for _ in range(count)]
        words, types = self.graph.types.words_of(type_), self.graph.types
        if words:
            return drawn.choice(list(words))
        fields, kinds = types.fields_of(type_), types.kinds_of(type_)
        if fields is not None:
            return {field: self.value(inner, drawn, f"{name}.{field}") for field, inner in fields.items()}
        if kinds is not None:
            kind = drawn.choice(kinds)
            return {"kind": kind, "value": self.value(kind, drawn, name)}
        return {"Bool": drawn.random() < 0.5, "Number": drawn.randrange(9)}.get(
            type_, f"{name} {drawn.randrange(self.variety)}"
        )

    def shape(self, type_: str) -> ValueShape:
        return shape_of(type_, *meanings_of([type_], self.graph.types))

    def check(self, node: TypedNode, inputs: Inputs) -> None:
        """All that a node must be given is there, once where it takes one value, and of its type."""
        ports = {port.name: port for port in node.input_ports}
        for port in node.placement.required:
            assert inputs.get(port), f"nothing arrived at {port} of {node.id}"
        if node.kind == "output":
            assert inputs.get("result"), f"nothing arrived at {node.id}"
        for name, values in inputs.items():
            spec = ports[name]
            assert spec.many or len(values) == 1, f"{len(values)} values arrived at {name} of {node.id}"
            wanted = spec.item if spec.many else spec.type
            for given in values:
                assert is_of(given.value, self.shape(given.type)), (
                    f"{name} of {node.id} got no {given.type}: {given.value!r}"
                )
                if len(wanted) > 1 and wanted != "Any" and not wanted.startswith("list["):
                    several = given.value if spec.many and isinstance(given.value, list) else [given.value]
                    assert all(is_of(value, self.shape(wanted)) for value in several), (name, node.id, given)
