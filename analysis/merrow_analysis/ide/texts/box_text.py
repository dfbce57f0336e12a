"""What there is to say about Loops and Maps: what runs in them, when they end, and what the words on their edges mean."""

from __future__ import annotations

from collections.abc import Mapping

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.schema import EDGE_KEYS, LOOP_KEYS, MAP_KEYS, SUBGRAPH_KEYS, Fragment
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.measures.call_bounds import count_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph
from merrow_analysis.ide.texts import describe
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup

_MOST_EDGES = 8
KEYS_BY_OPERATOR: Mapping[str, Mapping[str, Fragment]] = {"Loop": LOOP_KEYS, "Map": MAP_KEYS}
"""The parameters of Loops and Maps, in their titles (but for those of any subgraph) and in metadata."""


def title_keys(operator: str) -> dict[str, Fragment]:
    """The parameters that may be in the title of a Loop or a Map; none for another word."""
    keys = KEYS_BY_OPERATOR.get(operator, {})
    return {key: fragment for key, fragment in keys.items() if key not in SUBGRAPH_KEYS}


def keys_of(box: Composite | None) -> Mapping[str, Fragment]:
    """The parameters of a Loop or a Map."""
    return {} if box is None else title_keys(box.operator)


def drawing_keys(analysis: Analysis, name: str, op: str = "") -> Mapping[str, Fragment] | None:
    """The keys of the metadata of an edge or a subgraph; None where ``name`` is neither's id.

    ``op`` is the operator that the metadata being typed names: it can make a Loop or a Map of a subgraph.
    """
    flow, typed = analysis.flow, analysis.typed
    if name in flow.subgraphs:
        kind = op.strip() or (typed.composites.boxes[name].operator if typed and name in typed.composites.boxes else "")
        return KEYS_BY_OPERATOR.get(kind, SUBGRAPH_KEYS)
    return EDGE_KEYS if name in flow.edge_ids and name not in flow.nodes else None


def drawing_fragment(operator: str, key: str) -> Fragment | None:
    """What is known of a key in the metadata of an edge or a subgraph, or in the title of a Loop or a Map."""
    return KEYS_BY_OPERATOR.get(operator, SUBGRAPH_KEYS).get(key) or EDGE_KEYS.get(key)


WORD_TEXTS: Mapping[str, Markup] = {
    "again": Markup().say(
        "Inside a Loop or a Map: brings, in later turns, the newest value that went over this edge. It orders nothing, and"
        " nothing waits for it. Behind a Decision the case comes first: ",
        CodeSpan("no:again:input"),
        ".",
    ),
    "over": Markup().say("Out of a Loop: taken only when the turns ran out."),
    "each": Markup().say("Into a Map: takes a list apart, an item for each run of the nodes inside."),
    "first": Markup().say(
        "Into a Loop or a Map, to a port with an ",
        CodeSpan("again"),
        " edge: gives way in turns where that brings something.",
    ),
}
"""What the words on edges mean, wherever they are."""


def box_text(analysis: Analysis, box: Composite) -> Markup:
    """A Loop or a Map: what it does, when it ends, what comes again, its parameters with meanings and defaults."""
    graph = analysis.typed
    assert graph is not None  # noqa: S101 - the box is of this graph
    text = Markup()
    if box.kind == "loop":
        most = count_of(box, "max")
        text.say(CodeSpan(box.id), f" is a Loop: its nodes run in turns, {most} at most.")
        text.say("It ends:").items(_ends(graph, box, most))
    else:
        text.say(CodeSpan(box.id), " is a Map: its nodes run once for each item of ", *_lists(graph, box), ".")
        text.say("What leaves it is a list, in the order of the items.")
        if _again(graph, box):
            text.say("Items run one after another, as something goes from each to the next.")
    again = _again(graph, box)
    if again:
        text.say("In later turns:" if box.kind == "loop" else "From item to item:").items(_listed(again))
    return text.join(_parameters(box))


def _again(graph: TypedGraph, box: Composite) -> list[TypedEdge]:
    """The ``again`` edges that belong to a box: it is the innermost around both their ends."""
    return [edge for edge in graph.again if edge.border.scope == box.id]


def _ends(graph: TypedGraph, box: Composite, most: int) -> list[Inline]:
    """When a Loop ends, in the words of its own edges and parameters."""
    lines: list[Inline] = []
    out = [edge for edge in graph.edges if box.id in edge.left]
    for edge in out:
        if edge.source.kind == "decision" and edge.word is None and edge.case_label:
            target = CodeSpan(edge.target.id)
            lines.append(
                ("when ", CodeSpan(edge.source.id), " takes ", CodeSpan(edge.case_label), ", which leads to ", target)
            )
    parameters = {key: parameter for key, parameter in box.parameters.items() if parameter.value not in (None, "")}
    until, best, budget = parameters.get("until"), parameters.get("best"), parameters.get("budget")
    if until is not None:
        lines.append(("after a turn in which ", describe.literal(until.value), " holds"))
    again = _again(graph, box)
    if not again:
        lines.append(("after one turn, because no edge is ", CodeSpan("again")))
    elif all(edge.source.kind == "decision" for edge in again):
        cases = list(dict.fromkeys((edge.source.id, edge.case_label or "") for edge in again))
        taken = [piece for node, case in cases for piece in (", ", CodeSpan(case), " of ", CodeSpan(node))]
        lines.append(("after a turn that does not take ", *taken[1:]))
    if budget is not None:
        lines.append(
            (
                "when its budget ",
                describe.literal(budget.value),
                " is used up",
            )
        )
    over = [edge for edge in out if edge.word == "over"]
    last: list[str] = [f"after {most} turn{'s' if most > 1 else ''}"]
    if over:
        ways = dict.fromkeys(edge.target.id for edge in over)
        last += [
            "; then ",
            CodeSpan("over"),
            " leads to ",
            *[part for way in ways for part in (", ", CodeSpan(way))][1:],
        ]
    if best is not None:
        last += ["; then the turn with the highest ", describe.literal(best.value), " counts"]
    if again or until is not None:
        lines.append(tuple(last))
    return lines


