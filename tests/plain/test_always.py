"""What always holds of drawings: warm equals cold, valid ones run whatever is chosen, writing out keeps the meaning."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.plain.drawings import drawings, drawn_lines, mixed_drawings, returning_drawings, whole_drawings
from tests.plain.meanings import codes, meaning
from tests.runtime.engine.fakes import FakeEndpoint
from tests.sizes import ALL

import merrow_runtime
from merrow_analysis.check import Analyser, Analysis, analyse
from merrow_analysis.diagnostics import without_fixes
from merrow_analysis.graph.infer import infer
from merrow_analysis.graph.records import Delta, Splice
from merrow_analysis.syntax.tree import Label
from merrow_analysis.text import Position, Range, TextEdit, apply_edits
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import check_workflow


def graph_picture(analysis: Analysis) -> object:
    """What a text means, apart from handles."""
    graph = analysis.typed
    if graph is None:
        return None
    return (
        [
            (
                node.id,
                node.kind,
                node.operator,
                node.implied,
                node.resolution.plain,
                node.resolution.ask,
                node.placement.decided_by,
                None if node.cases is None else node.cases.labels,
                [(edge.source.id, edge.feeds, edge.case, edge.flow.range) for edge in node.incoming],
                node.outputs,
            )
            for node in graph.nodes
        ],
        [node.id for node in graph.inputs],
        [node.id for node in graph.outputs],
        [graph.node(handle).id for handle in graph.order],
    )


@settings(max_examples=20, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data(), drawings(), st.booleans())
def test_an_edited_drawing_is_analysed_as_if_read_cold(data: st.DataObject, start: str, as_workflow: bool) -> None:
    check_edits(data, start, as_workflow)


@settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data(), mixed_drawings())
def test_plain_steps_between_written_ends_are_analysed_as_if_read_cold(data: st.DataObject, start: str) -> None:
    check_edits(data, start, False)


def check_edits(data: st.DataObject, start: str, as_workflow: bool) -> None:
    """Edit a text at random, line by line and letter by letter; after each edit, compare with the text read cold.

    Fixes, which take most of the time, are compared after the last edit, and in `make test-all` after each.
    """
    analyser = Analyser(start, as_workflow=as_workflow)
    analyser.analysis()
    text = start
    for edits_to_come in reversed(range(6)):
        lines = text.splitlines(keepends=True)
        line = data.draw(st.integers(1, len(lines)))
        if line < len(lines) and data.draw(st.integers(0, 2)) == 0:
            column = data.draw(st.integers(0, len(lines[line]) - 1))
            piece = data.draw(st.sampled_from(["x", "Y", " ", ""]))
            end = Position(line, min(column + 1, len(lines[line]) - 1))
            edit = TextEdit(Range(Position(line, column), end), piece)
        else:
            after = line if data.draw(st.booleans()) else min(line + 1, len(lines))
            new = data.draw(st.one_of(st.just(""), drawn_lines(), drawn_lines()))
            edit = TextEdit(Range(Position(line, 0), Position(after, 0)), new)
        text = apply_edits(text, [edit])
        analyser.edit(edit)
        warm, cold = analyser.analysis(), analyse(text, as_workflow=as_workflow)
        assert graph_picture(warm) == graph_picture(cold), text
        assert without_fixes(warm.diagnostics) == without_fixes(cold.diagnostics), text
        if edits_to_come == 0 or ALL:
            assert warm.diagnostics == cold.diagnostics, text


@settings(max_examples=20, suppress_health_check=list(HealthCheck), deadline=None)
@given(whole_drawings() | returning_drawings(), st.integers(0, 1000))
def test_a_drawing_without_errors_runs_whatever_is_chosen(text: str, seed: int) -> None:
    analysis = analyse(text, as_workflow=True)
    assume(analysis.is_valid and analysis.typed is not None)
    chance = random.Random(seed)

    def answer(request: ModelRequest) -> str:
        if request.schema is None:
            return "said"
        properties = request.schema.schema["properties"]
        if "choice" in properties:
            return json.dumps({"choice": chance.choice(properties["choice"]["enum"])}, ensure_ascii=False)
        return json.dumps({"feedback": "Good.", "accepted": chance.random() < 0.5})

    flow = check_workflow(text)
    inputs = {node.id: "given" for node in flow.graph.inputs}
    result = asyncio.run(merrow_runtime.run(flow, inputs, endpoint=FakeEndpoint(answer), store=MemoryStore()))
    assert result.status == "finished", f"{result.error}\n{text}"
    assert any(value is not None for value in result.outputs.values()), text
    event("with a choice" if any(node.asks for node in flow.graph.decisions) else "without")


def test_most_drawings_are_valid_and_many_have_a_choice() -> None:
    """The property before this one is about something."""
    seen: list[tuple[bool, bool]] = []

    @settings(max_examples=120, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(whole_drawings())
    def look(text: str) -> None:
        analysis = analyse(text, as_workflow=True)
        graph = analysis.typed
        seen.append((analysis.is_valid, graph is not None and any(node.asks for node in graph.decisions)))

    look()
    assert len([1 for valid, _ in seen if valid]) >= len(seen) // 2
    assert len([1 for valid, asks in seen if valid and asks]) >= len(seen) // 20


@settings(max_examples=20, suppress_health_check=list(HealthCheck), deadline=None)
@given(whole_drawings() | returning_drawings())
def test_what_is_written_out_means_the_same(text: str) -> None:
    before = analyse(text, as_workflow=True)
    fixes = [fix for found in before.diagnostics if found.code == "MW313" for fix in found.fixes]
    assume(fixes and before.is_valid)
    written = apply_edits(text, fixes[0].edits)
    after = analyse(written)
    assert after.is_workflow, written
    assert meaning(after) == meaning(before), written
    said = [code for code in codes(before) if code not in ("MW123", "MW106")]
    assert [code for code in codes(after) if code not in ("MW123", "MW106")] == said, written


def test_a_delta_of_one_edge_makes_a_box_a_diamond_that_asks() -> None:
    """The label of an edge alone differs, and the records of both its nodes stay."""
    text = (
        "flowchart TD\n    PROBLEM([Problem]):::Interface --> A{Good?}\n    A --> B[Keep] --> RETURN([Answer]):::Interface\n"
        "    classDef Interface fill:#eee\n"
    )
    graph = analyse(text).typed
    assert graph is not None
    core = graph.core
    number = next(number for number, edge in enumerate(core.chart.edges) if edge.source == "A")
    edge = core.chart.edges[number]
    labelled = replace(edge, arrow=replace(edge.arrow, label=Label("yes", "text", (0, 0))))
    after = infer(core, Delta(edges=[Splice(number, 1, [labelled])]))
    handle = after.handles["A"]
    assert (core.resolutions[handle].kind, after.resolutions[handle].kind) == ("operator", "decision")
    assert after.placements[handle].decided_by == "model"
