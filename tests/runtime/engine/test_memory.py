"""What nodes remember: the ancestors that ran, in order, without what reaches them anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, answered, workflow

import merrow_runtime
from merrow_runtime.frontier import memories
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore


def prompt_of(request: ModelRequest) -> str:
    return request.messages[0].content.split("\n")[0]


async def memory_of(node: str, *lines: str, front: str = "") -> list[str]:
    """The nodes that ``node`` remembers, in order."""
    endpoint = FakeEndpoint(lambda r: f"said by {prompt_of(r)}")
    flow = workflow(*lines, front=front)
    result = await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=endpoint, store=MemoryStore())
    assert result.status == "finished", result.error
    return [str(entry["node"]) for entry in result.nodes[node].memory]


CHAIN = tuple(f'{n}@{{op: Custom, prompt: "{n.lower()}"}}' for n in "ABCD")


async def test_a_node_remembers_its_ancestors_without_what_an_edge_brings() -> None:
    edges = "PROBLEM --> A --> B --> C --> D --> RETURN"
    assert await memory_of("D", *CHAIN, edges, front="{memory: all}") == ["PROBLEM", "A", "B"]
    assert await memory_of("D", *CHAIN, edges, front="{memory: {last: 2}}") == ["A", "B"]
    assert await memory_of("D", *CHAIN, edges) == []
    assert await memory_of("A", *CHAIN, edges, front="{memory: all}") == []


async def test_a_parallel_branch_is_neither_seen_nor_waited_for() -> None:
    held = asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if prompt_of(request) == "b":
            await held.wait()
        if prompt_of(request) == "c":
            held.set()
        return "x"

    flow = workflow(*CHAIN, "PROBLEM --> A & B", "A --> C", "C & B --> D --> RETURN", front="{memory: all}")
    result = await asyncio.wait_for(
        merrow_runtime.run(flow, {"problem": "x"}, endpoint=FakeEndpoint(answer), store=MemoryStore()), PATIENCE
    )
    assert [entry["node"] for entry in result.nodes["C"].memory] == ["PROBLEM"]
    assert [entry["node"] for entry in result.nodes["D"].memory] == ["PROBLEM", "A"]


async def test_a_branch_that_was_not_taken_is_not_remembered() -> None:
    lines = (
        'R@{op: Custom, prompt: "r"}', "D0{which?}:::DecisionOp", *CHAIN[:3], "PROBLEM --> R --> D0", "D0 -- a --> A",
        "D0 -- else --> B", "PROBLEM --> A & B", "A & B --> C --> RETURN", 'C@{memory: all}',
    )  # fmt: skip
    assert await memory_of("C", *lines) == ["PROBLEM", "R"]


async def test_a_value_that_a_decision_carries_is_not_remembered_beside_it() -> None:
    lines = (
        'R["Review"]:::ReviewOp', *CHAIN[:2], "PROBLEM --> A", "A -->|solution| R", "PROBLEM -->|problem| R",
        "D0{good?}:::DecisionOp", "R -->|result:when| D0", "A -->|value| D0", "D0 -- yes --> B", "D0 -- no --> B",
        "B --> RETURN", "B@{memory: all}",
    )  # fmt: skip
    endpoint = FakeEndpoint(answered)
    flow = workflow(*lines)
    result = await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=endpoint, store=MemoryStore())
    assert result.status == "finished", result.error
    assert [entry["node"] for entry in result.nodes["B"].memory] == ["PROBLEM", "R"]


async def test_a_summary_is_one_journalled_call() -> None:
    store = MemoryStore()
    endpoint = FakeEndpoint(lambda r: "a summary" if "Summarise" in r.messages[0].content else "x")
    flow = workflow(*CHAIN[:3], "PROBLEM --> A --> B --> C --> RETURN", "C@{memory: summary}")
    result = await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=endpoint, store=store)
    assert [call.key.step for call in store.calls(result.run, "C")] == ["memory", "answer"]
    assert [entry["text"] for entry in result.nodes["C"].memory] == ["a summary"]
    assert result.usage.calls == 4


@pytest.mark.parametrize(("first", "second"), [("a", "other"), ("other", "b")])
async def test_of_two_gates_only_the_one_that_is_open_is_looked_behind(first: str, second: str) -> None:
    """C is reached by the case of either Decision, and remembers what led to the one that chose it."""
    lines = (
        'R@{op: Custom, prompt: "r"}', 'S@{op: Custom, prompt: "s"}', "D0{first?}:::DecisionOp", "D1{second?}:::DecisionOp",
        *CHAIN[:3], "PROBLEM --> R --> D0", "PROBLEM --> S --> D1", "D0 -- a --> C", "D0 -- else --> A", "PROBLEM --> A",
        "D1 -- b --> C", "D1 -- else --> B", "PROBLEM --> B", "PROBLEM --> C", 'E@{op: Custom, prompt: "e"}',
        "PROBLEM & A & B & C --> E --> RETURN",
        "C@{memory: all}",
    )  # fmt: skip
    answers = {"r": first, "s": second}
    endpoint = FakeEndpoint(lambda request: answers.get(prompt_of(request), "x"))
    flow = workflow(*lines)
    result = await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=endpoint, store=MemoryStore())
    assert result.status == "finished", result.error
    assert result.nodes["C"].status == "finished"
    assert [entry["node"] for entry in result.nodes["C"].memory] == ["R" if first == "a" else "S"]


async def test_the_result_that_is_remembered_is_the_first_output_in_whatever_order_the_model_writes_them() -> None:
    judge = 'JUDGE@{op: AnswerGenerate, prompt: "judge"}'
    endpoint = FakeEndpoint(
        lambda r: '{"thought": "hm", "answer": "yes"}' if "thought" in r.messages[0].content else "b"
    )
    flow = workflow(judge, *CHAIN[1:3], "PROBLEM --> JUDGE --> B --> C --> RETURN", front="{memory: all}")
    result = await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=endpoint, store=MemoryStore())
    assert result.status == "finished", result.error
    assert [(entry["node"], entry["text"]) for entry in result.nodes["C"].memory] == [
        ("PROBLEM", "what?"),
        ("JUDGE", "yes"),
    ]


async def test_the_newest_results_are_found_without_all_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    before = memories._before

    def counted(*visit: Any) -> Iterator[Any]:
        nonlocal looked_at
        looked_at += 1
        return before(*visit)

    monkeypatch.setattr(memories, "_before", counted)

    async def turns(count: int) -> tuple[int, list[str]]:
        nonlocal looked_at
        looked_at = 0
        flow = workflow(
            f'subgraph L["Loop (max: {count})"]', *CHAIN[:2], "end", "PROBLEM --> A --> B", "B -.->|again:input| A",
            "B -->|over| RETURN", front="{memory: {last: 3}}",
        )  # fmt: skip
        endpoint = FakeEndpoint(lambda r: f"said by {prompt_of(r)}")
        result = await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=endpoint, store=MemoryStore())
        assert result.status == "finished", result.error
        return looked_at, [str(entry["title"]) for entry in result.nodes[f"L[{count}]/B"].memory]

    first, _ = await turns(10)
    second, titles = await turns(40)
    assert second - first < first * 3.5
    assert [title.partition("turn ")[2] for title in titles] == ["38", "39", "39"]
