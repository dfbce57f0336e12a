"""Safe mutations where somebody looks: a few of each operator for the nodes and edges of a selection.

Only what touches the selection is proposed, the smallest change first, and only so many proposals are checked as a large file
leaves time for; so a menu opens at once, and the same text at the same place offers the same. Loaded when first needed: it
brings the mutations with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.ide.cursor.selection import Selection, selection
from merrow_analysis.rules.configuration import Config
from merrow_analysis.rules.drawn.syntax_rules import MOST_EDGES
from merrow_analysis.text import Range
from merrow_optimizer.mutations import (
    addition,
    deletion,
    memories,
    rewiring,
    rewiring_heads,
    subgraph,
    subgraph_loops,
    subgraph_maps,
    substitution,
)
from merrow_optimizer.mutations.base import Move, MoveRefusal, WorkflowDifference
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.calls.moves import rewritings
from merrow_optimizer.mutations.change import Proposal
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter, Proposals, draw_from, identity
from merrow_optimizer.mutations.operator_names import ADDITION, DELETION, MAX_NODES, REWIRING, SUBGRAPH, SUBSTITUTION
from merrow_optimizer.mutations.original import Original, why_unchangeable
from merrow_optimizer.mutations.patterns import Pattern, all_patterns
from merrow_optimizer.mutations.subgraph_around import around, can_go_around, possible_cores
from merrow_optimizer.mutations.subgraph_boundary import suits
from merrow_optimizer.mutations.subgraph_instead import SingleOutputPart, can_stand_for, instead, parts_ending_in
from merrow_optimizer.mutations.subgraph_reduce import instances, reduce_to_core
from merrow_optimizer.mutations.wiring import outputs, source_of
from merrow_server.changes.patterns import patterns_of
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.workspace import WorkspaceFinder

MOST_OFFERED = 3
"""Moves of one operator in a menu."""

_WORK = 1500
"""Nodes looked at for one operator in one menu, where a check looks at the whole workflow (`Original.is_read_whole`)."""
_MOST_CHECKED = 40
_SEEN_FOR_EACH_CHECK = 10
"""Proposals made for each that may be checked: most are seen to be wrong while they are made."""
_DRAWN = 20_000
"""Nodes typed again for each operator in search of a random move, where each check types the whole workflow."""
_MOST_TRIED = 1000
"""Proposals of an operator looked at in search of a random move."""


def offered(diagram: OpenDiagram, place: Range, wanted: Callable[[str], bool]) -> Iterator[Move]:
    """Safe moves for what is selected, by operator; ``wanted`` says of an operator whether it is asked for."""
    selected = selection(diagram.analysis, place)
    if why_unchangeable(diagram.analysis) is not None or not (selected.nodes or selected.edges):
        return
    original = Original(diagram.analysis)
    choice = choice_of(diagram)
    checks = _MOST_CHECKED
    if original.is_read_whole:
        checks = max(1, min(checks, _WORK // len(original.typed.nodes)))
    for operator in OPERATORS:
        if wanted(operator):
            yield from _first_safe(proposals_of(diagram, operator, original, selected), choice, checks)


def _first_safe(proposals: Iterable[Proposal], choice: MoveFilter, checks: int) -> Iterator[Move]:
    count = 0
    for seen, proposal in enumerate(proposals):
        if not checks or seen == checks * _SEEN_FOR_EACH_CHECK:
            return
        change = proposal()
        if not (change.doubts or change.has_too_many_edges):
            checks -= 1
            move = choice.make_if_safe(change)
            if move is not None:
                yield move
                count += 1
        if count == MOST_OFFERED:
            return


def offered_again(diagram: OpenDiagram, place: Range, operator: str, identifier: str) -> Move | None:
    """The move with an id that was offered for a selection; None where it is none of them."""
    selected = selection(diagram.analysis, place)
    if why_unchangeable(diagram.analysis) is not None or not (selected.nodes or selected.edges):
        return None
    original = Original(diagram.analysis)
    for number, proposal in enumerate(proposals_of(diagram, operator, original, selected)):
        if number == _MOST_CHECKED * _SEEN_FOR_EACH_CHECK:
            return None
        change = proposal()
        if identity(change) == identifier:
            move = choice_of(diagram).make(change)
            return move if isinstance(move, Move) else None
    return None


def is_selected(diagram: OpenDiagram, place: Range) -> bool:
    """Whether a place means a node or an edge of the workflow."""
    selected = selection(diagram.analysis, place)
    return bool(selected.nodes or selected.edges)


def random_move(diagram: OpenDiagram, seed: int, operator: str | None = None) -> Move | None:
    """A random safe move of a workflow, of one operator where that is given; None where none is found.

    The same text, seed and operator give the same move. Of a large workflow only some proposals are looked at.
    """
    random = Random(seed)  # noqa: S311 - a choice that can be repeated, no secret
    operators = operators_for(diagram)
    if operator is not None:
        operators = {operator: operators[operator]}
    original = Original(diagram.analysis)
    tries = _MOST_TRIED if not original.is_read_whole else max(1, _DRAWN // max(1, len(original.typed.nodes)))
    bounded = {name: partial(_sample, proposals, random, tries) for name, proposals in operators.items()}
    return draw_from(original, random, choice_of(diagram, bounded, MAX_NODES))


def _sample(proposals: Proposals, random: Random, most: int, original: Original) -> Sequence[Proposal]:
    proposed = proposals(original)
    listed = proposed if isinstance(proposed, Sequence) else list(proposed)
    if len(listed) <= most:
        return listed
    return [listed[number] for number in random.sample(range(len(listed)), most)]


def find_step_by_step(diagram: OpenDiagram, identifier: str) -> Iterator[Move | MoveRefusal | None]:
    """Look for the move with an id among all: None for each that it is not, then the move or why it is not safe.

    Whoever iterates may do something else between the steps, as long as the text stays the same.
    """
    if why_unchangeable(diagram.analysis) is not None:
        return
    original, choice = Original(diagram.analysis), choice_of(diagram)
    for rewriting in rewritings(original, choice.files):
        if rewriting.id == identifier:
            yield rewriting.make(original, choice.files)
            return
        yield None
    for proposals in operators_for(diagram).values():
        for proposal in proposals(original):
            change = proposal()
            if identity(change) == identifier:
                yield choice.make(change)
                return
            yield None


def delta_object(delta: WorkflowDifference) -> dict[str, Any]:
    """How a graph changes as JSON: nodes as ``{id, operator}``, edges as ``{source, output, target, port}``."""
    return {
        "addedNodes": [node._asdict() for node in delta.added_nodes],
        "removedNodes": [node._asdict() for node in delta.removed_nodes],
        "changedNodes": [{"before": old._asdict(), "after": new._asdict()} for old, new in delta.changed_nodes],
        "addedEdges": [edge._asdict() for edge in delta.added_edges],
        "removedEdges": [edge._asdict() for edge in delta.removed_edges],
        "addedPrompts": list(delta.added_prompts),
        "removedPrompts": list(delta.removed_prompts),
        "changedMemories": [
            {"node": node, "before": before, "after": after} for node, before, after in delta.changed_memories
        ],
    }


def choice_of(
    diagram: OpenDiagram, operators: Mapping[str, Proposals] = OPERATORS, max_nodes: int = sys.maxsize
) -> MoveFilter:
    """How moves of a diagram are checked. Who picks one by hand may let the workflow grow."""
    return MoveFilter(operators, max_nodes=max_nodes, files=_files(diagram))


def _files(diagram: OpenDiagram) -> Files:
    context = diagram.document.context
    return Files(context.path, context.provider, context.config or Config(), diagram.analyser)


def operators_for(diagram: OpenDiagram) -> dict[str, Proposals]:
    """The mutations of the diagram's workspace by name."""
    return {**OPERATORS, SUBGRAPH: subgraph.with_patterns(patterns_for(diagram.document))}


