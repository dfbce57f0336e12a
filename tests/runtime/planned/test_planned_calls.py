"""Calls of planned workflows: frames, stops, what later turns take over, and what survives a kill."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, flowchart
from tests.runtime.planned.planning import DIAMOND, ONCE, PLAN, REFINES, planning, prompts, run

import merrow_runtime
from merrow_runtime import RunResult
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import check_workflow


def test_a_plan_runs_in_a_frame_of_its_own() -> None:
    result, endpoint = run(ONCE, planning([f"Here it is.\n```mermaid\n{DIAMOND}```"]))
    assert (result.status, result.outputs) == ("finished", {"RETURN": "join!"}), result.error
    assert prompts(endpoint)[:2] == ["plan it", "do a"]
    assert {"WORK/A", "WORK/B", "WORK/C", "WORK/D", "WORK/J"} <= set(result.nodes)
    outputs = result.nodes["WORK"].outputs
    assert outputs is not None
    assert outputs["done"] is True
    assert [node["status"] for node in outputs["state"]["nodes"]] == ["finished"] * 5
    assert [source.endpoint for source in result.nodes["WORK"].sources] == [endpoint.origin]


def test_it_stops_after_so_many_nodes_and_later_turns_take_over_what_is_finished() -> None:
    result, endpoint = run(REFINES, planning([DIAMOND]))
    assert (result.status, result.outputs) == ("finished", {"RETURN": "join!"}), result.error
    asked = prompts(endpoint)
    assert asked.count("plan it") == 3
    for step in ("do a", "do b", "do c", "do d", "join"):
        assert asked.count(step) == 1
    done = [result.nodes[f"REFINE[{turn}]/WORK"].outputs for turn in (1, 2, 3)]
    standing = [[node["status"] for node in one["state"]["nodes"]] for one in done if one is not None]
    assert standing == [
        ["finished", "finished", "waiting", "waiting", "waiting"],
        ["finished"] * 4 + ["waiting"],
        ["finished"] * 5,
    ]
    assert done[0] is not None
    assert "do a!" in done[0]["result"]
    assert result.nodes["REFINE[2]/WORK/A"].status == "reused"
    assert result.usage.calls == len(asked)


def test_which_nodes_run_before_a_stop_does_not_depend_on_how_long_they_take() -> None:
    times = Random(1)

    async def slow(request: ModelRequest) -> str:
        await asyncio.sleep(times.random() / 500)
        return request.messages[0].content.split("\n")[0] + "!"

    for _ in range(5):
        result, _ = run(REFINES, planning([DIAMOND], slow), concurrency=8)
        assert {name for name in result.nodes if name.startswith("REFINE[1]/WORK/")} == {
            "REFINE[1]/WORK/PROBLEM", "REFINE[1]/WORK/A", "REFINE[1]/WORK/B",
        }  # fmt: skip


def test_a_plan_that_changes_keeps_what_it_still_has() -> None:
    second = DIAMOND.replace('"do c"', '"do c otherwise"').replace("A[", "FIRST[").replace("A -->", "FIRST -->")
    result, endpoint = run(REFINES, planning([DIAMOND, second]))
    assert (result.status, result.outputs) == ("finished", {"RETURN": "join!"}), result.error
    asked = prompts(endpoint)
    assert (asked.count("do a"), asked.count("do b"), asked.count("do c"), asked.count("do c otherwise")) == (
        1,
        1,
        0,
        1,
    )
    assert result.nodes["REFINE[2]/WORK/FIRST"].status == "reused"


def test_two_nodes_that_are_asked_the_same_take_over_one_answer_each() -> None:
    twins = 'flowchart TD\n    PROBLEM([P]) --> A["the same"] & B["the same"] --> J["join"] --> RETURN([R])\n'
    triplets = twins.replace('& B["the same"]', '& B["the same"] & C["the same"]')
    result, endpoint = run(REFINES, planning([twins, triplets]), fresh=True)
    assert result.status == "finished", result.error
    # Equal questions that are asked at once have one answer; what matters is who took which.
    assert [result.nodes[f"REFINE[2]/WORK/{name}"].status for name in "ABC"] == ["reused", "reused", "finished"]
    assert prompts(endpoint).count("join") == 1


def test_after_a_failure_nothing_begins_that_had_to_wait() -> None:
    """Of three nodes that may run two begin; what follows the one waits until the other has ended, and that fails."""
    plan = """flowchart TD
    PROBLEM([Problem]) --> A["do a"] --> J["join"] --> RETURN([Result])
    PROBLEM --> X["do x"] --> Y["do y"] --> J
