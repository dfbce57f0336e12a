"""The property of the language, by running: no node of a workflow without errors ever meets a missing or ill-typed value.

Valid workflows are made up, and run on a fake endpoint with every outcome of every Decision.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from itertools import islice, product

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.analysis.test_liveness import workflows as with_decisions
from tests.runtime.engine.fakes import FakeEndpoint, answered
from tests.workflows import workflows as of_all_operators

import merrow_runtime
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime import RunOptions, RunResult, UsageFailure, Workflow, check_workflow
from merrow_runtime.operators.formats.shapes import is_of, shape_of
from merrow_runtime.program.definitions import meanings_of
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore

EXAMPLES = 15
MOST_OUTCOMES = 40
_MARK = re.compile(r"this is node (\w+)")


def valid(text: str) -> Workflow:
    """The workflow, each of its nodes telling its id in its prompt; examples with errors are passed over."""
    try:
        flow = check_workflow(text)
        marks = [f'    {node.id}@{{ prompt: "this is node {node.id}" }}' for node in flow.graph.nodes if node.spec]
        return check_workflow(text.rstrip("\n") + "\n" + "\n".join(marks) + "\n")
    except UsageFailure:
        assume(condition=False)
        raise


def deciding(flow: Workflow) -> list[TypedNode]:
    """The nodes whose answers, or inputs whose values, a Decision goes by."""
    found: dict[str, TypedNode] = {}
    pending = [edge.source for node in flow.graph.decisions for edge in node.incoming]
    while pending:
        node = pending.pop()
        if node.kind == "decision":
            pending += [edge.source for edge in node.incoming]
        else:
            found[node.id] = node
    return list(found.values())


def outcomes(flow: Workflow) -> Iterator[dict[str, tuple[str, bool]]]:
    """What the deciding nodes may say: each word of a case, another one; yes and no."""
    labels = {label for node in flow.graph.decisions if node.cases for label in node.cases.labels}
    texts = [*sorted(labels), "something else"]
    nodes = deciding(flow)
    said = [[(text, True) for text in texts] + [(texts[-1], False)] for _ in nodes]
    for choice in islice(product(*said), MOST_OUTCOMES):
        yield {node.id: one for node, one in zip(nodes, choice, strict=True)}


def ran(flow: Workflow, says: Mapping[str, tuple[str, bool]]) -> RunResult:
    def answer(request: ModelRequest) -> str:
        mark = _MARK.search(request.messages[0].content)
        text, verdict = says.get(mark[1] if mark else "", ("fine", True))
        return answered(request, text, verdict)

    inputs = {node.id: says.get(node.id, ("x", True))[0] for node in flow.graph.inputs}
    run = merrow_runtime.run(
        flow, inputs, endpoint=FakeEndpoint(answer), store=MemoryStore(), options=RunOptions(fresh=True)
    )
    return asyncio.run(run)


def check(flow: Workflow, result: RunResult) -> None:
    """All that arrived anywhere was there, and of its port's type."""
    assert result.status == "finished", result.error
    graph = flow.graph
    assert set(result.outputs) == {node.id for node in graph.outputs}
    for name, record in result.nodes.items():
        if record.status != "finished":
            assert record.status == "skipped"
            continue
        node = graph.by_id[name]
        ports = {port.name: port for port in node.input_ports}
        arrived = record.inputs or {}
        for port in node.placement.required:
            assert arrived.get(port), f"nothing arrived at {port} of {name}"
        for port, references in arrived.items():
            spec = ports[port]
            assert spec.many or len(references) == 1, f"{len(references)} values arrived at {port} of {name}"
            for reference in references:
                giver = result.nodes[reference["node"]]
                assert giver.status == "finished"
                assert giver.outputs is not None
                wanted = spec.item if spec.many else spec.type
                if len(wanted) > 1 and wanted != "Any":
                    value = giver.outputs[reference["output"]]
                    values = value if spec.many and isinstance(value, list) else [value]
                    shape = shape_of(wanted, *meanings_of([wanted], graph.types))
                    assert all(is_of(one, shape) for one in values), (name, port, value)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(with_decisions())
def test_with_every_outcome_of_every_decision(text: str) -> None:
    flow = valid(text)
    ways: set[frozenset[str]] = set()
    for says in outcomes(flow):
        result = ran(flow, says)
        check(flow, result)
        ways.add(frozenset(name for name, record in result.nodes.items() if record.status == "finished"))
    event(f"{len(flow.graph.decisions)} Decisions, {len(ways)} ways")


@settings(max_examples=max(EXAMPLES // 6, 5), deadline=None, suppress_health_check=list(HealthCheck))
@given(of_all_operators(), st.booleans())
def test_with_all_operators(text: str, verdict: bool) -> None:
    flow = valid(text)
    code = "```python\ndef solve():\n    return 1\n```" if verdict else "```python\nraise ValueError\n```"
    says = {node.id: (code, verdict) for node in flow.graph.nodes}
    result = ran(flow, says)
    if result.status == "finished":
        check(flow, result)
    else:
        # Without a test in its problem, or without an answer of its program, an operator gives up in a sentence.
        assert result.error is not None
        assert "arrived" not in result.error
        assert "internal" not in result.error
