"""Results of an earlier run are found by what was done, whatever nodes are called now, and each is taken once."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.runtime.engine.fakes import FakeEndpoint, workflow

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, Workflow
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.provenance import ForeignResults, Source
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.executions import Executions
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.visit import Visit


def chain(*names: str, prompts: tuple[str, ...] = ("one", "two", "three")) -> Workflow:
    nodes = [f'{name}@{{op: Custom, prompt: "{prompt}"}}' for name, prompt in zip(names, prompts, strict=True)]
    return workflow(*nodes, f"PROBLEM --> {' --> '.join(names)} --> RETURN")


def voters(*names: str, last: str = "last") -> Workflow:
    """Nodes that ask the same, whose answers differ, and a last one that is given them all."""
    nodes = [f'{name}@{{op: Custom, prompt: "vote", temperature: 1.0}}' for name in names]
    edges = [f"PROBLEM --> {name} --> LAST" for name in names]
    return workflow(*nodes, f'LAST@{{op: Custom, prompt: "{last}"}}', *edges, "LAST --> RETURN")


def numbered(fails_at: str = "") -> FakeEndpoint:
    """An endpoint no two of whose answers are equal."""
    numbers = count(1)

    def answer(request: ModelRequest) -> str | Exception:
        said = request.messages[0].content
        fails = fails_at and any(fails_at in message.content for message in request.messages)
        return EndpointFailure("out of order") if fails else f"{said} {next(numbers)}"

    return FakeEndpoint(answer)


async def run(flow: Workflow, store: Store, endpoint: FakeEndpoint, earlier: RunResult | None = None) -> RunResult:
    options = RunOptions(fresh=True, from_run=None if earlier is None else earlier.run)
    inputs = {"problem": "x"} if earlier is None else None
    return await merrow_runtime.run(flow, inputs, endpoint=endpoint, store=store, options=options)


def reused(result: RunResult) -> set[str]:
    return {name for name, node in result.nodes.items() if node.status == "reused"}


async def test_a_node_that_was_renamed_is_reused_with_all_that_follows() -> None:
    store, endpoint = MemoryStore(), numbered()
    first = await run(chain("A", "B", "C"), store, endpoint)
    again = await run(chain("A", "DRAFT", "C"), store, endpoint, first)
    assert reused(again) == {"A", "DRAFT", "C"}
    assert (again.outputs, len(endpoint.seen)) == (first.outputs, 3)
    assert again.nodes["DRAFT"].outputs == first.nodes["B"].outputs
    assert again.nodes["DRAFT"].inputs == {"input": [{"node": "A", "output": "response", "type": "Text"}]}
    third = await run(chain("X", "Y", "Z"), store, endpoint, again)
    assert (reused(third), len(endpoint.seen)) == ({"X", "Y", "Z"}, 3)


async def test_names_that_were_exchanged_change_nothing() -> None:
    store, endpoint = MemoryStore(), numbered()
    first = await run(chain("A", "B", "C"), store, endpoint)
    again = await run(chain("C", "B", "A"), store, endpoint, first)
    assert reused(again) == {"A", "B", "C"}
    assert again.nodes["C"].outputs == first.nodes["A"].outputs
    assert again.outputs == first.outputs


async def test_a_renamed_input_is_another_one_for_it_stands_in_the_prompt() -> None:
    """Its id is what people and models read."""
    store, endpoint = MemoryStore(), numbered()
    lines = ('A@{op: Custom, prompt: "a"}', "TOPIC([Topic]):::Interface", "TOPIC --> A --> RETURN", "PROBLEM --> A")
    flow = workflow(*lines)
    first = await merrow_runtime.run(flow, {"problem": "x", "topic": "y"}, endpoint=endpoint, store=store)
    renamed = workflow(*(line.replace("TOPIC", "THEME") for line in lines))
    again = await merrow_runtime.run(
        renamed, {"theme": "y"}, endpoint=endpoint, store=store, options=RunOptions(from_run=first.run)
    )
    assert (again.status, reused(again)) == ("finished", set())


async def test_equal_nodes_keep_their_own_results_and_renamed_ones_take_theirs_in_order() -> None:
    store, endpoint = MemoryStore(), numbered()
    first = await run(voters("V1", "V2", "V3"), store, endpoint)
    votes = [first.nodes[name].outputs for name in ("V1", "V2", "V3")]
    assert len({str(vote) for vote in votes}) == 3
    same = await run(voters("V1", "V2", "V3"), store, endpoint, first)
    assert [same.nodes[name].outputs for name in ("V1", "V2", "V3")] == votes
    one = await run(voters("V1", "NEW", "V3"), store, endpoint, first)
    assert [one.nodes[name].outputs for name in ("V1", "NEW", "V3")] == votes
    # The new one is first in the graph and asks first: what is the others' own stays theirs.
    moved = await run(voters("NEW", "V3", "V1"), store, endpoint, first)
    assert [moved.nodes[name].outputs for name in ("NEW", "V3", "V1")] == [votes[1], votes[2], votes[0]]
    all_new = await run(voters("X", "Y", "Z"), store, endpoint, first)
    assert [all_new.nodes[name].outputs for name in ("X", "Y", "Z")] == votes
    assert len(endpoint.seen) == 4 + 1  # LAST is given another order of votes once


async def test_a_result_is_taken_once() -> None:
    store, endpoint = MemoryStore(), numbered()
    first = await run(voters("V1"), store, endpoint)
    again = await run(voters("X", "Y"), store, endpoint, first)
    assert len(reused(again)) == 1
    assert len({str(again.nodes[name].outputs) for name in ("X", "Y")}) == 2
    more = await run(voters("V1", "V2"), store, endpoint, first)
    assert reused(more) == {"V1"}


async def test_a_resumed_run_takes_what_it_had_taken() -> None:
    store, endpoint = MemoryStore(), numbered()
    first = await run(voters("V1", "V2"), store, endpoint)
    failed = await run(voters("X", "Y", "Z"), store, numbered(fails_at="last"), first)
    assert (failed.status, reused(failed)) == ("failed", {"X", "Y"})
    endpoint = numbered()
    again = await merrow_runtime.resume(failed.run, endpoint=endpoint, store=store).result()
    assert (again.status, len(endpoint.seen)) == ("finished", 1)
    for name in "XYZ":
        assert again.nodes[name].outputs == failed.nodes[name].outputs
    # Its parent is gone: what it had taken is its own.
    failed = await run(voters("X", "Y", last="other"), store, numbered(fails_at="other"), first)
    assert (failed.status, reused(failed)) == ("failed", {"X", "Y"})
    store.delete(first.run)
    again = await merrow_runtime.resume(failed.run, endpoint=endpoint, store=store).result()
    assert (again.status, reused(again)) == ("finished", {"X", "Y"})


async def test_within_a_run_equal_work_is_done_for_each() -> None:
    store, endpoint = MemoryStore(), numbered()
    first = await run(voters("V1", "V2", "V3"), store, endpoint)
    assert (reused(first), len(endpoint.seen)) == (set(), 4)


async def test_results_of_another_endpoint_are_asked_about_by_what_they_are() -> None:
    store = MemoryStore()
    first = await run(chain("A", "B", "C"), store, numbered())
    other = FakeEndpoint(origin="http://other.test")
    with pytest.raises(ForeignResults) as found:
        await run(chain("A", "DRAFT", "C"), store, other, first)
    assert found.value.nodes == ("A", "B", "C")
    with pytest.raises(ForeignResults) as found:
        await run(chain("A", "DRAFT", "C", prompts=("one", "changed", "three")), store, other, first)
    assert found.value.nodes == ("A", "C")
    options = RunOptions(from_run=first.run, reuse="same")
    result = await merrow_runtime.run(chain("A", "DRAFT", "C"), endpoint=other, store=store, options=options)
    assert (reused(result), len(other.seen)) == (set(), 3)


async def test_of_two_equal_results_the_one_that_may_be_used_is_found() -> None:
    store, real = MemoryStore(), numbered()
    first = await run(voters("V1"), store, FakeEndpoint(origin="http://other.test"))
    options = RunOptions(from_run=first.run, reuse="any", fresh=True)
    mixed = await merrow_runtime.run(voters("V1", "V2"), endpoint=real, store=store, options=options)
    assert [mixed.nodes[name].sources[0].endpoint for name in ("V1", "V2")] == ["http://other.test", real.origin]
    options = RunOptions(from_run=mixed.run, reuse="same", fresh=True)
    renamed = await merrow_runtime.run(voters("X"), endpoint=real, store=store, options=options)
    assert renamed.nodes["X"].outputs == mixed.nodes["V2"].outputs


async def test_what_was_set_by_hand_holds_for_that_run_and_for_those_made_from_it() -> None:
    store = MemoryStore()
    flow = chain("A", "B", "C")
    whole = await run(flow, store, numbered())
    options = RunOptions(only="B", set_values={"B.input": "by hand"}, fresh=True)
    alone = await merrow_runtime.run(flow, endpoint=numbered(fails_at="two"), store=store, options=options)
    assert alone.status == "failed"

    def said(request: ModelRequest) -> str:
        return " <- ".join(message.content for message in request.messages)

    resumed = await merrow_runtime.resume(alone.run, endpoint=FakeEndpoint(said), store=store).result()
    assert resumed.outputs == {"B": "two <- by hand"}
    # One node again, of that run: it is given the same.
    again = await merrow_runtime.run(
        flow, endpoint=FakeEndpoint(said), store=store, options=RunOptions(only="B", from_run=alone.run, fresh=True)
    )
    assert again.outputs == {"B": "two <- by hand"}
    # No other run has it.
    other = await run(flow, store, numbered(), whole)
    assert other.outputs == whole.outputs


STEPS = make_steps(chain("A", "B", "C", prompts=("same", "same", "same")), RunOptions())
SHOWN = next(iter(STEPS.values())).shown
visits = st.tuples(st.sampled_from("ABCXYZ"), st.sampled_from(["", "T[1]"]), st.sampled_from(["k", "l"]))


@settings(max_examples=examples(150), deadline=None)
@given(
    earlier=st.lists(visits, max_size=6, unique_by=lambda one: one[:2]),
    now=st.lists(visits, max_size=6, unique_by=lambda one: one[:2]),
    taken=st.integers(0, 6),
    foreign=st.sets(st.integers(0, 5)),
)
def test_no_result_is_taken_twice_and_a_resume_goes_on_as_if_nothing_had_happened(
    earlier: list[tuple[str, str, str]], now: list[tuple[str, str, str]], taken: int, foreign: set[int]
) -> None:
    """``taken`` is how many visits had their results when the process died; the ``foreign`` ones are not to be used."""
    other = (Source("http://other.test", "m"),)
    records = [
        NodeRecord(
            node,
            "finished",
            key,
            {"response": str(number)},
            started=number,
            definition=SHOWN,
            sources=other if number in foreign else (),
            path=path,
        )
        for number, (node, path, key) in enumerate(earlier)
    ]

    def ask(executions: Executions, several: list[tuple[str, str, str]]) -> list[NodeRecord | None]:
        return [executions.take(Visit(node, path), key, lambda one: not one.sources) for node, path, key in several]

    whole = ask(Executions(records, STEPS), now)
    found = [record for record in whole if record is not None]
    assert len({record.visit for record in found}) == len(found)
    for (node, path, key), record in zip(now, whole, strict=True):
        assert record is None or record.key == key
        own = next((one for one in records if (one.visit, one.key) == (Visit(node, path), key)), None)
        if own is not None and node in "ABC" and not own.sources:
            assert record is own
    # As the journal has it when the run is resumed: what it took stands under the names it has now.
    had = [
        NodeRecord(node, "reused", key, record.outputs, started=100.0 + number, definition=SHOWN, path=path)
        for number, ((node, path, key), record) in enumerate(zip(now[:taken], whole, strict=False))
        if record is not None
    ]
    again = ask(Executions(records, STEPS, had), now)
    assert [record and record.outputs for record in again] == [record and record.outputs for record in whole]
