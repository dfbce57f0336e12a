"""Diamonds in a row, each of which leads to the next two: what they pass on must not double with every few of them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth.steps import forget, steps
from tests.runtime.engine.fakes import FakeEndpoint

import merrow_runtime
from merrow_analysis.check import Analysis, analyse
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.placing import placement
from merrow_runtime.frontier import Chose, Frontier, Gave, Start
from merrow_runtime.program.loading import load
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.forecast import dry_run
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import check_workflow


def _drawing(cases: list[tuple[str, str]]) -> str:
    """Diamonds that lead to the next two in these cases; the last two lead to both ends."""
    lines = ["S[Read it] --> A0{q 0?}"]
    for number, (one, two) in enumerate(cases):
        lines += [f"A{number} -->|{one}| A{number + 1}{{q?}}", f"A{number} -->|{two}| A{number + 2}{{q?}}"]
        if one == two:
            lines.append(f"A{number} -->|no| X[Write it]")
    for last in (len(cases), len(cases) + 1):
        lines += [f"A{last} -->|a| X[Write it]", f"A{last} -->|b| Y[Say it]"]
    return "---\nworkflow: true\n---\nflowchart TD\n" + "".join(f"  {line}\n" for line in lines)


def _apart(count: int) -> str:
    return _drawing([("a", "b")] * count)


def _together(count: int) -> str:
    return _drawing([("a", "a")] * count).replace("Y[Say it]", "X[Write it]")


def _counted(values: int) -> str:
    """Diamonds of which each passes on twice what the one before it does; those that make up the number lead to the last."""
    lines = ["S[Read it] --> A0{q?}", "Z{q?} -->|a| X[Write it]", "Z -->|b| X"]
    last = values.bit_length() - 1
    for number in range(last):
        lines += [f"A{number} -->|b| X", f"L{number}{{q?}} -->|b| X", f"R{number}{{q?}} -->|b| X"]
        lines += [f"A{number} -->|a| L{number} & R{number}", f"L{number} & R{number} -->|a| A{number + 1}{{q?}}"]
        if values >> number & 1:
            lines.append(f"A{number} -->|a| Z")
    lines += [f"A{last} -->|a| Z", f"A{last} -->|b| X"]
    return "---\nworkflow: true\n---\nflowchart TD\n" + "".join(f"  {line}\n" for line in lines)


def _analysed(text: str, alone: int) -> Analysis:
    """The analysis where Decisions pass on up to so many values each alone."""
    with patch.object(placement, "MOST_PASSED_ALONE", alone):
        analysis = analyse(text)
        assert analysis.typed is not None
        assert analysis.typed.combinations is not None  # made when it is first asked for
        return analysis


def _arrived(graph: TypedGraph, choices: list[int], alone: int) -> list[tuple[str, object]]:
    """What arrives at each node that runs, in a run with these choices."""
    with patch.object(placement, "MOST_PASSED_ALONE", alone):
        frontier = Frontier(graph)
        pending, found = deque(frontier.begin()), list[tuple[str, object]]()
        while pending:
            one = pending.popleft()
            if not isinstance(one, Start):
                continue
            node = one.node
            found.append((node.id, {port: [given.node for given in values] for port, values in one.inputs.items()}))
            if node.cases is not None:
                case = choices[len(found) % len(choices)] % len(node.cases.keys)
                pending.extend(frontier.tell(Chose(one.visit, case)))
            else:
                outputs = {"result": node.id} if node.kind == "output" else dict.fromkeys(node.outputs, node.id)
                pending.extend(frontier.tell(Gave(one.visit, outputs)))
        return found


@given(
    st.lists(st.sampled_from([("a", "b"), ("b", "a"), ("a", "a")]), min_size=1, max_size=7),
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.sampled_from(["[Write it]", "([Stop])"]),
)
def test_what_is_passed_on_as_one_means_what_it_means_alone(
    cases: list[tuple[str, str]], choices: list[int], end: str
) -> None:
    """An end takes one value, so that values which arrive there at once are an error; a step takes all."""
    text = _drawing(cases).replace("[Write it]", end)
    alone, as_one = _analysed(text, 10**6), _analysed(text, 1)
    assert [(one.code, one.range) for one in as_one.diagnostics] == [(one.code, one.range) for one in alone.diagnostics]
    assert alone.typed is not None
    assert as_one.typed is not None
    if alone.is_valid:
        assert _arrived(as_one.typed, choices, 1) == _arrived(alone.typed, choices, 10**6)


@pytest.mark.slow
@pytest.mark.parametrize("make", [_apart, _together])
def test_the_steps_of_a_check_grow_with_the_diamonds(make: Callable[[int], str]) -> None:
    found: list[int] = []
    for count in (20, 40, 80):
        forget()
        found.append(steps(lambda count=count: analyse(make(count))))  # type: ignore[misc]
    assert found[2] - found[1] < 2.5 * (found[1] - found[0]), found


@pytest.mark.slow
def test_the_steps_of_a_run_and_a_dry_run_grow_with_the_diamonds(tmp_path: Path) -> None:
    ran: list[int] = []
    said: list[int] = []
    for count in (20, 40, 80):
        file = tmp_path / f"{count}.mmd"
        file.write_text(_apart(count), encoding="utf-8")
        workflow = load(file)
        ran.append(steps(lambda workflow=workflow: _arrived(workflow.graph, [0], placement.MOST_PASSED_ALONE)))  # type: ignore[misc]
        said.append(steps(lambda workflow=workflow: dry_run(workflow, {"PROBLEM": "x"})))  # type: ignore[misc]
    for found in (ran, said):
        assert found[2] - found[1] < 3.5 * (found[1] - found[0]), (ran, said)
    assert dry_run(workflow, {"PROBLEM": "x"}).calls.most == 80 + 2 + 3  # each of them may be asked


def test_a_diamond_of_a_drawing_passes_on_the_newest_value_alone(tmp_path: Path) -> None:
    file = tmp_path / "together.mmd"
    file.write_text(_together(30), encoding="utf-8")
    assert dry_run(load(file), {"PROBLEM": "x"}).calls.most == 30 + 2 + 2


def _joining(count: int) -> str:
    """Diamonds of a file with operators, each of which hands on what it gets to two others, which both lead to the next one."""
    lines = ["PROBLEM([P]):::Interface", "RETURN([R]):::Interface", "PROBLEM -->|input| S", "S --> A0", "X --> RETURN"]
    lines += ['S@{ op: Custom, prompt: "Read it" }', 'X@{ op: Custom, prompt: "Write it" }']
    diamonds = [f"A{count}"]
    for number in range(count):
        diamonds += [f"A{number}", f"L{number}", f"R{number}"]
        lines.append(f"A{number} -->|a| L{number} & R{number} -->|a| A{number + 1}")
    for name in diamonds:
        lines += [f"{name}{{q}}", f'{name}@{{ op: Decision, ask: "Which way?" }}', f"{name} -->|b| X"]
    lines.append(f"A{count} -->|a| X")
    return "flowchart TD\n" + "".join(f"    {line}\n" for line in lines)


async def test_a_run_ends_where_more_values_meet_at_a_diamond_than_may_and_what_was_paid_is_kept() -> None:
    """Each level doubles them: 8,192 may arrive at once, 16,384 may not."""
    asked: list[str] = []

    def answer(request: ModelRequest) -> str:
        asked.append(request.canonical_text())
        return "text" if request.schema is None else json.dumps({"choice": "a"})

    for count, fails in ((13, False), (14, True)):
        flow, store = check_workflow(_joining(count)), MemoryStore()
        asked.clear()
        result = await merrow_runtime.run(flow, {"PROBLEM": "x"}, endpoint=FakeEndpoint(answer), store=store)
        assert (result.status == "failed") is fails, result.error
        if fails:
            assert f"Decision A{count}: more than 10,000 values arrive at once" in str(result.error)
        assert len(asked) == len(set(asked)) == 1 + 14 + (not fails), "diamonds that are given the same ask once"
