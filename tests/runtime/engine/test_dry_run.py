"""A dry run: the order, the prompts and the bounds, without a call."""

from __future__ import annotations

import pytest
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


@pytest.mark.parametrize("words", ["[only]", "[first, second]"])
def test_a_value_of_an_enumeration_stands_there_as_its_first_word(words: str) -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "a", returns: Route}', 'B@{op: Custom, prompt: "b"}',
        "PROBLEM -->|input| A -->|input| B --> RETURN", front=f"{{types: {{Route: {words}}}}}",
    )  # fmt: skip
    plan = merrow_runtime.dry_run(flow, endpoint=FakeEndpoint())
    (asked,) = next(node.questions for node in plan.nodes if node.node == "B")
    assert asked.messages[-1].content == words.strip("[]").split(",")[0]


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


class At(FakeEndpoint):
    """An endpoint at so many US dollars for a million tokens."""

    def __init__(self, price: float) -> None:
        super().__init__(answered)
        self._price = price

    def price(self, model: str) -> Price | None:
        return Price(self._price, 2 * self._price) if model else None


@pytest.mark.parametrize(
    "edges",
    [
        ("A --> B --> J[ScEnsemble] --> RETURN",),
        (
            "A --> D{good?}",
            "PROBLEM --> B & C",
            "D -- yes --> C --> RETURN",
            "D -- no --> B --> J[ScEnsemble] --> RETURN",
        ),
    ],
)
def test_bounds_of_cost_are_in_proportion_to_the_price_and_others_do_not_depend_on_it(edges: tuple[str, ...]) -> None:
    nodes = ('A@{op: Custom, prompt: "a"}', 'B@{op: Custom, prompt: "b", samples: 3, temperature: 1}')
    last = 'C@{op: Custom, prompt: "c"}'
    flow = workflow(*nodes, *([last] if len(edges) > 1 else []), "PROBLEM --> A", *edges)
    free, cheap, dear = (merrow_runtime.dry_run(flow, endpoint=At(price)) for price in (0.0, 1.0, 4.0))
    assert (free.cost_usd.least, free.cost_usd.most) == (0.0, 0.0)
    assert cheap.cost_usd.most is not None
    assert dear.cost_usd.most == pytest.approx(4 * cheap.cost_usd.most)
    assert dear.cost_usd.least == pytest.approx(4 * cheap.cost_usd.least)
    assert cheap.cost_usd.most > cheap.cost_usd.least > 0
    # Every token costs at least the lower of the two prices and at most the higher one.
    assert cheap.tokens.most is not None
    assert cheap.tokens.most <= cheap.cost_usd.most * 1_000_000 <= 2 * cheap.tokens.most
    assert cheap.tokens.least <= cheap.cost_usd.least * 1_000_000 <= 2 * cheap.tokens.least
    for other in (free, dear):
        assert (other.calls, other.tokens) == (cheap.calls, cheap.tokens)
