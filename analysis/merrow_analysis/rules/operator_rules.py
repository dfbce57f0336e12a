"""What nodes say of their operators: unknown ones, contradictions, spellings, interface classes, double
declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from merrow_analysis.definitions.operators import INTERFACE_CLASS, INTERFACE_STYLE, OperatorSpec
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity
from merrow_analysis.edits.classes import define_class, give_class
from merrow_analysis.edits.renaming import rename_class
from merrow_analysis.graph.flow import Flowchart, FlowNode
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.resolve import Claim, NodeProblem
from merrow_analysis.rules.box_kinds import box_kinds
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.box_moves import to_inside
from merrow_analysis.rules.fixes.decision_fixes import rename_in_value
from merrow_analysis.rules.fixes.declaring import declare_operator, declare_type
from merrow_analysis.rules.fixes.edge_fixes import remove_node
from merrow_analysis.rules.fixes.fix_context import asked, what_edges_bring
from merrow_analysis.rules.fixes.near_names import labelled, near_node
from merrow_analysis.rules.fixes.operator_fixes import (
    agree,
    call_it,
    make_custom,
    make_interface,
    one_side,
    tell_apart,
)
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import (
    claim_range,
    fix,
    listed,
    metadata_value_span,
    parameter_range,
    report,
)
from merrow_analysis.suggest import Guesses
from merrow_analysis.text import TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.NODE, Flags.QUICK_LOOK)
WRONG_INTERFACE_CLASS = _FAMILY.rule(
    "MW103",
    "wrong-interface-class",
    "An input or output node has the class of an operator, or an Interface node is neither input nor output.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.PATHS,
)
UNKNOWN_OPERATOR = _FAMILY.rule(
    "MW104",
    "unknown-operator",
    "A node names an operator that doesn't exist, or names none.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NAMES_CAUSE,
)
MISSING_INTERFACE_CLASS = _FAMILY.rule(
    "MW106",
    "missing-interface-class",
    "An input or output node lacks the class Interface.",
    Severity.WARNING,
    fix="always",
    flags=Flags.NAMES_CAUSE | Flags.SPELLING,
)
OPERATOR_DISAGREEMENT = _FAMILY.rule(
    "MW107",
    "operator-disagreement",
    "A node's metadata, class and label name different operators.",
    Severity.ERROR,
    fix="sometimes",
)
OPERATOR_SPELLING = _FAMILY.rule(
    "MW108",
    "operator-spelling",
    "An operator is named by an unusual spelling that published files use.",
    Severity.WARNING,
    fix="sometimes",
    flags=Flags.SPELLING,
)
CONFLICTING_DECLARATION = _FAMILY.rule(
    "MW109",
    "conflicting-declaration",
    "A node is declared twice with different labels.",
    Severity.ERROR,
    fix="sometimes",
)
UNKNOWN_TYPE = _FAMILY.rule(
    "MW219", "unknown-type", "A node names a type that doesn't exist.", Severity.ERROR, fix="sometimes"
)


@_FAMILY.checked_by
def check_operators(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about single nodes, but for those that are reported as a misnamed PROBLEM or RETURN."""
    graph, stand_ins = context.graph, context.boundary.stand_in_ids
    spelled: dict[str, list[tuple[TypedNode, Claim]]] = {}
    unknown: dict[str, list[tuple[TypedNode, NodeProblem]]] = {}
    guesses = Guesses()
    for index in graph.shape.by_rank(graph.marks.conflicts):
        yield _conflict(context, graph.node(index))
    for index in graph.shape.by_rank(graph.marks.problems):
        node = graph.node(index)
        for problem in node.resolution.problems:
            if problem.kind == "variant":
                yield from _spelling(node, problem.claims[0], graph, spelled)
            elif problem.kind in ("unknown", "none"):
                if node.id not in stand_ins:
                    yield from _unknown(context, node, problem, unknown, guesses)
            elif problem.kind == "disagreement":
                yield _disagreement(context, node, problem)
            elif problem.kind == "wrong-class":
                yield _wrong_interface_class(context, node, problem)
            elif problem.kind == "no-class":
                if node.id not in stand_ins:
                    yield _missing_interface_class(node, graph)
            elif problem.kind == "bad-type":
                message = f"`{problem.key}` of {node.id}: {problem.message}"
                yield report(
                    UNKNOWN_TYPE, parameter_range(node, problem.key), message, fixes=_typed(context, node, problem)
                )
    yield from _bare_steps(context)
    for group in graph.flow.groups.values():
        yield from box_kinds(group, UNKNOWN_OPERATOR, OPERATOR_DISAGREEMENT)
    for word, uses in spelled.items():
        yield _class_spelling(word, uses, graph)
    for number, (word, occurrences) in enumerate(unknown.items()):
        yield _unknown_class(context, word, occurrences, repair=number < _MOST_RENAMED)


