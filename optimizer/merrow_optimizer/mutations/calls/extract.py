"""A connected part of a workflow becomes a file of its own, and a Call of that file takes its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from merrow_analysis.definitions.operators import CALL, INTERFACE_CLASS
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.definitions.types import ENTRY_POINT, PROBLEM, TEXT, Type, list_of
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge
from merrow_analysis.edits.front_matter import exchange_prompts
from merrow_analysis.edits.replacements import CannotWriteError, edits_both_ways
from merrow_analysis.edits.write import write
from merrow_analysis.edits.yaml_write import quoted
from merrow_analysis.graph.boxes.edge_words import AGAIN, EACH, Word
from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID, PROBLEM_ID
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_optimizer.joining.layout import below_the_top, together
from merrow_optimizer.joining.text import End, KeptPart, members
from merrow_optimizer.mutations.base import NewFile
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.calls.labels import into_output, label
from merrow_optimizer.mutations.calls.meaning import Meaning, begin_together, meaning, remembers_nothing, with_body
from merrow_optimizer.mutations.calls.rewriting import Rewriting, RewrittenWorkflow
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.subgraph_boundary import listed
from merrow_optimizer.mutations.subgraph_instead import parts_ending_in
from merrow_optimizer.mutations.wiring import port_label

_OUTPUT = "RETURN"
_TITLE = re.compile(r"^title:[^\r\n]*(\r\n|\n|\r)", re.MULTILINE)
_TYPE_OF_ID = {PROBLEM_ID: PROBLEM, ENTRY_POINT_ID: ENTRY_POINT}


@dataclass(frozen=True, slots=True)
class _Input:
    """What the part reads from outside: ``edges`` bring it from one ``output`` of ``source`` (None for the default one).

    ``word`` is that of edges into the boxes around the part; the Call is in these, so its edge keeps it.
    """

    id: str
    source: TypedNode
    output: str | None
    word: Word | None
    type: Type
    edges: tuple[TypedEdge, ...]


@dataclass(frozen=True, slots=True)
class ExtractablePart:
    """A part that can be a file: its nodes, the box around it, what it reads, and the edges that bring its one value out.

    Several of its nodes may give that value, in cases that exclude each other: then each ``leaving`` edge of one of them has its
    like at the others.
    """

    nodes: frozenset[str]
    frame: str | None
    inputs: tuple[_Input, ...]
    leaving: tuple[TypedEdge, ...]

    @property
    def last(self) -> TypedNode:
        """The node whose output is read outside, the first of several."""
        return self.leaving[0].source

    @property
    def starts(self) -> list[TypedEdge]:
        """An edge of each output that is read outside."""
        return list({_start(edge): edge for edge in reversed(self.leaving)}.values())[::-1]

    @property
    def readers(self) -> list[TypedEdge]:
        """An edge to each port that reads the value."""
        return list({_reader(edge): edge for edge in reversed(self.leaving)}.values())[::-1]


def extractions(original: Original, files: Files, nodes: Iterable[TypedNode] | None = None) -> Iterator[Rewriting]:
    """Every Loop and Map, and the parts of several nodes that end in one node, as a file; of ``nodes`` alone those that they are.

    Nothing where a node remembers what ran before it: a Call remembers nothing.
    """
    if files.provider is None or not _can_be_split(original):
        return
    typed = original.typed
    boxes = [frozenset(typed.composites.members(box.id)) for box in typed.composites]
    if nodes is None:
        parts = (part for last in typed.nodes for part in parts_ending_in(original, last) if len(part.nodes) > 1)
        wanted = [*boxes, *(frozenset(node.id for node in part.nodes) for part in parts)]
    else:
        wanted = [frozenset(node.id for node in nodes)]
    for chosen in dict.fromkeys(wanted):
        piece = piece_of(original, chosen)
        if piece is not None:
            yield extraction(original, files, piece)


def _can_be_split(original: Original) -> bool:
    settings = original.analysis.settings
    named = settings.inputs is not None or settings.outputs is not None
    return not named and settings.on_error in (None, "fail") and remembers_nothing(original.analysis)


def piece_of(original: Original, nodes: frozenset[str]) -> ExtractablePart | None:
    """The part with these nodes, where a Call can do what it does: connected, with one value out, in one piece of its box."""
    typed = original.typed
    inside = [typed.by_id[name] for name in sorted(nodes, key=lambda name: typed.by_id[name].index)]
    if not inside or any(not _may_go(original, node) for node in inside):
        return None
    whole = {box.id for box in typed.composites if nodes.issuperset(typed.composites.members(box.id))}
    frames = {next((box for box in typed.composites.around(node.id) if box not in whole), None) for node in inside}
    if len(frames) != 1 or not _is_connected(inside, nodes):
        return None
    if any(_crosses(edge, nodes, whole) for node in inside for edge in (*node.again_in, *node.again_out)):
        return None
    leaving = tuple(edge for node in inside for edge in node.outgoing if edge.target.id not in nodes)
    if not leaving or any(len(edge.feeds) != 1 or edge.feeds[0].type is None for edge in leaving):
        return None
    if not _is_one_value(leaving, whole):
        return None
    entering = [edge for node in inside for edge in node.incoming if edge.source.id not in nodes]
    inputs = _inputs(original, entering, whole, nodes)
    if not inputs or not begin_together(typed, nodes, leaving[0].source.id):
        return None
    return ExtractablePart(nodes, frames.pop(), inputs, leaving)


def _may_go(original: Original, node: TypedNode) -> bool:
    known = node.kind in ("operator", "decision") and node.id not in original.closed and not node.implied
    return known and "on_error" not in node.resolution.parameters


def _is_connected(inside: list[TypedNode], nodes: frozenset[str]) -> bool:
    reached = {inside[0].id}
    waiting = [inside[0]]
    while waiting:
        node = waiting.pop()
        for other in (*(edge.source for edge in node.incoming), *(edge.target for edge in node.outgoing)):
            if other.id in nodes and other.id not in reached:
                reached.add(other.id)
                waiting.append(other)
    return len(reached) == len(nodes)


def _start(edge: TypedEdge) -> tuple[object, ...]:
    return edge.source.id, edge.output, edge.case_label, edge.word


def _reader(edge: TypedEdge) -> tuple[object, ...]:
    return edge.target.id, edge.feeds[0].port


def _is_one_value(leaving: tuple[TypedEdge, ...], whole: set[str]) -> bool:
    """Whether all readers read the same: one output of one node, or several where some choice brings one of them."""
    starts = {_start(edge) for edge in leaving}
    readers = {_reader(edge) for edge in leaving}
    chosen = [edge for edge in leaving if edge.source.kind == "decision" or edge.word is not None]
    if any(edge.word is not None and not whole.issuperset(edge.left[:1]) for edge in chosen):
        return False
    return len(leaving) == len(starts) * len(readers) and (len(starts) > 1) == bool(chosen)


def _crosses(edge: TypedEdge, nodes: frozenset[str], whole: set[str]) -> bool:
    """Whether an ``again`` edge is not all in the part, with the box whose turns it is about."""
    return edge.source.id not in nodes or edge.target.id not in nodes or edge.border.scope not in whole


def _is_odd(edge: TypedEdge) -> bool:
    """Whether an edge brings something else than one value of a node with a known type."""
    return edge.source.kind == "decision" or len(edge.feeds) != 1 or edge.feeds[0].type is None


def _inputs(
    original: Original, entering: list[TypedEdge], whole: set[str], nodes: frozenset[str]
) -> tuple[_Input, ...] | None:
    """What the part reads; None where an edge brings it in a way that a Call's port can't."""
    entries: dict[tuple[str, str | None, Word | None], list[TypedEdge]] = {}
    types: dict[tuple[str, str | None, Word | None], Type] = {}
    for edge in entering:
        type_ = None if _is_odd(edge) else edge.feeds[0].type
        outer = [box for box in edge.entered if box not in whole]
        if type_ is None or edge.word == AGAIN or (edge.word is not None and outer and len(outer) < len(edge.entered)):
            return None
        if edge.word == EACH and not outer:
            type_ = list_of(type_)
        default = next(iter(edge.source.outputs), None)
        key = (edge.source.id, None if edge.output == default else edge.output, edge.word if outer else None)
        if types.setdefault(key, type_) != type_:
            return None
        entries.setdefault(key, []).append(edge)
    made: list[_Input] = []
    taken = [*nodes, _OUTPUT, PROBLEM_ID]
    # Every file has a PROBLEM: the workflow's own, or what the part reads first.
    task = next((key for key in entries if key[0] == PROBLEM_ID), next(iter(entries), None))
    for (source, output, word), edges in entries.items():
        wanted = source if output is None else f"{source}_{output.replace('.', '_')}"
        if (source, output, word) == task:
            made.append(_input(original, PROBLEM_ID, task, types[task], edges))
            continue
        names = {name.casefold() for name in taken}
        name, number = wanted, 1
        while name.casefold() in names:
            number += 1
            name = f"{wanted}_{number}"
        taken.append(name)
        key = source, output, word
        made.append(_input(original, name, key, types[key], edges))
    return tuple(made)


def _input(
    original: Original, name: str, key: tuple[str, str | None, Word | None], type_: Type, edges: list[TypedEdge]
) -> _Input:
    source, output, word = key
    return _Input(name, original.typed.by_id[source], output, word, type_, tuple(edges))


def extraction(original: Original, files: Files, piece: ExtractablePart) -> Rewriting:
    """The move that makes a file of a part."""
    box = next(
        (
            composite.id
            for composite in original.typed.composites
            if set(original.typed.composites.members(composite.id)) == piece.nodes
        ),
        None,
    )
    named = box if box is not None else piece.last.id
    path = files.free_name(named)
    call = original.free_name(original.cased(f"RUN_{named}"))
    names = [node.id for node in original.typed.nodes if node.id in piece.nodes]
    what = f"the box {box}" if box is not None else listed(names)

    def rewritten() -> RewrittenWorkflow:
        text = _file(original, piece)
        mutant = _with_call(original, files, piece, call, path)
        inputs = [port.id for port in piece.inputs]
        before = original.remembered(_meaning)
        own = files.analyse_beside(path, text)
        body = meaning(own)
        return RewrittenWorkflow(
            mutant,
            lambda after: with_body(meaning(after), call, body, inputs, [_OUTPUT]) == before,
            created=(NewFile(path, text),),
            bodies=(own,),
        )

    return Rewriting(
        f"Extract {what} to the file {path}",
        piece.last.flow.range,
        ("extract", *names, call, path),
        rewritten,
    )


def _meaning(original: Original) -> Meaning:
    return meaning(original.analysis)


def _with_call(original: Original, files: Files, piece: ExtractablePart, call: str, path: str) -> str:
    """The workflow with the Call: first the Call is written beside the part, then the part is left out."""
    into = tuple(
        WantedEdge(port.source.id, call, label(port.word, port.output, port.id if len(piece.inputs) > 1 else None))
        for port in piece.inputs
    )
    edges: dict[int, tuple[WantedEdge, ...]] = {}
    for number, edge in enumerate(piece.readers):
        led = WantedEdge(call, edge.target.id, label(None, None, _port(original, edge)), kept=True)
        edges[edge.flow.index] = (led,) if number else (*into, led)
    new = NewNode(call, CALL, _beside(original, piece), parameters=(("workflow", path),))
    workflow_text = original.workflow_text
    change = GraphChange(added=(new,), edges=edges)
    both, edits, _ = edits_both_ways(workflow_text.places, write(workflow_text, change))
    analysis = files.open_after(original.analysis, edits, both).analysis()
    typed = analysis.typed
    if typed is None:
        raise CannotWriteError("The Call can't be written beside the part.")
    kept = frozenset(typed.flow.nodes) - piece.nodes
    remaining = KeptPart(
        analysis,
        kept,
        frozenset(edge.index for edge in analysis.flow.edges if {edge.source.id, edge.target.id} <= kept),
        {},
        {},
        frozenset(analysis.flow.class_defs),
        is_host=True,
    )
    lost = workflow_text.lost_prompts(GraphChange(removed=piece.nodes))
    front = analysis.diagram.front_matter
    pieces = [part for part in remaining.pieces() if part.kind != "front"]
    return exchange_prompts("" if front is None else front[1].text, (), lost, workflow_text.eol) + together(
        [(part, 0) for part in pieces], workflow_text.eol
    )


def _port(original: Original, edge: TypedEdge) -> str | None:
    """The port as an edge of the Call's only output must say it."""
    if edge.target.kind != "operator" or edge.source.kind != "decision":
        return edge.placed.label.port
    feed = edge.feeds[0]
    return port_label(edge.target.spec, feed.port, feed.type, named=original.names_bulk, original=original)


