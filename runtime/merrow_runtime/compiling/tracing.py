"""The lines of a program: each call gives a handle at once, and together they are a graph. Nothing runs while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from merrow_analysis.definitions.types import BUILT_IN, JSON, TEXT, TypeTable
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.boxes.words import EACH, FIRST, OVER
from merrow_runtime.compiling.plain import Handle, PlainEdge, PlainGraph, PlainNode, Value


@dataclass(frozen=True, slots=True)
class Either:
    """Handles of which one brings a value to a port that takes one."""

    handles: tuple[Handle, ...]


def either(*handles: Handle) -> Either:
    """Whichever of these runs: what it gives."""
    return Either(handles)


def each(handle: Handle) -> Handle:
    """The items of a list, one for each run of the Map around."""
    return replace(handle, word=EACH)


def over(handle: Handle) -> Handle:
    """What leaves a Loop where its turns ran out."""
    return replace(handle, word=OVER)


def first(handle: Handle) -> Handle:
    """What gives way in turns in which something comes back."""
    return replace(handle, word=FIRST)


def typed(handle: Handle, type_: str) -> Handle:
    """A handle of which the type is told."""
    return replace(handle, type=type_)


def passed(handle: Handle, *numbers: int) -> Handle:
    """Of what an asking Decision passes on, only these."""
    return replace(handle, passed=numbers)


def type_table(declared: Mapping[str, Any]) -> TypeTable:
    """The types of a file: a tuple has the words of an enumeration, a mapping the fields of a record, a list the kinds of a
    union, and a text the type that another is a kind of.
    """
    parents: dict[str, str | None] = dict(BUILT_IN)
    words: dict[str, tuple[str, ...]] = {}
    records: dict[str, Mapping[str, str]] = {}
    unions: dict[str, tuple[str, ...]] = {}
    for name, said in declared.items():
        if isinstance(said, str):
            parents[name] = said
        elif isinstance(said, tuple):
            parents[name], words[name] = TEXT, said
        elif isinstance(said, list):
            parents[name], unions[name] = JSON, tuple(said)
        else:
            parents[name], records[name] = JSON, said
    return TypeTable(parents, words, records, unions)


class Missing:
    """Stands for an input that is not given by the call of a function."""


MISSING = Missing()


@dataclass(eq=False)
class Lines:
    """The workflow that a function's lines describe.

    ``name`` is the file that it was made of, ``nodes`` says of each node what it is, ``types`` what the file declares, ``agents``
    who does nodes, ``validators`` what results must pass. ``model`` answers nodes that name none. ``tokens``, ``seconds`` and
    ``usd`` are what a run may use. ``refine`` says how a model changes the workflow while it runs, and ``redo`` which visits are
    made again; both only where Merrow itself runs it.
    """

    name: str
    nodes: Mapping[str, Mapping[str, Any]]
    types: Mapping[str, Any] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    validators: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    model: str | None = None
    tokens: int | None = None
    seconds: float | None = None
    usd: float | None = None
    refine: bool | Mapping[str, Any] | None = None
    redo: Mapping[str, int] = field(default_factory=dict)
    drawn: bool = False
    inputs: dict[str, Any] = field(default_factory=dict)
    """What the inputs were given, by id."""
    functions: dict[str, Callable[..., Lines]] = field(default_factory=dict)
    """By node the function that it runs."""
    _boxes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.graph = PlainGraph(type_table(self.types), self.drawn)

    def input(self, name: str, value: Any) -> Handle:
        """An input, and what it is given."""
        if value is not MISSING:
            self.inputs[name] = value
        return Handle(self._node(name, "input"))

    def output(self, name: str, *sources: Handle, **order: Any) -> None:
        """An output: what reaches it first is a result."""
        self._fed(self._node(name, "output"), {"result": either(*sources)} if sources else {}, **order)

    def __call__(self, name: str, /, **ports: Any) -> Handle:
        """A node, and what its ports are given. A port that takes several values gets a list; a required one that gets nothing
        skips the node. ``only_if`` are cases that must be taken, ``after`` what must have run, and ``or_if`` what
        opens the node as well as a case does.
        """
        order = {key: ports.pop(key) for key in ("only_if", "after", "or_if") if key in ports}
        node = self._node(
            name, "operator" if "operator" in self.nodes[name] and "by" not in self.nodes[name] else "decision"
        )
        self._fed(node, ports, **order)
        return Handle(node)

    def call(self, name: str, function: Callable[..., Lines], /, **ports: Any) -> Handle:
        """A node that runs the function of another file, and what that is given."""
        self.functions[name] = function
        return self(name, **ports)

    def again(self, source: Handle, target: Handle, port: str | None = None, *, many: bool = False) -> None:
        """What comes back in the next turn, or the next item, to a port of a node."""
        node = target.node
        node.again_in.append(PlainEdge(source, node, port))
        if many and port is not None:
            node.several |= {port}

    @contextmanager
    def loop(self, name: str, **parameters: Any) -> Iterator[None]:
        """A Loop around the lines inside."""
        yield from self._composite(name, "loop", parameters)

    @contextmanager
    def map(self, name: str, **parameters: Any) -> Iterator[None]:
        """A Map around the lines inside."""
        yield from self._composite(name, "map", parameters)

    def _composite(self, name: str, kind: Any, parameters: dict[str, Any]) -> Iterator[None]:
        implied = parameters.pop("implied", False)
        around = self._boxes[-1] if self._boxes else None
        values: Any = {key: Value(value) for key, value in parameters.items()}
        self.graph.boxes[name] = Composite(name, kind, around, (), values, implied)
        self._boxes.append(name)
        try:
            yield
        finally:
            self._boxes.pop()

    def _node(self, name: str, kind: str) -> PlainNode:
        return self.graph.add(name, kind, self.nodes.get(name, {}), self._boxes[-1] if self._boxes else None)

    def _fed(
        self, node: PlainNode, ports: Mapping[str, Any], *, only_if: Any = (), after: Any = (), or_if: Any = ()
    ) -> None:
        for port, given in ports.items():
            handles = given.handles if isinstance(given, Either) else given if isinstance(given, list) else [given]
            if isinstance(given, list):
                node.several |= {port}
            node.incoming += [PlainEdge(handle, node, port) for handle in handles]
        for handle in (*_listed(only_if), *_listed(after)):
            node.incoming.append(PlainEdge(handle, node, None))
        node.fallen_back += [PlainEdge(handle, node, None) for handle in _listed(or_if)]
        optional = node.said.get("optional", ())
        node.required = tuple([port for port in ports if port not in optional])


def _listed(given: Any) -> tuple[Handle, ...]:
    return (given,) if isinstance(given, Handle) else tuple(given)