def _subgraph(context: GraphContext, node: TypedNode) -> Diagnostic:
    """An edge that leads to the id of a subgraph."""
    message = f"{node.id} is a subgraph, which takes no part in the workflow itself; connect the nodes inside it."
    inner = asked(context).sound(UNKNOWN_OPERATOR, to_inside(node, context.graph), what_edges_bring)
    return report(UNKNOWN_OPERATOR, node.flow.range, message, fixes=inner)


def _bare_steps(context: GraphContext) -> Iterator[Diagnostic]:
    """Steps of a drawing that are an id alone: one that is a subgraph's, or a slip of another one's."""
    graph = context.graph
    bare = [node for node in graph.at(graph.marks.plain) if node.flow.label is None and not node.implied]
    if not bare:
        return
    names, guesses = list(labelled(graph)), Guesses()
    for node in bare:
        if node.id in graph.flow.groups:
            if not graph.core.reading.drawn:
                yield _subgraph(context, node)
            continue
        near = near_node(node, names, guesses) if len(node.id) >= _SHORTEST_SLIP else None
        if near is not None:
            message = f"{node.id} has no text, and its id is nearly that of {near}; write {near}, or a text at it."
            places = [mention.block.range(mention.vertex.name.span) for mention in node.flow.mentions]
            renamed = [fix(f"Write {near}", [TextEdit(place, near) for place in places], safe=False)]
            fixes = asked(context).sound(UNKNOWN_OPERATOR, renamed, what_edges_bring)
            yield report(UNKNOWN_OPERATOR, node.flow.range, message, fixes=fixes)


_SHORTEST_SLIP = 5
_ACTING = re.compile("tool|agent|human|approv|webhook|mcp", re.IGNORECASE)
"""What operators of other programs are called that act outside, or ask a person."""
_PERSON = re.compile("human|approv", re.IGNORECASE)
"""What those of them are called that ask a person, as Human does."""


def _typed(context: GraphContext, node: TypedNode, problem: NodeProblem) -> Iterator[Fix]:
    """Write the type that was probably meant, or say no type."""
    if problem.misspelled is not None and problem.misspelled.near is not None:
        yield from rename_in_value(node, problem.key, problem.misspelled.word, problem.misspelled.near)
    written = node.resolution.parameters[problem.key].value
    if isinstance(written, str):
        yield from declare_type(context, UNKNOWN_TYPE, node, written)
    title = f"Remove {problem.key} at {node.id}"
    yield from asked(context).with_parameter(UNKNOWN_TYPE, title, node, problem.key, None)


def _conflict(context: GraphContext, node: TypedNode) -> Diagnostic:
    *earlier, last = node.conflicting
    labels = list(dict.fromkeys(m.vertex.label.text if m.vertex.label else "" for m in node.conflicting))
    shown = listed([f"`{_shortened(label)}`" for label in labels])
    message = (
        f"{node.id} is declared {len(node.conflicting)} times with different labels, {shown}; only the last counts. "
        "Give each node an id of its own, or keep one declaration."
    )
    related = [Related(mention.range, f"{node.id} is declared here too") for mention in earlier]
    fixes = tell_apart(context, CONFLICTING_DECLARATION, node, node.conflicting)
    return report(CONFLICTING_DECLARATION, last.range, message, related=related, fixes=fixes)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


