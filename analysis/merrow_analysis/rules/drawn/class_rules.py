"""Classes as such: given without a definition, given to nothing, defined for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from merrow_analysis.definitions.operators import INTERFACE_CLASS, INTERFACE_STYLE
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity, Tag
from merrow_analysis.edits.classes import define_class, undefine_class
from merrow_analysis.edits.renaming import rename_class
from merrow_analysis.graph.flow import ClassUse, Flowchart
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.records import ClassRecord
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.assignment_fixes import assigned_later, assigned_less
from merrow_analysis.rules.fixes.box_moves import moved_below
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, listed, report
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, ClassAssign, Name
from merrow_analysis.text import TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.NODE, Flags.NEEDS_WHOLE | Flags.SPELLING | Flags.QUICK_LOOK)
UNDEFINED_CLASS = _FAMILY.rule(
    "MW114", "undefined-class", "A class is used without a classDef.", Severity.WARNING, fix="always"
)
CLASS_ON_NOTHING = _FAMILY.rule(
    "MW115",
    "class-on-nothing",
    "A class is given to a node that doesn't exist, or is defined only later.",
    Severity.WARNING,
    fix="sometimes",
)
UNUSED_CLASS = _FAMILY.rule(
    "MW404", "unused-class", "A classDef defines a class that nothing uses.", Severity.HINT, fix="sometimes"
)

_PLAIN_STYLE = "fill:#eeeeee,stroke:#888888,stroke-width:1px"
_MOST_COMPARED = 500
"""Names that a misspelled one is compared with."""
_MOST_GUESSES = 20
"""Findings of a kind that come with a did-you-mean: in a file with more of them, guessing would only cost time."""
_EVERYWHERE = "default"
"""A class that Mermaid gives to every node by itself."""


@_FAMILY.checked_by
def check_classes(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about classes; unknown operators' classes are reported as such and not again here."""
    graph = context.graph
    flow = graph.flow
    used: dict[str, ClassUse | None] = dict.fromkeys(flow.chart.classes)
    if not flow.class_defs.keys() >= used.keys():
        used = _first_uses(flow)
    for subgraph in flow.groups.values():
        for use in subgraph.classes:
            used.setdefault(use.name.text, use)
    undefined = [
        (name, use)
        for name, use in used.items()
        if use is not None and name not in flow.class_defs and name != _EVERYWHERE
    ]
    for number, (name, use) in enumerate(undefined):
        if not _is_reported(name, graph):
            yield _undefined(name, use, graph, guess=number < _MOST_GUESSES)
    yield from _on_nothing(context)
    unused = [name for name in flow.class_defs if name not in used and name != _EVERYWHERE]
    assigned = {assign.class_name.text for assign, _ in flow.scenery.class_assigns} if unused else ()
    for name in unused:
        if name not in assigned:
            message = f"Class `{name}` is defined, but nothing has it."
            place, fixes = flow.class_defs[name][-1].range, _without_class(name, graph)
            yield report(UNUSED_CLASS, place, message, fixes=fixes, tags=(Tag.UNNECESSARY,))


def _first_uses(flow: Flowchart) -> dict[str, ClassUse | None]:
    """The classes of nodes, and where each is first given."""
    first: dict[str, ClassRecord] = {}
    for record in flow.chart.nodes.values():
        for given in record.classes:
            if given.name.text not in first:
                first[given.name.text] = given
    return {name: ClassUse(word, flow.here(block), statement) for name, (word, block, statement) in first.items()}


def _without_class(name: str, graph: TypedGraph) -> Iterator[Fix]:
    edits = undefine_class(name, graph.flow)
    if edits is not None:
        # A class with a meaning may be given to a node by another fix, which would miss its style.
        means_nothing = name != INTERFACE_CLASS and graph.operators.by_class(name) is None
        yield fix(f"Remove classDef {name}", edits, safe=means_nothing)


def _is_reported(name: str, graph: TypedGraph) -> bool:
    """Whether a class has a finding of its own, so that defining it would not help: no operator, or an unusual
    spelling.
    """
    if name in ("LoopOp", "MapOp"):
        return not any(use.name.text == name for group in graph.flow.groups.values() for use in group.classes)
    operator = graph.operators.by_class(name)
    if operator is not None:
        return operator.variant
    return name.endswith("Op") and len(name) > 2


