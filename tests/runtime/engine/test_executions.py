"""Results of an earlier run are found by what was done, whatever nodes are called now, and each is taken once."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, Workflow
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.program.definitions import Step, make_steps
from merrow_runtime.provenance import PERSON, ForeignResults, Provenance
from merrow_runtime.requests import ModelRequest
from merrow_runtime.revising.redo import Redo
from merrow_runtime.running.executions import Executions, held
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.usage import Usage
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


@settings(max_examples=38, deadline=None)
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
    other = (Provenance("http://other.test", "m"),)
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


OF = {step.definition.id: step for step in make_steps(chain("A", "B", "C"), RunOptions()).values()}
"""A, B and C, each of which asks something of its own."""


def steps(**nodes: Step) -> dict[int, Step]:
    """The steps of a graph that has these nodes."""
    return {
        index: replace(step, definition=replace(step.definition, id=name))
        for index, (name, step) in enumerate(nodes.items())
    }


def executed(node: str, key: str | None = "k", said: str = "", *, of: str | None = None, **more: object) -> NodeRecord:
    """What a visit of a node gave that was defined as ``of`` is: as the node itself, or not known where that is empty."""
    of = node if of is None else of
    made = NodeRecord(node, "finished", key, {"response": said or node}, definition=OF[of].shown if of else None)
    return replace(made, **more)  # type: ignore[arg-type]


def usable(record: NodeRecord) -> bool:
    return not record.sources


def taken(executions: Executions, *names: str, key: str = "k") -> list[str | None]:
    """What new visits of nodes take, one after another."""
    found = [executions.take(Visit(name), key, usable) for name in names]
    return [None if one is None else one.outputs["response"] for one in found]  # type: ignore[index]


def test_only_what_a_run_finished_itself_and_may_use_is_done() -> None:
    other = (Provenance("http://other.test", "m"),)
    done = [
        executed("A"),
        executed("A", path="L[1]", said="in a turn"),
        executed("A", redo=2, said="again"),
        executed("B", status="reused"),
        executed("B", "l", status="failed"),
        executed("C", outputs=None),
        executed("C", "l", sources=other),
        executed("A", None),
    ]
    executions = Executions(steps=steps(**OF), done=done)

    def asked(node: str, key: str = "k", path: str = "", redo: int = 0) -> object:
        found = executions.done(Visit(node, path, redo), key, usable)
        return found and done.index(found)

    assert [asked("A"), asked("A", path="L[1]"), asked("A", redo=2)] == [0, 1, 2]
    assert [asked("A", "l"), asked("A", path="L[2]"), asked("A", redo=1)] == [None] * 3
    assert [asked("B"), asked("B", "l"), asked("C"), asked("C", "l")] == [None] * 4
    assert executions.done(Visit("C"), "l", lambda _: True) is done[6]
    # What is done is the visit's own: it is not there for others, and not what is taken from another run.
    assert taken(executions, "A", "B") == [None, None]
    assert not any(executions.is_of_run(one) for one in done)
    assert Executions().done(Visit("A"), "k", usable) is None


def test_an_execution_is_its_own_visits_while_the_node_is_what_it_was() -> None:
    records = [
        executed("B", said="second", started=2.0),
        executed("A", said="own", started=3.0),
        executed("C", said="first", of="A", started=1.0),
        executed("GONE", said="third", of="A", started=4.0),
        executed("A", None, started=0.0),
        executed("A", "l", outputs=None, started=0.0),
    ]
    graph = steps(A=OF["A"], B=OF["C"], C=OF["C"])
    assert taken(Executions(records, graph), "A", "A", "B", "X", "Y", "Z") == [
        "own", "own", "first", "second", "third", None,
    ]  # fmt: skip
    assert taken(Executions(records, graph), "X", "Y", "Z", "A", key="l") == [None] * 4
    # Of a journal that does not say what a node was, it is the one of its name, if that is there still.
    unknown = [executed("A", said="a", of=""), executed("GONE", said="gone", of="")]
    assert taken(Executions(unknown, graph), "X", "A", "Y") == ["gone", "a", None]
    # A called file may have a node of the same name, which is something else: it is enough that one of both is what it was.
    for inside, outside in (("A", "B"), ("B", "A")):
        called = steps(A=OF[inside]).values()
        executions = Executions([executed("A")], steps(A=OF[outside]), inside=called)
        assert taken(executions, "X", "A") == [None, "A"]
    assert taken(Executions([executed("A")], steps(A=OF["B"]), inside=steps(A=OF["C"]).values()), "X", "A") == [
        "A",
        None,
    ]
    # Another count of redoes is another execution.
    again = Executions([executed("A", redo=1, said="again")], steps(B=OF["B"]))
    assert [again.take(Visit("X", "", redo), "k", usable) is not None for redo in (0, 2, 1, 1)] == [
        False, False, True, False,
    ]  # fmt: skip


def test_what_was_taken_before_a_resume_is_taken_from_the_others() -> None:
    source = (Provenance("http://other.test", "m"),)
    records = [
        executed("X", said="one", of="A", sources=source, started=1.0),
        executed("Y", said="one", of="A", started=2.0),
        executed("Z", said="two", of="A", started=3.0),
    ]
    had = [executed("A", said="one", status="reused", started=9.0)]
    executions = Executions(records, steps(A=OF["A"]), had)
    assert taken(executions, "A", "N", "M") == ["one", "two", None]
    found = executions.take(Visit("O"), "k", lambda _: True)
    assert found is records[0]
    # It took its own: an equal one of another node is there still.
    both = Executions([executed("A", said="one"), executed("X", said="one", of="B")], steps(A=OF["A"]), had)
    assert taken(both, "N", "M", "A") == ["one", None, "one"]
    # Its own had another result then: that stays there for nobody, and what it took is its own.
    other = Executions([executed("A", said="before")], steps(A=OF["A"]), [executed("A", said="had", started=1.0)])
    assert taken(other, "N", "A", "M") == [None, "had", None]


def test_a_revision_frees_what_nodes_had_done_that_are_gone_or_changed() -> None:
    done = [executed("A", said="a"), executed("B", said="b"), executed("C", said="c")]
    parent = [executed("A", "l", said="pa"), executed("B", "l", said="pb"), executed("C", "l", said="pc", of="")]
    before = Executions(parent, steps(**OF), done=done)
    # A stays, B is something else, C is gone.
    after = before.revised(steps(A=OF["A"], B=OF["A"]), (), Redo())
    assert [after.done(Visit(name), "k", usable) is not None for name in "ABC"] == [True, False, False]
    assert taken(after, "X", "Y", "Z") == ["b", "c", None]
    assert taken(after, "A", "X", "Y", "Z", key="l") == ["pa", "pb", "pc", None]
    assert [after.is_of_run(one) for one in (*done, *parent)] == [False, True, True, False, False, False]
    # What it was revised from stays as it was.
    assert [before.done(Visit(name), "k", usable) is not None for name in "ABC"] == [True] * 3
    assert taken(before, "X") == [None]
    assert taken(before, "X", "A", "B", "C", key="l") == [None, "pa", "pb", "pc"]
    assert not any(before.is_of_run(one) for one in done)
    # A record that does not say what its node was is the node's, while that is there.
    stays = Executions(parent, steps(**OF)).revised(steps(C=OF["A"]), (), Redo())
    assert taken(stays, "X", "C", "Y", "Z", key="l") == ["pa", "pc", "pb", None]


def test_a_revision_frees_nothing_that_a_visit_has_already() -> None:
    done, parent = [executed("A", said="a"), executed("B", said="b")], [executed("C", "l", said="pc")]
    before = Executions(parent, steps(**OF), done=done)
    assert before.done(Visit("A"), "k", usable) is done[0]
    assert before.take(Visit("C"), "l", usable) is parent[0]
    after = before.revised({}, (), Redo())
    assert after.done(Visit("A"), "k", usable) is done[0]
    assert taken(after, "X", "Y") == ["b", None]
    assert taken(after, "X", key="l") == [None]
    assert taken(after, "C", key="l") == ["pc"]


def test_nodes_inside_of_called_files_keep_what_they_did_through_a_revision() -> None:
    for inside, outside in (("A", "B"), ("B", "A")):
        called = list(steps(A=OF[inside]).values())
        own, parent = executed("A", said="own"), executed("A", "l", said="parent")
        before = Executions([parent], steps(A=OF["C"]), done=[own], inside=called)
        after = before.revised(steps(A=OF[outside]), called, Redo())
        assert after.done(Visit("A"), "k", usable) is own
        assert taken(after, "X") == [None]
        assert taken(after, "X", "A", key="l") == ([None, "parent"] if inside == "A" else ["parent", None])
        assert not after.is_of_run(own)


@pytest.mark.parametrize(("redo", "found"), [(0, [None, "b", None]), (1, [None, "b", None]), (2, [None, None, None])])
def test_what_a_revision_has_made_again_is_not_taken_by_others(redo: int, found: list[str | None]) -> None:
    """``redo`` is the number that the new text says of B."""
    for own in (True, False):
        records = [executed("B", said="b", redo=1)]
        before = Executions(() if own else records, steps(**OF), done=records if own else ())
        after = before.revised(steps(A=OF["A"]), (), Redo({"B": redo, "A": 9}))
        several = [after.take(Visit("X", "", number), "k", usable) for number in (0, 1, 1)]
        assert [one and one.outputs["response"] for one in several] == found  # type: ignore[index]
        assert after.is_of_run(records[0]) is own


def test_the_executions_in_a_call_are_those_of_the_run_that_the_call_is_of() -> None:
    def several(said: str) -> list[NodeRecord]:
        paths = ("", "CALL", "CALL/L[1]", "CALL/INNER", "CALLS", "L[2]/CALL")
        return [executed("A", said=f"{said} {path}", path=path) for path in paths]

    calls = [executed("CALL", of="A"), executed("CALL", of="A", path="L[2]"), executed("INNER", of="A", path="CALL")]
    parent, own = [*calls, *several("parent")], [*(replace(one, key="own") for one in calls), *several("own")]
    executions = Executions(parent, {}, done=own)

    def within(record: NodeRecord) -> list[object]:
        return [one.outputs["response"] for one in executions.within(record)]  # type: ignore[index]

    for records, said in ((parent, "parent"), (own, "own")):
        assert within(records[0]) == ["INNER", f"{said} CALL", f"{said} CALL/L[1]", f"{said} CALL/INNER"]
        assert within(records[1]) == [f"{said} L[2]/CALL"]
        assert within(records[2]) == [f"{said} CALL/INNER"]
        assert within(records[3]) == []


def test_results_of_other_endpoints_are_named_in_the_order_of_the_graph_unless_they_are_made_again() -> None:
    one, two, here = (
        Provenance("http://one.test", "m"),
        Provenance("http://two.test", "m"),
        Provenance("http://here.test", "m"),
    )
    records = [
        executed("B", sources=(two, one)),
        executed("A", sources=(here, PERSON, one)),
        executed("A", "l", sources=(one,)),
        executed("A", path="L[2]", sources=(two,)),
        executed("RENAMED", of="C", sources=(two,)),
        executed("GONE", of="A", said="of", definition={"operator": "Other"}, sources=(two,)),
        executed("LOST", of="", sources=(two,)),
    ]
    asked: list[tuple[int, Visit]] = []

    def rerun(index: int, visit: Visit) -> bool:
        asked.append((index, visit))
        return visit == Visit("A", "L[2]")

    executions = Executions(records, steps(**OF))
    assert executions.answered_by_others(here.endpoint, rerun) == [
        ("A", one.endpoint), ("B", two.endpoint), ("B", one.endpoint), ("RENAMED", two.endpoint),
    ]  # fmt: skip
    assert asked == [
        (0, Visit("A")), (0, Visit("A")), (0, Visit("A", "L[2]")), (1, Visit("B")), (2, Visit("RENAMED")),
    ]  # fmt: skip
    assert Executions((), steps(**OF)).answered_by_others(here.endpoint, rerun) == []


def test_a_run_that_was_revised_holds_each_execution_where_it_is_now() -> None:
    used = Usage(calls=3)
    made = executed("A", said="a", usage=used, ended=1.0)
    assert held([]) == ([], {})
    assert held([made, executed("B")]) == ([made, executed("B")], {})
    # It took its own: nothing is new. Reused by a resume, it still counts what it used.
    own = executed("A", said="a", status="reused", ended=2.0, taken="A")
    assert (held([made, own]), held([own])) == (([made], {}), ([own], {}))
    again = executed("A", said="a", status="reused", ended=2.0)
    assert (held([made, again]), held([again])) == (([replace(again, usage=used)], {}), ([again], {}))
    of_other = replace(made, taken="OTHER")
    assert held([of_other, again]) == ([replace(again, usage=used, taken="OTHER")], {("OTHER", "k"): 1.0})
    # A revision renamed it, and another one gave it its name back.
    moved = executed("B", said="a", status="reused", ended=3.0, taken="A", of="A")
    here = replace(moved, usage=used)
    assert held([made, moved]) == ([here], {("A", "k"): 3.0})
    back = executed("A", said="a", status="reused", ended=4.0, taken="B")
    assert held([made, moved, back]) == ([replace(back, usage=used)], {("B", "k"): 4.0})
    # Only what has this key moves.
    other = executed("A", "l", said="other", usage=Usage(calls=7))
    assert held([other, made, moved]) == ([other, here], {("A", "k"): 3.0})
    # What was not there, or was made anew and not reused, has nobody's usage.
    assert held([moved]) == ([moved], {("A", "k"): 3.0})
    anew = executed("A", said="new", ended=5.0)
    assert held([made, moved, anew]) == ([here, anew], {("A", "k"): 3.0})
    assert held([made, anew]) == ([anew], {})


def test_results_inside_of_calls_are_made_again_with_the_outermost_call() -> None:
    one, two, here = Provenance("http://one.test", "m"), Provenance("http://two.test", "m"), "http://here.test"
    outer = make_steps(
        workflow(
            'PLAN@{op: Custom, prompt: "plan", returns: Workflow}', "WORK@{op: Call}", "DOES@{op: Call}",
            "PROBLEM -->|input| PLAN -->|workflow| WORK & DOES", "PROBLEM -->|problem| WORK & DOES",
            "WORK & DOES -->|result:| JOIN", 'JOIN@{op: Custom, prompt: "j"}', "JOIN --> RETURN",
        ),
        RunOptions(),
    )  # fmt: skip
    indexes = {step.definition.id: index for index, step in outer.items()}
    records = [
        executed("N", path="WORK", of="A", sources=(one,)),
        executed("N", path="L[1]/DOES!2/FILE", of="A", sources=(two, one)),
        executed("N", path="DOES[1]", of="A", sources=(one,)),
        executed("N", path="JOIN", of="A", sources=(one,)),
        executed("N", path="L[3]", of="A", sources=(one,)),
    ]
    asked: list[tuple[int, Visit]] = []

    def rerun(index: int, visit: Visit) -> bool:
        asked.append((index, visit))
        return index == indexes["WORK"]

    executions = Executions(records, outer)
    assert executions.answered_by_others(here, rerun) == [
        ("L[1]/DOES!2/FILE/N", two.endpoint), ("L[1]/DOES!2/FILE/N", one.endpoint),
    ]  # fmt: skip
    assert asked == [(indexes["WORK"], Visit("WORK")), (indexes["DOES"], Visit("DOES", "L[1]", 2))]
    # The nodes of a called file are known: wherever they are, they count as those of the Call around them.
    asked.clear()
    known = Executions(records, outer, inside=steps(N=OF["A"]).values())
    assert known.answered_by_others(here, rerun) == [
        ("L[1]/DOES!2/FILE/N", two.endpoint), ("L[1]/DOES!2/FILE/N", one.endpoint), ("DOES[1]/N", one.endpoint),
        ("JOIN/N", one.endpoint), ("L[3]/N", one.endpoint),
    ]  # fmt: skip
    assert asked == [(indexes["WORK"], Visit("WORK")), (indexes["DOES"], Visit("DOES", "L[1]", 2))] * 2
    # In a called file a planned workflow runs: it is the outermost Call that is made again.
    plain = make_steps(chain("A", "B", "C"), RunOptions())
    planned = [one for one in outer.values() if one.definition.id == "WORK"]
    inside = Executions([executed("N", path="C/WORK", of="A", sources=(one,))], plain, inside=planned)
    assert inside.answered_by_others(here, lambda *_: True) == [("C/WORK/N", one.endpoint)]
