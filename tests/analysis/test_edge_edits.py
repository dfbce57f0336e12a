"""Edits of edges and declarations in any graph, cyclic ones too: what is typed again equals what is typed cold."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_analysis.check import Analyser, Analysis, analyse
from merrow_analysis.graph.nodes import TypedEdge
from merrow_analysis.text import Position, Range, TextEdit

NODES = ["N5", "N2", "N7", "N1", "N3", "N6", "D1", "D2", "T", "V", "IN", "OUT", "PROBLEM", "RETURN"]
DECLARATIONS = [
    "flowchart TD",
    *(f'    N{number}["Custom<br/>(role: r{number})"]' for number in (5, 2, 7, 1, 3, 6)),
    "    D1{one?}",
    "    D2{two?}",
    '    T["Test<br/>"]',
    '    V["ScEnsemble<br/>"]',
    "    IN([in])",
    "    OUT([out])",
    "    PROBLEM([Problem])",
    "    RETURN([Return])",
    "    classDef Interface fill:#fff",
    "    class N1,N2,N3,N5,N6,N7 CustomOp",
    "    class D1,D2 DecisionOp",
    "    class T TestOp",
    "    class V ScEnsembleOp",
    "    class IN,OUT,PROBLEM,RETURN Interface",
]

names = st.sampled_from(NODES)
labels = st.sampled_from(["", "", "|input|", "|problem|", "|yes|", "|else|", "|when|", "|value|", "|nope|"])
edge_lines = st.one_of(
    st.builds("    {} -->{} {}".format, names, labels, names),
    st.builds("    {} -->{} {} & {}".format, names, labels, names, names),
    st.builds("    {} ~~~ {}".format, names, names),
)
declaration_lines = st.sampled_from(
    [
        '    N5["Custom<br/>(role: other)"]',
        '    N2["Test<br/>"]',
        '    N7["Custom<br/>(role: r7, samples: 3)"]',
        '    N1["Custom<br/>(role: x, returns: Bool)"]',
        "    D1{other?}",
        "    N3:::TestOp",
        "    N6@{ op: Decision }",
        "    IN([in again])",
    ]
)


def edge_picture(edge: TypedEdge) -> object:
    return edge.flow.index, edge.source.id, edge.target.id, edge.placed, edge.case


def picture(analysis: Analysis) -> object:
    graph = analysis.typed
    if graph is None:
        return analysis.diagnostics
    shape = graph.shape
    return (
        analysis.diagnostics,
        [
            (
                node.index,
                node.id,
                repr(node.resolution),
                node.placement.edges,
                node.placement.signature,
                node.placement.findings,
                node.cases,
                [mention.range for mention in node.conflicting],
                [edge_picture(edge) for edge in node.incoming],
                [edge_picture(edge) for edge in node.outgoing],
            )
            for node in graph.nodes
        ],
        [edge_picture(edge) for edge in graph.edges],
        (shape.sources, shape.targets, shape.inputs, shape.outputs, shape.following, shape.before),
        (shape.order, shape.cycles, shape.roots, shape.sinks, shape.repeated, shape.cuts),
        [node.id for node in graph.decisions],
    )


@settings(max_examples=int(os.environ.get("MERROW_EXAMPLES", "150")), deadline=None)
@given(st.data(), st.lists(edge_lines, min_size=3, max_size=20), st.booleans())
def test_what_is_typed_again_after_an_edit_equals_what_is_typed_cold(
    data: st.DataObject, edges: list[str], objects_made: bool
) -> None:
    lines = [f"{line}\n" for line in (*DECLARATIONS, *edges)]
    analyser = Analyser("".join(lines))
    first = analyser.analysis()
    if objects_made:
        picture(first)
    for _ in range(data.draw(st.integers(1, 8))):
        # Mostly edges; seldom what a node is.
        new = f"{data.draw(st.one_of(edge_lines, edge_lines, declaration_lines))}\n"
        place = data.draw(st.integers(len(DECLARATIONS), len(lines)))
        kind = data.draw(st.sampled_from(["replace", "replace", "insert", "delete"]))
        end = place if kind == "insert" else min(place + 1, len(lines))
        put = [] if kind == "delete" else [new]
        lines[place:end] = put
        analyser.edit(TextEdit(Range(Position(place, 0), Position(end, 0)), "".join(put)))
        if data.draw(st.booleans()):
            warm = analyser.analysis()
            assert picture(warm) == picture(analyse("".join(lines)))
