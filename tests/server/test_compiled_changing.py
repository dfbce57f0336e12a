"""Programs of workflows that change, or are planned, while they run: they run as with `merrow run`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.compiling.programs import Done, run_program
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import Outcome, merrow, write

NO_ADDRESS = "The base URL is not an address such as `https://host/v1`; correct it where it is set."
PROBLEM_BY_DEFAULT = "PROBLEM@{shape: stadium, type: Problem, default: by default}\n    class PROBLEM Interface"
PLAN = "flowchart TD\n    PROBLEM([Problem]) --> X[do x] --> Y[do y] --> RETURN([Result])\n"
CALLED = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    INNER@{op: Custom, prompt: "inside"}
    RETURN([Answer]):::Interface
    PROBLEM --> INNER --> RETURN
"""
FLOW = """\
---
workflow:
  model: m-1
  refine: {every: 1, max: 1}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first", returns: Problem, locked: true}
    CALL@{op: Call, workflow: ./inner.mmd}
    subgraph REFINE["Loop (max: 3, until: WORK.done)"]
        PLAN@{op: Custom, prompt: "plan it", returns: Workflow}
        WORK@{op: Call, stop_after: 1}
    end
    B@{op: Custom, prompt: "second"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> CALL
    CALL -->|input| PLAN
    PROBLEM -->|problem| WORK
    PLAN -->|workflow| WORK
    WORK -.->|again:state:input| PLAN
    WORK -->|result:input| B
    B --> RETURN
"""
CHANGES = {"reason": "Shorter.", "changes": [{"do": "edit", "id": "B", "objective": "other"}]}
INPUT = ("--input", "problem=x")


def answer(request: Received) -> Step:
    first = request.body["messages"][0]["content"]
    if first.startswith("You look after"):
        return Reply(json.dumps(CHANGES))
    return Reply(PLAN if first.startswith("plan it") else first.split("\n")[0] + "!")


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write("inner.mmd", CALLED)
    write("flow.mmd", FLOW)
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def run(*arguments: str) -> Done:
    """Run the program in this process."""
    return run_program(Path("flow.py").read_text(), *arguments)


