"""``merrow optimize --operators``: without a file a search begins with a single Executor, and draws on the library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.server.program import in_process, write

LIBRARY = """operators:
  Look: {inputs: {problem: Problem}, outputs: {analysis: Analysis}, prompt: Say what is given.}
  Conclude: {inputs: {analysis: Analysis, problem: Problem}, outputs: {answer: Answer}, prompt: State the result.}
"""
SHAPE = """---
workflow:
  operators:
    Look: {inputs: {problem: Problem}, outputs: {analysis: Analysis}, prompt: Say what is given.}
    Conclude: {inputs: {analysis: Analysis, problem: Problem}, outputs: {answer: Answer}, prompt: State the result.}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    S1["Look<br/>"]
    S2["Conclude<br/>"]
    RETURN([Answer]):::Interface
    classDef Interface fill:#e2e2f2
    PROBLEM -->|problem| S1 & S2
    S1 -->|analysis| S2 --> RETURN
"""
OWN = ("--dataset", "sums.jsonl", "--gold", "answer", "--metric", "numeric", "--base-url", "offline", "--small")
SEARCH = ("optimize", *OWN, "--operators", "lib/operators.yaml", "--budget-evaluations", "30", "--out", "found")


@pytest.fixture(autouse=True)
def _library() -> None:
    rows = [{"id": f"q{n}", "problem": f"What is {n} plus 2?", "answer": str(n + 2 + n % 2)} for n in range(4)]
    write("sums.jsonl", "\n".join(map(json.dumps, rows)) + "\n")
    write("lib/operators.yaml", LIBRARY)


def found(number: int) -> str:
    return (Path("found") / f"round_{number:03}.mmd").read_text(encoding="utf-8")


def test_without_a_file_a_search_begins_with_a_single_executor(capsys: pytest.CaptureFixture[str]) -> None:
    write("lib/start/1.mmd", SHAPE)
    done = in_process(capsys, *SEARCH, "--format", "json")
    assert done.code == 0, done.err
    start = found(0)
    assert 'EXECUTE["Custom<br/>"]' in start
    assert start.count("<br/>") == 1
    assert "Look:" in start
    assert "memory: all" in start
    assert "Look<br/>" in found(1)
    titles = [one["title"] for one in map(json.loads, done.out.splitlines()) if one["event"] == "candidate"]
    assert titles[1] == "the shape 1.mmd of solved cases"
    assert len(titles) > 2


def test_a_library_alone_is_enough_and_a_memory_of_ones_own_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert in_process(capsys, *SEARCH, "--memory", "last:2").code == 0
    assert "memory: {last: 2}" in found(0)
    assert "EXECUTE" in found(0)


@pytest.mark.parametrize(("more", "answered"), [((), 5), (("--temperature", "0"), 1)])
def test_repeats_are_real_without_a_file_and_count_once_at_a_temperature_of_0(
    capsys: pytest.CaptureFixture[str], more: tuple[str, ...], answered: int
) -> None:
    rounds = ("--strategy", "evolve", "--set", "max-rounds=2", "--budget-evaluations", "100")
    done = in_process(capsys, *(one for one in SEARCH if one not in ("--budget-evaluations", "30")), *rounds, *more)
    assert done.code == 0, done.err
    assert f"temperature: {more[1] if more else 0.2}" in found(0)
    identity = in_process(capsys, "optimizations", "--format", "json").json[0]["search"]
    events = in_process(capsys, "show", identity, "--format", "json").out.splitlines()
    draws = [one for one in map(json.loads, events) if one["event"] == "draw" and one["candidate"] == 0]
    places = [tuple(place) for draw in draws for place in draw["places"]]
    assert len(places) == len(set(places)) == 4 * answered


def test_a_file_stays_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    write("flow.mmd", SHAPE)
    assert in_process(capsys, *SEARCH, "flow.mmd").code == 0
    assert "S1" in found(0)
    assert "memory" not in found(0)


def test_operators_for_code_begin_with_one_step_that_writes_code(capsys: pytest.CaptureFixture[str]) -> None:
    write(
        "lib/operators.yaml",
        "operators:\n  Write: {inputs: {problem: Problem, entry_point: EntryPoint}, outputs: {code: Code}, prompt: Write.}\n",
    )
    row = {
        "task_id": "T/1",
        "prompt": "def f(x):\n",
        "entry_point": "f",
        "test": "def check(f):\n    assert f(1) == 1\n",
        "canonical_solution": "    return x\n",
    }
    write("code.jsonl", json.dumps(row) + "\n")
    own = ("--dataset", "code.jsonl", "--reader", "humaneval", "--base-url", "offline", "--small", "--part", "all")
    done = in_process(
        capsys, "optimize", *own, "--operators", "lib/operators.yaml", "--out", "found", "--budget-evaluations", "8"
    )
    assert done.code == 0, done.err
    assert 'EXECUTE["CustomCodeGenerate<br/>"]' in found(0)


def test_built_in_needs_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(capsys, "optimize", *OWN, "--operators", "built-in")
    assert done.code == 2
    assert "library of operators" in done.err
