"""Children of real workflows: valid, different, and the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import flowchart

from merrow_analysis.check import analyse
from merrow_optimizer.search.children import Moves
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.strategies.guided import Guided, GuidedSettings
from merrow_runtime import RunOptions
from merrow_runtime.errors import UsageFailure
from merrow_runtime.workflow import check_workflow

ROOT = Path(__file__).parents[3]
STARTS = [ROOT / "examples" / "gsm8k.mmd", *sorted((ROOT / "examples" / "patterns").glob("aflow_*.mmd"))]
OPTIONS = RunOptions(default_model="m")


def moves(path: Path) -> Moves:
    return Moves(check_workflow(path.read_text("utf-8"), name=path.name), OPTIONS)


@settings(max_examples=4, deadline=None)
@given(st.sampled_from(STARTS), st.integers(0, 10_000))
def test_every_child_is_valid_and_does_something_else(path: Path, seed: int) -> None:
    proposer = moves(path)
    chance = Random(seed)
    known = [proposer.start()]
    for _ in range(12):
        number = chance.randrange(len(known))
        if chance.random() < 0.3 and len(known) > 1:
            other = chance.randrange(len(known))
            child = proposer.crossed(number, known[number], other, known[other], chance)
            wanted = (number, other)
        else:
            child = proposer.child(number, known[number], chance)
            wanted = (number,)
        if child is None:
            continue
        assert child.parents == wanted
        assert child.title
        assert all(f"round {one}" in child.title for one in wanted) or len(wanted) == 1
        analysis = analyse(child.text)
        assert analysis.is_valid, child.text
        assert analysis.typed is not None
        assert child.nodes == len(analysis.typed.nodes) <= proposer.max_nodes
        assert child.calls > 0
        known.append(child)
    assert len(known) > 6


def test_a_further_change_is_one_of_the_draft_that_is_given_whichever_was_made_last() -> None:
    """The draft that was made last is still read; a further change of another one must not be made on it."""
    known = moves(STARTS[0])
    first, last = (known.child(0, known.start(), Random(seed)) for seed in (1, 2))
    assert first is not None
    assert last is not None
    for draft in (last, first):
        made, wanted = known.further(draft, Random(5)), moves(STARTS[0]).further(draft, Random(5))
        assert made is not None
        assert wanted is not None
        assert (made.text, made.title, made.key) == (wanted.text, wanted.title, wanted.key)
        assert made.title.startswith(f"{draft.title}; ")


def test_a_workflow_that_asks_nothing_is_no_candidate() -> None:
    start = check_workflow(flowchart('A["Custom (prompt: a)"]:::CustomOp', "PROBLEM -->|input| A --> RETURN"))
    known = Moves(start, OPTIONS)
    given = flowchart('B["Custom (prompt: b)"]:::CustomOp', "PROBLEM -->|input| B --> RETURN")
    assert known.given(given, "B").calls == 1
    with pytest.raises(UsageFailure, match="Nothing can't be a candidate: it has errors, no call"):
        known.given(flowchart("PROBLEM --> RETURN"), "Nothing")


def test_a_drawing_without_operators_can_not_be_searched() -> None:
    plain = check_workflow("flowchart TD\n    A[Write a poem] --> B[Improve it]\n", name="plain.mmd")
    with pytest.raises(UsageFailure, match=r"plain\.mmd names no operators"):
        Moves(plain, OPTIONS)


PROGRAM = """
import hashlib, sys
from pathlib import Path
sys.path[:0] = [{root!r}]
from tests.optimizer.search.test_children import searched
print(searched())
"""


def searched() -> str:
    """A short search on a real workflow as text."""
    proposer = moves(STARTS[0])
    strategy = Guided(proposer, GuidedSettings(pool=6, fresh=3))
    search = Search(proposer.start(), strategy, items=20, repeats=1, evaluations=80, seed=7)
    chance = Random(2)
    while (draw := search.next()) is not None:
        search.outcome(draw.number, [float(chance.random() < 0.6) for _ in draw.places])
    drafts = search.history.drafts
    return repr([(one.text, one.key, one.title, one.parents) for one in drafts]) + repr(search.history.draws)


@pytest.mark.slow
def test_another_process_makes_the_same_search() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    program = PROGRAM.format(root=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    assert done.stdout.strip() == searched()
