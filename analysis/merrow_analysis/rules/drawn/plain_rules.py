"""Plain steps: what is read into a drawing, and labels of ways out where nothing chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from merrow_analysis.definitions.labels.parameters import decoded_entities
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity, Tag
from merrow_analysis.edits.parameters import declaration_of
from merrow_analysis.graph.drawings.meaning import TURNS
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.plain_steps import is_step, plain_nodes, reading
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.drawn.write_out import write_out
from merrow_analysis.rules.fixes.box_fixes import label_ways
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.fixes.key_fixes import remove_key, written_keys_of
from merrow_analysis.rules.key_rules import IDLE
from merrow_analysis.rules.operator_rules import UNKNOWN_OPERATOR
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, label_range, listed, parameter_range, report
from merrow_analysis.text import Range, TextEdit

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
    Severity.HINT,
    fix="sometimes",
)
NO_PART = _FAMILY.rule(
    "MW323",
    "drawn-without-effect",
    "Something drawn does nothing in a run, or does not choose.",
    Severity.HINT,
    fix="sometimes",
)

_LONGEST_ANSWER = 3
"""Words of a label that may be an answer; longer ones describe what is handed on."""
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
            removal = remove_key(written_keys_of(node), "ask", block, safe=True)
            yield report(IDLE, parameter_range(node, "ask"), message, fixes=removal, tags=(Tag.UNNECESSARY,))
    yield from _idle_turns(graph)
    plain = plain_nodes(graph)
    is_drawing = graph.core.reading.drawn and not graph.core.reading.names
    works = any(is_step(node) or node.asks for node in plain)
    if not graph.nodes or not (works or is_drawing):
        return
    edits = write_out(graph, settings, context.front) if len(plain) <= _MOST_WRITTEN else None
    fixes = [] if edits is None else [fix("Write the operators out", edits, safe=False)]
    place = (plain or graph.nodes)[0].flow.range
    yield report(PLAIN_STEPS, place, reading(graph, settings.says_memory), fixes=fixes)
    if is_drawing and not works:
        message = "No box says what to do: write it, as in `A[Summarise the text]`."
        told = report(UNKNOWN_OPERATOR, place, message)
        yield told._replace(severity=Severity.WARNING)
        return
    yield from _without_choice(context, [node for node in plain if node.kind == "operator" and len(node.outgoing) > 1])
    if graph.core.reading.drawn:
        yield from _without_effect(context, graph)


def _idle_turns(graph: TypedGraph) -> Iterator[Diagnostic]:
    """Numbers of turns at steps where no loop without a box begins."""
    heads = {box.head for box in graph.composites if box.implied}
    for node in graph.nodes:
        if TURNS not in node.resolution.parameters or node.id in heads:
            continue
        around = next(iter(graph.composites.around(node.id)), None)
        message = f"`turns` changes nothing: no loop begins at {node.id}; remove it."
        if around is not None:
            box = graph.composites.boxes[around]
            here = f"begins at {box.head}; write it there" if box.implied else "has a box; write `max` there"
            message = f"`turns` changes nothing at {node.id}: the loop around it, {box.id}, {here}."
        removal = remove_key(written_keys_of(node), TURNS, node.resolution.parameters[TURNS].block, safe=False)
        yield report(IDLE, parameter_range(node, TURNS), message, fixes=removal, tags=(Tag.UNNECESSARY,))


def _without_effect(context: TextContext, graph: TypedGraph) -> Iterator[Diagnostic]:
    """One finding for each kind of things drawn that do nothing, or do not choose."""
    notes = graph.core.notes
    alone = [name for note in notes if note.kind == "unconnected" for name in note.nodes]
    if alone:
        verb = "is not connected and is" if len(alone) == 1 else "are not connected and are"
        message = f"{listed(alone, most=4)} {verb} not run."
        yield report(NO_PART, _range_of(graph, alone[0]), message)
    silent = [note for note in notes if note.kind in ("own box", "closes a cycle") and note.edge is not None]
    if silent:
        first = silent[0]
        why = "joins a box and something in it" if first.kind == "own box" else "would close a cycle, and is a line"
        message = f"The line between {first.nodes[0]} and {first.nodes[1]} {why}: it says nothing here."
        assert first.edge is not None  # noqa: S101 (looked at above)
        yield report(NO_PART, graph.flow.edge(first.edge).range, message)
    wordless = [name for note in notes if note.kind == "no words" for name in note.nodes]
    if wordless and any(map(is_step, plain_nodes(graph))):
        verb = "has no words: it passes" if len(wordless) == 1 else "have no words: they pass"
        yield report(NO_PART, _range_of(graph, wordless[0]), f"{listed(wordless, most=4)} {verb} on what arrives.")
    ways = [note for note in notes if note.kind == "all ways"]
    if ways:
        first, more = ways[0], len(ways) - 1
        others = f" The same holds of {listed([note.nodes[0] for note in ways[1:]], most=4)}." if more else ""
        count = "both" if first.ways == 2 else f"all {first.ways}"
        message = f"{count.capitalize()} ways of {first.nodes[0]} are taken: label them to choose.{others}"
        fixes: Iterable[Fix] = ()
        if context.workflow is not None and first.nodes[0] in graph.by_id:
            fixes = label_ways(context.workflow, NO_PART, graph.by_id[first.nodes[0]])
        yield report(NO_PART, _range_of(graph, first.nodes[0]), message, fixes=fixes)


def _range_of(graph: TypedGraph, name: str) -> Range:
    node = graph.flow.nodes.get(name)
    return node.range if node is not None else graph.flow.subgraphs[name].range


def _without_choice(context: TextContext, nodes: Iterable[TypedNode]) -> Iterator[Diagnostic]:
    """The first box with several ways out that have different labels which name no port; and which others there are."""
    choices = [(node, labelled) for node in nodes if (labelled := _like_a_choice(node))]
    if not choices:
        return
    (node, labelled), others = choices[0], [other.id for other, _ in choices[1:]]
    labels = listed([f"`{decoded_entities(edge.placed.label.words or '').strip()}`" for edge in labelled], most=3)
    targets = list(dict.fromkeys(edge.target.id for edge in node.outgoing))
    message = (
        f"{labels} read like a choice, but {node.id} is a box, so {_all(targets)} run; make {node.id} a diamond if only "
        "one should."
    )
    if others:
        message += f" The same holds of {listed(others, most=4)}."
    first, *more = labelled
    related = [Related(edge.flow.range, f"another way out of {node.id}") for edge in more[:5]]
    yield report(NO_CHOICE, label_range(first), message, related=related, fixes=_diamond(context, node))


def _like_a_choice(node: TypedNode) -> list[TypedEdge]:
    """The ways out of a box, where all have short labels that name no port, and these differ. An arrow with two heads says what
    goes to and fro, and no choice.
    """
    labelled = [edge for edge in node.outgoing if edge.placed.label.words is not None]
    if any(edge.flow.arrow.type.startswith("double") for edge in labelled):
        return []
    different = {(edge.placed.label.words or "").strip().casefold() for edge in labelled}
    all_say = len(labelled) == len(node.ways) and all(len(label.split()) <= _LONGEST_ANSWER for label in different)
    return labelled if all_say and len(different) > 1 and len({edge.target.id for edge in node.outgoing}) > 1 else []


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
