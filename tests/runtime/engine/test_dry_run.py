"""A dry run: the order, the prompts and the bounds, without a call."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import ANY

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, answered, flowchart, workflow

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


def shown(plan: merrow_runtime.Forecast) -> list[tuple[object, ...]]:
    """Each node that asks, runs by choice or has bounds of its own: with how often, and its questions with the first lines of
    their messages.
    """
    rows: list[tuple[object, ...]] = []
    for node in plan.to_json()["nodes"]:
        questions = [
            (
                one["step"],
                one.get("model"),
                one["least"],
                one["most"],
                [m["content"].split("\n")[0][:40] for m in one["messages"]],
            )
            for one in node["questions"]
        ]
        calls = [node["calls"]] if "calls" in node else []
        rows.append((node["node"], node["model"], node["runs"], node["samples"], *questions, *calls))
    return rows


def test_a_plan_has_every_node_with_all_that_it_may_ask(tmp_path: Path) -> None:
    """Samples, attempts, judges, summaries, choices, and the nodes of a file that is called."""
    (tmp_path / "merrow.toml").touch()
    (tmp_path / "f.mmd").write_text(
        flowchart(
            'X@{op: Custom, prompt: "x"}', 'Y@{op: Custom, prompt: "y", memory: all}', "PROBLEM --> X --> Y --> RETURN",
            "RETURN@{type: Text}",
        )
    )  # fmt: skip
    lines = (
        'L@{op: Custom, prompt: "l", returns: "list[Text]"}',
        'S@{op: Custom, prompt: "s", samples: 2, temperature: 0.5, model: sm, validate: short, attempts: 2}',
        'U@{op: Custom, prompt: "u", memory: summary}', "D{is it?}:::DecisionOp", 'C@{op: Call, workflow: "f.mmd"}',
        'W@{op: Custom, prompt: "w"}', 'J@{op: Custom, prompt: "j"}', "PROBLEM --> L & S", "L & S --> U --> D",
        "D -- yes --> J", "D -- else --> W", "PROBLEM --> C --> W & J", "W & J --> RETURN",
    )  # fmt: skip
    front = '{model: m, validators: {short: {rubric: "Is it short?", model: jm}}}'
    (tmp_path / "main.mmd").write_text(flowchart(*lines, front=front))
    plan = merrow_runtime.dry_run(tmp_path / "main.mmd", endpoint=Priced())
    judged = ["You are given what a step of a workflow ", "## What the step was asked"]
    summed = ["You are given earlier results of a workf", "## Earlier result: PROBLEM"]
    ends, problem = (None, "always", 1), "<Problem from PROBLEM>"
    expected = [
        ("PROBLEM", *ends),
        ("L", "m", "always", 1, ("answer", None, 1, 1, ["l", problem])),
        (
            "S", "sm", "always", 2, ("answer", None, 1, 1, ["s", problem]),
            ("2/answer", None, 0, 1, ["s", problem, "<Text from S.response>", "Your result was checked, and it is not v"]),
            ("validate", "jm", 1, 2, judged),
        ),
        (
            "U", "m", "always", 1, ("memory", None, 0, 1, summed),
            ("answer", None, 1, 1, ["u", "## Earlier result: summary of all earlie"]),
        ),
        ("D", *ends),
        ("C", *ends, {"least": 2, "most": 2}),
        ("C/PROBLEM", *ends),
        ("C/X", "gpt-4o-mini", "always", 1, ("answer", None, 1, 1, ["x", problem])),
        ("C/Y", "gpt-4o-mini", "always", 1, ("answer", None, 1, 1, ["y", "## Earlier result: PROBLEM"])),
        ("C/RETURN", *ends),
        ("W", "m", "by choice", 1, ("answer", None, 1, 1, ["w", "<Text from C.RETURN>"])),
        ("J", "m", "by choice", 1, ("answer", None, 1, 1, ["j", "<Text from C.RETURN>"])),
        ("RETURN", *ends),
    ]  # fmt: skip
    assert shown(plan) == expected
    assert plan.calls.to_json() == {"least": 1 + 2 * 2 + 1 + 2 + 1, "most": 1 + 2 * 4 + 2 + 2 + 1}
    assert (plan.workflow, plan.endpoint) == (str(tmp_path / "main.mmd"), "http://fake.test")
    assert plan.to_json()["order"] == [row[0] for row in expected]
    # Without Decisions there is something to sum up in any case.
    (tmp_path / "one.mmd").write_text(flowchart(*lines[:3], *lines[7:8], "L & S --> U --> RETURN", front=front))
    plan = merrow_runtime.dry_run(tmp_path / "one.mmd", {"problem": "p"}, endpoint=Priced())
    always = ("U", "m", "always", 1, ("memory", None, 1, 1, [summed[0], "p"]), expected[3][-1])
    assert shown(plan)[1:4] == [("L", "m", "always", 1, ("answer", None, 1, 1, ["l", "p"])), ANY, always]
    # What a person sets isn't asked; nor is what is set of a choice left open.
    said = {"L": {"response": ["x"]}, "D": "else", "C/X": "set"}
    plan = merrow_runtime.dry_run(tmp_path / "main.mmd", endpoint=Priced(), options=RunOptions(set_outputs=said))
    rows = {str(row[0]): row for row in shown(plan)}
    assert [rows[name] for name in ("L", "D", "C", "C/X")] == [
        ("L", *ends), ("D", *ends), ("C", *ends, {"least": 1, "most": 1}), ("C/X", *ends),
    ]  # fmt: skip
    assert (plan.calls.least, plan.calls.most) == (4 + 1 + 1 + 1, 8 + 2 + 1 + 1)
