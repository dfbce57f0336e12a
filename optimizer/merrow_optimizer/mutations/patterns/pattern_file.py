"""Reading one pattern: a workflow file whose ``pattern:`` block says what of it are holes.

The file must be a valid workflow by itself, so that everything that checks, formats and draws workflows serves patterns
too. Its input nodes are holes for what comes in, its output is the hole for what goes on, and the ``core``, where there is
one, stands for the node that the pattern is put around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.types import ENTRY_POINT, PROBLEM, Type
from merrow_analysis.graph.instructions import prompt_of, role_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode

_KEYS = ("title", "core", "copies")
_SIDES = (PROBLEM, ENTRY_POINT)


class PatternFileError(ValueError):
    """A file that is not a pattern; ``str()`` is one sentence for whoever wrote it."""


@dataclass(frozen=True, slots=True, eq=False)
class PatternNode:
    """A node that a pattern adds; ``parameters`` are what its file says of it, ``prompt`` the text of its role.

    ``role`` is the name of that text, None where the node has none. For a copy of the core, operator and edges are the
    core's, and ``parameters``, ``role`` and ``prompt`` only what the copy says otherwise.
    """

    id: str
    spec: OperatorSpec
    parameters: Mapping[str, object]
    role: str | None
    prompt: str | None


@dataclass(frozen=True, slots=True)
class PatternEdge:
    """One value on an edge of a pattern; ``output`` is None for the source's default output."""

    source: str
    output: str | None
    target: str
    port: str


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A fragment with holes.

    ``sides`` are input holes by id with the type, Problem or EntryPoint, that the workflow itself must give; ``entry`` is
    the hole for what comes into the part that is replaced, with ``entry_type``. ``core`` is the hole for the node that
    the pattern is put around, None for one that takes the place of a part; ``core_through`` is its through port, which stands
    for that of any node, and ``core_reads`` the side holes that lead into it; ``copies`` are further samples of the core.
    ``nodes`` are the pattern's own; ``edges`` all values between holes and nodes, in prompt order, without those into
    core and copies from holes, which are the core's own. ``exit`` is the node whose ``exit_output`` goes on, of
    ``exit_type`` as far as the pattern alone can say. ``title`` has ``{core}`` or ``{part}`` for what it is about.
    """

    name: str
    title: str
    core: str | None
    core_through: str | None
    core_reads: tuple[str, ...]
    copies: tuple[PatternNode, ...]
    nodes: tuple[PatternNode, ...]
    edges: tuple[PatternEdge, ...]
    sides: Mapping[str, Type]
    entry: str | None
    entry_type: Type | None
    exit: str
    exit_output: str | None
    exit_type: Type | None

    def into(self, node: str) -> Iterator[PatternEdge]:
        """The edges into a node, in prompt order."""
        return (edge for edge in self.edges if edge.target == node)


def read_pattern(text: str, name: str) -> Pattern:
    """Read a pattern file; ``name`` is what it is called by, its file's stem. Raises `PatternFileError`."""
    analysis = analyse(text)
    graph = analysis.typed
    if graph is None:
        raise PatternFileError(
            f"Pattern {name} is not a workflow: it needs an input, an output and operators between them."
        )
    error = next(iter(analysis.errors), None)
    if error is not None:
        line = error.range.start.line + 1
        raise PatternFileError(f"Pattern {name} has an error on line {line}: {error.message}")
    return _PatternReader(name, analysis, graph).pattern()


