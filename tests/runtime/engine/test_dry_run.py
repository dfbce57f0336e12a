"""A dry run: the order, the prompts and the bounds, without a call."""

from __future__ import annotations

from tests.runtime.engine.fakes import FakeEndpoint, answered, workflow

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.models.prices import Price
from merrow_runtime.store.memory import MemoryStore


class Priced(FakeEndpoint):
    def price(self, model: str) -> Price | None:
        return Price(1.0, 2.0) if model != "unpriced" else None


async def test_prompts_are_those_that_a_run_sends() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "first {braces}"}', 'B@{op: Custom, prompt: "second", memory: all}',
        'C@{op: Custom, prompt: "third", memory: all}', "PROBLEM --> A --> B --> C --> RETURN",
    )  # fmt: skip
    endpoint = Priced()
    plan = merrow_runtime.dry_run(flow, {"problem": "what?"}, endpoint=endpoint)
    assert endpoint.seen == []
    assert [node.node for node in plan.nodes] == ["PROBLEM", "A", "B", "C", "RETURN"]
    planned = {node.node: node.questions for node in plan.nodes}
    said = {name: f"<Text from {name}.response>" for name in "ABC"}

    answers = Priced(lambda _: said["ABC"[len(answers.seen) - 1]])
    await merrow_runtime.run(flow, {"problem": "what?"}, endpoint=answers, store=MemoryStore())
    assert [planned[name][0].messages for name in "ABC"] == [request.messages for request in answers.seen]
    assert (plan.calls.least, plan.calls.most) == (3, 3)
    assert plan.cost_usd.most is not None
    assert plan.cost_usd.most > plan.cost_usd.least > 0


def test_bounds_go_over_all_choices_and_repair_loops() -> None:
    flow = workflow(
        'R["Review"]:::ReviewOp', 'A@{op: Custom, prompt: "a"}', "PROBLEM --> A", "A -->|solution| R",
        "PROBLEM -->|problem| R", "D{good?}:::DecisionOp", "R -->|result:when| D", "A -->|value| D",
        "D -- yes --> RETURN", "D -- no --> P", 'P["Programmer"]:::ProgrammerOp', "PROBLEM -->|problem| P",
        "P --> S", 'S@{op: Custom, prompt: "s", samples: 4, temperature: 1}', "S --> E", 'E@{op: Custom, prompt: "e"}',
        "E --> RETURN",
    )  # fmt: skip
    plan = merrow_runtime.dry_run(flow, endpoint=Priced())
    assert (plan.calls.least, plan.calls.most) == (2, 2 + 3 + 4 + 1)
    runs = {node.node: node.runs for node in plan.nodes}
    assert [name for name, always in runs.items() if not always] == ["P", "S", "E"]
    shown = plan.to_json()
    assert shown["order"] == list(runs)
    assert next(node for node in shown["nodes"] if node["node"] == "P")["runs"] == "by choice"


def test_many_decisions_have_bounds_all_the_same() -> None:
    lines = ['S@{op: Custom, prompt: "s"}', "PROBLEM --> S", 'F@{op: Custom, prompt: "f"}', "F --> RETURN", "S --> F"]
    for number in range(14):
        lines += [f"D{number}{{?}}:::DecisionOp", f"S --> D{number}", f"PROBLEM --> A{number} & B{number} --> F"]
        lines += [f'A{number}@{{op: Custom, prompt: "a"}}', f'B{number}@{{op: Custom, prompt: "b"}}']
        lines += [f"D{number} -- a --> A{number}", f"D{number} -- else --> B{number}"]
    plan = merrow_runtime.dry_run(workflow(*lines), endpoint=Priced())
    assert plan.calls.least == 2
    assert plan.calls.most == 2 + 28


def test_an_unknown_price_is_no_price() -> None:
    flow = workflow('A@{op: Custom, prompt: "a", model: unpriced}', "PROBLEM --> A --> RETURN")
    plan = merrow_runtime.dry_run(flow, endpoint=Priced(answered), options=RunOptions())
    assert plan.cost_usd.most is None
    assert plan.tokens.most is not None
