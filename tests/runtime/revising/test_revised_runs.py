"""Runs whose graph changes while they go on, and what is kept of them."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, workflow

from merrow_runtime import RunOptions, resume, start
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.revising.revision_requests import ask_for, snapshot_at
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow, check_workflow


def custom(name: str, more: str = "", says: str | None = None) -> str:
    return f'{name}["Custom (prompt: do {says or name}{", " + more if more else ""})"]:::CustomOp'


def done(request: ModelRequest) -> str:
    """The same to the same question, but for voters."""
    first = request.messages[0].content.split("\n")[0]
    if request.schema is not None:
        return json.dumps({"response": [first]})
    return f"{first} {next(VOTES)}" if first == "vote" else first


VOTES = count(1)


CHAIN = (
    custom("A"),
    custom("B"),
    custom("C"),
    "PROBLEM -->|input| A",
    "A -->|input| B",
    "B -->|input| C",
    "C --> RETURN",
)


def chain(b: str = "", front: str = "", name: str = "B", says: str = "B") -> Workflow:
    lines = [line.replace(custom("B"), custom("B", b, says)) for line in CHAIN]
    renamed = [
        line.replace("B[", f"{name}[").replace("B -->", f"{name} -->").replace("| B", f"| {name}") for line in lines
    ]
    return workflow(*renamed, front=front)


class Revised:
    """A run that is revised at its n-th question, and what came of it."""

    def __init__(self, store: Store | None = None, origin: str = "http://fake.test") -> None:
        self.endpoint = FakeEndpoint(done, origin)
        self.store = MemoryStore() if store is None else store
        self.states: list[str] = []
        self.events: list[Any] = []

    async def go(self, first: Workflow, at: list[tuple[int, Workflow]], **options: Any) -> RunResult:
        self.endpoint.gate = gate = asyncio.Event()
        run = start(
            first, {"problem": "x"}, endpoint=self.endpoint, store=self.store, options=RunOptions(**options), run_id="r"
        )
        reading = asyncio.create_task(self.read(run))
        waited = 0
        for number, other in at:
            while len(self.endpoint.seen) < number or self.endpoint.in_flight == 0:
                assert (waited := waited + 1) < 5000, f"no question {number}"
                if self.endpoint.in_flight:
                    gate.set()
                    self.endpoint.gate = gate = asyncio.Event()
                await asyncio.sleep(0.001)
            self.states.append((await run.revise(other)).state)
        self.endpoint.gate = None
        gate.set()
        result = await run.result()
        await reading
        return result

    async def read(self, run: Run) -> None:
        async for event in run.events():
            self.events.append(event)

    @property
    def asked(self) -> list[str]:
        return [request.messages[0].content.split("\n")[0] for request in self.endpoint.seen]

    def told(self, kind: str) -> list[str | None]:
        return [event.node for event in self.events if event.event == kind]


def revised(first: Workflow, at: list[tuple[int, Workflow]], **options: Any) -> tuple[Revised, RunResult]:
    async def whole() -> tuple[Revised, RunResult]:
        trial = Revised()
        return trial, await trial.go(first, at, **options)

    return asyncio.run(whole())


def test_what_runs_and_is_not_concerned_goes_on() -> None:
    trial, result = revised(chain(), [(1, chain(b="temperature: 0.5"))])
    assert trial.states == ["applied"]
    assert trial.asked == ["do A", "do B", "do C"]
    assert result.status == "finished"
    assert [event.event for event in trial.events if event.event.startswith("revision")] == [
        "revision_opened",
        "revision_applied",
    ]
    (applied,) = [event for event in trial.events if event.event == "revision_applied"]
    assert applied.data["trigger"] == "person"
    assert applied.data["diff"]["changed"] == ["B"]
    assert called(trial, "B")[0].request["temperature"] == 0.5
    assert [one.state for one in trial.store.revisions("r")] == ["applied"]


def called(trial: Revised, node: str) -> list[Any]:
    return [call for call in trial.store.calls("r") if call.key.node == node]


def test_what_is_finished_is_kept_and_what_is_changed_is_made_again_with_what_follows() -> None:
    trial, result = revised(chain(), [(3, chain(says="better"))])
    assert trial.asked == ["do A", "do B", "do C", "do better", "do C"]
    assert trial.told("node_finished").count("A") == 1
    assert trial.told("node_started") == ["A", "B", "C", "B", "C"]
    (applied,) = [event for event in trial.events if event.event == "revision_applied"]
    assert applied.data["diff"]["kept"] == ["A"]
    assert applied.data["diff"]["reset"] == ["B"]
    assert result.outputs == {"RETURN": "do C"}


def test_an_answer_that_comes_out_as_it_was_keeps_what_follows() -> None:
    trial, _ = revised(chain(), [(3, chain(b="temperature: 0.5"))])
    assert trial.asked == ["do A", "do B", "do C", "do B"]


def test_a_rename_costs_nothing_and_only_what_is_renamed_is_told() -> None:
    trial, result = revised(chain(), [(3, chain(name="Q"))])
    assert trial.asked == ["do A", "do B", "do C"]
    assert result.status == "finished"
    assert trial.told("node_reused") == ["Q"]
    (taken,) = [node for node in trial.store.nodes("r") if node.node == "Q"]
    assert (taken.taken, taken.outputs, taken.revision) == ("B", {"response": "do B"}, 1)
    assert result.nodes["Q"].usage.calls == 0


def test_two_that_change_places_are_both_found_again() -> None:
    def both(one: str, two: str) -> Workflow:
        return workflow(custom("A", says=one), custom("B", says=two), custom("C"), "PROBLEM -->|input| A & B",
                        *(f"{node} -->|input| C" for node in ("AB" if one == "x" else "BA")), "C --> RETURN")  # fmt: skip

    trial, _ = revised(both("x", "y"), [(3, both("y", "x"))])
    assert sorted(trial.asked) == ["do C", "do x", "do y"]
    assert trial.told("node_reused") == ["A", "B"] or trial.told("node_reused") == ["B", "A"]


@pytest.mark.parametrize("other", ["memory: all", "on_error: skip"])
def test_one_that_takes_the_name_of_another_has_its_result_though_that_one_asks_the_same(other: str) -> None:
    def chained(first: str, then: str) -> Workflow:
        return workflow(custom(first, says="x"), custom("M"), custom(then, more=other, says="x"), custom("C"),
                        f"PROBLEM -->|input| {first}", f"{first} -->|input| M", f"M -->|input| {then}",
                        f"{then} -->|input| C", "C --> RETURN")  # fmt: skip

    trial, result = revised(chained("A", "B"), [(2, chained("B", "A"))])
    assert result.status == "finished"
    assert trial.asked == ["do x", "do M", "do x", "do C"]
    (applied,) = trial.store.revisions("r")
    assert applied.adopted["kept"] == ["B"]
    assert "B" in trial.told("node_reused")
    assert not called(trial, "B")


def test_no_change_is_no_event() -> None:
    trial, _ = revised(chain(), [(2, chain())])
    assert trial.states == ["unchanged"]
    names = [event.event for event in trial.events if event.event.startswith("revision")]
    assert names == ["revision_opened", "revision_unchanged"]
    trial, _ = revised(chain(), [(2, workflow(*CHAIN, "%% only a comment"))])
    assert trial.states == ["applied"]
    assert trial.told("node_started") == ["A", "B", "C"]


def test_what_is_asked_for_again_is_made_again_past_the_cache() -> None:
    trial, _ = revised(chain(), [(3, chain(front="{redo: {B: 1}}"))])
    assert trial.asked == ["do A", "do B", "do C", "do B"]
    assert [call.key.redo for call in called(trial, "B")] == [0, 1]
    assert [event.redo for event in trial.events if event.node == "B" and event.event == "node_finished"] == [0, 1]


def test_what_runs_and_is_gone_is_cancelled_and_what_it_used_is_kept() -> None:
    short = workflow(custom("A"), custom("C"), "PROBLEM -->|input| A", "A -->|input| C", "C --> RETURN")
    trial, result = revised(chain(), [(2, short)])
    assert result.status == "finished"
    assert trial.asked == ["do A", "do B", "do C"]
    assert trial.endpoint.finished == 2
    (revision,) = trial.store.revisions("r")
    assert revision.adopted["cancelled"] == ["B"]
    assert revision.adopted["removed"] == ["B"]


def test_going_back_costs_nothing() -> None:
    trial, result = revised(chain(), [(3, chain(says="better")), (5, chain())])
    assert trial.asked == ["do A", "do B", "do C", "do better", "do C"]
    assert result.nodes["B"].outputs == {"response": "do B"}
    assert trial.told("node_reused") == ["B", "C"]


def test_what_a_cancelled_node_had_asked_by_then_is_not_asked_again_when_it_comes_back() -> None:
    def tried(says: str) -> Workflow:
        return chain(
            "validate: v, attempts: 3, on_invalid: accept", "{validators: {v: {if: len(output) < 3}}}", says=says
        )

    trial, result = revised(tried("B"), [(3, tried("better")), (4, tried("B"))], fresh=True)
    assert result.status == "finished"
    asked = ["do A", "do B", "do B", "do better", "do B", "do B", "do C"]
    assert trial.asked == asked, "the first attempt is known, the second one was on its way"


def test_a_question_that_comes_again_with_another_kind_of_value_is_not_asked_again() -> None:
    """A list of one text reads like the text: C has to be made again, and what it asked is known."""

    def longer(b: str = "") -> Workflow:
        lines = [line.replace(custom("B"), custom("B", b)) for line in CHAIN[:-1]]
        return workflow(*lines, custom("D"), "C -->|input| D", "D --> RETURN")

    trial, result = revised(longer(), [(4, longer("returns: 'list[Text]'"))], fresh=True)
    assert result.status == "finished"
    assert trial.asked == ["do A", "do B", "do C", "do D", "do B"]
    assert result.nodes["B"].outputs == {"response": ["do B"]}


def test_equal_voters_never_share_an_answer() -> None:
    def voters(*names: str) -> Workflow:
        return workflow(*(f'{name}["Custom (prompt: vote, temperature: 1)"]:::CustomOp' for name in names), custom("C"),
                        *(f"PROBLEM -->|input| {name}" for name in names), *(f"{name} -->|input| C" for name in names),
                        "C --> RETURN")  # fmt: skip

    trial, result = revised(voters("V1", "V2"), [(3, voters("V2", "V3")), (3, voters("V1", "V2", "V3"))])
    # V3 has what V1 said, and so V1 is asked again.
    assert trial.asked.count("vote") == 3
    assert trial.told("node_reused") == ["V3"]
    assert len({str(result.nodes[name].outputs) for name in ("V1", "V2", "V3")}) == 3


def test_inputs_and_outputs_stay_and_a_refused_one_changes_nothing() -> None:
    other = [line.replace("PROBLEM", "TASK") for line in CHAIN]
    text = workflow(*CHAIN).text.replace("PROBLEM", "TASK")
    new = check_workflow("---\nworkflow: {inputs: [TASK]}\n---\n" + text)
    trial, result = revised(chain(), [(2, new)])
    assert other
    assert trial.states == ["refused"]
    assert result.status == "finished"
    (refused,) = [event for event in trial.events if event.event == "revision_refused"]
    assert "The input PROBLEM is gone" in refused.data["reason"]
    assert trial.asked == ["do A", "do B", "do C"]


def resumed(store: Store, endpoint: FakeEndpoint, *, text: Workflow | None = None) -> RunResult:
    """The run resumed once it was cancelled, with ``text`` asked for in between."""

    async def whole() -> RunResult:
        if text is not None:
            ask_for(store, "r", text)
        return await resume("r", endpoint=endpoint, store=store).result()

    return asyncio.run(whole())


def stopped(at: list[tuple[int, Workflow]], until: int, first: Workflow) -> Revised:
    """A run that was revised, and cancelled at its n-th question."""

    async def whole() -> Revised:
        trial = Revised()
        gate = trial.endpoint.gate = asyncio.Event()
        run = start(first, {"problem": "x"}, endpoint=trial.endpoint, store=trial.store, run_id="r")
        for number, other in [*at, (until, None)]:
            while len(trial.endpoint.seen) < number:
                gate.set()
                gate = trial.endpoint.gate = asyncio.Event()
                await asyncio.sleep(0.001)
            if other is not None:
                trial.states.append((await run.revise(other)).state)
        run.cancel()
        await run.result()
        return trial

    return asyncio.run(whole())


def test_a_run_that_is_resumed_has_the_last_workflow_and_all_that_was_done() -> None:
    trial = stopped([(3, chain(name="Q"))], 3, chain())
    again = FakeEndpoint(done, trial.endpoint.origin)
    result = resumed(trial.store, again)
    assert result.status == "finished"
    assert [request.messages[0].content.split("\n")[0] for request in again.seen] == ["do C"]
    assert result.nodes["Q"].status == "reused"
    # And a third process has nothing to ask.
    assert trial.store.run("r").status == "finished"


def test_a_run_that_stopped_continues_as_it_was_asked_to() -> None:
    trial = stopped([], 3, chain())
    again = FakeEndpoint(done, trial.endpoint.origin)
    result = resumed(trial.store, again, text=chain(name="Q"))
    assert result.status == "finished"
    assert [request.messages[0].content.split("\n")[0] for request in again.seen] == ["do C"]
    assert [one.state for one in trial.store.revisions("r")] == ["applied"]
    assert json.loads(snapshot_at(trial.store, "r", 1))["text"] == chain(name="Q").text
    assert json.loads(snapshot_at(trial.store, "r", 0))["text"] == chain().text


def test_what_is_asked_of_a_stopped_run_is_refused_or_found_unchanged_at_once() -> None:
    def broken() -> Workflow:
        raise UsageFailure("new.mmd has an error.")

    trial = stopped([], 3, chain())
    gone = "---\nworkflow: {inputs: [TASK]}\n---\n" + chain().text.replace("PROBLEM", "TASK")
    noted = check_workflow(chain().text + "    %% a note\n", name="test.mmd")
    several = [check_workflow(gone), broken, chain(), noted, chain(name="Q")]
    asked = [ask_for(trial.store, "r", one) for one in several]
    assert [(one.record.number, one.record.state) for one in asked] == [
        (1, "refused"), (2, "refused"), (3, "unchanged"), (4, "asked"), (5, "asked"),
    ]  # fmt: skip
    assert not any(one.is_under_way for one in asked)
    assert asked[0].record.reason.startswith("The input PROBLEM is gone")
    for number, why in ((1, asked[0].record.reason), (2, "new.mmd has an error."), (3, "nothing was to be changed")):
        assert " ".join(asked[number - 1].record.adopted["refused"]) == ("" if number == 3 else why)
        with pytest.raises(UsageFailure) as none:
            snapshot_at(trial.store, "r", number)
        how = "unchanged" if number == 3 else "refused"
        assert str(none.value) == f"Revision {number} of run r has no workflow, since it was {how}: {why}"
    for number, known in ((6, "it has 5"), (-1, "it has 5")):
        with pytest.raises(UsageFailure, match=f"^Run r has no revision {number}: {known}. See: merrow show r$"):
            snapshot_at(trial.store, "r", number)
    again = FakeEndpoint(done, trial.endpoint.origin)
    assert resumed(trial.store, again).status == "finished"
    assert [request.messages[0].content.split("\n")[0] for request in again.seen] == ["do C"]
    states = [one.state for one in trial.store.revisions("r")]
    assert (states[:3], states[4]) == (["refused", "refused", "unchanged"], "applied")
    untouched, _ = revised(chain(), [])
    with pytest.raises(UsageFailure, match="has no revision 1: it has none"):
        snapshot_at(untouched.store, "r", 1)


def test_an_answer_that_was_given_away_is_not_found_again_by_its_first_node() -> None:
    def voters(*names: str) -> Workflow:
        return workflow(*(f'{name}["Custom (prompt: vote, temperature: 1)"]:::CustomOp' for name in names), custom("C"),
                        *(f"PROBLEM -->|input| {name}" for name in names), *(f"{name} -->|input| C" for name in names),
                        "C --> RETURN")  # fmt: skip

    trial = stopped([(3, voters("V2", "V3"))], 3, voters("V1", "V2"))
    result = resumed(trial.store, FakeEndpoint(done, trial.endpoint.origin), text=voters("V1", "V2", "V3"))
    assert len({str(result.nodes[name].outputs) for name in ("V1", "V2", "V3")}) == 3


def test_a_run_that_has_finished_is_not_revised() -> None:
    trial, _ = revised(chain(), [])
    with pytest.raises(UsageFailure, match="has finished"):
        ask_for(trial.store, "r", chain(name="Q"))


@pytest.mark.slow
@pytest.mark.parametrize("held", ["A", "AB"])
def test_a_failure_that_a_revision_had_tried_again_is_not_told_again_with_the_finished_run(held: str) -> None:
    def risky(timeout: int) -> Workflow:
        nodes = [custom("A"), custom("B"), custom("C", f"on_error: skip, timeout: {timeout}"), custom("D")]
        return workflow(*nodes, "PROBLEM -->|input| A & B & C", "A & B & C -->|input| D", "D --> RETURN")

    async def whole() -> list[tuple[str, str | None]]:
        store, go_on, asked = MemoryStore(), asyncio.Event(), list[str]()

        async def answer(request: ModelRequest) -> str | Exception:
            said = done(request)
            asked.append(said)
            if said.removeprefix("do ") in held:
                await go_on.wait()
            is_first = said == "do C" and asked.count(said) == 1
            return EndpointFailure("nothing came", transient=False) if is_first else said

        endpoint = FakeEndpoint(answer)
        run = start(
            risky(60), {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions(fresh=True), run_id="r"
        )
        free = {"A", "B", "C"} - set(held)
        while not free <= {node.node for node in store.nodes("r")}:
            await asyncio.sleep(0.001)
        assert (await run.revise(risky(70))).state == "applied"
        while not any(node.node == "C" and node.outputs for node in store.nodes("r")):
            await asyncio.sleep(0.001)
        go_on.set()
        assert (await run.result()).status == "finished"
        again = resume("r", endpoint=FakeEndpoint(), store=store)
        return [(event.event, event.node) async for event in again.events()]

    told = [event for event in asyncio.run(whole()) if event[1] == "C"]
    assert told == [("node_finished", "C")]


def test_what_was_given_away_and_came_back_is_there_after_a_resume() -> None:
    trial = stopped([(3, chain(name="Q")), (3, chain())], 3, chain())
    again = FakeEndpoint(done, trial.endpoint.origin)
    assert resumed(trial.store, again).status == "finished"
    assert [request.messages[0].content.split("\n")[0] for request in again.seen] == ["do C"]


def test_a_decision_is_decided_again() -> None:
    def decided(said: str) -> Workflow:
        return workflow(
            "D{which?}:::DecisionOp", f'D@{{ if: "{said}" }}', custom("A"), custom("B"), custom("C"),
            "PROBLEM -->|problem| D", "D -- yes --> A", "D -- no --> B", "PROBLEM -->|input| A & B", "A & B -->|input| C",
            "C --> RETURN",
        )  # fmt: skip

    trial, result = revised(decided("problem == 'x'"), [(2, decided("problem == 'y'"))])
    assert result.status == "finished"
    assert trial.asked == ["do A", "do C", "do B", "do C"]
    assert result.nodes["A"].status == "skipped"
    assert result.nodes["D"].label == "no"

    trial, result = revised(decided("problem == 'x'"), [(2, decided("problem == 'y'")), (3, decided("problem == 'x'"))])
    assert result.status == "finished"
    assert {name: result.nodes[name].status for name in "ABC"} == {"A": "reused", "B": "skipped", "C": "finished"}
    assert {one.node: one.status for one in trial.store.nodes("r")}["A"] == "reused"
    # C was on its way all the time.
    assert trial.asked == ["do A", "do C", "do B"]


def test_what_is_cancelled_is_not_waited_for_when_it_comes_back_at_once() -> None:
    """A revision and its undoing, before what the first cancels has ended."""

    async def whole(b: int) -> tuple[RunResult, list[str]]:
        trial = Revised()
        trial.endpoint.gate = gate = asyncio.Event()
        run = start(chain(), {"problem": "x"}, endpoint=trial.endpoint, store=trial.store, run_id="r")
        await trial.endpoint.until_asked(1)
        texts = [chain().text.replace("do A", f"do A {number}") for number in range(b)] + [chain().text]
        await asyncio.gather(*(run.revise(check_workflow(text)) for text in texts))
        trial.endpoint.gate = None
        gate.set()
        return await run.result(), [one.state for one in trial.store.revisions("r")]

    for between in (1, 2, 3):
        result, states = asyncio.run(whole(between))
        assert states == ["applied"] * (between + 1)
        assert (result.status, result.outputs) == ("finished", {"RETURN": "do C"})


def test_what_has_ended_is_committed_with_the_revision(tmp_path: Path) -> None:
    async def whole() -> list[str]:
        with closing(Store.open(tmp_path / "runs.sqlite")) as store:
            endpoint = FakeEndpoint(done)
            gate = endpoint.gate = asyncio.Event()
            run = start(chain(), {"problem": "x"}, endpoint=endpoint, store=store, run_id="r")
            for number in (1, 2, 3):
                await endpoint.until_asked(number)
                if number < 3:
                    gate.set()
                    gate = endpoint.gate = asyncio.Event()
            await run.revise(chain(name="Q"))
            with closing(Store.open(tmp_path / "runs.sqlite")) as other:
                told = [one.visit.name for one in other.executions("r")]
            run.cancel()
            await run.result()
            return told

    assert asyncio.run(whole()) == ["A", "B", "Q"]


def test_revisions_that_nobody_waits_for_any_more_hold_up_no_end(tmp_path: Path) -> None:
    """Who asked gave up at once, and then the run was cancelled: a resume has the revisions."""

    async def whole() -> tuple[RunResult, RunResult, list[str]]:
        with closing(Store.open(tmp_path / "runs.sqlite")) as store:
            endpoint = FakeEndpoint(done)
            endpoint.gate = asyncio.Event()
            run = start(chain(), {"problem": "x"}, endpoint=endpoint, store=store, run_id="r")
            await endpoint.until_asked(1)
            asking = [asyncio.create_task(run.revise(chain(says=f"better {number}"))) for number in range(9)]
            while len(store.revisions("r")) < 9:
                await asyncio.sleep(0)
            for one in asking:
                one.cancel()
            run.cancel()
            first = await run.result()
            assert [one.state for one in store.revisions("r")].count("asked"), "too late for what is tested"
            again = await resume("r", endpoint=FakeEndpoint(done), store=store).result()
            return first, again, [one.state for one in store.revisions("r")]

    first, again, states = asyncio.run(whole())
    assert (first.status, first.error) == ("cancelled", None)
    assert (again.status, states) == ("finished", ["applied"] * 9)
    assert again.nodes["B"].outputs == {"response": "do better 8"}


def test_a_revision_that_nobody_waits_for_any_more_holds_up_no_other() -> None:
    async def whole() -> tuple[str, RunResult, list[str]]:
        store, endpoint = MemoryStore(), FakeEndpoint(done)
        gate = endpoint.gate = asyncio.Event()
        run = start(chain(), {"problem": "x"}, endpoint=endpoint, store=store, run_id="r")
        await endpoint.until_asked(1)
        given_up, other = (asyncio.create_task(run.revise(chain(says=says))) for says in ("better", "best"))
        while len(store.revisions("r")) < 2:
            await asyncio.sleep(0)
        given_up.cancel()
        endpoint.gate = None
        gate.set()
        result = await run.result()
        return (await other).state, result, [one.state for one in store.revisions("r")]

    state, result, states = asyncio.run(whole())
    assert (state, result.status, states) == ("applied", "finished", ["applied"] * 2)
    assert result.nodes["B"].outputs == {"response": "do best"}


@pytest.mark.slow
def test_a_run_that_is_cancelled_while_it_ends_reports_how_it_ended() -> None:
    """At its end it waits until revisions that are being tried have given up: it may be cancelled meanwhile."""

    async def cancelled(after: int) -> str:
        store, endpoint = MemoryStore(), FakeEndpoint(lambda _: EndpointFailure("no such key", fatal=True))
        gate = endpoint.gate = asyncio.Event()
        run = start(chain(), {"problem": "x"}, endpoint=endpoint, store=store, run_id="r")
        await endpoint.until_asked(1)
        gate.set()
        asking: list[asyncio.Task[Any]] = []
        for turn in range(after):
            asking.append(asyncio.create_task(run.revise(chain(says=f"better {turn}"))))
            await asyncio.sleep(0)
        run.cancel()
        ended = (await run.result()).status
        await asyncio.gather(*asking, return_exceptions=True)
        assert store.run("r").status == ended
        assert [event.event async for event in run.events()][-1] == f"run_{ended}"
        return ended

    seen = {asyncio.run(cancelled(after)) for after in range(30)}
    assert seen == {"cancelled", "failed"}