def run_apart(*arguments: str) -> Outcome:
    """Run the program in a process of its own."""
    done = subprocess.run(
        [sys.executable, "flow.py", *arguments], capture_output=True, text=True, env=dict(os.environ), check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def asked(server: OpenAIServer) -> list[str]:
    """What was asked since the last time, in order of the texts."""
    bodies = sorted(json.dumps(one.body["messages"]) for one in server.requests)
    server.requests.clear()
    return bodies


@pytest.mark.slow
def test_it_is_planned_revised_and_asked_as_in_a_run(server: OpenAIServer) -> None:
    ran = merrow("run", "flow.mmd", *INPUT)
    assert (ran.code, ran.out) == (0, "other!\n"), ran.err
    wanted = asked(server)
    assert any("do y" in text for text in wanted)

    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    done = run_apart(*INPUT, "--record", "calls.jsonl")
    assert (done.code, done.out, done.err) == (0, "other!\n", "")
    assert asked(server) == wanted

    again = run(*INPUT, "--replay", "calls.jsonl")
    assert (again.code, again.out) == (0, "other!\n")
    assert asked(server) == []
    replayed = merrow("run", "flow.mmd", *INPUT, "--replay", "calls.jsonl", "--fresh")
    assert (replayed.code, replayed.out) == (0, "other!\n")
    assert list(Path("state").rglob("flow.py*")) == []


def test_lines_that_are_changed_count(server: OpenAIServer) -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    program = Path("flow.py").read_text()
    Path("flow.py").write_text(program.replace('"first"', '"before"').replace(', refine={"every": 1, "max": 1}', ""))
    done = run(*INPUT)
    assert (done.code, done.out) == (0, "second!\n")
    assert any('"before' in text for text in asked(server))


def test_it_becomes_its_workflow_again() -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    Path("back").mkdir()
    assert merrow("import", "flow.py", "-o", "back/flow.mmd").code == 0
    assert merrow("diff", "flow.mmd", "back/flow.mmd", "--format", "json").code == 0
    text = Path("back/flow.mmd").read_text()
    assert "refine: {every: 1, max: 1}" in text
    assert "locked: true" in text
    assert merrow("run", "back/flow.mmd", *INPUT, "--dry-run").code == 0


def test_a_failure_names_its_node_and_ends_with_one() -> None:
    write("flow.mmd", FLOW.replace('"plan it"', '"no plan"'))
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    ran, done = merrow("run", "flow.mmd", *INPUT), run(*INPUT)
    assert (ran.code, done.code, done.out) == (1, 1, "")
    (sentence,) = [line for line in ran.err.splitlines() if line.startswith("merrow: Node REFINE[1]/PLAN: ")]
    assert done.err == sentence.replace("merrow: ", "program.py: ") + "\n"


def test_what_asks_a_person_is_refused_by_name() -> None:
    write("flow.mmd", FLOW.replace("max: 1}", "max: 1, ask: true}"))
    asking = merrow("compile", "flow.mmd", "-o", "flow.py")
    assert "`refine: {ask: true}` asks a person" in asking.err
    assert not Path("flow.py").exists()


def test_files_of_one_name_that_call_each_other_are_told_apart(server: OpenAIServer) -> None:
    deeper = CALLED.replace('INNER@{op: Custom, prompt: "inside"}', "INNER@{op: Call, workflow: ./more/inner.mmd}")
    write("inner.mmd", deeper)
    write("more/inner.mmd", deeper.replace("./more/inner.mmd", "../last.mmd"))
    write("last.mmd", CALLED)
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    assert run(*INPUT) == (0, "other!\n", "")
    first, *others = (one.prompt.split("\n")[0] for one in server.requests)
    assert (first, others.count("inside")) == ("first", 1)


def test_what_ends_it_early_is_one_sentence(server: OpenAIServer) -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    program = Path("flow.py").read_text()
    for arguments, code, sentence in (
        (("--input", "problm=x"), 2, "The workflow has no input problm. Did you mean PROBLEM?"),
        ((*INPUT, "--replay", "gone.jsonl"), 2, "The recording gone.jsonl can't be read (No such file or directory)."),
        ((*INPUT, "--base-url", "nonsense"), 2, NO_ADDRESS),
        (
            (*INPUT, "--budget-seconds", "0"),
            1,
            "The time that the budget allows is over: raise it with --budget-seconds.",
        ),
    ):
        assert run(*arguments) == (code, "", f"program.py: {sentence}\n")
    Path("flow.py").write_text(program.replace("max=3", "max=0"))
    wrong = (
        "The workflow of the program has an error at node WORK (line 49) and is not run: REFINE: `max` must be a whole number "
        "from 1 to 1000, not `0`."
    )
    assert run(*INPUT) == (2, "", f"program.py: {wrong} (MW305)\n")
    assert server.requests == []


async def test_its_result_shows_the_workflow_and_follows_what_its_function_is_given(
    server: OpenAIServer,
) -> None:
    write("flow.mmd", FLOW.replace("PROBLEM([Problem]):::Interface", PROBLEM_BY_DEFAULT))
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    made: dict[str, Any] = {"__name__": "flow_program"}
    exec(Path("flow.py").read_text(), made)  # noqa: S102
    results = [await made["workflow"](), await made["workflow"]("of a call")]
    assert results == ["other!", "other!"]
    given = [one.prompt for one in server.requests if one.prompt.startswith("first")]
    assert given == ["first\nby default", "first\nof a call"]
    assert results[0].outputs == {"RETURN": "other!"}
    assert results[0].diagram.startswith('flowchart TD\n    n0(["PROBLEM"])\n')
