"""Fixes of what nodes say they are: one operator instead of several, the class of interface nodes, one declaration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from merrow_analysis.definitions.operators import INTERFACE_CLASS, INTERFACE_STYLE, OperatorSpec
from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, as_it_is, label_of
from merrow_analysis.edits.classes import define_class, give_class
from merrow_analysis.edits.node_writing import class_of
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.edits.renaming import rename_node
from merrow_analysis.edits.replacements import Replacement, edits_both_ways
from merrow_analysis.graph.flow import Mention
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import Claim
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.box_fixes import free_id
from merrow_analysis.rules.fixes.edge_fixes import remove_edge
from merrow_analysis.rules.fixes.fix_context import Reveals, asked, nothing, what_edges_bring, what_operators_bring
from merrow_analysis.rules.fixes.near_names import near_node
from merrow_analysis.rules.registry import Flags, Rule
from merrow_analysis.suggest import Guesses
from merrow_analysis.syntax.tree import Chain
from merrow_analysis.text import OverlappingEditsError, TextEdit, apply_edits

_TAG = re.compile(r"<[^<>]*>")
_MOST_DECLARED = 10
"""Declarations of one node of which one is kept."""
_MOST_NODES = 20
"""Nodes with an unknown class that one fix gives an operator."""


def agree(context: GraphContext, rule: Rule, node: TypedNode, specs: Sequence[OperatorSpec]) -> Iterator[Fix]:
    """Name one of several operators wherever a node names one: first those after which nothing is wrong with the node."""
    best = [fix for spec in specs for fix in make_it(context, rule, [node], spec, reveals=nothing)]
    yield from best
    seen = {fix.title for fix in best}
    for spec in specs:
        yield from (fix for fix in make_it(context, rule, [node], spec) if fix.title not in seen)


def make_it(
    context: GraphContext,
    rule: Rule,
    nodes: Sequence[TypedNode],
    spec: OperatorSpec,
    reveals: Reveals = what_operators_bring,
) -> Iterator[Fix]:
    """Name one operator wherever nodes name theirs."""
    if len(nodes) > _MOST_NODES:
        return
    named = ", ".join(node.id for node in nodes)
    article = "an" if spec.name[0] in "AEIOU" else "a"
    title = f"Make {named} {f'{article} {spec.name}' if len(nodes) == 1 else f'{spec.name} nodes'}"
    change = GraphChange(substituted={node.id: _with_operator(node, spec) for node in nodes})
    yield from asked(context).changed(rule, title, change, reveals=reveals)


def _with_operator(node: TypedNode, spec: OperatorSpec) -> NewNode:
    """A node with another operator, and with what it says that this has, too."""
    allowed = spec.allowed_parameters()
    parameters = {
        key: parameter.value for key, parameter in node.resolution.parameters.items() if key in allowed and key != "op"
    }
    return NewNode(node.id, spec, node.id, parameters=tuple(parameters.items()))


def make_custom(context: GraphContext, rule: Rule, nodes: Sequence[TypedNode]) -> Iterator[Fix]:
    """Make one model call of nodes whose operator doesn't exist."""
    custom = context.graph.operators.specs.get("custom")
    if custom is not None:
        yield from make_it(context, rule, nodes, custom)