def _undefined(name: str, use: ClassUse, graph: TypedGraph, *, guess: bool) -> Diagnostic:
    flow = graph.flow
    folded, known = name.casefold(), islice(flow.class_defs, _MOST_COMPARED if guess else 0)
    other = next((other for other in known if other.casefold() == folded), None)
    operator = graph.operators.by_class(name)
    style = (
        operator.spec.style if operator is not None else INTERFACE_STYLE if name == INTERFACE_CLASS else _PLAIN_STYLE
    )
    fixes = [fix(f"Define class {name}", [define_class(name, style, flow)])]
    near = other
    if near is None and operator is None and name != INTERFACE_CLASS and guess:
        near = closest(name, list(islice(flow.class_defs, _MOST_COMPARED)))
    if near is not None and not _suits(near, name, graph):
        near = None
    message = f"Class `{name}` is used but not defined; add `classDef {name} {style};`."
    if near is not None:
        message = f"Class `{name}` is used but not defined; did you mean `{near}`?"
        if guess:
            fixes.append(fix(f"Write {near}", rename_class(name, near, flow), safe=False))
    return report(UNDEFINED_CLASS, use.range, message, fixes=fixes)


def _suits(near: str, name: str, graph: TypedGraph) -> bool:
    """Whether the nodes with class ``name`` could have ``near``: an operator's class is for that operator's nodes alone, and
    Interface for those at an end.
    """
    operator = graph.operators.by_class(near)
    nodes = [node for node in graph.nodes if any(use.name.text == name for use in node.flow.classes)]
    if near == INTERFACE_CLASS:
        return not any(node.flow.incoming and node.flow.outgoing for node in nodes)
    return operator is None or all(
        node.kind not in ("input", "output") and node.spec in (None, operator.spec) for node in nodes
    )


def _on_nothing(context: GraphContext) -> Iterator[Diagnostic]:
    flow = context.graph.flow
    edge_ids: set[str] | None = None
    ghosts = 0
    known, assigned, moved = flow.chart.nodes, flow.scenery.assigned, flow.moved
    early = set(assigned.keys() - known.keys())
    top = flow.here(flow.scenery.class_assigns[0][1]).line if assigned else 0
    # Nodes are in the order of their first mention: those before the first class statement come before all of them.
    for named in reversed(known) if assigned else ():
        first = known[named].mentions[0].block
        line = moved.get(first, first).line
        if line <= top:
            break
        if named in assigned:
            given = assigned[named][0][1]
            if line > moved.get(given, given).line:
                early.add(named)
    for assign, block in flow.class_assigns if early else ():
        for name in assign.ids:
            if name.text not in early:
                continue
            if name.text in known:
                mention = flow.nodes[name.text].mentions[0]
                if mention.block.line > block.line:
                    message = (
                        f"Class `{assign.class_name.text}` is given to {name.text} before {name.text} is mentioned, "
                        "and Mermaid forgets it; move this line below the node."
                    )
                    related = [Related(mention.range, f"{name.text} is first mentioned here")]
                    later = assigned_later(flow, assign, block)
                    yield report(CLASS_ON_NOTHING, block.range(name.span), message, related=related, fixes=later)
                continue
            if name.text in flow.groups:
                group = flow.groups[name.text]
                if group.end is not None and block.line < group.end.line:
                    message = (
                        f"Class `{assign.class_name.text}` is given to {name.text} above its `end`, and Mermaid forgets it; move "
                        "this line below the `end`."
                    )
                    fixes = moved_below(group, block, f"Move it below the end of {name.text}")
                    yield report(CLASS_ON_NOTHING, block.range(name.span), message, fixes=fixes)
                continue
            if edge_ids is None:
                edge_ids = {edge.arrow.edge_id.text for edge in flow.chart.edges if edge.arrow.edge_id is not None}
            if name.text not in edge_ids:
                ghosts += 1
                yield _to_no_node(context, assign, name, block, guess=ghosts <= _MOST_GUESSES)


def _to_no_node(context: GraphContext, assign: ClassAssign, name: Name, block: Block, *, guess: bool) -> Diagnostic:
    flow, place = context.graph.flow, block.range(name.span)
    removed = assigned_less(context, assign, name, block)
    # Mermaid forgets a class that is given above the node.
    above = (node for node in flow.nodes.values() if node.mentions[0].block.line < place.start.line)
    nodes = list(islice(above, _MOST_COMPARED if guess else 0))
    bare = [node.id for node in nodes if not node.classes]
    near = closest(name.text, bare) or closest(name.text, [node.id for node in nodes])
    if near is None:
        message = f"There is no node {name.text} to give a class to; the nodes are {listed(flow.nodes)}."
        return report(CLASS_ON_NOTHING, place, message, fixes=removed)
    message = f"There is no node {name.text} to give a class to; did you mean {near}?"
    written = fix(f"Write {near}", [TextEdit(place, near)], safe=False)
    return report(CLASS_ON_NOTHING, place, message, fixes=chain([written], removed))
