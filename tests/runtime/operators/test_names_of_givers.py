"""What a prompt calls the nodes whose results it quotes."""

from __future__ import annotations

import re

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, answered, workflow

import merrow_runtime
from merrow_runtime.store.memory import MemoryStore

GIVERS = {
    "a role": ('G["Custom<br/>(role: strict critic)"]', "input", "strict critic"),
    "a role in metadata": ("G@{op: Custom, role: strict critic}", "input", "strict critic"),
    "an operator without a role": ("G@{op: AnswerGenerate}", "input", "AnswerGenerate"),
    "an operator with a prompt": ('G@{op: Custom, prompt: "be strict"}', "input", "Custom"),
    "an input": ("G([e]):::Interface", None, "G"),
    "a step in plain words": ("G[Write a plan]", None, "Write a plan"),
}


@pytest.mark.parametrize(("node", "port", "name"), GIVERS.values(), ids=GIVERS)
async def test_a_result_stands_under_the_name_of_the_node_that_gave_it(node: str, port: str | None, name: str) -> None:
    into = [] if "Interface" in node else [f"PROBLEM -->|{port}| G" if port else "PROBLEM --> G"]
    flow = workflow(node, *into, 'J@{op: Custom, prompt: "join"}', "G --> J", "PROBLEM --> J", "J --> RETURN")
    endpoint = FakeEndpoint(answered)
    given = {"problem": "what?", **({} if into else {"G": "more"})}
    await merrow_runtime.run(flow, given, endpoint=endpoint, store=MemoryStore())
    last = "\n".join(message.content for message in endpoint.seen[-1].messages)
    headings = re.findall(r"Input \d of 2: (.+)", last)
    assert sorted(headings) == sorted([name, "PROBLEM"])


async def test_what_is_remembered_stands_under_the_name_of_its_node() -> None:
    lines = ('A["Custom<br/>(role: planner)"]', "PROBLEM --> A --> B[AnswerGenerate] --> K[Custom] --> C --> RETURN")
    flow = workflow(*lines, "C@{op: Custom, memory: all}")
    endpoint = FakeEndpoint(answered)
    await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=endpoint, store=MemoryStore())
    last = "\n".join(message.content for message in endpoint.seen[-1].messages)
    assert re.findall(r"Earlier result: (.+)", last) == ["PROBLEM", "planner", "AnswerGenerate"]


@pytest.mark.parametrize("length", [1, 65, 66, 67, 300])
async def test_a_long_name_is_cut_to_a_line_and_a_short_one_is_not(length: int) -> None:
    role = ("critic " * 50)[: length - 1] + "x"
    flow = workflow(
        f'A["Custom<br/>(role: {role})"]', 'J@{op: Custom, prompt: "join"}', "PROBLEM --> A & J", "A --> J --> RETURN"
    )
    endpoint = FakeEndpoint(answered)
    await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=endpoint, store=MemoryStore())
    last = "\n".join(message.content for message in endpoint.seen[-1].messages)
    (heading,) = (line for line in re.findall(r"(Input \d of 2: .+)", last) if "PROBLEM" not in line)
    whole = f"{heading.partition(':')[0]}: {role}"
    assert heading == (whole if len(whole) <= 80 else whole[:79] + "…")
