"""``memory: agent``: a node sees the earlier results of its own agent, in the dry run and in its key, too."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow

import merrow_runtime
from merrow_optimizer.evaluation.keys import semantic_hash
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.memory import MemoryStore

AGENTS = "agents: {ann: {role: Author}, ed: {role: Editor}}"
FRONT = f"{{memory: agent, {AGENTS}}}"


def node(name: str, agent: str | None, more: str = "") -> str:
    own = "" if agent is None else f", agent: {agent}"
    return f'{name}@{{op: Custom, prompt: "Do {name}."{own}{more}}}'


def said(request: ModelRequest) -> str:
    """The node's own prompt."""
    return next(line for line in request.messages[0].content.split("\n") if line.startswith("Do "))


async def run(*lines: str, front: str = FRONT, endpoint: FakeEndpoint | None = None) -> RunResult:
    endpoint = endpoint or FakeEndpoint(said)
    result = await merrow_runtime.run(
        workflow(*lines, front=front), {"problem": "what?"}, endpoint=endpoint, store=MemoryStore()
    )
    assert result.status == "finished", result.error
    return result


def seen(result: RunResult, name: str) -> list[str]:
    return [str(entry["node"]) for entry in result.nodes[name].memory]


CHAIN = (node("A", "ann"), node("B", "ed"), node("C", "Ann"), node("D", "ed"), node("E", None), node("F", "ann"))
EDGES = "PROBLEM --> A --> B --> C --> D --> E --> F --> RETURN"


async def test_a_node_sees_the_earlier_results_of_its_agent_alone() -> None:
    endpoint = FakeEndpoint(said)
    result = await run(*CHAIN, EDGES, endpoint=endpoint)
    assert {name: seen(result, name) for name in "ABCDEF"} == {
        "A": [],
        "B": [],
        "C": ["A"],
        "D": ["B"],
        "E": [],
        "F": ["A", "C"],
    }
    assert [entry["text"] for entry in result.nodes["F"].memory] == ["Do A.", "Do C."]
    (asked,) = [one for one in endpoint.seen if "Do F." in one.messages[0].content]
    assert asked.messages[-1].content.count("## Earlier result") == 2


async def test_a_node_may_say_so_itself_and_differ_from_the_workflow() -> None:
    lines = (*CHAIN[:3], node("D", "ed", ", memory: agent"), *CHAIN[4:], EDGES)
    result = await run(*lines, front=f"{{memory: all, {AGENTS}}}")
    assert seen(result, "D") == ["B"]
    assert seen(result, "C") == ["PROBLEM", "A"]


async def test_what_arrives_by_an_edge_or_runs_beside_it_is_not_remembered() -> None:
    lines = (*(node(name, "ann") for name in "ABCD"), "PROBLEM --> A & B", "A --> C & D", "B & C --> D --> RETURN")
    result = await run(*lines)
    assert {name: seen(result, name) for name in "BCD"} == {"B": [], "C": [], "D": []}


async def test_turns_of_a_loop_are_told_apart() -> None:
    lines = (
        "PROBLEM --> A",
        "subgraph TURNS",
        node("A", "ann"),
        node("B", "ed"),
        "A --> B",
        "B -->|again| A",
        "end",
        "TURNS@{ op: Loop, max: 3 }",
        "B --> RETURN",
    )
    result = await run(*lines)
    assert [entry["node"] for entry in result.nodes["TURNS[3]/A"].memory] == ["A", "A"]
    assert [str(entry["title"])[-6:] for entry in result.nodes["TURNS[3]/A"].memory] == ["turn 1", "turn 2"]


async def test_the_key_changes_with_what_the_agent_did_before_and_with_nothing_else() -> None:
    def answering(changed: str) -> FakeEndpoint:
        return FakeEndpoint(lambda request: "other" if said(request) == f"Do {changed}." else said(request))

    keys = {changed: (await run(*CHAIN, EDGES, endpoint=answering(changed))).nodes["F"].key for changed in "-ABCD"}
    assert keys["-"] == keys["B"] == keys["D"]
    assert len({keys["-"], keys["A"], keys["C"]}) == 3


def test_who_sees_whose_results_is_part_of_what_a_workflow_does() -> None:
    def hashed(front: str, *agents: str) -> str:
        names = [node(name, agent) for name, agent in zip("ABC", agents, strict=True)]
        flow = workflow(*names, "PROBLEM --> A --> B --> C --> RETURN", front=front)
        return semantic_hash(flow, make_steps(flow, RunOptions()))

    same = "agents: {x: {role: R}, y: {role: R}}"
    front = f"{{memory: agent, {same}}}"
    assert hashed(front, "x", "x", "x") == hashed(front, "y", "y", "y")
    assert hashed(front, "x", "y", "x") == hashed(front, "y", "x", "y")
    assert hashed(front, "x", "y", "x") != hashed(front, "x", "x", "x")
    assert hashed(f"{{{same}}}", "x", "y", "x") == hashed(f"{{{same}}}", "x", "x", "x")


@settings(max_examples=6, deadline=None)
@given(st.lists(st.sampled_from(["ann", "ed", None]), min_size=2, max_size=6), st.data())
def test_memory_of_an_agent_is_what_all_would_be_without_the_others(
    agents: list[str | None], data: st.DataObject
) -> None:
    """On any graph: of the results that `all` would show, those of nodes with the same agent, in the same order."""
    names = [f"N{number}" for number in range(len(agents))]
    whose = dict(zip(names, agents, strict=True))
    lines = [node(name, agent) for name, agent in whose.items()]
    for number, name in enumerate(names):
        before = data.draw(st.sets(st.sampled_from(names[:number]))) if number else set()
        lines += [f"{one} --> {name}" for one in sorted(before) or ["PROBLEM"]]
    lines += [f"{name} --> Z" for name in names] + ["Z@{op: Assemble, how: concat}", "Z --> RETURN"]
    own, whole = (asyncio.run(run(*lines, front=f"{{memory: {kind}, {AGENTS}}}")) for kind in ("agent", "all"))
    for name, agent in whose.items():
        expected = [one for one in seen(whole, name) if agent is not None and whose.get(one) == agent]
        assert seen(own, name) == expected