_PLACES = {"op": "its metadata", "class": "its class", "label": "its label"}


def _disagreement(context: GraphContext, node: TypedNode, problem: NodeProblem) -> Diagnostic:
    parts = [f"{_PLACES[claim.place]} says {_name(claim)}" for claim in problem.claims]
    message = f"It is not clear which operator {node.id} has: {listed(parts)}. Make them agree."
    first, *others = problem.claims
    related = [
        Related(claim_range(node.flow, claim), f"{_PLACES[claim.place]} says {_name(claim)}") for claim in others
    ]
    # A class is often given to several nodes at once; what a node says of itself is more likely meant.
    claims = sorted(problem.claims, key=lambda claim: claim.place == "class")
    specs = list(dict.fromkeys(claim.spec for claim in claims if claim.spec is not None))
    fixes = agree(context, OPERATOR_DISAGREEMENT, node, specs)
    return report(OPERATOR_DISAGREEMENT, claim_range(node.flow, first), message, related=related, fixes=fixes)


def _name(claim: Claim) -> str:
    return claim.spec.name if claim.spec is not None else claim.word


def _wrong_interface_class(context: GraphContext, node: TypedNode, problem: NodeProblem) -> Diagnostic:
    if not problem.claims:
        message = (
            f"{node.id} has class Interface, but edges go into it and out of it: an interface node is an input or an "
            "output. Give it the class of its operator, or remove the edges on one side."
        )
        use = next((use for use in node.flow.classes if use.name.text.casefold() == "interface"), None)
        place = use.range if use is not None else node.flow.range
        return report(WRONG_INTERFACE_CLASS, place, message, fixes=one_side(context, WRONG_INTERFACE_CLASS, node))
    claim = problem.claims[0]
    side = "an input" if node.kind == "input" else "an output"
    how = f"class {claim.word}" if claim.place == "class" else f"`op: {claim.word}`"
    message = f"{node.id} is {side} of the workflow but has {how}; give it class Interface instead."
    if node.kind == "unknown":
        message = f"{node.id} has class Interface, but also {how}, and edges go into it and out of it; make it one or the other."
    related = [Related(claim_range(node.flow, other), f"also {other.word}") for other in problem.claims[1:]]
    fixes = make_interface(context, WRONG_INTERFACE_CLASS, node, problem.claims)
    return report(WRONG_INTERFACE_CLASS, claim_range(node.flow, claim), message, related=related, fixes=fixes)


def _missing_interface_class(node: TypedNode, graph: TypedGraph) -> Diagnostic:
    flow = graph.flow
    side = "input" if node.kind == "input" else "output"
    message = f"{node.id} is an {side} node without class {INTERFACE_CLASS}; write `{node.id}:::{INTERFACE_CLASS}`."
    edits = [give_class(node.flow, INTERFACE_CLASS, flow)]
    if INTERFACE_CLASS not in flow.class_defs:
        edits.append(define_class(INTERFACE_CLASS, INTERFACE_STYLE, flow))
    remedy = fix(f"Give {node.id} class {INTERFACE_CLASS}", edits)
    return report(MISSING_INTERFACE_CLASS, node.flow.range, message, fixes=[remedy])


def _spelling(
    node: TypedNode, claim: Claim, graph: TypedGraph, spelled: dict[str, list[tuple[TypedNode, Claim]]]
) -> Iterator[Diagnostic]:
    """Report a spelling in metadata or a label; those of classes are collected, for one class is renamed everywhere."""
    del graph
    if claim.place == "class":
        spelled.setdefault(claim.word, []).append((node, claim))
        return
    name = _name(claim)
    message = f"`{claim.word}` at {node.id} is an unusual spelling of operator {name}; write `{name}`."
    edits = _operator_word_edits(node.flow, claim, name)
    fixes = [fix(f"Write {name}", edits)] if edits else []
    yield report(OPERATOR_SPELLING, claim_range(node.flow, claim), message, fixes=fixes)


