"""Decisions that ask a model: the question, answers beside the cases, what goes on, and how the one call is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.runtime.engine.fakes import FakeEndpoint

import merrow_runtime
from merrow_analysis.check import analyse
from merrow_runtime import RunOptions, RunResult, dry_run
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import check_workflow

ASKS = """flowchart TD
    A([Mail]) --> B[Read it]
    B --> C{Which team?}
    C -->|billing| D[About the bill]
    C -->|technical| E[About the technique]
"""
ELSE = ASKS + "    C --> F[Ask back]\n"
AT_ONCE = RetryPolicy(first_wait=0.0, jitter=0.0)


def choosing(*choices: str, broken: str = "") -> FakeEndpoint:
    """Takes these choices one after the other, and says of every other prompt what it was; fails at the prompt ``broken``."""
    left = list(choices)

    def answer(request: ModelRequest) -> str | Exception:
        told = request.messages[0].content.splitlines()[0]
        if told == broken:
            return EndpointFailure("out of order")
        if request.schema is not None:
            return json.dumps({"choice": left.pop(0)})
        return told

    return FakeEndpoint(answer)


async def finished(text: str, endpoint: FakeEndpoint, **options: object) -> RunResult:
    flow = check_workflow(text)
    inputs = {node.id: f"given {node.id}" for node in flow.graph.inputs}
    settings = RunOptions(retry=AT_ONCE, **options)  # type: ignore[arg-type]
    return await merrow_runtime.run(flow, inputs, endpoint=endpoint, store=MemoryStore(), options=settings)


async def test_one_call_with_an_enumeration_of_the_cases() -> None:
    endpoint = choosing("technical")
    result = await finished(ASKS, endpoint)
    assert result.outputs == {"RETURN": "About the technique"}
    [asked] = [request for request in endpoint.seen if request.schema is not None]
    assert asked.schema is not None
    assert asked.schema.schema["properties"]["choice"]["enum"] == ["billing", "technical"]
    assert asked.messages[0].content.startswith("Which team?\n")
    assert "Read it" in asked.messages[1].content
    assert "given A" in asked.messages[1].content, "what came before is remembered"
    assert result.nodes["C"].usage.calls == 1


async def test_what_arrived_goes_on_along_the_chosen_way() -> None:
    endpoint = choosing("billing")
    await finished(ASKS, endpoint)
    [about] = [request for request in endpoint.seen if request.messages[0].content.startswith("About the bill")]
    assert about.messages[1].content.endswith("## Input\n```\nRead it\n```")


async def test_an_answer_beside_the_cases_is_asked_for_again() -> None:
    endpoint = choosing("sales", "billing")
    result = await finished(ASKS, endpoint)
    assert result.outputs == {"RETURN": "About the bill"}
    assert len([request for request in endpoint.seen if request.schema is not None]) == 2


async def test_after_that_the_node_fails_as_it_says() -> None:
    result = await finished(ASKS, choosing("a", "b", "c"))
    assert result.status == "failed"
    assert result.error is not None
    assert "C" in result.error
    falls_back = ASKS + "    C@{ on_error: default, default: technical }\n"
    result = await finished(falls_back, choosing("a", "b", "c"))
    assert result.outputs == {"RETURN": "About the technique"}


async def test_an_answer_beside_the_cases_is_else_where_there_is_one() -> None:
    endpoint = choosing("sales")
    result = await finished(ELSE, endpoint)
    assert result.outputs == {"RETURN": "Ask back"}
    [asked] = [request for request in endpoint.seen if request.schema is not None]
    assert asked.schema is not None
    assert asked.schema.schema["properties"]["choice"]["enum"] == ["billing", "technical", "else"]


TWO_ENDS = """flowchart TD
    A([Mail]) --> S[Look up the sender]
    A --> C{Spam?}
    C -->|yes| D[Say why] --> X([Thrown away])
    C -->|no| E[Reply] --> Y([Answered])
    S --> D
    S --> E
    S@{ on_error: skip }
