"""A compiled program can't be told from `merrow run`: with a recording it asks the same, prints the same and fails the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.compiling.programs import check_same, inputs_of, run_program
from tests.runtime.frontier.nested_workflows import nested_workflow
from tests.sizes import sized
from tests.workflows import workflows

from merrow_runtime import UsageFailure, check_workflow
from merrow_runtime.compiling.compiler import compile_workflow
from merrow_runtime.program.loading import load

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    path
    for ending in ("mmd", "md")
    for path in (ROOT / "examples").rglob(f"*.{ending}")
    if path.name not in ("broken.mmd", "README.md")
)
UNATTENDED = [
    path for path in EXAMPLES if not any(word in path.read_text("utf-8") for word in ("Human", "\n  tools:", "server:"))
]
"""Those that ask no person, whose answers Merrow would have to keep, and use no tools, whose servers are not here."""
NESTED = sized(6, 16)
"""How many generated workflows with Loops and Maps are compiled and run."""
AFTER_LOOPS = (13, 19, 38, 87, 99)
"""Seeds of workflows in which what a node after a Loop is given is easily got wrong."""


@pytest.mark.thinned(32)
@pytest.mark.parametrize("path", UNATTENDED, ids=lambda path: path.name)
def test_every_example_runs_alike(path: Path, tmp_path: Path) -> None:
    workflow = load(path)
    program = compile_workflow(workflow)
    for seed, bad in ((1, 0.0), (2, 0.1), (3, 0.3)):
        check_same(workflow, program, tmp_path, seed, bad)


@pytest.mark.parametrize("part", range(2))
def test_loops_and_maps_in_each_other_run_alike(part: int, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    seed = part
    while seen["workflows"] < NESTED // 2:
        seed += 2
        try:
            workflow = check_workflow(nested_workflow(seed, records=True), name="nested.mmd")
        except UsageFailure:
            continue
        seen["workflows"] += 1
        program = compile_workflow(workflow)
        for number, bad in enumerate((0.0, 0.05, 0.3)):
            try:
                seen[check_same(workflow, program, tmp_path, number, bad).status] += 1
            except AssertionError as wrong:
                raise AssertionError(
                    f"workflow {seed}, answers {number}: {wrong}\n{nested_workflow(seed, records=True)}"
                ) from wrong
    assert seen["finished"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", AFTER_LOOPS)
def test_what_comes_after_a_loop_runs_alike(seed: int, tmp_path: Path) -> None:
    workflow = check_workflow(nested_workflow(seed, records=True), name="nested.mmd")
    check_same(workflow, compile_workflow(workflow), tmp_path, 0, 0.0)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows(), st.integers(0, 1000))
def test_workflows_of_all_operators_run_alike(tmp_path_factory: pytest.TempPathFactory, text: str, seed: int) -> None:
    workflow = check_workflow(text, name="made.mmd")
    program = compile_workflow(workflow)
    check_same(workflow, program, tmp_path_factory.mktemp("made"), seed, Random(seed).choice([0.0, 0.1, 0.3]))


def everything(extra: str = "", header: str = "", nodes: str = "") -> str:
    return f"""---
workflow:
  model: m
{header}---
flowchart TD
    PROBLEM([Problem]):::Interface
    STYLE@{{ shape: stadium, type: Text, default: "plain \\"style\\"" }}
    A@{{ op: Custom, prompt: "first" {extra} }}
    B@{{ op: Custom, prompt: "second", samples: 3, temperature: 0.5 }}
    VOTE@{{ op: ScEnsemble, memory: all }}
{nodes}    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    STYLE -->|input| A
    PROBLEM -->|input| B
    A --> VOTE
    B --> VOTE
    VOTE --> RETURN
    classDef Interface fill:#eee
    class STYLE Interface