def _operator_word_edits(node: FlowNode, claim: Claim, name: str) -> list[TextEdit]:
    """The edits that write an operator's name where a claim has it: in a label, wherever the node is declared with that label."""
    if claim.place == "op":
        metadata, block = node.metadata[claim.index]
        span = metadata_value_span(metadata, "op")
        return [] if span is None else [TextEdit(block.range(span), name)]
    if node.label is None or node.label_block is None:
        return []
    shift = node.label_block.text.find(claim.word, *node.label.span)
    place = claim_range(node, claim)
    if shift == -1 or (place == node.label_block.range(node.label.span) and node.label.text != claim.word):
        return []
    shift -= node.label.span[0]
    edits: list[TextEdit] = []
    for mention in node.mentions:
        label = mention.vertex.label
        if label is None or label.text != node.label.text:
            continue
        begin = label.span[0] + shift
        if not mention.block.text.startswith(claim.word, begin):
            return []
        edits.append(TextEdit(mention.block.range((begin, begin + len(claim.word))), name))
    return edits


def _class_spelling(word: str, uses: list[tuple[TypedNode, Claim]], graph: TypedGraph) -> Diagnostic:
    node, claim = uses[0]
    right = class_for(claim.spec, graph.flow)
    ids = listed([used.id for used, _ in uses])
    message = f"Class `{word}` of {ids} is an unusual spelling of operator {_name(claim)}; write `{right}`."
    return report(
        OPERATOR_SPELLING,
        claim_range(node.flow, claim),
        message,
        related=_other_uses(uses),
        fixes=[_renamed(word, right, graph.flow)],
    )


def _other_uses(uses: list[tuple[TypedNode, Claim]]) -> list[Related]:
    places = {claim_range(node.flow, claim): node for node, claim in uses}
    return [Related(place, f"{node.id} has it too") for place, node in list(places.items())[1:]]


_MOST_COMPARED = 500


def class_for(spec: OperatorSpec | None, flow: Flowchart) -> str:
    """The class of an operator as this file defines it, else as published files spell it."""
    if spec is None:
        return INTERFACE_CLASS
    wanted = f"{spec.name}Op".casefold()
    known = islice(flow.class_defs, _MOST_COMPARED)
    return next((name for name in known if name.casefold() == wanted), spec.class_name)


def _renamed(word: str, right: str, flow: Flowchart, *, safe: bool = True) -> Fix:
    return fix(f"Write {right} for {word}", rename_class(word, right, flow), safe=safe)


def _unknown(
    context: GraphContext,
    node: TypedNode,
    problem: NodeProblem,
    collected: dict[str, list[tuple[TypedNode, NodeProblem]]],
    guesses: Guesses,
) -> Iterator[Diagnostic]:
    graph = context.graph
    names = ", ".join(graph.operators.names())
    if node.id in graph.flow.groups:
        yield _subgraph(context, node)
        return
    if problem.kind == "none":
        yield _without_text(context, node, guesses)
        return
    claim = problem.claims[0]
    if claim.place == "class":
        collected.setdefault(claim.word, []).append((node, problem))
        return
    hint = f"did you mean {problem.near.name}?" if problem.near is not None else f"the operators are {names}."
    meant = None if problem.near is None else problem.near.name
    if meant is None and _PERSON.search(claim.word):
        meant, hint = "Human", "did you mean Human, which asks a person?"
    elif meant is None and _ACTING.search(claim.word):
        hint = f"Tool is the operator that uses a tool of a server. The operators are {names}."
    message = f"{node.id} names operator `{_shortened(claim.word)}`, which doesn't exist; {hint}"
    edits = _operator_word_edits(node.flow, claim, meant) if meant is not None else []
    fixes: Iterable[Fix] = _other_operator(context, claim.word, [node])
    if edits:
        fixes = [fix(f"Write {meant}", edits, safe=False)]
    yield report(UNKNOWN_OPERATOR, claim_range(node.flow, claim), message, fixes=fixes)