"""


async def test_one_end_of_several_is_enough_also_where_a_step_failed() -> None:
    result = await finished(TWO_ENDS, choosing("no"))
    assert {end: value for end, value in result.outputs.items() if value is not None} == {"Y": "Reply"}
    result = await finished(TWO_ENDS, choosing("no", broken="Look up the sender"))
    assert result.status == "finished", result.error
    assert {end: value for end, value in result.outputs.items() if value is not None} == {"Y": "Reply"}
    broken = TWO_ENDS + "    E@{ on_error: skip }\n"
    result = await finished(broken, choosing("no", broken="Reply"))
    assert result.status == "failed"


async def test_a_resumed_run_has_its_choice_from_the_journal() -> None:
    store = MemoryStore()
    flow = check_workflow(ASKS)
    first = await merrow_runtime.run(
        flow,
        {"A": "x"},
        endpoint=choosing("billing", broken="About the bill"),
        store=store,
        options=RunOptions(retry=AT_ONCE),
    )
    assert first.status == "failed"
    endpoint = choosing("technical")
    result = await merrow_runtime.resume(first.run, endpoint=endpoint, store=store).result()
    assert result.outputs == {"RETURN": "About the bill"}
    assert [request.messages[0].content.splitlines()[0] for request in endpoint.seen] == ["About the bill"]


async def test_a_run_from_a_node_on_takes_the_choice_over() -> None:
    store, flow = MemoryStore(), check_workflow(ASKS)
    first = await merrow_runtime.run(flow, {"A": "x"}, endpoint=choosing("billing"), store=store)
    endpoint = choosing()
    result = await merrow_runtime.run(
        flow, {"A": "x"}, endpoint=endpoint, store=store, options=RunOptions(from_node="D", from_run=first.run)
    )
    assert result.outputs == {"RETURN": "About the bill"}
    assert [request.messages[0].content.splitlines()[0] for request in endpoint.seen] == ["About the bill"]


async def test_a_recorded_choice_is_replayed(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    await finished(ASKS, choosing("technical"), record=file)
    result = await merrow_runtime.run(
        check_workflow(ASKS), {"A": "given A"}, store=MemoryStore(), options=RunOptions(replay=file)
    )
    assert result.outputs == {"RETURN": "About the technique"}
    assert result.usage.calls == 0


async def test_the_embedded_model_takes_the_first_case() -> None:
    result = await merrow_runtime.run(check_workflow(ASKS), {"A": "x"}, store=MemoryStore())
    assert result.status == "finished"
    assert result.nodes["D"].status == "finished"
    assert result.nodes["E"].status == "skipped"


def test_a_dry_run_counts_the_call() -> None:
    plan = dry_run(check_workflow(ASKS), endpoint=FakeEndpoint())
    assert (plan.calls.least, plan.calls.most) == (3, 3)
    [planned] = [node for node in plan.nodes if node.node == "C"]
    assert [question.step for question in planned.questions] == ["decide"]


CLASSES = "    classDef DecisionOp fill:#fff\n    classDef Interface fill:#eee\n"
WRITTEN = f"""flowchart TD
    PROBLEM([Problem]):::Interface --> SOLVE[Solve it]
    SOLVE --> CHECK{{Is it hard?}}:::DecisionOp
    CHECK -->|yes| MORE[Solve it again]
    CHECK -->|no| RETURN([Answer]):::Interface
    MORE --> RETURN
{CLASSES}"""


async def test_any_decision_over_text_may_ask() -> None:
    assert "MW212" in [one.code for one in analyse(WRITTEN).errors], "text against labels needs an else"
    asking = WRITTEN + '    CHECK@{ ask: "Is this too hard?", model: judge }\n'
    assert analyse(asking).is_valid
    endpoint = choosing("no")
    result = await finished(asking, endpoint)
    assert result.outputs == {"RETURN": "Solve it"}
    [asked] = [request for request in endpoint.seen if request.schema is not None]
    assert asked.messages[0].content.startswith("Is this too hard?")
    assert asked.model == "judge"
    assert "given PROBLEM" not in asked.messages[-1].content, (
        "a written Decision remembers what the workflow says: nothing"
    )


def test_ask_changes_nothing_where_a_bool_decides() -> None:
    text = f"""flowchart TD
    PROBLEM([Problem]):::Interface --> SOLVE[Solve it]
    SOLVE -->|solution| R["Review<br/>"]
    PROBLEM -->|problem| R
    R --> CHECK{{Good?}}:::DecisionOp
    CHECK@{{ ask: "Is it good?" }}
    CHECK -->|yes:after| A[Praise it] --> RETURN([Answer]):::Interface
    CHECK -->|no:after| B[Repair it] --> RETURN
    SOLVE --> A
    SOLVE --> B
{CLASSES}"""
    analysis = analyse(text)
    assert analysis.is_valid, analysis.errors
    assert [one.message for one in analysis.diagnostics if one.code == "MW406"] == [
        "`ask` changes nothing: CHECK decides without asking a model; remove it."
    ]


def test_an_enumeration_that_the_labels_cover_decides() -> None:
    text = """---