def patterns_for(document: OpenDocument) -> tuple[Pattern, ...]:
    """The patterns for a document; those of its workspace are read again, for they may have been edited."""
    folder: Path | None = None if document.path is None else document.path.parent
    config = document.context.config
    named = () if config is None else config.patterns
    return all_patterns() if folder is None else patterns_of(folder, WorkspaceFinder(), named)[0]


def proposals_of(diagram: OpenDiagram, operator: str, original: Original, selected: Selection) -> Iterable[Proposal]:
    """What an operator might do to the selected nodes and edges, the smallest changes first."""
    if operator == SUBSTITUTION:
        return _substitutions(original, selected)
    if operator == ADDITION:
        return _additions(original, selected)
    if operator == REWIRING:
        return _rewirings(original, selected)
    if operator == DELETION:
        return (partial(deletion.remove, original, node) for node in _exchangeable(original, selected))
    return _subgraphs(original, selected, patterns_for(diagram.document))


def _exchangeable(original: Original, selected: Selection) -> list[TypedNode]:
    return [node for node in selected.nodes if node.kind == "operator" and node.id not in original.closed]


def _substitutions(original: Original, selected: Selection) -> Iterator[Proposal]:
    specs = _specs(original)

    def strangeness(old: OperatorSpec | None, spec: OperatorSpec) -> tuple[bool, bool, int]:
        """Sorts operators that work as the old one does first, then those that need little else."""
        if old is None or old.through is None or not old.outputs:
            return True, True, _required(spec)
        through = spec.inputs[0]
        same_work = (through.name, through.many) == (old.through.name, old.through.many)
        return not same_work, spec.outputs[0].type != old.outputs[0].type, _required(spec)

    thinking = _remembering(original, selected)
    for memory in memories.MEMORIES[:2]:
        yield from (partial(memories.remember, original, node, memory) for node in thinking)
    for node in _exchangeable(original, selected):
        others = [spec for spec in specs if spec is not node.spec]
        for spec in sorted(others, key=partial(strangeness, node.spec)):
            yield partial(substitution.substitute, original, node, spec)
    for memory in memories.MEMORIES[2:]:
        yield from (partial(memories.remember, original, node, memory) for node in thinking)


