"""A change of a drawing leads to the graph that its text then has: implied Loops, ends and cases follow from all of it."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.analysis.test_edits import written
from tests.plain.drawings import knotted_drawings

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.edits.change import GraphChange, WantedEdge, as_it_is
from merrow_analysis.edits.delta import graph_after
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.text import apply_edits

SELF_REPEATING_START = "flowchart TD\nN0 --> N0\nN5[Review]\nN0(Start)\nN0 --> N7[Summarise]\nN1[x]:::CustomOp --> N7\n"


def picture(graph: TypedGraph) -> object:
    """Nodes, edges and Loops, of the end as of the drawing."""
    return (
        {
            node.id: (
                node.kind,
                node.operator,
                node.implied,
                [(edge.source.id, edge.case, edge.word, edge.implied, edge.placed) for edge in node.incoming],
            )
            for node in graph.nodes
        },
        {box.id: (box.kind, box.parent, box.implied, set(box.nodes)) for box in graph.composites},
        [(edge.source.id, edge.target.id) for edge in graph.again],
    )


def named(graph: TypedGraph) -> list[tuple[str, list[str]]]:
    """The nodes in their order, with their classes."""
    return [(name, [one.name.text for one in graph.flow.nodes[name].classes]) for name in graph.flow.chart.nodes]


@st.composite
def edge_changes(draw: st.DrawFn, graph: TypedGraph) -> GraphChange:
    """Some edges gone, some led elsewhere, new ones between any nodes, back and to the same node too."""
    names = st.sampled_from(list(graph.flow.chart.nodes))
    links = st.builds(
        WantedEdge, names, names, st.sampled_from([None, None, "yes", "no", "input", "again"]), st.just(False)
    )
    edges: dict[int, tuple[WantedEdge, ...]] = {}
    for edge in graph.flow.edges[: len(graph.flow.chart.edges)]:
        if draw(st.integers(0, 2)) == 0:
            stays = (as_it_is(edge),) if draw(st.booleans()) else ()
            edges[edge.index] = (*stays, *draw(st.lists(links, max_size=2)))
    return GraphChange(edges=edges)


def test_a_changed_drawing_is_what_its_text_says() -> None:
    counted = Counter[str]()

    @settings(suppress_health_check=list(HealthCheck), max_examples=38)
    @given(knotted_drawings(), st.data())
    def check(text: str, data: st.DataObject) -> None:
        analysis = analyse(text, as_workflow=True)
        assume(analysis.typed is not None and analysis.typed.flow.chart.edges)
        assert analysis.typed is not None
        change = data.draw(edge_changes(analysis.typed))
        after = graph_after(change, analysis.typed)
        done = written(analysis, change)
        counted["written" if done else "refused"] += 1
        if done is None:
            return
        counted["Loops before"] += bool(analysis.typed.composites)
        counted["Loops after"] += bool(after.composites)
        read = analyse(done[0], as_workflow=True)
        again = read.typed
        assert again is not None, done[0]
        said = [one.message for one in read.diagnostics]
        assert not any(re.search(r"\bLOOP\d*\b", message) for message in said), (
            said
        )  # What is not in the text has no name.
        if data.draw(st.integers(0, 4)) == 0:
            assert all(apply_edits(done[0], fix.edits) != done[0] for one in read.diagnostics for fix in one.fixes)
        if named(again) != named(after):
            # A node that nothing but an edge names goes with the edge, or is first named behind what gives it a class.
            return
        counted["compared"] += 1
        assert picture(after) == picture(again), f"{change}\n{text}\n{done[0]}"

    check()
    assert counted["compared"] > counted["refused"], counted
    assert min(counted["Loops before"], counted["Loops after"]) > 0, counted


def test_the_fixes_of_a_start_that_repeats_itself_are_found() -> None:
    """Where a fix leads was read as if the Loop around such a step were written: an input in a Loop that is nowhere."""
    codes = {one.code: [fix.title for fix in one.fixes] for one in analyse(SELF_REPEATING_START).diagnostics}
    assert codes.pop("MW313") == ["Write the operators out"]
    assert "MW120" not in codes


def test_a_step_in_turns_that_leads_to_the_input_has_one_finding() -> None:
    """Only the arrow into the input is reported, not a path that leaves the implied Loop and comes back through the input."""
    text = "flowchart TD\nN0[Plan] --> N0\nN0 --> N1[Write]\nN1 --> PROBLEM\n"
    errors = [one for one in analyse(text, as_workflow=True).diagnostics if one.severity is Severity.ERROR]
    assert [(one.code, [fix.title for fix in one.fixes]) for one in errors] == [
        ("MW112", ["Turn the edge round: PROBLEM → N1", "Remove the edge N1 → PROBLEM"])
    ]


def test_a_loop_without_a_name_is_called_by_its_steps() -> None:
    text = (
        "flowchart TD\nN0[Plan] --> N2[Check] --> N0\nN2 --> N2\n"
        'N1["Custom<br/>(role: one)"]\nN0 --> N1\nN2 -->|again| N1\n'
    )
    (found,) = (one for one in analyse(text).diagnostics if one.code == "MW118")
    assert found.message == (
        "`again` brings a value to the next turn of a Loop, but N1 lies outside of the Loop that arrows back make of N0 and N2; "
        "remove `again`."
    )
    assert [fix.title for fix in found.fixes] == ["Remove again", "Remove the edge N2 → N1"]