workflow:
  types: {Route: [math, other]}
---
flowchart TD
    A([Task]) --> B[Which kind?]
    B@{ returns: Route }
    B --> C{Route}
    C -->|math| D[Calculate]
    C -->|other| E[Answer]
"""
    graph = analyse(text).typed
    assert graph is not None
    assert graph.by_id["C"].placement.decided_by == "words"
    uncovered = analyse(text.replace("|other|", "|something else|")).typed
    assert uncovered is not None
    assert uncovered.by_id["C"].asks


def passing(*lines: str) -> list[str]:
    head = [
        "flowchart TD",
        "    PROBLEM([Problem]):::Interface",
        "    RETURN([Answer]):::Interface",
        "    GEN@{ op: CustomCodeGenerate, instruction: x }",
        "    PROBLEM -->|problem| GEN",
    ]
    text = "\n".join([*head, *(f"    {line}" for line in lines), CLASSES])
    return [one.code for one in analyse(text).errors]


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        (
            (
                "PROBLEM --> W[Write]",
                "W & GEN --> C{Good?}",
                "C -->|yes| V@{ op: ScEnsemble }",
                "C -->|no| V --> RETURN",
            ),
            [],
        ),
        (("PROBLEM & GEN --> C{Good?}", "C -->|yes| V@{ op: ScEnsemble }", "C -->|no| V --> RETURN"), ["MW105"]),
        (("GEN --> C{Good?}", "C -->|yes| RETURN", "C -->|no| D[Repair] --> RETURN"), []),
        (("PROBLEM & GEN --> C{Good?}", "C -->|yes| RETURN", "C -->|no| D[Repair] --> RETURN"), ["MW205"]),
        (
            (
                "ENTRY_POINT([Name]):::Interface -->|entry_point| T@{ op: Test }",
                "PROBLEM -->|problem| T",
                "GEN --> C{Good?}",
                "C -->|yes:solution| T --> RETURN",
                "C -->|no| D[Repair] --> RETURN",
            ),
            [],
        ),
        (
            (
                "ENTRY_POINT([Name]):::Interface -->|entry_point| T@{ op: Test }",
                "PROBLEM -->|problem| T",
                "PROBLEM --> W[Write] --> C{Good?}",
                "GEN --> D",
                "C -->|yes:solution| T --> RETURN",
                "C -->|no| D[Repair] --> RETURN",
            ),
            ["MW206"],
        ),
        (
            (
                *(f"PROBLEM --> W{number}[Write {number}] --> C{{Good?}}" for number in range(20)),
                "GEN --> D",
                "C -->|yes| E{Sure?}",
                "C -->|no| D[Repair]",
                "E -->|yes| RETURN",
                "E -->|no| D --> RETURN",
            ),
            ["MW205"],
        ),
    ],
)
def test_each_value_goes_on_as_if_its_edge_led_straight_on(lines: tuple[str, ...], codes: list[str]) -> None:
    assert passing(*lines) == codes


async def test_only_values_that_are_there_go_on() -> None:
    """Of two branches one was skipped; a second diamond passes on what is left, and a third passes that on."""
    text = """flowchart TD
    A([Task]) --> B{First?}
    B -->|left| C[Left]
    B -->|right| D[Right]
    C --> E{Second?}
    D --> E
    E -->|on| F{Third?}
    E -->|off| G[Off]
    F -->|up| H[Up]
    F -->|down| I[Down]
