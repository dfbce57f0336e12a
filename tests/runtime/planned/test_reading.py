"""What an answer of type Workflow must be, and what a planned workflow may not do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runtime.engine.fakes import flowchart
from tests.runtime.planned.planning import DIAMOND, ONCE, planning, prompts, run

from merrow_analysis.workflow_values import LONGEST, MOST_NODES
from merrow_runtime.errors import UsageFailure
from merrow_runtime.operators.formats.planned import MOST_CALLS, problem_of, read_workflow
from merrow_runtime.operators.prompts.asking_again import LONGEST_SENT_BACK

HEAD = "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Result]):::Interface\n"


def flow(*lines: str, front: str = "") -> str:
    written = f"---\nworkflow: {front}\n---\n" if front else ""
    return written + HEAD + "".join(f"    {line}\n" for line in lines)


STEP = 'A@{op: Custom, prompt: "do it"}'
LINE = "PROBLEM --> A --> RETURN"


@pytest.mark.parametrize(
    "answer",
    [
        DIAMOND,
        f"Of course!\n\n```mermaid\n{DIAMOND}```\nGood luck.",
        f"```\n{DIAMOND}```",
        f"```python\nprint(1)\n```\n```mermaid\n{DIAMOND}```",
        flow(STEP, LINE),
        "flowchart TD\n    A[Do the first thing] --> B[Do the second]",
        flow(
            'C{"good?"}', "PROBLEM --> A --> C", "C -->|yes| RETURN", "C -->|no| B --> RETURN", STEP, 'B["once more"]'
        ),
        flow(STEP, LINE, front="{types: {Tone: [warm, cold]}, memory: all}"),
        "---\nworkflow: {inputs: [THING]}\n---\n"
        f"flowchart TD\n    THING([Anything]):::Interface --> A\n    {STEP}\n    A --> RETURN([Result]):::Interface\n"
        "    classDef Interface fill:#eee\n",
    ],
)
def test_what_a_model_may_answer(answer: str) -> None:
    plan = read_workflow(answer)
    assert "```" not in plan
    assert problem_of(plan) is None


CHAIN = "flowchart TD\n" + "".join(f"    A{n}BOX -->|a| A{n + 1}\n    A{n} -->|b| A{n + 2}\n" for n in range(40))
"""Decisions in a row, each of which passes on what all before it do."""

HOSTILE = {
    "a file": (flow('C@{op: Call, workflow: "./secret.mmd"}', "PROBLEM --> C --> RETURN"), "can name no file"),
    "a file outside": (flow('C@{op: Call, workflow: "/etc/passwd"}', "PROBLEM --> C --> RETURN"), "can name no file"),
    "a prompt file": (flow(STEP, LINE, front="{prompts: ../../secret.yaml}"), "can name no file"),
    "a library": (flow(STEP, LINE, front="{libraries: [./evil.yaml]}"), "can name no file"),
    "an endpoint": (flow(STEP, LINE, front="{base_url: http://evil.test}"), "base_url"),
    "a key": (flow(STEP, LINE, front="{api_key_env: HOME}"), "api_key_env"),
    "a schema of a validator": (
        flow(STEP.replace('"}', '", validate: v}'), LINE, front="{validators: {v: {schema: {type: object}}}}"),
        "`schema` of the validator v",
    ),
    "attempts without end": (
        flow(
            'A@{op: Custom, prompt: "do it", validate: v, attempts: 20}',
            "A2@{op: Custom, prompt: x, validate: v, attempts: 20, samples: 3}",
            "J@{op: Assemble, how: concat}",
            "PROBLEM --> A & A2 --> J --> RETURN",
            front="{validators: {v: {rubric: Good, votes: 25}}}",
        ),
        "more than 1,000 calls",
    ),
    "a model": (flow(STEP, LINE, front="{model: the-dearest}"), "`model` in its front matter"),
    "a model of a node": (flow('A@{op: Custom, prompt: "x", model: "the-dearest"}', LINE), "`model` at A"),
    "retries": (flow('A@{op: Custom, prompt: "x", retries: 1000000000}', LINE), "`retries` at A"),
    "a budget": (flow(STEP, LINE, front="{budget: {usd: 1000000}}"), "`budget`"),
    "a budget of a Loop": (
        flow(
            'subgraph L["Loop (max: 2)"]', STEP, "end", "L@{", "  budget:", "    tokens: 1000000000", "}", "PROBLEM --> A",
            "A -.->|again:input| A", "A -->|over| RETURN",
        ),
        "`budget` at L is not for it to say",
    ),
    "a model of an agent": (
        flow(
            'A@{op: Custom, prompt: "x", agent: writer}', LINE, front="{agents: {writer: {role: Writer, model: the-dearest}}}",
        ),
        "`model` of the agent writer is not for it to say",
    ),
    "a schema": (
        flow("A@{", "  op: Custom", "  prompt: x", "  format:", "    type: string", "    pattern: (a+)+$", "}", LINE),
        "`format` at A must be a word",
    ),
    "samples": (
        flow("A@{op: Custom, prompt: x, samples: 9000}", "S@{op: ScEnsemble}", "PROBLEM --> A --> S --> RETURN"),
        "more than 1,000 calls",
    ),
    "turns": (
        flow(
            'subgraph L["Loop (max: 50)"]', 'subgraph M["Loop (max: 50)"]', STEP, "end", "end", LINE, "A -->|again:input| A",
        ),
        "more than 1,000 calls",
    ),
    "turns of nothing": (
        flow(
            'subgraph L["Loop (max: 50)"]', 'subgraph M["Loop (max: 50)"]', "D@{op: Decision, if: \"when == 'x'\"}", "end", "end",
            "PROBLEM -->|value| D", "PROBLEM -->|when| D", "D -->|yes| RETURN", "D -->|no:again:value| D", "D -->|no| RETURN",
        ),
        "more than 1,000 calls",
    ),
    "a plan": (
        flow(
            "A@{op: Custom, prompt: x, returns: Workflow}", "C@{op: Call}", "PROBLEM --> A -->|workflow| C",
            "PROBLEM -->|problem| C", "C -->|result:| RETURN",
        ),
        "has no bound",
    ),
    "too many nodes": (
        "flowchart TD\n" + "".join(f'    A{n}["do {n}"] --> A{n + 1}["do {n + 1}"]\n' for n in range(MOST_NODES)),
        "at most 50",
    ),
    "too many diamonds": (CHAIN.replace("BOX", "{q}"), "at most 12"),
    "too many Decisions": (CHAIN.replace("BOX", '["ask"]:::DecisionOp'), "at most 12"),
    "too many hidden Decisions": (CHAIN.replace("BOX", '@{op: "D\\u0065cision", ask: "which"}'), "at most 12"),
    "too many arrows": (
        "flowchart TD\n    " + " --> ".join(" & ".join(f"{side}{n}" for n in range(3000)) for side in "AB"),
        "draw fewer arrows",
    ),
    "too long": (f'flowchart TD\n    A["{"x" * LONGEST}"]', "at most 50,000"),
    "two inputs": (flow("Q([Q]):::Interface", "Q --> A", STEP, LINE), "one input"),
    "a number": (flow("PROBLEM@{type: Number}", STEP, LINE), "must take the problem"),
    "few words": (flow("PROBLEM@{type: Tone}", STEP, LINE, front="{types: {Tone: [warm, cold]}}"), "any problem"),
    "two outputs": (flow("Q([Q]):::Interface", "A --> Q", STEP, LINE), "one output"),
    "a cycle": (flow(STEP, LINE, 'B["more"]', "A --> B --> A", "B --> C", 'C["most"]', "C --> A"), "Line"),
    "no flowchart": ("sequenceDiagram\n    A->>B: hello\n", "not a flowchart"),
    "prose": ("I am sorry, I can't plan this.", "Line 1"),
    "nothing": ("", "empty"),
    "two workflows": (f"```mermaid\n{DIAMOND}```\n```mermaid\n{DIAMOND}```", "2 blocks"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_refused_is_asked_for_anew_and_then_fails_in_a_sentence(name: str) -> None:
    answer, says = HOSTILE[name]
    result, endpoint = run(ONCE, planning([answer]))
    assert result.status == "failed"
    assert (result.failure and result.failure.node) == "PLAN"
    assert says in str(result.error)
    # What is too long to be sent back comes again though it is not shown.
    assert prompts(endpoint) == ["plan it"] * (3 if len(answer) <= LONGEST_SENT_BACK else 2)
    told = endpoint.seen[1].messages[-1].content
    assert says in told
    assert told.endswith(("Answer with the whole workflow again.", "Answer with one block alone."))


def test_an_answer_that_is_put_right_is_used() -> None:
    result, endpoint = run(ONCE, planning([HOSTILE["a file"][0], HOSTILE["prose"][0], DIAMOND]))
    assert (result.status, result.outputs) == ("finished", {"RETURN": "join!"}), result.error
    assert prompts(endpoint).count("plan it") == 3


def test_all_findings_are_told_at_once_with_their_lines() -> None:
    wrong = flow("A@{op: Custm}", "B@{op: Reviw}", "PROBLEM --> A --> B --> RETURN")
    _, endpoint = run(ONCE, planning([wrong, DIAMOND]))
    told = endpoint.seen[1].messages[-1].content
    assert "Line 4: " in told
    assert "Line 5: " in told


def test_nothing_of_the_machine_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.mmd").write_text(flow(STEP, LINE))
    (tmp_path / "prompt.py").write_text('A_PROMPT = "of the machine"\n')
    (tmp_path / "merrow.toml").write_text('libraries = ["lib.yaml"]\n')
    assert "can name no file" in str(problem_of(HOSTILE["a file"][0]))
    result, endpoint = run(ONCE, planning([flow('A@{op: Custom, role: "a"}', LINE)]))
    assert result.status == "finished", result.error
    assert "of the machine" not in "".join(endpoint.prompts)


TONE = ["TONE([Tone]):::Interface", "TONE@{type: Text, default: 'warmly'}"]


def test_an_input_with_a_default_need_not_be_given_the_problem() -> None:
    plan = flow(*TONE, STEP, "PROBLEM --> A", "TONE --> A --> RETURN")
    result, endpoint = run(ONCE, planning([plan]))
    assert result.status == "finished", result.error
    assert "the task" in endpoint.seen[-1].messages[-1].content
    assert "warmly" in endpoint.seen[-1].messages[-1].content


def test_a_plan_whose_only_input_has_a_default_is_given_the_problem() -> None:
    plan = flow(STEP, LINE, "PROBLEM@{type: Text, default: 'nothing'}")
    assert problem_of(plan) is None
    result, endpoint = run(ONCE, planning([plan]))
    assert result.status == "finished", result.error
    assert "the task" in endpoint.seen[-1].messages[-1].content


def test_of_two_inputs_with_defaults_none_is_the_one_for_the_problem() -> None:
    plan = flow(*TONE, STEP, "PROBLEM --> A", "TONE --> A --> RETURN", "PROBLEM@{type: Text, default: 'nothing'}")
    assert problem_of(plan) == "It must have one input, which is given the problem; it has 2."


def test_a_workflow_may_be_given_as_an_input() -> None:
    text = flowchart(
        "HOW([How]):::Interface", "HOW@{type: Workflow, default: 'flowchart TD; A[do it]'}", "WORK@{op: Call}",
        "PROBLEM -->|problem| WORK", "HOW -->|workflow| WORK", "WORK -->|result:| RETURN",
    )  # fmt: skip
    result, _ = run(text, planning([]))
    assert (result.status, result.outputs) == ("finished", {"RETURN": "do it!"}), result.error
    with pytest.raises(UsageFailure, match=r"HOW: its `default:` must be of type Workflow"):
        run(text.replace("'flowchart TD; A[do it]'", "'no workflow'"), planning([]))


@pytest.mark.parametrize("more", [0, 1])
def test_the_longest_text_is_read_and_a_longer_one_is_not(more: int) -> None:
    text = flow(STEP, LINE)
    text += "%%" + "x" * (LONGEST + more - len(text) - 2)
    assert (problem_of(text) is None) == (not more)


def test_the_limits_are_those_that_the_form_says() -> None:
    assert (LONGEST, MOST_NODES, MOST_CALLS) == (50_000, 50, 1_000)