def _beside(original: Original, piece: ExtractablePart) -> str:
    """A node below whose declaration the Call is in the box that the part was in, and in no group that goes with it."""
    flow, composites = original.flow, original.typed.composites
    going = {name for name in flow.subgraphs if piece.nodes.issuperset(_nodes_of(original, name))}
    grouped = {node for name in going for node in members(flow, name)}
    near = [
        *(original.typed.by_id[name] for name in sorted(piece.nodes)),
        *(port.source for port in piece.inputs),
        *(edge.target for edge in piece.leaving),
        *original.typed.nodes,
    ]
    for node in near:
        is_in_place = composites.inside.get(node.id) == piece.frame and node.id not in grouped
        if is_in_place and original.workflow_text.declaration(node.flow) is not None:
            return node.id
    raise CannotWriteError("There is no line beside which the Call can be written.")


def _nodes_of(original: Original, group: str) -> set[str]:
    return {name for name in members(original.flow, group) if name in original.flow.nodes}


def _file(original: Original, piece: ExtractablePart) -> str:
    """The text of the new file: inputs and output, then the part's own lines."""
    flow, workflow_text = original.flow, original.workflow_text
    led: dict[int, End] = {}
    for port in piece.inputs:
        for edge in port.edges:
            word = edge.word if port.word is None else None
            written = label(word, None, edge.placed.label.port)
            if written is None and edge.flow.arrow.label is not None:
                written = edge.feeds[0].port
            led[edge.flow.index] = End(port.id, edge.target.id, written)
    led |= {edge.flow.index: End(edge.source.id, _OUTPUT, into_output(edge)) for edge in piece.starts}
    own = frozenset(edge.index for edge in flow.edges if {edge.source.id, edge.target.id} <= piece.nodes)
    used = {use.name.text for name in piece.nodes for use in flow.nodes[name].classes}
    groups = [name for name in flow.subgraphs if piece.nodes.intersection(members(flow, name))]
    used |= {use.name.text for name in groups for use in flow.subgraphs[name].classes} | {INTERFACE_CLASS}
    chosen = KeptPart(
        original.analysis,
        piece.nodes,
        own | frozenset(led),
        led,
        {},
        frozenset(name for name in flow.class_defs if name in used),
        is_host=False,
    )
    eol, indent = workflow_text.eol, workflow_text.body_indent
    header = workflow_text.text[workflow_text.header.start : workflow_text.header.end]
    lines = [line for declared in piece.inputs for line in _declared(declared)]
    lines.append(f"{_OUTPUT}([Result]):::{INTERFACE_CLASS}")
    if INTERFACE_CLASS not in flow.class_defs:
        lines.append(f"classDef {INTERFACE_CLASS} fill:#e2e2f2,stroke:#6a6ab2")
    pieces = [part for part in below_the_top(chosen.pieces()) if part.kind != "blank"]
    head = "".join(f"{line}{eol}" for line in (header.strip(), *(f"{indent}{line}" for line in lines)))
    body = together([(part, 0) for part in pieces], eol)
    return _settings_for(original, piece) + head + body


def _declared(port: _Input) -> list[str]:
    written = f"{port.id}([{port.id}]):::{INTERFACE_CLASS}"
    if _TYPE_OF_ID.get(port.id, TEXT) == port.type:
        return [written]
    return [written, f"{port.id}@{{ type: {quoted(port.type)} }}"]


def _settings_for(original: Original, piece: ExtractablePart) -> str:
    """The front matter without its title and the prompts that the part doesn't need."""
    front = original.analysis.diagram.front_matter
    if front is None:
        return ""
    roles = (role_of(original.typed.by_id[name]) for name in piece.nodes)
    needed = {role[1].casefold() for role in roles if role is not None}
    own = read_settings(front[0].body, front[0].indent).prompts
    text = _TITLE.sub("", front[1].text, count=1)
    return exchange_prompts(text, (), [name for name in own if name.strip().casefold() not in needed])
