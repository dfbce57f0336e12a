"""What a mutation changes, in words: nodes and edges, calls, how many nodes can run at once, types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from merrow_analysis.graph.measures.call_bounds import most_calls
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_optimizer.mutations.base import WorkflowDifference
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.original import Original

_VERBS = ("adds ", "removes ", "makes ", "new prompt ", "up to ", "wider", "narrower")
_REMEMBERED = {"": "what the workflow says", "all": "all earlier results", "none": "nothing"}
_MOST_TYPES = 2
"""Places at which types change that are named."""
WORDS = (
    "adds removes makes a an edge edges and calls call more fewer wider narrower at once instead of reads gives up to"
    " new the prompt prompts remembers all earlier results nothing last"
)
"""The words that effects consist of, besides names and numbers."""


def effect(change: Mutation) -> str:
    """All that a mutation changes, as one line: "1 call more; SUM reads list[Text] instead of Text; adds REVIEW and 2 edges"."""
    before = change.original.typed.by_id
    prompts = [f"new prompt of {name}" for name, new in change.substituted.items() if before[name].spec is new.spec]
    return _sentence([_calls(change), _width(change), *_types(change), *prompts, *_structure(change.difference)])


def structure(delta: WorkflowDifference) -> str:
    """Which nodes and edges come, go and change, as one line."""
    return _sentence(_structure(delta))


def _sentence(pieces: list[str]) -> str:
    text = "; ".join(piece for piece in pieces if piece)
    # A piece about types begins with an id, which stays as it is.
    return text[:1].upper() + text[1:] if text.startswith(_VERBS) else text


def _structure(delta: WorkflowDifference) -> list[str]:
    pieces: list[str] = []
    for verb, nodes, edges in (
        ("adds", delta.added_nodes, delta.added_edges),
        ("removes", delta.removed_nodes, delta.removed_edges),
    ):
        what = [", ".join(node.id for node in nodes)] if nodes else []
        if edges:
            what.append("an edge" if len(edges) == 1 else f"{len(edges)} edges")
        if what:
            pieces.append(f"{verb} {' and '.join(what)}")
    pieces += (f"makes {after.id} {_article(after.operator)} {after.operator}" for _, after in delta.changed_nodes)
    pieces += (f"{name} remembers {_REMEMBERED.get(after, after)}" for name, _, after in delta.changed_memories)
    lost = [name for name in delta.removed_prompts if "." not in name]
    return [*pieces, f"removes the prompt{'' if len(lost) == 1 else 's'} {', '.join(lost)}"] if lost else pieces


def _article(name: str) -> str:
    return "an" if name[:1].casefold() in set("aeiou") else "a"


def _calls(change: Mutation) -> str:
    before, after = change.original.typed, change.after
    boxes = {*change.turns, *change.unwrapped, *change.wrapped}
    names = {*change.removed, *change.substituted, *(new.id for new in change.added)}
    for graph in (before, after):
        names.update(name for box in boxes if box in graph.composites.boxes for name in graph.composites.members(box))
    counts = [_counted(graph, names) for graph in (before, after)]
    if None in counts:
        return ""
    more = (counts[1] or 0) - (counts[0] or 0)
    if not more:
        return ""
    number = abs(more)
    text = f"{number} call{'' if number == 1 else 's'} {'more' if more > 0 else 'fewer'}"
    is_bound = bool(after.composites) or after.combinations.live is not None
    return f"up to {text}" if is_bound else text


def _counted(graph: TypedGraph, names: set[str]) -> int | None:
    counts = [most_calls(graph, graph.by_id[name]) for name in names if name in graph.by_id]
    return None if None in counts else sum(count or 0 for count in counts)


def _width(change: Mutation) -> str:
    before, after = change.original.remembered(_width_before), width(change.after)
    if before == after:
        return ""
    return f"{'wider' if after > before else 'narrower'}: {after} at once instead of {before}"


def _width_before(original: Original) -> int:
    return width(original.typed)


def width(graph: TypedGraph) -> int:
    """How many nodes besides inputs and outputs have the same longest way to them, at most."""
    shape = graph.shape
    ends, before = shape.boundary, shape.before
    levels = [0] * len(shape.ranks)
    for handle in shape.order:
        if handle not in ends:
            row = before[handle]
            # Most have one source, and this is asked of each move of a page.
            levels[handle] = 1 + (levels[row[0]] if len(row) == 1 else max(map(levels.__getitem__, row), default=0))
    counts = Counter(levels)
    del counts[0]
    return max(counts.values(), default=0)


def _types(change: Mutation) -> list[str]:
    before, after = change.original.typed, change.after
    touched = after.core.touched
    own = {*change.removed, *change.substituted, *(new.id for new in change.added)}
    # Where boxes change, all types may.
    handles = range(len(after.core.records)) if touched is None else sorted(touched)
    names = [
        node.id
        for node in (after.node(handle) for handle in handles if _is_placed_anew(before, after, handle))
        if node.id not in own and node.id in before.by_id
    ]
    differences: list[str] = []
    for name in names:
        differences += (
            difference
            for difference in _differing(before.by_id[name], after.by_id[name])
            if difference not in differences
        )
    return differences[:_MOST_TYPES]


def _is_placed_anew(before: TypedGraph, after: TypedGraph, handle: int) -> bool:
    """Whether what arrives at a node, or what it gives, may be something else than before."""
    if handle >= len(after.core.records) or after.core.records[handle] is None:
        return False
    return handle >= len(before.placements) or before.placements[handle] is not after.placements[handle]


def _differing(old: TypedNode, new: TypedNode) -> Iterator[str]:
    for verb, was, now in (("reads", _read(old), _read(new)), ("gives", _given(old), _given(new))):
        for port in was.keys() & now.keys():
            if was[port] != now[port]:
                yield f"{new.id} {verb} {now[port]} instead of {was[port]}"


def _read(node: TypedNode) -> dict[str, str]:
    """The types that arrive at each port."""
    types_by_port: dict[str, set[str]] = {}
    for edge in node.incoming:
        for feed in edge.feeds:
            if feed.type is not None:
                types_by_port.setdefault(feed.port, set()).add(feed.type)
    return {port: " and ".join(sorted(types)) for port, types in sorted(types_by_port.items())}


def _given(node: TypedNode) -> dict[str, str]:
    first = next(iter(node.placement.signature.outputs), None)
    return {} if first is None or first[1] is None else {first[0]: first[1]}