class _PatternReader:
    """The work of `read_pattern` for one valid workflow."""

    def __init__(self, name: str, analysis: Analysis, graph: TypedGraph) -> None:
        self.name = name
        self.analysis = analysis
        self.graph = graph
        self.block = self._block()

    def pattern(self) -> Pattern:
        graph = self.graph
        title = self.block.get("title")
        if not isinstance(title, str) or not title.strip():
            raise self._wrong("needs a `title` below `pattern:`, such as `Plan before {core}`")
        core = self._core()
        copies = self._copies(core)
        for node in graph.nodes:
            if node.kind == "decision":
                raise self._wrong(f"has the Decision {node.id}; a pattern has one way through it")
            if node.kind == "operator" and node.resolution.declared is not None:
                raise self._wrong(f"makes a promise at {node.id} by `returns:`; only a workflow's author can")
        sides, entry = self._inputs()
        last = self._last()
        stand_ins = {node.id for node in (core, *copies) if node is not None}
        holes = stand_ins | {node.id for node in graph.inputs} | {node.id for node in graph.outputs}
        own = tuple(self._node(node) for node in graph.nodes if node.id not in holes)
        if not own:
            raise self._wrong("adds no node; draw at least one between its holes")
        if last.source.id not in {node.id for node in own} and last.source is not core:
            raise self._wrong(f"must end in its core or in a node of its own, not in {last.source.id}")
        return Pattern(
            self.name,
            title.strip(),
            core.id if core is not None else None,
            _through(core),
            _read_by(core),
            tuple(self._copy(node, core) for node in copies if core is not None),
            own,
            tuple(self._edges(stand_ins)),
            sides,
            entry.id if entry is not None else None,
            _given(entry) if entry is not None else None,
            last.source.id,
            _output(last),
            last.type,
        )

    def _wrong(self, what: str) -> PatternFileError:
        return PatternFileError(f"Pattern {self.name} {what}.")

    def _block(self) -> Mapping[str, object]:
        block = self.analysis.settings.document.values.get("pattern")
        if not isinstance(block, dict):
            raise self._wrong("needs a `pattern:` block with a `title` in its front matter")
        unknown = next((key for key in block if key not in _KEYS), None)
        if unknown is not None:
            raise self._wrong(f"has a key `{unknown}` below `pattern:`; the keys are {', '.join(_KEYS)}")
        return block

    def _core(self) -> TypedNode | None:
        name = self.block.get("core")
        if name is None:
            return None
        node = self.graph.by_id.get(str(name))
        if node is None or node.kind != "operator":
            raise self._wrong(f"names {name} as its core, but no operator node has that id")
        return node

    def _copies(self, core: TypedNode | None) -> list[TypedNode]:
        names = self.block.get("copies") or []
        if not isinstance(names, list) or (names and core is None):
            raise self._wrong("needs `copies` as a list of the ids of further samples of its core")
        copies: list[TypedNode] = []
        for name in names:
            node = self.graph.by_id.get(str(name))
            if node is None or node.spec is not (core.spec if core is not None else None):
                raise self._wrong(f"names {name} as a copy, but it is not a node with the operator of the core")
            copies.append(node)
        return copies

    def _inputs(self) -> tuple[dict[str, Type], TypedNode | None]:
        sides: dict[str, Type] = {}
        entries: list[TypedNode] = []
        for node in self.graph.inputs:
            type_ = _given(node)
            if type_ in _SIDES:
                sides[node.id] = type_
            else:
                entries.append(node)
        if len(entries) > 1:
            names = " and ".join(node.id for node in entries)
            raise self._wrong(f"has the inputs {names}; beside Problem and EntryPoint, one value comes in")
        if entries and self.block.get("core") is not None:
            raise self._wrong(f"has a core, which keeps its own inputs; leave {entries[0].id} out")
        return sides, entries[0] if entries else None

    def _last(self) -> TypedEdge:
        outputs = self.graph.outputs
        if len(outputs) != 1 or len(outputs[0].incoming) != 1 or len(outputs[0].incoming[0].feeds) != 1:
            raise self._wrong("must have one output with one edge into it: what goes on")
        return outputs[0].incoming[0]

    def _node(self, node: TypedNode) -> PatternNode:
        assert node.spec is not None  # noqa: S101 - a valid workflow's operator nodes have one
        role = role_of(node)
        prompt = (
            prompt_of(node, self.analysis.prompts)
            if role is not None or "prompt" in node.resolution.parameters
            else None
        )
        text = prompt if isinstance(prompt, str) or prompt is None else prompt.text
        if role is not None and text is None:
            raise self._wrong(f"has no prompt `{role[1]}` for {node.id}; write it below `workflow: prompts:`")
        if role is None and text is not None:
            raise self._wrong(f"gives {node.id} a prompt without a role; a role names it wherever it is put")
        keys = {"op", "prompt", "label", "shape", *((role[0],) if role is not None else ())}
        parameters = {key: parameter.value for key, parameter in node.resolution.parameters.items() if key not in keys}
        return PatternNode(node.id, node.spec, parameters, role[1] if role is not None else None, text)

    def _copy(self, node: TypedNode, core: TypedNode) -> PatternNode:
        mine, cores = self._node(node), self._node(core)
        same_role = mine.role is not None and cores.role is not None and mine.role.casefold() == cores.role.casefold()
        other = {key: value for key, value in mine.parameters.items() if cores.parameters.get(key) != value}
        if not other and (same_role or mine.role is None):
            raise self._wrong(f"has a copy {node.id} that says the same as its core, so it would answer the same")
        return PatternNode(
            mine.id, mine.spec, other, None if same_role else mine.role, None if same_role else mine.prompt
        )

    def _edges(self, stand_ins: set[str]) -> Iterator[PatternEdge]:
        inputs = {node.id for node in self.graph.inputs}
        for edge in self.graph.edges:
            if edge.target.kind == "output" or (edge.target.id in stand_ins and edge.source.id in inputs):
                continue
            if edge.target.id in stand_ins and edge.source.id in stand_ins:
                raise self._wrong(f"joins {edge.source.id} and {edge.target.id}, which stand for one and the same node")
            for feed in edge.feeds:
                yield PatternEdge(edge.source.id, _output(edge), edge.target.id, feed.port)


def _given(node: TypedNode) -> Type | None:
    """The type that an input node gives."""
    return next(iter(node.outputs.values()), None)


def _through(core: TypedNode | None) -> str | None:
    port = core.spec.through if core is not None and core.spec is not None else None
    return None if port is None else port.name


def _read_by(core: TypedNode | None) -> tuple[str, ...]:
    edges = core.incoming if core is not None else ()
    return tuple(dict.fromkeys(edge.source.id for edge in edges if edge.source.kind == "input"))


def _output(edge: TypedEdge) -> str | None:
    """The output an edge starts at, None for the default one."""
    default = next(iter(edge.source.outputs), None)
    return None if edge.output is None or edge.output == default else edge.output
