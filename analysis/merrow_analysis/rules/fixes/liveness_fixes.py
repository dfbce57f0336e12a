"""Fixes of what must be live together: one value for a port, two voices for an ensemble, a value for every output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, label_of
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.graph.placing.notation import AFTER
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.box_fixes import free_id
from merrow_analysis.rules.fixes.copies import vote_over_three
from merrow_analysis.rules.fixes.edge_fixes import firsts, relabel, remove_edge
from merrow_analysis.rules.fixes.feeding import feed, feed_value
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.fixes.port_fixes import labelled
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import listed
from merrow_analysis.wiring.decision_cases import gates
from merrow_analysis.wiring.sources import sources

_MOST_OFFERED = 3
_MOST_TRIED = 8
"""Sources that are tried, the likeliest first: each is proved by a look at all of the workflow."""
_SAMPLES = 3
_JOIN_PROMPT = "Join these into one text that keeps what each of them says."


def gated(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    """Let a step before a node run in one case of a Decision alone."""
    made = (
        repair
        for wire in gates(node)
        for repair in asked(context).drawn(
            rule, f"Let {wire.target.id} run in case {wire.case} of {wire.source.id} alone", [wire.link]
        )
    )
    yield from firsts(made, 1)


def one_value(context: GraphContext, rule: Rule, other: TypedEdge, edge: TypedEdge, port: str) -> Iterator[Fix]:
    """Keep one of two edges into a port for one value, or join what they bring in a node before it."""
    if other is edge:
        return
    for kept, gone in ((other, edge), (edge, other)):
        title = f"Keep {kept.source.id} as {port} of {edge.target.id}, without {gone.source.id}"
        if kept.source is gone.source:
            title = f"Keep |{label_of(kept.flow)}| and remove |{label_of(gone.flow)}|"
            if label_of(kept.flow) == label_of(gone.flow) or None in (label_of(kept.flow), label_of(gone.flow)):
                title = f"Remove the edge of line {gone.flow.block.line + 1}"
        only = len(gone.source.flow.outgoing) == 1 and gone.source.kind == "operator"
        if not only:
            yield from remove_edge(context, rule, gone.flow, title=title)
            continue
        # What fed nothing else would be a dead end.
        edges: dict[int, tuple[WantedEdge, ...]] = {
            entering.index: () for entering in (*gone.source.flow.incoming, gone.flow)
        }
        change = GraphChange(removed=frozenset({gone.source.id}), edges=edges)
        yield from asked(context).changed(rule, title.replace("without", "and remove"), change)
    if other.source is not edge.source and not other.word and not edge.word:
        yield from _joined(context, rule, other, edge, "Custom", "Join")
        yield from _joined(context, rule, other, edge, "ScEnsemble", "Vote")


def _joined(
    context: GraphContext, rule: Rule, other: TypedEdge, edge: TypedEdge, operator: str, verb: str
) -> Iterator[Fix]:
    """A new node that takes what both edges bring, and gives one value."""
    spec = context.graph.operators.specs.get(operator.casefold())
    if spec is None or "decision" in (other.source.kind, edge.source.kind):
        return
    name = free_id(context, verb.upper())
    new = NewNode(name, spec, edge.source.id, prompt=_JOIN_PROMPT if operator == "Custom" else None)
    links: dict[int, tuple[WantedEdge, ...]] = {
        way.flow.index: (WantedEdge(way.source.id, name, _output(way), kept=True),) for way in (other, edge)
    }
    links[edge.flow.index] = (*links[edge.flow.index], WantedEdge(name, edge.target.id, edge.placed.label.port))
    title = f"{verb} {'over ' if verb == 'Vote' else ''}{other.source.id} and {edge.source.id} in {name} ({operator})"
    yield from asked(context).changed(rule, title, GraphChange(added=(new,), edges=links))


def _output(edge: TypedEdge) -> str | None:
    """What an edge says of its output alone."""
    output = edge.placed.label.output
    return None if output is None else f"{output}:"


def second_voice(context: GraphContext, rule: Rule, node: TypedNode, port: str) -> Iterator[Fix]:
    """Ask the only source of an ensemble several times, draw an edge from a second source, or take the ensemble out."""
    voices = node.sources(port)
    givers = {edge.source.index: edge.source for edge in voices}
    only = next(iter(givers.values())) if len(givers) == 1 else None
    if only is not None and _can_sample(only):
        title = f"Sample {only.id} {_SAMPLES} times"
        yield from asked(context).with_parameter(rule, title, only, "samples", _SAMPLES)
        yield from vote_over_three(context, rule, node, only)
    yield from firsts(_voices(context, rule, node, port, list(givers.values())), _MOST_OFFERED)
    if len(voices) == len(givers):
        yield from _without(context, rule, node, voices)


def _can_sample(node: TypedNode) -> bool:
    return node.spec is not None and node.spec.asks_model and "samples" in node.spec.allowed_parameters()


def _voices(
    context: GraphContext, rule: Rule, node: TypedNode, port: str, givers: Sequence[TypedNode]
) -> Iterator[Fix]:
    """Edges from other nodes that give what the voices give, or any answer where there is none yet."""
    known = next((known for known in node.input_ports if known.name == port), None)
    if known is None:
        return
    given = {type_ for giver in givers for type_ in list(giver.outputs.values())[:1]}
    likely = (
        source
        for source in sources(context.graph, node, known)
        if source.node.kind == "operator"
        and source.node not in givers
        and source.output is None
        and (not given or source.type in given)
    )
    for source in islice(likely, _MOST_TRIED):
        title = f"Lead {source.node.id} to {node.id} as well"
        yield from asked(context).drawn(rule, title, [WantedEdge(source.node.id, node.id)])


def _without(context: GraphContext, rule: Rule, node: TypedNode, voices: Sequence[TypedEdge]) -> Iterator[Fix]:
    """Take an ensemble out, so that what its voices give goes straight to what follows."""
    if not voices or any(voice.source.kind == "decision" or voice.word for voice in voices):
        return
    if any(edge.placed.label.output or edge.word for edge in node.outgoing):
        return
    if any(edge.target is node for edge in node.outgoing):
        return  # An arrow from the node back to it would lead nowhere.
    edges: dict[int, tuple[WantedEdge, ...]] = {edge.index: () for edge in (*node.flow.incoming, *node.flow.outgoing)}
    for edge in node.outgoing:
        port = edge.placed.label.port
        outputs = [(voice.source.id, voice.placed.label.output) for voice in voices]
        edges[edge.flow.index] = tuple(
            WantedEdge(
                source,
                edge.target.id,
                port if output is None else f"{output}:{port or ''}",
                kept=source == outputs[0][0],
            )
            for source, output in outputs
        )
    title = f"Remove {node.id}"
    if len(voices) > 1:
        title += f", and connect {listed([voice.source.id for voice in voices])} to what follows"
    change = GraphChange(removed=frozenset({node.id}), edges=edges)
    yield from asked(context).changed(rule, title, change)


def filled(
    context: GraphContext, rule: Rule, output: TypedNode, chosen: Sequence[tuple[TypedNode, int]]
) -> Iterator[Fix]:
    """Lead the cases that leave an output empty to it, and give a Decision that carries nothing a value."""
    cases = (_cases(context, rule, output, node, case) for node, case in chosen)
    led = (_led_by_case(context, rule, node, case) for node, case in chosen)
    yield from firsts(chain.from_iterable(chain(cases, led)), 2 * _MOST_OFFERED)


def _led_by_case(context: GraphContext, rule: Rule, decision: TypedNode, case: int) -> Iterator[Fix]:
    """Where a step that a case leads to waits for one that another case leads to: feed it from elsewhere."""
    ways = [edge for edge in islice(decision.ways, _MOST_TRIED) if edge.target.kind == "operator"]
    others = {edge.target for edge in ways if edge.case != case}
    for way in ways:
        if way.case != case:
            continue
        ports = {port.name: port for port in way.target.input_ports}
        for edge in way.target.incoming:
            port = ports.get(edge.port or "")
            if edge.source in others and port is not None:
                yield from feed(context, rule, way.target, port, instead=edge)


def _cases(context: GraphContext, rule: Rule, output: TypedNode, node: TypedNode, case: int) -> Iterator[Fix]:
    label = node.cases.labels[case] if node.cases is not None else ""
    carries = node.placement.signature.has_value or node.asks
    leads = any(edge.target is output and edge.case == case for edge in node.ways)
    if leads and not carries:
        yield from feed_value(context, rule, node)
    elif carries and not leads:
        title = f"Lead case {label} of {node.id} to {output.id}"
        yield from asked(context).drawn(rule, title, [WantedEdge(node.id, output.id, label)])
    # A case edge that gives order alone, before what gives the value.
    for edge in node.ways:
        if edge.case == case and edge.placed.label.after and edge.target is output:
            yield from relabel(context, rule, edge, label, f"Write |{label}| without {AFTER}")


def let_run(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    """Have a case edge bring its value to a port of a node that never runs, or take the case edge away."""
    gates = [edge for edge in node.incoming if edge.source.kind == "decision"]
    for edge in gates:
        for port in node.placement.required:
            label = f"{edge.case_label}:{port}"
            others = {source.flow.index: () for source in node.sources(port) if source is not edge}
            link = WantedEdge(edge.source.id, node.id, label, kept=True)
            change = GraphChange(edges={**others, edge.flow.index: (link,)})
            yield from asked(context).changed(rule, f"Write |{label}|", change)
    yield from firsts(_together(context, rule, node), _MOST_OFFERED)
    for edge in gates:
        yield from remove_edge(context, rule, edge.flow)


def _together(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    """Feed a port of a node from what runs together with its other inputs; what fed it goes to another port, or no more."""
    ports = {port.name: port for port in node.input_ports}
    for edge in reversed(node.incoming):
        port = ports.get(edge.port or "")
        if port is None or edge.source.kind == "decision" or edge.type is None:
            continue
        for other in node.placement.required:
            if other != port.name and node.types.fits(edge.type, ports[other].type):
                yield from feed(context, rule, node, port, instead=edge, label=labelled(edge, other))
        yield from feed(context, rule, node, port, instead=edge)