"""

    async def fails(request: ModelRequest) -> str | Exception:
        asked = request.messages[0].content.split("\n")[0]
        if asked != "do a":
            return f"{asked}!"
        for _ in range(50):
            await asyncio.sleep(0)
        return EndpointFailure("no luck")

    text = REFINES.replace("stop_after: 2", "stop_after: 3").replace("max: 6", "max: 1")
    _, endpoint = run(text, planning([plan], fails))
    assert prompts(endpoint) == ["plan it", "do a", "do x"]


def test_a_failure_ends_a_call_that_runs_to_the_end_and_is_told_by_one_that_stops() -> None:
    def fails(request: ModelRequest) -> str | Exception:
        asked = request.messages[0].content.split("\n")[0]
        return EndpointFailure("no luck") if asked == "do c" else f"{asked}!"

    result, _ = run(ONCE, planning([DIAMOND], fails))
    assert result.status == "failed"
    assert result.failure is not None
    assert (result.failure.node, result.failure.path) == ("C", "WORK")
    without = DIAMOND.replace('    A --> C["do c"] --> J\n', "")
    result, endpoint = run(REFINES, planning([DIAMOND, DIAMOND, without], fails))
    assert (result.status, result.outputs) == ("finished", {"RETURN": "join!"}), result.error
    told = result.nodes["REFINE[2]/WORK"].outputs
    assert told is not None
    (failed,) = [node for node in told["state"]["nodes"] if node["id"] == "C"]
    assert failed["status"] == "failed"
    assert "no luck" in failed["reason"]
    assert prompts(endpoint).count("do a") == 1


def test_a_budget_holds_across_it() -> None:
    result, endpoint = run(REFINES, planning([DIAMOND]), budget_tokens=900)
    assert result.failure is not None
    assert result.failure.code == "budget"
    assert 1 < len(endpoint.seen) < 7


def test_its_nodes_ask_the_model_of_the_caller() -> None:
    _, endpoint = run(ONCE.replace("flowchart", "---\nworkflow: {model: mine}\n---\nflowchart", 1), planning([DIAMOND]))
    assert {request.model for request in endpoint.seen} == {"mine"}
    _, endpoint = run(ONCE, planning([DIAMOND]), model="said")
    assert {request.model for request in endpoint.seen} == {"said"}


def test_from_takes_over_turns_and_the_nodes_in_them() -> None:
    store = MemoryStore()
    first, _ = run(REFINES, planning([DIAMOND]), store=store)
    again, endpoint = run(REFINES, planning([DIAMOND]), store=store, from_run=first.run)
    assert (again.outputs, endpoint.seen) == (first.outputs, [])
    assert again.nodes["REFINE[3]/WORK"].status == "reused"
    shorter = REFINES.replace("max: 6", "max: 5").replace("stop_after: 2", "stop_after: 3")
    other, endpoint = run(shorter, planning([DIAMOND]), store=store, from_run=first.run)
    assert other.status == "finished", other.error
    assert set(prompts(endpoint)) == {"plan it"}
    again, endpoint = run(REFINES, planning([DIAMOND]), store=store, from_run=first.run, from_node="WORK")
    assert again.outputs == first.outputs
    assert all(prompts(endpoint).count(step) == 1 for step in ("do a", "do b", "do c", "do d", "join"))


def test_what_a_turn_gave_is_not_what_one_gives_that_has_less_to_stand_on() -> None:
    store, second = MemoryStore(), DIAMOND.replace('"do d"', '"do d otherwise"')
    first, _ = run(REFINES, planning([DIAMOND, second]), store=store)
    renamed = REFINES.replace("WORK", "DOES").replace('"plan it"', '"plan it again"')
    again, _ = run(renamed, planning([second]), store=store, from_run=first.run)
    told = again.nodes["REFINE[1]/DOES"].outputs
    assert told is not None
    assert [node["status"] for node in told["state"]["nodes"]].count("finished") == 2


def test_results_of_another_endpoint_are_asked_about() -> None:
    store = MemoryStore()
    first, _ = run(ONCE, planning([DIAMOND]), store=store)
    other = FakeEndpoint(planning([DIAMOND]), "http://other.test")
    with pytest.raises(UsageFailure, match="WORK/A"):
        run(ONCE.replace('"plan it"', '"plan it "'), planning([DIAMOND]), other, store, from_run=first.run)


def test_the_call_alone_is_run() -> None:
    store = MemoryStore()
    first, _ = run(ONCE, planning([DIAMOND]), store=store)
    again, endpoint = run(ONCE, planning([DIAMOND]), store=store, from_run=first.run, only="WORK", fresh=True)
    assert again.status == "finished", again.error
    assert sorted(prompts(endpoint)) == ["do a", "do b", "do c", "do d", "join"]


def test_a_file_with_a_planned_call_is_called(tmp_path: Path) -> None:
    (tmp_path / "merrow.toml").touch()
    (tmp_path / "f.mmd").write_text(REFINES + "    RETURN@{type: Text}\n")
    main = flowchart('C@{op: Call, workflow: "f.mmd"}', "PROBLEM --> C --> RETURN")
    (tmp_path / "main.mmd").write_text(main)
    endpoint = FakeEndpoint(planning([DIAMOND]))
    plan = merrow_runtime.dry_run(tmp_path / "main.mmd", endpoint=endpoint)
    assert (plan.calls.least, plan.calls.most) == (1, None)

    async def work() -> RunResult:
        begun = merrow_runtime.start(tmp_path / "main.mmd", {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
        return await begun.result()

    result = asyncio.run(work())
    assert (result.status, result.outputs) == ("finished", {"RETURN": "join!"}), result.error
    assert result.nodes["C/REFINE[2]/WORK/B"].status == "reused"


def test_items_of_a_map_have_plans_of_their_own() -> None:
    text = flowchart(
        'SPLIT@{op: Custom, prompt: "split", returns: "list[Text]"}', "PROBLEM --> SPLIT", 'subgraph EACH["Map (parallel: 2)"]',
        f"    {PLAN}", "    WORK@{op: Call, stop_after: 9}", "end", "SPLIT -->|each:input| PLAN",
        "SPLIT -->|each:problem| WORK", "PLAN -->|workflow| WORK", "WORK -->|result:| JOIN",
        'JOIN@{op: Custom, prompt: "join all"}', "JOIN --> RETURN",
    )  # fmt: skip

    def answer(request: ModelRequest) -> str:
        return '{"response": ["one", "two"]}' if request.schema is not None else f"{request.messages[-1].content}!"

    result, _ = run(text, planning([DIAMOND], answer))
    assert result.status == "finished", result.error
    assert {"EACH[1]/WORK/J", "EACH[2]/WORK/J"} <= set(result.nodes)
    assert result.nodes["EACH[2]/WORK/A"].status == "finished"


def test_a_dry_run_says_that_the_bounds_are_not_known() -> None:
    plan = merrow_runtime.dry_run(check_workflow(REFINES), endpoint=FakeEndpoint())
    assert (plan.calls.least, plan.calls.most, plan.tokens.most) == (1, None, None)
    (call,) = [node for node in plan.to_json()["nodes"] if node["node"] == "WORK"]
    assert call["calls"] == {"least": 0, "most": None}
    assert "at most 1,000 each time" in call["why_open"]


LENGTH = 9
CHAIN = (
    "flowchart TD\n    PROBLEM([P]) --> "
    + " --> ".join(f'N{n}["do {n}"]' for n in range(LENGTH))
    + " --> R([Result])\n"
)


def _work(journal: Path, calls: int, reached: Event) -> None:
    """Run the workflow, and say when so many calls were made."""
    seen = 0
    plan = planning([CHAIN])

    def answer(request: ModelRequest) -> object:
        nonlocal seen
        seen += 1
        if seen == calls:
            reached.set()
        return plan(request)

    run(REFINES, answer, store=Store.open(journal))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")
def test_a_run_that_is_killed_inside_a_plan_makes_no_call_again(tmp_path: Path) -> None:
    forks, moments = multiprocessing.get_context("fork"), Random(1)
    whole, _ = run(REFINES, planning([CHAIN]))
    for calls in (2, 5, 8, LENGTH + 3):
        journal, reached = tmp_path / f"{calls}.sqlite", forks.Event()
        process = forks.Process(target=_work, args=(journal, calls, reached))
        process.start()
        assert reached.wait(PATIENCE)
        process.join(moments.uniform(0.0, 0.003))
        process.kill()
        process.join()
        store, endpoint = Store.open(journal), FakeEndpoint(planning([CHAIN]))
        (record,) = store.runs()
        known = {(call.key.path, call.key.node) for call in store.calls(record.id)}
        assert len(known) >= calls - 1

        async def resumed(name: str = record.id, store: Store = store, endpoint: FakeEndpoint = endpoint) -> RunResult:
            return await merrow_runtime.resume(name, endpoint=endpoint, store=store).result()

        result = asyncio.run(resumed())
        nodes = {node.visit.name: node.status for node in store.nodes(record.id)}
        definitions = {node.visit.name: node.definition for node in store.nodes(record.id)}
        store.close()
        assert result.outputs == whole.outputs, (result.error, calls)
        assert len(endpoint.seen) + len(known) == whole.usage.calls
        assert {name: status for name, status in nodes.items() if "/WORK/" in name} == {
            name: node.status for name, node in whole.nodes.items() if "/WORK/" in name
        }
        assert all(definitions[name] for name in nodes if "/WORK/N" in name)
