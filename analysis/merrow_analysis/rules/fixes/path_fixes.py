"""Fixes of a broken path: nodes are connected with an input or an output, or removed; missing inputs and outputs are added."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice

from merrow_analysis.definitions.operators import INTERFACE_CLASS, INTERFACE_STYLE, InputPort
from merrow_analysis.definitions.types import PROBLEM, TEXT, Type
from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.edits.change import GraphChange, WantedEdge, label_of
from merrow_analysis.edits.classes import define_class
from merrow_analysis.edits.front_entries import write_value
from merrow_analysis.edits.lines import insert_lines_after
from merrow_analysis.graph.drawings.drawing import PROBLEM_ID
from merrow_analysis.graph.measures.siblings import edges_into_siblings
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.edge_fixes import firsts, remove_node
from merrow_analysis.rules.fixes.feeding import feed
from merrow_analysis.rules.fixes.fix_context import asked, what_feeding_brings
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import listed
from merrow_analysis.text import TextEdit
from merrow_analysis.wiring.takers import open_ports, takers
from merrow_analysis.wiring.wires import Wire, said_port

_MOST_OFFERED = 3
_MOST_TRIED = 8
"""Edges that are tried out of a node or into an output, the likeliest first: each is proved by a look at all of the workflow."""
_MOST_LED = 20
"""Nodes that one fix leads a new input to."""
_SHOWN = 3
"""Nodes that a title names."""


def feed_node(context: GraphContext, rule: Rule, node: TypedNode, givers: Sequence[TypedNode]) -> Iterator[Fix]:
    """Lead an input, or what else gives what its open ports take, to a node that nothing leads to; or remove it."""
    usual = {edge.source: edge for edge in edges_into_siblings(node)}
    leads = (
        made
        for giver in givers
        for label in _labels(
            usual.get(giver), _names_of(open_ports(node, next(iter(giver.outputs.values()), None))), node
        )
        for made in _lead(context, rule, giver, node, label)
    )
    others = (
        made
        for port in node.input_ports
        if port.required and not node.sources(port.name)
        for made in feed(context, rule, node, port, but=givers)
    )
    yield from firsts(chain(leads, others), _MOST_OFFERED)
    yield from remove_node(context, rule, node)


def lead_on(context: GraphContext, rule: Rule, node: TypedNode, first: Collection[TypedNode] = ()) -> Iterator[Fix]:
    """Lead a node that nothing follows to where it was probably meant to lead, ``first`` of all to some; or remove it."""
    wires = islice(takers(context.graph, node, first), _MOST_TRIED)
    leads = firsts((made for wire in wires for made in _drawn(context, rule, wire)), _MOST_OFFERED)
    yield from asked(context).clearest(leads)
    yield from remove_node(context, rule, node)


def _drawn(context: GraphContext, rule: Rule, wire: Wire) -> Iterator[Fix]:
    source, target = wire.source, wire.target
    if wire.instead is None:
        yield from _lead(context, rule, source, target, wire.label)
        return
    change = GraphChange(edges={wire.instead.flow.index: (wire.link,)})
    yield from asked(context).changed(rule, wire.title, change)


def _labels(usual: TypedEdge | None, ports: list[str], node: TypedNode) -> list[str | None]:
    """What an edge into a node may say: what that of a step beside it says, else the first port that is open."""
    if usual is not None and not usual.implied:
        return [label_of(usual.flow)]
    return [said_port(node, port) for port in ports[:1]]


def _lead(context: GraphContext, rule: Rule, source: TypedNode, target: TypedNode, label: str | None) -> Iterator[Fix]:
    title, link = f"Lead {source.id} to {target.id}", WantedEdge(source.id, target.id, label)
    yield from asked(context).drawn(rule, title, [link], reveals=what_feeding_brings(target))


def lead_to_all(context: GraphContext, rule: Rule, source: TypedNode, targets: Sequence[TypedNode]) -> Iterator[Fix]:
    """Lead an input that feeds nothing to each node that nothing leads to."""
    given = next(iter(source.outputs.values()), None)
    links = [
        WantedEdge(source.id, node.id, said_port(node, port.name))
        for node in targets
        for port in open_ports(node, given)[:1]
    ]
    if links:
        title = f"Lead {source.id} to {_names([link.target for link in links])}"
        yield from asked(context).drawn(rule, title, links[:_MOST_LED])


def feed_output(context: GraphContext, rule: Rule, output: TypedNode, givers: Iterable[TypedNode]) -> Iterator[Fix]:
    """Lead one of the nodes that nothing follows, else one of the last ones, to an output; or remove the output."""
    steps = (giver for giver in givers if giver.kind == "operator")
    leads = (
        made
        for giver in islice(steps, _MOST_TRIED)
        for made in asked(context).drawn(rule, f"Lead {giver.id} to {output.id}", [WantedEdge(giver.id, output.id)])
    )
    yield from firsts(leads, _MOST_OFFERED)


def _names_of(ports: Iterable[InputPort]) -> list[str]:
    return [port.name for port in ports]


# Inputs and outputs that are missing


def add_input(context: GraphContext, name: str) -> Iterator[Fix]:
    """Declare an input, and lead it to every node that nothing leads to or that waits for a value of its type."""
    graph = context.graph
    given = PROBLEM if name == PROBLEM_ID else TEXT
    targets: list[tuple[str, str | None]] = []
    for node in graph.nodes:
        if node.kind not in ("operator", "decision") or len(targets) == _MOST_LED or node.id in graph.flow.groups:
            continue
        waiting = [finding.port for finding in node.placement.findings if finding.kind == "missing-input"]
        if not node.incoming and not node.again_in:
            targets += [(node.id, said_port(node, port.name)) for port in open_ports(node, given)[:1]]
        elif "problem" in waiting and given == PROBLEM:
            targets.append((node.id, "problem"))
    if not targets:
        first = next((node for node in _beside_inputs(context, given)), None)
        targets = [] if first is None else [(first.id, said_port(first, open_ports(first, given)[0].name))]
    title = f"Add {name}"
    if targets:
        title += f" and lead it to {_names([target for target, _ in targets])}"
    yield added(context, name, [WantedEdge(name, target, label) for target, label in targets], title)
    yield from unlisted(context, name)


def beside_inputs(context: GraphContext, source: TypedNode) -> list[TypedNode]:
    """The steps that another input leads to, and that take what an input gives as well."""
    return list(_beside_inputs(context, next(iter(source.outputs.values()), None)))


def _beside_inputs(context: GraphContext, given: Type | None) -> Iterator[TypedNode]:
    for node in context.graph.nodes:
        fed = node.kind == "operator" and any(edge.source.kind == "input" for edge in node.incoming)
        if fed and open_ports(node, given):
            yield node


def remove_input(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    """Remove an input that feeds nothing, from the front matter as well."""
    gone = asked(context).written(GraphChange(removed=frozenset({node.id})))
    if gone and not node.implied:
        yield from asked(context).sound(rule, unlisted(context, node.id, gone))


def unlisted(context: GraphContext, name: str, more: Sequence[TextEdit] = ()) -> Iterator[Fix]:
    """Take an input or output out of the front matter that names others besides; ``more`` is what goes with it."""
    for key, names in (("inputs", context.settings.inputs), ("outputs", context.settings.outputs)):
        others = [other for other in names or () if other != name]
        if context.front is None or not others or name not in (names or ()):
            continue
        edit = write_value(context.front, ("workflow", key), others)
        if edit is not None:
            title = f"Remove {name}" if more else f"Remove {name} from {key}"
            yield Fix(title, (edit, *more), Applicability.UNSAFE)


def add_output(context: GraphContext, name: str) -> Iterator[Fix]:
    """Declare an output after one of the nodes that nothing follows."""
    last = [
        node for node in context.graph.nodes if node.kind == "operator" and not node.outgoing and not node.again_out
    ]
    if not last:
        # Two outputs may show one result.
        last = [edge.source for output in context.graph.outputs for edge in output.incoming]
        last = [node for node in dict.fromkeys(last) if node.kind == "operator"]
    for node in last[: -_MOST_OFFERED - 1 : -1]:
        yield added(context, name, [WantedEdge(node.id, name)], f"Add {name} after {node.id}")
    if not last:
        yield added(context, name, [], f"Add {name}")
    yield from unlisted(context, name)


def _names(ids: list[str]) -> str:
    unique = list(dict.fromkeys(ids))
    return listed(unique if len(unique) <= _SHOWN else [*unique[:_SHOWN], f"{len(unique) - _SHOWN} more"])


def added(context: GraphContext, name: str, links: Sequence[WantedEdge], title: str) -> Fix:
    """The lines of an interface node and its edges below all others, its class given as the file gives classes."""
    flow, workflow_text = context.graph.flow, asked(context).workflow_text
    given = any(name == assigned for assigned in flow.scenery.assigned)
    suffix = "" if given or workflow_text.class_statements else f":::{INTERFACE_CLASS}"
    lines = [f"{name}([{name.replace('_', ' ').capitalize()}]){suffix}"]
    lines += [workflow_text.edge_line(link.source, link.target, link.label) for link in links]
    if not given and workflow_text.class_statements:
        lines.append(f"class {name} {INTERFACE_CLASS}")
    indent = workflow_text.body_indent
    edits: list[TextEdit] = [insert_lines_after(flow.last_block, [indent + line for line in lines])]
    if not given and INTERFACE_CLASS not in flow.class_defs:
        definition = define_class(INTERFACE_CLASS, INTERFACE_STYLE, flow)
        edits = [definition, *edits] if definition.range != edits[0].range else [*edits, definition]
    return Fix(title, tuple(edits), Applicability.UNSAFE)
