"""Plain steps: what is read into a drawing, and labels of ways out where nothing chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from merrow_analysis.definitions.labels.parameters import decoded_entities
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity, Tag
from merrow_analysis.edits.parameters import declaration_of
from merrow_analysis.graph.drawings.drawing import is_diamond
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.graph.plain_steps import plain_nodes, reading
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.drawn.write_out import write_out
from merrow_analysis.rules.fixes.box_fixes import label_ways
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.fixes.key_fixes import remove_key, said_by
from merrow_analysis.rules.key_rules import IDLE
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, label_range, listed, parameter_range, report
from merrow_analysis.text import TextEdit

# What is read into a drawing depends on all of it, so it is found again at each analysis.
_FAMILY = RuleFamily[TextContext](Scope.TEXT)
PLAIN_STEPS = _FAMILY.rule(
    "MW313",
    "plain-steps",
    "Boxes name no operator, so each runs as one model call with its text as prompt.",
    Severity.HINT,
    fix="sometimes",
)
NO_CHOICE = _FAMILY.rule(
    "MW123",
    "ways-without-choice",
    "Edges out of a step look like a choice, but all of them are taken.",
    Severity.WARNING,
    fix="sometimes",
)

_MOST_WRITTEN = 300
"""Plain steps of a file for which the fix of MW313 is made."""


@_FAMILY.checked_by
def check_plain_steps(context: TextContext) -> Iterator[Diagnostic]:
    """Findings about steps at which no operator is written, and about Decisions that ask."""
    graph, settings = context.graph, context.settings
    if graph is None:
        return
    for node in graph.decisions:
        if "ask" in node.resolution.parameters and not node.asks:
            message = f"`ask` changes nothing: {node.id} decides without asking a model; remove it."
            block = node.resolution.parameters["ask"].block
            removal = remove_key(said_by(node), "ask", block, safe=True)
            yield report(IDLE, parameter_range(node, "ask"), message, fixes=removal, tags=(Tag.UNNECESSARY,))
    plain = plain_nodes(graph)
    if not plain:
        return
    edits = write_out(graph, settings, context.front) if len(plain) <= _MOST_WRITTEN else None
    fixes = [] if edits is None else [fix("Write the operators out", edits, safe=False)]
    yield report(PLAIN_STEPS, plain[0].flow.range, reading(graph, settings.says_memory), fixes=fixes)
    for node in plain:
        if node.kind == "operator" and len(node.outgoing) > 1:
            yield from _without_choice(context, node)


def _without_choice(context: TextContext, node: TypedNode) -> Iterator[Diagnostic]:
    """A box with several ways out of which some have labels that name no port, or a diamond none of whose ways has a label."""
    targets = list(dict.fromkeys(edge.target.id for edge in node.outgoing))
    labelled = [edge for edge in node.outgoing if edge.placed.label.words is not None]
    if len(targets) < 2 or _say_the_same(node, labelled):
        return
    if labelled:
        said = listed([f"`{decoded_entities(edge.placed.label.words or '').strip()}`" for edge in labelled], most=3)
        message = (
            f"{said} {'reads' if len(labelled) == 1 else 'read'} like a choice, but {node.id} is a box, so "
            f"{_all(targets)} run; make {node.id} a diamond if only one should."
        )
        first, *others = labelled
        related = [Related(edge.flow.range, f"another way out of {node.id}") for edge in others[:5]]
        yield report(NO_CHOICE, label_range(first), message, related=related, fixes=_diamond(context, node))
    elif is_diamond(node.flow.record):
        message = (
            f"{node.id} is a diamond, but its ways out have no labels, so {_all(targets)} run; label the ways, such as "
            f"`{node.id} -->|yes| {targets[0]}`, if only one should."
        )
        fixes = () if context.workflow is None else label_ways(context.workflow, NO_CHOICE, node)
        yield report(NO_CHOICE, node.flow.range, message, fixes=fixes)


def _say_the_same(node: TypedNode, labelled: list[TypedEdge]) -> bool:
    """Whether all ways out have one label, such as `sends`: that tells what the arrows are, not which one to take."""
    words = {decoded_entities(edge.placed.label.words or "").strip().casefold() for edge in labelled}
    return len(words) == 1 and len(labelled) == len(node.outgoing)


def _all(ids: list[str]) -> str:
    return f"{listed(ids)} {'both' if len(ids) == 2 else 'all'}"


_QUOTES = '"`'


def _diamond(context: TextContext, node: TypedNode) -> Iterable[Fix]:
    """Draw the box as a diamond, where its brackets are written in one place and each way out is the case of one then."""
    here = declaration_of(node)
    if here is None or here.vertex.shape is None or here.vertex.label is None or node.flow.metadata:
        return []
    block, vertex, label = here.block, here.vertex, here.vertex.label
    opening = (vertex.name.span[1], label.span[0])
    end = min((name.span[0] for name in vertex.classes), default=vertex.span[1] + 3) - 3
    closing = (label.span[1], end)
    marks = ["".join(char for char in block.text[slice(*span)] if char in _QUOTES) for span in (opening, closing)]
    edits = [
        TextEdit(block.range(opening), "{" + marks[0]),
        TextEdit(block.range(closing), marks[1] + "}"),
    ]
    made = [fix("Make it a diamond", edits, safe=False)]
    return made if context.workflow is None else asked(context.workflow).sound(NO_CHOICE, made)