def _without_text(context: GraphContext, node: TypedNode, guesses: Guesses) -> Diagnostic:
    """A node that only edges name: it may be another one whose id is misspelled."""
    what = f"say what this step does, as in `{node.id}[Summarise the text]`"
    near = near_node(node, labelled(context.graph), guesses)
    if near is None:
        names = ", ".join(context.graph.operators.names())
        message = f"{node.id} has no text: {what}, or name an operator by a class. The operators are {names}."
    else:
        message = f"{node.id} has no text; did you mean {near}? If it is a step of its own, {what}."
    fixes = chain(call_it(context, UNKNOWN_OPERATOR, node), remove_node(context, UNKNOWN_OPERATOR, node))
    return report(UNKNOWN_OPERATOR, node.flow.range, message, fixes=fixes)


_MOST_RENAMED = 50
"""Unknown classes that get a fix: each looks through all classes of the file."""


def _unknown_class(
    context: GraphContext, word: str, occurrences: list[tuple[TypedNode, NodeProblem]], *, repair: bool
) -> Diagnostic:
    """One finding for an unknown class, wherever it is given. Safe to repair where the labels say the same operator."""
    graph = context.graph
    node, problem = occurrences[0]
    claim, near = problem.claims[0], problem.near
    ids = listed([used.id for used, _ in occurrences])
    verb = "have" if len(occurrences) > 1 else "has"
    if word in ("LoopOp", "MapOp"):
        message = f"{ids} {verb} class `{word}`, which is for subgraphs; give it to a subgraph around the nodes."
        return report(
            UNKNOWN_OPERATOR, claim_range(node.flow, claim), message, related=_other_uses(_uses_of(occurrences))
        )
    if near is None:
        hint = f"the operators are {', '.join(graph.operators.names())}; declare others under `operators:`."
    else:
        hint = f"did you mean `{class_for(near, graph.flow)}`, the class of {near.name}?"
    message = f"{ids} {verb} class `{word}`, which is not an operator's; {hint}"
    uses = _uses_of(occurrences)
    fixes: Iterable[Fix] = ()
    if near is None and repair:
        fixes = _other_operator(context, word.removesuffix("Op"), [used for used, _ in occurrences])
    elif near is not None and repair:
        confirmed = all(_confirms(used, near) for used, _ in occurrences)
        fixes = [_renamed(word, class_for(near, graph.flow), graph.flow, safe=confirmed)]
    return report(UNKNOWN_OPERATOR, claim_range(node.flow, claim), message, related=_other_uses(uses), fixes=fixes)


def _other_operator(context: GraphContext, name: str, nodes: Sequence[TypedNode]) -> Iterator[Fix]:
    """Declare an operator of that name, or ask a model: that first where the file has a prompt for each of the nodes, never where
    the name says that something is done or somebody is asked, which a model would only play.
    """
    prompts = {prompt.strip().casefold() for prompt in context.settings.prompts}
    roles = [role_of(node) for node in nodes]
    declared = declare_operator(context, UNKNOWN_OPERATOR, name, nodes)
    asking = () if _ACTING.search(name) else make_custom(context, UNKNOWN_OPERATOR, nodes)
    is_told = all(role is not None and role[1].casefold() in prompts for role in roles)
    yield from chain(asking, declared) if is_told else chain(declared, asking)


def _uses_of(occurrences: list[tuple[TypedNode, NodeProblem]]) -> list[tuple[TypedNode, Claim]]:
    """The nodes with the places that name what they are."""
    return [(node, problem.claims[0]) for node, problem in occurrences]


def _confirms(node: TypedNode, near: OperatorSpec) -> bool:
    others = [claim.spec for claim in node.resolution.claims if claim.spec is not None]
    return bool(others) and all(spec is near for spec in others)
