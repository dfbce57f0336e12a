"""Whose results all the steps of a workflow remember, asked for at once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.composites import composite_workflows
from tests.workflows import workflows

from merrow_analysis.check import analyse
from merrow_analysis.definitions.settings import Memory
from merrow_analysis.graph.remembering import readers, remembered


@given(
    st.one_of(workflows(), composite_workflows()), st.sampled_from([Memory("all"), Memory("agent"), Memory("last", 2)])
)
@settings(max_examples=60)
def test_all_at_once_are_as_one_after_another(text: str, memory: Memory) -> None:
    analysis = analyse(text)
    typed, chosen = analysis.typed, replace(analysis.settings, memory=memory)
    assert typed is not None
    singly = {node.id: [source.id for source in remembered(typed, node, chosen)[1]] for node in typed.nodes}
    assert readers(typed, chosen) == {name: sources for name, sources in singly.items() if sources}
    assert not any(name in sources for name, sources in singly.items())


def test_a_workflow_with_too_many_is_not_listed_in_part() -> None:
    steps = " --> ".join(f"S{number}[Do {number}]" for number in range(60))
    analysis = analyse(f"flowchart LR\n    {steps}\n", as_workflow=True)
    typed = analysis.typed
    assert typed is not None
    every = readers(typed, analysis.settings)
    assert sum(map(len, every.values())) > 1000
    assert readers(typed, analysis.settings, 1000) == {}
