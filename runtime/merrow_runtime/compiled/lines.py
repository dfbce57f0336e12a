"""A workflow as the lines of a program describe it. Nothing runs while they are read: each gives a handle at once, and together
they are a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from merrow_runtime.compiled.handles import Either, Handle, Kind, PlainBox, PlainEdge, PlainGraph, PlainNode, either
from merrow_runtime.compiled.mistakes import folder_of_program, line_of_program


class MissingArgument:
    """Stands for an input that is not given by the call of a function."""


MISSING = MissingArgument()


@dataclass(eq=False)
class FunctionLines:
    """The workflow that a function's lines describe.

    ``name`` is the file that it was made of, ``nodes`` says of each node what it is, ``types`` what the file declares, ``agents``
    who does nodes, ``validators`` what results must pass, ``tools`` what may be used, each with its pin, ``stores`` where
    documents are, ``environments`` what is acted in. ``model`` answers nodes that name none. ``tokens``, ``seconds`` and ``usd``
    are what a run may use. ``refine`` says how a model changes the workflow while it runs, and ``redo`` which visits are made
    again. ``drawn`` says that arrows mean what they mean in a drawing: cycles are Loops without a ``with`` around them, and
    ``nodes`` has all nodes in the order of the drawing, which says at which some of these begin.
    """

    name: str
    nodes: Mapping[str, Mapping[str, Any]]
    types: Mapping[str, Any] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    validators: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    stores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    environments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model: str | None = None
    tokens: int | None = None
    seconds: float | None = None
    usd: float | None = None
    refine: bool | Mapping[str, Any] | None = None
    redo: Mapping[str, int] = field(default_factory=dict)
    drawn: bool = False
    folder: Path | None = field(init=False, default_factory=folder_of_program)
    """That of the program, in which it finds what is beside it; None where it is not in a file."""
    results: list[str] = field(init=False, default_factory=list)
    """The nodes whose results are outputs of the workflow, by id."""
    inputs: dict[str, Any] = field(init=False, default_factory=dict)
    """What the inputs were given, by id."""
    functions: dict[str, Callable[..., FunctionLines]] = field(init=False, default_factory=dict)
    """By node the function that it runs."""
    graph: PlainGraph = field(init=False, default_factory=PlainGraph)
    _boxes: list[str] = field(init=False, default_factory=list)

    def input(self, name: str, value: Any) -> Handle:
        """An input, and what it is given."""
        if value is not MISSING:
            self.inputs[name] = value
        return Handle(self._node(name, "input"))

    def output(self, name: str, *sources: Handle, **order: Any) -> None:
        """An output: what reaches it first is a result."""
        self._fed(self._node(name, "output"), {"result": either(*sources)} if sources else {}, **order)

    def result(self, source: Handle) -> None:
        """What a node gives is a result of its name; of several results some may be missing."""
        self.results.append(source.node.id)

    def __call__(self, name: str, /, **ports: Any) -> Handle:
        """A node, and what its ports are given. A port that takes several values gets a list; a required one that gets nothing
        skips the node. ``only_if`` are cases that must be taken, and ``after`` what must have run.
        """
        order = {key: ports.pop(key) for key in ("only_if", "after") if key in ports}
        written = self.nodes[name]
        node = self._node(name, "decision" if "by" in written else "operator")
        self._fed(node, ports, **order)
        return Handle(node)

    def call(self, name: str, function: Callable[..., FunctionLines], /, **ports: Any) -> Handle:
        """A node that runs the function of another file, and what that is given."""
        self.functions[name] = function
        return self(name, **ports)

    def again(self, source: Handle, target: Handle, port: str | None = None) -> None:
        """What comes back in the next turn, or the next item, to a port of a node."""
        target.node.again_in.append(PlainEdge(source, target.node, port))

    @contextmanager
    def loop(self, name: str, **parameters: Any) -> Iterator[None]:
        """A Loop around the lines inside."""
        yield from self._box(name, "loop", parameters)

    @contextmanager
    def map(self, name: str, **parameters: Any) -> Iterator[None]:
        """A Map around the lines inside."""
        yield from self._box(name, "map", parameters)

    def traced(self) -> dict[str, FunctionLines]:
        """It and all workflows that it calls, each by the name of its function; its own is ``workflow``."""
        functions = {"workflow": self}
        waiting = [self]
        for flow in waiting:  # It grows meanwhile.
            for function in flow.functions.values():
                if function.__name__ not in functions:
                    functions[function.__name__] = called = function(*missing(function))
                    waiting.append(called)
        return functions

    @property
    def diagram(self) -> str:
        """The workflow as Mermaid draws it."""
        lines = ["flowchart TD"]
        shapes: dict[Kind, tuple[str, str]] = {
            "input": ('(["', '"])'),
            "output": ('(["', '"])'),
            "decision": ('{"', '"}'),
            "operator": ('["', '"]'),
        }
        for node in self.graph.nodes:
            before, after = shapes[node.kind]
            lines.append(f"    n{node.index}{before}{_drawn(node.title)}{after}")
        for node in self.graph.nodes:
            for edge in (*node.incoming, *node.again_in):
                label = _drawn(edge.handle.case or "")
                case = f'|"{label}"|' if label else ""
                lines.append(f"    n{edge.source.index} -->{case} n{node.index}")
        return "\n".join(lines)

    def _box(self, name: str, kind: Any, parameters: dict[str, Any]) -> Iterator[None]:
        around = self._boxes[-1] if self._boxes else None
        self.graph.boxes[name] = PlainBox(name, kind, around, parameters)
        self._boxes.append(name)
        try:
            yield
        finally:
            self._boxes.pop()

    def _node(self, name: str, kind: Kind) -> PlainNode:
        node = self.graph.add(name, kind, self.nodes.get(name, {}), self._boxes[-1] if self._boxes else None)
        node.line = line_of_program()
        return node

    def _fed(self, node: PlainNode, ports: Mapping[str, Any], *, only_if: Any = (), after: Any = ()) -> None:
        for port, given in ports.items():
            handles = given.handles if isinstance(given, Either) else _listed(given)
            node.incoming += [PlainEdge(handle, node, port) for handle in handles]
        for handle in (*_listed(only_if), *_listed(after)):
            node.incoming.append(PlainEdge(handle, node, None))


def missing(function: Callable[..., object]) -> list[MissingArgument]:
    """What a function is called with whose inputs are given otherwise: a stand-in for each without a default."""
    wanted = [
        parameter for parameter in signature(function).parameters.values() if parameter.default is Parameter.empty
    ]
    return [MISSING] * len(wanted)


def _listed(given: Any) -> tuple[Handle, ...]:
    return (given,) if isinstance(given, Handle) else tuple(given)


def _drawn(text: str) -> str:
    return text.replace('"', "#quot;").replace("\n", " ")