def call_it(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    """Write the id of the node that is probably meant by one that only edges name."""
    without_text = any(problem.kind == "none" for problem in node.resolution.problems)
    name = near_node(node, asked(context).labelled, Guesses()) if without_text else None
    inside = context.graph.composites.inside
    # Written in another box, the node that is meant would lie in both.
    if name is not None and inside.get(node.id) in (None, inside.get(name)):
        edits = rename_node(node.flow, name, context.graph.flow.class_assigns)
        renamed = Fix(f"Write {name} for {node.id}", tuple(edits), Applicability.UNSAFE)
        yield from asked(context).sound(rule, [renamed], what_edges_bring)


def make_interface(context: GraphContext, rule: Rule, node: TypedNode, claims: Sequence[Claim]) -> Iterator[Fix]:
    """Give an input or output the class Interface in the place of an operator's; one in the middle that of its operator."""
    made = chain(_interface(context, node, claims), _no_interface(context, node, claims))
    # Without any Interface node the ends of a drawing were implied, and no missing one was reported.
    yield from asked(context).sound(rule, made, _lonely if context.graph.core.reading.drawn else nothing)


def _interface(context: GraphContext, node: TypedNode, claims: Sequence[Claim]) -> Iterator[Fix]:
    flow = context.graph.flow
    by_class = [claim for claim in claims if claim.place == "class"]
    edits: list[TextEdit] = []
    if any(claim.place == "op" for claim in claims):
        edits += rewrite(node, Moved(frozenset({"op"}))) or ()
    if by_class:
        edits += _class_instead(context, node, by_class[0].index, INTERFACE_CLASS)
    else:
        edits.append(give_class(node.flow, INTERFACE_CLASS, flow))
    if INTERFACE_CLASS not in flow.class_defs:
        edits.append(define_class(INTERFACE_CLASS, INTERFACE_STYLE, flow))
    if len(by_class) < 2 and edits:
        yield Fix(f"Give {node.id} class {INTERFACE_CLASS}", tuple(edits), Applicability.UNSAFE)


def _no_interface(context: GraphContext, node: TypedNode, claims: Sequence[Claim]) -> Iterator[Fix]:
    """Give a node that other words say is a step the class of that operator everywhere."""
    specs = {claim.spec.name: claim.spec for claim in claims if claim.spec is not None}
    uses = [use for use in node.flow.classes if use.name.text.casefold() == INTERFACE_CLASS.casefold()]
    if len(specs) != 1 or len(uses) != 1:
        return
    [spec] = specs.values()
    name = asked(context).workflow_text.class_name(spec)
    edits = _class_instead(context, node, node.flow.classes.index(uses[0]), name)
    if name not in context.graph.flow.class_defs:
        edits = (*edits, define_class(name, spec.style, context.graph.flow))
    yield Fix(f"Give {node.id} class {name}", edits, Applicability.UNSAFE)


def one_side(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    """Make a step of an interface node in the middle, or take the edges on one side away where there is one."""
    use = next((use for use in node.flow.classes if use.name.text.casefold() == INTERFACE_CLASS.casefold()), None)
    custom = context.graph.operators.specs.get("custom")
    if use is not None and custom is not None:
        index = node.flow.classes.index(use)
        name = asked(context).workflow_text.class_name(custom)
        edits = _class_instead(context, node, index, name)
        if name not in context.graph.flow.class_defs:
            edits = (*edits, define_class(name, custom.style, context.graph.flow))
        if edits:
            yield Fix(f"Make {node.id} a {custom.name}", edits, Applicability.UNSAFE)
    for edges in (node.flow.outgoing, node.flow.incoming):
        if len(edges) == 1:
            yield from remove_edge(context, rule, edges[0])


def _class_instead(context: GraphContext, node: TypedNode, index: int, name: str) -> tuple[TextEdit, ...]:
    workflow_text = asked(context).workflow_text
    replacements = class_of(workflow_text, node.flow, index, name)
    return edits_both_ways(workflow_text.places, replacements)[1]


def keep_one(context: GraphContext, rule: Rule, node: TypedNode, declarations: Sequence[Mention]) -> Iterator[Fix]:
    """Keep one of a node's declarations and only name the node where the others are: first those that bring nothing else, the one
    that counts before others.
    """
    made = list(_kept_alone(context, node, declarations)) if len(declarations) <= _MOST_DECLARED else []
    best = list(asked(context).sound(rule, made))
    yield from best
    yield from asked(context).sound(rule, (fix for fix in made if fix not in best), _anything)


def tell_apart(context: GraphContext, rule: Rule, node: TypedNode, declarations: Sequence[Mention]) -> Iterator[Fix]:
    """Make a node of its own of each declaration but the first, with the edges of its own line; or keep one declaration; or
    make another one the step after the first. Last come nodes that nothing leads to yet.
    """
    fixing = asked(context)
    names, edits = _renamed(context, node, declarations)
    renamed = [Fix(f"Rename to {' and '.join(names)}", tuple(edits), Applicability.UNSAFE)] if names else []
    best = list(fixing.sound(rule, renamed))
    yield from best
    yield from keep_one(context, rule, node, declarations)
    if not best and len(names) == 1:
        best = list(fixing.sound(rule, _in_a_row(context, node, names[0], edits)))
        yield from best
    if not best:
        yield from fixing.sound(rule, renamed, _lonely)


def _renamed(
    context: GraphContext, node: TypedNode, declarations: Sequence[Mention]
) -> tuple[list[str], list[TextEdit]]:
    """New ids for declarations with other labels than the first, and the edits that write them."""
    groups: dict[str, list[Mention]] = {}
    for mention in declarations:
        groups.setdefault(mention.vertex.label.text if mention.vertex.label is not None else "", []).append(mention)
    names: list[str] = []
    edits: list[TextEdit] = []
    for others in list(groups.values())[1:_MOST_DECLARED]:
        names.append(free_id(context, node.id, names))
        edits += [TextEdit(mention.range, names[-1]) for mention in others]
    return names, edits


def _in_a_row(context: GraphContext, node: TypedNode, name: str, edits: Sequence[TextEdit]) -> Iterator[Fix]:
    """Have another node follow a node, and before what followed it."""
    if not node.flow.incoming or not node.flow.outgoing:
        return
    first = node.flow.incoming[0]
    edges: dict[int, tuple[WantedEdge, ...]] = {
        edge.index: (WantedEdge(name, edge.target.id, label_of(edge), kept=True),) for edge in node.flow.outgoing
    }
    label = label_of(first)
    # Between the two stands what the first one is told.
    port = (
        label
        if label is not None and ":" not in label and context.graph.by_id[first.source.id].kind == "input"
        else None
    )
    edges[first.index] = (as_it_is(first), WantedEdge(node.id, name, port))
    moved = asked(context).written(GraphChange(edges=edges)) or ()
    together = (*edits, *moved)
    try:
        apply_edits(asked(context).workflow_text.text, together)
    except OverlappingEditsError:
        # The declaration stands on one of these edges.
        return
    if moved:
        yield Fix(f"Rename to {name}, the step after {node.id}", together, Applicability.UNSAFE)


def _anything(rule: Rule) -> bool:
    """All findings: nothing is looked for at a node that is declared differently at several places."""
    del rule
    return True


def _lonely(rule: Rule) -> bool:
    """Whether it is about steps that no edge leads to or from."""
    return Flags.PATHS in rule.flags or Flags.NEEDS_WHOLE in rule.flags


def _kept_alone(context: GraphContext, node: TypedNode, declarations: Sequence[Mention]) -> Iterator[Fix]:
    for kept in reversed(declarations):
        label = kept.vertex.label.text if kept.vertex.label is not None else ""
        same = [
            declaration
            for declaration in declarations
            if declaration.vertex.label is not None and declaration.vertex.label.text == label
        ]
        bare = any(declaration.vertex.classes for declaration in same)
        edits = [_named_only(context, other, bare=bare) for other in declarations if other not in same]
        if label and all(edit is not None for edit in edits) and kept is same[-1]:
            workflow_text = asked(context).workflow_text
            made = edits_both_ways(workflow_text.places, [edit for edit in edits if edit is not None])[1]
            yield Fix(f"Keep {node.id} as “{_shown(label)}”", made, Applicability.UNSAFE)


def _named_only(context: GraphContext, mention: Mention, *, bare: bool) -> Replacement | None:
    """Take the brackets from where a node is written, or the line that only declares it; with ``bare`` its classes too."""
    workflow_text, vertex, block = asked(context).workflow_text, mention.vertex, mention.block
    if vertex.metadata is not None or vertex.label is None:
        return None
    alone = next((statement for statement in block.statements if _only(statement, vertex)), None)
    if alone is not None and (bare or not vertex.classes):
        try:
            return workflow_text.without(workflow_text.written(alone, block))
        except ValueError:
            return None
    end = vertex.span[1] if bare else min((name.span[0] for name in vertex.classes), default=vertex.span[1] + 3) - 3
    start = vertex.name.span[1]
    return Replacement(workflow_text.offset(block, start), workflow_text.offset(block, end), "")


def _only(statement: object, vertex: object) -> bool:
    return isinstance(statement, Chain) and len(statement.groups) == 1 and statement.groups[0] == (vertex,)


def _shown(label: str) -> str:
    return " ".join(_TAG.sub(" ", label).split())