"""


@pytest.mark.parametrize(
    "text",
    [
        everything(header="  inputs: [PROBLEM, STYLE]\n"),
        everything(", on_error: skip", "  inputs: [PROBLEM, STYLE]\n"),
        everything(", on_error: default, default: none", "  inputs: [PROBLEM, STYLE]\n"),
        everything(", memory: summary", "  inputs: [PROBLEM, STYLE]\n  memory: {last: 2}\n"),
        everything(
            ", agent: critic",
            "  inputs: [PROBLEM, STYLE]\n  aims: true\n"
            "  agents:\n    critic: {role: a critic, prompt: Be strict., instances: 1}\n",
        ),
        everything(
            header="  inputs: [PROBLEM, STYLE]\n  outputs: [RETURN, SECOND]\n",
            nodes="    SECOND([Second]):::Interface\n    A --> SECOND\n",
        ),
        everything(header="  inputs: [PROBLEM, STYLE]\n  budget: {tokens: 12}\n"),
        "flowchart TD\n    Start([Start]) --> Write[Write a line]\n    Write --> Good{Is it good?}\n"
        "    Good -->|no: dull| Write\n    Good -->|yes| Stop([Stop])\n",
        "---\nworkflow:\n  agents:\n    critic: {role: a critic}\n---\nflowchart TD\n"
        "    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n"
        "    A@{ op: Custom, prompt: first, agent: critic }\n    B@{ op: Custom, prompt: second }\n"
        "    C@{ op: Custom, prompt: third, agent: critic, memory: agent }\n"
        "    PROBLEM -->|input| A\n    A -->|input| B\n    B -->|input| C\n    C --> RETURN\n    classDef Interface fill:#eee\n",
        *(
            f"flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n"
            f"    A@{{ op: Custom, prompt: first, returns: Number }}\n"
            f'    D@{{ op: Decision, if: "len(n) > 3", on_error: default, default: {default} }}\n'
            "    B@{ op: Custom, prompt: second }\n    C@{ op: Custom, prompt: third }\n    PROBLEM --> A\n"
            "    A -->|n| D\n    PROBLEM --> B & C\n    D -->|yes| B --> RETURN\n    D -->|no| C --> RETURN\n"
            for default in ("no", "true")
        ),
    ],
    ids=[
        "samples",
        "skip",
        "default",
        "summary",
        "agents",
        "outputs",
        "budget",
        "drawing",
        "memory of an agent",
        "default of a Decision",
        "true as the default of a Decision",
    ],
)
@pytest.mark.thinned(16)
def test_what_nodes_say_is_kept(text: str, tmp_path: Path) -> None:
    workflow = check_workflow(text, name="all.mmd")
    program = compile_workflow(workflow)
    for seed in range(4):
        check_same(workflow, program, tmp_path, seed, (0.0, 0.2, 0.4, 0.6)[seed])


SEVERAL = """---
workflow:
  operators:
    Write:
      inputs: {task: Text, notes?: "list[Text]"}
      outputs: {text: Text}
      prompt: Write it.
---
flowchart TD
    PROBLEM([Problem]):::Interface
    subgraph L["Loop (max: 3)"]
        A@{ op: Write }
        B@{ op: Custom, prompt: "what is missing" }
        C@{ op: Custom, prompt: "what is too much" }
    end
    RETURN([Answer]):::Interface
    PROBLEM -->|task| A
    A -->|input| C
    C -->|input| B
    B -.->|again:notes| A
    A --> RETURN
    classDef Interface fill:#eee
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "edge",
    ["", "    C -.->|again:notes| A\n", "    PROBLEM -->|notes| A\n"],
    ids=["one", "two", "one beside one from outside"],
)
def test_what_comes_back_to_a_port_for_several_is_a_list_there(edge: str, tmp_path: Path) -> None:
    workflow = check_workflow(SEVERAL + edge, name="all.mmd")
    check_same(workflow, compile_workflow(workflow), tmp_path, 1, 0.0)


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("title: Three voices,   and a vote\n", "Three voices, and a vote"),
        ("", "The workflow of all.mmd."),
        ("title: 7\n", None),
    ],
)
def test_a_program_begins_with_the_title_of_its_workflow(title: str, said: str | None) -> None:
    text = everything(header="  inputs: [PROBLEM, STYLE]\n").replace("---\n", f"---\n{title}", 1)
    program = compile_workflow(check_workflow(text, name="all.mmd"))
    first = program.split('"""')[1].splitlines()[0]
    assert first == (said or "The workflow of all.mmd.")


CHOSEN_IN_A_MAP = """---
workflow:
  model: m
---
flowchart TD
    PROBLEM([Problem]):::Interface
    LIST@{ op: Custom, prompt: "list", returns: "list[Text]" }
    subgraph ITEMS["Map ()"]
        WRITE@{ op: Custom, prompt: "write" }
        CHECK@{ op: Review }
        D{good?}:::DecisionOp
        MEND@{ op: Custom, prompt: "mend" }
    end
    ALSO@{ op: Custom, prompt: "also" }
    VOTE@{ op: ScEnsemble }
    PROBLEM -->|input| ALSO
    ALSO --> VOTE
    RETURN([Answer]):::Interface
    PROBLEM -->|input| LIST
    LIST -->|each:input| WRITE
    WRITE -->|solution| CHECK
    PROBLEM -->|problem| CHECK
    CHECK -->|result:when| D
    WRITE -->|value| D
    D -->|yes| VOTE
    D -->|no:input| MEND
    MEND --> VOTE
    PROBLEM -->|problem| VOTE
    VOTE --> RETURN
    classDef Interface fill:#eee
    classDef DecisionOp fill:#eee
"""


