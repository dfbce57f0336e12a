"""Agents, how many of their nodes run at once, and what nodes are told of their readers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow

import merrow_runtime
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.memory import MemoryStore

AGENTS = '{agents: {ui: {role: UI designer, prompt: "Use {plain} HTML.", model: small, temperature: 0.5}}}'


async def ask(*lines: str, front: str = "", endpoint: FakeEndpoint | None = None, **more: Any) -> FakeEndpoint:
    endpoint = FakeEndpoint() if endpoint is None else endpoint
    flow = workflow(*lines, front=front)
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore(), **more)
    assert result.status == "finished", result.error
    return endpoint


async def test_an_agent_is_told_first_and_its_keys_are_defaults() -> None:
    endpoint = await ask(
        'A@{op: Custom, prompt: "Draw it.", agent: UI, format: "SVG"}', "PROBLEM --> A --> RETURN", front=AGENTS
    )
    (request,) = endpoint.seen
    assert request.messages[0].content == (
        "Your role: UI designer.\n\nUse {plain} HTML.\n\nDraw it.\n\nWrite your answer in this format: SVG."
    )
    assert (request.model, request.temperature) == ("small", 0.5)


async def test_what_a_node_says_itself_takes_precedence() -> None:
    node = 'A@{op: Custom, prompt: "Draw it.", agent: ui, model: large, temperature: 0}'
    endpoint = await ask(node, "PROBLEM --> A --> RETURN", front=AGENTS)
    assert (endpoint.seen[0].model, endpoint.seen[0].temperature) == ("large", 0.0)


async def test_an_agent_keeps_a_template_a_template() -> None:
    node = 'A@{op: Custom, prompt: "Draw {input}.", template: true, agent: ui}'
    endpoint = await ask(node, "PROBLEM --> A --> RETURN", front=AGENTS)
    assert (
        endpoint.seen[0]
        .messages[-1]
        .content.startswith("Your role: UI designer.\n\nUse {plain} HTML.\n\nDraw\n```\nx\n```\n.")
    )


def _key(result: RunResult, node: str) -> str | None:
    return result.nodes[node].key


async def test_an_agent_is_part_of_the_definition_and_its_name_is_not() -> None:
    keys = []
    for front in (
        AGENTS,
        AGENTS.replace("ui:", "page:"),
        AGENTS.replace("plain", "modern"),
        AGENTS.replace("small", "tiny"),
    ):
        name = "page" if "page:" in front else "ui"
        flow = workflow(f'A@{{op: Custom, prompt: "Draw it.", agent: {name}}}', "PROBLEM --> A --> RETURN", front=front)
        keys.append(
            _key(await merrow_runtime.run(flow, {"problem": "x"}, endpoint=FakeEndpoint(), store=MemoryStore()), "A")
        )
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


async def _bounded(nodes: int, instances: int, others: int) -> None:
    front = f"{{agents: {{a: {{role: A, instances: {instances}}}, b: {{role: B}}}}}}"
    lines = [f'A{n}@{{op: Custom, prompt: "by a", agent: a}}' for n in range(nodes)]
    lines += [f'B{n}@{{op: Custom, prompt: "by b", agent: b}}' for n in range(others)]
    names = [line.split("@")[0] for line in lines]
    lines += [f"PROBLEM --> {name} --> Z" for name in names] + ["Z@{op: Assemble, how: concat}", "Z --> RETURN"]
    working = {"a": 0, "b": 0}
    most = {"a": 0, "b": 0}

    async def answer(request: Any) -> str:
        who = "a" if "by a" in request.messages[0].content else "b"
        working[who] += 1
        most[who] = max(most[who], working[who])
        for _ in range(5):
            await asyncio.sleep(0)
        working[who] -= 1
        return "done"

    run = merrow_runtime.start(
        workflow(*lines, front=front),
        {"problem": "x"},
        endpoint=FakeEndpoint(answer),
        store=MemoryStore(),
        options=merrow_runtime.RunOptions(fresh=True, concurrency=32),
    )
    clones = [
        event.data.get("clone", 1)
        async for event in run.events()
        if event.event == "node_started" and (event.node or "")[0] == "A"
    ]
    result = await run.result()
    assert result.status == "finished", result.error
    assert max(clones) <= instances
    assert most["a"] <= instances
    assert len(clones) == nodes


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 4))
def test_no_more_nodes_of_an_agent_run_than_it_has_instances(nodes: int, instances: int, others: int) -> None:
    asyncio.run(_bounded(nodes, instances, others))


async def test_clones_are_numbered() -> None:
    front = "{agents: {a: {role: A}}}"
    lines = [f'A{n}@{{op: Custom, prompt: "{n}", agent: a}}' for n in range(3)]
    lines += [f"PROBLEM --> A{n} --> Z" for n in range(3)] + ["Z@{op: Assemble, how: concat}", "Z --> RETURN"]
    run = merrow_runtime.start(
        workflow(*lines, front=front), {"problem": "x"}, endpoint=FakeEndpoint(), store=MemoryStore()
    )
    started = [event.to_json() async for event in run.events() if event.event == "node_started"]
    assert {one["node"]: one.get("clone") for one in started} == {"A0": None, "A1": 2, "A2": 3, "Z": None}


READERS = (
    'A@{op: Custom, prompt: "Write a draft.", aims: true}',
    'B@{op: Custom, prompt: "Count its words."}',
    "PROBLEM --> A --> B --> RETURN",
)


async def test_a_node_knows_the_aims_of_its_readers() -> None:
    endpoint = await ask(*READERS)
    first, second = (request.messages[0].content for request in endpoint.seen)
    assert first.startswith("Write a draft.\n\nYour result is read by other steps.")
    assert first.endswith("## B\n```\nCount its words.\n```")
    assert second == "Count its words."


async def test_aims_are_told_to_a_node_without_a_prompt() -> None:
    endpoint = await ask("A@{op: Custom, aims: true}", *READERS[1:])
    told, given = endpoint.seen[0].messages
    assert (told.role, given.role, given.content) == ("system", "user", "x")
    assert told.content.startswith("Your result is read by other steps.")


async def test_aims_may_be_said_for_all_and_denied_by_one() -> None:
    lines = (
        'A@{op: Custom, prompt: "one"}',
        'B@{op: Custom, prompt: "two", aims: false}',
        'C@{op: Custom, prompt: "three"}',
    )
    endpoint = await ask(*lines, "PROBLEM --> A --> B --> C --> RETURN", front="{aims: true}")
    assert ["## " in request.messages[0].content for request in endpoint.seen] == [True, False, False]


async def test_aims_look_behind_decisions() -> None:
    endpoint = await ask(
        'A@{op: Custom, prompt: "one", aims: true}', 'B@{op: Custom, prompt: "two"}', 'C@{op: Custom, prompt: "three"}',
        'D{which?}:::DecisionOp', 'D@{if: "when != 1"}', "PROBLEM --> A --> D",
        "PROBLEM --> B & C --> RETURN", "D -- yes --> B", "D -- no --> C",
    )  # fmt: skip
    assert all(word in endpoint.seen[0].messages[0].content for word in ("## B\n```\ntwo", "## C\n```\nthree"))


async def test_editing_a_reader_undoes_nothing() -> None:
    """Aims are in neither the node's key nor what the journal and the cache know a call by."""
    store = MemoryStore()
    endpoint = FakeEndpoint(lambda _: "said")
    results = []
    for text in ("Count its words.", "Count its letters."):
        flow = workflow(READERS[0], f'B@{{op: Custom, prompt: "{text}"}}', READERS[2])
        results.append(await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store))
    assert _key(results[0], "A") == _key(results[1], "A") is not None
    assert _key(results[0], "B") != _key(results[1], "B")
    assert ["Write a draft." in request.messages[0].content for request in endpoint.seen] == [True, False, False]


@pytest.mark.parametrize("front", ["", "{agents: {a: {role: A}}}"])
def test_the_dry_run_shows_them(front: str) -> None:
    planned = merrow_runtime.dry_run(workflow(*READERS, front=front), {"problem": "x"}).to_json()
    (asked,) = [node for node in planned["nodes"] if node["node"] == "A"]
    assert "Count its words." in str(asked)
