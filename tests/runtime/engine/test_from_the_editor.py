"""A run from an editor uses the graph that the editor has, whatever was typed before, and gives what the text alone gives."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.analysis.test_liveness import workflows as with_decisions
from tests.runtime.engine.fakes import FakeEndpoint, answered, flowchart

import merrow_runtime
from merrow_analysis.check import Analyser, Analysis
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.text import Position, Range, TextEdit
from merrow_runtime import RunOptions, UsageFailure, Workflow, check_workflow
from merrow_runtime.store.memory import MemoryStore

TYPED = [f'TYPED{number}["Custom"]:::CustomOp' for number in range(3)]


def edited(text: str, provider: Any = None) -> Analysis:
    """The analysis of a text behind whose first node others stood that were taken away: their handles stay empty."""
    lines = text.splitlines(keepends=True)
    header = next(number for number, line in enumerate(lines) if line.startswith("flowchart")) + 1
    more = "".join(f"    {line}\n" for line in TYPED)
    analyser = Analyser("".join([*lines[: header + 1], more, *lines[header + 1 :]]), provider=provider)
    analyser.analysis()
    start, end = Position(header + 1, 0), Position(header + 1 + len(TYPED), 0)
    analyser.edit(TextEdit(Range(start, end), ""))
    return analyser.analysis()


def result_of(flow: Workflow, options: RunOptions) -> tuple[Any, ...]:
    """All that a run gives, asks and tells, and a dry run beforehand."""
    endpoint = FakeEndpoint(lambda request: answered(request, request.messages[-1].content[-20:]))
    inputs = {node.id: "x" for node in flow.graph.inputs}

    async def told() -> tuple[Any, ...]:
        run = merrow_runtime.start(flow, inputs, endpoint=endpoint, store=MemoryStore(), options=options)
        events = [(event.event, event.node) async for event in run.events()]
        result = await run.result()
        nodes = {
            name: (one.status, one.key, one.outputs, one.inputs, one.memory, one.case, one.error)
            for name, one in result.nodes.items()
        }
        return events, result.status, result.outputs, result.error, nodes

    forecast = merrow_runtime.dry_run(flow, endpoint=endpoint).to_json()
    return asyncio.run(told()), endpoint.prompts, forecast


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(with_decisions(), st.sampled_from(["none", "all"]))
def test_a_run_of_an_edited_text_is_that_of_the_text(text: str, memory: str) -> None:
    text = text.replace("flowchart", f"---\nworkflow:\n  memory: {memory}\n---\nflowchart", 1)
    try:
        cold = check_workflow(text)
    except UsageFailure:
        assume(condition=False)
        return
    analysis = edited(text)
    warm = check_workflow(text, analysis=analysis)
    assert analysis.typed is not None
    assert warm.graph.core is analysis.typed.core
    assert max(node.index for node in warm.graph.nodes) >= len(warm.graph.nodes)
    assert warm.snapshot() == cold.snapshot()
    assert result_of(warm, RunOptions(fresh=True)) == result_of(cold, RunOptions(fresh=True))


CHAIN = flowchart(
    'A["Custom<br/>(role: solver)"]:::CustomOp', 'B["Custom"]:::CustomOp', "PROBLEM --> A --> B --> RETURN"
)


def test_one_node_of_an_edited_text_runs_alone_and_from_it_on() -> None:
    flow = check_workflow(CHAIN, analysis=edited(CHAIN))
    endpoint, store = FakeEndpoint(lambda _: "said"), MemoryStore()

    async def both() -> None:
        first = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
        options = RunOptions(only="B", from_run=first.run)
        alone = await merrow_runtime.run(flow, endpoint=endpoint, store=store, options=options)
        assert alone.outputs == {"B": "said"}
        options = RunOptions(from_node="B", from_run=first.run)
        again = await merrow_runtime.run(flow, endpoint=endpoint, store=store, options=options)
        assert {name: node.status for name, node in again.nodes.items()} == {
            "PROBLEM": "finished",
            "A": "reused",
            "B": "finished",
            "RETURN": "finished",
        }

    asyncio.run(both())


class Folder:
    """A folder with one file of prompts."""

    def __init__(self) -> None:
        self.prompts = 'SOLVER = "Solve it."'

    def read(self, path: str) -> str:
        if path != "prompt.py":
            raise ResourceError(f"there is no {path}")
        return self.prompts

    def exists(self, path: str) -> bool:
        return path == "prompt.py"


@pytest.mark.parametrize("changed", [False, True])
def test_files_that_say_something_else_by_now_are_read_again(changed: bool) -> None:
    folder = Folder()
    analysis = edited(CHAIN, folder)
    assert analysis.typed is not None
    if changed:
        folder.prompts = 'SOLVER = "Think first."'
    flow = check_workflow(CHAIN, provider=folder, analysis=analysis)
    assert (flow.graph.core is analysis.typed.core) is not changed
    endpoint = FakeEndpoint()
    asyncio.run(merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore()))
    assert endpoint.prompts[0] == ("Think first." if changed else "Solve it.")
    assert flow.files["prompt.py"] == {"text": folder.prompts}


def test_the_run_has_a_view_of_the_graph_for_itself() -> None:
    analysis = edited(CHAIN)
    flow = check_workflow(CHAIN, analysis=analysis)
    assert analysis.typed is not None
    assert flow.graph.by_id["A"] is not analysis.typed.by_id["A"]
    assert flow.graph.flow.nodes["A"] is not analysis.flow.nodes["A"]


def test_an_edited_text_with_an_error_is_not_run() -> None:
    text = CHAIN.replace("--> B -->", "-->")
    with pytest.raises(UsageFailure, match="is not run"):
        check_workflow(text + "    A --> PROBLEM\n", analysis=edited(text + "    A --> PROBLEM\n"))
