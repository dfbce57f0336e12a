"""Edits of edges and declarations in any graph, cyclic ones too: what is typed again equals what is typed cold."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.decision_workflows import decision_workflows

from merrow_analysis.check import Analyser, Analysis, analyse
from merrow_analysis.graph.bare.conditions import ALWAYS, NEVER
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
    shape, marks = graph.shape, graph.marks

    def ids(handles: Iterable[int]) -> list[str]:
        return [graph.node(handle).id for handle in handles]

    return (
        analysis.diagnostics,
        [
            (
                node.id,
                repr(node.resolution),
                node.placement.edges,
                node.placement.signature,
                node.placement.findings,
                node.cases,
                [mention.range for mention in node.conflicting],
                [edge_picture(edge) for edge in node.incoming],
                [edge_picture(edge) for edge in node.outgoing],
                ids(shape.following[node.index]),
                ids(shape.before[node.index]),
            )
            for node in graph.nodes
        ],
        [edge_picture(edge) for edge in graph.edges],
        (
            ids(shape.inputs),
            ids(shape.outputs),
            ids(shape.order),
            [ids(cycle) for cycle in shape.cycles],
            ids(shape.cuts),
        ),
        [set(ids(nodes)) for nodes in (shape.roots, shape.sinks, shape.repeated, shape.wide, shape.wrong)],
        [set(ids(nodes)) for nodes in (marks.found, marks.problems, marks.gathering, marks.decisions, marks.conflicts)],
        [node.id for node in graph.decisions],
        [(node.id, graph.combinations.runs(node) in (NEVER, ALWAYS)) for node in graph.nodes],
        graph.combinations.undecided is None,
    )


def check_same(warm: Analysis, cold: Analysis) -> None:
    """Assert that two analyses say the same, without a comparison of everything in words, which takes minutes."""
    said = [[(found.code, found.range, found.message) for found in one.diagnostics] for one in (warm, cold)]
    assert [one for one in said[0] if one not in said[1]] == []
    assert [one for one in said[1] if one not in said[0]] == []
    same = picture(warm) == picture(cold)
    assert same, "the same findings, but another graph"


@settings(max_examples=10)
@given(st.data(), st.lists(edge_lines, min_size=3, max_size=20), st.booleans())
@pytest.mark.thinned(16, "typed as if read cold")
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
            check_same(warm, analyse("".join(lines)))


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(st.data(), decision_workflows(), st.booleans())
def test_edges_of_several_decisions_are_typed_again_as_they_are_typed_cold(
    data: st.DataObject, text: str, objects_made: bool
) -> None:
    lines = text.splitlines(keepends=True)
    edges = [number for number, line in enumerate(lines) if "-->" in line]
    analyser = Analyser(text)
    first = analyser.analysis()
    if objects_made:
        picture(first)
    for _ in range(data.draw(st.integers(1, 6))):
        # Mostly the label or the target changes; the nodes and the number of lines do not, so that most is kept.
        place, other = data.draw(st.sampled_from(edges)), data.draw(st.sampled_from(edges))
        (source, arrow, target), (_, arrow_there, target_there) = lines[place].split(), lines[other].split()
        kind = data.draw(st.sampled_from(["label", "target", "both", "nothing"]))
        new = {
            "label": f"{source} {arrow_there} {target}",
            "target": f"{source} {arrow} {target_there}",
            "both": f"{source} {arrow_there} {target_there}",
            "nothing": "%% no edge",
        }[kind]
        analyser.edit(TextEdit(Range(Position(place, 0), Position(place + 1, 0)), f"{new}\n"))
        edited = [*lines[:place], f"{new}\n", *lines[place + 1 :]]
        check_same(analyser.analysis(), analyse("".join(edited)))
        if kind == "nothing":
            # Put the edge back: what was said without it must not stay.
            analyser.edit(TextEdit(Range(Position(place, 0), Position(place + 1, 0)), lines[place]))
        else:
            lines = edited
        check_same(analyser.analysis(), analyse("".join(lines)))


typed_lines = st.one_of(
    edge_lines,
    declaration_lines,
    st.sampled_from(
        [
            "    NEW --> N1",
            "    N3 --> NEW2 --> N7",
            "    N6 --> |x| UNKNOWN & N2",
            "    class NEW CustomOp",
            "    class N5,NEW,D2 DecisionOp",
            "    classDef TestOp fill:#eee",
            "    NEW[Test]:::CustomOp --> RETURN",
            "    %% merrow: ignore[MW102]",
            "    N1 -->",
            "    N5 --",
            "",
            "    subgraph G",
            "    end",
            "    D1 -- yes --> NEW",
            "    linkStyle 0 stroke:#f00",
            "    N5@{ op: Custom, prompt: p }",
        ]
    ),
)


@settings(max_examples=4)
@given(st.data(), st.lists(edge_lines, min_size=3, max_size=14))
@pytest.mark.thinned(16, "typed as if read cold")
def test_lines_typed_character_by_character_are_analysed_as_if_read_cold(data: st.DataObject, edges: list[str]) -> None:
    """Ids are born and go while they are typed, statements break and hold, lines come and go. Every version stays true."""
    lines = [f"{line}\n" for line in (*DECLARATIONS, *edges)]
    analyser = Analyser("".join(lines))
    versions = [("".join(lines), analyser.analysis())]
    for _ in range(data.draw(st.integers(1, 3))):
        new = data.draw(typed_lines)
        place = data.draw(st.integers(1, len(lines)))
        if data.draw(st.booleans()) and place < len(lines):
            # The line that is there is taken away from its end, and the new one typed in its place.
            old = lines[place].rstrip("\n")
            states = [old[:end] for end in range(len(old), -1, -1)] + [new[:end] for end in range(1, len(new) + 1)]
        else:
            lines.insert(place, "\n")
            analyser.edit(TextEdit(Range(Position(place, 0), Position(place, 0)), "\n"))
            states = [new[:end] for end in range(len(new) + 1)]
        step = data.draw(st.integers(1, 4))
        for state in (*states[::step], states[-1]):
            before = len(lines[place].rstrip("\n"))
            analyser.edit(TextEdit(Range(Position(place, 0), Position(place, before)), state))
            lines[place] = f"{state}\n"
            if data.draw(st.integers(0, 3)) == 0:
                versions.append(("".join(lines), analyser.analysis()))
                if data.draw(st.booleans()):
                    check_same(versions[-1][1], analyse(versions[-1][0]))
    for text, analysis in versions:
        check_same(analysis, analyse(text))


def test_a_case_edge_that_stays_follows_its_case_to_another_number() -> None:
    """Two edges out of a Decision change places, so that its cases are numbered the other way round."""
    first, second = '    D -->|yes| A["Custom<br/>(role: a)"]\n', '    D -->|no| B["Custom<br/>(role: b)"]\n'
    head = (
        'flowchart TD\n    PROBLEM([p]):::Interface --> R["Review<br/>"]\n    PROBLEM -->|solution| R\n'
        "    R -->|result:when| D{ok?}:::DecisionOp\n"
    )
    tail = (
        '    D -->|yes| C["Custom<br/>(role: c)"]\n    PROBLEM -->|input| A & B & C\n'
        "    A & B & C --> RETURN([r]):::Interface\n"
    )
    analyser = Analyser(head + first + second + tail)
    check_same(analyser.analysis(), analyse(head + first + second + tail))
    analyser.edit(TextEdit(Range(Position(4, 0), Position(6, 0)), second + first))
    warm, cold = analyser.analysis(), analyse(head + second + first + tail)
    check_same(warm, cold)
    for graph in (warm.typed, cold.typed):
        assert graph is not None
        runs = {name: graph.combinations.runs(graph.by_id[name]) for name in "ABC"}
        assert runs["A"] == runs["C"] != runs["B"]


def test_what_was_worked_out_on_a_cycle_does_not_outlive_it() -> None:
    text = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Return]):::Interface
    A@{ op: Custom, role: rate, returns: Number }
    D@{ op: Decision, if: "score > 3" }
    B["Custom<br/>(role: one)"]:::CustomOp
    C["Custom<br/>(role: two)"]:::CustomOp
    PROBLEM -->|input| A & B & C
    A -->|score| D
    D -- yes --> B
    D -- no --> C
    B --> RETURN
    C --> RETURN
"""
    first = Position(3, 0)
    # `B` is then looked at before `A`, and `A` before `D`, which `B` waits for.
    analyser = Analyser(text.replace("    A@{", "    B --> A\n    A@{"))
    analyser.analysis()
    analyser.edit(TextEdit(Range(first, Position(4, 0)), ""))
    check_same(analyser.analysis(), analyse(text))