def test_what_a_decision_lets_out_of_a_map_is_a_list_there(tmp_path: Path) -> None:
    """Each of its items is a candidate. Only at this edge does the program have to say the type of the list."""
    workflow = check_workflow(CHOSEN_IN_A_MAP, name="all.mmd")
    program = compile_workflow(workflow)
    ended = [check_same(workflow, program, tmp_path, seed, 0.0) for seed in range(5)]
    chosen = [visit for run in ended for visit in run.nodes.values() if visit.node == "D" and visit.label == "yes"]
    assert len(chosen) > 2


MERGED_CASES = """---
workflow:
  model: m
  types:
    Way: [math, other, none]
---
flowchart TD
    PROBLEM([Problem]):::Interface
    ROUTE@{ op: Custom, prompt: "which way", returns: Way }
    WHERE{Which way?}:::DecisionOp
    FIRST@{ op: Custom, prompt: "calculate" }
    ANSWER@{ op: Custom, prompt: "answer" }
    SORRY@{ op: Custom, prompt: "say sorry" }
    RETURN([Answer]):::Interface
    PROBLEM -->|input| ROUTE & FIRST & ANSWER & SORRY
    ROUTE -->|when| WHERE
    WHERE -->|math| FIRST
    FIRST -->|input| ANSWER
    WHERE -->|other| ANSWER
    WHERE -->|none| SORRY
    ANSWER & SORRY --> RETURN
    classDef Interface fill:#eee
    classDef DecisionOp fill:#eee
"""


def test_what_another_case_leads_to_opens_a_node_there_and_nothing_else_does(tmp_path: Path) -> None:
    """ANSWER also runs once FIRST has run, though no case leads from there to it. PROBLEM, which always has a value, doesn't
    open it.
    """
    workflow = check_workflow(MERGED_CASES, name="all.mmd")
    program = compile_workflow(workflow)
    ran: dict[str, set[str]] = {}
    for seed in range(5):
        result = check_same(workflow, program, tmp_path, seed, 0.0)
        (way,) = (visit.label for visit in result.nodes.values() if visit.node == "WHERE")
        ran[str(way)] = {visit.node for visit in result.nodes.values() if visit.status == "finished"} - {
            "PROBLEM",
            "ROUTE",
        }
    assert ran == {
        "math": {"WHERE", "FIRST", "ANSWER", "RETURN"},
        "other": {"WHERE", "ANSWER", "RETURN"},
        "none": {"WHERE", "SORRY", "RETURN"},
    }


def test_shuffles_follow_the_seed(tmp_path: Path) -> None:
    text = everything(header="  inputs: [PROBLEM, STYLE]\n").replace("op: ScEnsemble", "op: MdEnsemble")
    workflow = check_workflow(text, name="all.mmd")
    check_same(workflow, compile_workflow(workflow), tmp_path, 5, 0.0)


def test_a_recording_of_another_workflow_is_a_sentence(tmp_path: Path) -> None:
    workflow = check_workflow(everything(header="  inputs: [PROBLEM, STYLE]\n"), name="all.mmd")
    other = check_workflow(everything(header="  inputs: [PROBLEM, STYLE]\n").replace("first", "third"), name="all.mmd")
    check_same(workflow, compile_workflow(workflow), tmp_path, 1, 0.0)
    program = compile_workflow(other)
    done = run_program(program, "--input", "problem=def f(x): pass", "--replay", str(tmp_path / "recorded.jsonl"))
    assert done.code == 1
    assert "has another request at node A" in done.err


@pytest.mark.slow
def test_a_limit_in_dollars_is_kept_where_it_asks(tmp_path: Path) -> None:
    """What a recording answers costs nothing."""
    workflow = check_workflow(
        everything(header="  inputs: [PROBLEM, STYLE]\n  budget: {tokens: 50000}\n"), name="all.mmd"
    )
    text = compile_workflow(workflow)
    assert check_same(workflow, text, tmp_path, 1, 0.0).status == "finished"
    assert "tokens=50000" in text
    limited = text.replace("tokens=50000", "usd=1.0")
    said = [part for name, value in inputs_of(workflow).items() for part in ("--input", f"{name}={value}")]
    assert run_program(limited, *said, "--replay", str(tmp_path / "recorded.jsonl")).code == 0
    refused = run_program(limited, *said, "--base-url", "http://127.0.0.1:9/v1")
    assert refused.code == 2
    assert "price" in refused.err