"""
    endpoint = choosing("right", "on", "down")
    result = await finished(text, endpoint)
    assert result.outputs == {"RETURN": "Down"}
    [last] = [request for request in endpoint.seen if request.messages[0].content.startswith("Down")]
    assert last.messages[1].content.endswith("## Input\n```\nRight\n```")
    assert "Left" not in last.messages[1].content


async def test_a_written_decision_decides_by_what_is_passed_on() -> None:
    text = """flowchart TD
    A([Task]) --> B{First?}
    B -->|on| D{Words}:::DecisionOp
    B -->|off| E[Off]
    D -->|given a| F[Given]
    D -->|else| G[Else]
    A --> F & G
    classDef DecisionOp fill:#fff
"""
    result = await finished(text, choosing("on"))
    assert result.outputs == {"RETURN": "Given"}
    result = await finished(text, choosing("off"))
    assert result.outputs == {"RETURN": "Off"}


def test_values_that_are_never_there_together_may_go_to_one_port() -> None:
    text = """flowchart TD
    A([Task]) --> B{First?}
    B -->|left| C[Left]
    B -->|right| D[Right]
    C & D --> E{Second?}
    E -->|done| F([End])
    E -->|more| G[More] --> F
"""
    assert analyse(text, as_workflow=True).errors == []
    both = text.replace("B{First?}", "B[First]").replace("|left|", "").replace("|right|", "")
    assert analyse(both, as_workflow=True).errors == [], "of both the newer one goes on"


POLISH = """flowchart TD
    A([Draft]) --> C{Good enough?}
    C -->|no| B[Improve it]
    B --> C
    C -->|yes| D([Text])
"""


@pytest.mark.parametrize(("label", "no"), [("|no|", "no"), ("", "else")])
async def test_a_diamond_that_an_arrow_leads_back_into_passes_on_what_came_back(label: str, no: str) -> None:
    polish = POLISH.replace("|no|", label)

    def saying(*choices: str) -> FakeEndpoint:
        left, turns = list(choices), iter("123")

        def answer(request: ModelRequest) -> str:
            return json.dumps({"choice": left.pop(0)}) if request.schema is not None else f"better {next(turns)}"

        return FakeEndpoint(answer)

    for choices, out in ((["yes"], "given A"), ([no, "yes"], "better 1"), ([no, no, "yes"], "better 2")):
        result = await finished(polish, saying(*choices), fresh=True)
        assert result.outputs == {"D": out}
    endpoint = saying(no, no, no)
    out_of_turns = await finished(polish, endpoint, fresh=True)
    assert out_of_turns.outputs == {"D": "better 2"}
    improved = [request for request in endpoint.seen if request.schema is None]
    assert "better 1" in improved[1].messages[-1].content


async def test_several_ways_into_such_a_diamond_bring_one_value_out_of_it() -> None:
    two = POLISH.replace("    A([Draft]) --> C", "    A([Draft]) --> E[Plan it] --> C\n    A --> C").replace(
        "D([Text])", "F[Print it] --> D([Text])"
    )

    def answer(request: ModelRequest) -> str:
        if request.schema is not None:
            return json.dumps({"choice": choices.pop(0)})
        return request.messages[0].content.split("\n")[0] + "!"

    choices = ["no", "yes"]
    endpoint = FakeEndpoint(answer)
    result = await finished(two, endpoint, fresh=True)
    assert result.outputs == {"D": "Print it!"}
    [printed] = [request for request in endpoint.seen if request.messages[0].content.startswith("Print it")]
    assert "Improve it!" in printed.messages[-1].content
