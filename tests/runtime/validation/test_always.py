"""Whatever verdicts come: bounds of calls and attempts hold, and a process that is killed makes no call twice."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import sys
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.validation.judged import verdict
from tests.sizes import sized

import merrow_runtime
from merrow_runtime import RunResult, dry_run
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow

KILLS = sized(4, 12)

CHECKS = [
    {"if": "len(output) % 2 == 0"},
    {"if": "'a' in output"},
    {"rubric": "Good."},
    {"rubric": "Good.", "votes": 3},
]
ENDS = ["fail", "refine", "skip", "accept"]

nodes = st.fixed_dictionaries(
    {
        "checks": st.lists(st.sampled_from(CHECKS), min_size=1, max_size=3),
        "attempts": st.integers(1, 4),
        "on_invalid": st.sampled_from(ENDS),
        "samples": st.sampled_from([None, None, 1, 3]),
        "on_error": st.sampled_from(["fail", "skip", "default"]),
    }
)


def flow_of(drawn: list[dict[str, object]], in_map: bool) -> Workflow:
    """Nodes side by side, all of them joined; the first of them inside a Map of two items where that is drawn."""
    validators = {f"v{n}": one["checks"] for n, one in enumerate(drawn)}
    lines = ["J@{op: Assemble, how: concat}", "PROBLEM --> J", "J --> RETURN"]
    for n, one in enumerate(drawn):
        samples = "" if one["samples"] is None else f", samples: {one['samples']}, temperature: 1"
        keys = f"validate: v{n}, attempts: {one['attempts']}, on_invalid: {one['on_invalid']}, default: dd"
        node = f'N{n}@{{op: Custom, prompt: "Say {n}.", {keys}, on_error: {one["on_error"]}{samples}}}'
        lines += ['subgraph M["Map (max: 2, min: 0, on_error: skip)"]', node, "end"] if in_map and n == 0 else [node]
        lines += [f"N{n} --> J", f"{'L -->|each:input|' if in_map and n == 0 else 'PROBLEM -->'} N{n}"]
    if in_map:
        lines += ["L@{op: Custom, prompt: List, format: json, returns: 'list[Text]'}", "PROBLEM --> L"]
    return workflow(*lines, front=json.dumps({"model": "m", "validators": validators}))


@settings(max_examples=8, deadline=None)
@given(st.lists(nodes, min_size=1, max_size=3), st.booleans(), st.integers(0, 2**32))
def test_calls_and_attempts_stay_within_what_the_dry_run_says(
    drawn: list[dict[str, object]], in_map: bool, seed: int
) -> None:
    flow = flow_of(drawn, in_map)
    chance = random.Random(seed)

    def answer(request: ModelRequest) -> str:
        if request.schema is None:
            is_list = request.messages[0].content.startswith("List")
            return '["p", "q"]' if is_list else chance.choice(["a", "ab", "ba", "xyz", "xx"])
        return verdict(chance.random() < 0.4, "No.", feedback="Better.")

    endpoint = FakeEndpoint(answer)
    planned = dry_run(flow, {"problem": "x"}, endpoint=FakeEndpoint(answer))
    result = asyncio.run(merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore()))
    assert planned.calls.most is not None
    assert len(endpoint.seen) <= planned.calls.most
    if result.status == "finished":
        assert len(endpoint.seen) >= planned.calls.least
    else:
        assert result.failure is not None
        assert result.failure.code == "invalid"
    for n, one in enumerate(drawn):
        for record in (found for name, found in result.nodes.items() if found.node == f"N{n}" and found.validation):
            found = record.validation
            assert found is not None
            assert 1 <= found["attempt"] <= int(str(one["attempts"]))
            for sample in {each.get("sample") for each in found["attempts"]}:
                tried = [each["valid"] for each in found["attempts"] if each.get("sample") == sample]
                assert len(tried) <= int(str(one["attempts"]))
                assert True not in tried[:-1]
            if record.status == "finished":
                assert found["valid"] or one["on_invalid"] == "accept" or one["samples"] is not None
            else:
                assert not found["valid"]


LENGTH = 6
CHAIN = [
    f'N{n}@{{op: Custom, prompt: "Say {n}.", validate: v, attempts: 3, on_invalid: accept}}' for n in range(LENGTH)
]
KILLED = (*CHAIN, " --> ".join(["PROBLEM", *(f"N{n}" for n in range(LENGTH)), "RETURN"]))
FRONT = "{model: m, validators: {v: [{if: \"'3' in output\"}, {rubric: Good, votes: 2}]}}"


def _logging(log: Path, reached: Event | None = None, calls: int = 0) -> FakeEndpoint:
    """Writes down what it is asked, then answers by the number of earlier attempts; the second verdict passes."""

    def answer(request: ModelRequest) -> str:
        attempt = sum(one.role == "assistant" for one in request.messages) + 1
        with log.open("a") as file:
            file.write(json.dumps(request.to_json(), sort_keys=True) + "\n")
        if reached is not None and len(log.read_text().splitlines()) == calls:
            reached.set()
        if request.schema is None:
            return f"{request.messages[0].content} {attempt + 1}"
        return verdict("Say 2" not in request.messages[1].content, "No.")

    return FakeEndpoint(answer)


def _work(path: Path, log: Path, calls: int, reached: Event) -> None:
    async def work() -> None:
        store = Store.open(path)
        flow = workflow(*KILLED, front=FRONT)
        await merrow_runtime.run(flow, {"problem": "x"}, endpoint=_logging(log, reached, calls), store=store)
        store.close()

    asyncio.run(work())


def _resumed(path: Path, endpoint: FakeEndpoint) -> tuple[list[str], RunResult]:
    async def work() -> tuple[list[str], RunResult]:
        store = Store.open(path)
        run = store.runs()[0]
        kept = [json.dumps(call.request, sort_keys=True) for call in store.calls(run.id) if call.kind == "model"]
        result = await merrow_runtime.resume(run.id, endpoint=endpoint, store=store).result()
        store.close()
        return kept, result

    return asyncio.run(work())


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")
def test_a_run_killed_between_attempts_and_verdicts_makes_no_call_twice(tmp_path: Path) -> None:
    whole = tmp_path / "whole.log"
    flow = workflow(*KILLED, front=FRONT)
    wanted = asyncio.run(merrow_runtime.run(flow, {"problem": "x"}, endpoint=_logging(whole), store=MemoryStore()))
    asked = whole.read_text().splitlines()
    forks = multiprocessing.get_context("fork")
    chance = random.Random(7)
    for number in range(KILLS):
        path, log, again = (tmp_path / f"{number}.{kind}" for kind in ("sqlite", "log", "again"))
        reached = forks.Event()
        process = forks.Process(target=_work, args=(path, log, chance.randint(1, len(asked) - 1), reached))
        process.start()
        assert reached.wait(PATIENCE)
        process.join(chance.uniform(0.0, 0.003))
        process.kill()
        process.join()
        kept, result = _resumed(path, _logging(again))
        made = again.read_text().splitlines() if again.exists() else []
        assert (result.status, result.outputs) == ("finished", wanted.outputs)
        # Each of two votes asks the same, so that one may be kept and the other one made.
        assert sorted([*kept, *made]) == sorted(asked)
        assert [one.validation for one in result.nodes.values()] == [one.validation for one in wanted.nodes.values()]
