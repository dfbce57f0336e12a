"""Fixes that declare in the front matter what nodes name: an operator with the ports that its edges show, a type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_analysis.definitions.types import ANY, TEXT, TYPE_NAME, Type, innermost, is_variable
from merrow_analysis.diagnostics import Fix
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.edge_fixes import firsts
from merrow_analysis.rules.fixes.fix_context import asked, nothing, what_edges_bring
from merrow_analysis.rules.registry import Rule

DECLARES_AN_OPERATOR = "Declare operator"
"""What the titles of fixes begin with that add an operator to the language of a file."""
_INPUT, _OUTPUT = "input", "output"
"""What the ports are called that no edge names."""
_MOST_NODES = 20
"""Nodes with an unknown operator whose edges are looked at for its ports."""
_SAYING = ("prompt", "role")


def declare_operator(context: GraphContext, rule: Rule, name: str, nodes: Sequence[TypedNode]) -> Iterator[Fix]:
    """Declare an operator that nodes name, with a prompt to fill in where none of them has one."""
    if len(nodes) > _MOST_NODES:
        return
    inputs = _inputs(nodes)
    told = any(key in node.resolution.parameters for node in nodes for key in _SAYING)
    prompt = {} if told else {"prompt": f"Say here what {name} is to do."}
    bodies = [{"inputs": inputs, "outputs": outputs, **prompt} for outputs in _outputs(nodes)]
    made = (
        fix
        for reveals in (nothing, what_edges_bring)
        for body in bodies
        for fix in asked(context).declared(rule, f"{DECLARES_AN_OPERATOR} {name}", "operators", name, body, reveals)
    )
    yield from firsts(made, 1)


def declare_type(context: GraphContext, rule: Rule, node: TypedNode, written: str) -> Iterator[Fix]:
    """Declare a type that a node names, as a kind of Text or of what its readers want."""
    name = innermost("".join(written.split()))
    if not TYPE_NAME.fullmatch(name) or is_variable(name):
        return
    made = (
        fix
        for kind in dict.fromkeys([TEXT, *_wanted(node.outgoing)])
        for fix in asked(context).declared(rule, f"Declare type {name}: {kind}", "types", name, kind)
    )
    yield from firsts(made, 1)


def _inputs(nodes: Sequence[TypedNode]) -> dict[str, object]:
    """The ports that edges into nodes name, with the types that arrive there."""
    types: dict[str, list[Type]] = {}
    many: set[str] = set()
    # A single port for many values is where unlabelled edges lead.
    if all(edge.placed.label.port is None for node in nodes for edge in node.incoming):
        many.add(_INPUT)
    for node in nodes:
        fed: list[str] = []
        for edge in node.incoming:
            if edge.placed.label.after:
                continue
            port = edge.placed.label.port or _INPUT
            types.setdefault(port, []).append(_given(edge))
            many.update({port} & set(fed))
            fed.append(port)
    declared: dict[str, object] = {}
    for port, given in types.items():
        kinds = set(given)
        kind = given[0] if len(kinds) == 1 else _common(nodes[0], kinds)
        declared[port] = {"type": kind, "many": True} if port in many else kind
    return declared


def _given(edge: TypedEdge) -> Type:
    """What an edge brings, as far as that is known."""
    if edge.source.kind == "decision":
        return edge.source.placement.signature.value or ANY
    outputs = edge.source.outputs
    output = edge.placed.label.output or next(iter(outputs), None)
    return outputs.get(output or "") or ANY


def _common(node: TypedNode, kinds: set[Type]) -> Type:
    return TEXT if all(node.types.fits(kind, TEXT) for kind in kinds) else ANY


def _outputs(nodes: Sequence[TypedNode]) -> Iterator[dict[str, Type]]:
    """Outputs that edges out of nodes may have, the likeliest first: those that labels name, and the default one."""
    edges = [edge for node in nodes for edge in node.outgoing]
    named = {edge.placed.label.output: TEXT for edge in edges if edge.placed.label.output is not None}
    default = not edges or any(edge.placed.label.output is None for edge in edges)
    for name in named:
        named[name] = next(iter(_wanted([edge for edge in edges if edge.placed.label.output == name])), TEXT)
    if not default:
        yield named
        return
    for kind in dict.fromkeys([*_wanted(edges, only_named=True), TEXT, *_wanted(edges)]):
        yield {_OUTPUT: kind, **named}


def _wanted(edges: Sequence[TypedEdge], *, only_named: bool = False) -> Iterator[Type]:
    """The types that the ports take that edges may lead to; with ``only_named`` only those that labels name."""
    for edge in edges:
        port = edge.placed.label.port
        for known in edge.target.input_ports:
            kind = known.item if known.many else known.type
            if (known.name == port or (port is None and not only_named)) and kind != ANY and not is_variable(kind):
                yield kind