def _lists(graph: TypedGraph, box: Composite) -> Inline:
    """What a Map takes apart."""
    edges = graph.lists.get(box.id, [])
    if not edges:
        return ("a list, which no edge with ", CodeSpan("each"), " brings")
    sources = dict.fromkeys(f"{edge.source.id}.{edge.output}" if edge.output else edge.source.id for edge in edges)
    types = dict.fromkeys(str(edge.type) for edge in edges if edge.type is not None)
    pieces: list[str] = [part for name in sources for part in (", ", CodeSpan(name))][1:]
    return (
        (*pieces, " (", *[part for name in types for part in (", ", CodeSpan(name))][1:], ")")
        if types
        else tuple(pieces)
    )


def _listed(edges: list[TypedEdge]) -> list[Inline]:
    lines: list[Inline] = []
    for edge in edges[:_MOST_EDGES]:
        what = edge.output or edge.case_label
        start = f"{edge.source.id}.{what}" if what else edge.source.id
        end = f"{edge.target.id}.{edge.port}" if edge.port else edge.target.id
        lines.append((CodeSpan(f"{start} -> {end}"),))
    if len(edges) > _MOST_EDGES:
        lines.append((f"{len(edges) - _MOST_EDGES} more",))
    return lines


def _parameters(box: Composite) -> Markup:
    """All parameters that it could have: those that it has with their values, then those with a default."""
    lines: list[Inline] = []
    keys = keys_of(box)
    for key, fragment in keys.items():
        parameter = box.parameters.get(key)
        if parameter is None and "default" not in fragment:
            continue
        value = describe.literal(fragment["default"] if parameter is None else parameter.value)
        how = " (default)" if parameter is None else ""
        lines.append((CodeSpan(f"{key}:"), " ", value, f"{how}: {fragment['description']}"))
    return Markup().say("Parameters:").items(lines) if lines else Markup()


def edge_notes(graph: TypedGraph, edge: TypedEdge) -> list[Inline]:
    """What the word of an edge means there, and what crossing a Map does to what it brings; nothing for other edges."""
    lines: list[Inline] = []
    scope = edge.border.scope
    if edge.word == "again" and scope is not None:
        rounds = "turns" if graph.composites.boxes[scope].kind == "loop" else "items"
        line: Inline = (
            CodeSpan("again"),
            f": brings it in later {rounds} of ",
            CodeSpan(scope),
            ". It orders nothing, and nothing waits for it.",
        )
        lines.append(line)
    elif edge.word == "over":
        lines.append((CodeSpan("over"), ": taken only when the turns of ", CodeSpan(edge.left[0]), " ran out."))
    elif edge.word == "first":
        lines.append(
            (CodeSpan("first"), ": gives way in turns in which an ", CodeSpan("again"), " edge brings something.")
        )
    given = _given(edge) if edge.raised or edge.lowered is not None else None
    if edge.word == "each" and edge.lowered is not None:
        before = given if not edge.raised else None
        line = (
            CodeSpan("each"),
            ": takes the list apart, an item for each run of ",
            CodeSpan(edge.lowered),
            *_change(before, edge.type),
        )
        lines.append(line)
    if edge.raised:
        maps = [part for name in graph.composites.maps(edge.left) for part in (", ", CodeSpan(name))][1:]
        after = edge.type if edge.lowered is None else None
        lines.append(("Leaves ", *maps, ": brings the values of all items as a list", *_change(given, after)))
    return lines


def change_of(edge: TypedEdge) -> str | None:
    """How a type changes on an edge that enters or leaves a Map, as ``list[Task] → Task``; None where it does not."""
    if edge.type is None or not (edge.raised or edge.lowered):
        return None
    given = _given(edge)
    return None if given is None else f"{given} → {edge.type}"


def _given(edge: TypedEdge) -> str | None:
    """The type of what an edge brings, where it starts."""
    if not edge.feeds:
        return None
    if edge.apart is not None:
        return edge.apart.type
    if edge.source.kind == "decision":
        return edge.source.placement.signature.carried(edge.case_label)
    return edge.source.outputs.get(edge.feeds[0].output or "")


def _change(before: str | None, after: str | None) -> Inline:
    return (".",) if before is None or after is None else (": ", CodeSpan(before), " becomes ", CodeSpan(after), ".")