def _additions(original: Original, selected: Selection) -> Iterator[Proposal]:
    """New nodes on the selected edges, and behind the selected nodes; each brings an edge more."""
    if len(original.flow.chart.edges) >= MOST_EDGES:
        return
    specs = sorted((spec for spec in _specs(original) if not spec.is_ensemble), key=_required)
    for edge in _edges(selected, [edge for node in selected.nodes for edge in node.outgoing]):
        if edge.source.kind == "unknown":
            continue
        if edge.port is not None:
            yield from (partial(addition.insert, original, edge, spec) for spec in specs)
        elif edge.order_only and addition.work_before(edge) is not None:
            yield from (partial(addition.insert_in_branch, original, edge, spec) for spec in specs)


def _rewirings(original: Original, selected: Selection) -> Iterator[Proposal]:
    """Other sources for the selected edges, and for the selected nodes, then other nodes to lead to: the nearest in the file
    first.
    """
    nodes = original.typed.nodes
    for edge in _edges(selected, [edge for node in selected.nodes for edge in node.incoming]):
        if edge.source.kind == "decision" or edge.port is None:
            continue
        own = edge.source, source_of(edge).output
        for node in sorted(nodes, key=partial(_distance, edge.source)):
            for source in outputs(node):
                if (source.node, source.output) != own:
                    yield partial(rewiring.rewire, original, edge, source)
    for edge in _edges(selected, [edge for node in selected.nodes for edge in node.outgoing]):
        for node in sorted(nodes, key=partial(_distance, edge.target)):
            yield from (
                partial(rewiring_heads.lead_to, original, edge, head) for head in rewiring_heads.heads(edge, node)
            )
    thinking = _remembering(original, selected)
    yield from memories.shared_by(original, thinking)
    into = [edge for node in thinking for edge in node.incoming]
    yield from (partial(memories.forget, original, edge) for edge in into if memories.can_forget(original, edge))


def _remembering(original: Original, selected: Selection) -> list[TypedNode]:
    """The selected nodes whose memory is offered to change: where the author uses memory. All mutations have it anywhere."""
    says = original.analysis.settings.says_memory
    nodes = memories.thinkers(original, selected.nodes)
    return [node for node in nodes if says or "memory" in node.resolution.parameters]


def _subgraphs(original: Original, selected: Selection, patterns: tuple[Pattern, ...]) -> Iterator[Proposal]:
    """What can be done to a Loop all of whose nodes are selected; Loops and Maps around the nodes; instances
    back to their core, then patterns around the nodes
    or in place of the part that ends in them.
    """
    chosen = {node.id for node in selected.nodes}
    if not chosen:
        return
    for box in original.typed.composites:
        if chosen == set(original.typed.composites.members(box.id)):
            yield from subgraph_loops.proposals_for(original, box)
    for node in selected.nodes:
        yield from subgraph_loops.reviewing(original, node)
        yield from subgraph_maps.mapping(original, node)
    for instance in instances(original, patterns, selected.nodes):
        yield partial(reduce_to_core, original, instance)
    smallest = sorted(patterns, key=lambda pattern: len(pattern.nodes) + len(pattern.copies))
    ending = (part for node in selected.nodes for part in parts_ending_in(original, node))
    regions = [part for part in ending if _is_meant(part, chosen)]
    cores = possible_cores(original, selected.nodes)
    for pattern in smallest:
        if not suits(original, pattern):
            continue
        if pattern.core is None:
            yield from (partial(instead, original, pattern, part) for part in regions if can_stand_for(pattern, part))
        else:
            yield from (partial(around, original, pattern, core.node) for core in cores if can_go_around(pattern, core))


def _is_meant(part: SingleOutputPart, chosen: set[str]) -> bool:
    """Whether a part is what is selected; for a single node also any part that ends in it."""
    return chosen == {node.id for node in part.nodes} or chosen == {part.last.id}


def _specs(original: Original) -> list[OperatorSpec]:
    table = original.typed.operators.specs.values()
    return [spec for spec in table if spec.asks_model and spec.inputs and spec.outputs]


def _distance(node: TypedNode, other: TypedNode) -> int:
    return abs(node.index - other.index)


def _required(spec: OperatorSpec) -> int:
    return sum(port.required for port in spec.inputs)


def _edges(selected: Selection, beside: Iterable[TypedEdge]) -> Iterator[TypedEdge]:
    """The selected edges, and those beside selected nodes, as far as their targets are known."""
    for edge in dict.fromkeys((*selected.edges, *beside)):
        if edge.target.kind != "unknown":
            yield edge
