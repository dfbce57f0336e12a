"""In whatever order answers come, nodes remember and give the same; and a dry run's bounds hold for what is really asked."""

from __future__ import annotations

import asyncio
import hashlib
import random
from itertools import islice

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.test_liveness import workflows as with_decisions
from tests.runtime.engine.fakes import FakeEndpoint, answered
from tests.runtime.engine.test_no_missing_value import EXAMPLES, outcomes, valid
from tests.workflows import workflows as of_all_operators

import merrow_runtime
from merrow_analysis.graph.remembering import remembered
from merrow_runtime import RunOptions, RunResult, Workflow, check_workflow
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.forecast_figures import Bounds
from merrow_runtime.store.memory import MemoryStore

MEMORIES = ("none", "all", "agent", "summary", "\n        last: 1", "\n        last: 2", "\n        tokens: 30")
Says = dict[str, tuple[str, bool]]
flows = st.one_of(with_decisions(), of_all_operators())


@st.composite
def remembering(draw: st.DrawFn) -> Workflow:
    """A valid workflow whose nodes remember what is before them, none of which shares its calls."""
    flow = valid(draw(flows))
    lines = []
    for node in flow.graph.nodes:
        if node.spec is not None:
            memory = draw(st.sampled_from(MEMORIES))
            lines.append(f"    {node.id}@{{\n      temperature: 0.5\n      memory: {memory}\n    }}")
    return check_workflow(flow.text.rstrip("\n") + "\n" + "\n".join(lines) + "\n")


def asked_of(request: ModelRequest, says: Says) -> str:
    """An answer that is the same for the same question, and another one for another."""
    mark = request.messages[0].content.partition("this is node ")[2].split()
    told = says.get(mark[0]) if mark else None
    if told is None:
        digest = hashlib.sha256("".join(message.content for message in request.messages).encode()).hexdigest()
        told = f"answer {digest[:8]}", True
    return answered(request, *told)


async def ran(flow: Workflow, says: Says, seed: int) -> tuple[RunResult, FakeEndpoint]:
    """A run with answers that come in an order of their own for each seed."""
    shuffled = random.Random(seed)

    async def answer(request: ModelRequest) -> str:
        for _ in range(shuffled.randrange(12)):
            await asyncio.sleep(0)
        return asked_of(request, says)

    endpoint = FakeEndpoint(answer)
    inputs = {node.id: says.get(node.id, ("x", True))[0] for node in flow.graph.inputs}
    result = await merrow_runtime.run(
        flow, inputs, endpoint=endpoint, store=MemoryStore(), options=RunOptions(fresh=True)
    )
    return result, endpoint


@settings(max_examples=max(EXAMPLES // 3, 5), deadline=None, suppress_health_check=list(HealthCheck))
@given(remembering(), st.integers(0, 1000))
def test_what_nodes_remember_and_give_does_not_hang_on_the_order_of_answers(flow: Workflow, seed: int) -> None:
    for says in islice(outcomes(flow), 3):
        first, _ = asyncio.run(ran(flow, says, seed))
        second, _ = asyncio.run(ran(flow, says, seed + 1))
        assert first.status == second.status
        if first.status == "finished":
            assert first.outputs == second.outputs
            shown = [
                {
                    name: (node.status, node.key, node.outputs, node.memory, node.case)
                    for name, node in result.nodes.items()
                }
                for result in (first, second)
            ]
            assert shown[0] == shown[1]


@settings(max_examples=max(EXAMPLES // 3, 5), deadline=None, suppress_health_check=list(HealthCheck))
@given(remembering())
def test_a_run_remembers_what_an_editor_said_before_it(flow: Workflow) -> None:
    """Nothing else, in the order that was said; all of it, where no Decision keeps a node from running."""
    graph = flow.graph
    for says in islice(outcomes(flow), 4):
        result, _ = asyncio.run(ran(flow, says, 0))
        for name, node in result.nodes.items() if result.status == "finished" else ():
            memory, givers = remembered(graph, graph.by_id[name], flow.analysis.settings)
            shown = [entry["node"] for entry in node.memory]
            if memory.kind == "summary":
                assert bool(shown) <= bool(givers)
                continue
            said = [giver.id for giver in givers]
            assert shown == [one for one in said if one in shown]
            if not graph.decisions and memory.kind != "tokens" and node.status == "finished":
                assert shown == said


@settings(max_examples=max(EXAMPLES // 3, 5), deadline=None, suppress_health_check=list(HealthCheck))
@given(remembering())
def test_a_dry_runs_bounds_hold_for_the_calls_that_are_made(flow: Workflow) -> None:
    plan = merrow_runtime.dry_run(flow, endpoint=FakeEndpoint())
    for says in islice(outcomes(flow), 8):
        result, endpoint = asyncio.run(ran(flow, says, 0))
        if result.status != "finished":
            continue
        most = plan.calls.most
        assert most is not None
        assert plan.calls.least <= len(endpoint.seen) <= most
        order = [node.node for node in plan.nodes]
        assert set(order) <= set(result.nodes)


def test_a_summary_that_one_case_leaves_without_anything_to_sum_up_is_no_sure_call() -> None:
    flow = check_workflow(
        "flowchart TD\n"
        "  PROBLEM([Problem]):::Interface --> D{D}:::DecisionOp\n"
        "  RETURN([Return]):::Interface\n"
        '  A@{ op: Custom, prompt: "a" }\n'
        '  B@{ op: Custom, prompt: "b" }\n'
        '  FIN@{ op: Custom, prompt: "fin", memory: summary }\n'
        "  D -->|a| A --> B --> FIN --> RETURN\n"
        "  PROBLEM -->|input| A\n"
        "  PROBLEM -->|input| FIN\n"
        "  D -->|else| FIN\n"
        "  classDef DecisionOp fill:#eee\n"
        "  classDef Interface fill:#eee\n"
    )

    assert merrow_runtime.dry_run(flow, endpoint=FakeEndpoint()).calls == Bounds(1, 4)
