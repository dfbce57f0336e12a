"""Resuming, running from a node on, running one node: what is made again and what is reused."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, flowchart, names_of, workflow

import merrow_runtime
from merrow_runtime import RunOptions, UsageFailure
from merrow_runtime.errors import EndpointFailure, StoreFailure
from merrow_runtime.operators.custom import Custom
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store import writer
from merrow_runtime.store.contract import RunRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.recordings.case_recording import CallList

CHAIN = (
    'A@{op: Custom, prompt: "first"}', 'B@{op: Custom, prompt: "second"}', 'C@{op: Custom, prompt: "third"}',
    "PROBLEM --> A --> B --> C --> RETURN",
)  # fmt: skip


def asked(endpoint: FakeEndpoint) -> list[str]:
    return [request.messages[0].content for request in endpoint.seen]


def failing_at(prompt: str) -> FakeEndpoint:
    def answer(request: ModelRequest) -> str | Exception:
        said = request.messages[0].content
        return EndpointFailure("out of order") if said == prompt else f"{said}!"

    return FakeEndpoint(answer)


def saying(more: str = "!") -> FakeEndpoint:
    return FakeEndpoint(lambda request: request.messages[0].content + more)


async def test_a_resumed_run_makes_no_finished_call_again() -> None:
    store = MemoryStore()
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=failing_at("third"), store=store)
    assert first.status == "failed"
    assert first.usage.calls == 2
    endpoint = saying()
    run = merrow_runtime.resume(first.run[:-2], endpoint=endpoint, store=store)
    assert run.id == first.run
    result = await run.result()
    assert result.outputs == {"RETURN": "third!"}
    assert asked(endpoint) == ["third"]
    assert result.usage.calls == 3
    record = store.run(first.run)
    assert (record.status, record.usage.calls, record.error) == ("finished", 3, None)
    assert {node.node: node.usage.calls for node in store.nodes(first.run) if node.usage.calls} == {
        "A": 1,
        "B": 1,
        "C": 1,
    }


async def test_a_resumed_run_is_what_the_journal_has_whatever_the_files_say_now(tmp_path: Path) -> None:
    file, prompts, library = tmp_path / "flow.mmd", tmp_path / "prompts.yaml", tmp_path / "ops.yaml"
    (tmp_path / "merrow.toml").write_text('libraries = ["ops.yaml"]\n')
    prompts.write_text("solver: solve it\n")
    library.write_text(
        "operators:\n  Mine:\n    inputs: {text: Text}\n    outputs: {better: Text}\n    prompt: improve it\n"
    )
    file.write_text(
        flowchart(
            'A@{op: Custom, role: solver}', "B@{op: Mine}", "PROBLEM --> A", "A -->|text| B", "B --> RETURN",
            front="{prompts: ./prompts.yaml}",
        )
    )  # fmt: skip
    store = MemoryStore()
    first = await merrow_runtime.run(file, {"problem": "x"}, endpoint=failing_at("improve it"), store=store)
    assert first.status == "failed"
    for path in (file, prompts, library, tmp_path / "merrow.toml"):
        path.unlink()
    endpoint = saying()
    result = await merrow_runtime.resume(first.run, endpoint=endpoint, store=store).result()
    assert result.outputs == {"RETURN": "improve it!"}, result.error
    assert asked(endpoint) == ["improve it"]


async def test_two_processes_are_kept_off_one_run(tmp_path: Path) -> None:
    here, there = Store.open(tmp_path / "runs.sqlite"), Store.open(tmp_path / "runs.sqlite")
    endpoint = saying()
    endpoint.gate = asyncio.Event()
    run = merrow_runtime.start(workflow(*CHAIN), {"problem": "x"}, endpoint=endpoint, store=here)
    await endpoint.until_asked(1)
    with pytest.raises(StoreFailure):
        merrow_runtime.resume(run.id, endpoint=endpoint, store=there)
    endpoint.gate.set()
    assert (await run.result()).status == "finished"
    again = await merrow_runtime.resume(run.id, endpoint=endpoint, store=there).result()
    assert (again.status, len(endpoint.seen)) == ("finished", 3)
    here.close()
    there.close()


async def test_a_finished_run_resumed_gives_the_same_without_a_call() -> None:
    store = MemoryStore()
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=saying(), store=store)
    endpoint = saying("?")
    again = await merrow_runtime.resume(first.run, endpoint=endpoint, store=store).result()
    assert (again.outputs, endpoint.seen) == (first.outputs, [])
    assert again.usage == first.usage


async def test_from_a_node_on_all_that_follows_is_made_anew_past_the_cache() -> None:
    store = MemoryStore()
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=saying(), store=store)
    endpoint = saying("?")
    options = RunOptions(from_run=first.run, from_node="b")
    run = merrow_runtime.start(workflow(*CHAIN), endpoint=endpoint, store=store, options=options)
    result = await run.result()
    assert asked(endpoint) == ["second", "third"]
    assert result.outputs == {"RETURN": "third?"}
    assert ("node_reused", "A") in await names_of(run)
    assert store.run(run.id).parent == first.run
    assert result.nodes["A"].status == "reused"
    assert result.usage.calls == 2


async def test_a_node_whose_key_differs_is_not_taken_over_and_style_is_no_part_of_it() -> None:
    store = MemoryStore()
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=saying(), store=store)
    styled = (*CHAIN, "classDef nice fill:#fff", "class A nice", "%% a comment", "style B fill:#000")
    options = RunOptions(from_run=first.run)
    same = merrow_runtime.start(workflow(*styled), endpoint=saying(), store=store, options=options)
    reused = [node for event, node in await names_of(same) if event == "node_reused"]
    assert reused == ["A", "B", "C"]
    changed = (CHAIN[0], 'B@{op: Custom, prompt: "other"}', *CHAIN[2:])
    endpoint = saying()
    other = await merrow_runtime.run(workflow(*changed), endpoint=endpoint, store=store, options=options)
    assert {name: node.status for name, node in other.nodes.items()} == {
        "PROBLEM": "finished", "A": "reused", "B": "finished", "C": "finished", "RETURN": "finished",
    }  # fmt: skip
    assert asked(endpoint) == ["other", "third"]


async def test_a_run_from_a_node_on_can_be_resumed() -> None:
    store = MemoryStore()
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=saying(), store=store)
    options = RunOptions(from_run=first.run, from_node="B")
    second = await merrow_runtime.run(workflow(*CHAIN), endpoint=failing_at("third"), store=store, options=options)
    assert second.status == "failed"
    store.delete(first.run)
    endpoint = saying()
    third = await merrow_runtime.resume(second.run, endpoint=endpoint, store=store).result()
    assert third.status == "finished", third.error
    assert asked(endpoint) == ["third"]
    assert third.nodes["A"].status == "reused"


async def test_one_node_runs_alone_with_values_that_are_set_or_were_there() -> None:
    store = MemoryStore()
    flow = workflow(*CHAIN)
    endpoint = FakeEndpoint()
    options = RunOptions(only="b", set_values={"B.input": "given"})
    result = await merrow_runtime.run(flow, endpoint=endpoint, store=store, options=options)
    assert result.outputs == {"B": "second <- given"}
    assert list(result.nodes) == ["B"]
    first = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    again = await merrow_runtime.run(
        flow, endpoint=endpoint, store=store, options=RunOptions(only="C", from_run=first.run)
    )
    assert again.outputs == {"C": "third <- second <- first <- x"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"only": "B"}, "Port input of node B has no value; set it with: --set B.input=..."),
        ({"only": "B", "set_values": {"B.other": "x"}}, "Node B has no port other; it has input."),
        ({"only": "B", "set_values": {"A.input": "x"}}, "A.input is not a port of the node that is run"),
        ({"only": "RETURN"}, "has no operator"),
        ({"only": "X"}, "The workflow has no node X"),
    ],
)
def test_one_node_without_its_values_is_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        merrow_runtime.start(
            workflow(*CHAIN),
            endpoint=saying(),
            store=MemoryStore(),
            options=RunOptions(**options),  # type: ignore[arg-type]
        )
    assert sentence in str(failure.value)


@pytest.mark.parametrize(
    "options",
    [{"from_node": "A"}, {"set_values": {"A.input": "x"}}, {"concurrency": 0}, {"only": "A", "from_node": "B"}],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageFailure):
        RunOptions(**options)  # type: ignore[arg-type]


async def test_the_journal_has_what_is_needed_to_look_at_a_run_and_no_secret() -> None:
    store = MemoryStore()
    flow = workflow(*CHAIN)
    options = RunOptions(base_url="https://name:secret@models.test/v1?key=secret")
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=saying(), store=store, options=options)
    record = store.run(result.run)
    assert "secret" not in str(record.snapshot)
    assert record.snapshot["base_url"] == "https://models.test/v1"
    node = next(node for node in store.nodes(result.run) if node.node == "B")
    assert node.definition is not None
    assert node.definition["prompt"] == "second"
    assert node.inputs == {"input": [{"node": "A", "output": "response", "type": "Text"}]}
    call = store.calls(result.run, "B")[0]
    assert call.request["messages"][0]["content"] == "second"
    assert call.result["text"] == "second!"


async def test_a_call_is_in_the_journal_before_its_result_is_used(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    store = Store.open(path)
    found: list[list[str]] = []

    def answer(request: ModelRequest) -> str:
        # What another process would find at this very moment.
        other = Store.open(path)
        found.append([call.key.node for call in other.calls(other.runs()[0].id)])
        other.close()
        return request.messages[0].content + "!"

    result = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=FakeEndpoint(answer), store=store)
    assert result.status == "finished", result.error
    assert found == [[], ["A"], ["A", "B"]]
    store.close()


@pytest.mark.parametrize(("settings", "kept"), [("", 1), ("[journal]\nkeep_days = false", 2)])
async def test_old_runs_go_when_another_begins_as_the_users_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, kept: int
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text(settings)
    store = Store.open(tmp_path / "runs.sqlite")
    await store.begin(RunRecord("old", "old.mmd", "finished", started=1000.0, ended=1000.0)).close()
    await merrow_runtime.run(workflow(*CHAIN), {"problem": "p"}, endpoint=FakeEndpoint())
    assert len(store.runs()) == kept
    store.close()


async def test_no_other_endpoint_goes_on_with_a_run_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path))
    store = MemoryStore()
    failed = await merrow_runtime.run(workflow(*CHAIN), {"problem": "p"}, endpoint=failing_at("second"), store=store)
    with pytest.raises(UsageFailure, match=r"by http://fake.test, but the embedded offline model would .* --base-url"):
        merrow_runtime.resume(failed.run, store=store)
    options = RunOptions(base_url="offline", reuse="any")
    resumed = await merrow_runtime.resume(failed.run, store=store, options=options).result()
    assert resumed.status == "finished"

    recording = tmp_path / "r.jsonl"
    options = RunOptions(record=recording)
    await merrow_runtime.run(workflow(*CHAIN), {"problem": "p"}, endpoint=FakeEndpoint(), options=options, store=store)
    options = RunOptions(replay=recording)
    missed = await merrow_runtime.run(workflow(*CHAIN), {"problem": "q"}, options=options, store=store)
    assert missed.status == "failed"
    with pytest.raises(UsageFailure, match="was replayed from a recording"):
        merrow_runtime.resume(missed.run, store=store)


async def test_a_journal_that_another_program_holds_is_waited_for_while_all_else_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE", PATIENCE)
    path = tmp_path / "runs.sqlite"
    store = Store.open(path)
    endpoint = FakeEndpoint()
    run = merrow_runtime.start(workflow(*CHAIN), {"problem": "p"}, endpoint=endpoint, store=store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for _ in range(20):  # turns in which the mark of the first call waits to be journalled: none leaves without it
        await asyncio.sleep(0.01)
    assert endpoint.seen == []
    other.execute("ROLLBACK")
    result = await asyncio.wait_for(run.result(), PATIENCE)
    assert result.status == "finished", result.error
    assert len(store.calls(run.id)) == 3
    assert store.run(run.id).status == "finished"
    store.close()


async def test_results_of_an_older_version_of_an_operator_are_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=saying(), store=store)
    options = RunOptions(from_run=first.run)
    same = await merrow_runtime.run(workflow(*CHAIN), endpoint=saying(), store=store, options=options)
    assert {name for name, node in same.nodes.items() if node.status == "reused"} == {"A", "B", "C"}
    monkeypatch.setattr(Custom, "version", Custom.version + 1)
    newer = await merrow_runtime.run(workflow(*CHAIN), endpoint=saying(), store=store, options=options)
    assert {name for name, node in newer.nodes.items() if node.status == "reused"} == set()


async def test_resuming_a_finished_run_changes_nothing_and_calls_nothing(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "runs.sqlite")
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=saying(), store=store)
    before = store.run(first.run), store.nodes(first.run), store.calls(first.run)
    endpoint, recording = saying("?"), tmp_path / "r.jsonl"
    for options in (RunOptions(), RunOptions(budget_tokens=1), RunOptions(record=recording, base_url="offline")):
        run = merrow_runtime.resume(first.run, endpoint=endpoint, store=store, options=options)
        result = await run.result()
        assert result.finished_before
        assert (result.status, result.outputs, result.usage) == ("finished", first.outputs, first.usage)
        assert result.seconds == before[0].seconds > 0
        assert (await names_of(run))[-1] == ("run_finished", None)
        assert {node for event, node in await names_of(run) if event == "node_finished"} == set(first.nodes)
    assert endpoint.seen == []
    assert (store.run(first.run), store.nodes(first.run), store.calls(first.run)) == before
    store.close()
    options = RunOptions(replay=recording)
    replayed = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, options=options, store=MemoryStore())
    assert replayed.outputs == first.outputs


async def test_a_finished_run_tells_the_same_when_it_is_resumed_and_records_the_calls_it_had(tmp_path: Path) -> None:
    store, recording = MemoryStore(), tmp_path / "r.jsonl"
    flow = workflow(*CHAIN, front="{model: m}")
    options = RunOptions(seed=7)
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=saying(), store=store, options=options)
    first = await run.result()
    before = [event.to_json() async for event in run.events() if event.event != "node_started"]
    again = merrow_runtime.resume(first.run, store=store, options=RunOptions(record=recording, base_url="offline"))
    result = await again.result()
    told = [event.to_json() async for event in again.events()]
    assert [one | {"at": 0} for one in told[1:-1]] == [one | {"at": 0} for one in before[1:-1]]
    begun = {"workflow": "test.mmd", "endpoint": "http://fake.test", "nodes": 5, "finished_before": True}
    assert {name: value for name, value in told[0].items() if name not in ("at", "run")} == {
        "schema": before[0]["schema"], "event": "run_started", "number": 1, "node": None, "path": "", **begun,
    }  # fmt: skip
    assert told[-1]["number"] == told[-2]["number"] + 1
    assert result.to_json() == {**first.to_json(), "seconds": store.run(first.run).seconds, "finished_before": True}
    assert set(result.nodes) == set(first.nodes) == set(again.nodes)
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    assert lines[0] == {"merrow_recording": 1, "workflow": "test.mmd", "seed": 7, "model": "gpt-4o-mini"}
    assert [(line["node"], line["request_hash"]) for line in lines[1:]] == [
        (call.key.node, call.request_hash) for call in store.calls(first.run)
    ]
    kept = CallList()
    await merrow_runtime.resume(first.run, store=store, options=RunOptions(record=kept, base_url="offline")).result()
    assert kept.calls == store.calls(first.run)


async def test_the_time_of_a_run_is_that_of_its_work_and_not_of_the_pause_between() -> None:
    store = MemoryStore()
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=failing_at("third"), store=store)
    store._database.execute("UPDATE runs SET started = started - 86400, ended = ended - 86000, seconds = 1000.0")
    result = await merrow_runtime.resume(first.run, endpoint=saying(), store=store).result()
    assert store.run(first.run).seconds == pytest.approx(1000.0 + result.seconds, abs=1.0)


async def test_the_journal_gives_back_what_the_run_told_of_its_nodes() -> None:
    """A node that is skipped included: it has no definition, since it did not run."""
    store = MemoryStore()
    flow = workflow(
        CHAIN[0], CHAIN[1], CHAIN[2], "D{which?}:::DecisionOp", "PROBLEM --> A --> D", "D -- first! --> B", "D -- else --> C",
        "PROBLEM --> B & C", "B & C --> RETURN",
    )  # fmt: skip
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=saying(), store=store)
    assert {name: node.status for name, node in result.nodes.items() if name in "BC"} in (
        {"B": "finished", "C": "skipped"},
        {"B": "skipped", "C": "finished"},
    )
    kept = {node.node: node for node in store.nodes(result.run)}
    assert kept.keys() == result.nodes.keys()
    for name, told in result.nodes.items():
        found = kept[name]
        assert (found.ended, found.started) == (pytest.approx(told.ended), pytest.approx(told.started))
        assert replace(found, started=0, ended=0, memory=()) == replace(told, started=0, ended=0, memory=())
        assert list(found.memory) == list(told.memory)
