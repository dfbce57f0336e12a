"""Random mutants: the same everywhere, operators drawn evenly, growth bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimizer.test_mutation_preconditions import CODE, VOTE

from merrow_analysis.check import analyse
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter, draw_from, moves, random_mutants
from merrow_optimizer.mutations.original import Original

SCRIPT = """
import sys
from merrow_optimizer.mutations.moves import random_mutants
for mutant in random_mutants(sys.stdin.read(), 12, 5):
    print(mutant.move.id, mutant.move.title)
    print(mutant.text)
"""


@pytest.mark.slow
def test_mutants_do_not_depend_on_hashes() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=CODE,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000


def test_a_seed_gives_the_same_mutants_and_another_seed_others() -> None:
    first = [mutant.text for mutant in random_mutants(VOTE, 10, 1)]
    assert first == [mutant.text for mutant in random_mutants(VOTE, 10, 1)]
    assert first != [mutant.text for mutant in random_mutants(VOTE, 10, 2)]


def test_mutants_of_a_chain_are_valid_and_stay_small() -> None:
    for mutant in random_mutants(VOTE, 60, 3, MoveFilter(OPERATORS, max_nodes=8)):
        analysis = analyse(mutant.text)
        assert analysis.is_valid
        assert len(analysis.flow.nodes) <= 8


@pytest.mark.slow
def test_operators_are_drawn_evenly() -> None:
    drawn = Counter(next(random_mutants(VOTE, 1, seed)).move.operator for seed in range(120))
    available = {move.operator for move in moves(analyse(VOTE))}
    assert set(drawn) == available
    assert all(drawn[name] > 120 / len(available) / 2 for name in available)


def test_a_chain_is_analysed_as_its_texts_are() -> None:
    text = CODE
    for mutant in random_mutants(CODE, 15, 9):
        assert mutant.text == mutant.move.apply(text)
        text = mutant.text


@settings(max_examples=4, deadline=None)
@given(st.sampled_from([CODE, VOTE]), st.integers(0, 10_000), st.sampled_from([4, 12]))
def test_a_workflow_that_is_asked_often_gives_what_it_gives_once(text: str, seed: int, most: int) -> None:
    """What was found to be unsafe is not tried again, which changes no draw."""
    analysis = analyse(text)
    choice = MoveFilter(OPERATORS, max_nodes=most)
    often = Original(analysis)
    for number in range(6):
        again, once = (draw_from(one, Random(seed + number), choice) for one in (often, Original(analysis)))
        assert again == once
        if once is not None:
            grown = len(analyse(once.apply(text)).flow.nodes)
            assert grown <= max(most, len(analysis.flow.nodes))
