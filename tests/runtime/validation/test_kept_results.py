"""Results that are kept: a changed validator judges them, and only what is not valid is made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.validation.judged import Model, judged, run, validation, verdict

import merrow_runtime
from merrow_runtime import RunOptions, RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore

SHORT = {"if": "len(output) < 4"}
RUBRIC = {"rubric": "It rhymes."}


async def taken(store: Any, flow: Any, earlier: RunResult, model: FakeEndpoint, **more: Any) -> RunResult:
    options = RunOptions(from_run=earlier.run, fresh=True)
    return await run(flow, model, store=store, options=options, **more)


async def test_the_same_validator_does_not_judge_again() -> None:
    store = MemoryStore()
    first = await run(judged(RUBRIC), Model(["abc"], [verdict(True)]), store=store)
    model = Model(["other"], [verdict(False)])
    again = await taken(store, judged(RUBRIC), first, model)
    assert (again.outputs, again.nodes["A"].status, model.seen) == ({"RETURN": "abc"}, "reused", [])
    assert validation(again) == (1, True, [[]])


async def test_a_changed_validator_judges_what_is_kept() -> None:
    store = MemoryStore()
    first = await run(judged(SHORT), Model(["abc"]), store=store)
    model = Model(["other"], [verdict(True)])
    again = await taken(store, judged(RUBRIC), first, model)
    assert (again.outputs, again.nodes["A"].status) == ({"RETURN": "abc"}, "reused")
    assert (len(model.questions()), len(model.questions("merrow_verdict"))) == (0, 1)


async def test_what_is_not_valid_any_more_is_the_first_attempt() -> None:
    store = MemoryStore()
    plain = workflow('A@{op: Custom, prompt: "Say."}', "PROBLEM --> A --> RETURN", front="{model: m}")
    first = await run(plain, Model(["wordy"]), store=store)
    model = Model(["abc"])
    again = await taken(store, judged(SHORT), first, model)
    assert (again.outputs, again.nodes["A"].status) == ({"RETURN": "abc"}, "finished")
    assert validation(again) == (2, True, [["`len(output) < 4` does not hold."], []])
    (asked,) = model.seen
    assert [one.content for one in asked.messages if one.role == "assistant"] == ["wordy"]
    third = await taken(store, judged(SHORT), again, Model(["never"]))
    assert (third.outputs, third.nodes["A"].status) == ({"RETURN": "abc"}, "reused")


async def test_a_validator_is_no_part_of_the_key() -> None:
    keys = {(await run(judged(check), Model(["abc"], [verdict(True)]))).nodes["A"].key for check in (SHORT, RUBRIC)}
    plain = workflow('A@{op: Custom, prompt: "Say."}', "PROBLEM --> A --> RETURN", front="{model: m}")
    keys.add((await run(plain, Model(["abc"]))).nodes["A"].key)
    assert len(keys) == 1


async def test_an_accepted_result_stays_marked_where_it_is_kept() -> None:
    store, flow = MemoryStore(), judged(SHORT, ", attempts: 1, on_invalid: accept")
    first = await run(flow, Model(["wordy"]), store=store)
    again = await taken(store, flow, first, Model(["never"]))
    assert (again.nodes["A"].status, again.not_valid) == ("reused", ["A"])


async def test_an_output_with_other_inputs_is_judged_again() -> None:
    store = MemoryStore()
    flow = workflow(
        'A@{op: Custom, prompt: "Say."}',
        "B@{op: Pass}",
        "PROBLEM --> A",
        "A --> B --> RETURN",
        "RETURN@{validate: w}",
        front="{model: m, validators: {w: {if: \"inputs.PROBLEM != 'bad'\"}}}",
    )
    first = await run(flow, Model(["abc"]), store=store)
    assert first.status == "finished"
    options = RunOptions(from_run=first.run)
    again = await merrow_runtime.run(flow, {"problem": "bad"}, endpoint=Model(["abc"]), store=store, options=options)
    assert again.failure is not None
    assert again.failure.code == "invalid"


async def test_kept_samples_are_judged_one_by_one() -> None:
    def flow(check: str) -> Any:
        return workflow(
            'A@{op: Custom, prompt: "A.", samples: 3, temperature: 1, validate: v}',
            "B@{op: Assemble, how: concat}",
            "PROBLEM --> A --> B --> RETURN",
            front=f'{{model: m, validators: {{v: {{if: "{check}"}}}}}}',
        )

    store = MemoryStore()
    first = await run(flow("len(output) < 9"), Model(["aaa", "bbbbb", "ccc"]), store=store)
    model = Model(["ddd"])
    again = await taken(store, flow("len(output) < 4"), first, model)
    assert again.nodes["A"].outputs == {"response": ["aaa", "ddd", "ccc"]}
    assert len(model.seen) == 1


async def test_a_resumed_run_asks_nothing_twice_and_keeps_its_verdicts(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "runs.sqlite")
    stops = Model(["wordy", RuntimeError("stop"), "abc"], [verdict(True)])
    flow = judged([SHORT, RUBRIC])
    first = await run(flow, stops, store=store)
    assert first.status == "failed"
    model = Model(["abc"], [verdict(True)])
    again = await merrow_runtime.resume(first.run, endpoint=model, store=store).result()
    assert (again.outputs, len(model.questions())) == ({"RETURN": "abc"}, 1)
    assert validation(again) == (2, True, [["`len(output) < 4` does not hold."], []])
    told = {node.node: node.validation for node in store.nodes(first.run)}
    assert told["A"] == again.nodes["A"].validation
    store.close()


async def test_a_replay_gives_the_same_bytes(tmp_path: Path) -> None:
    flow = judged([{"regex": "c"}, RUBRIC], of_return="validate: v")
    recorded, again = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    answers = Model(["wordy", "abc", "abcd"], [verdict(False, "No."), verdict(True), verdict(True)])
    first = await run(flow, answers, options=RunOptions(record=recorded))
    silent = Model([RuntimeError("not to be asked")])
    options = RunOptions(replay=recorded, record=again)
    second = await run(flow, silent, options=options)
    assert (second.outputs, silent.seen) == (first.outputs, [])
    assert [node.validation for node in second.nodes.values()] == [node.validation for node in first.nodes.values()]
    third = tmp_path / "three.jsonl"
    await run(flow, silent, options=RunOptions(replay=again, record=third))
    assert third.read_bytes() == again.read_bytes()
